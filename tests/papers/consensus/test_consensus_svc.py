"""ConsensusSVC of paper 000: the pooled SVM over rows and columns; refusals; what is warned of; files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import tacit
from papers.consensus import reference
from tacit.errors import LocalError
from tacit.papers.consensus import ConsensusSVC

X, Y = reference.table(2)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("parties", [1, 2, 4])
def test_it_is_the_pooled_linear_svm(partition, parties):
    model = ConsensusSVC(partition=partition, n_parties=parties, tol=1e-4, max_rounds=5000, accept_risk=True).fit(X, Y)
    pooled = SVC(kernel="linear", tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), pooled.decision_function(X), atol=0.05)


def test_weights_of_records_and_classes_are_those_of_libsvm():
    weight = np.random.default_rng(3).uniform(0, 2, len(X)) * (np.arange(len(X)) % 7 > 0)
    how = {"class_weight": {0: 3.0, 1: 0.5}}
    pooled = SVC(kernel="linear", tol=1e-6, **how).fit(X, Y, weight)
    model = ConsensusSVC(tol=1e-4, accept_risk=True, **how).fit(X, Y, weight)
    np.testing.assert_allclose(model.decision_function(X), pooled.decision_function(X), atol=0.05)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_a_kernel_does_nearly_as_well_as_the_whole_one(cancer, partition):
    A, y = cancer
    model = ConsensusSVC(kernel="rbf", partition=partition, random_state=0, accept_risk=True).fit(A[::2], y[::2])
    assert model.score(A[1::2], y[1::2]) >= SVC().fit(A[::2], y[::2]).score(A[1::2], y[1::2]) - 0.02
    assert model.report_.figures["relative gap to the optimum, at most"] <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_are_told_apart_and_the_report_compares(partition, multi_class):
    A, y = load_iris(return_X_y=True)
    how = {"partition": partition, "multi_class": multi_class, "kernel": "rbf"}
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    model = ConsensusSVC(accept_risk=True, tol=0.01, random_state=0, **how).fit(A, y, compare=True)
    assert model.score(A, y) > 0.93
    assert model.report_.comparison["accuracy of the reference on them"] > 0.93


def test_too_few_rounds_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="raise max_rounds"):
        ConsensusSVC(max_rounds=2, accept_risk=True).fit(X, Y)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_it_does_not_start_before_the_risk_is_accepted(partition):
    with pytest.raises(LocalError, match="accept_risk=True, or use SVC"):
        ConsensusSVC(partition=partition).fit(X, Y)


def test_a_kernel_without_a_map_is_refused():
    with pytest.raises(LocalError, match="kernel"):
        ConsensusSVC(kernel="sigmoid", accept_risk=True).fit(X, Y)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_stored_model_answers_as_before(tmp_path, partition, kernel):
    model = ConsensusSVC(kernel=kernel, partition=partition, tol=0.05, accept_risk=True, random_state=0).fit(X, Y)
    model.save(tmp_path / "model.tacit")
    again = tacit.load(tmp_path / "model.tacit")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_it_is_repeatable_with_a_random_state():
    one, two = (ConsensusSVC(kernel="rbf", random_state=5, tol=0.05, accept_risk=True).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


def failed(estimator: object) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(estimator, on_fail=None, on_skip=None)
    return [each["check_name"] for each in done if each["status"] == "failed"]


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_it_fails_no_check_of_scikit_learn_that_svc_passes(partition):
    model = ConsensusSVC(accept_risk=True, partition=partition, n_parties=2, kernel="rbf", gamma="auto")
    assert set(failed(model)) <= set(failed(SVC()))
