"""`tacit.inspect.table_one`: what each site's records are like beside those of the others, as papers begin.

    d = (m - m') / sqrt((s^2 + s'^2) / 2)       of numbers: mean and deviation of a site, and of all others          (1)
    d = (p - p') / sqrt((p q + p' q') / 2)      of a category: its share there, and at all others, q = 1 - p         (2)

Each figure is one that `describe` tells of the site's own records, rounded by the same rules. It is suppressed where
the site has fewer than k records of it, or all others have, or where the total would tell of one that is suppressed.

Between organisations `describe` tells of all records together, and so there is no such table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.inspect.describe import Describe
from tacit.report.description import ColumnDescription, Count, Description, Suppressed, write_count
from tacit.report.sheet import Sheet
from tacit.report.words import clean

HIDDEN = "(suppressed)"
NOTE = (
    "Rounded; (few) and (suppressed): fewer than {} records, or so few among all others. A standardised difference is"
    " between a site and all others."
)


@dataclass(frozen=True)
class Line:
    """A line of the table: what is told of all records and at each site; how far each site is from the others."""

    name: str
    total: str
    told: Mapping[str, str]
    apart: Mapping[str, float]

    def cells(self, sites: Sequence[str]) -> tuple[str | float, ...]:
        """Return the line as it is shown: the site that differs most comes last."""
        known = {site: d for site, d in self.apart.items() if np.isfinite(d)}
        most = max(known, key=lambda site: abs(known[site]), default="")
        shown = (round(abs(known[most]), 3), most) if most else ("", "")
        return (self.name, self.total, *(self.told[site] for site in sites), *shown)


@dataclass(frozen=True)
class Sides:
    """Descriptions of all records, and of each site's own and of all others'."""

    total: Description
    own: Mapping[str, Description]
    others: Mapping[str, Description]


def table_one(federation: Federation, *, categories: Mapping[str, Sequence[Any]] | None = None) -> Sheet:
    """Return the table of a study's records by site, in simulation: counts, means, missing values, differences.

    Args:
        federation: records by rows, in this process.
        categories: {column: values}: the values that a column of numbers may have, as `describe` takes them.
    """
    if not federation.holds_records or federation.partition != "horizontal":
        raise LocalError(
            "table_one tells figures of single sites, by rows and in simulation: between organisations describe tells"
            " those of all of them, and each site may run `tacit describe` on its own file"
        )
    sides = _describe_sides(federation, categories)
    sites = tuple(sides.own)
    lines = [_count_records(sides, sites)]
    for name in sides.total.columns:
        lines += _list_column(name, sides, sites)
    heads = ("", "all", *sites, "largest difference", "at")
    return Sheet("Records by site", heads, tuple(line.cells(sites) for line in lines), NOTE.format(sides.total.least))


def _describe_sides(federation: Federation, categories: Mapping[str, Sequence[Any]] | None) -> Sides:
    """Describe all records, those of each site, and those of all others."""

    def describe(records: Federation) -> Description:
        return Describe(categories=categories, verbose=False).look(records).description

    own, others = {}, {}
    for site, rows in federation.rows.items():
        held = np.isin(np.arange(federation.n_rows), rows)
        if held.any() and not held.all():
            own[site], others[site] = describe(federation.take_rows(held)), describe(federation.take_rows(~held))
    return Sides(describe(federation), own, others)


def _count_records(sides: Sides, sites: Sequence[str]) -> Line:
    return Line("records", f"{sides.total.records:,}", {site: f"{sides.own[site].records:,}" for site in sites}, {})


def _list_column(name: str, sides: Sides, sites: Sequence[str]) -> list[Line]:
    """Return the lines of a column: where its numbers lie, or each of its categories; then its gaps."""
    total = sides.total.columns[name]
    own = {site: _find(sides.own[site], name) for site in sites}
    others = {site: _find(sides.others[site], name) for site in sites}
    lines = []
    if total.mean is not None:
        told = {site: _tell_mean(own[site], others[site]) for site in sites}
        apart = {site: _differ(own[site], others[site]) for site in sites}
        lines.append(Line(f"{name}, mean ± deviation", total.center, told, apart))
    for value in total.categories:
        counts = {site: own[site].categories.get(value, Suppressed.FEW) for site in sites}
        rest = {site: others[site].categories.get(value, Suppressed.FEW) for site in sites}
        sizes = {site: (_size(sides.own[site]), _size(sides.others[site])) for site in sites}
        shown = _hide(counts, rest, sizes)
        apart = {
            site: _differ_shares(counts[site], rest[site], *sizes[site]) for site in sites if shown[site] != HIDDEN
        }
        lines.append(Line(f"{name} = {clean(value)}", write_count(total.categories[value]), shown, apart))
    gaps = {site: own[site].missing for site in sites}
    if total.missing is not None and any(n != Suppressed.FEW for n in (total.missing, *gaps.values())):
        known = {site: n for site, n in gaps.items() if n is not None}
        rest = {site: others[site].missing or 0 for site in sites}
        sizes = {site: (_size(sides.own[site]), 0) for site in sites}
        lines.append(Line(f"{name}, missing", write_count(total.missing), _hide(known, rest, sizes), {}))
    return lines


def _find(found: Description, name: str) -> ColumnDescription:
    """Return what is told of a column; of labels that no class has enough records of, nothing."""
    return found.columns.get(name) or ColumnDescription(name, "labels", Suppressed.FEW, Suppressed.NEARLY_ALL)


def _hide(
    counts: Mapping[str, Count], rest: Mapping[str, Count], sizes: Mapping[str, tuple[int, int]]
) -> dict[str, str]:
    """Return counts with their shares: none whose complement is few, nor one alone, which the total would tell."""
    hidden = {site for site, n in counts.items() if isinstance(n, Suppressed) or rest[site] == Suppressed.FEW}
    shown = sorted((n, site) for site, n in counts.items() if site not in hidden and isinstance(n, int))
    if len(hidden) == 1 and shown:
        hidden.add(shown[0][1])
    told = {}
    for site, n in counts.items():
        few = isinstance(n, Suppressed)
        told[site] = write_count(n) if few else HIDDEN if site in hidden else f"{n:,} ({_share(n, sizes[site][0])})"
    return told


def _share(n: Count, size: int) -> str:
    return f"{n / size:.0%}" if isinstance(n, int) and size else ""


def _size(found: Description) -> int:
    return found.records or 0


def _tell_mean(own: ColumnDescription, others: ColumnDescription) -> str:
    """Return mean and deviation, unless the total would tell those of few other records."""
    if not own.center:
        return write_count(Suppressed.FEW)
    return HIDDEN if others.present in (None, Suppressed.FEW) else own.center


def _differ(own: ColumnDescription, others: ColumnDescription) -> float:
    """Return the standardised difference of means, (1)."""
    if own.mean is None or own.std is None or others.mean is None or others.std is None:
        return np.nan
    spread = np.sqrt((own.std**2 + others.std**2) / 2.0)
    return float((own.mean - others.mean) / spread) if spread else np.nan


def _differ_shares(own: Count, others: Count, n: int, m: int) -> float:
    """Return the standardised difference of shares, (2)."""
    if isinstance(own, Suppressed) or isinstance(others, Suppressed) or not (n and m):
        return np.nan
    p, r = min(1.0, own / n), min(1.0, others / m)
    spread = np.sqrt((p * (1.0 - p) + r * (1.0 - r)) / 2.0)
    return float((p - r) / spread) if spread else np.nan
