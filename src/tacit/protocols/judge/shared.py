"""What is counted of held-out records that nobody has as a whole: values in shares, and counts of them in shares.

    f                    the values of the public model                              (1) of `learners.answers`
    b = [f > edge]       for each fine edge; of more classes [f_j > f_i], and who wins all of these; compared in shares
    y, g                 a line for each class at who has labels; for each group at who knows it; y g by a product
    counts               y b', a product of matrices in shares                        `shares.matrices`             (1)
    sums                 e = t - f, e^2 and |e| = (2 [e > 0] - 1) e, and g (1, |e|, e^2, t, t^2)'                  (2)

Nobody is told a value, nor which class was chosen for a record.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Holder, Run, State
from tacit.numeric.ring.words import Z64, Ring
from tacit.numeric.scores.folds import choose_class
from tacit.numeric.scores.metrics import stretch
from tacit.numeric.shares.lean import Lean
from tacit.protocols.features.maps import FOURIER
from tacit.protocols.features.shared import Side
from tacit.protocols.learners.answers import Shown, share_answers
from tacit.protocols.part import Held
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, reduce, square_each
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.matrices import Crossed, multiply_matrices

VALUE_BITS = 16  # after the point, of a decision value
WORD = 64
MARGIN = 2.0  # what rounding may add to a value


def count_shared(
    run: Run, dealing: Dealing, data: At[Held], own: At[HeldOut], model: Shown, side: Side, layout: Layout
) -> At[I64]:
    """Return shares of the cells of all records, then of their bins, (1)."""
    n, K = layout.records, layout.classes
    window = Lean(0, plan_window(model, side, layout), 0)
    narrow = replace(dealing, ring=Ring(1 << window.k))
    blocks = share_answers(run, dealing, data, model, side, n, bits=VALUE_BITS)
    f = run.local(Holder, join_blocks, *(cut for _, cut in blocks))
    if K == TWO:
        above = run.local(Holder, pass_edges, f, layout, dealing.first)
        b, lines = reaches_one(run, narrow, above, window, size=(layout.bins - 1) * n), layout.bins - 1
    else:
        ahead = run.local(Holder, compare_values, f, n, K)
        duels = reaches_one(run, narrow, ahead, window, size=K * (K - 1) // 2 * n)
        won = run.local(Holder, count_duels, duels, n, K, dealing.first)
        b, lines = reaches_one(run, narrow, won, window, size=K * n), K
    y, sets = share_classes(run, narrow, own, layout)
    of = Crossed(sets, lines + 1, n)
    with_all = run.local(Holder, add_line, b, n, dealing.first)
    counts = multiply_matrices(run, narrow, y, with_all, of)
    lifted = cut_each(run, replace(dealing, ring=Z64), counts, (Part(sets * (lines + 1), window.k, 0),))
    return run.local(Holder, arrange_two if K == TWO else arrange_many, lifted, layout)


def share_classes(run: Run, dealing: Dealing, own: At[HeldOut], layout: Layout) -> tuple[At[U64], int]:
    """Return shares of which records are of which class, and of which class and group; a line for each."""
    n, K, G = layout.records, layout.classes, layout.groups
    y = run.local(Holder, mark_classes, own, layout)
    if not G:
        return y, K + 1
    pair = run.local(Holder, mark_pairs, own, layout), run.local(Holder, repeat_lines, y, G)
    both = multiply(run, dealing, *pair, size=G * (K + 1) * n)
    return run.local(Holder, join_blocks, y, both), (G + 1) * (K + 1)


def sum_shared(
    run: Run,
    dealing: Dealing,
    data: At[Held],
    own: At[HeldOut],
    model: Shown,
    side: Side,
    layout: Layout,
    middle: float,
    reach: float,
) -> At[I64]:
    """Return shares of the sums of all records and of each group, (2)."""
    n, wide, bits = layout.records, replace(dealing, ring=Z64), layout.bits(FAR + bound_values(model, side))
    blocks = share_answers(run, dealing, data, model, side, n, bits=bits)
    f = run.local(Holder, join_blocks, *(cut for _, cut in blocks))
    e = run.local(Holder, subtract_values, own, f, bits, middle, reach)
    squares = square_each(run, wide, e, size=n)
    positive = reaches_one(run, wide, e, Lean(0, WORD, 0), size=n)
    size = multiply(run, wide, e, run.local(Holder, turn_sign, positive, dealing.first), size=n)
    terms = run.local(Holder, join_terms, own, size, squares, bits, middle, reach, dealing.first)
    of_all = run.local(Holder, add_lines, terms, n)
    if not layout.groups:
        return of_all
    groups = run.local(Holder, mark_groups, own, layout)
    of_groups = multiply_matrices(run, wide, groups, terms, Crossed(layout.groups, SUMS, n))
    return run.local(Holder, join_sums, of_all, of_groups)


# Bits


def bound_values(model: Shown, side: Side) -> float:
    """Return how large a value can be: features with the RBF kernel, or of phases, are no longer than 1."""
    raw = side.scale_weights(model.map, model.map.unfold(model.weights))
    most = float(np.abs(raw).sum(axis=0).max())
    if model.map.kernel == "rbf" or model.map.activation == FOURIER:
        whole = TWO**0.5 * float(np.linalg.norm(model.weights, axis=0).max())
        most = min(most, whole + most * 2.0**-10)
    return most + MARGIN


def plan_window(model: Shown, side: Side, layout: Layout) -> int:
    """Return how many bits the difference of two values has, or of a value and an edge, and a count of all records."""
    reach = 2.0 * bound_values(model, side) + float(np.abs(layout.edges).max(initial=0.0))
    return max(math.ceil(math.log2(reach)) + VALUE_BITS + 2, layout.records.bit_length() + 3)


# Steps at the holders


def join_blocks(*blocks: U64) -> U64:
    """Return the words of all blocks."""
    return np.concatenate([np.empty(0, dtype=np.uint64), *blocks])


def pass_edges(f: U64, layout: Layout, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of each value less each edge, a line for each edge: 1 or more where it is above."""
    edges = np.floor(np.ldexp(layout.edges, VALUE_BITS)).astype(np.int64).view(np.uint64)
    found: U64 = f[None, :] - edges[:, None] if first else np.repeat(f[None, :], len(edges), axis=0)
    return found.ravel()


