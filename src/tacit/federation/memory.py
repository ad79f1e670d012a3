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

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.errors import LocalError
from tacit.federation.deal import classes_of
from tacit.federation.part import Part
from tacit.numeric.groups.atoms import OUT, refine_cells, smallest_cell, tell_apart
from tacit.numeric.groups.least_count import FLOOR
from tacit.protocols.sums.atoms import Past, fingerprint, give_back, no_past, row_words, take_past
from tacit.scratch import is_on_disk, like, make_array, release


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
        table, own = self._table(party, part), self._own(party, part)
        whole = table.frame is None or np.array_equal(table.frame, np.sort(own))
        before = like(part.X, take_past(table.past, own, smallest_cell(table.layered, own), whole=whole))
        table.ahead, table.written = None, False
        if not before.maps:
            release((table, before))
            return before
        known, table.ahead = table.summed[own], row_words(part.X)
        same = table.features == part.features and np.array_equal(table.ahead[known], table.words[own][known])
        found = replace(before, seen=fingerprint(part, before.label >= 0) if same else "")
        release((table, found))
        return found

    def keep(self, party: str, part: Part, after: Past) -> None:
        """Write down what a run has opened of these rows."""
        table = self._table(party, part)
        table.past = give_back(table.past, self.rows[party], after) if party in self.rows else after
        if table.frame is None and after.summed.any():
            table.frame = like(part.X, np.sort(self._own(party, part)))
        if not table.written:
            own = self._own(party, part)
            table.words[own] = row_words(part.X) if table.ahead is None else table.ahead
            table.summed[own], table.features = True, part.features
            table.ahead, table.written = None, True
        if after.layered:
            table.layered = like(part.X, refine_cells(table.layered, self._own(party, part)))
            table.past = replace(table.past, layered=False)
        release(table)

    def admit(self, parts: Mapping[str, Part], *, by_class: bool) -> None:
        """Write down that a run uses these rows; refuse it by (1)."""
        found = {party: self._cells(party, part, by_class=by_class) for party, part in parts.items()}
        for party, (cell, classes) in found.items():
            self.tables[party].cell, self.tables[party].classes = cell, classes

    def _cells(self, party: str, part: Part, *, by_class: bool) -> tuple[I64, I64]:
        table, own = self._table(party, part), self._own(party, part)
        counted = own[table.kind[own] >= 0] if by_class else own[:0]
        after = refine_cells(table.cell, own), refine_cells(table.classes, counted, table.kind)
        for cells in after if len(table.cell) >= FLOOR else ():
            sizes = np.bincount(cells[cells >= 0])
            if sizes[sizes > 0].min(initial=FLOOR) < FLOOR:
                raise LocalError(
                    f"this run and others on the same table differ by fewer than {FLOOR} records of a class at"
                    f" {party!r}, and what they open could be combined to these few: use the same records, or others"
                    " that differ by more; a simulation that compares runs begins anew with federation.forget()"
                )
        release(table)
        return like(part.X, after)

    def _own(self, party: str, part: Part) -> I64:
        return self.rows[party] if party in self.rows else np.arange(len(part.X))

    def _table(self, party: str, part: Part) -> Table:
        """Return what is known of a party's table, which is nothing at first."""
        if party not in self.tables:
            n = len(part.X)
            kind, unused = classes_of(part.y, n), np.full(n, OUT, dtype=np.int64)
            large = np.bincount(kind, minlength=1)[kind] >= FLOOR
            words = make_array((n,), np.uint64) if is_on_disk(part.X) else np.zeros(n, dtype=np.uint64)
            known = like(part.X, (no_past(n), np.where(large, kind, OUT), unused, unused, unused))
            self.tables[party] = Table(*known, np.zeros(n, bool), words)
        return self.tables[party]
