"""An edition of a dataset: the records that jobs of this site use, as it fixes them before any job sees them.

    1. whose records these are, and the part into which each person is dealt                   `persons`, `dealing`
    2. persons who may take part, so that no two jobs ever differ by a few                     `memory`
    3. columns in which few differ are constant, small classes lose their label                `smoothing`

Over columns and cells nobody may be left out by one site alone, since all sites bring the same records: there a job is
refused that breaks the rule of step 2, and all sites deal by the key of their network.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.arrays import I64, Array, Flags
from tacit.consortium.editions.dealing import I8, JUDGED, SHARE
from tacit.consortium.editions.memory import Memory
from tacit.consortium.editions.persons import Persons, find_persons, take_persons
from tacit.consortium.editions.smoothing import NONE, find_ends, flatten_rare, merge_small
from tacit.federation.ids import digests, taken
from tacit.federation.slices import classes_of
from tacit.federation.table import Table
from tacit.sparse import is_sparse

LEAST = 5  # persons: no smaller group is told apart, unless the operator of a dataset asks for more


@dataclass(frozen=True)
class Fixed:
    """What the operator of a dataset declares of it.

    label: the name of the column that is learnt. classes: how labels are called; None if they are numbers, or if every
    label that enough records have is a class. judge: the share of records to judge by. least: no smaller group of
    persons is told apart. network: the key of the dealing, over columns and cells. by_place: whether records are dealt
    by their place, since they stand in one order at all sites, some of which may have no ids.
    """

    label: str | None = None
    classes: tuple[bool | int | float | str, ...] | None = None
    judge: float = SHARE
    least: int = LEAST
    network: bytes | None = None
    by_place: bool = False


@dataclass(frozen=True, repr=False)
class Target:
    """The labels of other records of the same site, by the marks of their persons."""

    codes: dict[bytes, int]


@dataclass(frozen=True, repr=False)
class Edition:
    """The records that jobs use.

    parts: for each record the fold that it is in, or JUDGED. unlabelled: records whose label nobody learns. persons:
    whose records these are. waiting: how many persons are left out, until there are more of them. flat: columns that
    are constant since few differ. breaks: whether the records may not be used together.
    """

    table: Table
    parts: I8
    unlabelled: Flags
    persons: Persons
    dealt: I8
    waiting: int = 0
    flat: tuple[str, ...] = ()
    breaks: bool = False
    least: int = LEAST

    @property
    def people(self) -> str:
        """A digest of whose records these are, and of their dealing, whatever is in them."""
        return hashlib.sha256(b"people" + self.persons.marks.tobytes() + self.dealt.tobytes()).hexdigest()

    @property
    def digest(self) -> str:
        """A digest of whose records these are, what is in them, and of their dealing."""
        h = hashlib.sha256(self.persons.marks.tobytes() + self.dealt.tobytes())
        for name in sorted(self.persons.contents):
            h.update(name.encode() + self.persons.contents[name].tobytes())
        return h.hexdigest()

    def choose(self, *, judged: bool) -> tuple[Table, Flags]:
        """Return the records to judge by, or those to learn from, and which they are."""
        which = (self.parts == JUDGED) == judged
        return taken(self.table, np.flatnonzero(which)), which

    def target(self) -> Target:
        """Return the labels by person, for other targets of the same persons."""
        y = np.empty(0) if self.table.y is None else self.table.y
        codes = np.zeros(len(y), dtype=np.int64) if _are_numbers(y) else _codes_of(y, None)
        codes[self.unlabelled[: len(y)]] = NONE
        first = np.unique(self.persons.of, return_index=True)[1]
        return Target({mark.tobytes(): int(codes[k]) for mark, k in zip(self.persons.marks, first, strict=True)})


def make_edition(
    memory: Memory, table: Table, ids: Array, persons: Array | None, fixed: Fixed, others: Sequence[Target] = ()
) -> Edition:
    """Return the edition of a table, whose records are named by `ids`, and whose they are by `persons`.

    others: targets of other datasets of this site that stand before this one.
    """
    known = find_persons(memory.key, table, ids, persons, fixed.label)
    if fixed.by_place:
        known = dataclasses.replace(known, digests=digests(np.arange(1, len(table.X) + 1), table))
    dealt = memory.deal(known, fixed.judge, fixed.network)
    kept = memory.choose(known, dealt, fixed.least)
    if fixed.network is not None:
        breaks = memory.knows(known) and not kept.all()
        edition = Edition(table, dealt[known.of], _none(table), known, dealt, breaks=breaks, least=fixed.least)
    else:
        rows = np.flatnonzero(kept[known.of])
        own = take_persons(known, kept)
        few: Any = {"waiting": int((~kept).sum()), "least": fixed.least}
        edition = Edition(taken(table, rows), dealt[kept][own.of], _none(table)[rows], own, dealt[kept], **few)
    return _smooth(edition, fixed, others)


def whole_edition(memory: Memory, table: Table, ids: Array, network: bytes, least: int) -> Edition:
    """Return all records as they are, for jobs that learn nothing from them: answers, and comparisons of ids."""
    known = find_persons(memory.key, table, ids)
    dealt = memory.deal(known, key=network)
    breaks = memory.knows(known) and not memory.choose(known, dealt, least).all()
    return Edition(table, dealt[known.of], _none(table), known, dealt, breaks=breaks, least=least)


def _none(table: Table) -> Flags:
    return np.zeros(len(table.X), dtype=np.bool_)


def _smooth(edition: Edition, fixed: Fixed, others: Sequence[Target]) -> Edition:
    """Return the edition with constant columns where few differ, and without the labels of small classes."""
    table, of, learnt = edition.table, edition.persons.of, edition.parts != JUDGED
    flat: tuple[int, ...] = ()
    if not is_sparse(table.X):
        X, flat = flatten_rare(table.X, learnt, of, fixed.least)
        table = dataclasses.replace(table, X=X)
    table, unlabelled = _merge_labels(table, of, learnt, fixed, edition.persons, others)
    names = tuple(table.features[j] for j in flat)
    return dataclasses.replace(edition, table=table, unlabelled=unlabelled, flat=names)


def _merge_labels(
    table: Table, of: I64, learnt: Flags, fixed: Fixed, persons: Persons, others: Sequence[Target]
) -> tuple[Table, Flags]:
    """Return the table with labels that may be learnt, and which records have none.

    Whole numbers may be classes or numbers, so that those of which there are many are both: cut, and classes.
    """
    y = table.y
    if y is None:
        return table, _none(table)
    numbers = fixed.classes is None and _are_numbers(y)
    if numbers:
        low, high = find_ends(y[learnt].astype(np.float64), of[learnt], fixed.least)
        y = np.clip(y, low, high).astype(y.dtype)
        if not _are_whole(y):
            return dataclasses.replace(table, y=y), _none(table)
    codes = _codes_of(y, fixed.classes)
    elsewhere = [
        np.array([target.codes.get(mark.tobytes(), NONE) for mark in persons.marks], dtype=np.int64)[of]
        for target in others
    ]
    rank = np.argsort(np.lexsort(persons.marks.T))  # by marks under a secret key, in an order that nobody chose
    merged = merge_small([each[learnt] for each in (*elsewhere, codes)], rank[of[learnt]], fixed.least)[-1]
    unlabelled = codes == NONE
    unlabelled[learnt] = merged == NONE
    gone = np.setdiff1d(codes[learnt], merged)  # classes that nobody learns
    unlabelled |= np.isin(codes, gone)
    if not numbers:
        y = _cover(y, unlabelled & (codes != NONE), ~unlabelled & learnt)
    return dataclasses.replace(table, y=y), unlabelled


def _cover(y: Array, hidden: Flags, shown: Flags) -> Array:
    """Return labels with the most frequent one that is shown, if any is, in place of hidden ones."""
    if not hidden.any():
        return y
    names, counts = np.unique(y[shown] if shown.any() else y, return_counts=True)
    covered = y.copy()
    covered[hidden] = names[counts.argmax()]
    return covered


def _codes_of(y: Array, classes: Sequence[object] | None) -> I64:
    """Return labels as numbers from 0: of those that are declared, else of all; NONE of others."""
    if classes is None:
        return np.unique(y, return_inverse=True)[1].astype(np.int64).reshape(-1)
    known = {name: k for k, name in enumerate(classes)}
    return np.array([known.get(label, NONE) for label in y.tolist()], dtype=np.int64)


def _are_numbers(y: Array) -> bool:
    """Return whether targets are numbers, unless their site declares classes: there are many of them."""
    return y.dtype.kind in "iuf" and len(np.unique(y)) > 1 and not classes_of(y, len(y)).any()


def _are_whole(y: Array) -> bool:
    return bool((y == np.rint(y)).all())
