"""What transformers share: plain arrays become a simulated federation, and a federation comes out as one."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from tacit.choreo import F64, Array, Holder
from tacit.data import Federation
from tacit.data.columns import recolumned
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.parameters import Number, OneOf, RandomState, Rule, check
from tacit.estimators.saved import save
from tacit.registry import Outcome
from tacit.report import Report
from tacit.report.outcome import report_on

SPLIT: dict[str, tuple[Rule, ...]] = {
    "partition": (OneOf(("horizontal", "vertical", "arbitrary")),),
    "n_parties": (Number(1, whole=True),),
    "runtime": (OneOf(("together",)),),
    "random_state": (RandomState(),),
}
COMMON: dict[str, tuple[Rule, ...]] = {
    "min_count": (Number(1, whole=True),),
    "min_rows": (Number(1, whole=True),),
    "secure_sum": (OneOf(("pairwise", "ring")),),
    "segments": (Number(1, whole=True),),
    "accept_risk": (OneOf((True, False)),),
    **SPLIT,
}
OTHER_UNITS = {
    "units": "is about {} times as large as at the other parties: check its unit there",
    "small": "reaches only {} of the largest value of all parties: check the unit there, and at the party that has that one",
}
ALONE = "nothing is sent: each party works on its own columns alone"
NOT_PROTECTED = (
    "A column in which all but a few records have the same value: its sums are those few records' own, however many are summed.",
    "Columns, or fits at different times, whose present values differ by a few records: the difference of their sums is about these.",
)


class FederatedTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fits a `Federation`, or plain arrays by simulating `n_parties`; transforms either. Missing values are NaN."""

    RULES: ClassVar[dict[str, tuple[Rule, ...]]]

    min_count: int
    min_rows: int = 1
    secure_sum: str
    segments: int
    partition: Partition
    n_parties: int
    runtime: str
    random_state: Any
    accept_risk: bool
    model_: Any
    report_: Report
    federation_: Federation

    @abstractmethod
    def _learn(self, federation: Federation, min_rows: int) -> tuple[Any, Outcome]:
        """The model, and the run that it comes from."""

    @abstractmethod
    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the new columns."""

    def restore(self) -> None:
        """The attributes that follow from the model."""

    def _other_units(self, result: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
        """What to warn about where a party's units seem to be others."""
        return other_units(result, names)

    def _check_parameters(self) -> None:
        check(self, self.RULES)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what to transform by.

        Args:
            X: a `Federation`, or plain records, which are then split between `n_parties`.
            y: not looked at.
        """
        del y
        self._check_parameters()
        given = isinstance(X, Federation)
        federation = self._given(X) if given else self._simulated(X)
        self.n_features_in_ = federation.n_features
        if federation.named:
            self.feature_names_in_ = np.array(federation.features, dtype=object)
        self.model_, outcome = self._learn(federation, self.min_rows if given else 1)  # imagined sites need no protection
        self.restore()
        silent = None if outcome.ledger.rounds else ALONE
        self.report_ = report_on(self, federation, outcome, not_protected=() if silent else NOT_PROTECTED, protection=silent)
        for concern in self._other_units(outcome.result, federation.features) if given else ():
            self.report_.warnings.append(concern)
            warnings.warn(concern, UserWarning, stacklevel=2)
        self.federation_ = federation.without_records()
        return self

    def transform(self, X: Any) -> Any:
        """The new columns, of records or of a `Federation`, at each of its parties."""
        check_is_fitted(self)
        if isinstance(X, Federation):
            self._check_like(X)
            return recolumned(X, self.model_.sources, self._names_out(X.features), self.model_.apply)
        records, sources = self._records(X, reset=False), self.model_.sources
        return self.model_.apply(records[:, sources], np.arange(len(sources)))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the new columns."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(self._names_out(tuple(names)), dtype=object)

    def save(self, path: str | Path) -> Path:
        """Write a model file."""
        check_is_fitted(self)
        return save(self, path)

    def _given(self, federation: Federation) -> Federation:
        if not federation.simulated:
            raise LocalError(f"{type(self).__name__} cannot be fitted on records that are elsewhere yet: have them prepared where they are")
        return federation

    def _simulated(self, X: Any) -> Federation:
        records = self._records(X, reset=True)
        federation = Federation.simulate(
            records, parties=self.n_parties, partition=self.partition, seed=self._seed(), runtime=self.runtime, allow_missing=True
        )
        named = getattr(self, "feature_names_in_", None)
        return federation if named is None else federation.renamed(tuple(named))

    def _records(self, X: Any, *, reset: bool) -> F64:
        """Whole records as numbers."""
        least = 2 if reset else 1
        records: F64 = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=least)
        return records

    def _check_like(self, federation: Federation) -> None:
        mine = self.federation_
        same_names = federation.features == mine.features or not (federation.named and mine.named)
        if federation.n_features != mine.n_features or not same_names or not federation.simulated:
            raise LocalError(
                f"{type(self).__name__} was fitted on the features {', '.join(mine.features)}: give a federation of these, in this process"
            )

    def _execute(self, federation: Federation, protocol: str, **params: Any) -> Outcome:
        return federation.execute(protocol, {"data": (Holder, federation.parts)}, **params)

    def _protection(self, federation: Federation, min_rows: int) -> dict[str, Any]:
        if federation.coordinator in federation.parts and not self.accept_risk:
            raise LocalError(
                f"party {federation.coordinator!r} would coordinate and learn sums, from which it can subtract its own values:"
                " name a site without data, or say accept_risk=True"
            )
        return {"min_count": self.min_count, "min_rows": min_rows, "method": self.secure_sum, "segments": self.segments}

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


def by_owner(outcome: Outcome, names: tuple[str, ...]) -> dict[str, F64]:
    """What each column's owner found, an array per statistic in the order of the columns."""
    found = {name: told for own in outcome.result["columns"].values() for name, told in own.items()}
    return {key: np.array([found[name][key] for name in names]) for key in found[names[0]]}


def other_units(result: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    """Whose columns are far larger or smaller than the others'; in simulation all are at hand, a party sees its own only."""
    return [
        f"party '{party}': column '{name}' {words.format(f'{factor:.2g}')}"
        for kind, words in OTHER_UNITS.items()
        for party, factors in result.get(kind, {}).items()
        for name, factor in zip(names, factors, strict=True)
        if factor != 1.0
    ]


def full_mapping(estimator: Any, parameter: str, given: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """A value for every column from {column: value}; refuses columns that do not exist."""
    unknown = [column for column in given if column not in names]
    if unknown:
        raise LocalError(
            f"The '{parameter}' parameter of {type(estimator).__name__} names a column {unknown[0]!r} that does not exist"
            f" (columns: {', '.join(names)}): correct it"
        )
    return dict(given)
