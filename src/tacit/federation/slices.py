"""Slices of a federation: which records or columns are meant, and what each party keeps of its part."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import scratch
from tacit.arrays import I64
from tacit.errors import LocalError
from tacit.federation.checks import count_holders, describe_few
from tacit.federation.part import Part, freeze, with_columns
from tacit.federation.table import check_column

if TYPE_CHECKING:
    from tacit.federation.federation import Federation

from dataclasses import dataclass
from hashlib import sha256

from tacit.arrays import U8, U64, Array
from tacit.crypto.sets.row_hash import words
from tacit.numeric.scores.folds import deal_shares
from tacit.scratch import distinct, fill


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Dealt:
    """A federation whose records are dealt into parts; `part` is that of each record, at the party that holds it."""

    federation: Federation
    deal: Deal
    part: Mapping[str, I64]

    def take(self, *parts: int) -> Federation:
        """Return the federation of the records in these parts, in their old order."""
        choice = Choice(self.deal, parts)
        own = choice.chosen(self.part)
        held = {p: self.federation.rows[p][own[p]] for p in own}
        order = np.unique(np.concatenate(list(held.values())))
        rows = {p: np.searchsorted(order, numbers) for p, numbers in held.items()}
        return _slice(self.federation, own, rows, (*self.federation.choices, choice))


def deal_records(federation: Federation, deal: Deal) -> Dealt:
    """Let every party deal its own records into parts.

    Where all parties have the same records, each deals them alike, and nobody looks at labels.
    """
    federation.backend.check_slices()
    by_party = federation.partition == "horizontal"
    part = {
        p: deal.part_of(p if by_party else "", own.y if by_party else None, federation.ids.get(p), len(own.X))
        for p, own in federation.parts.items()
    }
    return Dealt(federation, deal, part)


def take_rows(federation: Federation, rows: Any) -> Federation:
    """Return a federation of these records, in this order."""
    federation.backend.check_slices()
    numbers = find_rows(rows, federation.n_rows)
    at = np.full(federation.n_rows, -1, dtype=np.int64)
    at[numbers] = np.arange(len(numbers))
    own = {p: np.flatnonzero(at[held] >= 0) for p, held in federation.rows.items()}
    own = {p: held[np.argsort(at[federation.rows[p][held]])] for p, held in own.items()}
    return _slice(federation, own, {p: at[federation.rows[p][held]] for p, held in own.items()}, ())


def take_columns(federation: Federation, columns: Sequence[str | int]) -> Federation:
    """Return a federation of these columns, in this order."""
    federation.backend.check_slices()
    chosen = find_columns(columns, federation.features)
    own = {p: np.array([j for j in chosen if j in held], dtype=np.int64) for p, held in federation.columns.items()}
    parts = {p: cut_columns(part, federation.columns[p], own[p]) for p, part in federation.parts.items()}
    names, place = tuple(federation.features[j] for j in chosen), {j: i for i, j in enumerate(chosen)}
    return dataclasses.replace(
        federation,
        parts=parts,
        columns={p: np.array([place[int(j)] for j in held], dtype=np.int64) for p, held in own.items()},
        features=names,
        warnings=_warn_of_few(federation, parts),
        categories={name: known for name, known in federation.categories.items() if name in names},
        kinds={name: kind for name, kind in federation.kinds.items() if name in names},
        backend=federation.backend.without_records(),
    )


def _slice(
    federation: Federation, own: Mapping[str, I64], rows: Mapping[str, I64], choices: tuple[Choice, ...]
) -> Federation:
    """Return each party's records with these numbers, which have the global numbers `rows` from now on."""
    parts = {p: cut_rows(part, own[p]) for p, part in federation.parts.items()}
    return dataclasses.replace(
        federation,
        parts=parts,
        rows=dict(rows),
        ids={p: held[own[p]] for p, held in federation.ids.items()},
        choices=choices,
        warnings=_warn_of_few(federation, parts),
        backend=federation.backend.take_rows(federation.parts, own),
    )


def _warn_of_few(federation: Federation, parts: Mapping[str, Part]) -> tuple[str, ...]:
    """Return the warnings of a slice: where fewer than three parties hold some of it, sums hide nothing."""
    few = describe_few(count_holders(parts))
    return tuple(dict.fromkeys((*federation.warnings, *([few] if few else []))))


