"""Combinations of all that runs open on the real protocol give no record.

Sums of one job, of many, of searches and of evaluations.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import tacit
from leaks.views import Tapped
from tacit.attacks.atom_inversion import atom_inversion, nested_sums
from tacit.attacks.coordinator import deal_rows, opened_sums
from tacit.attacks.few_violators import few_violators
from tacit.attacks.pairwise_rule import View, pairwise_rule
from tacit.attacks.set_lattice import found_rows, heavy_class, neighbouring_jobs, of_sums, set_lattice
from tacit.errors import LocalError
from tacit.numeric.groups.least_count import least_count
from tacit.numeric.scores.metrics import histograms, stretch
from tacit.protocols.planes import cutting_plane
from tacit.protocols.planes.feature_map import FeatureMap, map_records

NONE = np.empty((0, 0))
X, Y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
AWAY = 1e-3  # nothing that is found may be nearer to a record than this


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fourier(features: int, columns: int) -> FeatureMap:
    return FeatureMap("fourier", "rbf", 1.0 / columns, 3, 0.0, NONE, NONE, 1, features)


def view_with_sets(monkeypatch: Any, F: Any, C: float, least: int) -> View:
    """The sums of a run, with the Gram matrix of their sets, which the real coordinator does not have.

    An attacker that knows more.
    """
    real, marked, parties = cutting_plane.round_sets, [], 4

    @functools.wraps(real)
    def noted(*args: Any) -> Any:
        cut = real(*args)
        marked.append(cut.rows)
        return cut

    monkeypatch.setattr(cutting_plane, "round_sets", noted)
    sums = opened_sums(deal_rows(F, Y, parties=parties), C=C, min_count=least)
    rounds = [np.concatenate(marked[i : i + parties]) for i in range(0, len(marked), parties)]
    order = np.concatenate([np.arange(len(Y))[i::parties] for i in range(parties)])
    sets = np.array(
        [Y[order] == 1, Y[order] == 0, *(each[:, 0] > 0 for each in rounds if each.shape[1])], dtype=np.float64
    )
    np.testing.assert_allclose(sets.sum(axis=1), sums[:, -1], atol=1e-6)
    return View(sums, sets @ sets.T)


@pytest.mark.parametrize("C", [pytest.param(1.0, marks=pytest.mark.slow), 10.0, 100.0])
@pytest.mark.parametrize("features", [0, 200])
def test_even_who_knows_by_how_many_rows_all_sets_differ_finds_no_record(monkeypatch, C, features):
    """With these counts the attack found 38 records in 0.1.0's sums of the linear run with C = 10."""
    F = np.asarray(map_records(fourier(features, 30), X)) if features else X
    view = view_with_sets(monkeypatch, F, C, least_count(features or 30, 30, 0.0))
    assert len(set_lattice(view)) == 0


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_integer_combinations_of_the_sums_of_a_linear_run_give_no_record(C):
    assert len(found_rows(of_sums(opened_sums(deal_rows(X, Y), C=C)), X, AWAY)) == 0


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_integer_combinations_of_the_sums_of_a_run_with_more_features_than_sums_give_no_record(C):
    F = np.asarray(map_records(fourier(200, 30), X))
    sums = opened_sums(deal_rows(F, Y), C=C, min_count=least_count(200, 30, 0.0))
    assert len(found_rows(of_sums(sums), F, AWAY)) == 0


@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_no_two_sums_of_a_run_differ_by_one_record(C):
    found = few_violators(deal_rows(X, Y), C=C)
    assert all(np.abs(X - one.features).max(axis=1).min() > AWAY for one in found)


@pytest.mark.parametrize("light", [0, 1])
def test_a_class_of_hardly_any_weight_hides_none_of_the_other_alone(light):
    """The job that gave six records of 0.1.0: one sum was a record, and five more were differences of two."""
    weight = np.where(light == Y, 1e-8, 1.0)
    for C in (1e3, 1e6):
        view = View(opened_sums(deal_rows(X, Y, weight), C=C))
        for candidates in heavy_class(view):
            assert len(found_rows(candidates, X, AWAY)) == 0


@pytest.mark.parametrize("jobs", [6, pytest.param(21, marks=pytest.mark.slow)])
def test_jobs_that_hardly_differ_give_no_record_together(jobs):
    past: dict[str, Any] = {}
    views = [View(opened_sums(deal_rows(X, Y), C=C, past=past)) for C in np.linspace(1.0, 1.05, jobs)]
    assert len(found_rows(neighbouring_jobs(views), X, AWAY)) == 0
    distinct = np.unique(np.rint(np.vstack([view.sums for view in views]) * 1e5), axis=0) / 1e5
    assert len(found_rows(of_sums(distinct[:120], ridges=(1e-4, 1e-7)), X, AWAY)) == 0


