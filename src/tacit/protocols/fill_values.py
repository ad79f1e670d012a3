"""What missing values are replaced by, over rows that many hold: one run for all columns, whatever stands for the missing ones.

    mean             `column_moments`, without the variance
    median           `column_quantiles`, within its bin error
    most frequent    `column_modes`, of the values that were declared
    constant         nothing to find; that enough values are present is seen to all the same (`column_counts`)
    indicators       `secure_or`: whether anybody lacks a value of the column

Roles. Holder: rows. Coordinator: opens what these do.
Threat. As those protocols. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.choreo import At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.protocols.column_counts import Cells, Names, column_modes, own_values, present_counts
from tacit.protocols.column_moments import joint_means
from tacit.protocols.column_quantiles import Ranges, column_quantiles
from tacit.protocols.own_columns import check_columns
from tacit.protocols.secure_or import Marks, secure_or
from tacit.protocols.secure_sum import protect


class Gaps(Message, tells="which columns lack a value somewhere"):
    """A mark per column."""

    marks: Marks


@choreography(
    opens={
        Everyone: "what stands for the missing values of each column: a mean, a median or the most frequent value over all parties; how"
        " many values are present; with indicators, which columns lack a value somewhere"
    }
)
def fill_values(
    run: Run,
    data: At[Any],
    *,
    mean: Names = (),
    median: Names = (),
    most_frequent: Names = (),
    constant: Names = (),
    indicators: Names = (),
    categories: Mapping[str, Sequence[float]] | None = None,
    ranges: Ranges | None = None,
    bins: int = 32,
    min_count: int = 5,
    min_rows: int = 5,
    method: str = "pairwise",
    segments: int = 1,
) -> dict[str, Any]:
    """What each protocol found, by its name; columns are named once."""
    every = (*mean, *median, *most_frequent, *constant, *indicators)
    run.local(Holder, check_columns, data, every, min_rows, ranges or {}, categories or {}, run.who(Holder))
    by, found = protect(run, to=Coordinator, method=method, segments=segments), dict[str, Any]()
    if mean:
        values = run.local(Holder, own_values, data, mean, min_rows, run.who(Holder))
        present = present_counts(run, values, names=mean, by=by, min_count=min_count)
        found["mean"] = {"present": present, "mean": joint_means(run, values, present, by=by)}
    if median:
        declared = None if ranges is None else {name: ranges[name] for name in median}
        found["median"] = column_quantiles(
            run, data, names=median, probabilities=(0.5,), ranges=declared, bins=bins, min_count=min_count, min_rows=min_rows, by=by
        )
    if most_frequent:
        known = categories or {}
        found["most_frequent"] = column_modes(
            run, data, names=most_frequent, categories=known, min_count=min_count, min_rows=min_rows, by=by
        )
    if constant:
        values = run.local(Holder, own_values, data, constant, min_rows, run.who(Holder))
        found["constant"] = {"present": present_counts(run, values, names=constant, by=by, min_count=min_count, empty=True)}
    if indicators:
        lacking = secure_or(run, run.local(Holder, gaps, data, indicators), to=Coordinator, by=by, what="gaps")
        found["indicators"] = run.publish(Gaps, run.local(Coordinator, Gaps, lacking)).marks
    return found


def gaps(part: Cells, names: Names) -> Marks:
    """Whether an own cell of the column has no value."""
    at = [part.features.index(name) for name in names]
    missing = np.isnan(part.X[:, at]) if part.owned is None else np.isnan(part.X[:, at]) & part.owned[:, at]
    return np.asarray(missing.any(axis=0))
