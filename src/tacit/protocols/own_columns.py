"""What a holder does with its columns alone: statistics of those that are all its own, and checks. Nothing is sent.

    vertical       each column's owner has all of its values, so its mean, extremes, quantiles and most frequent value are its own
    declared       ranges, categories and constants need no statistics; each holder checks that its values are as declared

Roles. Holder: columns, or rows. Threat: none beside the holder itself. Source: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.choreo import F64, At, Holder, Run, choreography
from tacit.errors import LocalError
from tacit.protocols.column_counts import Cells, all_values, check_declared, check_rows
from tacit.protocols.column_quantiles import Ranges, check_ranges


@choreography(opens={Holder: "the statistics of its own columns, and nothing of anybody else's"})
def own_columns(
    run: Run, data: At[Any], *, names: tuple[str, ...], probabilities: tuple[float, ...] = (0.5,), ranges: Ranges | None = None,
    gaps: tuple[str, ...] = (),
) -> dict[str, Any]:  # fmt: skip
    """Statistics of each holder's own columns among those named, by name; and which of the columns `gaps` lack a value."""
    run.local(Holder, check_columns, data, names, 1, ranges or {}, {}, run.who(Holder))
    found = run.local(Holder, statistics, data, names, probabilities, run.who(Holder))
    return {"columns": found, "gaps": run.local(Holder, lacking, data, gaps)}


@choreography(opens={Holder: "nothing"})
def checked_columns(
    run: Run, data: At[Any], *, names: tuple[str, ...], ranges: Ranges | None = None,
    categories: Mapping[str, Sequence[float]] | None = None, min_rows: int = 5,
) -> dict[str, Any]:  # fmt: skip
    """Each holder checks its values against what is declared."""
    run.local(Holder, check_columns, data, names, min_rows, ranges or {}, categories or {}, run.who(Holder))
    return {}


def check_columns(
    part: Cells, names: tuple[str, ...], min_rows: int, ranges: Ranges, categories: Mapping[str, Sequence[float]], me: str
) -> None:
    """Those that this holder has."""
    bounded, listed = (tuple(n for n in names if n in part.features and n in declared) for declared in (ranges, categories))
    check_rows(part, min_rows, me)
    check_ranges(all_values(part, bounded), bounded, ranges, me)
    check_declared(all_values(part, listed), listed, tuple(tuple(categories[n]) for n in listed), me)


def statistics(part: Cells, names: tuple[str, ...], probabilities: tuple[float, ...], me: str) -> dict[str, dict[str, Any]]:
    """Of every column that the holder has."""
    mine = tuple(name for name in names if name in part.features)
    columns = all_values(part, mine).T
    return {name: _statistics(column[~np.isnan(column)], name, probabilities, me) for name, column in zip(mine, columns, strict=True)}


def lacking(part: Cells, names: tuple[str, ...]) -> tuple[str, ...]:
    """Own columns with a missing value."""
    return tuple(name for name, column in zip(part.features, part.X.T, strict=True) if name in names and np.isnan(column).any())


def _statistics(x: F64, name: str, probabilities: tuple[float, ...], me: str) -> dict[str, Any]:
    if not len(x):
        raise LocalError(f"column '{name}' of {me} has no present value: there is nothing to learn from it; leave the column out")
    values, counts = np.unique(x, return_counts=True)
    return {
        "present": float(len(x)), "mean": float(x.mean()), "var": float(x.var()), "min": float(values[0]), "max": float(values[-1]),
        "mode": float(values[counts.argmax()]), "quantiles": np.quantile(x, probabilities),
    }  # fmt: skip
