"""A party's share of the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.choreo.message import F64, Array, State
from tacit.protocols.atoms import Past

Mask = NDArray[np.bool_]


class Part(State):
    """What one party holds. Labels and weights stand only where they are held.

    X: horizontal: its rows; vertical: its columns; arbitrary: all cells, zero where another party owns the cell.
    y: labels in the caller's own values.
    weight: sample weights.
    features: names of the columns of X.
    owned: which cells are its own (arbitrary only).
    past: what earlier runs opened of its rows, if any did.
    """

    X: F64
    y: Array | None
    weight: F64 | None
    features: tuple[str, ...]
    owned: Mask | None
    past: Past | None = None

    @property
    def holds_data(self) -> bool:
        """Whether the party has any cell at all; a surplus party has none."""
        return bool(self.X.size if self.owned is None else self.owned.any())


def frozen(values: Array) -> Array:
    """A C-contiguous copy that nobody can write to, so that a step cannot change its party's data."""
    copy = np.array(values, order="C")
    copy.flags.writeable = False
    return copy


def part_of(X: F64, y: Array | None, weight: F64 | None, features: tuple[str, ...], owned: Mask | None = None) -> Part:
    """A part of frozen copies; of X only the owned cells remain."""
    return Part(
        X=frozen(X if owned is None else np.where(owned, X, 0.0)),
        y=None if y is None else frozen(y),
        weight=None if weight is None else frozen(weight),
        features=features,
        owned=None if owned is None else frozen(owned),
    )
