"""Which persons were together in the sets that jobs of a site used: no two sets ever differ by a few of them.

The problem. A model trained on a set of persons, less one trained on the set without a few of them, tells of these few.
Any number of sets can be combined, so persons are sorted by the sets that they were in: those that were in the same
ones form a *cell*. A job has two sets, the persons to learn from and those to judge by, and may use them if

    of each cell, and of the persons who were in no set yet, nobody or `least` or more are in each of both,
    and in none of them                                                                                          (1)

By rows a site makes sets that way (`choose`): a few new persons wait until there are more of them, and where a few are
gone, others of their cell stay away too, chosen by their marks, and (1) never lets them come back alone. Over columns
and cells sites share their sets, so those that break (1) are refused.

A person of whom something was corrected is another one from then on: the old one is gone, unless the correction is
taken back. Corrections are noticed by digests of what each column says; a column more makes nobody new, and neither
does another name of the dataset. A person who was dealt by the site once stays where it was dealt.

Kept in one file of the state, under marks (`persons`), so that it names nobody; written before a job's run begins.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.choreo import State, decode, encode
from tacit.consortium.editions.dealing import I8, JUDGED, SHARE, deal_persons
from tacit.consortium.editions.persons import U32, Persons
from tacit.errors import LocalError, PeerError
from tacit.files import write_whole

FILE = "persons.memory"
UNKNOWN = -1


class Known(State):
    """The file: of each person that was in a set, as it was then, its mark, its cell, and what each column said.

    part: into which the person was dealt. used: in which of the `editions` it was. contents: a line for each person, a
    digest for each of `columns`, 0 where it is unknown. key: of all marks, and of the site's dealing.
    """

    key: bytes
    marks: U64
    cell: I64
    part: I8
    used: Flags
    editions: tuple[str, ...]
    columns: tuple[str, ...]
    contents: U32


class Memory:
    """The memory of one site, in a folder of its state."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._kept: Known | None = None
        self._at: dict[bytes, list[int]] = {}
        self.changes = 0  # how often it changed since it was read

    @property
    def key(self) -> bytes:
        """The secret key of marks and of the dealing; made, and written, when it is asked for first."""
        kept = self._read()
        if not self.path.exists():
            self._write(kept)
        return kept.key

    def deal(self, persons: Persons, share: float = SHARE, key: bytes | None = None) -> I8:
        """Return the part of each person: as it was dealt before, else by the site's key, or by that of a network."""
        dealt = deal_persons(self.key if key is None else key, persons.digests, share)
        at = self._rows(persons)[:, :1].reshape(-1)
        return (
            dealt if key is not None else np.where(at == UNKNOWN, dealt, _take(self._read().part, at)).astype(np.int8)
        )

    def choose(self, persons: Persons, parts: I8, least: int) -> Flags:
        """Return which persons are in the next sets, so that (1) holds; as many as possible."""
        at, kept = self._find(persons), np.ones(len(persons), dtype=np.bool_)
        order = np.lexsort(persons.marks.T)  # under a secret key: an order that nobody chose
        for which, size in self._cells(at):
            own = order[np.isin(order, which)]
            for group in _drop_few([own[(parts[own] == JUDGED) == judged] for judged in (False, True)], size, least):
                kept[group] = False
        return kept

    def knows(self, persons: Persons) -> bool:
        """Return whether some of these persons were in a set before."""
        return bool((self._rows(persons) != UNKNOWN).any())

    def use(self, edition: str, persons: Persons, parts: I8) -> None:
        """Write down that these persons are the sets of an edition: from now on their cells are told apart."""
        before, at = self._read(), self._find(persons)
        fresh = np.flatnonzero(at == UNKNOWN)
        kept = _add(before, persons.marks[fresh], parts[fresh])
        at[fresh] = len(before.cell) + np.arange(len(fresh))
        kept = _note(kept, edition, at, persons)
        inside = np.zeros(len(kept.cell), dtype=np.int64)
        inside[at] = np.where(parts == JUDGED, 1, 2)
        cell = np.unique(np.stack([kept.cell, inside]), axis=1, return_inverse=True)[1].reshape(-1)
        after = dataclasses.replace(kept, cell=cell.astype(np.int64))
        if encode(after).digest != encode(before).digest:
            self._write(after)

    def related(self, persons: Persons) -> set[str]:
        """Return the editions in which some of these persons were."""
        kept, rows = self._read(), self._rows(persons)
        return {kept.editions[k] for k in np.flatnonzero(kept.used[rows[rows != UNKNOWN]].any(axis=0))}

    def related_editions(self, editions: Collection[str]) -> set[str]:
        """Return these editions, and those in which some of their persons were."""
        kept = self._read()
        mine = kept.used[:, [k for k, name in enumerate(kept.editions) if name in editions]].any(axis=1)
        marks = {mark.tobytes() for mark in kept.marks[mine]}
        same = np.array([mark.tobytes() in marks for mark in kept.marks], dtype=np.bool_)
        return {*editions, *(kept.editions[k] for k in np.flatnonzero(kept.used[same].any(axis=0)))}

    def _cells(self, at: I64) -> list[tuple[I64, int | None]]:
        """Return the persons of each cell, as places in the table, and how large the cell is; None of new ones."""
        kept, known = self._read(), np.flatnonzero(at != UNKNOWN)
        sizes = np.bincount(kept.cell) if len(kept.cell) else np.empty(0, dtype=np.int64)
        own = kept.cell[at[known]]
        found: list[tuple[I64, int | None]] = [(known[own == cell], int(sizes[cell])) for cell in np.unique(own)]
        return [*found, (np.flatnonzero(at == UNKNOWN), None)]

    def _find(self, persons: Persons) -> I64:
        """Return where each person stands as it is now: UNKNOWN if it is new, or was corrected."""
        found = np.full(len(persons), UNKNOWN, dtype=np.int64)
        for at in self._rows(persons).T:
            open_ = np.flatnonzero((found == UNKNOWN) & (at != UNKNOWN))
            same = ~_differ(self._read(), at[open_], persons, open_)
            found[open_[same]] = at[open_[same]]
        return found

    def _rows(self, persons: Persons) -> I64:
        """Return where each person stands in the file: a column for each time that it was corrected, the last first."""
        self._read()
        found = [self._at.get(mark.tobytes(), []) for mark in persons.marks]
        width = max(1, *map(len, found)) if found else 1
        return np.array([[*reversed(each), *[UNKNOWN] * (width - len(each))] for each in found], np.int64).reshape(
            -1, width
        )

    def _read(self) -> Known:
        if self._kept is None:
            self._kept = self._load()
            self._at = _index(self._kept)
        return self._kept

    def _load(self) -> Known:
        if not self.path.exists():
            none, parts, marks = np.empty(0, np.int64), np.empty(0, np.int8), np.empty((0, 2), np.uint64)
            used, contents = np.empty((0, 0), np.bool_), np.empty((0, 0), np.uint32)
            return Known(secrets.token_bytes(32), marks, none, parts, used, (), (), contents)
        try:
            found = decode(self.path.read_bytes())
        except PeerError as error:
            raise LocalError(f"{self.path} is damaged: restore it from a backup") from error
        if not isinstance(found, Known):
            raise LocalError(f"{self.path} does not hold the persons of earlier jobs: restore it from a backup")
        return found

    def _write(self, kept: Known) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, encode(kept).join(), "the memory of persons", private=True)
        self._kept, self._at = kept, _index(kept)
        self.changes += 1


