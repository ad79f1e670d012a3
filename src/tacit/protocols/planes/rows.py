"""Rows of linear SVMs at a holder, and the sums over some of them that are cuts: (2) of `cutting_plane`."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tacit.arrays import F64, I8, I64, Array
from tacit.choreo import State
from tacit.numeric.devices import CPU, Device, Held, device_of
from tacit.protocols.planes.feature_map import Recipe
from tacit.scratch import is_on_disk, map_blocks, release

OUTSIDE = 2.0  # the margin of a row that is not in a problem: never violated


class Rows(State):
    """What a holder brings along: features, signs (0: not a row of that problem), positive weights.

    With a recipe the features are on a device, and F has no columns.
    """

    F: Array
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

    @cached_property
    def signs_there(self) -> Held:
        """The signs as numbers on the device."""
        return self.device.put(self.signs.astype(np.float64))

    @cached_property
    def weight_there(self) -> Held:
        """The weights on the device."""
        return self.device.put(self.weight)

    def values(self, w: F64) -> F64:
        """Return f_i.w of every row under every model."""
        found: F64 = self.device.get(self.values_there(w))
        return found

    def values_there(self, w: F64) -> Held:
        """Return f_i.w of every row under every model, on the device."""
        there = self.device.put(np.ascontiguousarray(w.T.astype(self.F.dtype)))
        if not is_on_disk(self.F):
            return self.device.cast(self.features @ there, "float64")
        return map_blocks(self.F, rows_at_once(self.device, self.F.shape[1]), lambda block: block @ there, len(w))

    @cached_property
    def _last_line(self) -> dict[bytes, Held]:
        """The values along the last line, under its models; what is not at hand is computed again."""
        return {}

    def along(self, w: F64, b: F64) -> Held:
        """Return f_i.w + b of every row under every model of a line, on the device, where the last line's are kept."""
        line = w.tobytes() + b.tobytes()
        if line not in self._last_line:
            self._last_line.clear()
            self._last_line[line] = self.values_there(w) + self.device.put(np.ascontiguousarray(b))
        return self._last_line[line]

    def sides_there(self, problems: I64) -> Held:
        """Return the signs of the rows in these problems, on the device."""
        return self.device.xp.stack([self.signs_there[:, int(k)] for k in problems], axis=1)


Tables = tuple[Rows, ...]  # of the same rows in several feature spaces


def class_sums(rows: Rows) -> F64:
    """Return (2) of the two classes of every problem: two lines for each."""
    problems = np.repeat(np.arange(rows.signs.shape[1]), 2)
    V = np.stack([rows.signs > 0, rows.signs < 0], axis=2).reshape(len(rows.F), len(problems))
    return sums_of(rows, problems, rows.device.put(V))


def origin(rows: Rows) -> F64:
    """Return the margins at w = 0, b = 0."""
    return np.where(rows.signs == 0, OUTSIDE, 0.0)


def margins(rows: Rows, problems: I64, w: F64, b: F64) -> F64:
    """Return the margin of every row in every one of these problems under its model."""
    values = rows.values(w) + b
    signs = rows.signs[:, problems]
    return np.where(signs == 0, OUTSIDE, signs * values)


def sums_of(rows: Rows, problems: I64, V: Held) -> F64:
    """Return a, d and c of (2), a line for each column of V, which is on the rows' device; all in one pass over F.

    Blocks of rows are added up in double precision and in their order, whatever F is of.
    """
    F, device = rows.features, rows.device
    if not len(problems):
        return np.empty((0, F.shape[1] + 2))
    weight = device.xp.where(V, rows.weight_there[:, None], 0.0)
    signed = weight * rows.sides_there(problems)
    step = rows_at_once(device, F.shape[1])
    single = device.cast(signed, str(rows.F.dtype))
    a = device.put(np.zeros((len(problems), F.shape[1])))
    for i in range(0, len(rows.F), step):
        stop = min(i + step, len(rows.F))
        a += device.cast(single[i:stop, :].T @ F[i:stop, :], "float64")
        release(F[i:stop, :])
    return np.column_stack([device.get(each) for each in (a, *(device.xp.sum(v, axis=0) for v in (signed, weight)))])


def rows_at_once(device: Device, width: int) -> int:
    """Return how many rows of so many features a pass takes at a time."""
    return max(device.rows, device.block // max(1, width))


def make_single_table(rows: Rows) -> tuple[Rows]:
    """Return the rows as the one table of a training."""
    return (rows,)
