"""Margin tracking: counts and losses along the lines of a search give single rows' margins, and these the rows.

Along a line from (w_b, b_b) to (w_a, b_a) the margin of row i is linear in the step k, so the opened loss of unit
weights

    R(k) = sum_i max(0, 1 - m_i(k)),      m_i(k) = m_i + k (a_i - m_i)                                     (1)

is convex and piecewise linear, and bends where a row crosses the margin: by |a_i - m_i|, at the step where m_i(k) = 1.
The counts n(k) say in which interval of steps a single row crosses. If none crosses in the intervals beside it, both
slopes are known there, and the bend with its place gives two numbers that are linear in the row, whose last entry is
its sign:

    theta_i = y_i (f_i, 1),      theta_i.(w_b, b_b) = m_i,      theta_i.(w_a, b_a) = a_i                   (2)

A row that is seen on g lines, 2 g >= d + 1, follows from (2). Nobody says which bends are of the same row. So every
group of g bends is solved, and it is a row if (2) holds for all of them within the rounding of R, if the last entry of
theta is 1 or -1, and if R stays convex on all lines when the row is taken off. Rows that were found are taken off,
which shows further rows alone.

What it finds (400 records of breast cancer, standardised, release 0.1.0's rule with min_count = 5, tol = 1e-9; nothing
else is known): 1, 8, 1 and 1 records of 2, 3, 4 and 5 columns from one run with C = 100; 6, 13, 5 and 5 from three runs
with C = 1, 10, 100; 24, 29 and 14 of 2, 3 and 4 columns from ten runs. Of 188 rows that it took for records in trials
with 60 to 569 records, two were none. It stops where rows are alone in an interval too seldom, and at six columns or
more, where a row needs four bends and there are too many groups of four to try.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.attacks.coordinator import deal_rows, opened_sums
from tacit.attacks.pairwise_rule import UNIT, View, pairwise_rule
from tacit.attacks.study import Point, Points
from tacit.numeric.groups.least_count import FLOOR

GROUPS = 400_000  # at most, of one size
CHUNK = 20_000  # groups that are solved together
CLEAR = 1e3  # a bend must be so many times its error
SLACK = 5.0  # errors that an equation may be off
SHARP = 1e-4  # the largest error of a row that is believed
NEAR = 1e-4  # how near a record is found
PASSES = 10

Views = Callable[[F64, F64], Sequence[View]]


@dataclass(frozen=True)
class Lines:
    """All lines (1): both ends with the bias last, counts and losses at every step, and how far a loss may be off."""

    steps: F64
    start: F64
    end: F64
    counts: F64
    losses: F64
    error: F64

    def margins(self, theta: F64) -> F64:
        """Return the margins of rows: by row, line and step."""
        at, ahead = theta @ self.start.T, theta @ self.end.T
        return np.asarray(at[:, :, None] + self.steps * (ahead - at)[:, :, None])


@dataclass(frozen=True)
class Bends:
    """Bends of one row each: on which line, the row's margins at both ends, and how far these may be off."""

    line: I64
    margin: F64
    error: F64


@dataclass(frozen=True)
class Tracked:
    """Rows (2) that were found, and how far each may be off."""

    theta: F64
    error: F64

    @property
    def features(self) -> F64:
        """Return the features of the rows."""
        return np.asarray(self.theta[:, :-1] * self.theta[:, -1:])

    def and_(self, other: Tracked) -> Tracked:
        """Return the rows of both."""
        return Tracked(np.vstack([self.theta, other.theta]), np.concatenate([self.error, other.error]))


def margin_tracking(views: Sequence[View]) -> Tracked:
    """Return the rows that follow from counts and losses of these runs."""
    wide = views[0].sums.shape[1] - 1
    found = Tracked(np.empty((0, wide)), np.empty(0))
    if not any(view.lines for view in views):
        return found
    lines = lines_of(views)
    for _ in range(PASSES):
        bends, fresh = bends_of(lines), found
        for g in (math.ceil(wide / 2), math.ceil(wide / 2) + 1):
            fresh = _new(found, rows_of(lines, bends, g))
            if len(fresh.theta):
                break
        if not len(fresh.theta):
            break
        found, lines = found.and_(fresh), without(lines, fresh)
    return found


