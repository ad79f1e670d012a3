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
from tacit.models.prepared import Filled, codes_of
from tacit.numeric.privacy.columns import find_quantiles
from tacit.preprocessing.transformer import PrivateTransformer, check_columns_of, collect_declared, read_columns
from tacit.protocols.noisy.noisy_columns import NoisyColumns
from tacit.protocols.prepare.columns import PreparedColumns
from tacit.request import Request

STRATEGIES = ("mean", "median", "most_frequent", "constant")
MEDIAN = 50  # percent
STEPS = 32  # of a scale, by one of which a median may be off


@parameterized
class FederatedImputer(PrivateTransformer):
    """Replace missing values, nearly as scikit-learn's SimpleImputer does on the pooled records.

    Figures are found in shares, and only rounded ones are revealed: means and medians to a sixteenth of their column's
    scale. A site may lack all values of a column that others have. `report_` says who learnt what.

    Args:
        strategy: "mean"; "median"; "most_frequent" of the values declared in `categories`; "constant"; or {column: one
            of these}, where a column that is not named gets its mean. A text column gets the most frequent of its
            declared texts, unless "constant" is given for it.
        fill_value: value that "constant" fills in: a number, or {column: number, or one of the declared texts}.
        add_indicator: for each column that enough records lack a value of, append a column that is 1 where the value is
            missing.
        categories: {column: values}: the numbers or texts that "most_frequent" chooses from. Columns that a federation
            carries as text need no entry: it knows their texts.
        ranges: with epsilon, {column: (low, high)}: bounds of columns. None: a fifth of the budget is spent on finding
            them.
        bins: with epsilon, number of bins of a histogram.
        partition: how plain arrays are split: "horizontal" (rows), "vertical" (columns) or "arbitrary" (cells).
        n_parties: number of parties that plain arrays are split between.
        runtime: where the parties of plain arrays run: "together" in this process, or on "spark".
        verbose: where a line of progress is shown: None: in a terminal or notebook, after 2 s; True: in a log too;
            False: nowhere.
        random_state: seed for splitting plain arrays between the parties; no secret is drawn from it.
        accept_risk: with epsilon, let one of the data holders be the coordinator.
        epsilon: fit with differential privacy: one record changes the log-odds of any outcome by at most this much
            (docs/privacy.md). Over rows only. Means then use `ranges` too, and values beyond them are clipped; values
            that were not declared are not counted; every column gets an indicator. None: no differential privacy.
        delta: with epsilon, the probability of the outcomes that epsilon does not bound; at most 1 / number of records.
        honest: with epsilon, how many data holders are assumed to keep their noise secret; None: half of them.

    Attributes:
        statistics_: the value that fills the gaps of each column; for texts, its number among the declared ones.
        bin_error_: largest possible error of a median; 0 for other columns.
        indicator_: scikit-learn's MissingIndicator for the columns with an indicator, or None.
        report_: the report of the run.
    """

    OWN: ClassVar[Mapping[str, Kind | None]] = {"add_indicator": Switch()}

    model_: Filled = field(init=False)
    statistics_: F64 = field(init=False)
    bin_error_: F64 = field(init=False)
    indicator_: Any = field(init=False)

    strategy: str | Mapping[str, str] = "mean"
    _: KW_ONLY
    fill_value: float | Mapping[str, float | str] = 0.0
    add_indicator: bool = False
    bins: int = 32
    categories: Mapping[str, Sequence[float]] | Mapping[str, Sequence[str]] | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None

    def to_sklearn(self) -> SimpleImputer | ColumnTransformer:
        """Return the same as a fitted imputer of scikit-learn; of a table with texts, an imputer of each column."""
        check_is_fitted(self)
        if self.federation_.categories:
            return self._column_by_column()
        constant: dict[str, Any] = {"strategy": "constant", "fill_value": 0.0, "keep_empty_features": True}
        gaps = _with_gaps(self.model_.indicated, self.n_features_in_)
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
        gaps = [(f"gap {j}", MissingIndicator(features="all"), [j]) for j in self.model_.indicated.tolist()]
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
        if self.ranges is not None and self.epsilon is None:
            raise LocalError("FederatedImputer uses ranges with epsilon only: leave them out")

    def _request(self, federation: Federation) -> Request:
        names, groups = federation.features, self._groups(federation)
        self._find_constants(federation, groups.get("constant", ()))  # refused before anything is sent
        collect_declared(self, federation)  # as well
        frequent = groups.get("most_frequent", ())
        declared = self._find_declared(federation, frequent)
        if self.epsilon is not None:
            kinds = {"names": groups.get("mean", ()), "histograms": groups.get("median", ())}
            return self._noisy_request(federation, categories=declared or None, **kinds)
        asked = {
            "names": (*groups.get("mean", ()), *groups.get("median", ())),
            "percents": (MEDIAN,) if "median" in groups else (),
            "categories": declared or None,
            "most_frequent": frequent,
            "indicators": names if self.add_indicator else (),
        }
        return self._ask(federation, **asked)

    def _model(self, federation: Federation, result: Any) -> Filled:
        names = federation.features
        groups = self._groups(federation)
        indicators = names if self.add_indicator else ()
        if self.epsilon is not None:
            declared = self._find_declared(federation, groups.get("most_frequent", ()))
            values, error = _from_noise(result, groups, declared, self.bins)
            gaps = [True] * len(indicators)
        else:
            values, error = _together(result, groups)
            gaps = [result.columns[name].gaps for name in indicators]
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

    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *(f"missingindicator_{names[j]}" for j in self.model_.indicated))

    def _set_learnt(self, model: Filled) -> None:
        """Set the attributes that follow from the model."""
        self.__dict__.update(model.learnt)
        gaps = _with_gaps(model.indicated, len(self.statistics_))
        self.indicator_ = MissingIndicator(error_on_new=False).fit(gaps) if self.add_indicator else None


def _together(found: PreparedColumns, groups: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, F64], F64]:
    """Return what was found: values by strategy, and the error of medians; 0 where too few records have a value."""
    told = {s: read_columns(found, columns) for s, columns in groups.items() if s in ("mean", "median")}
    values = {
        s: np.nan_to_num(each["quantiles"][:, 0] if s == "median" else each["centre"]) for s, each in told.items()
    }
    if "most_frequent" in groups:
        values["most_frequent"] = np.array([float(found.modes[name][0]) for name in groups["most_frequent"]])
    error = np.nan_to_num(told["median"]["scale"] / STEPS) if "median" in told else np.zeros(0)
    return values, error


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
