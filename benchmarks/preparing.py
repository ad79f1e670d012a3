"""FederatedScaler and FederatedImputer beside scikit-learn on the pooled records.

Wdbc, heart, and four hospitals' heart disease.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from figures import Figure, Table, dataset
from tacit import FederatedImputer, FederatedScaler, Federation

F64 = NDArray[np.float64]
CLOSE = 1e-6


@dataclass(frozen=True)
class Case:
    """Records, some values of which are missing, and who has which."""

    name: str
    X: F64
    federation: Federation


def figures(quick: bool) -> Iterator[Figure | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure that statistics are the same, to rounding or to a stated error, and what they cost."""
    del quick  # it takes seconds
    costs: list[tuple[str, ...]] = []
    for case in _cases():
        yield from _scalers(case, costs)
        yield from _imputers(case, costs)
    yield Table("what it costs, four parties", ("", "rounds", "kB sent", "ms"), tuple(costs))


def _cases() -> Iterator[Case]:
    for name in ("wdbc", "heart"):
        X = dataset(name).X
        gaps = np.random.default_rng(0).random(X.shape) < 0.1
        X = np.where(gaps, np.nan, X)
        yield Case(f"{name}, a tenth missing", X, Federation.simulate(X, parties=4, allow_missing=True))
    sites = dataset("heart-disease-4sites", label="site")
    federation = Federation.simulate(sites.X, split="column", by=sites.y, allow_missing=True)
    yield Case("heart disease, 4 sites", sites.X, federation)


def _scalers(case: Case, costs: list[tuple[str, ...]]) -> Iterator[Figure]:
    for method, theirs in (("standard", StandardScaler()), ("minmax", MinMaxScaler((-1, 1)))):
        mine = _fit(FederatedScaler(method, accept_risk=method == "minmax"), case, costs)  # extremes are records
        gap = _gap(mine.transform(case.X), theirs.fit_transform(case.X))
        yield Figure(
            f"{case.name}: scaler, {method}, largest difference of scaled values",
            f"{gap:.0e}",
            "at most 1e-6",
            gap <= CLOSE,
        )
    mine, theirs = _fit(FederatedScaler("robust"), case, costs), RobustScaler().fit(case.X)
    yield _within(f"{case.name}: scaler, robust, medians", mine.center_ - theirs.center_, mine.bin_error_, case.X)
    yield _within(
        f"{case.name}: scaler, robust, interquartile ranges", mine.scale_ - theirs.scale_, 2 * mine.bin_error_, case.X
    )


def _imputers(case: Case, costs: list[tuple[str, ...]]) -> Iterator[Figure]:
    values = {f"x{j}": np.unique(column[~np.isnan(column)]) for j, column in enumerate(case.X.T)}
    for strategy in ("mean", "most_frequent"):
        mine = _fit(FederatedImputer(strategy, categories=values, add_indicator=True), case, costs)
        theirs = SimpleImputer(strategy=strategy, add_indicator=True).fit_transform(case.X)
        gap = _gap(mine.transform(case.X), theirs)
        yield Figure(
            f"{case.name}: imputer, {strategy}, largest relative difference", f"{gap:.0e}", "at most 1e-6", gap <= CLOSE
        )
    mine = _fit(FederatedImputer("median"), case, costs)
    yield _within(
        f"{case.name}: imputer, medians", mine.statistics_ - np.nanmedian(case.X, axis=0), mine.bin_error_, case.X
    )


def _fit(
    estimator: FederatedScaler | FederatedImputer, case: Case, costs: list[tuple[str, ...]]
) -> FederatedScaler | FederatedImputer:
    start = time.perf_counter()
    report = estimator.fit(case.federation).report_
    seconds = time.perf_counter() - start
    how = getattr(estimator, "method", None) or estimator.strategy
    costs.append(
        (
            f"{case.name}: {report.estimator}, {how}",
            str(report.rounds),
            f"{report.bytes / 1e3:.0f}",
            f"{seconds * 1e3:.0f}",
        )
    )
    return estimator


def _gap(mine: F64, theirs: F64) -> float:
    """Return the gap relative to the size of the value, or to 1."""
    return float(np.nanmax(np.abs(mine - theirs) / np.maximum(1.0, np.abs(theirs))))


def _within(name: str, away: F64, allowed: F64, X: F64) -> Figure:
    """Return the gap in standard deviations of the column."""
    spread = np.nanstd(X, axis=0)
    told = f"{np.max(np.abs(away) / spread):.1e} deviations off, stated {np.max(allowed / spread):.1e}"
    return Figure(name, told, "within the bin error", bool((np.abs(away) <= allowed * (1 + 1e-9)).all()))