def lines_of(views: Sequence[View]) -> Lines:
    """Return all lines of all views."""
    every = [line for view in views for line in view.lines]
    start = np.array([np.append(line.w_b, line.b_b) for line in every])
    end = np.array([np.append(line.w_a, line.b_a) for line in every])
    counts, losses = np.array([line.counts for line in every]), np.array([line.losses for line in every])
    return Lines(every[0].steps, start, end, counts, losses, np.full(losses.shape, UNIT))


def bends_of(lines: Lines) -> Bends:
    """Return the bends at which one row crosses the margin, and none in the intervals beside it."""
    k, R, wide = lines.steps, lines.losses, np.diff(lines.steps)
    slope, off = np.diff(R, axis=1) / wide, (lines.error[:, 1:] + lines.error[:, :-1]) / wide
    moved = np.rint(np.diff(lines.counts, axis=1))
    bend, blur = slope[:, 2:] - slope[:, :-2], off[:, 2:] + off[:, :-2]
    at = (R[:, 1:-2] - slope[:, :-2] * k[1:-2] - R[:, 2:-1] + slope[:, 2:] * k[2:-1]) / np.where(
        bend == 0.0, np.nan, bend
    )
    alone = (np.abs(moved[:, 1:-1]) == 1) & (moved[:, :-2] == 0) & (moved[:, 2:] == 0)
    line, j = np.nonzero(alone & (bend > CLEAR * blur) & (k[1:-2] <= at) & (at <= k[2:-1]))
    change, at, blur = -moved[:, 1:-1][line, j] * bend[line, j], at[line, j], blur[line, j]
    early = 2.0 * lines.error[line, j + 1] + (at + wide[j + 1]) * blur
    return Bends(
        line, np.stack([1.0 - at * change, 1.0 - at * change + change], axis=1), np.stack([early, early + blur], axis=1)
    )


def rows_of(lines: Lines, bends: Bends, g: int) -> Tracked:
    """Return the rows that explain g bends each, the surest first."""
    found = [Tracked(np.empty((0, lines.start.shape[1])), np.empty(0))]
    for groups in _chunks(bends, g):
        rows = solve_rows(lines, bends, groups)
        found.append(Tracked(*(part[fits(lines, rows)] for part in (rows.theta, rows.error))))
    theta, error = np.vstack([rows.theta for rows in found]), np.concatenate([rows.error for rows in found])
    order = np.argsort(error)
    return Tracked(theta[order], error[order])


def _chunks(bends: Bends, g: int) -> Iterator[I64]:
    """Yield groups of g bends on different lines, many at a time; of the sharpest bends only, if there are too many."""
    sharpest, most = np.argsort(bends.error[:, 0]), len(bends.line)
    while math.comb(most, g) > GROUPS:
        most -= 1
    every = combinations(sharpest[:most], g)
    while chunk := list(islice(every, CHUNK)):
        groups = np.array(chunk)
        lines = np.sort(bends.line[groups], axis=1)
        yield groups[np.all(np.diff(lines, axis=1) > 0, axis=1)]


def solve_rows(lines: Lines, bends: Bends, groups: I64) -> Tracked:
    """Return the rows (2) of those groups that agree, with 1 or -1 for a last entry."""
    line, error = bends.line[groups], bends.error[groups]
    A = np.concatenate([lines.start[line] / error[:, :, :1], lines.end[line] / error[:, :, 1:]], axis=1)
    right = np.concatenate([(bends.margin / bends.error)[groups, side] for side in (0, 1)], axis=1)
    Q, T = np.linalg.qr(A)
    sound = np.abs(np.diagonal(T, axis1=1, axis2=2)).min(axis=1) > 0.0
    A, right, Q, inverse = A[sound], right[sound], Q[sound], np.linalg.inv(T[sound])
    theta = np.einsum("nij,nkj,nk->ni", inverse, Q, right)
    covariance = np.einsum("nij,nkj->nik", inverse, inverse)  # if all equations are off by their errors
    spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    wrong = np.sign(theta[:, -1:]) - theta[:, -1:]
    good = np.abs(np.einsum("nij,nj->ni", A, theta) - right).max(axis=1) < SLACK
    good &= (np.abs(wrong[:, 0]) < SLACK * spread[:, -1]) & (spread.max(axis=1) < SHARP)
    # the last entry is 1 or -1, and the others go with it
    theta = theta + wrong * covariance[:, :, -1] / covariance[:, -1:, -1]
    return Tracked(theta[good], spread[good].max(axis=1))


