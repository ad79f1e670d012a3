"""Which classes and groups are shown: none of them tells of 1 to k - 1 records, nor does what is left of all.

With n_a records of class a, and n_0 of no class, all in shares, and "few" for 1 to k - 1,

    classes    few(n_a) = [n_a >= 1] - [n_a >= k];    rest = n_0 + sum_a few(n_a) n_a
               class a is shown if it is not few, nor the rest                                                      (1)
    groups     group g is full if no class in it is few; rest_a = n_a - sum_g full(g) n_ga
               group g is shown if it is full, and no rest_a is few                                                 (2)

A few records of a class count as of no class. How many records there are is public, so the rest is told too; that is
why it may not be few. Of groups the rest is all that is not shown: since neither it nor a group that is shown has few
of a class, no sum or difference of what is shown has. Bits stay in shares, and those that say what is shown are opened.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.choreo import At, Holder, Run
from tacit.numeric.ring.words import Ring
from tacit.protocols.judge.sums import JudgedShare, JudgedWords
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, reduce
from tacit.protocols.shares.revealing import compare_in_shares, reveal


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
