"""A small table that can be looked at: in a terminal, in a notebook, and as a CSV file."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path

from tacit.cards import make_card, make_table
from tacit.files import write_whole
from tacit.report.words import figure

Cell = str | int | float


@dataclass(frozen=True, repr=False)
class Sheet:
    """Rows of numbers and words under their heads; the first cell of a row names it.

    Attributes:
        title: what it shows.
        heads: of the columns.
        rows: their cells, with all digits.
        note: what to know about it.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, head: str) -> list[Cell]:
        """Return the cells under a head."""
        return [row[self.heads.index(head)] for row in self.rows]

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write heads and rows, with all digits."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.heads, *self.rows])
        return write_whole(path, text.getvalue().encode(), "the table")

    def __repr__(self) -> str:
        lines = [self.heads, *self._told()]
        wide = [max(map(len, each)) for each in zip(*lines, strict=True)]
        table = ("  ".join(cell.ljust(size) for cell, size in zip(line, wide, strict=True)).rstrip() for line in lines)
        return "\n".join([*([self.title] if self.title else []), *table, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        return make_card(self.title, self.note, make_table(self.heads, self._told()))

    def _told(self) -> list[tuple[str, ...]]:
        return [tuple(map(figure, row)) for row in self.rows]
