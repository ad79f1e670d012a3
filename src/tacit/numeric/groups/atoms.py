"""Atoms: groups of rows that no sum tells apart, and sets of rows rounded to them.

Rows of one holder with the same class and the same membership in everything that was ever summed form an atom. A set is
summed only if it is a union of atoms, and an atom is split only into pieces of at least m rows. So all sums that were
ever opened are functions of the sums over the final atoms, and each of these has at least m rows.

The hinge loss of an atom A, with h_i = 1 - y_i f(x_i), S = sum_A h_i, Q = sum_A h_i^2 and n rows, lies between

    max(0, S)  <=  sum_A max(0, h_i)  <=  (S + sqrt(n Q)) / 2                                                       (1)

both of which are functions of sums over the atom; with one row both are equalities. The lower bound is a cut over A or
over nothing. A cut that follows the margin more closely splits atoms: with h sorted, largest first, and k* = #{h > 0},

    split = S_k,  k = clip(k*, m, n - m),      only if n >= 2m and 0 < k* < n                                       (2)
    split by the largest gain S_k - max(0, S) > 0 first, until the lower bounds miss the losses by at most `slack`  (3)

Splits are scarce, since pieces stay: (3) takes no more of them than a cut needs that makes progress.

Source: ours. The upper bound is Cauchy-Schwarz: 2 max(0, h) = h + |h|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import reduce

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.numeric.devices import CPU, Device, Held, positive_part
from tacit.numeric.groups.numbering import (
    OUT,
    count_labels,
    number_labels,
    number_pairs,
    sort_by_label,
    sum_block,
    sum_by,
)
from tacit.numeric.order import divide
from tacit.scratch import ROWS, empty_like, fill, gather, gather_blocks, make_column, release, side_by_side
from tacit.sparse import each, is_sparse

ALIKE = 2.0  # weights within this ratio share a level
BLOCK, WIDEST = 1 << 12, 1 << 6  # rows whose losses at all steps stay in a core's own cache, and how many steps may be
STEPS = 8  # of the power method: a rough direction does
NARROW = 64  # columns up to which their products are cheaper than the steps over all rows
CELLS = 1 << 22  # of rows that are cut in halves in memory; of more, block by block


def make_groups(label: I64, absent: I64, kind: I64, least: int) -> I64:
    """Return the groups of a new run: atoms by class `kind`, each of at least `least` rows; OUT where a row stays away.

    `absent` says how many rows of a row's atom are no longer here. An atom is left out if taking it would show a few of
    its rows: those that are absent, or of another kind. Atoms smaller than `least` are put together with neighbours.
    """
    if least == 1:
        group = empty_like((label, kind), label.shape, np.int64)
        for at, (own,) in side_by_side(kind):
            group[at] = np.where(own >= 0, np.arange(at.start, at.stop), OUT)
            release(group[at])
        return group
    atom, size = number_labels(label)
    piece = number_pairs(atom, kind)
    rows = count_labels(piece)[1:]
    barred, kind_of = np.zeros(len(size), bool), np.full(len(size), OUT, dtype=np.int64)
    for _, (old, own, part, gone, k) in side_by_side(label, atom, piece, absent, kind):
        held = rows[part]
        shows = ((held < size[own]) & (held < least)) | ((gone > 0) & ((gone < least) | (held < least)))
        barred[own[(old >= 0) & shows]] = True
        kind_of[own[(old >= 0) & (k >= 0)]] = k[(old >= 0) & (k >= 0)]
    large = np.zeros(len(rows), bool)
    for _, (own, part, k) in side_by_side(atom, piece, kind):
        large[part[(k >= 0) & ~barred[own]]] = True
    large &= rows >= least
    number = np.where(large, np.cumsum(large) - 1, OUT)
    small = _put_together(np.where(barred, OUT, kind_of), size, least, int(large.sum()))
    return fill(
        lambda own, part, k: np.where(number[part] >= 0, number[part], np.where(k >= 0, small[own], OUT)),
        *(atom, piece, kind),
        dtype=np.int64,
    )


def _put_together(kind: I64, size: I64, least: int, following: int) -> I64:
    """Return groups for small atoms, neighbour by neighbour, kind by kind; OUT for what is left over of a kind.

    A small atom that is not barred has rows of one kind only. A group of several atoms has fewer than 2 `least` rows,
    so that nothing will ever split it.
    """
    group = np.full(len(size), OUT, dtype=np.int64)
    small = np.flatnonzero((kind >= 0) & (size < least))
    for k in np.unique(kind[small]):
        atoms = small[kind[small] == k]
        ends = np.cumsum(size[atoms])
        first, start, rows = 0, 0, int(ends[-1])
        for i, end in enumerate(ends.tolist()):
            rest = rows - end
            absorbs = 0 < rest < least and rows - start < 2 * least  # the last of a kind takes what is left over
            if end - start >= least and not absorbs:
                group[atoms[first : i + 1]] = following
                following, first, start = following + 1, i + 1, end
    return group


def combine_labels(label: I64, group: I64) -> I64:
    """Return the labels after a run.

    Rows with the same label before and the same group in the run have the same label again.
    """
    number = number_pairs(label, group)
    return fill(lambda a, b, n: np.where((a < 0) & (b < 0), OUT, n), label, group, number, dtype=np.int64)


def count_absent(label: I64, rows: I64) -> I64:
    """Return, for each of these rows, how many rows of its atom are not among them; 0 for rows of no atom."""
    if len(rows) == len(label):
        return np.zeros(len(rows), dtype=np.int64)
    own = label[rows] + 1
    gone = np.bincount(label + 1)[own] - np.bincount(own, minlength=int(label.max(initial=OUT)) + 2)[own]
    return np.where(own > 0, gone, 0).astype(np.int64)


def merge_labels(label: I64, rows: I64, after: I64, summed: Flags) -> I64:
    """Return the labels of all rows, where a run on some of them has left the labels `after`.

    An atom whose rows the run told apart is split as the run split it. One of which the run summed a part gets a label
    of its own for that part. All others stay as they are.
    """
    before = label[rows]
    number, size = number_labels(before)
    pieces = number_pairs(before, after)
    split = np.bincount(number[np.unique(pieces, return_index=True)[1]], minlength=len(size)) > 1
    apart = (before < 0) | split[number] | ((count_absent(label, rows) > 0) & summed)
    part = np.zeros(len(label), dtype=np.int64)
    part[rows] = np.where(apart, after + 1, 0)
    ever, merged = (label >= 0) | (part > 0), np.full(len(label), OUT, dtype=np.int64)
    merged[ever] = number_pairs(label[ever], part[ever])  # in the order of before
    return merged


def refine_cells(cell: I64, rows: I64 | None, kind: I64 | None = None) -> I64:
    """Return the cells after a run on these rows, or on all: rows of a cell were in the same runs, and are of one kind.

    A row whose kind is OUT was not in the run.
    """
    if rows is None:
        uses = make_column(cell, len(cell), 0, np.int64) if kind is None else kind
    else:
        uses = np.full(len(cell), OUT, dtype=np.int64)
        uses[rows] = 0 if kind is None else kind[rows]
    return combine_labels(cell, uses)


def smallest_cell(cell: I64, rows: I64 | None) -> int:
    """Return how many rows the smallest cell has after a run on these rows, or on all; 0 if all runs were on them."""
    sizes = count_labels(refine_cells(cell, rows))[1:]
    sizes = sizes[sizes > 0]
    return int(sizes.min()) if len(sizes) > 1 else 0


def tell_apart(label: I64, part: I64, kind: I64, least: int) -> I64:
    """Return the labels split by part and class, wherever that leaves no atom with fewer than `least` rows.

    Sums over single parts are then sums over whole atoms. Rows that never were in a sum get a label if enough rows of
    their class and part are like them.
    """
    piece, size = number_labels(number_pairs(number_pairs(label, part), kind))
    atom, atoms = number_labels(label)
    small = np.zeros(len(atoms), bool)
    small[atom[(size[piece] < least) & (label >= 0)]] = True
    stays = small[atom] | (size[piece] < least)
    found = number_pairs(label, np.where(stays, OUT, piece))
    return np.where((label < 0) & stays, OUT, found)


def refine_groups(group: I64, part: I64) -> I64:
    """Return the groups split by `part`, a number for every row; rows that take no part stay out."""
    number = number_pairs(group, fill(lambda own, p: np.where(own >= 0, p, OUT), group, part, dtype=np.int64))
    out = int(any((own < 0).any() for _, (own,) in side_by_side(group)))  # all of them are one pair, the first
    return fill(lambda own, n: np.where(own >= 0, n - out, OUT), group, number, dtype=np.int64)


def levels(group: I64, weight: F64, least: int) -> tuple[I64, F64]:
    """Return groups of one weight each, and that weight: the mean of the rows'.

    Groups of different weights are split if they can be.
    """
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
    """Return where levels of rising weights end.

    Each has at least `least` rows, and where rows suffice weights within a factor `ALIKE`.
    """
    ends, start = [], 0
    for i in range(least, len(weight) - least + 1):
        if weight[i] > ALIKE * weight[start] and i - start >= least:
            ends.append(i)
            start = i
    return [*ends, len(weight)]


def deal_groups(group: I64, kind: I64, number: int, least: int, draw: np.random.Generator) -> I64:
    """Return to which of `number` parts each row goes.

    Groups are cut into pieces of at least `least` rows, dealt round kind by kind.
    """
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


def deal_stages(group: I64, shares: tuple[float, ...], least: int, draw: np.random.Generator) -> I64:
    """Return from which stage on each row takes part, if stage s has about this share of every group.

    Pieces have `least` rows or more.
    """
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


def split_by_place(group: I64, X: F64, least: int, pieces: int) -> I64:
    """Return the groups cut in halves until each is below `pieces` times `least` rows.

    A cut is across the direction in which the rows of a group differ most. Rows that are near each other have similar
    margins under every model, so sets that are rounded to groups lose less.
    """
    if least == 1:
        return group
    size = count_labels(group)[1:]
    order, ends = sort_by_label(group, size), np.cumsum(size)
    group, following = fill(lambda own: own, group, dtype=np.int64), len(size)
    waiting: list[tuple[I64, F64 | None]] = [(order[end - n : end], None) for end, n in zip(ends, size, strict=True)]
    while waiting:
        rows, cells = waiting.pop()
        if len(rows) < pieces * least:
            continue
        if cells is None and (is_sparse(X) or len(rows) * X.shape[1] <= CELLS):
            cells = gather(X, rows)
        near, far = _halve_blocks(X, rows) if cells is None else _halve(cells, rows)
        for _, (some,) in side_by_side(far[0], rows=ROWS):
            group[some] = following
            release(group)
        following += 1
        waiting += [near, far]
    return group


def _halve(cells: F64, rows: I64) -> tuple[tuple[I64, F64], tuple[I64, F64]]:
    """Return rows and their cells in two halves."""
    mean = cells.sum(axis=0) / len(cells)
    centred = [_centre(cells, mean)]  # once, where every step would centre them anew
    order = np.argsort(cells @ _widest(lambda: centred, len(mean)), kind="stable")
    low, high = order[: len(rows) // 2], order[len(rows) // 2 :]
    return (rows[low], cells[low]), (rows[high], cells[high])


def _halve_blocks(X: F64, rows: I64) -> tuple[tuple[I64, None], tuple[I64, None]]:
    """Return rows that are too many for memory in two halves, each in their old order."""
    mean = _total(cells.sum(axis=0) for cells in gather_blocks(X, rows)) / len(rows)
    direction = _widest(lambda: (_centre(cells, mean) for cells in gather_blocks(X, rows)), len(mean))
    value, start = empty_like(rows, rows.shape, np.float64), 0
    for cells in gather_blocks(X, rows):
        value[start : start + len(cells)] = cells @ direction
        start += len(cells)
        release(value)
    low, high = divide(rows, value, len(rows) // 2)
    return (low, None), (high, None)


def _centre(cells: F64, mean: F64) -> F64:
    """Return cells less the means of their columns; of few columns those of sparse rows too are all written down."""
    return (cells.toarray() if len(mean) <= NARROW and is_sparse(cells) else cells) - mean


def _widest(centred: Callable[[], Iterable[F64]], width: int) -> F64:
    """Return the direction in which rows differ most, by a few steps of the power method.

    It starts at the column that differs most. Rows come in blocks less their mean, as often as they are asked for.
    """
    direction = np.zeros(width)
    direction[np.argmax(_total(each(off, np.square).sum(axis=0) for off in centred()))] = 1.0
    scatter = _total(off.T @ off for off in centred()) if width <= NARROW else None
    for _ in range(STEPS):
        direction = _total(off.T @ (off @ direction) for off in centred()) if scatter is None else scatter @ direction
        direction /= max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)
    return direction


def _total(parts: Iterable[F64]) -> F64:
    return reduce(np.add, parts)


def split_by_value(group: I64, value: F64, least: int, close: float) -> I64:
    """Return the groups cut by value into pieces of at least `least` rows, each as narrow as `close` if possible."""
    if least == 1:
        return group
    group, fresh = group.copy(), int(group.max(initial=OUT)) + 1
    order = np.lexsort((value, group))
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        start = 0
        for end in range(least, len(rows) - least + 1):
            wide = value[rows[end]] - value[rows[start]] > close
            if group[rows[0]] >= 0 and end - start >= least and wide:
                group[rows[end:]] = fresh
                fresh, start = fresh + 1, end
    return group


def group_means(group: I64, values: F64) -> F64:
    """Return for every row the mean of its group, column by column."""
    own, size = number_labels(group)
    return np.stack([(sum_by(own, column, len(size)) / size)[own] for column in values.T], axis=1)


def upper_losses(group: I64, h: F64, ahead: F64, weight: F64, steps: F64) -> F64:
    """Return the sum of the upper bounds (1) over all groups, at every step from h to `ahead`.

    Rows of a group have one weight. Groups are numbered from 0 on without large gaps.
    """
    size = count_labels(group)[1:]
    if size.max(initial=0) == 1:
        return _single_losses(group, h, ahead, weight, steps)
    sums = np.zeros((6, len(size)))
    for _, (own, start, stop, w) in side_by_side(group, h, ahead, weight):
        slope = stop - start
        terms = (w, start, slope, start * start, start * slope, slope * slope)
        sums += [sum_block(len(size), own, v) for v in terms]
    held = np.flatnonzero(size)
    n, heavy, S0, S1, Q0, Q1, Q2 = (each[held, None] for each in (size, *sums))
    S, Q = S0 + steps * S1, Q0 + 2.0 * steps * Q1 + steps**2 * Q2
    length = np.where(n == 1, np.abs(S), np.sqrt(np.maximum(n * Q, S * S)))
    found: F64 = (heavy / n * (S + length)).sum(axis=0) / 2.0
    return found


def _single_losses(group: I64, h: F64, ahead: F64, weight: F64, steps: F64) -> F64:
    """Return the same of rows that are a group each."""
    found = np.zeros(len(steps))
    for _, (own, start, stop, w) in side_by_side(group, h, ahead, weight):
        use = own >= 0
        found += losses_along(start[use], (stop - start)[use], w[use], steps)
    return found


def losses_along(h: Held, slope: Held, weight: Held, steps: F64, device: Device = CPU) -> F64:
    """Return the sum of the losses of single rows at every step from h along the slope, block by block.

    Where h has columns there is a line of losses for each.
    """
    found, there = np.zeros((*h.shape[1:], len(steps))), device.put(steps)
    block = max(1, max(BLOCK, device.block // WIDEST) // max(1, math.prod(h.shape[1:])))
    for i in range(0, h.shape[0], block):
        some = slice(i, min(i + block, h.shape[0]))
        ahead = positive_part(h[some][..., None] + slope[some][..., None] * there, device.xp)
        found += device.get(weight[some] @ device.xp.reshape(ahead, (ahead.shape[0], -1))).reshape(found.shape)
    return found
