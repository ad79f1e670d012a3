"""What a table looks like over all parties: of each column how much there is, where it lies, what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from tacit.arrays import F64
from tacit.cards import Made, list_warnings, make_card, make_table
from tacit.report.words import clean, count, figure

HEADS = ("column", "holds", "present", "missing", "mean ± deviation", "quartiles", "distribution")
BLOCKS = "▁▂▃▄▅▆▇█"  # a histogram in a line of text
SHOWN, NAMED = 4, 20  # categories that a line of text names, and those that a page does
WIDE, HIGH = 160, 34  # of a histogram, in pixels
ACCENT = "#0f766e"
UNLIKE = {
    "larger": "is far larger than at the other parties: check its unit there",
    "smaller": "is far smaller than at the other parties: check its unit there",
    "coded otherwise": "has other categories than at the other parties: check how they are written there",
    "empty": "has no value there, or only a few: check whether its name is written alike",
}


class Suppressed(StrEnum):
    """A count that is not told: it is of too few records, or those that it is not of are too few."""

    FEW = "few"
    NEARLY_ALL = "nearly all"


Count = int | Suppressed


@dataclass(frozen=True, repr=False)
class ColumnDescription:
    """What is told of one column.

    Attributes:
        name: of the column.
        kind: "number", "date", "text", "listed" (its values were declared) or "labels".
        present, missing: of about how many records there is a value, and of how many there is none, or `Suppressed`;
            None if nobody counted.
        mean, std: of numbers and dates, which are days since 1970; None where they are not told.
        quartiles, errors: and by how much each of them may be off.
        edges, counts: a histogram: where its parts begin and end, and about how many values each has; the first and the
            last part are open to their side.
        categories: values, and about how many records have each, or `Suppressed`.
        aside: why nothing more is told; empty if it is.
    """

    name: str
    kind: str
    present: Count | None = None
    missing: Count | None = None
    mean: float | None = None
    std: float | None = None
    quartiles: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    edges: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    categories: dict[str, Count] = field(default_factory=dict)
    aside: str = ""

    def show(self, value: float) -> str:
        """Return a value of this column as people read it."""
        return str(np.datetime64(round(value), "D")) if self.kind == "date" else f"{value:.4g}"

    @property
    def center(self) -> str:
        """Mean and deviation in words."""
        if self.mean is None or self.std is None:
            return ""
        spread = f"{self.std:,.0f} days" if self.kind == "date" else f"{self.std:.3g}"
        return f"{self.show(self.mean)} ± {spread}"

    @property
    def quarters(self) -> str:
        """The quartiles in words."""
        return ", ".join(map(self.show, self.quartiles))

    def list_categories(self, most: int) -> str:
        """Return the categories in words, the most frequent first."""
        ranked = sorted(self.categories.items(), key=lambda pair: -_rank(pair[1]))
        named = [f"{value} {write_count(n)}" for value, n in ranked[:most]]
        more = [f"{len(ranked) - most} more"] if len(ranked) > most else []
        return clean(", ".join([*named, *more]))


@dataclass(frozen=True, repr=False)
class Description:
    """What a look at a table found.

    Attributes:
        records: how many there are over all parties; None if nobody counted.
        columns: in the order of the table; labels stand last.
        least: every figure that is told is of at least this many records.
        unlike: at which party which columns are unlike the others', and how.
        owners: by columns, whose each column is.
    """

    records: int | None
    columns: dict[str, ColumnDescription]
    least: int
    unlike: dict[str, dict[str, str]] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What to look into before training."""
        unlike = [
            f"party '{party}': column '{name}' {UNLIKE[how]}"
            for party, own in self.unlike.items()
            for name, how in own.items()
        ]
        return [
            *unlike,
            *(f"column '{each.name}' {found}" for each in self.columns.values() if (found := _doubt(each))),
        ]


def write_count(n: Count) -> str:
    """Return a count as people read it."""
    return f"({n.value})" if isinstance(n, Suppressed) else f"{n:,}"


