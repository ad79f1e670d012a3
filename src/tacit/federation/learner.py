"""What an executor does with a learner's rows: makes them a `Part`, checked.

It tells a word and a column, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.arrays import F64, Array
from tacit.choreo import encode
from tacit.choreo.at import Work
from tacit.federation.frames import arrow_columns, stack, values
from tacit.federation.part import Part, kinds_of, part_of
from tacit.runtimes.spark.partition import pack, unpack

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
    gaps: bool = False  # whether features may have missing values
    raw: bool = False  # whether they may be texts and dates

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all learners."""
        return (*self.features, self.label, *([self.weight] if self.weight else []))


def pieces(learner: int, rows: Any, columns: Columns) -> Any:
    """Return a learner's record, in pieces."""
    try:
        record = _record(rows, columns)
    except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
        record = pack({FACTS: _describe(rows.num_rows, error=type(error).__name__)})
    data = [memoryview(record)[at : at + PIECE] for at in range(0, len(record), PIECE)]
    return pa.table([[learner] * len(data), list(range(len(data))), data], schema=PIECES)


def join_pieces(_: int, rows: Iterable[Any]) -> Iterator[bytes]:
    """Return the pieces of one learner as its record again; a partition without rows says so."""
    found = sorted((row[1], bytes(row[2])) for row in rows)
    yield b"".join(data for _, data in found) or pack({FACTS: _describe(0)})


def facts(_: int, records: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what the driver may know: how many rows, of what kind their labels are, what is wrong."""
    for record in records:
        yield encode(unpack(record)[FACTS]).join()


@dataclass(frozen=True)
class Alone:
    """A step of every learner by itself, which is given its name and its parts; the result lies in the slot `into`."""

    parties: tuple[str, ...]
    step: Callable[..., Any]
    into: str

    @property
    def place(self) -> str:
        """The name of the step."""
        return str(getattr(self.step, "__name__", "a step"))

    def __call__(self, index: int, records: Iterable[bytes]) -> Iterator[bytes]:
        """Return the learner's new record; an error's words stay here."""
        for record in records:
            each = [unpack(one) for one in _flatten(record)]
            held = each[0]
            try:
                made = Work(self.place, self.step, (self.parties[index], *(one[PART] for one in each)), {})()
                told = _describe(held[FACTS]["rows"], targets=held[FACTS]["targets"], part=made)
                yield pack({FACTS: told, self.into: made})
            except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
                yield pack({FACTS: _describe(held[FACTS]["rows"], error=type(error).__name__)})


def _flatten(record: Any) -> Iterator[bytes]:
    """Yield the records of zipped RDDs, which are nested pairs."""
    for each in record if isinstance(record, tuple) else (record,):
        yield from _flatten(each) if isinstance(each, tuple) else (each,)


def _record(rows: Any, columns: Columns) -> bytes:
    held, n = arrow_columns(rows, "the rows"), rows.num_rows
    stacked = stack({c: held[c] for c in columns.features}, n, "the rows", raw=columns.raw)
    X = stacked.X
    y = values(held[columns.label])
    weight = stack({columns.weight: held[columns.weight]}, n, "the rows").X[:, 0] if columns.weight else None
    if wrong := _find_wrong(X, y, weight, columns):
        return pack({FACTS: _describe(n, wrong=wrong)})
    raw: Any = {"texts": stacked.texts, "dates": stacked.dates, "dictionary": stacked.texts}  # a cluster is one site
    part = part_of(X, y, weight, columns.features, **raw)
    return pack({FACTS: _describe(n, targets=_kind(y), part=part), PART: part})


def _find_wrong(X: F64, y: Array, weight: F64 | None, columns: Columns) -> tuple[str, str] | None:
    """Return the first thing that is wrong, and in which column."""
    if y.dtype.kind == "O":  # text and whole numbers with gaps come as objects
        return "NaN", columns.label
    others = (*([y] if y.dtype.kind == "f" else [np.zeros(len(y))]), *([] if weight is None else [weight]))
    for column, held in zip(columns.names, (*X.T, *others), strict=True):
        for what, bad in (("NaN", np.isnan), ("infinity", np.isinf)):
            carried = what == "NaN" and columns.gaps and column in columns.features
            if bad(held).any() and not carried:
                return what, column
    return ("negative", str(columns.weight)) if weight is not None and (weight < 0).any() else None


def _kind(y: Array) -> str:
    if y.dtype.kind == "U":
        return "text"
    return "continuous" if y.dtype.kind == "f" and bool((y != np.floor(y)).any()) else "whole"


def _describe(
    rows: int,
    *,
    targets: str = "whole",
    wrong: tuple[str, str] | None = None,
    error: str | None = None,
    part: Any = None,
) -> dict[str, Any]:
    """Return what the driver may know; of a part, which columns are texts or dates, and one that has gaps."""
    kinds, gap = (kinds_of({"": part}), _find_gap(part)) if isinstance(part, Part) else ({}, None)
    return {"rows": rows, "targets": targets, "wrong": wrong, "error": error, "kinds": kinds, "gap": gap}


def _find_gap(part: Part) -> str | None:
    return next((name for name, held in zip(part.features, part.X.T, strict=True) if np.isnan(held).any()), None)
