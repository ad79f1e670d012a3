"""What was opened of the records of a simulated federation, whichever slices of it were used.

A table has one memory, and all slices of it share that: what a run opens of some rows counts for every later run on any
of them, as a site's register has it (`consortium.consent.opened`, `consortium.consent.difference`).

Two results over nearly the same rows tell what the few are that only one of them has. So rows of a party that are in
the same runs form a cell, and a run is refused after which

    a cell, or the rows of one class in a cell, would be fewer than 5, but not none                                 (1)

Every combination of results is a function of what cells alone would give, and every cell has as many rows. Classes are
told apart because rows of a class of which a party has few take no part in most sums, and which classes these are
depends on the slice. A class with fewer than 5 rows in the whole table takes part in none of these sums, and is not
counted. Over columns and cells, where most parties have no labels, classes are not told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.errors import LocalError
from tacit.federation.abreast import map_parts
from tacit.federation.deal import classes_of
from tacit.federation.part import Part
from tacit.numeric.groups.atoms import refine_cells, smallest_cell, tell_apart
from tacit.numeric.groups.least_count import FLOOR
from tacit.numeric.groups.numbering import OUT, count_labels
from tacit.numeric.groups.row_words import row_words
from tacit.protocols.sums.atoms import Past, fingerprint, give_back, no_past, take_all, take_past
from tacit.scratch import fill, is_on_disk, like, make_column, number_rows, release, side_by_side


@dataclass
class Table:
    """What is known of one party's rows: from runs that sum groups of them, and in which runs each of them was.

    kind: by row, its class; OUT if the table has fewer than 5 of it.
    cell, classes: by row, the cell of (1), and that of the rows of its class; OUT for one that no run has used.
    layered: by row, the cell of runs that opened hidden layers.
    frame: the rows of the first run that summed groups, in which alone small groups are put together; None before.
    summed: by row, whether a run has summed it.
    words: by row, what its columns were then; `ahead`: what they are in the run at hand, and `written` once they are
        among these.
    features: names of the columns then.
    """

    past: Past
    kind: I64
    cell: I64
    classes: I64
    layered: I64
    summed: Flags
    words: U64
    ahead: U64 | None = None
    written: bool = False
    frame: I64 | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Memory:
    """What was opened of every party's rows; `rows` are those of the slice at hand, all of them without one."""

    tables: dict[str, Table] = field(default_factory=dict)
    rows: Mapping[str, I64] = field(default_factory=dict)

    def take(self, parts: Mapping[str, Part], rows: Mapping[str, I64]) -> Memory:
        """Return the same memory for a slice: of each party's rows those with these numbers."""
        for party, part in parts.items():
            self._table(party, part)
        return replace(self, rows={party: self._own(party, parts[party])[own] for party, own in rows.items()})

    def tell_apart(self, parts: Mapping[str, Part], pieces: Mapping[str, I64]) -> None:
        """Let groups of rows be of one part of a deal each from now on, so that no part splits a group later."""
        for party, piece in pieces.items():
            table, own = self._table(party, parts[party]), self._own(party, parts[party])
            before, rest = table.past.label, int(piece.max(initial=OUT)) + 1
            part = np.full(len(before), rest, dtype=np.int64)
            part[own] = piece
            label = tell_apart(before, part, table.kind, FLOOR)
            table.past = replace(table.past, label=np.where((before < 0) & (part == rest), OUT, label))

    def begin(self, party: str, part: Part) -> Past:
        """Return what a run on these rows has to know of earlier ones."""
        table, own = self._table(party, part), self.rows.get(party)
        fewest = smallest_cell(table.layered, own)
        if own is None:
            whole = table.frame is None or len(table.frame) == len(part.X)
            before = take_all(table.past, fewest, whole=whole)
        else:
            whole = table.frame is None or np.array_equal(table.frame, np.sort(own))
            before = like(part.X, take_past(table.past, own, fewest, whole=whole))
        table.ahead, table.written = None, False
        if not before.maps:
            release((table, before))
            return before
        table.ahead = row_words(part.X)
        same = table.features == part.features and self._knows(table, table.ahead, own)
        found = replace(before, seen=fingerprint(part, before.label) if same else "")
        release((table, found))
        return found

    @staticmethod
    def _knows(table: Table, words: U64, own: I64 | None) -> bool:
        """Return whether those of these rows that were summed are as they were then."""
        then, summed = (table.words, table.summed) if own is None else (table.words[own], table.summed[own])
        return all((a == b)[known].all() for _, (a, b, known) in side_by_side(words, then, summed))

    def keep(self, party: str, part: Part, after: Past) -> None:
        """Write down what a run has opened of these rows."""
        table, own = self._table(party, part), self.rows.get(party)
        table.past = after if own is None else give_back(table.past, own, after)
        if table.frame is None and any(some.any() for _, (some,) in side_by_side(after.summed)):
            table.frame = number_rows(part.X, len(part.X)) if own is None else like(part.X, np.sort(own))
        if not table.written:
            words = row_words(part.X) if table.ahead is None else table.ahead
            if own is None:
                table.words = words if is_on_disk(words) else words.copy()  # a run on a slice will write to it
                table.summed = make_column(part.X, len(part.X), 1, np.bool_)
            else:
                table.words[own], table.summed[own] = words, True
            table.features, table.ahead, table.written = part.features, None, True
        if after.layered:
            table.layered = like(part.X, refine_cells(table.layered, own))
            table.past = replace(table.past, layered=False)
        release(table)

    def admit(self, parts: Mapping[str, Part], *, by_class: bool) -> None:
        """Write down that a run uses these rows; refuse it by (1)."""
        found = map_parts(partial(self._cells, by_class=by_class), parts)
        for party, (cell, classes) in found.items():
            self.tables[party].cell, self.tables[party].classes = cell, classes

    def _cells(self, party: str, part: Part, *, by_class: bool) -> tuple[I64, I64]:
        table, own = self._table(party, part), self.rows.get(party)
        if not by_class:
            classes = table.classes
        elif own is None:
            classes = refine_cells(table.classes, None, table.kind)
        else:
            classes = refine_cells(table.classes, own[table.kind[own] >= 0], table.kind)
        after = refine_cells(table.cell, own), classes
        for cells in after if len(table.cell) >= FLOOR else ():
            sizes = count_labels(cells)[1:]
            if sizes[sizes > 0].min(initial=FLOOR) < FLOOR:
                raise LocalError(
                    f"this run and others on the same table differ by fewer than {FLOOR} records of a class at"
                    f" {party!r}, and together they could open these few: use the same records, or records"
                    " that differ by more; a simulation that compares runs starts afresh with federation.forget()"
                )
        release(table)
        return like(part.X, after)

    def _own(self, party: str, part: Part) -> I64:
        return self.rows[party] if party in self.rows else np.arange(len(part.X))

    def _table(self, party: str, part: Part) -> Table:
        """Return what is known of a party's table, which is nothing at first."""
        if party not in self.tables:
            n = len(part.X)
            kind, unused = classes_of(part.y, n), make_column(part.X, n, OUT, np.int64)
            large = count_labels(kind)[1:] >= FLOOR
            kind = fill(lambda own: np.where(large[own], own, OUT), kind, dtype=np.int64)
            words, summed = make_column(part.X, n, 0, np.uint64), make_column(part.X, n, 0, np.bool_)
            self.tables[party] = Table(no_past(n, part.X), kind, unused, unused, unused, summed, words)
        return self.tables[party]
