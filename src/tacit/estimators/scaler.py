"""FederatedScaler: columns brought to one scale, by the statistics of all parties' records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from tacit.choreo import F64, Array
from tacit.data import Federation
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.parameters import Number, OneOf, Rule
from tacit.estimators.transformer_base import COMMON, FederatedTransformer, by_owner, full_mapping
from tacit.models.prepared import Scaled
from tacit.registry import Outcome

METHODS = ("standard", "minmax", "robust")
EPS = float(np.finfo(np.float64).eps)


class FederatedScaler(OneToOneFeatureMixin, FederatedTransformer):  # type: ignore[misc]  # scikit-learn is untyped
    """Brings columns to one scale; equals scikit-learn's scaler of the pooled records.

    Over rows the statistics come from masked sums, over columns each owner has its own and nothing is sent. Missing values count in
    nothing and stay missing. `report_` says who learnt what.

    Args:
        method: "standard": mean 0 and variance 1; "minmax": to `feature_range`; "robust": median 0 and interquartile range 1, within the
            error of their histograms.
        feature_range: of "minmax".
        quantile_range: of "robust", in percent.
        ranges: {column: (low, high)}, or one pair for all: with "minmax" these stand for the extremes and nothing is opened; with
            "robust" the histograms are over them. Values beyond are refused where they are. Over rows and cells "minmax" without them needs
            accept_risk=True, since an extreme is a value of somebody's record.
        bins: of a histogram, each of which is cut into as many again; "robust" only.
        min_count: nothing is opened of a column with fewer present values.
        min_rows: a party with fewer records is refused.
        secure_sum: "pairwise" or "ring"; what each protects stands in the report.
        segments: with "ring", on how many edge-disjoint rings every value travels in shares.
        partition: how plain arrays are split.
        n_parties: between how many parties plain arrays are split.
        runtime: where plain arrays are fitted.
        random_state: what goes to whom when plain arrays are split; it feeds no secret.
        accept_risk: allow one of the data holders to be the coordinator, and "minmax" to open the extremes.

    Attributes:
        mean_, var_, scale_, n_samples_seen_: of "standard".
        data_min_, data_max_, data_range_, min_, scale_: of "minmax".
        center_, scale_, bin_error_: of "robust"; no quantile is off by more than `bin_error_`.
        report_: the report of the run.
    """

    RULES: ClassVar[dict[str, tuple[Rule, ...]]] = {"method": (OneOf(METHODS),), "bins": (Number(2, 1024, whole=True),), **COMMON}

    model_: Scaled

    def __init__(
        self,
        method: str = "standard",
        *,
        feature_range: tuple[float, float] = (-1, 1),
        quantile_range: tuple[float, float] = (25.0, 75.0),
        ranges: Mapping[str, tuple[float, float]] | tuple[float, float] | None = None,
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
        self.method = method
        self.feature_range = feature_range
        self.quantile_range = quantile_range
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

    def inverse_transform(self, X: Any) -> F64:
        """Records on their own scale again."""
        check_is_fitted(self)
        scaled = np.asarray(X, dtype=np.float64)
        restored: F64 = scaled * self.model_.scale + self.model_.center
        return restored

    def to_sklearn(self) -> Any:
        """The same as a fitted scaler of scikit-learn."""
        check_is_fitted(self)
        kinds = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}
        made = kinds[self.method](**({"feature_range": tuple(self.feature_range)} if self.method == "minmax" else {}))
        learnt = {name: value for name, value in self.model_.learnt.items() if name != "bin_error_"}
        vars(made).update(learnt, n_features_in_=self.n_features_in_)
        if hasattr(self, "feature_names_in_"):
            made.feature_names_in_ = self.feature_names_in_
        return made

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, low, high in (("feature_range", -np.inf, np.inf), ("quantile_range", 0.0, 100.0)):
            pair = tuple(getattr(self, name))
            if len(pair) != 2 or not low <= pair[0] < pair[1] <= high:  # noqa: PLR2004 - from, to
                raise LocalError(f"The '{name}' parameter of FederatedScaler must be two numbers, the smaller first. Got {pair!r} instead.")
        if self.ranges is not None and self.method == "standard":
            raise LocalError("FederatedScaler(method='standard') has no use for ranges: leave them out, or use method='minmax'")

    def _learn(self, federation: Federation, min_rows: int) -> tuple[Scaled, Outcome]:
        names, ranges = federation.features, self._ranges(federation.features)
        outcome = self._outcome(federation, names, ranges, min_rows)
        if self.method == "minmax" and ranges is not None:
            low, high = np.array([ranges[name] for name in names], dtype=np.float64).T
            found = {"min": low, "max": high}
        else:
            found = by_owner(outcome, names) if federation.partition == "vertical" else outcome.result
        return {"standard": _standard, "minmax": self._minmax, "robust": _robust}[self.method](found), outcome

    def _outcome(self, federation: Federation, names: tuple[str, ...], ranges: Any, min_rows: int) -> Outcome:
        low, high = (q / 100.0 for q in self.quantile_range)
        probabilities = (low, 0.5, high)
        if self.method == "minmax" and ranges is not None:
            return self._execute(federation, "checked_columns", names=names, ranges=ranges, min_rows=min_rows)
        if federation.partition == "vertical":
            return self._execute(federation, "own_columns", names=names, ranges=ranges, probabilities=probabilities)
        how = {"names": names, **self._protection(federation, min_rows)}
        if self.method == "robust":
            return self._execute(federation, "column_quantiles", probabilities=probabilities, ranges=ranges, bins=self.bins, **how)
        if self.method == "minmax" and not self.accept_risk:
            raise LocalError(
                "FederatedScaler(method='minmax') without ranges opens the smallest and the largest value of every column, each of which is"
                " a value of somebody's record: declare ranges={column: (low, high)}, use method='standard', or say accept_risk=True"
            )
        return self._execute(federation, "column_moments" if self.method == "standard" else "column_extremes", **how)

    def _ranges(self, names: tuple[str, ...]) -> dict[str, tuple[float, float]] | None:
        if self.ranges is None:
            return None
        given = self.ranges if isinstance(self.ranges, Mapping) else dict.fromkeys(names, self.ranges)
        ranges = full_mapping(self, "ranges", given, names)
        for name in names:
            low, high = ranges.get(name, (1.0, 0.0))
            if not -np.inf < low < high < np.inf:
                raise LocalError(f"FederatedScaler needs a range of column '{name}', a smaller and a larger number: declare it in ranges")
        return {name: (float(low), float(high)) for name, (low, high) in ranges.items()}

    def _minmax(self, found: Mapping[str, F64]) -> Scaled:
        (low, high), extent = self.feature_range, found["max"] - found["min"]
        scale = (high - low) / np.where(extent < 10 * EPS, 1.0, extent)
        offset = low - found["min"] * scale
        learnt = {"data_min_": found["min"], "data_max_": found["max"], "data_range_": extent, "min_": offset, "scale_": scale}
        return Scaled(-offset / scale, 1.0 / scale, {**learnt, **_seen(found)})

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names

    def restore(self) -> None:
        """The attributes that follow from the model."""
        for name, value in self.model_.learnt.items():
            setattr(self, name, value)


def _standard(found: Mapping[str, F64]) -> Scaled:
    n, mean, variance = found["present"], found["mean"], found["var"]
    constant = variance <= n * EPS * variance + (n * mean * EPS) ** 2  # rounding, as scikit-learn has it
    scale = np.where(constant, 1.0, np.sqrt(variance))
    return Scaled(mean, scale, {"mean_": mean, "var_": variance, "scale_": scale, **_seen(found)})


def _robust(found: Mapping[str, F64]) -> Scaled:
    low, center, high = found["quantiles"].T
    scale = np.where(high - low < 10 * EPS, 1.0, high - low)
    error = found["error"].max(axis=1) if "error" in found else np.zeros(len(center))
    return Scaled(center, scale, {"center_": center, "scale_": scale, "bin_error_": error})


def _seen(found: Mapping[str, Array]) -> dict[str, Array]:
    return {"n_samples_seen_": found["present"].astype(np.int64)} if "present" in found else {}
