"""The layers of PAN-SVM one by one: k-means, landmarks, the pool of cuts, the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans

from leaks.views import played
from papers.pan import reference
from tacit.choreo import Holder
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.pan.attacks.coordinator import deal_rows, play
from tacit.papers.pan.cutting_plane import find_gap
from tacit.papers.pan.ground import NumberedRecords
from tacit.papers.pan.kmeans import find_centres, find_nearest
from tacit.papers.pan.landmarks import own_centres, share_landmarks, share_of
from tacit.papers.pan.pan_svm import map_by
from tacit.papers.pan.pool import start_pool
from tacit.protocols.features.maps import features_of
from tacit.protocols.sums.secure_sum import protect

X, Y = reference.table()


def cost_of(X: Any, centres: Any) -> float:
    return float(np.square(X - centres[find_nearest(X, centres)]).sum())


def test_centres_are_as_good_as_scikit_learns():
    X = np.random.default_rng(1).normal(size=(400, 3))
    theirs = KMeans(20, n_init=1, random_state=0).fit(X).inertia_
    assert cost_of(X, find_centres(X, 20)) <= 1.1 * theirs


def test_equal_records_have_one_centre_and_every_centre_is_a_mean():
    assert find_centres(np.ones((9, 2)), 4).tolist() == [[1.0, 1.0]]
    centres = find_centres(X, 7)
    label = find_nearest(X, centres)
    np.testing.assert_allclose(centres, [X[label == c].mean(axis=0) for c in range(len(centres))])


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_landmarks_are_the_centres_of_all_parties_in_an_order_that_says_nothing(parties):
    names = tuple(f"p{i}" for i in range(parties))
    none = np.empty(0, dtype=np.int64)
    held = {p: NumberedRecords(X[i], none, np.empty(0)) for p, i in reference.deal(names, len(X)).items()}
    held[names[0]] = NumberedRecords(X[:0], none, np.empty(0))  # a party without records

    def listed(run: Any) -> Any:
        by, fixed = protect(run), FixedPoint(32, terms=parties)
        return share_landmarks(run, run.hold(Holder, held), share=0.3, by=by, fixed=fixed)

    found = played(listed, names)[1]
    expected = np.concatenate([own_centres(rows, 0.3) for rows in held.values()])
    np.testing.assert_allclose(found, expected[np.lexsort(expected.T[::-1])], atol=1e-9)


def test_a_share_a_count_and_auto_say_how_many_landmarks_there_are():
    assert [share_of(given, 200) for given in (0.15, 50.0, "auto")] == [0.15, 0.25, 0.25]
    assert share_of("auto", 4000) == pytest.approx(0.1)
    with pytest.raises(
        LocalError, match="landmarks=201 of 200 records: ask for as many as there are records, or fewer"
    ):
        share_of(201.0, 200)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.3), Kernel("poly", 0.3, 2, 1.0)])
def test_with_all_records_as_landmarks_the_map_is_the_kernel(kernel):
    F = features_of(map_by(kernel, X), X, shorten=False)[:, :-1]
    exact = np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2)) if kernel.name == "rbf" else (0.3 * X @ X.T + 1) ** 2
    np.testing.assert_allclose(F @ F.T, exact, atol=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_cutting_planes_end_within_tol_of_the_optimum(C):
    found = play({}, deal_rows(X, Y), C=C, tol=1e-4)
    best = reference.optimum(X, 2 * Y - 1, C)
    assert find_gap(found) <= 1e-4
    assert found.bound[0] <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= found.objective[0] <= best * (1 + 1.1e-4)
    own = reference.objective(np.column_stack([X, np.ones(len(X))]), 2 * Y - 1, found.w[0], C)
    assert found.objective[0] == pytest.approx(own, rel=1e-7)


def test_the_objective_never_rises():
    told = [play({}, deal_rows(X, Y), rounds=n).objective[0] for n in range(1, 8)]
    assert told == sorted(told, reverse=True)


def test_records_of_one_side_only_have_a_model_that_says_so():
    pool = start_pool(np.array([[3.0, 5.0, 5.0], [0.0, 0.0, 0.0]]), 1.0)
    assert pool.ahead[-1] > 0.999
    assert pool.bound == pytest.approx(0.0, abs=1e-9)
    found = play({}, deal_rows(X, np.zeros(len(X), int)))
    assert found.objective[0] == pytest.approx(0.0, abs=1e-6)
    assert found.w[0, -1] > 0.999
