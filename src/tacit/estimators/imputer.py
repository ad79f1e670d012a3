"""FederatedImputer: missing values replaced by a statistic of all parties' present ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.utils.validation import check_is_fitted

from tacit.choreo import F64, I64, Array
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.parameters import Number, OneOf, Rule
from tacit.estimators.transformer_base import COMMON, FederatedTransformer, by_owner, full_mapping, other_units
from tacit.models.prepared import Filled
from tacit.registry import Outcome

STRATEGIES = ("mean", "median", "most_frequent", "constant")
FOUND = {"mean": "mean", "median": "quantiles", "most_frequent": "modes"}  # under which name a protocol has them
OWNED = {"mean": "mean", "median": "quantiles", "most_frequent": "mode"}  # and an owner


class FederatedImputer(FederatedTransformer):
    """Replaces missing values; equals scikit-learn's SimpleImputer of the pooled records.

    Over rows the statistics come from masked sums, over columns each owner has its own and nothing is sent. A site may lack all values
    of a column that others have. `report_` says who learnt what.

    Args:
        strategy: "mean"; "median", within the error of its histogram; "most_frequent" of the values declared in `categories`;
            "constant"; or {column: one of these}, where a column that is not named gets its mean.
        fill_value: of "constant": a number, or {column: number}.
        add_indicator: append a column for each that lacks a value somewhere, 1 where it is missing.
        categories: {column: values}, of which "most_frequent" over rows is one.
        ranges: {column: (low, high)} of histograms for "median"; without, they follow from mean and variance, which are then opened.
        bins: of a histogram, each of which is cut into as many again.
        min_count: nothing is opened of a column with fewer present values.
        min_rows: a party with fewer records is refused.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        partition: how plain arrays are split.
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are fitted.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: allow one of the data holders to be the coordinator.

    Attributes:
        statistics_: what stands for the missing values of each column.
        bin_error_: by how much a median can be off; 0 for other columns.
        indicator_: scikit-learn's MissingIndicator of the columns that lack a value somewhere, or None.
        report_: the report of the run.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {
        "add_indicator": (OneOf((True, False)),),
        "bins": (Number(2, 1024, whole=True),),
        **COMMON,
    }

    model_: Filled
    statistics_: F64
    bin_error_: F64
    indicator_: Any

    def __init__(
        self,
        strategy: str | Mapping[str, str] = "mean",
        *,
        fill_value: float | Mapping[str, float] = 0.0,
        add_indicator: bool = False,
        categories: Mapping[str, Sequence[float]] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        bins: int = 32,
        min_count: int = 5,
        min_rows: int = 5,
        secure_sum: str = "pairwise",
        segments: int = 1,
        partition: Partition = "horizontal",
        n_parties: int = 3,
        runtime: str = "together",
        random_state: Any = None,
        accept_risk: bool = False,
    ) -> None:
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator
        self.categories = categories
        self.ranges = ranges
        self.bins = bins
        self.min_count = min_count
        self.min_rows = min_rows
        self.secure_sum = secure_sum
        self.segments = segments
        self.partition = partition
        self.n_parties = n_parties
        self.runtime = runtime
        self.random_state = random_state
        self.accept_risk = accept_risk

    def to_sklearn(self) -> SimpleImputer:
        """The same as a fitted imputer of scikit-learn."""
        check_is_fitted(self)
        gaps = np.where(np.isin(np.arange(self.n_features_in_), self.model_.indicated), np.nan, 0.0)[None]
        made = SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True, add_indicator=self.add_indicator).fit(gaps)
        made.statistics_ = np.array(self.statistics_)
        if made.indicator_ is not None:
            made.indicator_.error_on_new = False
        if hasattr(self, "feature_names_in_"):
            made.feature_names_in_ = self.feature_names_in_
        return made

    def _check_parameters(self) -> None:
        super()._check_parameters()
        asked = self.strategy.values() if isinstance(self.strategy, Mapping) else [self.strategy]
        for strategy in asked:
            if strategy not in STRATEGIES:
                words = ", ".join(map(repr, STRATEGIES))
                raise LocalError(f"The 'strategy' parameter of FederatedImputer must be among {{{words}}}, by column or for all. Got"
                                 f" {strategy!r} instead.")  # fmt: skip

    def _learn(self, federation: Federation, min_rows: int) -> tuple[Filled, Outcome]:
        names = federation.features
        groups = self._groups(names)
        indicators = names if self.add_indicator else ()
        if federation.partition == "vertical":
            outcome, values, error, gaps = self._alone(federation, groups, indicators)
        else:
            outcome, values, error, gaps = self._together(federation, groups, indicators, min_rows)
        at = {name: j for j, name in enumerate(names)}
        statistics, errors = np.zeros(len(names)), np.zeros(len(names))
        for strategy, columns in groups.items():
            where = [at[name] for name in columns]
            statistics[where] = self._constants(columns) if strategy == "constant" else values[strategy]
            errors[where] = error if strategy == "median" else 0.0
        learnt = {"statistics_": statistics, "bin_error_": errors}
        return Filled(statistics, np.flatnonzero(gaps) if indicators else np.empty(0, np.int64), learnt), outcome

    def _alone(self, federation: Federation, groups: Mapping[str, tuple[str, ...]], indicators: tuple[str, ...]) -> Any:
        known = tuple(name for strategy, columns in groups.items() if strategy != "constant" for name in columns)
        outcome = self._execute(federation, "own_columns", names=known, ranges=self.ranges or {}, gaps=indicators)
        values = {
            strategy: by_owner(outcome, columns)[OWNED[strategy]].reshape(len(columns))
            for strategy, columns in groups.items() if strategy != "constant"
        }  # fmt: skip
        lacking = {name for own in outcome.result["gaps"].values() for name in own}
        return outcome, values, 0.0, [name in lacking for name in indicators]

    def _together(self, federation: Federation, groups: Mapping[str, tuple[str, ...]], indicators: tuple[str, ...], min_rows: int) -> Any:
        declared = {name: [float(v) for v in values] for name, values in self._declared(groups.get("most_frequent", ())).items()}
        outcome = self._execute(
            federation, "fill_values", **groups, indicators=indicators, categories=declared, ranges=self.ranges, bins=self.bins,
            **self._protection(federation, min_rows),
        )  # fmt: skip
        found = outcome.result
        values = {s: found[s][FOUND[s]].reshape(len(columns)) for s, columns in groups.items() if s != "constant"}
        error = found["median"]["error"][:, 0] if "median" in found else 0.0
        return outcome, values, error, found.get("indicators", ())

    def _groups(self, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """The columns of each strategy."""
        given = self.strategy if isinstance(self.strategy, Mapping) else dict.fromkeys(names, self.strategy)
        strategies = full_mapping(self, "strategy", given, names)
        groups = {s: tuple(name for name in names if strategies.get(name, "mean") == s) for s in STRATEGIES}
        for name in groups["median"] if self.ranges is not None else ():
            if name not in self.ranges:  # type: ignore[operator]  # not None
                raise LocalError(
                    f"FederatedImputer needs a range of column '{name}' for its median: declare it in ranges, or leave all out"
                )
        return {s: columns for s, columns in groups.items() if columns}

    def _declared(self, columns: tuple[str, ...]) -> dict[str, Sequence[float]]:
        declared = self.categories or {}
        for name in columns:
            if not len(declared.get(name, ())):
                raise LocalError(
                    f"FederatedImputer(strategy='most_frequent') needs the values that column '{name}' may have: declare them in categories"
                )
        return {name: declared[name] for name in columns}

    def _constants(self, columns: tuple[str, ...]) -> F64:
        if not isinstance(self.fill_value, Mapping):
            return np.full(len(columns), float(self.fill_value))
        return np.array([float(self.fill_value.get(name, 0.0)) for name in columns])

    def _other_units(self, result: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
        """Medians only: a mean alone does not tell a unit from a difference between sites."""
        return other_units(result.get("median", {}), self._groups(names).get("median", ()))

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *(f"missingindicator_{names[j]}" for j in self.model_.indicated))

    def restore(self) -> None:
        """The attributes that follow from the model."""
        for name, value in self.model_.learnt.items():
            setattr(self, name, value)
        self.indicator_ = _indicator(self.model_.indicated, len(self.statistics_)) if self.add_indicator else None


def _indicator(indicated: I64, columns: int) -> MissingIndicator:
    """As if it had been fitted on the pooled records."""
    gaps: Array = np.where(np.isin(np.arange(columns), indicated), np.nan, 0.0)
    return MissingIndicator(error_on_new=False).fit(gaps[None])
