"""What an executor does with a learner's rows: makes them a `Part`, checked. It tells a word and a column, never a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.choreo import F64, Array, encode
from tacit.data.frames import arrow_columns, stack, values
from tacit.data.part import part_of
from tacit.runtimes.partition import pack, unpack

PART, FACTS = "part", "facts"  # slots of a learner's record
PIECE = 1 << 24  # bytes of a record that Spark moves at once
PIECES = pa.schema([("learner", pa.int32()), ("piece", pa.int32()), ("data", pa.binary())])
SCHEMA = "learner int, piece int, data binary"  # the same, for Spark


@dataclass(frozen=True)
class Columns:
    """Which columns are what."""

    features: tuple[str, ...]
    label: str
    weight: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.features, self.label, *([self.weight] if self.weight else []))


def pieces(learner: int, rows: Any, columns: Columns) -> Any:
    """A learner's record, in pieces."""
    try:
        record = _record(rows, columns)
    except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
        record = pack({FACTS: _told(rows.num_rows, error=type(error).__name__)})
    data = [memoryview(record)[at : at + PIECE] for at in range(0, len(record), PIECE)]
    return pa.table([[learner] * len(data), list(range(len(data))), data], schema=PIECES)


def joined(_: int, rows: Iterable[Any]) -> Iterator[bytes]:
    """The pieces of one learner as its record again; a partition without rows says so."""
    found = sorted((row[1], bytes(row[2])) for row in rows)
    yield b"".join(data for _, data in found) or pack({FACTS: _told(0)})


def facts(_: int, records: Iterable[bytes]) -> Iterator[bytes]:
    """What the driver may know: how many rows, of what kind their labels are, what is wrong."""
    for record in records:
        yield encode(unpack(record)[FACTS]).join()


def _record(rows: Any, columns: Columns) -> bytes:
    held, n = arrow_columns(rows, "the rows"), rows.num_rows
    X = stack({c: held[c] for c in columns.features}, n, "the rows")
    y = values(held[columns.label])
    weight = stack({columns.weight: held[columns.weight]}, n, "the rows")[:, 0] if columns.weight else None
    if wrong := _wrong(X, y, weight, columns):
        return pack({FACTS: _told(n, wrong=wrong)})
    return pack({FACTS: _told(n, targets=_kind(y)), PART: part_of(X, y, weight, columns.features)})


def _wrong(X: F64, y: Array, weight: F64 | None, columns: Columns) -> tuple[str, str] | None:
    """The first thing that is wrong, and in which column."""
    if y.dtype.kind == "O":  # text and whole numbers with gaps come as objects
        return "NaN", columns.label
    others = (*([y] if y.dtype.kind == "f" else [np.zeros(len(y))]), *([] if weight is None else [weight]))
    for column, held in zip(columns.names, (*X.T, *others), strict=True):
        for what, bad in (("NaN", np.isnan), ("infinity", np.isinf)):
            if bad(held).any():
                return what, column
    return ("negative", str(columns.weight)) if weight is not None and (weight < 0).any() else None


def _kind(y: Array) -> str:
    if y.dtype.kind == "U":
        return "text"
    return "continuous" if y.dtype.kind == "f" and bool((y != np.floor(y)).any()) else "whole"


def _told(rows: int, *, targets: str = "whole", wrong: tuple[str, str] | None = None, error: str | None = None) -> dict[str, Any]:
    return {"rows": rows, "targets": targets, "wrong": wrong, "error": error}
