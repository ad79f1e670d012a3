"""Atoms: groups of rows that no sum tells apart, and sets of rows rounded to them.

Rows of one holder with the same class and the same membership in everything that was ever summed form an atom. A set is summed
only if it is a union of atoms, and an atom is split only into pieces of at least m rows. So all sums that were ever opened are
functions of the sums over the final atoms, and each of these has at least m rows.

The hinge loss of an atom A, with h_i = 1 - y_i f(x_i), S = sum_A h_i, Q = sum_A h_i^2 and n rows, lies between

    max(0, S)  <=  sum_A max(0, h_i)  <=  (S + sqrt(n Q)) / 2                                                    (1)

both of which are functions of sums over the atom; with one row both are equalities. The lower bound is a cut over A or over nothing.
A cut that follows the margin more closely splits atoms: with h sorted, largest first, and k* = #{h > 0},

    split = S_k,  k = clip(k*, m, n - m),      only if n >= 2m and 0 < k* < n                                   (2)
    split by the largest gain S_k - max(0, S) > 0 first, until the lower bounds miss the losses by at most `slack`    (3)

Splits are scarce, since pieces stay: (3) takes no more of them than a cut needs that makes progress.

Source: ours. The upper bound is Cauchy-Schwarz: 2 max(0, h) = h + |h|.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]

OUT = -1  # the group of a row that takes no part; the label of a row that never was in a sum
ALIKE = 2.0  # weights within this ratio share a level
STEPS = 8  # of the power method: a rough direction does
NOTHING = 1e-7  # of the largest |h|: where two cuts are equal, a group in which they differ has a sum of 0, and rounding decides its sign


def grouped(label: I64, absent: I64, kind: I64, least: int) -> I64:
    """Return the groups of a new run: atoms by `kind`, that is by class, each of at least `least` rows; OUT where rows stay away.

    `absent` says how many rows of a row's atom are no longer here. An atom is left out if taking it would show a few of its rows: those
    that are absent, or of another kind. Atoms that are smaller than `least` are put together with their neighbours.
    """
    group = np.full(len(label), OUT, dtype=np.int64)
    if not len(label):
        return group
    if least == 1:
        return np.where(kind >= 0, np.arange(len(label)), OUT)
    atom, size = _numbered(label)
    piece, rows = _numbered(_paired(atom, kind))
    rows = rows[piece]
    old = label >= 0
    shows = old & (((rows < size[atom]) & (rows < least)) | ((absent > 0) & ((absent < least) | (rows < least))))
    barred = np.zeros(len(size), bool)
    barred[atom[shows]] = True
    use = (kind >= 0) & ~barred[atom]
    large = use & (rows >= least)
    group[large] = _numbered(piece[large])[0]
    small = np.flatnonzero(use & (rows < least) & old)
    return _put_together(group, small, atom, kind, least)


def _put_together(group: I64, small: I64, atom: I64, kind: I64, least: int) -> I64:
    """Give groups to small atoms, neighbour by neighbour, kind by kind; what is left over at the end of a kind stays out.

    A group of several atoms has fewer than 2 `least` rows, so that nothing will ever split it.
    """
    following = int(group.max(initial=OUT)) + 1
    for k in np.unique(kind[small]):
        rows = small[kind[small] == k]
        rows = rows[np.argsort(atom[rows], kind="stable")]
        start, ends = 0, np.append(np.flatnonzero(np.diff(atom[rows])) + 1, len(rows))
        for end in ends:
            rest = len(rows) - end
            absorbs = 0 < rest < least and len(rows) - start < 2 * least  # the last of a kind takes what is left over
            if end - start >= least and not absorbs:
                group[rows[start:end]] = following
                following, start = following + 1, end
    return group


def combined(label: I64, group: I64) -> I64:
    """Return the labels after a run: rows with the same label before and the same group in the run have the same one again."""
    fresh = (label < 0) & (group < 0)
    return np.where(fresh, OUT, _numbered(_paired(label, group))[0])


def refined(group: I64, part: I64) -> I64:
    """Return the groups split by `part`, a number for every row; rows that take no part stay out."""
    use = group >= 0
    found = np.full(len(group), OUT, dtype=np.int64)
    found[use] = _numbered(_paired(group[use], part[use]))[0]
    return found


def levels(group: I64, weight: F64, least: int) -> tuple[I64, F64]:
    """Return groups of one weight each, and that weight: the mean of the rows'. Groups of different weights are split if they can be."""
    group, weight = group.copy(), weight.copy()
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        if not len(rows) or group[rows[0]] < 0 or weight[rows].min() == weight[rows].max():
            continue
        rows = rows[np.argsort(weight[rows], kind="stable")]  # noqa: PLW2901 - lightest first
        ends = _level_ends(weight[rows], least)
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            piece = rows[start:end]
            weight[piece] = weight[piece].mean()
            if start:
                group[piece] = group.max() + 1
    return group, weight


