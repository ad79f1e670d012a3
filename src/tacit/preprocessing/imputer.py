"""FederatedImputer: missing values replaced by a statistic of all parties' present ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, field
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.utils.validation import check_is_fitted

from tacit.arrays import F64, I64
from tacit.base.parameters import parameterized
from tacit.choreo.declaration import Kind, Switch, write_among, wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.columns import check_numbers
from tacit.federation.frames import Texts
from tacit.models.prepared import Filled, KeptByOwners, codes_of
from tacit.numeric.privacy.columns import find_quantiles
from tacit.preprocessing.transformer import (
    PrivateTransformer,
    by_owner,
    check_columns_of,
    collect_declared,
    other_units,
    tell_if_apart,
)
from tacit.protocols.noisy.noisy_columns import NoisyColumns
from tacit.request import Records, Request

STRATEGIES = ("mean", "median", "most_frequent", "constant")
FOUND = {"mean": "mean", "median": "quantiles", "most_frequent": "modes"}  # under which name a protocol has them
OWNED = {"mean": "mean", "median": "quantiles", "most_frequent": "mode"}  # and an owner


@parameterized
class FederatedImputer(PrivateTransformer):
    """Replace missing values, as scikit-learn's SimpleImputer does on the pooled records.

    Over rows the statistics come from masked sums. Over columns each owner computes its own, and nothing is sent. A
    site may lack all values of a column that others have. `report_` says who learnt what.

    Args:
        strategy: "mean"; "median", within the error of its histogram; "most_frequent" of the values declared in
            `categories`; "constant"; or {column: one of these}, where a column that is not named gets its mean. A text
            column gets the most frequent of its declared texts, unless "constant" is given for it.
        fill_value: value that "constant" fills in: a number, or {column: number, or one of the declared texts}.
        add_indicator: for each column that lacks a value somewhere, append a column that is 1 where the value is
            missing.
        categories: {column: values}: the numbers or texts that "most_frequent" over rows chooses from. Columns that a
            federation carries as text need no entry: it knows their texts.
        ranges: {column: (low, high)}: bounds of the histograms for "median". Without them the bounds come from mean and
            variance, which are then opened.
        bins: number of bins of a histogram; each bin is then cut into as many again.
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
        accept_risk: let one of the data holders be the coordinator.
        epsilon: fit with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Means then use `ranges` too, and values beyond them are clipped; values
            that were not declared are not counted; every column gets an indicator. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.

    Attributes:
        statistics_: the value that fills the gaps of each column; for texts, its number among the declared ones.
        bin_error_: largest possible error of a median; 0 for other columns.
        indicator_: scikit-learn's MissingIndicator for the columns that lack a value somewhere, or None.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {**PrivateTransformer.OWN, "add_indicator": Switch()}

    model_: Filled | KeptByOwners = field(init=False)
    statistics_: F64 = field(init=False)
    bin_error_: F64 = field(init=False)
    indicator_: Any = field(init=False)

    strategy: str | Mapping[str, str] = "mean"
    _: KW_ONLY
    fill_value: float | Mapping[str, float | str] = 0.0
    add_indicator: bool = False
    categories: Mapping[str, Sequence[float]] | Mapping[str, Sequence[str]] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None

    def to_sklearn(self) -> SimpleImputer | ColumnTransformer:
        """Return the same as a fitted imputer of scikit-learn; of a table with texts, an imputer of each column."""
        check_is_fitted(self)
        if self.federation_.categories:
            return self._column_by_column()
        constant: dict[str, Any] = {"strategy": "constant", "fill_value": 0.0, "keep_empty_features": True}
        gaps = _with_gaps(self._whole().indicated, self.n_features_in_)
        made = SimpleImputer(**constant, add_indicator=self.add_indicator).fit(gaps)
        made.statistics_ = np.array(self.statistics_)
        if made.indicator_ is not None:
            made.indicator_.error_on_new = False
        if hasattr(self, "feature_names_in_"):
            made.feature_names_in_ = self.feature_names_in_
        return made

    def _column_by_column(self) -> ColumnTransformer:
        names, texts = self.federation_.features, self.federation_.categories
        fills = [texts[n][int(v)] if n in texts else v for n, v in zip(names, self.statistics_.tolist(), strict=True)]
        filled = [
            (str(j), SimpleImputer(strategy="constant", fill_value=fill, keep_empty_features=True), [j])
            for j, fill in enumerate(fills)
        ]
        gaps = [(f"gap {j}", MissingIndicator(features="all"), [j]) for j in self._whole().indicated.tolist()]
        frame = import_module("pandas").DataFrame([dict(zip(names, fills, strict=True))])
        made = ColumnTransformer([*filled, *gaps], sparse_threshold=0.0).fit(frame)
        if not hasattr(self, "feature_names_in_"):
            del made.feature_names_in_
        return made

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        asked = self.strategy.values() if isinstance(self.strategy, Mapping) else [self.strategy]
        for strategy in asked:
            if strategy not in STRATEGIES:
                rule = f"{write_among(STRATEGIES)}, by column or for all"
                raise wrong_value("strategy", "FederatedImputer", rule, strategy)

    def _request(self, federation: Federation) -> Request:
        names, data = federation.features, {"data": Records()}
        groups = self._groups(federation)
        self._find_constants(federation, groups.get("constant", ()))  # refused before anything is sent
        collect_declared(self, federation)  # as well
        indicators = names if self.add_indicator else ()
        if federation.partition == "vertical":
            known = tuple(name for strategy, columns in groups.items() if strategy != "constant" for name in columns)
            return Request(
                "own_columns",
                data,
                {"names": known, "ranges": self.ranges or {}, "gaps": indicators, **tell_if_apart(federation)},
            )
        declared = self._find_declared(federation, groups.get("most_frequent", ()))
        if self.epsilon is not None:
            kinds = {"names": groups.get("mean", ()), "histograms": groups.get("median", ())}
            return self._noisy_request(federation, categories=declared or None, **kinds)
        asked = {**groups, "indicators": indicators, "categories": declared}
        return Request("fill_values", data, self._arguments(federation, "fill_values", **asked))

    def _model(self, federation: Federation, result: Any) -> Filled:
        names = federation.features
        groups = self._groups(federation)
        indicators = names if self.add_indicator else ()
        if federation.partition == "vertical":
            values, error, gaps = _alone(result, groups, indicators)
        elif self.epsilon is not None:
            declared = self._find_declared(federation, groups.get("most_frequent", ()))
            values, error = _from_noise(result, groups, declared, self.bins)
            gaps = [True] * len(indicators)
        else:
            values, error, gaps = _together(result, groups)
        at = {name: j for j, name in enumerate(names)}
        statistics, errors = np.zeros(len(names)), np.zeros(len(names))
        for strategy, columns in groups.items():
            where = [at[name] for name in columns]
            constant = strategy == "constant"
            statistics[where] = self._find_constants(federation, columns) if constant else values[strategy]
            errors[where] = error if strategy == "median" else 0.0
        learnt = {"statistics_": statistics, "bin_error_": errors}
        return Filled(statistics, np.flatnonzero(gaps) if indicators else np.empty(0, np.int64), learnt)

    def _check_kinds(self, federation: Federation) -> None:
        """Refuse raw columns; texts that were declared have a most frequent one."""
        check_numbers(dataclasses.replace(federation, categories={}), type(self).__name__)

    def _groups(self, federation: Federation) -> dict[str, tuple[str, ...]]:
        """Return the columns of each strategy."""
        names, texts = federation.features, federation.categories
        named = self.strategy if isinstance(self.strategy, Mapping) else {}
        check_columns_of(self, "strategy", named, names)
        usual = "mean" if isinstance(self.strategy, Mapping) else self.strategy
        strategies = {**dict.fromkeys(names, usual), **dict.fromkeys(texts, "most_frequent"), **named}
        for name in texts:
            if strategies[name] in ("mean", "median"):
                has = f"column '{name}' holds texts, which have no {strategies[name]}"
                raise LocalError(f"{has}: use strategy 'most_frequent' or 'constant' for it")
        groups = {s: tuple(name for name in names if strategies[name] == s) for s in STRATEGIES}
        for name in groups["median"] if self.ranges is not None else ():
            if name not in self.ranges:  # type: ignore[operator]  # not None
                needs = f"a range of column '{name}' for its median"
                raise LocalError(f"FederatedImputer needs {needs}: declare it in ranges, or leave all out")
        return {s: columns for s, columns in groups.items() if columns}

    def _find_declared(self, federation: Federation, columns: tuple[str, ...]) -> dict[str, list[float]]:
        declared = collect_declared(self, federation)
        for name in columns:
            if name not in declared:
                needs = f"needs the values that column '{name}' may have: declare them in categories"
                raise LocalError(f"FederatedImputer(strategy='most_frequent') {needs}")
        return {name: codes_of(declared[name]) for name in columns}

    def _find_constants(self, federation: Federation, columns: tuple[str, ...]) -> F64:
        given = self.fill_value if isinstance(self.fill_value, Mapping) else dict.fromkeys(columns, self.fill_value)
        values = [given.get(name, 0.0) for name in columns]
        return np.array([_constant(v, name, federation.categories) for v, name in zip(values, columns, strict=True)])

    def _compare_units(self, result: Any, federation: Federation) -> list[str]:
        """Warn of units by medians only: a mean alone does not tell a unit from a difference between sites."""
        return other_units(getattr(result, "median", None), self._groups(federation).get("median", ()))

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *(f"missingindicator_{names[j]}" for j in self._outline.indicated))

    def _set_learnt(self, model: Filled) -> None:
        """Set the attributes that follow from the model."""
        self.__dict__.update(model.learnt)
        gaps = _with_gaps(model.indicated, len(self.statistics_))
        self.indicator_ = MissingIndicator(error_on_new=False).fit(gaps) if self.add_indicator else None


