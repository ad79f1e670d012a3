"""Asking a gram SVM.

With the linear kernel w stays in shares, and of any kernel's model a quota limits what may be asked.
"""

from __future__ import annotations

import pickle
import re
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_dict_unchanged

import tacit
from tacit import Federation, LocalError
from tacit.errors import MissingExtraError, install_command
from tacit.papers.gram import GramSVC

PARTITIONS = ("vertical", "horizontal", "arbitrary")


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=40, n_features=4, n_informative=3, n_redundant=1, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("partition", PARTITIONS)
def test_linear_answers_are_the_pooled_machine_s_one_class_against_the_rest(partition):
    X, y = load_iris(return_X_y=True)
    model = GramSVC(kernel="linear", partition=partition, multi_class="ovr", tol=1e-8).fit(X[::3], y[::3])
    values, dual = model.decision_function(X), model.model_.dual
    np.testing.assert_allclose(values, X @ (dual.coef @ X[::3][model.support_]).T + dual.bias, atol=1e-5)
    pooled = [SVC(kernel="linear", tol=1e-8).fit(X[::3], y[::3] == c).decision_function(X) for c in range(3)]
    np.testing.assert_allclose(
        values, np.transpose(pooled), atol=1e-5 if partition == "vertical" else 1e-3
    )  # cells of 23 bits


@pytest.mark.slow
@pytest.mark.parametrize("declared", [None, 500.0])
def test_a_w_that_is_longer_than_coarse_training_cells_made_it_does_not_wrap(declared):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = GramSVC(
        kernel="linear", C=1e4, max_iter=2000, partition="horizontal", feature_bits=7, feature_range=declared
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # labels that nothing tells apart: coefficients stand at C
        values, dual = model.fit(X, y).decision_function(X), model.model_.dual
    w = dual.coef @ X[model.support_]
    assert np.abs(w).max() <= dual.length[0]
    np.testing.assert_allclose(values, (X @ w.T + dual.bias)[:, 0], atol=1e-4 * dual.length[0])


def test_new_rows_stay_with_their_holders_and_shares_are_made_once(small):
    X, y = small
    rows = np.array_split(np.arange(len(y)), 3)
    fed = Federation.from_parts([(X[r], y[r]) for r in rows], names=["north", "south", "east"], partition="horizontal")
    model = GramSVC(kernel="linear", partition="horizontal", tol=1e-8).fit(fed)
    new = Federation.from_parts([X[5:7], X[9:10], X[:2]], names=["east", "north", "south"], partition="horizontal")
    values, made = model.decision_function(new), dict(model.model_.weights)
    pooled = SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(values, pooled.decision_function(X[[5, 6, 9, 0, 1]]), atol=1e-4)
    model.predict(X)
    assert model.model_.weights == made
    assert set(made) == {"north", "south", "east"}


@pytest.mark.slow
def test_a_model_file_keeps_the_shares_and_answers_alike(small, tmp_path):
    X, y = small
    model = GramSVC(kernel="linear").fit(X, y)
    before = tacit.load(model.save(tmp_path / "before.tacit"))
    values = model.decision_function(X)
    after = tacit.load(model.save(tmp_path / "after.tacit"))
    assert not before.model_.weights
    np.testing.assert_allclose(before.decision_function(X), values, atol=1e-5)
    np.testing.assert_array_equal(after.decision_function(X), values)
    # as scikit-learn asks
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), values)  # noqa: S301


def test_asking_a_linear_machine_leaves_its_attributes_as_they_are():
    check_dict_unchanged("GramSVC", GramSVC(kernel="linear", n_parties=2))


def test_the_report_says_what_answers_give_away(small):
    lines = {kernel: GramSVC(kernel=kernel).fit(*small).report_.not_protected for kernel in ("linear", "rbf")}
    assert "coordinator sees their dot products" in lines["rbf"][1]
    assert lines["linear"][1].startswith("The weights, from whoever asks about more new records")


def test_without_the_extra_a_linear_machine_says_what_to_install_before_it_trains(small, monkeypatch):
    trained = GramSVC(kernel="linear").fit(*small)
    monkeypatch.setitem(sys.modules, "tacit.papers.gram.engines.paillier_slots", None)
    model = GramSVC(kernel="linear")
    for asking in (lambda: model.fit(*small), lambda: trained.predict(small[0])):
        with pytest.raises(
            MissingExtraError, match=rf"prediction with the linear kernel.*{re.escape(install_command('he'))}"
        ):
            asking()
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("kernel", [pytest.param("linear", marks=pytest.mark.slow), "rbf"])
def test_a_quota_limits_what_is_asked_about_and_a_file_keeps_the_count(small, kernel, tmp_path):
    X, y = small
    model = GramSVC(kernel=kernel, quota=10).fit(X, y, compare=True)
    assert model.asked_ == 0, "training records are not new"
    model.predict(X[:4])
    model.score(X[:3], y[:3])
    assert model.asked_ == 7
    loaded = tacit.load(model.save(tmp_path / "model.tacit"))
    for each in (model, loaded):
        with pytest.raises(
            LocalError, match=r"4 new records would be asked about, and the quota leaves 3 of quota=10: ask about fewer"
        ):
            each.decision_function(X[:4])
        each.decision_function(X[:3])
        assert each.asked_ == 10
        with pytest.raises(LocalError, match="the quota leaves 0 of quota=10"):
            each.predict(X[:1])


def test_without_a_quota_nothing_is_counted_and_a_bad_one_is_refused(small):
    X, y = small
    model = GramSVC().fit(X, y)
    model.predict(X)
    assert model.asked_ == 0
    with pytest.raises(LocalError, match="The 'quota' parameter of GramSVC must be"):
        GramSVC(quota=-1).fit(X, y)
