"""What a holder brings to a protocol, and how classes are named, as steps see them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, Array
from tacit.crypto.pads.entropy import prf

Label = bool | int | float | str
Names = tuple[Label, ...]  # of classes, in sorted order; labels travel as indices into it
ClassWeight = dict[Label, float] | str | None


class Table(Protocol):
    """A holder's cells of a table."""

    @property
    def X(self) -> F64:  # noqa: N802 - the letter of a table
        """The cells, a row for each record."""
        ...


class OwnCells(Table, Protocol):
    """Cells of a table of which some may belong to other parties: X is zero there."""

    @property
    def owned(self) -> NDArray[np.bool_] | None:
        """Which cells are the holder's own; None if all are."""
        ...


class Records(Table, Protocol):
    """A holder's part of the records: its rows or its columns, with labels and weights where it has them."""

    @property
    def y(self) -> Array | None:
        """The labels or targets."""
        ...

    @property
    def weight(self) -> F64 | None:
        """The weight of every record."""
        ...


class Held(OwnCells, Records, Protocol):
    """A holder's part of the records, of which some cells may belong to other parties."""


def hidden_of(part: Records) -> NDArray[np.bool_]:
    """Return the records whose label their site lets nobody learn: those of classes that are too small there."""
    hidden = getattr(part, "unlabelled", None)
    return np.zeros(len(part.X), dtype=np.bool_) if hidden is None else np.asarray(hidden, dtype=np.bool_)


def fix_key(part: object, drawn: bytes, *asked: bytes) -> bytes:
    """Return the key of noise on what is asked: the same for every job on records that their site fixed, else `drawn`.

    Whoever asks the same again is told the same, so that no noise averages out.
    """
    secret = getattr(part, "key", b"")
    return prf(secret, *asked) if secret else drawn
