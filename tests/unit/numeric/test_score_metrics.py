"""Figures from counts: scikit-learn's on the records themselves, or bounds around them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    precision_recall_curve,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from tacit.numeric.scores.metrics import (
    accuracy,
    average_precision,
    exact_areas,
    f1_scores,
    histograms,
    macro,
    merge_bins,
    precisions,
    rates,
    recalls,
    roc_auc,
    specificities,
    squash,
    stretch,
)
from tacit.report.evaluation import FIGURES, Evaluation, Figure, figures_of


def drawn(seed):
    """Scores of two sides, every third time with many ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 200))
    y = np.r_[True, False, rng.random(n) < rng.uniform(0.1, 0.9)]
    v = rng.normal(size=n + 2) + rng.uniform(0, 3) * y
    return (np.round(v, 1) if seed % 3 == 0 else v), y, int(rng.integers(2, 300)), int(rng.integers(1, 9))


@pytest.mark.parametrize("seed", range(60))
def test_areas_are_within_their_bounds_and_exact_with_all_scores(seed):
    v, y, bins, _ = drawn(seed)
    (P,), (N,) = histograms(v[:, None], y[:, None], bins)
    for bounds, figure, exact in zip(
        (roc_auc(P, N), average_precision(P, N)),
        (roc_auc_score(y, v), average_precision_score(y, v)),
        exact_areas(v, y),
        strict=True,
    ):
        assert bounds[0] - 1e-12 <= figure <= bounds[1] + 1e-12
        assert exact == pytest.approx(figure, abs=1e-12)


def test_bins_that_separate_the_sides_leave_no_gap():
    v, y = np.array([-2.0, -1.0, -0.1, 0.2, 1.0, 3.0]), np.array([0, 0, 1, 0, 1, 1]) > 0
    (P,), (N,) = histograms(v[:, None], y[:, None], 100)
    low, high = roc_auc(P, N)
    assert low == high == pytest.approx(roc_auc_score(y, v))


@pytest.mark.parametrize("seed", range(60))
def test_merged_bins_have_none_or_enough_of_either_side_and_lose_no_record(seed):
    v, y, bins, least = drawn(seed)
    if min(y.sum(), (~y).sum()) < least:
        least = 1
    (P,), (N,) = histograms(v[:, None], y[:, None], bins)
    ends = merge_bins(P, N, least)
    starts = np.r_[0, ends[:-1]]
    for side, total in ((P, y.sum()), (N, (~y).sum())):
        cells = np.add.reduceat(side, starts)
        assert np.all((cells == 0) | (cells >= least))
        assert cells.sum() == total


def test_curves_of_single_scores_are_scikit_learns():
    v, y, _, _ = drawn(1)
    order = np.unique(v, return_inverse=True)[1]
    P, N = (np.bincount(order[side], minlength=order.max() + 1).astype(float) for side in (y, ~y))
    np.testing.assert_allclose(np.transpose(rates(P, N)), np.transpose(roc_curve(y, v, drop_intermediate=False)[:2]))
    precision, recall, _ = precision_recall_curve(y, v)
    np.testing.assert_allclose(np.transpose(precisions(P, N)), np.transpose([precision[::-1], recall[::-1]]))


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_figures_of_a_confusion_matrix_are_scikit_learns(classes):
    rng = np.random.default_rng(classes)
    y, z = rng.integers(classes, size=(2, 80))
    n = confusion_matrix(y, z).astype(float)
    assert accuracy(n) == accuracy_score(y, z)
    assert macro(recalls(n)) == pytest.approx(balanced_accuracy_score(y, z))
    np.testing.assert_allclose(recalls(n), recall_score(y, z, average=None))
    np.testing.assert_allclose(f1_scores(n), f1_score(y, z, average=None))
    np.testing.assert_allclose(specificities(n), [recall_score(y != k, z != k) for k in range(classes)])


def test_a_class_without_a_record_is_no_figure():
    n = np.array([[3.0, 1.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    assert np.isnan(recalls(n)[2])
    assert np.isnan(f1_scores(n)[2])
    assert macro(recalls(n)) == pytest.approx(0.875)
    assert np.isnan(roc_auc(np.zeros(3), np.ones(3))).all()
    assert np.isnan(average_precision(np.zeros(3), np.ones(3))).all()


def test_scores_between_0_and_1_keep_the_order_and_can_be_read_back():
    v = np.sort(np.random.default_rng(0).normal(scale=5, size=200))
    s = squash(v)
    assert np.all(np.diff(s) > 0)
    np.testing.assert_allclose(stretch(s), v, rtol=1e-9)


def test_a_metric_is_declared_once_and_is_in_every_table(monkeypatch):
    monkeypatch.setitem(FIGURES, "half", Figure("half of the accuracy"))
    monkeypatch.setattr(Evaluation, "half", property(lambda found: found.accuracy / 2), raising=False)
    found = Evaluation("records", ["no", "yes"], [[30, 10], [0, 40]], [])
    assert found.figures()["half"] == pytest.approx(0.4375)
    assert ("half of the accuracy", "0.4375") in figures_of(found)
    assert "half 0.4375" in repr(found)