def _rank(n: Count) -> float:
    return {Suppressed.FEW: 0.0, Suppressed.NEARLY_ALL: np.inf}[n] if isinstance(n, Suppressed) else n


def _doubt(column: ColumnDescription) -> str:
    """Return what is doubtful about a column; nothing, if nothing is."""
    if column.present in (0, Suppressed.FEW):
        return "has hardly a value at any party: leave it out, or see whether its name is written alike everywhere"
    if column.std == 0:
        return "has the same value everywhere: there is nothing to learn from it"
    return ""


def rows_of(found: Description, *, page: bool) -> Iterator[tuple[str | Made, ...]]:
    """Return a line for each column: as HEADS says; the distribution is drawn on a page, and letters in a terminal."""
    for each in found.columns.values():
        holds = f"{each.kind}, of {found.owners[each.name]}" if each.name in found.owners else each.kind
        counted = tuple("" if n is None else write_count(n) for n in (each.present, each.missing))
        yield each.name, holds, *counted, each.center, each.quarters, _distribution(each, page=page)


def _distribution(column: ColumnDescription, *, page: bool) -> str | Made:
    if column.counts:
        return draw_histogram(column) if page else write_histogram(column)
    return column.aside or column.list_categories(NAMED if page else SHOWN)


def write_histogram(column: ColumnDescription) -> str:
    """Return a histogram as a line of blocks, one for each 1/16 of the range."""
    heights = _densities(column, 16)
    top = max(heights.max(), 1e-300)
    return "".join(BLOCKS[min(int(h / top * len(BLOCKS)), len(BLOCKS) - 1)] if h else " " for h in heights)


def _densities(column: ColumnDescription, size: int) -> F64:
    """Return how dense the values are at the middles of equal parts of the range."""
    edges, counts = _filled(column)
    if edges[-1] <= edges[0]:
        return np.append(np.zeros(size - 1), 1.0)
    at = edges[0] + (edges[-1] - edges[0]) * (np.arange(size) + 0.5) / size
    return np.asarray((counts / np.diff(edges))[np.searchsorted(edges, at, side="right") - 1])


def _filled(column: ColumnDescription) -> tuple[F64, F64]:
    """Return the histogram from its first part with a value to the last."""
    edges, counts = np.array(column.edges), np.array(column.counts, dtype=np.float64)
    held = np.flatnonzero(counts)
    return edges[held[0] : held[-1] + 2], counts[held[0] : held[-1] + 1]


def draw_histogram(column: ColumnDescription) -> Made:
    """Return a histogram as a small picture, whose bars are as large as their parts hold values."""
    edges, counts = _filled(column)
    width = edges[-1] - edges[0]
    if width <= 0:
        return Made(f"<small>all {column.show(edges[0])}</small>")
    x, dense = (edges - edges[0]) / width * WIDE, counts / np.diff(edges)
    tall = dense / dense.max() * HIGH
    bars = "".join(
        f'<rect x="{a:.1f}" y="{HIGH - h:.1f}" width="{max(b - a - 0.5, 0.5):.1f}" height="{h:.1f}"/>'
        for a, b, h in zip(x[:-1], x[1:], tall, strict=True)
        if h
    )
    said = f"from {column.show(edges[0])} to {column.show(edges[-1])}: {count(len(counts), 'part')}"
    box = f'viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}" fill="{ACCENT}"'
    return Made(f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{said}">{bars}</svg>')


def say_rule(found: Description) -> str:
    """Return a sentence that says how many records every figure is of."""
    if found.records is None:
        return "Names and kinds of columns, and nothing else: no value was counted."
    return (
        f"{figure(found.records)} records. All figures are rounded. A count of fewer than {found.least} records is"
        " given as (few), one of all but fewer than as many as (nearly all)."
    )


def render_card(found: Description, title: str) -> str:
    """Return the card that a notebook shows."""
    return make_card(
        title, say_rule(found), make_table(HEADS, rows_of(found, page=True)), list_warnings(found.warnings)
    )
