"""What a holder brings to a protocol, and how classes are named, as steps see them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, Array
from tacit.choreo import Holder, Labeller, Roster
from tacit.choreo.protocol import Inputs, Stage
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


# Invented records to rehearse a protocol on: few, small, of every split


def by_columns(stage: Stage) -> Inputs:
    """Return one column at each holder, with labels at the labeller."""
    rng = np.random.default_rng(0)
    y = np.arange(stage.records) % 2
    labels = {_labeller(stage.roster): y}
    cells = {p: rng.normal(size=(stage.records, 1)) for p in stage.roster[Holder]}
    return {"data": (Holder, {p: stage.part(X, labels.get(p), None, (p,)) for p, X in cells.items()})}


def by_rows(stage: Stage) -> Inputs:
    """Return so many records, with labels, at each holder."""
    rng = np.random.default_rng(0)
    y = np.resize(stage.params.get("classes") or (0, 1), stage.records)
    cells = {p: rng.normal(size=(stage.records, 2)) for p in stage.roster[Holder]}
    return {"data": (Holder, {p: stage.part(X, y, None, ("a", "b")) for p, X in cells.items()})}


def by_cells(stage: Stage) -> Inputs:
    """Return records of any split.

    Cells are zeros and ones, which every method takes, or less where a smaller range is declared.
    """
    holders, split = stage.roster[Holder], stage.params["partition"]
    rng, width = np.random.default_rng(0), 1 if split == "vertical" else len(holders)
    size = min(1.0, stage.params.get("feature_range") or 1.0)
    turn = np.add.outer(np.arange(stage.records), np.arange(width)) % len(holders)
    held: dict[str, object] = {}
    for i, p in enumerate(holders):
        X, y = size * rng.integers(0, 2, (stage.records, width)).astype(np.float64), np.arange(stage.records) % 2
        names = tuple(f"{p}{j}" if split == "vertical" else f"x{j}" for j in range(width))
        labelled = split == "horizontal" or p == _labeller(stage.roster)
        held[p] = stage.part(X, y if labelled else None, None, names, turn == i if split == "arbitrary" else None)
    return {"data": (Holder, held)}


def _labeller(roster: Roster) -> str | None:
    return roster[Labeller][0] if Labeller in roster.roles else None
