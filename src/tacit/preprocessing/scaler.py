"""FederatedScaler: columns brought to one scale, by the statistics of all parties' records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64
from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Kind, OneOf, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.prepared import Scaled
from tacit.numeric.privacy.columns import find_quantiles
from tacit.preprocessing.transformer import PrivateTransformer, check_columns_of, check_percents, read_columns
from tacit.protocols.noisy.noisy_columns import Binned, NoisyColumns
from tacit.request import Request

KINDS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}
FOUND = {"standard": "names", "robust": "histograms"}  # what each asks for, with epsilon
LOW, MIDDLE, HIGH = 1, 50, 99  # percent: of "minmax", and the centre of "robust"
EPS = float(np.finfo(np.float64).eps)
STEPS = 16  # of a scale, in which figures are rounded


@parameterized
class FederatedScaler(OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn is untyped
    """Bring columns to one scale, nearly as scikit-learn's scalers do on the pooled records.

    Figures are found in shares, and only rounded ones are revealed: a mean or a quantile to a sixteenth of its column's
    scale, a scale to half a power of two. Missing values are not counted, and stay missing. `report_` says who learnt
    what.

    Args:
        method: "standard": mean 0 and variance 1; "minmax": scaled to `feature_range`, in which the 1 % and 99 %
            quantiles, or declared ranges, are the ends; "robust": median 0 and interquartile range 1.
        feature_range: range that "minmax" scales to.
        quantile_range: quantiles that "robust" uses, in percent: two of 1, 5, 10, 25, 50, 75, 90, 95 and 99.
        ranges: {column: (low, high)}, or one pair for all columns. "minmax" uses them as the ends, and cuts values
            beyond them. With epsilon they are the bounds of all columns.
        bins: with epsilon and "robust", number of bins of a histogram.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: with epsilon, let one of the data holders be the coordinator.
        epsilon: fit with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only, for "standard" and "robust". Without ranges, a fifth of the budget is
            spent on finding bounds. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.

    Attributes:
        mean_, var_, scale_, n_samples_seen_: of "standard"; the last is the number of records.
        data_min_, data_max_, data_range_, min_, scale_: of "minmax".
        center_, scale_, bin_error_: of "robust"; no quantile is off by more than `bin_error_`.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {
        "method": OneOf(tuple(KINDS)),
        "feature_range": None,
    }

    SCALES: ClassVar[bool] = True
    model_: Scaled = field(init=False)

    method: str = "standard"
    _: KW_ONLY
    feature_range: tuple[float, float] = (-1, 1)
    quantile_range: tuple[float, float] = (25.0, 75.0)
    bins: int = 32
    ranges: Mapping[str, tuple[float, float]] | tuple[float, float] | None = None

    @property
    def takes_sparse(self) -> bool:
        """Whether records may be sparse: centres are then kept beside the cells that are not 0."""
        return self.method == "standard" and self.partition == "horizontal" and self.epsilon is None

    def inverse_transform(self, X: Any) -> F64:
        """Return records on their own scale again."""
        check_is_fitted(self)
        scaled = np.asarray(X, dtype=np.float64)
        model = self.model_
        restored: F64 = scaled * model.scale + model.center
        return restored

    def to_sklearn(self) -> Any:
        """Return the same as a fitted scaler of scikit-learn."""
        check_is_fitted(self)
        given = {"feature_range": tuple(self.feature_range), "clip": self.model_.clip is not None}
        made = KINDS[self.method](**(given if self.method == "minmax" else {}))
        learnt = {name: value for name, value in self.model_.learnt.items() if name != "bin_error_"}
        vars(made).update(learnt, n_features_in_=self.n_features_in_)
        if hasattr(self, "feature_names_in_"):
            made.feature_names_in_ = self.feature_names_in_
        return made

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        for name, low, high in (("feature_range", -np.inf, np.inf), ("quantile_range", 0.0, 100.0)):
            pair = tuple(getattr(self, name))
            if len(pair) != 2 or not low <= pair[0] < pair[1] <= high:  # noqa: PLR2004 - from, to
                raise wrong_value(name, "FederatedScaler", "two numbers, the smaller first", pair)
        if self.method == "minmax":
            self.refuse_epsilon("method='minmax', by values of single records")
        if self.method == "robust" and self.epsilon is None:
            check_percents("quantile_range", "FederatedScaler", self.quantile_range)
        if self.ranges is not None and self.method != "minmax" and self.epsilon is None:
            raise LocalError(
                f"FederatedScaler(method={self.method!r}) does not use ranges: leave them out, or use method='minmax'"
            )

    def _model(self, federation: Federation, result: Any) -> Scaled:
        if self.epsilon is not None:
            return self._noisy(result)
        names, ranges = federation.features, self._ranges(federation.features)
        if ranges is not None:
            low, high = np.array([ranges[name] for name in names], dtype=np.float64).T
            return self._minmax(low, high, clip=True)
        found = read_columns(result, names)
        none = np.isnan(found["centre"])
        centre, scale = np.where(none, 0.0, found["centre"]), np.where(found["scale"] > 0, found["scale"], 1.0)
        if self.method == "standard":
            return _standard(centre, np.where(none, 1.0, found["scale"]), result.records)
        quantiles = np.where(none[:, None], [0.0] * found["quantiles"].shape[1], found["quantiles"])
        if self.method == "minmax":
            return self._minmax(*quantiles.T)
        return _robust(quantiles, np.where(none, 0.0, scale / (2 * STEPS)))

    def _request(self, federation: Federation) -> Request:
        names, ranges = federation.features, self._ranges(federation.features)
        if self.epsilon is not None:
            return self._noisy_request(federation, ranges=ranges, **{FOUND[self.method]: names})
        if ranges is not None:
            return self._ask(federation)
        return self._ask(federation, names=names, percents=self._percents())

    def _percents(self) -> tuple[int, ...]:
        """Return which quantiles are asked for."""
        low, high = (int(q) for q in self.quantile_range)
        return {"standard": (), "minmax": (LOW, HIGH), "robust": (low, MIDDLE, high)}[self.method]

    def _ranges(self, names: tuple[str, ...]) -> dict[str, tuple[float, float]] | None:
        if self.ranges is None:
            return None
        given = self.ranges if isinstance(self.ranges, Mapping) else dict.fromkeys(names, self.ranges)
        ranges = check_columns_of(self, "ranges", given, names)
        for name in names:
            low, high = ranges.get(name, (1.0, 0.0))
            if not -np.inf < low < high < np.inf:
                needs = f"a range of column '{name}', a smaller and a larger number"
                raise LocalError(f"FederatedScaler needs {needs}: declare it in ranges")
        return {name: (float(low), float(high)) for name, (low, high) in ranges.items()}

    def _noisy(self, found: NoisyColumns) -> Scaled:
        """Return the scaler that noisy sums give."""
        if found.moments is not None and self.method == "standard":
            return _standard(found.moments.mean, np.sqrt(found.moments.var), found.records)
        made = cast("Binned", found.histograms)  # which "robust" asks for
        low, high = (q / 100.0 for q in self.quantile_range)
        quantiles = find_quantiles(made.counts, made.low, made.high, (low, 0.5, high))
        return _robust(quantiles, (made.high - made.low) / self.bins)

    def _minmax(self, least: F64, most: F64, *, clip: bool = False) -> Scaled:
        (low, high), extent = self.feature_range, most - least
        scale = (high - low) / np.where(extent < 10 * EPS, 1.0, extent)
        offset = low - least * scale
        extremes = {"data_min_": least, "data_max_": most, "data_range_": extent}
        learnt = {**extremes, "min_": offset, "scale_": scale}
        return Scaled(-offset / scale, 1.0 / scale, learnt, (float(low), float(high)) if clip else None)

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names

    def _set_learnt(self, model: Scaled) -> None:
        """Set the attributes that follow from the model."""
        self.__dict__.update(model.learnt)


def _standard(mean: F64, deviation: F64, records: int) -> Scaled:
    scale = np.where(deviation <= EPS * np.abs(mean), 1.0, deviation)
    learnt = {"mean_": mean, "var_": np.square(deviation), "scale_": scale, "n_samples_seen_": records}
    return Scaled(mean, scale, learnt)


def _robust(quantiles: F64, error: F64) -> Scaled:
    low, center, high = quantiles.T
    scale = np.where(high - low < 10 * EPS, 1.0, high - low)
    return Scaled(center, scale, {"center_": center, "scale_": scale, "bin_error_": error})
