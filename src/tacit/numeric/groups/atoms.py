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

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.numeric.devices import CPU, Device, Held, positive_part

OUT = -1  # the group of a row that takes no part; the label of a row that never was in a sum
ALIKE = 2.0  # weights within this ratio share a level
BLOCK, WIDEST = 1 << 12, 1 << 6  # rows whose losses at all steps stay in a core's own cache, and how many steps may be
STEPS = 8  # of the power method: a rough direction does
NARROW = 64  # columns up to which their products are cheaper than the steps over all rows
# of the largest |h|: where two cuts are equal, a group in which they differ has a sum of 0, of which rounding decides
# the sign
NOTHING = 1e-7


def make_groups(label: I64, absent: I64, kind: I64, least: int) -> I64:
    """Return the groups of a new run: atoms by class `kind`, each of at least `least` rows; OUT where a row stays away.

    `absent` says how many rows of a row's atom are no longer here. An atom is left out if taking it would show a few of
    its rows: those that are absent, or of another kind. Atoms smaller than `least` are put together with neighbours.
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
    """Give groups to small atoms, neighbour by neighbour, kind by kind; what is left over of a kind stays out.

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


def combine_labels(label: I64, group: I64) -> I64:
    """Return the labels after a run.

    Rows with the same label before and the same group in the run have the same label again.
    """
    fresh = (label < 0) & (group < 0)
    return np.where(fresh, OUT, _number_pairs(label, group))


def count_absent(label: I64, rows: I64) -> I64:
    """Return, for each of these rows, how many rows of its atom are not among them; 0 for rows of no atom."""
    own = label[rows] + 1
    gone = np.bincount(label + 1)[own] - np.bincount(own, minlength=int(label.max(initial=OUT)) + 2)[own]
    return np.where(own > 0, gone, 0).astype(np.int64)


def merge_labels(label: I64, rows: I64, after: I64, summed: Flags) -> I64:
    """Return the labels of all rows, where a run on some of them has left the labels `after`.

    An atom whose rows the run told apart is split as the run split it. One of which the run summed a part gets a label
    of its own for that part. All others stay as they are.
    """
    before = label[rows]
    number, size = _numbered(before)
    pieces, _ = _numbered(_paired(before, after))
    split = np.bincount(number[np.unique(pieces, return_index=True)[1]], minlength=len(size)) > 1
    apart = (before < 0) | split[number] | ((count_absent(label, rows) > 0) & summed)
    part = np.zeros(len(label), dtype=np.int64)
    part[rows] = np.where(apart, after + 1, 0)
    ever, merged = (label >= 0) | (part > 0), np.full(len(label), OUT, dtype=np.int64)
    merged[ever] = _numbered(_paired(label[ever], part[ever]))[0]  # in the order of before
    return merged


def refine_cells(cell: I64, rows: I64, kind: I64 | None = None) -> I64:
    """Return the cells after a run on these rows: rows of a cell were in the same runs, and are of the same kind."""
    uses = np.full(len(cell), OUT, dtype=np.int64)
    uses[rows] = 0 if kind is None else kind[rows]
    return combine_labels(cell, uses)


def smallest_cell(cell: I64, rows: I64) -> int:
    """Return the size of the smallest cell after a run on these rows; 0 if all runs were on the same rows."""
    after = refine_cells(cell, rows)
    sizes = np.bincount(after[after >= 0])
    sizes = sizes[sizes > 0]
    return int(sizes.min()) if len(sizes) > 1 else 0


def tell_apart(label: I64, part: I64, kind: I64, least: int) -> I64:
    """Return the labels split by part and class, wherever that leaves no atom with fewer than `least` rows.

    Sums over single parts are then sums over whole atoms. Rows that never were in a sum get a label if enough rows of
    their class and part are like them.
    """
    piece, size = _numbered(_paired(_paired(label, part), kind))
    atom, atoms = _numbered(label)
    small = np.zeros(len(atoms), bool)
    small[atom[(size[piece] < least) & (label >= 0)]] = True
    stays = small[atom] | (size[piece] < least)
    found = _numbered(_paired(label, np.where(stays, OUT, piece)))[0]
    return np.where((label < 0) & stays, OUT, found)


