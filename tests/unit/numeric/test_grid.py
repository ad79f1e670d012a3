"""Grids: candidates by kernel and price, scores from counts as scikit-learn has them, who stays, rows in stages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, f1_score

from tacit.choreo import LocalError
from tacit.numeric.scores.folds import assign_stages, deal_folds
from tacit.numeric.scores.grid import (
    arrange,
    best_of,
    check_candidates,
    check_scoring,
    first_best,
    schedule,
    scores_of,
)
from tacit.numeric.svm.kernels import Kernel

A, B = Kernel("rbf", 0.1), Kernel("linear")


def test_candidates_of_one_kernel_share_it_and_their_prices_rise():
    grid = arrange([(A, 10.0), (B, 1.0), (A, 0.1), (A, 10.0)])
    assert grid.kernels == (A, B)
    assert grid.prices == ((0.1, 10.0), (1.0,))
    assert grid.places == ((0, 1), (1, 0), (0, 0), (0, 1))


@pytest.mark.parametrize(
    ("scoring", "score"),
    [("accuracy", accuracy_score), ("balanced_accuracy", balanced_accuracy_score), ("f1", f1_score),
     ("f1_macro", lambda y, z: f1_score(y, z, average="macro"))],
)  # fmt: skip
def test_scores_of_counts_are_those_of_scikit_learn(scoring, score):
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, z = rng.integers(0, 2, (2, 25))
        found = scores_of(confusion_matrix(y, z, labels=[0, 1])[None, None].astype(float), scoring)
        assert found[0, 0] == pytest.approx(score(y, z), abs=1e-15)


def test_of_equal_means_the_first_is_best_and_the_first_stay():
    scores = np.array([[0.5, 0.7], [0.9, 0.7], [0.7, 0.9], [0.8, 0.8], [0.1, 0.2]])
    assert first_best(scores) == 1
    assert list(best_of(scores, 2)) == [1, 2]
    assert list(best_of(scores, 4)) == [0, 1, 2, 3]


def test_a_schedule_ends_with_all_rows_and_fewer_candidates_than_factor():
    assert schedule(25, 3) == ((25, pytest.approx(1 / 9)), (9, pytest.approx(1 / 3)), (3, 1.0))
    assert schedule(8, 2) == ((8, 0.125), (4, 0.25), (2, 0.5), (1, 1.0))
    assert schedule(25, 0) == ((25, 1.0),)
    assert schedule(1, 3) == ((1, 1.0),)


def test_stages_are_nested_shares_of_every_class_and_fold():
    codes = np.repeat([0, 1, -1], [90, 45, 5])
    fold = deal_folds(codes, 3, 0)
    stage = assign_stages(codes, fold, (1 / 9, 1 / 3, 1.0), 7)
    for code, size in ((0, 30), (1, 15)):
        for q in range(3):
            mine = stage[(codes == code) & (fold == q)]
            assert [int(np.sum(mine <= s)) for s in range(3)] == [
                int(np.ceil(size / 9 - 1e-9)),
                int(np.ceil(size / 3 - 1e-9)),
                size,
            ]
    np.testing.assert_array_equal(stage, assign_stages(codes, fold, (1 / 9, 1 / 3, 1.0), 7))
    assert np.any(stage != assign_stages(codes, fold, (1 / 9, 1 / 3, 1.0), 8))


def test_what_is_no_grid_is_refused():
    with pytest.raises(LocalError, match="there is no candidate to try"):
        check_candidates(())
    with pytest.raises(
        LocalError, match="candidates may differ in C, kernel, gamma, degree, coef0, not in landmarks, tol"
    ):
        check_candidates(({"C": 1.0, "tol": 1.0, "landmarks": 3},))
    with pytest.raises(LocalError, match="unknown scoring 'roc_auc': counts that are summed give one of accuracy"):
        check_scoring("roc_auc")
    with pytest.raises(LocalError, match="scoring='f1' is for two classes, and there are 3: use 'f1_macro'"):
        check_scoring("f1", 3)