def compare_values(f: U64, n: int, classes: int) -> U64:
    """Return the share of f_j - f_i, a line for each pair of classes: 1 or more where the later one is larger."""
    values = f.reshape(n, classes).T
    return np.concatenate([values[j] - values[i] for i, j in combinations(range(classes), 2)])


def count_duels(duels: U64, n: int, classes: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of how many others each class beats, less all but one of them: 1 where it is chosen."""
    won = np.zeros((classes, n), dtype=np.uint64)
    for line, (i, j) in zip(duels.reshape(-1, n), combinations(range(classes), 2), strict=True):
        won[j] += line
        won[i] += np.uint64(1) - line if first else np.uint64(0) - line
    return (won - np.uint64(classes - TWO) if first else won).ravel()


def mark_classes(own: HeldOut, layout: Layout) -> U64:
    """Return which records are of which class, a line for each and for none; zeros where there are no labels."""
    found = np.zeros((layout.classes + 1, layout.records), dtype=np.uint64)
    if own.codes.size:
        found[np.where(own.codes < 0, layout.classes, own.codes), np.arange(layout.records)] = 1
    return found.ravel()


def mark_groups(own: HeldOut, layout: Layout) -> U64:
    """Return which records are of which group, as far as the holder knows: shares of which are."""
    if not own.groups.size:
        return np.zeros(layout.groups * layout.records, dtype=np.uint64)
    found = own.groups == np.arange(layout.groups)[:, None]
    return np.asarray(found, dtype=np.uint64).ravel()


def mark_pairs(own: HeldOut, layout: Layout) -> U64:
    """Return the lines of groups, each once for each class."""
    return np.repeat(mark_groups(own, layout).reshape(layout.groups, -1), layout.classes + 1, axis=0).ravel()


def repeat_lines(y: U64, times: int) -> U64:
    """Return the same lines again and again."""
    return np.tile(y, times)


def add_line(b: U64, n: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return lines of bits, and one of ones."""
    return np.concatenate([b, np.full(n, np.uint64(1) if first else np.uint64(0))])


def arrange_two(counts: U64, layout: Layout) -> I64:
    """Return cells and bins, from counts above each edge and of all records."""
    table = counts.reshape(layout.lines, layout.classes + 1, layout.bins)
    above, whole = table[:, :, layout.bins // 2 - 1], table[:, :, -1]
    cells = np.stack([whole - above, above], axis=-1)
    steps = np.concatenate([whole[0, :TWO, None], table[0, :TWO, :-1]], axis=1)
    bins = steps - np.concatenate([steps[:, 1:], np.zeros((TWO, 1), dtype=np.uint64)], axis=1)
    return np.concatenate([cells.ravel(), bins.ravel()]).view(np.int64)


def arrange_many(counts: U64, layout: Layout) -> I64:
    """Return cells, from counts of each class that was chosen."""
    return np.ascontiguousarray(counts.reshape(-1, layout.classes + 1)[:, :-1]).ravel().view(np.int64)


def whole_targets(own: HeldOut, n: int, bits: int, middle: float, reach: float) -> I64:
    """Return the targets as whole numbers; zeros where there are none."""
    if not own.targets.size:
        return np.zeros(n, dtype=np.int64)
    t = np.clip((own.targets - middle) / reach, -FAR, FAR)
    return np.rint(np.ldexp(t, bits)).astype(np.int64)


def subtract_values(own: HeldOut, f: U64, bits: int, middle: float, reach: float) -> U64:
    """Return the share of e."""
    t: U64 = whole_targets(own, f.size, bits, middle, reach).view(np.uint64)
    return t - f


def turn_sign(positive: U64, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of 1 or -1."""
    found: U64 = np.uint64(2) * positive
    return found - np.uint64(1) if first else found


def join_terms(own: HeldOut, size: U64, squares: U64, bits: int, middle: float, reach: float, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the lines that are summed: 1, |e|, e^2, t and t^2."""
    t = whole_targets(own, size.size, bits, middle, reach)
    ones = np.full(size.size, np.uint64(1) if first else np.uint64(0))
    return np.concatenate([ones, size, squares, t.view(np.uint64), (t * t).view(np.uint64)])


def add_lines(terms: U64, n: int) -> I64:
    """Return the share of the sum of each line."""
    found: U64 = terms.reshape(-1, n).sum(axis=1, dtype=np.uint64)
    return found.view(np.int64)


def join_sums(of_all: I64, of_groups: U64) -> I64:
    """Return the sums of all records, then of each group."""
    return np.concatenate([of_all, reduce(of_groups, Z64).view(np.int64)])


# What each holder counts of held-out records alone, where it has whole ones: their values, by the public model.
#
#     cells    for all records and each group: how many of each class, and of no class, were given each class
#     bins     of two classes, how many of either have a value in each of many fine bins
#     sums     of numbers: 1, |e|, e^2, t and t^2 with e = t - f, in whole units of 2^-b and 2^-2b
#
# Nothing of it leaves the holder but as its part of a value in shares. t and f are in units of the reach of the
# targets, and those beyond `FAR` are cut.


FAR = 16.0  # reaches of the targets
SUM_BITS = 60  # of a sum of squares
MOST_BITS = 20  # of a target or an answer, after the point
SUMS = 5  # of numbers
TWO = 2


class HeldOut(State):
    """What a holder knows of the records that a model is judged on.

    values: decision values or answers, a row for each record; none where nobody has a record as a whole. codes: the
    numbers of the classes, -1 for none of the model's; empty where the holder has no labels. targets: of numbers.
    groups: which group each record is of, as far as the holder knows; -1 for none.
    """

    values: F64
    codes: I64
    targets: F64
    groups: I64


@dataclass(frozen=True)
class Layout:
    """The public sizes of what is counted. classes: 0 of numbers. bins: fine ones, of two classes; else 0."""

    records: int
    classes: int
    groups: int
    bins: int

    @property
    def lines(self) -> int:
        """How many sets of records are counted: all, and each group."""
        return self.groups + 1

    @property
    def cells(self) -> int:
        """How many cells all of these have."""
        return self.lines * (self.classes + 1) * self.classes if self.classes else self.lines * SUMS

    @property
    def edges(self) -> F64:
        """The decision values between fine bins; 0 is the one in the middle."""
        return stretch(np.arange(1, self.bins) / self.bins) if self.bins else np.empty(0)

    def bits(self, largest: float = 2.0 * FAR) -> int:
        """Return how many bits a number has after the point, so that the sum of squares of all fits."""
        room = SUM_BITS - math.ceil(math.log2(max(self.records, 1) * largest**2))
        return max(4, min(MOST_BITS, room // 2))


def count_own(own: HeldOut, layout: Layout) -> I64:
    """Return the cells of a holder's own records, then its bins."""
    K, own_groups = layout.classes, group_lines(own, layout)
    cells = np.zeros((layout.lines, K + 1, K), dtype=np.int64)
    a, chosen = np.where(own.codes < 0, K, own.codes), choose_class(own.values)
    for line, rows in zip(cells, own_groups, strict=True):
        np.add.at(line, (a[rows], chosen[rows]), 1)
    bins = np.zeros((TWO, layout.bins), dtype=np.int64)
    if layout.bins:
        known = own.codes >= 0
        place = np.searchsorted(layout.edges, own.values[known, 0], side="left")  # above an edge: as a class is chosen
        np.add.at(bins, (own.codes[known], place), 1)
    return np.concatenate([cells.ravel(), bins.ravel()])


def sum_own(own: HeldOut, layout: Layout, middle: float, reach: float) -> I64:
    """Return the sums of a holder's own records."""
    bits = layout.bits()
    t, f = (np.clip((x - middle) / reach, -FAR, FAR) for x in (own.targets, own.values[:, 0]))
    terms = np.stack([np.ones_like(t), np.abs(t - f), t - f, t, t])
    whole = np.rint(np.ldexp(terms, [[0], [bits], [bits], [bits], [bits]])).astype(np.int64)
    whole[[2, 4]] *= whole[[2, 4]]
    return np.concatenate([whole[:, rows].sum(axis=1) for rows in group_lines(own, layout)])


def group_lines(own: HeldOut, layout: Layout) -> list[I64]:
    """Return the numbers of all records, and of those of each group."""
    return [np.arange(len(own.values)), *(np.flatnonzero(own.groups == g) for g in range(layout.groups))]
