"""FederatedScaler: columns brought to one scale, by the statistics of all parties' records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, Array
from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Kind, OneOf, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.models.prepared import KeptByOwners, Scaled
from tacit.numeric.privacy.columns import find_quantiles
from tacit.preprocessing.transformer import PrivateTransformer, by_owner, check_columns_of
from tacit.protocols.noisy.noisy_columns import Binned, NoisyColumns
from tacit.request import Records, Request

KINDS = {"standard": StandardScaler, "minmax": MinMaxScaler, "robust": RobustScaler}
PROTOCOLS = {"standard": "column_moments", "minmax": "column_extremes", "robust": "column_quantiles"}
FOUND = {"standard": "names", "robust": "histograms"}  # what each asks for, with epsilon
EPS = float(np.finfo(np.float64).eps)


@parameterized
class FederatedScaler(OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn is untyped
    """Bring columns to one scale, as scikit-learn's scalers do on the pooled records.

    Over rows the statistics come from masked sums. Over columns each owner computes its own, and nothing is sent.
    Missing values are not counted, and stay missing. `report_` says who learnt what.

    Args:
        method: "standard": mean 0 and variance 1; "minmax": scaled to `feature_range`; "robust": median 0 and
            interquartile range 1, within the error of the histograms.
        feature_range: range that "minmax" scales to.
        quantile_range: quantiles that "robust" uses, in percent.
        ranges: {column: (low, high)}, or one pair for all columns. "minmax" uses them as the extremes and opens
            nothing; "robust" uses them as the bounds of its histograms. A party refuses to run if it has a value beyond
            them. Over rows and cells "minmax" without ranges needs accept_risk=True, because an extreme is a value of
            somebody's record.
        bins: with "robust", number of bins of a histogram; each bin is then cut into as many again.
        min_count: nothing is opened about a column that has fewer values than this.
        min_rows: a party with fewer records than this is refused.
        secure_sum: how sums are masked: "pairwise", "ring", "graph", or over rows "threshold" or "graph_threshold",
            which let parties be absent; the report says what each protects.
        segments: with "ring", into how many shares every value is cut; each share travels on a ring of its own, and no
            two rings have an edge in common.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: let one of the data holders be the coordinator, and let "minmax" open the extremes.
        epsilon: fit with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only, for "standard" and "robust". Values beyond `ranges` are clipped for the
            statistics, and none is refused; without ranges, a fifth of the budget is spent on finding bounds. None: no
            differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.

    Attributes:
        mean_, var_, scale_, n_samples_seen_: of "standard".
        data_min_, data_max_, data_range_, min_, scale_: of "minmax".
        center_, scale_, bin_error_: of "robust"; no quantile is off by more than `bin_error_`.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {
        **PrivateTransformer.OWN,
        "method": OneOf(tuple(KINDS)),
        "feature_range": None,
    }

    model_: Scaled | KeptByOwners = field(init=False)

    method: str = "standard"
    _: KW_ONLY
    feature_range: tuple[float, float] = (-1, 1)
    quantile_range: tuple[float, float] = (25.0, 75.0)
    ranges: Mapping[str, tuple[float, float]] | tuple[float, float] | None = None

    @property
    def takes_sparse(self) -> bool:
        """Whether records may be sparse: centres are then kept beside the cells that are not 0."""
        return self.method == "standard" and self.partition == "horizontal" and self.epsilon is None

    def inverse_transform(self, X: Any) -> F64:
        """Return records on their own scale again."""
        check_is_fitted(self)
        scaled = np.asarray(X, dtype=np.float64)
        model = self._whole()
        restored: F64 = scaled * model.scale + model.center
        return restored

    def to_sklearn(self) -> Any:
        """Return the same as a fitted scaler of scikit-learn."""
        check_is_fitted(self)
        made = KINDS[self.method](**({"feature_range": tuple(self.feature_range)} if self.method == "minmax" else {}))
        learnt = {name: value for name, value in self._whole().learnt.items() if name != "bin_error_"}
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
        if self.ranges is not None and self.method == "standard" and self.epsilon is None:
            raise LocalError(
                "FederatedScaler(method='standard') does not use ranges: leave them out, or use method='minmax'"
            )

    def _model(self, federation: Federation, result: Any) -> Scaled:
        if self.epsilon is not None:
            return self._noisy(result)
        names, ranges = federation.features, self._ranges(federation.features)
        if self.method == "minmax" and ranges is not None:
            low, high = np.array([ranges[name] for name in names], dtype=np.float64).T
            found = {"min": low, "max": high}
        else:
            found = by_owner(result, names, 3) if federation.partition == "vertical" else result.as_dict()
        return {"standard": _standard, "minmax": self._minmax, "robust": _robust}[self.method](found)

    def _request(self, federation: Federation) -> Request:
        names, ranges, data = federation.features, self._ranges(federation.features), {"data": Records()}
        low, high = (q / 100.0 for q in self.quantile_range)
        probabilities = (low, 0.5, high)
        if self.epsilon is not None:
            return self._noisy_request(federation, ranges=ranges, **{FOUND[self.method]: names})
        if self.method == "minmax" and ranges is not None:
            return Request("checked_columns", data, {"names": names, "ranges": ranges, "min_rows": self.min_rows})
        if federation.partition == "vertical":
            return Request("own_columns", data, {"names": names, "ranges": ranges, "probabilities": probabilities})
        protocol = PROTOCOLS[self.method]
        asked = self._arguments(federation, protocol, names=names, probabilities=probabilities, ranges=ranges)
        if self.method == "minmax" and not self.accept_risk:
            opens = "opens the smallest and the largest value of every column, each a value of somebody's record"
            remedy = "declare ranges={column: (low, high)}, use method='standard', or say accept_risk=True"
            raise LocalError(f"FederatedScaler(method='minmax') without ranges {opens}: {remedy}")
        return Request(protocol, data, asked)

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
            return _standard({**found.moments.as_dict(), "present": np.rint(found.moments.present)})
        made = cast("Binned", found.histograms)  # which "robust" asks for
        low, high = (q / 100.0 for q in self.quantile_range)
        quantiles = find_quantiles(made.counts, made.low, made.high, (low, 0.5, high))
        width = np.repeat((made.high - made.low)[:, None] / self.bins, 3, axis=1)
        return _robust({"quantiles": quantiles, "error": width})

    def _minmax(self, found: Mapping[str, F64]) -> Scaled:
        (low, high), extent = self.feature_range, found["max"] - found["min"]
        scale = (high - low) / np.where(extent < 10 * EPS, 1.0, extent)
        offset = low - found["min"] * scale
        extremes = {"data_min_": found["min"], "data_max_": found["max"], "data_range_": extent}
        learnt = {**extremes, "min_": offset, "scale_": scale, **_seen(found)}
        return Scaled(-offset / scale, 1.0 / scale, learnt)

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return names

    def _set_learnt(self, model: Scaled) -> None:
        """Set the attributes that follow from the model."""
        self.__dict__.update(model.learnt)


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
    known = "present" in found and not np.isnan(found["present"]).any()  # of all columns
    return {"n_samples_seen_": found["present"].astype(np.int64)} if known else {}