def fits(lines: Lines, rows: Tracked) -> Flags:
    """Return which rows may be taken off: losses stay convex and non-negative, counts stay non-negative."""
    if not len(rows.theta):
        return np.zeros(0, bool)
    margins, off = (
        lines.margins(rows.theta),
        SLACK * rows.error[:, None, None] * np.linalg.norm(lines.end, axis=1)[:, None],
    )
    left = lines.losses - np.maximum(0.0, 1.0 - margins)
    blur = (lines.error + off)[:, :, 1:] + (lines.error + off)[:, :, :-1]
    slope, blur = np.diff(left, axis=2) / np.diff(lines.steps), blur / np.diff(lines.steps)
    bent = np.diff(slope, axis=2) < -SLACK * (blur[:, :, 1:] + blur[:, :, :-1])
    below = (left + SLACK * (lines.error + off) < 0.0) | (lines.counts - (margins < 1.0) < 0)
    return np.asarray(~(bent.any(axis=(1, 2)) | below.any(axis=(1, 2))))


def without(lines: Lines, rows: Tracked) -> Lines:
    """Return the lines with these rows taken off."""
    margins = lines.margins(rows.theta)
    losses = lines.losses - np.maximum(0.0, 1.0 - margins).sum(axis=0)
    off = rows.error[:, None, None] * np.linalg.norm(lines.end, axis=1)[:, None]
    error = lines.error + np.where(margins < 1.0, off, 0.0).sum(axis=0)
    return dataclasses.replace(lines, counts=lines.counts - (margins < 1.0).sum(axis=0), losses=losses, error=error)


def _new(known: Tracked, rows: Tracked) -> Tracked:
    """Return those rows that are not known yet, each once."""
    kept: list[int] = []
    for i, theta in enumerate(rows.theta):
        before = np.vstack([known.theta, rows.theta[kept]])
        if not np.any(np.abs(before - theta).max(axis=1) < NEAR):
            kept.append(i)
    return Tracked(rows.theta[kept], rows.error[kept])


def match_records(rows: Tracked, truth: F64, within: float = NEAR) -> I64:
    """Return which records of the truth were found."""
    far = [np.abs(rows.features - x).max(axis=1).min(initial=np.inf) for x in truth]
    return np.flatnonzero(np.array(far) <= within)


def _runs(F: F64, y: F64, prices: Sequence[float]) -> Sequence[View]:
    return [pairwise_rule(F, y, C=C, tol=1e-9) for C in prices]


def _groups(F: F64, y: F64, prices: Sequence[float]) -> Sequence[View]:
    """Return the views of runs over groups of rows: there are no losses in them, so no lines."""
    return [View(opened_sums(deal_rows(F, y), C=C, min_count=FLOOR)) for C in prices]


VARIANTS: Mapping[str, Views] = {
    "0.1.0's rule, one run": partial(_runs, prices=(100.0,)),
    "0.1.0's rule, three runs": partial(_runs, prices=(1.0, 10.0, 100.0)),
    "groups": partial(_groups, prices=(1.0, 10.0, 100.0)),
}


def study(X: F64, y: I64, variants: Mapping[str, Views] = VARIANTS) -> Points:
    """Yield the share of the records that are found, by the number of columns."""
    signs = np.where(y == y.max(), 1.0, -1.0)
    for name, views in variants.items():
        for columns in range(2, min(5, X.shape[1]) + 1):
            F = X[:, :columns]
            yield Point(name, columns, len(match_records(margin_tracking(views(F, signs)), F)) / len(F))