def _alone(result: Any, groups: Mapping[str, tuple[str, ...]], indicators: tuple[str, ...]) -> Any:
    """Return what owners found of their own columns: values by strategy, the error of medians, which have gaps."""
    asked = {s: columns for s, columns in groups.items() if s != "constant"}
    values = {s: by_owner(result, columns)[OWNED[s]].reshape(len(columns)) for s, columns in asked.items()}
    lacking = result.lacking or {name for own in (result.gaps or {}).values() for name in own}
    return values, 0.0, [name in lacking for name in indicators]


def _together(found: Any, groups: Mapping[str, tuple[str, ...]]) -> Any:
    """Return the same of columns that all parties have some values of."""
    asked = {s: columns for s, columns in groups.items() if s != "constant"}
    values = {s: getattr(getattr(found, s), FOUND[s]).reshape(len(columns)) for s, columns in asked.items()}
    error = 0.0 if found.median is None else found.median.error[:, 0]
    return values, error, () if found.indicators is None else found.indicators


def _from_noise(
    found: NoisyColumns, groups: Mapping[str, tuple[str, ...]], declared: Mapping[str, Sequence[float]], bins: int
) -> tuple[dict[str, F64], F64 | float]:
    """Return the same from noisy sums, with an indicator of every column: which ones lack values they do not tell."""
    values: dict[str, F64] = {}
    error: F64 | float = 0.0
    if "mean" in groups and found.moments is not None:
        values["mean"] = found.moments.mean[: len(groups["mean"])]
    if found.histograms is not None:
        made = found.histograms
        values["median"], error = (
            find_quantiles(made.counts, made.low, made.high, (0.5,))[:, 0],
            (made.high - made.low) / bins,
        )
    if found.values is not None:
        known = [sorted(declared[name]) for name in groups["most_frequent"]]
        best = [each[int(np.argmax(row[: len(each)]))] for each, row in zip(known, found.values, strict=True)]
        values["most_frequent"] = np.array(best)
    return values, error


def _constant(value: Any, name: str, texts: Texts) -> float:
    """Return a constant as it stands in the column: of a column of texts, the number of one of them."""
    if name in texts:
        if value not in texts[name]:
            raise LocalError(f"column '{name}' holds texts: give one of those declared for it in fill_value")
        return float(texts[name].index(value))
    return float(value)


def _with_gaps(indicated: I64, columns: int) -> F64:
    """Return a record that lacks the values of these columns, to fit scikit-learn's own estimators on."""
    return np.where(np.isin(np.arange(columns), indicated), np.nan, 0.0)[None]