def find_rows(rows: Any, count: int) -> I64:
    """Return the numbers of the records that are meant; refuse none, repeated ones, and those that do not exist."""
    if isinstance(rows, slice):
        found = np.arange(count)[rows]
    else:
        given = np.asarray(rows if np.size(rows) else np.empty(0, dtype=np.int64))
        if given.ndim != 1 or given.dtype.kind not in "biu":
            raise LocalError(
                "records are chosen by a mask, a slice or a list of whole numbers, and columns by a list of names; got"
                f" {type(rows).__name__} of {given.dtype}"
            )
        if given.dtype.kind == "b" and len(given) != count:
            raise LocalError(f"the mask has {len(given)} entries for {count} records: give one for each")
        found = np.flatnonzero(given) if given.dtype.kind == "b" else given.astype(np.int64)
        found = np.where(found < 0, found + count, found)
    if not len(found):
        raise LocalError("no record is chosen: choose at least one")
    wrong = found[(found < 0) | (found >= count)]
    if len(wrong):
        raise LocalError(f"there is no record {wrong[0]}: records are numbered from 0 to {count - 1}")
    if len(np.unique(found)) < len(found):
        raise LocalError("a record is chosen twice, and would count twice in every sum: choose each once")
    return found


def find_columns(columns: Sequence[str | int], features: tuple[str, ...]) -> list[int]:
    """Return the numbers of the columns that are meant; refuse none, repeated ones, and those that do not exist."""
    found = []
    for column in [columns] if isinstance(columns, str) else columns:
        if isinstance(column, str):
            check_column(column, features, "the federation")
            found.append(features.index(column))
        elif isinstance(column, (int, np.integer)) and -len(features) <= column < len(features):
            found.append(int(column) % len(features))
        else:
            raise LocalError(f"there is no column {column!r}: columns have names, or numbers from 0")
    if not found or len(set(found)) < len(found):
        raise LocalError(f"columns are chosen once each, and at least one: got {list(columns)!r}")
    return found


def cut_rows(part: Part, own: I64) -> Part:
    """Return a party's records with these numbers."""

    def cut(held: Any) -> Any:
        return None if held is None else freeze(scratch.take_rows(held, own))

    kept = ("X", "y", "weight", "owned", "folds", "unlabelled")
    own_cells: Any = {name: cut(getattr(part, name)) for name in kept}
    return dataclasses.replace(part, **own_cells)


def cut_columns(part: Part, held: I64, wanted: I64) -> Part:
    """Return a party's columns that have these numbers among all; `held` are the numbers of those it has."""
    place = {int(j): i for i, j in enumerate(held)}
    at = [place[int(j)] for j in wanted]
    owned = None if part.owned is None else part.owned[:, at]
    return with_columns(part, scratch.take_columns(part.X, at), tuple(part.features[i] for i in at), owned)


# A deal: which part of a split each record goes to, said in a few public words that every party follows by itself.
#
# A deal names no record. Each party orders its own records by a hash of their ids under the public seed, or, where they
# have no ids, by numbers drawn from the seed, and cuts that order by the shares. So
#
#     rows     each party deals its own records, class by class if it is stratified, and tells nobody how many there are
#     columns   all parties have the same records, with the same ids or in the same order, and find the same parts


USE = b"tacit deal"


@dataclass(frozen=True)
class Deal:
    """How records are dealt into parts.

    shares: of every part, about which share of the records it gets.
    seed: public; the same seed deals the same records alike.
    stratify: whether each party deals its records class by class.
    """

    shares: tuple[float, ...]
    seed: int
    stratify: bool

    def part_of(self, party: str, labels: Array | None, ids: U8 | None, count: int) -> I64:
        """Return the part of each of a party's records; `party` is empty where all parties have the same ones."""
        draw = np.random.default_rng((self.seed, *party.encode()))
        kind = classes_of(labels if self.stratify else None, count)
        return deal_shares(kind, self._keys(ids, count, draw), self.shares, draw)

    def _keys(self, ids: U8 | None, count: int, draw: np.random.Generator) -> U64:
        """Return by what records are ordered: nothing that a record's place in a table decides, if it has an id."""
        if ids is None:
            return draw.permutation(count).astype(np.uint64)
        return words(ids, 1, use=USE, key=sha256(str(self.seed).encode()).digest())[:, 0]


@dataclass(frozen=True)
class Choice:
    """Some parts of a deal: what a party is told about the records that a run is to use."""

    deal: Deal
    parts: tuple[int, ...]

    def chosen(self, part: Mapping[str, I64]) -> dict[str, I64]:
        """Return which of its own records each party takes."""
        return {party: np.flatnonzero(np.isin(of, self.parts)) for party, of in part.items()}


def classes_of(labels: Array | None, count: int) -> I64:
    """Return a party's labels as numbers from 0; one class for all where it has none, or numbers as targets.

    Labels are taken for classes if there is at most one for every 10 records.
    """
    if labels is not None:
        found = distinct(labels)
        if len(found) * 10 <= count:
            return fill(lambda own: np.searchsorted(found, own), labels, dtype=np.int64)
    return np.zeros(count, dtype=np.int64)
