"""What a look at a table with differential privacy tells: descriptions of columns from noisy sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.arrays import F64
from tacit.numeric.privacy.columns import find_quantiles
from tacit.protocols.noisy.noisy_columns import NoisyColumns
from tacit.report.description import ColumnDescription

QUARTILES = (0.25, 0.5, 0.75)
UNDECLARED = "texts that nobody declared: with epsilon nothing is told of them"

Listed = Mapping[str, Mapping[float, Any]]


def values_of(listed: Listed) -> dict[str, tuple[float, ...]] | None:
    """Return the declared values of columns, in the order in which they are counted."""
    return {name: tuple(sorted(known)) for name, known in listed.items()} or None


def describe_noisy(
    found: NoisyColumns, kinds: Mapping[str, str], numbers: tuple[str, ...], listed: Listed
) -> dict[str, ColumnDescription]:
    """Return what is told of every column; `kinds` are those of all columns, in order."""
    told = {**_describe_numbers(found, kinds, numbers), **_describe_values(found, listed)}
    return {name: told.get(name, ColumnDescription(name, kind, aside=UNDECLARED)) for name, kind in kinds.items()}


def _describe_numbers(
    found: NoisyColumns, kinds: Mapping[str, str], numbers: tuple[str, ...]
) -> dict[str, ColumnDescription]:
    moments, made = found.moments, found.histograms
    if moments is None or made is None:
        return {}
    quartiles = find_quantiles(made.counts, made.low, made.high, QUARTILES)
    edges = _edges(made.low, made.high, made.counts.shape[1])
    error = edges[:, 1] - edges[:, 0]
    return {
        name: ColumnDescription(
            name,
            kinds[name],
            *_count_gaps(moments.present[j], found.records),
            mean=float(moments.mean[j]),
            std=float(np.sqrt(moments.var[j])),
            quartiles=quartiles[j].tolist(),
            errors=[float(error[j])] * len(QUARTILES),
            edges=edges[j].tolist(),
            counts=_whole(made.counts[j]),
        )
        for j, name in enumerate(numbers)
    }


def _describe_values(found: NoisyColumns, listed: Listed) -> dict[str, ColumnDescription]:
    told = {}
    for (name, known), row in zip(listed.items(), [] if found.values is None else found.values, strict=True):
        counts = _whole(row[: len(known)])
        words = [str(known[value]) for value in sorted(known)]
        held = _count_gaps(float(sum(counts)), found.records)
        told[name] = ColumnDescription(name, "listed", *held, categories=dict(zip(words, counts, strict=True)))
    return told


def _count_gaps(present: float, records: int) -> tuple[int, int]:
    """Return about how many values there are, and how many are missing."""
    held = min(records, round(float(present)))
    return held, records - held


def _edges(low: F64, high: F64, bins: int) -> F64:
    """Return where the bins of each column begin and end."""
    return np.asarray(low[:, None] + (high - low)[:, None] * np.arange(bins + 1) / bins)


def _whole(counts: F64) -> list[int]:
    """Return noisy counts as people read them: whole, and none below 0."""
    return [max(0, round(count)) for count in counts.tolist()]