def _level_ends(weight: F64, least: int) -> list[int]:
    """Where levels of rising weights end: each has at least `least` rows, and where rows suffice weights within a factor `ALIKE`."""
    ends, start = [], 0
    for i in range(least, len(weight) - least + 1):
        if weight[i] > ALIKE * weight[start] and i - start >= least:
            ends.append(i)
            start = i
    return [*ends, len(weight)]


def dealt(group: I64, kind: I64, number: int, least: int, draw: np.random.Generator) -> I64:
    """Return to which of `number` parts each row goes: groups are cut into pieces of at least `least` rows, dealt round kind by kind."""
    part = np.zeros(len(group), dtype=np.int64)
    for k in np.unique(kind[group >= 0]):
        rows = draw.permutation(np.flatnonzero((group >= 0) & (kind == k)))
        rows = rows[np.argsort(group[rows], kind="stable")]
        pieces = [
            piece
            for own in np.split(rows, np.flatnonzero(np.diff(group[rows])) + 1)
            for piece in np.array_split(own, max(1, min(number, len(own) // least)))
        ]
        first = int(draw.integers(number))
        for i, j in enumerate(draw.permutation(len(pieces))):
            part[pieces[j]] = (first + i) % number
    return part


def staged(group: I64, shares: tuple[float, ...], least: int, draw: np.random.Generator) -> I64:
    """Return from which stage on each row takes part, if stage s has about this share of every group, in pieces of `least` or more."""
    stage = np.full(len(group), len(shares) - 1, dtype=np.int64)
    for g in np.unique(group[group >= 0]):
        rows = draw.permutation(np.flatnonzero(group == g))
        start = 0
        for s, share in enumerate(shares[:-1]):
            end = math.ceil(share * len(rows) - 1e-9)
            if end - start >= least and len(rows) - end >= least:
                stage[rows[start:end]] = s
                start = end
        if not start and len(rows) < 2 * least:  # too small to be cut: it takes part from a stage drawn by lot
            stage[rows] = int(np.searchsorted(shares, draw.random()))
    return stage


def rounded(group: I64, h: F64, least: int, slack: float, fresh: int) -> tuple[Flags, I64]:
    """Return a union of groups, each row of which is marked, and the groups after the splits (2) that it needs by (3).

    Pieces that are split off get the numbers `fresh`, `fresh` + 1, ...
    """
    marked, group = np.zeros(len(group), bool), group.copy()
    rows = np.flatnonzero(group >= 0)
    if not len(rows):
        return marked, group
    own, hi = group[rows], h[rows]
    size = np.bincount(own)
    total, above = _per(own, hi), _per(own, np.maximum(hi, 0.0))
    tiny = NOTHING * float(np.abs(hi).max()) if least > 1 else 0.0
    violating = np.bincount(own, hi > tiny, minlength=len(size)).astype(np.int64)
    whole = np.maximum(total, 0.0)
    marked[rows] = (total > tiny)[own]
    mixed = np.flatnonzero((size >= 2 * least) & (violating > 0) & (violating < size))
    lacking = float(above.sum() - whole.sum())
    if least == 1 or not len(mixed) or lacking <= slack:
        return marked, group
    candidate = np.zeros(len(size), bool)
    candidate[mixed] = True
    chosen = np.flatnonzero(candidate[own])
    order = chosen[np.lexsort((-hi[chosen], own[chosen]))]
    start = np.searchsorted(own[order], mixed)
    k = np.clip(violating[mixed], least, size[mixed] - least)
    prefix = np.concatenate([[0.0], np.cumsum(hi[order])])
    gain = prefix[start + k] - prefix[start] - whole[mixed]  # (2)
    best = np.argsort(-gain, kind="stable")
    best = best[gain[best] > tiny]
    needed = 1 + int(np.searchsorted(np.cumsum(gain[best]), lacking - slack))  # (3)
    taken = np.full(len(mixed), -1, dtype=np.int64)
    taken[best[:needed]] = np.arange(len(best[:needed]))
    which = np.repeat(np.arange(len(mixed)), size[mixed])
    inside = np.arange(len(order)) - start[which] < k[which]
    split = taken[which] >= 0
    marked[rows[order[split]]] = inside[split]
    new = split & inside
    group[rows[order[new]]] = fresh + taken[which[new]]
    return marked, group


def split_by_place(group: I64, X: F64, least: int, pieces: int) -> I64:
    """Return the groups cut in halves, across the direction in which their rows differ most, until each is below `pieces` times `least`.

    Rows of a group that are near each other have similar margins under every model, so sets that are rounded to groups lose less.
    """
    group, following = group.copy(), int(group.max(initial=OUT)) + 1
    order = np.argsort(group, kind="stable")
    waiting = [rows for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1) if len(rows) and group[rows[0]] >= 0]
    while waiting:
        rows = waiting.pop()
        if least == 1 or len(rows) < pieces * least:
            continue
        rows = rows[np.argsort(X[rows] @ _widest(X[rows]), kind="stable")]
        near, far = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        group[far] = following
        following += 1
        waiting += [near, far]
    return group


def _widest(X: F64) -> F64:
    """Return the direction in which rows differ most, by a few steps of the power method from the column that differs most."""
    centred = X - X.mean(axis=0)
    direction: F64 = np.eye(X.shape[1])[np.argmax(centred.std(axis=0))]
    for _ in range(STEPS):
        direction = centred.T @ (centred @ direction)
        direction /= max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)
    return direction


def split_by_value(group: I64, value: F64, least: int, close: float) -> I64:
    """Return the groups cut into pieces of at least `least` rows, in the order of their values, each as narrow as `close` if it can be."""
    if least == 1:
        return group
    group, fresh = group.copy(), int(group.max(initial=OUT)) + 1
    order = np.lexsort((value, group))
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        start = 0
        for end in range(least, len(rows) - least + 1):
            if len(rows) and group[rows[0]] >= 0 and end - start >= least and value[rows[end]] - value[rows[start]] > close:
                group[rows[end:]] = fresh
                fresh, start = fresh + 1, end
    return group


def group_means(group: I64, values: F64) -> F64:
    """Return for every row the mean of its group, column by column."""
    own, size = _numbered(group)
    return np.stack([(_per(own, column) / size)[own] for column in values.T], axis=1) if len(group) else values


def upper_losses(group: I64, h: F64, ahead: F64, weight: F64, steps: F64) -> F64:
    """Return the sum of the upper bounds (1) over all groups at every step from h to `ahead`; rows of a group have one weight.

    Groups are numbered from 0 on without large gaps.
    """
    use = group >= 0
    own, start, size = group[use], h[use], np.bincount(group[use])
    held, slope = np.flatnonzero(size), ahead[use] - start
    n, heavy, S0, S1, Q0, Q1, Q2 = (
        each[held, None]
        for each in (size, *(_per(own, v) for v in (weight[use], start, slope, start * start, start * slope, slope * slope)))
    )
    S, Q = S0 + steps * S1, Q0 + 2.0 * steps * Q1 + steps**2 * Q2
    length = np.where(n == 1, np.abs(S), np.sqrt(np.maximum(n * Q, S * S)))
    found: F64 = (heavy / n * (S + length)).sum(axis=0) / 2.0
    return found


def _per(own: I64, values: F64) -> F64:
    found: F64 = np.bincount(own, values).astype(np.float64)
    return found


def _paired(first: I64, second: I64) -> I64:
    """Return one number for each pair of numbers from OUT on, in the order of the first, then of the second."""
    return (first + 1) * (int(second.max(initial=OUT)) + 2) + second + 1


def _numbered(label: I64) -> tuple[I64, I64]:
    """Return labels as 0, 1, ..., in their order, and how many rows have each."""
    _, number, size = np.unique(label, return_inverse=True, return_counts=True)
    return number.ravel(), size