def refine_groups(group: I64, part: I64) -> I64:
    """Return the groups split by `part`, a number for every row; rows that take no part stay out."""
    use = group >= 0
    found = np.full(len(group), OUT, dtype=np.int64)
    found[use] = _numbered(_paired(group[use], part[use]))[0]
    return found


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


def round_to_groups(group: I64, h: F64, least: int, slack: float, fresh: int) -> tuple[Flags, I64]:
    """Return a union of groups, each row of which is marked, and the groups after the splits (2) that it needs by (3).

    Pieces that are split off get the numbers `fresh`, `fresh` + 1, ...
    """
    use = group >= 0
    if use.all():
        return _round_all(group, h, least, slack, fresh)
    marked, finer = np.zeros(len(group), bool), group.copy()
    marked[use], finer[use] = _round_all(group[use], h[use], least, slack, fresh)
    return marked, finer


def _round_all(own: I64, h: F64, least: int, slack: float, fresh: int) -> tuple[Flags, I64]:
    """Return the same of rows that all are in a group."""
    size = np.bincount(own)
    if size.max(initial=0) <= 1:  # every row is a group of its own
        return h > 0.0, own
    total, above = _per(own, h), _per(own, np.maximum(h, 0.0))
    tiny = NOTHING * float(np.abs(h).max()) if least > 1 else 0.0
    violating = np.bincount(own[h > tiny], minlength=len(size))
    whole = np.maximum(total, 0.0)
    marked = (total > tiny)[own]
    mixed = np.flatnonzero((size >= 2 * least) & (violating > 0) & (violating < size))
    lacking = float(above.sum() - whole.sum())
    if least == 1 or not len(mixed) or lacking <= slack:
        return marked, own
    k = np.clip(violating[mixed], least, size[mixed] - least)
    top = _largest(own, h, mixed, k, tiny)
    gain = (_per(own, np.where(top, h, 0.0)) - whole)[mixed]  # (2)
    best = np.argsort(-gain, kind="stable")
    best = best[gain[best] > tiny]
    needed = 1 + int(np.searchsorted(np.cumsum(gain[best]), lacking - slack))  # (3)
    taken = np.full(len(size), -1, dtype=np.int64)
    taken[mixed[best[:needed]]] = np.arange(len(best[:needed]))
    number = taken[own]
    split = number >= 0
    return np.where(split, top, marked), np.where(split & top, fresh + number, own)


def _largest(own: I64, h: F64, groups: I64, k: I64, tiny: float) -> Flags:
    """Return which rows have one of the k largest h of their group, for these groups; other rows are not looked at.

    Most groups have k rows above `tiny`, and these are they: only the others are sorted.
    """
    top = h > tiny
    counts = np.zeros(int(own.max()) + 1, dtype=np.int64)
    counts[groups] = np.where(np.bincount(own, top, minlength=len(counts))[groups] == k, 0, k)
    uneven = np.flatnonzero(counts[own])
    by_size = uneven[np.argsort(-h[uneven], kind="stable")]
    narrow = np.min_scalar_type(len(counts))  # NumPy sorts short numbers by their digits
    order = by_size[np.argsort(own[by_size].astype(narrow), kind="stable")]
    first = np.flatnonzero(np.diff(own[order], prepend=OUT))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    top[order] = rank < counts[own[order]]
    return top


def split_by_place(group: I64, X: F64, least: int, pieces: int) -> I64:
    """Return the groups cut in halves until each is below `pieces` times `least` rows.

    A cut is across the direction in which the rows of a group differ most. Rows that are near each other have similar
    margins under every model, so sets that are rounded to groups lose less.
    """
    if least == 1:
        return group
    group, following = group.copy(), int(group.max(initial=OUT)) + 1
    order = np.argsort(group, kind="stable")
    whole = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    waiting = [rows for rows in whole if len(rows) and group[rows[0]] >= 0]
    while waiting:
        rows = waiting.pop()
        if len(rows) < pieces * least:
            continue
        own = X[rows]
        rows = rows[np.argsort(own @ _widest(own), kind="stable")]
        near, far = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        group[far] = following
        following += 1
        waiting += [near, far]
    return group


