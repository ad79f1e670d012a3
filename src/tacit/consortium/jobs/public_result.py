"""What everybody knows of a finished job, as one record: the codec writes it to files and carries it to the analyst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from tacit.choreo import At, Result, State, decode_as, encode, entries_of
from tacit.choreo.message import Record
from tacit.choreo.result import SOLE

PAGE = 1000  # notes of a history that one frame holds: its header is limited


class Notes(State):
    """Some consecutive notes of a history."""

    notes: tuple[dict[str, Any], ...]


class PublicResult(State):
    """The public values of a result by name, and the history of the run: frames of `Notes`, in order."""

    values: dict[str, Any]
    pages: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any], history: Sequence[Mapping[str, Any]] = ()) -> Self:
        """Return the record of these values and this history."""
        pages = (history[start : start + PAGE] for start in range(0, len(history), PAGE))
        return cls(dict(values), tuple(encode(Notes(tuple(map(dict, page)))).join() for page in pages))

    @property
    def history(self) -> list[dict[str, Any]]:
        """The figures that were noted during the run."""
        return [note for page in self.pages for note in decode_as(Notes, page).notes]


def split(result: Any, me: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a protocol's result as this site's own entries and what is public."""
    parts = result.as_dict() if isinstance(result, Result) else result if isinstance(result, dict) else {SOLE: result}
    private = {name: entries_of(value) for name, value in parts.items() if isinstance(value, At)}
    own = {name: entries[me] for name, entries in private.items() if me in entries}
    return own, {name: value for name, value in parts.items() if name not in private}


def to_plain(value: Any) -> Any:
    """Return a public value for people to read as JSON: arrays as lists, records by field, bytes in hex.

    JSON has no number for a value that is not finite: it becomes null.
    """
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, Record):
        return {name: to_plain(getattr(value, name)) for name in value.field_names()}
    if isinstance(value, dict):
        return {str(key): to_plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.hex() if isinstance(value, bytes) else value
