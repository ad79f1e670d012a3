"""Ids of records: written alike, hashed, and aligned between parties that hold columns of overlapping records."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any

import numpy as np

from tacit.arrays import U8, Array
from tacit.choreo import Coordinator, Holder, Roster
from tacit.choreo.progress import Listener
from tacit.errors import LocalError, warn_caller
from tacit.federation.checks import check_choice
from tacit.federation.table import ABSENT, Table
from tacit.progress import listen_to
from tacit.registry import RUNTIMES, Outcome

Tables = Mapping[str, Table]
USUAL = 0.9  # share of the smallest party's records that an alignment keeps without a warning


@dataclass(frozen=True, repr=False)
class Alignment(Outcome):
    """The run that found the common records.

    had: how many records each party had before. folded: how many would be common if capitals and blanks did not count.
    """

    had: Mapping[str, int] = field(default_factory=dict)
    folded: int = 0

    @property
    def kept(self) -> int:
        """How many records all parties have."""
        found: int = self.result.count
        return found

    def __repr__(self) -> str:
        had = ", ".join(f"{party} had {count}" for party, count in self.had.items())
        return f"<Alignment: {self.kept} common records; {had}>"

    @property
    def losses(self) -> tuple[str, ...]:
        """What a report has to say if many records of the smallest party are lost."""
        if self.kept >= USUAL * min(self.had.values()) and self.folded <= self.kept:
            return ()
        had = ", ".join(f"{count} at {party}" for party, count in self.had.items())
        more = f"; {self.folded} would stay if capitals and blanks did not count (fold_ids=True)"
        return (f"alignment kept {self.kept} records of {had}{more if self.folded > self.kept else ''}",)


def match_ids(ids: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the lists of ids by party."""
    if len(ids) != len(names):
        raise LocalError(f"there are {len(ids)} lists of ids for {len(names)} parts: give every part exactly one")
    return dict(zip(names, ids, strict=True))


def check_alignable(partition: str, y: Any) -> None:
    """Refuse ids where nothing can be aligned by them."""
    if partition != "vertical":
        raise LocalError(f"ids align columns of the same records, and this is a {partition} split: leave them out")
    if y is not None:
        raise LocalError("y= has no ids: give the labels beside their own records, as (X, y)")


def align_tables(
    tables: Tables,
    ids: Mapping[str, Any],
    site: str,
    min_records: int,
    runtime: str,
    progress: Listener | None,
    *,
    fold: bool = False,
) -> tuple[dict[str, Table], dict[str, U8], Alignment]:
    """Return the records that all parties have, in one order, digests of their ids, and the run that found them.

    fold: capitals and blanks of ids do not count.
    """
    check_choice("runtime", runtime, RUNTIMES)
    given = {name: fold_ids(ids[name]) if fold else ids[name] for name in tables}
    held = {name: digests(given[name], table) for name, table in tables.items()}
    roster = Roster({Holder: tuple(tables), Coordinator: (site,)})
    params = {"min_records": min_records}
    with listen_to("align", progress) as tell:
        outcome = RUNTIMES[runtime](roster, "align", {"ids": (Holder, held)}, params, progress=tell)
    rows = outcome.result.rows
    aligned = {name: taken(table, rows[name]) for name, table in tables.items()}
    had = {name: len(own) for name, own in held.items()}
    folded = _count_folded(given)
    made = Alignment(**{each.name: getattr(outcome, each.name) for each in fields(Outcome)}, had=had, folded=folded)
    if made.folded > made.kept:  # that fewer records are common than each party has is no mistake by itself
        warn_caller(made.losses[0])
    return aligned, {name: own[rows[name]] for name, own in held.items()}, made


def fold_ids(ids: Any) -> Array:
    """Return ids without capitals and blanks."""
    return np.array([_fold(value) for value in np.asarray(ids).tolist()], dtype=object)


def _fold(value: Any) -> Any:
    return "".join(value.split()).casefold() if isinstance(value, str) else value


def _count_folded(ids: Mapping[str, Any]) -> int:
    """Return how many ids all parties have if capitals and blanks do not count; only here, where all ids are."""
    return len(set.intersection(*({str(_fold(value)) for value in np.asarray(own).tolist()} for own in ids.values())))


def digests(ids: Any, table: Table, *, repeated: bool = False) -> U8:
    """Return SHA-256 of every id as text; `repeated`: several records may have the same one."""
    raw = np.asarray(ids)
    if raw.shape != (len(table.X),):
        raise LocalError(f"{table.name} has {len(table.X)} records and ids of shape {raw.shape}: give one per record")
    held = raw.tolist()
    gaps = (row for row, value in enumerate(held, 1) if _is_gap(value))
    if gap := next(gaps, None):
        raise LocalError(f"row {gap} of {table.name} has no id: every record needs one; leave that record out")
    texts = [_text(value, row, table.name) for row, value in enumerate(held, 1)]
    if not repeated:
        _refuse_repeated(texts, table)
    return np.frombuffer(b"".join(sha256(text.encode()).digest() for text in texts), np.uint8).reshape(-1, 32)


def _refuse_repeated(texts: Sequence[str], table: Table) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(texts, 1):
        if first.setdefault(text, row) != row:
            raise LocalError(
                f"rows {first[text]} and {row} of {table.name} have the same id: every record needs its own"
            )


def _is_gap(value: Any) -> bool:
    return not value.strip() if isinstance(value, str) else str(value) in ABSENT


def _text(value: Any, row: int, name: str) -> str:
    """Return an id as text; whole numbers count by value, however they are written.

    7 is 007, as one reader keeps zeros and another does not.
    """
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise LocalError(f"the id in row {row} of {name} is a {type(value).__name__}: ids are whole numbers or text")
    text = unicodedata.normalize("NFC", str(value)).strip()
    return (text.lstrip("0") or "0") if text.isascii() and text.isdigit() else text


def taken(table: Table, rows: Any) -> Table:
    """Return these rows of a table, in this order."""

    def take(values: Array | None) -> Any:
        return None if values is None else values[rows]

    columns = {name: values[rows] for name, values in table.columns.items()}
    return dataclasses.replace(table, X=table.X[rows], y=take(table.y), weight=take(table.weight), columns=columns)
