"""Rows of linear SVMs at a holder, and the sums over some of them that are cuts: (2) of `cutting_plane`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tacit.arrays import F64, I8, I64, Flags
from tacit.choreo import State
from tacit.choreo.sparse_rows import Mapped
from tacit.numeric.devices import CPU, Device, Held, device_of
from tacit.numeric.groups.group_sums import GroupSums, sum_groups
from tacit.protocols.planes.feature_map import Recipe, map_records
from tacit.scratch import blocks, empty_like, fill, is_on_disk, release
from tacit.sparse import is_sparse

OUTSIDE = 2.0  # the margin of a row that is not in a problem: never violated


class Rows(State):
    """What a holder brings along: features, signs (0: not a row of that problem), positive weights.

    With a recipe F has no columns: the features are on a device, or are made again block by block in each pass.
    """

    F: Mapped
    signs: I8
    weight: F64
    recipe: Recipe | None = None

    @cached_property
    def features(self) -> Held:
        """The features, on their device; not a field: a device holds no wire form."""
        return self.F if self.recipe is None else self.recipe.make()

    @property
    def device(self) -> Device:
        """Where the features are."""
        return CPU if self.recipe is None else device_of(self.recipe.device)

    @property
    def width(self) -> int:
        """How many features a row has."""
        return self.F.shape[1] if self.recipe is None else self.recipe.map.size

    @cached_property
    def signs_there(self) -> Held:
        """The signs as numbers on the device."""
        return self.device.cast(self.device.put(self.signs), "float64")

    @cached_property
    def weight_there(self) -> Held:
        """The weights on the device."""
        return self.device.put(self.weight)

    def blocks(self) -> Iterator[tuple[slice, Held]]:
        """Yield the features of a block of rows at a time, on the device, with their place."""
        step = rows_at_once(self.device, self.width)
        if self.recipe is None:
            yield from blocks(self.F, step)
        elif self.device is CPU:
            for at, X in blocks(self.recipe.X, step):
                yield at, map_records(self.recipe.map, X, self.recipe.dtype)
        else:
            for i in range(0, len(self.F), step):
                at = slice(i, min(i + step, len(self.F)))
                yield at, self.features[at, :]

    def sides_of(self, at: slice, problems: I64) -> tuple[Held, Held]:
        """Return the signs of a block of rows in these problems, and their weights, on the device."""
        if self.device is CPU:
            return self.signs[at][:, problems].astype(np.float64), self.weight[at]
        signs, xp = self.signs_there, self.device.xp
        return xp.stack([signs[at, int(k)] for k in problems], axis=1), self.weight_there[at]

    def values(self, w: F64) -> F64:
        """Return f_i.w of every row under every model."""
        if self.device is not CPU:
            found: F64 = self.device.get(self.values_there(w))
            return found
        there = np.ascontiguousarray(w.T.astype(self.F.dtype))
        found = empty_like((self.F, self.recipe), (len(self.F), len(w)), np.float64)
        for at, F in self.blocks():
            found[at] = F @ there
            release(found[at])
        return found

    def values_there(self, w: F64) -> Held:
        """Return f_i.w of every row under every model, on the device."""
        there = self.device.put(np.ascontiguousarray(w.T.astype(self.F.dtype)))
        return self.device.cast(self.features @ there, "float64")

    @cached_property
    def at_hand(self) -> dict[bytes, Held]:
        """Values of all rows under some models, on the device; what is not at hand is computed again."""
        return {}

    def under(self, model: F64) -> Held:
        """Return f_i.w + b of every row under a model, whose last entry is b; on the device, where it stays at hand."""
        key = model.tobytes()
        if key not in self.at_hand:
            self.at_hand[key] = self.values_there(model[None, :-1])[:, 0] + float(model[-1])
        return self.at_hand[key]

    @cached_property
    def _last_groups(self) -> list[GroupSums]:
        """The sums over the groups of the last cut; where they are not at hand all of them are added up again."""
        return []

    def sums_by_group(self, group: I64) -> F64:
        """Return the sum of the features of each group, by its number."""
        self._last_groups[:] = [sum_groups(self.F, group, *self._last_groups)]
        return self._last_groups[0].sums

    def sides_there(self, problems: I64) -> Held:
        """Return the signs of the rows in these problems, on the device."""
        if self.device is CPU:
            return self.signs_there[:, problems]
        return self.device.xp.stack([self.signs_there[:, int(k)] for k in problems], axis=1)


Tables = tuple[Rows, ...]  # of the same rows in several feature spaces


def class_sums(rows: Rows) -> F64:
    """Return (2) of the two classes of every problem: two lines for each."""
    problems = np.repeat(np.arange(rows.signs.shape[1]), 2)
    V = fill(
        lambda signs: np.stack([signs > 0, signs < 0], axis=2).reshape(len(signs), len(problems)),
        rows.signs,
        dtype=np.bool_,
        width=len(problems),
    )
    return sums_of(rows, problems, rows.device.put(V))


def origin(rows: Rows, tables: int) -> F64:
    """Return the margins at w = 0, b = 0, of so many tables side by side."""
    return fill(
        lambda signs: np.tile(np.where(signs == 0, OUTSIDE, 0.0), (1, tables)),
        rows.signs,
        dtype=np.float64,
        width=tables * rows.signs.shape[1],
    )


def margins(rows: Rows, problems: I64, w: F64, b: F64) -> F64:
    """Return the margin of every row in every one of these problems under its model."""

    def multiply(values: F64, signs: I8) -> F64:
        return np.where(signs[:, problems] == 0, OUTSIDE, signs[:, problems] * (values + b))

    return fill(multiply, rows.values(w), rows.signs, dtype=np.float64, width=len(problems))


def sums_of(rows: Rows, problems: I64, V: Held) -> F64:
    """Return a, d and c of (2), a line for each column of V, which is on the rows' device; all in one pass over F.

    Blocks of rows are added up in double precision and in their order, whatever F is of.
    """
    if not len(problems):
        return np.empty((0, rows.width + 2))
    device, kind = rows.device, str(rows.F.dtype)
    a, d, c = (device.put(np.zeros(shape)) for shape in ((len(problems), rows.width), len(problems), len(problems)))
    # a device weighs all rows at once, since a call costs it more than many rows; a processor those that are at hand
    whole = None if device is CPU else _weigh(rows, slice(0, len(rows.F)), problems, V)
    for at, F in rows.blocks():
        signed, weight = _weigh(rows, at, problems, V) if whole is None else (whole[0][at, :], whole[1])
        a += device.cast(device.cast(signed, kind).T @ F, "float64")
        if whole is None:
            d, c = d + signed.sum(axis=0), c + weight.sum(axis=0)
            release((rows.signs[at], rows.weight[at], V[at]))
    if whole is not None:
        d, c = device.total(whole[0]), device.total(whole[1])
    return np.column_stack([device.get(each) for each in (a, d, c)])


def _weigh(rows: Rows, at: slice, problems: I64, V: Held) -> tuple[Held, Held]:
    """Return the weights of some rows in these problems, 0 where they are not in V: with their signs, and without."""
    sides, own = rows.sides_of(at, problems)
    weight = rows.device.xp.where(V[at, :], own[:, None], 0.0)
    return weight * sides, weight


def sums_of_groups(rows: Rows, problems: I64, V: Flags, group: I64) -> F64:
    """Return the same as `sums_of` where the columns of V are whole groups, of one sign and one weight each.

    No more rows are read than those of groups that were split since the last time.
    """
    if rows.recipe is not None or is_on_disk(rows.F) or is_sparse(rows.F):
        return sums_of(rows, problems, rows.device.put(V))
    sums = rows.sums_by_group(group)
    size, one = np.bincount(group[group >= 0], minlength=len(sums)), np.zeros(len(sums), dtype=np.int64)
    one[group[group >= 0]] = np.flatnonzero(group >= 0)  # a row of each group
    weight = np.where(V[one], rows.weight[one, None], 0.0)
    signed = weight * rows.signs[one][:, problems]
    return np.column_stack([signed.T @ sums, size @ signed, size @ weight])


def rows_at_once(device: Device, width: int) -> int:
    """Return how many rows of so many features a pass takes at a time."""
    return max(device.rows, device.block // max(1, width))


def make_single_table(rows: Rows) -> tuple[Rows]:
    """Return the rows as the one table of a training."""
    return (rows,)