def _widest(X: F64) -> F64:
    """Return the direction in which rows differ most, by a few steps of the power method.

    It starts at the column that differs most.
    """
    centred, direction = X - X.mean(axis=0), np.zeros(X.shape[1])
    direction[np.argmax(np.einsum("ij,ij->j", centred, centred))] = 1.0
    scatter = centred.T @ centred if X.shape[1] <= NARROW else None
    for _ in range(STEPS):
        direction = centred.T @ (centred @ direction) if scatter is None else scatter @ direction
        direction /= max(float(np.linalg.norm(direction)), np.finfo(np.float64).tiny)
    return direction


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
    own, size = _numbered(group)
    return np.stack([(_per(own, column) / size)[own] for column in values.T], axis=1) if len(group) else values


def upper_losses(group: I64, h: F64, ahead: F64, weight: F64, steps: F64) -> F64:
    """Return the sum of the upper bounds (1) over all groups, at every step from h to `ahead`.

    Rows of a group have one weight. Groups are numbered from 0 on without large gaps.
    """
    use = group >= 0
    own, start, size = group[use], h[use], np.bincount(group[use])
    held, slope = np.flatnonzero(size), ahead[use] - start
    if size.max(initial=0) == 1:
        return losses_along(start, slope, weight[use], steps)
    terms = (weight[use], start, slope, start * start, start * slope, slope * slope)
    n, heavy, S0, S1, Q0, Q1, Q2 = (each[held, None] for each in (size, *(_per(own, v) for v in terms)))
    S, Q = S0 + steps * S1, Q0 + 2.0 * steps * Q1 + steps**2 * Q2
    length = np.where(n == 1, np.abs(S), np.sqrt(np.maximum(n * Q, S * S)))
    found: F64 = (heavy / n * (S + length)).sum(axis=0) / 2.0
    return found


def losses_along(h: Held, slope: Held, weight: Held, steps: F64, device: Device = CPU) -> F64:
    """Return the sum of the losses of single rows at every step from h along the slope, block by block."""
    found, there = np.zeros(len(steps)), device.put(steps)
    block = max(BLOCK, device.block // WIDEST)
    for i in range(0, h.shape[0], block):
        some = slice(i, min(i + block, h.shape[0]))
        ahead = h[some][:, None] + slope[some][:, None] * there
        found += device.get(weight[some] @ positive_part(ahead, device.xp))
    return found


def _per(own: I64, values: F64) -> F64:
    found: F64 = np.bincount(own, values).astype(np.float64)
    return found


def _paired(first: I64, second: I64) -> I64:
    """Return one number for each pair of numbers from OUT on, in the order of the first, then of the second."""
    return (first + 1) * (int(second.max(initial=OUT)) + 2) + second + 1


def _number_pairs(first: I64, second: I64) -> I64:
    """Return pairs of numbers from OUT on as 0, 1, ..., in the order of the first, then of the second.

    Nothing is sorted where pairs are in order already, as of single rows. Where most rows with the same first number
    have the same second one too, as in a run, only the others are.
    """
    width = int(second.max(initial=OUT)) + 2
    pair = (first + 1) * width + second + 1
    if (pair[1:] >= pair[:-1]).all():
        return np.cumsum(np.diff(pair, prepend=pair[:1]) > 0)
    usual = np.full(int(first.max(initial=OUT)) + 2, OUT - 1, dtype=np.int64)
    usual[first + 1] = second
    odd = np.flatnonzero(second != usual[first + 1])
    held = np.flatnonzero(usual >= OUT)
    known, other = held * width + usual[held] + 1, pair[odd]
    pairs, number = _distinct(np.concatenate([known, other])), np.empty(len(usual), dtype=np.int64)
    number[held] = np.searchsorted(pairs, known)
    found: I64 = number[first + 1]
    found[odd] = np.searchsorted(pairs, other)
    return found


def _distinct(numbers: I64) -> I64:
    """Return the numbers in their order, each once; sorted, which is faster here than NumPy's table of hashes."""
    found = np.sort(numbers)
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def _numbered(label: I64) -> tuple[I64, I64]:
    """Return labels as 0, 1, ..., in their order, and how many rows have each."""
    _, number, size = np.unique(label, return_inverse=True, return_counts=True)
    return number.ravel(), size
