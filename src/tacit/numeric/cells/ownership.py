"""Who owns which cells of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import I64, Flags
from tacit.errors import LocalError

PARTITIONS = ("vertical", "horizontal", "arbitrary")


@dataclass(frozen=True, eq=False)
class Owners:
    """Where the table of each party lies in the whole one, and which cells of its table are its own."""

    shape: tuple[int, int]
    rows: dict[str, I64]
    columns: dict[str, I64]
    masks: dict[str, Flags]

    def present(self, party: str) -> Flags:
        """Return in which columns of the whole table the party owns cells."""
        found = np.zeros(self.shape[1], np.bool_)
        found[self.columns[party]] = self.masks[party].any(axis=0)
        return found


def owners_of(partition: str, masks: Mapping[str, Flags]) -> Owners:
    """Return who owns what, of the parties' tables in public order.

    The tables are below each other, side by side, or on top of each other, where each cell has one owner.
    """
    if partition not in PARTITIONS:
        raise LocalError(f"unknown partition {partition!r}: use one of {', '.join(PARTITIONS)}")
    by_rows, by_columns = partition == "horizontal", partition == "vertical"
    rows, m = _number_parts({p: mask.shape[0] for p, mask in masks.items()}, "records", partition, apart=by_rows)
    columns, n = _number_parts({p: mask.shape[1] for p, mask in masks.items()}, "columns", partition, apart=by_columns)
    owners = Owners((m, n), rows, columns, dict(masks))
    _check_cells(owners)
    return owners


def _number_parts(sizes: Mapping[str, int], what: str, partition: str, *, apart: bool) -> tuple[dict[str, I64], int]:
    """Return each party's rows or columns in the whole table, and how many there are."""
    if apart:
        ends = np.cumsum(list(sizes.values()))
        return {p: np.arange(end - n, end) for (p, n), end in zip(sizes.items(), ends, strict=True)}, int(ends[-1])
    first = next(iter(sizes))
    for party, n in sizes.items():
        if n != sizes[first]:
            raise LocalError(
                f"party {party!r} has {n} {what}, {first!r} has {sizes[first]}: a{'n' * (partition == 'arbitrary')}"
                f" {partition} split needs the same {what} in the same order at every party"
            )
    return {p: np.arange(n) for p, n in sizes.items()}, sizes[first]


def _check_cells(owners: Owners) -> None:
    count = np.zeros(owners.shape, np.int64)
    for party, mask in owners.masks.items():
        count[np.ix_(owners.rows[party], owners.columns[party])] += mask
    wrong = np.argwhere(count != 1)
    if len(wrong):
        i, j = (int(k) for k in wrong[0])
        near = {p: mask for p, mask in owners.masks.items() if i in owners.rows[p] and j in owners.columns[p]}
        who = [p for p, mask in near.items() if mask[_in(owners, p, i, j)]]
        raise LocalError(
            f"cell [{i}, {j}] is owned by {' and '.join(map(repr, who)) or 'nobody'}: one party, and only one, must own"
            " each cell"
        )


def _in(owners: Owners, party: str, i: int, j: int) -> tuple[int, int]:
    return int(np.searchsorted(owners.rows[party], i)), int(np.searchsorted(owners.columns[party], j))