def _take(values: Any, at: I64) -> Any:
    """Return values at these places; 0 at those that are none."""
    return np.append(values, values.dtype.type(0))[at]  # UNKNOWN is the last


def _drop_few(groups: list[I64], size: int | None, least: int) -> list[I64]:
    """Return whom of a cell to leave out, so that (1) holds; `size` of the cell, None if anybody may yet come to it."""
    dropped = [group for group in groups if len(group) < least and len(group) != size]
    kept = [group for group in groups if len(group) >= least or len(group) == size]
    if size is None:
        return dropped
    out = size - sum(map(len, kept))
    if 0 < out < least and kept:
        most = max(kept, key=len)
        left = len(most) - (least - out)
        dropped.append(most[left if left >= least else 0 :])
    return dropped


def _index(kept: Known) -> dict[bytes, list[int]]:
    marks, found = kept.marks.tobytes(), dict[bytes, list[int]]()
    for k in range(len(kept.cell)):
        found.setdefault(marks[16 * k : 16 * k + 16], []).append(k)
    return found


def _differ(kept: Known, at: I64, persons: Persons, which: I64) -> Flags:
    """Return of which persons a column says something else now than it said then."""
    differs = np.zeros(len(at), dtype=np.bool_)
    for j, name in enumerate(kept.columns):
        if name in persons.contents:
            before = kept.contents[at, j]
            differs |= (before != 0) & (before != persons.contents[name][which])
    return differs


def _add(kept: Known, marks: U64, parts: I8) -> Known:
    """Add persons that were in no set as they are now."""
    count = len(marks)
    return dataclasses.replace(
        kept,
        marks=np.concatenate([kept.marks, marks]),
        cell=np.concatenate([kept.cell, np.full(count, UNKNOWN, dtype=np.int64)]),
        part=np.concatenate([kept.part, parts]),
        used=np.concatenate([kept.used, np.zeros((count, len(kept.editions)), dtype=np.bool_)]),
        contents=np.concatenate([kept.contents, np.zeros((count, len(kept.columns)), dtype=np.uint32)]),
    )


def _note(kept: Known, edition: str, at: I64, persons: Persons) -> Known:
    """Write down that these persons are in an edition, and what its columns say of them."""
    editions = kept.editions if edition in kept.editions else (*kept.editions, edition)
    used = _widen(kept.used, len(editions))
    used[at, editions.index(edition)] = True
    columns = (*kept.columns, *(name for name in persons.contents if name not in kept.columns))
    contents = _widen(kept.contents, len(columns))
    for j, name in enumerate(columns):
        if name in persons.contents:
            contents[at, j] = persons.contents[name]
    return dataclasses.replace(kept, editions=editions, used=used, columns=columns, contents=contents)


def _widen(table: Any, width: int) -> Any:
    """Return a copy with more columns, of zeros."""
    return np.concatenate([table, np.zeros((len(table), width - table.shape[1]), dtype=table.dtype)], axis=1)
