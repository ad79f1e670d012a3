"""Sums of features over groups of rows, kept from one cut to the next.

A cut over whole groups is a sum of sums over groups, and most groups stay as they are from cut to cut. So only groups
that were split since are added up again, from their own rows, block by block and in their order: what a group's sum is
does not depend on which groups there were before, nor on whether the features lie in memory or on disk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from tacit.arrays import F64, I64, Array
from tacit.scratch import blocks

ROWS = 1 << 12  # of a block, which is added up in the precision of the features; blocks are in double precision


@dataclass(frozen=True)
class GroupSums:
    """The group of every row, below 0 where it is in none, and the sum of the features of each group by its number."""

    group: I64
    sums: F64


def sum_groups(F: Array, group: I64, before: GroupSums | None = None) -> GroupSums:
    """Return the sums of F over groups, of which those that are as they were `before` are not added up again."""
    number = int(group.max(initial=-1)) + 1
    if before is None or len(before.sums) > number:
        before = GroupSums(np.full(len(group), -1, dtype=np.int64), np.zeros((0, F.shape[1])))
    moved = np.flatnonzero(group != before.group)
    if not len(moved):
        return before
    other = np.zeros(number + 1, bool)  # the last place is that of rows in no group
    other[group[moved]] = other[before.group[moved]] = True
    other[-1] = False
    sums = np.zeros((number, F.shape[1]))
    sums[: len(before.sums)] = before.sums
    sums[other[:-1]] = _add_up(F, group, other)
    return GroupSums(group, sums)


def _add_up(F: Array, group: I64, wanted: Array) -> F64:
    """Return the sums over the groups that are wanted, of which the last, -1, is none."""
    place, number = np.cumsum(wanted) - 1, int(wanted.sum())
    found = np.zeros((number, F.shape[1]))
    for at, block in blocks(F, ROWS):
        rows = np.flatnonzero(wanted[group[at]])
        if len(rows):
            own = place[group[at][rows]]
            ends = np.cumsum(np.bincount(own, minlength=number))
            taken = np.ones(len(rows), F.dtype), rows[np.argsort(own, kind="stable")], np.append(0, ends)
            found += csr_array(taken, shape=(number, len(block))) @ block
    return found
