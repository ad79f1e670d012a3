"""What columns are prepared by beside numpy and pandas on the pooled rows, within the rounding.

Some values are missing, at one holder all of a column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tacit.federation import as_table
from tacit.federation.part import declare_own, part_of

N = 240
LEAST = 10
NAMES = ("patient", "age", "dose", "mass", "region", "note", "born", "grade")
MEASURED = ("patient", "age", "dose", "mass", "born")
TEXTS = ("region", "note")
GRADES = (1.0, 2.0, 3.0, 9.0)  # the last nobody has
PERCENTS = (1, 25, 50, 90)


def frame_of() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    region = rng.choice(["EU", "US", "Asien und Ozeanien"], N, p=[0.5, 0.3, 0.2]).astype(object)
    region[:3], region[3:9] = "Mars", None  # three records of all: too few to be kept
    frame = pd.DataFrame(
        {
            "patient": 1000.0 + rng.permutation(N),
            "age": rng.normal(50, 9, N).round(),
            "dose": rng.gamma(2, 5e-5, N),
            "mass": rng.normal(-2e6, 3e6, N),
            "region": region,
            "note": [f"note {k}" for k in range(N)],
            "born": pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="D"),
            "grade": rng.integers(1, 4, N).astype(float),
        }
    )
    frame.loc[rng.random(N) < 0.2, "dose"] = np.nan
    frame.loc[: N // 4, "age"] = np.nan  # the first holder has no age, where there are four or more
    return frame


def pooled() -> pd.DataFrame:
    frame = frame_of()
    return frame.assign(born=(frame["born"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1))


def parts_at(holders: tuple[str, ...], partition: str, *, labels: bool = False) -> dict[str, Any]:
    table = as_table(frame_of(), raw=True)
    kinds: dict[str, Any] = {"texts": table.texts, "dates": table.dates}
    y = np.where(np.arange(N) % 3 == 0, "ill", "well") if labels else None
    index, width = np.arange(len(holders)), len(NAMES)
    if partition == "vertical":
        cut = np.array_split(np.arange(width), len(holders))
        parts = {
            p: part_of(table.X[:, c], y if i == 0 else None, None, tuple(NAMES[j] for j in c), **kinds)
            for i, p, c in zip(index, holders, cut, strict=True)
        }
    elif partition == "arbitrary":
        whose = np.random.default_rng(1).integers(0, len(holders), (N, width))
        parts = {
            p: part_of(table.X, y if i == 0 else None, None, NAMES, whose == i, **kinds)
            for i, p in zip(index, holders, strict=True)
        }
    else:
        rows = np.array_split(np.arange(N), len(holders))
        parts = {
            p: part_of(table.X[r], None if y is None else y[r], None, NAMES, **kinds)
            for p, r in zip(holders, rows, strict=True)
        }
    return declare_own(parts)


def check_prepared(result: Any) -> None:
    frame, columns = pooled(), result["columns"]
    assert result["records"] == N
    assert [name for name in MEASURED if columns[name]["ids"]] == ["patient"]
    assert np.isnan(columns["patient"]["centre"])
    assert all(each["enough"] for each in columns.values())
    assert [name for name, each in columns.items() if each["gaps"]] == ["age", "dose"]
    for name in ("age", "dose", "mass", "born"):
        told, x = columns[name], frame[name].dropna().to_numpy()
        check_lies(told["centre"], told["scale"], told["quantiles"], x, PERCENTS)
    assert result["kept"] == {"region": ("Asien und Ozeanien", "EU", "US"), "note": ()}
    assert result["modes"] == {"grade": (frame["grade"].mode()[0],)}
    assert result["crowded"] == ()


def check_lies(centre: float, scale: float, quantiles: Any, x: Any, percents: Any) -> None:
    """A mean and quantiles to half a step of a sixteenth of the scale, and a scale to a fourth root of two."""
    step = scale / 16
    assert abs(np.log2(scale / x.std())) <= 0.27
    assert abs(centre - x.mean()) <= step  # half of a step of a scale before the last
    # none is nearer to an end than k records of all rows
    wanted = np.rint(np.clip(np.array(percents) / 100, LEAST / N, 1 - LEAST / N) * 10_000) / 10_000
    sorted_x, n = np.sort(x), len(x)
    exact = sorted_x[np.minimum(np.maximum(np.ceil(wanted * n - 1e-9).astype(int) - 1, 0), n - 1)]
    assert (np.abs(np.asarray(quantiles) - exact) <= 0.5 * step * (1 + 1e-9)).all()


def check_overview(result: Any) -> None:
    frame, columns = pooled(), result["columns"]
    assert result["records"] == N
    for name in ("age", "dose", "mass", "born"):
        told = columns[name]
        check_lies(told["mean"], told["scale"], told["quantiles"], frame[name].dropna().to_numpy(), MENU)
        check_count(told["present"], frame[name].notna().sum())
    for name in ("region", "grade"):
        counts = frame[name].value_counts().to_dict()
        for value, n in zip(columns[name]["values"], columns[name]["times"], strict=True):
            check_count(n, counts.get(value, 0))
    for value, n in zip(columns["(labels)"]["values"], columns["(labels)"]["times"], strict=True):
        check_count(n, {"ill": 80, "well": 160}[value])


MENU = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def check_count(told: int, exact: int) -> None:
    """A count is suppressed, or within half a step of a share that is rounded as a mean is."""
    if exact < LEAST or exact > N - LEAST:
        assert told == (-1 if exact < LEAST else -2)
    else:
        assert abs(told - exact) <= np.sqrt(exact * (N - exact)) / 16 / 2 * 1.3 + 1
