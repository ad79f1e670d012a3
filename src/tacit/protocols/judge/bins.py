"""Bins of decision values for curves: fine ones are put together in shares until none has few records of a class.

The problem. Of two classes the holders have shares of how many records of either lie in each of many fine bins. The
confusion counts are public, and so is how many of each class, c_as, have a value below 0 (side s = 0) and above it.
Everybody shall know bins between public edges, of which none tells of 1 to k - 1 records of a class unless the
confusion counts tell as many: in the bins of side s

    no records of class a, or l_as = min(max(k, n_a / MOST), c_as) of them, at least                                (1)

    1. fit       of the fine edges i < j of a side whether i..j, and j..end, are bins as (1) has them; i..j not empty
    2. reached   whether there is an edge j' <= j for which i..j' fits, for each i < j: [sum_(j' <= j) fit_ij' >= 1]
    3. a chain   from the end of the side nearest to the lowest values: the bits "reached" of the edge i where the last
                 bin ended are opened; the first of them that is 1 is where the next bin ends, if there is one
    4. counts    of both classes in these bins are opened

1 and 2 stay in shares, for all pairs of edges at once; both sides are in the same rounds.

What is opened follows from the bins: in 3 the bits of edge i are 0 before the end of the next bin and 1 from there on,
as "reached" never falls, and there is no other opening but of 4. Which fine edge ends a bin depends on single records,
as every quantile does.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import F64, I64, U64, Flags
from tacit.choreo import At, Holder, Run, State
from tacit.numeric.ring.words import Ring
from tacit.numeric.scores.metrics import stretch
from tacit.protocols.judge.sums import JudgedShare, JudgedWords
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, reduce
from tacit.protocols.shares.revealing import compare_in_shares, reveal

MOST = 24  # bins that each class has records for, about
SIDES, TWO = 2, 2
WRONG = 3  # outweighs [n_a >= l_a] of both classes


class Bins(State):
    """Bins of decision values from the lowest up: the edges between them, and how many of each class are in each.

    cuts: numbers of the fine edges, of which there are `fine` - 1. middle: which of them is that of the counts.
    """

    cuts: I64
    counts: I64
    middle: int
    fine: int

    @property
    def values(self) -> F64:
        """The decision values between the bins."""
        return stretch(self.cuts / self.fine)


@dataclass(frozen=True)
class Half:
    """The fine edges of one side: 0 .. size, of which 0 and `size` are its ends."""

    size: int

    @property
    def pairs(self) -> tuple[I64, I64]:
        """All edges i < j < size, one i after the other."""
        i, j = np.triu_indices(self.size, 1)
        return i, j

    def row(self, i: int) -> I64:
        """Return where the pairs of an edge i are among all."""
        return np.flatnonzero(self.pairs[0] == i)


def merge_bins(run: Run, dealing: Dealing, fine: At[I64], bins: int, cells: I64, least: int, rows: int) -> Bins:
    """Return the bins. fine: shares, a line for each class; cells: how many of each class are on each side."""
    half, limits = Half(bins // SIDES), limits_of(cells, least)
    reached, ring = find_reached(run, dealing, fine, half, limits, rows)
    cuts = follow_chain(run, replace(dealing, ring=ring), reached, half)
    ends = np.array([*cuts[0], half.size, *(half.size + c for c in cuts[1]), bins], dtype=np.int64)
    found = reveal(
        run,
        dealing,
        JudgedShare,
        JudgedWords,
        run.local(Holder, add_between, fine, ends),
        size=TWO * len(ends),
    )
    return Bins(ends[:-1], found.reshape(TWO, -1), len(cuts[0]), bins)


def limits_of(cells: I64, least: int) -> I64:
    """Return l_as of (1), a line for each class; 1 where there are none."""
    wanted = np.maximum(least, -(-cells.sum(axis=1, keepdims=True) // MOST))
    return np.asarray(np.maximum(np.minimum(wanted, cells), 1), dtype=np.int64)


def find_reached(run: Run, dealing: Dealing, fine: At[I64], half: Half, limits: I64, rows: int) -> tuple[At[U64], Ring]:
    """Return shares of "reached" for all pairs of edges, a line for each side, and their ring."""
    size, largest = len(half.pairs[0]), rows + WRONG * SIDES * half.size + int(limits.max())
    # of the bin i..j, and of the rest j..end, both classes of both sides
    between, rest = run.local(Holder, sum_pairs, fine, half), run.local(Holder, sum_rests, fine, half)
    of_pairs, of_rests = (np.repeat(limits.T.ravel(), n) for n in (size, half.size - 1))
    targets = np.concatenate([np.ones_like(of_pairs), of_pairs, np.ones_like(of_rests), of_rests])
    x = run.local(Holder, join_twice, between, rest)
    bits, ring = compare_in_shares(run, dealing, x, targets, largest=largest)
    good = run.local(Holder, rate_rests, bits, half, ring)
    zeros = np.ones(SIDES * (half.size - 1), dtype=np.int64)
    ends, _ = compare_in_shares(run, dealing, good, zeros, largest=largest)
    rated = run.local(Holder, rate_pairs, bits, ends, half, dealing.first, ring)
    fit, _ = compare_in_shares(run, dealing, rated, np.ones(SIDES * size, dtype=np.int64), largest=largest)
    so_far = run.local(Holder, add_up, fit, half, ring)
    return compare_in_shares(run, dealing, so_far, np.ones(SIDES * size, dtype=np.int64), largest=largest)


def follow_chain(run: Run, dealing: Dealing, reached: At[U64], half: Half) -> tuple[list[int], list[int]]:
    """Return the edges that end a bin, of both sides; the last end of a side is not among them."""
    cuts: tuple[list[int], list[int]] = ([], [])
    at: list[int | None] = [0] * SIDES
    size = len(half.pairs[0])
    while any(i is not None for i in at):
        rows = [np.empty(0, dtype=np.int64) if i is None else s * size + half.row(i) for s, i in enumerate(at)]
        asked = np.concatenate(rows)
        if not asked.size:
            break
        own = run.local(Holder, take_words, reached, asked)
        told = reveal(run, dealing, JudgedShare, JudgedWords, own, size=asked.size)
        for s, bits in enumerate(np.split(told, [rows[0].size])):
            begun, at[s] = at[s], None
            if begun is not None and bits.any():
                end = begun + 1 + int(np.argmax(bits))
                cuts[s].append(end)
                at[s] = end
    return cuts


# Steps at the holders


def lines_of(fine: I64, half: Half) -> I64:
    """Return counts below each edge of a side: a line for each side and class."""
    table = fine.reshape(TWO, SIDES, half.size).transpose(1, 0, 2)
    below = np.zeros((SIDES, TWO, half.size + 1), dtype=np.int64)
    np.cumsum(table, axis=2, out=below[:, :, 1:])
    return below


def sum_pairs(fine: I64, half: Half) -> I64:
    """Return the counts of all bins i..j, a line for each side and class."""
    below, (i, j) = lines_of(fine, half), half.pairs
    return np.ascontiguousarray(below[:, :, j] - below[:, :, i]).ravel()


def sum_rests(fine: I64, half: Half) -> I64:
    """Return the counts of all rests j..end, j > 0."""
    below = lines_of(fine, half)
    return np.ascontiguousarray(below[:, :, -1:] - below[:, :, 1:-1]).ravel()


def join_twice(between: I64, rest: I64) -> I64:
    """Return both counts, each twice: to be compared with 1 and with l."""
    return np.concatenate([between, between, rest, rest])


def split_bits(bits: U64, half: Half) -> tuple[U64, U64]:
    """Return bits of bins and of rests: by limit, side and class."""
    size = TWO * SIDES * TWO * len(half.pairs[0])
    return bits[:size].reshape(TWO, SIDES, TWO, -1), bits[size:].reshape(TWO, SIDES, TWO, -1)


def rate_rests(bits: U64, half: Half, ring: Ring) -> I64:
    """Return the share of how many classes have l in a rest, less WRONG for each that has few: 1 or more if it fits."""
    some, enough = split_bits(bits, half)[1]
    found = enough - np.uint64(WRONG) * (some - enough)
    return reduce(found.sum(axis=1, dtype=np.uint64).ravel(), ring).view(np.int64)


def rate_pairs(bits: U64, ends: U64, half: Half, first: bool, ring: Ring) -> I64:  # noqa: FBT001 - a step
    """Return the same of a bin, less WRONG if the rest does not fit."""
    some, enough = split_bits(bits, half)[0]
    rated: U64 = (enough - np.uint64(WRONG) * (some - enough)).sum(axis=1, dtype=np.uint64)
    fits = ends.reshape(SIDES, -1)[:, half.pairs[1] - 1]
    found = rated + np.uint64(WRONG) * fits
    return reduce((found - np.uint64(WRONG) if first else found).ravel(), ring).view(np.int64)


def add_up(fit: U64, half: Half, ring: Ring) -> I64:
    """Return the share of how many edges up to j fit, for each i."""
    i, j = half.pairs
    table = np.zeros((SIDES, half.size, half.size), dtype=np.uint64)
    table[:, i, j] = fit.reshape(SIDES, -1)
    total = np.cumsum(table, axis=2, dtype=np.uint64)[:, i, j]
    return reduce(total.ravel(), ring).view(np.int64)


def take_words(words: U64, at: I64) -> U64:
    """Return some of the words."""
    return words[at]


def add_between(fine: I64, ends: I64) -> U64:
    """Return the share of how many records of each class are in each bin; `ends` are where bins end."""
    starts = np.concatenate([[0], ends[:-1]])
    below = np.concatenate([np.zeros((TWO, 1), dtype=np.int64), np.cumsum(fine.reshape(TWO, -1), axis=1)], axis=1)
    return np.ascontiguousarray(below[:, ends] - below[:, starts]).ravel().view(np.uint64)


# Which classes and groups are shown: none of them tells of 1 to k - 1 records, nor does what is left of all.
#
# With n_a records of class a, and n_0 of no class, all in shares, and "few" for 1 to k - 1,
#
#     classes    few(n_a) = [n_a >= 1] - [n_a >= k];    rest = n_0 + sum_a few(n_a) n_a
#                class a is shown if it is not few, nor the rest                                                     (1)
#     groups     group g is full if no class in it is few; rest_a = n_a - sum_g full(g) n_ga
#                group g is shown if it is full, and no rest_a is few                                                (2)
#
# A few records of a class count as of no class. How many records there are is public, so the rest is told too; that is
# why it may not be few. Of groups the rest is all that is not shown: since neither it nor a group that is shown has few
# of a class, no sum or difference of what is shown has. Bits stay in shares, and those that say what is shown are
# opened.


def choose_classes(run: Run, dealing: Dealing, sizes: At[I64], classes: int, rows: int, least: int) -> Flags:
    """Return which classes are shown, (1); `sizes` are shares of how many records each has, the last of no class."""
    largest = rows + classes + least
    few, ring = mark_few(run, dealing, run.local(Holder, drop_last, sizes), classes, least, largest)
    dealing = replace(dealing, ring=ring)
    parts = multiply(run, dealing, few, run.local(Holder, lower_words, sizes, classes, ring), size=classes)
    rest = run.local(Holder, add_rest, sizes, parts, ring)
    left, _ = mark_few(run, dealing, rest, 1, least, largest)
    one, other = (run.local(Holder, deny, bits, classes, dealing.first, ring) for bits in (few, left))
    shown = multiply(run, dealing, one, other, size=classes)
    return reveal(run, dealing, JudgedShare, JudgedWords, shown, size=classes).astype(np.bool_)


def choose_groups(
    run: Run, dealing: Dealing, sizes: At[I64], groups: int, classes: int, rows: int, least: int
) -> Flags:
    """Return which groups are shown, (2); `sizes` are shares: a line for all records, and for each group."""
    largest, size = rows + (groups + 1) * classes + least, groups * classes
    of_groups = run.local(Holder, drop_first, sizes, classes)
    few, ring = mark_few(run, dealing, of_groups, size, least, largest)
    dealing = replace(dealing, ring=ring)
    some = run.local(Holder, add_by_line, few, groups, ring)
    lacks, _ = compare_in_shares(run, dealing, some, np.ones(groups, dtype=np.int64), largest=largest)
    full = run.local(Holder, deny, lacks, groups, dealing.first, ring)
    spread = run.local(Holder, repeat_words, full, classes)
    parts = multiply(run, dealing, spread, run.local(Holder, lower_words, of_groups, size, ring), size=size)
    rest = run.local(Holder, take_from_all, sizes, parts, classes, ring)
    left, _ = mark_few(run, dealing, rest, classes, least, largest)
    some = run.local(Holder, add_by_line, left, 1, ring)
    lacks, _ = compare_in_shares(run, dealing, some, np.ones(1, dtype=np.int64), largest=largest)
    shown = multiply(run, dealing, full, run.local(Holder, deny, lacks, groups, dealing.first, ring), size=groups)
    return reveal(run, dealing, JudgedShare, JudgedWords, shown, size=groups).astype(np.bool_)


def mark_few(run: Run, dealing: Dealing, counts: At[I64], size: int, least: int, largest: int) -> tuple[At[U64], Ring]:
    """Return shares of [x >= 1] - [x >= k], and their ring."""
    targets = np.repeat(np.array([1, least], dtype=np.int64), size)
    bits, ring = compare_in_shares(run, dealing, run.local(Holder, repeat_twice, counts), targets, largest=largest)
    return run.local(Holder, take_second_off, bits, ring), ring


# Steps at the holders


def repeat_twice(counts: I64) -> I64:
    """Return counts, and once more."""
    return np.tile(counts, 2)


def take_second_off(bits: U64, ring: Ring) -> U64:
    """Return the first half less the second."""
    first, second = np.split(bits, 2)
    return reduce(first - second, ring)


def drop_last(sizes: I64) -> I64:
    """Return all but the last."""
    return sizes[:-1]


def drop_first(sizes: I64, classes: int) -> I64:
    """Return all lines but the first."""
    return sizes[classes:]


def lower_words(sizes: I64, count: int, ring: Ring) -> U64:
    """Return the shares of the first counts in a smaller ring."""
    return reduce(sizes[:count].view(np.uint64), ring)


def add_rest(sizes: I64, parts: U64, ring: Ring) -> I64:
    """Return the share of n_0 + sum_a few(n_a) n_a."""
    total = sizes[-1:].view(np.uint64) + parts.sum(dtype=np.uint64)
    return reduce(total, ring).view(np.int64)


def deny(bits: U64, count: int, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return shares of 1 - x; of a single one so many times."""
    found = np.resize(np.uint64(0) - bits, count)
    return reduce(found + np.uint64(1) if first else found, ring)


def add_by_line(bits: U64, lines: int, ring: Ring) -> I64:
    """Return the share of the sum of each line."""
    found: U64 = bits.reshape(lines, -1).sum(axis=1, dtype=np.uint64)
    return reduce(found, ring).view(np.int64)


def repeat_words(bits: U64, times: int) -> U64:
    """Return every word so many times."""
    return np.repeat(bits, times)


def take_from_all(sizes: I64, parts: U64, classes: int, ring: Ring) -> I64:
    """Return the share of rest_a of (2)."""
    shown: U64 = parts.reshape(-1, classes).sum(axis=0, dtype=np.uint64)
    return reduce(sizes[:classes].view(np.uint64) - shown, ring).view(np.int64)
