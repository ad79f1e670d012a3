"""Counts and losses along the lines of a search give margins of single rows, and these give the rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit.attacks.margin_tracking import Tracked, bends_of, fits, lines_of, margin_tracking, match_records, without
from tacit.attacks.pairwise_rule import View, pairwise_rule


def cancer(rows, columns):
    """Some standardised records and their signs."""
    X, y = load_breast_cancer(return_X_y=True)
    kept = np.random.default_rng(0).permutation(len(X))[:rows]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[kept, :columns], np.where(y[kept] == 1, 1.0, -1.0)


@pytest.mark.parametrize(("rows", "columns", "least"), [(100, 2, 4), (400, 3, 5), (200, 4, 2)])
def test_one_run_gives_records(rows, columns, least):
    """Losses of one run, none of them over fewer than min_count rows, give records and nothing else."""
    F, y = cancer(rows, columns)
    found = margin_tracking([pairwise_rule(F, y, C=100.0, tol=1e-9)])
    assert len(match_records(found, F)) == len(found.theta) >= least


def test_runs_over_the_same_rows_add_up():
    """Three prices give more records than one."""
    F, y = cancer(400, 3)
    views = [pairwise_rule(F, y, C=C, tol=1e-9) for C in (1.0, 10.0, 100.0)]
    found = margin_tracking(views)
    assert len(match_records(found, F)) == len(found.theta) > len(margin_tracking(views[2:]).theta)
    signs = [y[np.abs(F - x).max(axis=1).argmin()] for x in found.features]
    np.testing.assert_array_equal(np.sign(found.theta[:, -1]), signs)


def test_a_bend_is_the_margin_of_a_row():
    """Nearly every bend gives both margins of some row, to within the error that it states."""
    F, y = cancer(200, 5)
    lines = lines_of([pairwise_rule(F, y, C=10.0, tol=1e-9)])
    bends, theta = bends_of(lines), np.column_stack([y[:, None] * F, y])
    true = np.stack([theta @ lines.start.T, theta @ lines.end.T], axis=2)[:, bends.line]
    assert np.mean((np.abs(true - bends.margin) < 5 * bends.error).all(axis=2).any(axis=0)) > 0.8


def test_rows_that_were_there_can_be_taken_off_and_many_others_cannot():
    """Losses stay convex without a true row; many rows that never were would bend them the wrong way."""
    F, y = cancer(100, 3)
    lines = lines_of([pairwise_rule(F, y, C=10.0, tol=1e-9)])
    theta = np.column_stack([y[:, None] * F, y])
    rows = Tracked(theta, np.full(len(theta), 1e-12))
    assert fits(lines, rows).all()
    strangers = theta.copy()
    strangers[:, 0] += 0.3
    assert fits(lines, Tracked(strangers, rows.error)).mean() < 0.75
    np.testing.assert_allclose(without(lines, rows).losses[np.isfinite(lines.losses)], 0.0, atol=1e-6)


def test_without_lines_there_is_nothing_to_track():
    """A view of sums alone gives no margins; one with the losses held back gives none either."""
    F, y = cancer(100, 3)
    view = pairwise_rule(F, y, C=10.0, tol=1e-9)
    silent = dataclasses.replace(
        view, lines=tuple(dataclasses.replace(line, losses=line.losses * np.nan) for line in view.lines)
    )
    assert len(margin_tracking([View(view.sums)]).theta) == 0
    assert len(margin_tracking([silent]).theta) == 0
