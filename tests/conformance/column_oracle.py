"""Protocols about columns beside scikit-learn and numpy on the pooled rows.

Some values are missing, at one holder all of a column.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from conformance.case import flat
from tacit.choreo import At, Coordinator, Holder, Run
from tacit.federation.part import part_of
from tacit.protocols.columns.extremes import column_extremes
from tacit.protocols.columns.fill_values import fill_values
from tacit.protocols.columns.moments import column_moments
from tacit.protocols.columns.own_columns import checked_columns, own_columns
from tacit.protocols.columns.quantiles import column_quantiles
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import protect

NAMES = ("age", "dose", "grade", "mass")
GRADES = (1.0, 2.0, 3.0, 9.0)  # the last nobody has
SOME = (0.25, 0.5, 0.9)
RANGES = {"age": (0.0, 120.0), "dose": (0.0, 1e-3), "grade": (0.0, 10.0), "mass": (-1e9, 1e9)}


def columns_of(n: int = 120) -> Any:
    rng = np.random.default_rng(5)
    X = np.column_stack(
        [rng.normal(50, 9, n).round(), rng.gamma(2, 5e-5, n), rng.integers(1, 4, n), rng.normal(-2e6, 3e6, n)]
    )
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 2] = np.where(np.isnan(X[:, 2]), 3.0, X[:, 2])  # only one column lacks nothing
    X[: n // 4, 0] = np.nan  # nor has the first holder any age, where there are four or more
    return X


def parts_at(holders: tuple[str, ...], *, vertical: bool = False) -> dict[str, Any]:
    X = columns_of()
    if vertical:
        cut = np.array_split(np.arange(4), len(holders))
        return {p: part_of(X[:, c], None, None, tuple(NAMES[j] for j in c)) for p, c in zip(holders, cut, strict=True)}
    return {
        p: part_of(rows, None, None, NAMES) for p, rows in zip(holders, np.array_split(X, len(holders)), strict=True)
    }


def check_moments(result: Any) -> None:
    reference = StandardScaler().fit(columns_of())
    np.testing.assert_array_equal(result["present"], reference.n_samples_seen_)
    np.testing.assert_allclose(result["mean"], reference.mean_, rtol=1e-12)
    np.testing.assert_allclose(result["var"], reference.var_, rtol=1e-12)
    assert all((factors == 1.0).all() for factors in result["units"].values())


def check_extremes(result: Any) -> None:
    reference = MinMaxScaler().fit(columns_of())
    np.testing.assert_array_equal(result["min"], reference.data_min_)
    np.testing.assert_array_equal(result["max"], reference.data_max_)


def check_quantiles(result: Any) -> None:
    away = np.abs(result["quantiles"] - np.nanquantile(columns_of(), SOME, axis=0).T)
    assert (away <= result["error"] * (1 + 1e-9)).all()
    assert (result["error"] < np.array([1.0, 1e-4, 0.5, 1e8])[:, None]).all()


def check_fill(result: Any) -> None:
    X = columns_of()
    np.testing.assert_allclose(result["mean"]["mean"], SimpleImputer().fit(X).statistics_[[3]], rtol=1e-12)
    median = SimpleImputer(strategy="median").fit(X).statistics_[:2]
    assert (np.abs(result["median"]["quantiles"][:, 0] - median) <= result["median"]["error"][:, 0] * (1 + 1e-9)).all()
    np.testing.assert_array_equal(
        result["most_frequent"]["modes"], SimpleImputer(strategy="most_frequent").fit(X).statistics_[[2]]
    )
    assert result["indicators"].tolist() == [True, True, False, True]


def check_own(result: Any) -> None:
    X = columns_of()
    found = {name: told for own in result["columns"].values() for name, told in own.items()}
    assert list(found) == list(NAMES)
    for name, column in zip(NAMES, X.T, strict=True):
        present = column[~np.isnan(column)]
        np.testing.assert_allclose([getattr(found[name], k) for k in ("mean", "var")], [present.mean(), present.var()])
        np.testing.assert_array_equal(
            [getattr(found[name], k) for k in ("present", "min", "max")], [len(present), present.min(), present.max()]
        )
        np.testing.assert_allclose(found[name].quantiles, np.quantile(present, SOME))
    np.testing.assert_array_equal(
        [found[name].mode for name in NAMES], SimpleImputer(strategy="most_frequent").fit(X).statistics_
    )
    assert {name for own in result["gaps"].values() for name in own} == {"age", "dose", "mass"}


def check_nothing(result: Any) -> None:
    assert result == {}


def play_or(run: Run, data: At[Any]) -> dict[str, Any]:
    by = protect(run, to=Coordinator)
    return {"marked": secure_or(run, run.local(Holder, some_marks, data), to=Coordinator, by=by)}


def some_marks(part: Any) -> Any:
    return part.X[:8] > np.array([60.0, 2e-4, 2.5, 4e6])


def check_or(result: Any, parts: dict[str, Any]) -> None:
    expected = np.any([some_marks(part) for part in parts.values()], axis=0)
    assert expected.any()
    assert not expected.all()
    np.testing.assert_array_equal(result["marked"]["coordinator"], expected)


def check_declared_quantiles(result: Any) -> None:
    away = np.abs(result["quantiles"] - np.nanquantile(columns_of()[:, [2, 1]], SOME, axis=0).T)
    assert (away <= result["error"] * (1 + 1e-9)).all()
    assert (result["error"] <= np.array([10.0, 1e-3])[:, None] / 128 * (1 + 1e-9)).all()


def check_constant(result: Any) -> None:
    np.testing.assert_array_equal(result["constant"]["present"], (~np.isnan(columns_of())).sum(axis=0))


# name -> how it is played, what it must give, whether columns are split
COLUMN_CASES: dict[str, tuple[Any, Any, bool]] = {
    "column_moments": (partial(flat(column_moments), names=NAMES), check_moments, False),
    "column_moments_ring": (partial(flat(column_moments), names=NAMES, method="ring"), check_moments, False),
    "column_extremes": (partial(flat(column_extremes), names=NAMES), check_extremes, False),
    "column_quantiles": (
        partial(flat(column_quantiles), names=NAMES, probabilities=SOME, bins=16),
        check_quantiles,
        False,
    ),
    "column_quantiles_declared": (
        partial(flat(column_quantiles), names=("grade", "dose"), probabilities=SOME, bins=64, ranges=RANGES),
        check_declared_quantiles,
        False,
    ),
    "fill_values": (
        partial(
            flat(fill_values),
            mean=("mass",),
            median=("age", "dose"),
            most_frequent=("grade",),
            indicators=NAMES,
            categories={"grade": GRADES},
        ),
        check_fill,
        False,
    ),
    "fill_values_constant": (partial(flat(fill_values), constant=NAMES), check_constant, False),
    "own_columns": (
        partial(flat(own_columns), names=NAMES, probabilities=SOME, ranges=RANGES, gaps=NAMES),
        check_own,
        True,
    ),
    "checked_columns": (
        partial(flat(checked_columns), names=NAMES, ranges=RANGES, categories={"grade": GRADES}),
        check_nothing,
        False,
    ),
}
