"""Protocols about tables of numbers, texts and dates beside pandas on the pooled rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from conformance.case import by_name, flat
from tacit.choreo import Run
from tacit.federation import as_table
from tacit.federation.part import part_of
from tacit.protocols.columns.categories import discover_categories
from tacit.protocols.columns.describe import own_table, table_columns
from tacit.protocols.columns.overview import HIDDEN, describe_columns, describe_table

N = 120
NAMES = ("patient", "age", "visits", "region", "note", "born", "grade")
KINDS: dict[str, Any] = {
    "numbers": ("patient", "age", "visits"),
    "texts": ("region", "note"),
    "dates": ("born",),
    "listed": ("grade",),
}


def frame_of() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    region = rng.choice(["EU", "US", "Asien und Ozeanien", "Österreich"], N, p=[0.5, 0.3, 0.15, 0.05]).astype(object)
    region[:3], region[3:9] = "Mars", None  # three records of all: too few to be named
    frame = pd.DataFrame(
        {
            "patient": 1000.0 + rng.permutation(N),
            "age": rng.normal(50, 9, N),
            "visits": rng.integers(0, 9, N).astype(float),
            "region": region,
            "note": [f"note {k}" for k in range(N)],
            "born": pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9000, N), unit="D"),
            "grade": rng.integers(1, 4, N).astype(float),
        }
    )
    frame.loc[rng.random(N) < 0.2, "age"] = np.nan
    return frame


def parts_at(holders: tuple[str, ...], *, vertical: bool = False) -> dict[str, Any]:
    table = as_table(frame_of(), raw=True)
    kinds: dict[str, Any] = {"texts": table.texts, "dates": table.dates}
    if vertical:
        cut = np.array_split(np.arange(len(NAMES)), len(holders))
        columns = {p: (c, tuple(NAMES[j] for j in c)) for p, c in zip(holders, cut, strict=True)}
        return {p: part_of(table.X[:, c], None, None, names, **kinds) for p, (c, names) in columns.items()}
    rows = np.array_split(np.arange(N), len(holders))
    return {p: part_of(table.X[r], None, None, NAMES, **kinds) for p, r in zip(holders, rows, strict=True)}


def frequent(column: str) -> tuple[str, ...]:
    counts = frame_of()[column].value_counts()
    return tuple(sorted(counts[counts >= 5].index))


def check_categories(result: Any) -> None:
    assert "Mars" not in frequent("region")
    assert len(frequent("region")) == 4
    assert result == {"categories": {"region": frequent("region"), "note": ()}, "crowded": ()}


def check_table(result: Any) -> None:
    frame = frame_of()
    assert result["records"] == N
    assert result["present"] == {name: frame[name].notna().sum() for name in result["present"]}
    assert (result["ids"], result["few"], result["crowded"]) == (("patient",), (), ())
    assert result["measured"] == ("age", "visits", "born")
    days = (frame["born"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    columns = [frame["age"], frame["visits"], days]
    np.testing.assert_allclose(result["mean"], [x.mean() for x in columns], rtol=1e-12)
    np.testing.assert_allclose(result["var"], [x.var(ddof=0) for x in columns], rtol=1e-9)
    assert result["categories"] == {"region": frequent("region"), "note": ()}


def check_own(result: Any) -> None:
    frame, found = frame_of(), {n: told for own in result["columns"].values() for n, told in own.items()}
    assert list(found) == list(NAMES)
    assert {name: told.present for name, told in found.items()} == {n: frame[n].notna().sum() for n in NAMES}
    assert [name for name in KINDS["numbers"] if not found[name].repeats] == ["patient"]
    np.testing.assert_allclose(found["age"].mean, frame["age"].mean())
    assert (found["region"].texts, found["note"].texts) == (frequent("region"), ())


LOOKED: dict[str, Any] = {
    **{kind: KINDS[kind] for kind in ("numbers", "texts", "dates")},
    "categories": {"grade": (1.0, 2.0, 3.0)},
}


def play_overview(play: Any, run: Run, data: Any, **given: Any) -> dict[str, Any]:
    """Play it; each column comes back by field."""
    found = by_name(flat(play)(run, data, **given))
    columns = {name: {f: getattr(told, f) for f in told.field_names()} for name, told in found["columns"].items()}
    return {**found, "columns": columns}


def check_overview(result: Any) -> None:
    """Compare with pandas on the pooled table."""
    frame, columns = frame_of(), result["columns"]
    frame["born"] = (frame["born"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    assert result["records"] == N
    assert {name: told["present"] for name, told in columns.items()} == {n: frame[n].notna().sum() for n in columns}
    for name in ("patient", "age", "visits", "born"):
        told, x = columns[name], frame[name].dropna()
        np.testing.assert_allclose([told["mean"], told["var"]], [x.mean(), x.var(ddof=0)], rtol=1e-9)
        away = np.abs(told["quartiles"] - x.quantile([0.25, 0.5, 0.75]).to_numpy())
        assert (away <= told["error"] * (1 + 1e-9)).all()
        assert (told["error"] <= x.std() / 8 * (1 + 1e-2)).all()
        ends = [-np.inf, *told["edges"][1:-1], np.inf]
        np.testing.assert_array_equal(told["counts"], np.histogram(x, ends)[0])
        assert all(n == 0 or n >= 5 for n in told["counts"])
        assert len(told["counts"]) > 5
    regions, grades = frame["region"].value_counts(), frame["grade"].value_counts()
    rarest = min(frequent("region"), key=regions.__getitem__)  # beside 3 records from Mars, which are too few to tell
    told = dict(zip(columns["region"]["values"], columns["region"]["times"], strict=True))
    assert told == {text: HIDDEN if text == rarest else regions[text] for text in frequent("region")}
    assert dict(zip(columns["grade"]["values"], columns["grade"]["times"], strict=True)) == grades.to_dict()
    assert columns["note"]["values"] == ()
    assert not any(result["unlike"].values())


# name -> how it is played, what it must give, whether columns are split
TABLE_CASES: dict[str, tuple[Any, Any, bool]] = {
    "discover_categories": (partial(flat(discover_categories), names=("region", "note")), check_categories, False),
    "table_columns": (partial(flat(table_columns), **KINDS), check_table, False),
    "table_columns_ring": (partial(flat(table_columns), **KINDS, method="ring"), check_table, False),
    "describe_table": (partial(play_overview, describe_table, **LOOKED), check_overview, False),
    "describe_table_ring": (partial(play_overview, describe_table, **LOOKED, method="ring"), check_overview, False),
    "describe_columns": (partial(play_overview, describe_columns, **LOOKED), check_overview, True),
    "own_table": (partial(own_table, names=NAMES), check_own, True),
}
