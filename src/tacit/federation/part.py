"""A party's share of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, Array
from tacit.choreo.message import State
from tacit.scratch import is_on_disk
from tacit.sparse import Sparse, is_sparse

Mask = NDArray[np.bool_]


class Part(State):
    """What one party holds. Labels and weights stand only where they are held.

    X: horizontal: its rows; vertical: its columns; arbitrary: all cells, zero where another party owns the cell.
    y: labels in the caller's own values.
    weight: sample weights.
    features: names of the columns of X.
    owned: which cells are its own (arbitrary only).
    texts: of text columns that nobody declared, this party's own texts, which their numbers 0, 1, ... in X stand for.
    dates: columns of days since 1970.
    folds: of records whose site dealt them once for all jobs, the fold of each.
    unlabelled: records whose label nobody learns.
    key: of records whose site fixed them, a secret of theirs, from which noise on what all jobs ask follows.
    dictionary: of text columns, the texts that they may have, as the party declares them: these are public, and every
        other text counts as none of them. In a simulation these are the texts that its table has.
    """

    X: Cells
    y: Array | None
    weight: F64 | None
    features: tuple[str, ...]
    owned: Mask | None
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dates: tuple[str, ...] = ()
    dictionary: dict[str, tuple[str, ...]] = field(default_factory=dict)
    folds: Array | None = None
    unlabelled: Mask | None = None
    key: bytes = field(default=b"", repr=False)

    @property
    def holds_data(self) -> bool:
        """Whether the party has any cell at all; a surplus party has none."""
        return bool(self.X.size if self.owned is None else self.owned.any())


def freeze(values: Array) -> Array:
    """Return a C-contiguous copy that nobody can write to, so that a step cannot change its party's data.

    What lies on disk is its own copy, and so are sparse rows.
    """
    if is_sparse(values):
        return values.freeze()  # type: ignore[return-value]  # it stands for an array
    copy = values.view() if values.size and is_on_disk(values) else np.array(values, order="C")
    copy.flags.writeable = False
    return copy


def part_of(
    X: F64,
    y: Array | None,
    weight: F64 | None,
    features: tuple[str, ...],
    owned: Mask | None = None,
    *,
    texts: Mapping[str, tuple[str, ...]] | None = None,
    dates: tuple[str, ...] = (),
    dictionary: Mapping[str, tuple[str, ...]] | None = None,
) -> Part:
    """Return a part of frozen copies; of X only the owned cells remain, and of texts those that occur in them."""
    X, own = _number_anew(X, features, owned, texts or {})
    return Part(
        X=freeze(X if owned is None else np.where(owned, X, 0.0)),
        y=None if y is None else freeze(y),
        weight=None if weight is None else freeze(weight),
        features=features,
        owned=None if owned is None else freeze(owned),
        texts=own,
        dates=tuple(name for name in dates if name in features),
        dictionary={name: known for name, known in (dictionary or {}).items() if name in features},
    )


def with_columns(
    part: Part,
    X: F64,
    features: tuple[str, ...],
    owned: Mask | None,
    texts: Mapping[str, tuple[str, ...]] | None = None,
) -> Part:
    """Return the same records with other columns."""
    raw = part.texts if texts is None else texts
    made = part_of(X, part.y, part.weight, features, owned, texts=raw, dates=part.dates, dictionary=part.dictionary)
    return replace(made, folds=part.folds, unlabelled=part.unlabelled, key=part.key)


def declare_own(parts: Mapping[str, Part]) -> dict[str, Part]:
    """Return the parts of a simulation, each of which declares the texts that its table has."""
    return {party: replace(part, dictionary=part.texts) if part.texts else part for party, part in parts.items()}


def kinds_of(parts: Mapping[str, Part]) -> dict[str, str]:
    """Return the columns that parts carry raw, and whether they hold texts or dates."""
    texts = {name: "text" for part in parts.values() for name in part.texts}
    return {**texts, **{name: "date" for part in parts.values() for name in part.dates}}


def _number_anew(
    X: F64, features: tuple[str, ...], owned: Mask | None, texts: Mapping[str, tuple[str, ...]]
) -> tuple[F64, dict[str, tuple[str, ...]]]:
    """Return text columns numbered by the texts that occur in them: a party knows no others."""
    X, own = np.array(X) if texts else X, {}
    for name in (each for each in features if each in texts):
        j = features.index(name)
        held = ~np.isnan(X[:, j]) if owned is None else owned[:, j] & ~np.isnan(X[:, j])
        codes, numbers = np.unique(X[held, j], return_inverse=True)
        X[held, j] = numbers
        own[name] = tuple(texts[name][int(code)] for code in codes)
    return X, own


# What is computed of every party's part before and after a run: of all parts at once where they are long


T = TypeVar("T")
LONG = 1 << 20  # rows of all parts from which threads are worth their start


def map_parts(function: Callable[[str, Part], T], parts: Mapping[str, Part]) -> dict[str, T]:
    """Return a function of every party's name and part.

    NumPy lets other threads go on while it works on long arrays. Parts on disk come one after the other, so that no
    more than one of them is in memory.
    """
    rows = sum(len(part.X) for part in parts.values())
    if rows < LONG or any(is_on_disk(part.X) for part in parts.values()):
        return {party: function(party, part) for party, part in parts.items()}
    with ThreadPoolExecutor(len(parts)) as pool:
        return dict(zip(parts, pool.map(function, parts, parts.values()), strict=True))


# Sparse rows as a party keeps them: in wire form, so that journals, processes and clusters can hold them


class SparseRows(Sparse, State):
    """A party's own rows, of which only the cells that are not 0 are kept."""

    values: F64
    columns: Array
    starts: Array
    width: int
    shift: F64 | None = None


if TYPE_CHECKING:
    # sparse rows do what trainings over rows ask of an array, and refuse the rest
    Cells = F64
    Mapped = Array
else:
    Cells = F64 | SparseRows
    Mapped = Array | SparseRows