def test_jobs_without_a_memory_of_each_other_would_give_records():
    """The test above can fail: the same jobs under 0.1.0's rule, which knows nothing of earlier jobs."""
    views = [pairwise_rule(X, np.where(Y == 1, 1.0, -1.0), C=C) for C in np.linspace(1.0, 1.05, 6)]
    assert len(found_rows(neighbouring_jobs(views), X)) > 0


@pytest.mark.parametrize("features", [32, 64])
def test_the_rows_between_the_closest_two_sums_are_too_many_to_be_solved_for(features):
    few, the_map = X[:, :8], fourier(features, 8)
    F = np.asarray(map_records(the_map, few))
    past: dict[str, Any] = {}
    least = least_count(features, 8, 0.0)
    view = View(opened_sums(deal_rows(F, Y), C=10.0, min_count=least, past=past))
    assert min(np.unique(each.label[each.label >= 0], return_counts=True)[1].min() for each in past.values()) >= least
    between = nested_sums(view, the_map, least)
    assert len(between.of) * 8 >= 1.25 * features
    found = atom_inversion([between], 8, pursuits=2).rows
    assert len(found_rows(found, few, 0.01)) == 0


def test_a_second_hidden_layer_is_refused_if_both_have_more_nodes_than_there_are_rows():
    fed = tacit.Federation.simulate(X[:90], Y[:90], parties=3, partition="horizontal", seed=0)
    tacit.SecureELMClassifier(n_hidden=60, random_state=0).fit(fed)
    tacit.SecureELMClassifier(n_hidden=60, random_state=0).fit(fed)
    with pytest.raises(
        LocalError,
        match=r"60 nodes, with 60 of other hidden layers that were opened before, are more than the 90 rows of",
    ):
        tacit.SecureELMClassifier(n_hidden=60, random_state=1).fit(fed)


def test_the_sums_of_all_folds_and_prices_of_a_search_give_no_record(monkeypatch):
    seen: list[tuple[str, Any]] = []
    real = Tapped._exchange

    def noted(self: Any, place: str, *rest: Any) -> Any:
        before = len(self.sums)
        done = real(self, place, *rest)
        seen.extend(self.sums[before:])
        return done

    monkeypatch.setattr(Tapped, "_exchange", noted)
    monkeypatch.setattr("tacit.registry.Together", Tapped)
    fed = tacit.Federation.simulate(X, Y, parties=4, partition="horizontal", seed=0)
    tacit.FederatedGridSearch(tacit.PanSVC(kernel="linear"), {"C": [0.1, 1.0, 10.0]}, cv=3).fit(fed)
    wide = X.shape[1] + 2
    flat = [np.ravel(values) for _, values in seen]
    sums = np.vstack([values.reshape(-1, wide) for values in flat if len(values) and len(values) % wide == 0])
    sums = np.unique(np.rint(sums * 1e6), axis=0) / 1e6
    assert len(sums) > 50
    assert len(found_rows(neighbouring_jobs([View(sums)]), X, AWAY)) == 0
    drawn = np.random.default_rng(0).permutation(len(sums))[:100]
    assert len(found_rows(of_sums(sums[drawn], ridges=(1e-4, 1e-7)), X, AWAY)) == 0


def read_from_bins(models: int, bins: int = 256) -> float:
    """Return the relative error of an outlying record that the histograms of so many linear models point to."""
    rng, far = np.random.default_rng(0), int(np.linalg.norm(X, axis=1).argmax())
    toward, W, scores = X[far] / np.linalg.norm(X[far]), [], []
    while len(W) < models:
        w = 0.15 * (toward + 0.5 * rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1]))
        top = np.flatnonzero(np.sum(histograms((X @ w)[:, None], Y[:, None] == 1, bins), axis=0)[0])[-1]
        if np.sum(X @ w > stretch(np.array([top / bins]))[0]) == 1:  # one record in the highest bin that holds any
            W.append(w)
            scores.append(float(stretch(np.array([(top + 0.5) / bins]))[0]))
    found = np.linalg.lstsq(np.array(W), np.array(scores), rcond=None)[0]
    return float(np.linalg.norm(found - X[far]) / np.linalg.norm(X[far]))


def test_a_record_alone_in_its_bin_is_followed_through_the_histograms_of_many_models_which_is_not_protected():
    """The coordinator has the histograms as they are.

    The more models are evaluated on the same records, the nearer it comes.
    """
    as_columns, many = read_from_bins(30), read_from_bins(300)
    assert many < 0.1 < as_columns
