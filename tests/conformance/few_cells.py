"""A small table whose values are multiples of 1/64, which fixed point holds exactly, split in any way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.federation.part import Part
from tacit.federation.plan import by_cells, by_columns, by_rows
from tacit.federation.table import Table, as_table

RECORDS, COLUMNS = 12, 3


def table(target: str) -> Table:
    rng = np.random.default_rng(5)
    X = rng.integers(-200, 200, (RECORDS, COLUMNS)) / 64
    if target == "binary":
        X = (X > 0).astype(float)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * X[:, 0] ** 2
    if target == "number":
        return as_table(X, y=score)
    classes = 3 if target == "3" else 2
    return as_table(X, y=np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)))


def parts(parties: Sequence[str], partition: str, target: str) -> dict[str, Part]:
    given, names = table(target), list(parties)
    if partition == "horizontal":
        plan = by_rows(dict(zip(names, np.array_split(np.arange(RECORDS), len(names)), strict=True)), COLUMNS)
    elif partition == "vertical":
        plan = by_columns(dict(zip(names, np.array_split(np.arange(COLUMNS), len(names)), strict=True)), RECORDS)
    else:
        owner = np.random.default_rng(2).integers(0, len(names), (RECORDS, COLUMNS))
        plan = by_cells({p: owner == k for k, p in enumerate(names)})
    return plan.cut(given, None if partition == "horizontal" else names[0])
