"""What transformers share: plain arrays become a simulated federation, and a federation comes out as one."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from tacit.arrays import F64, I64, Array
from tacit.base.parameters import arguments_for, check, parameterized
from tacit.base.private import NOT_PROTECTED, Private, write_bill
from tacit.base.saved import Savable
from tacit.base.shared import (
    Simulation,
    check_coordinator,
    fit_elsewhere,
    refuse_absence,
    refuse_elsewhere,
    refuse_sparse,
    set_features,
    warn_of,
)
from tacit.choreo import Holder
from tacit.choreo.declaration import Kind, Number, OneOf
from tacit.errors import LocalError
from tacit.federation import Federation, as_table
from tacit.federation.columns import check_numbers, declare_texts, remake_columns
from tacit.federation.frames import declared_texts, is_frame, refuse_texts, with_texts
from tacit.federation.plan import Partition
from tacit.models.prepared import KeptByOwners, is_text
from tacit.protocols.columns.own_columns import OwnColumns, Statistics
from tacit.protocols.noisy.noisy_columns import Asked, NoisyColumns
from tacit.protocols.sums.secure_sum import METHODS, OF_SOME
from tacit.registry import Outcome, read_result
from tacit.report.outcome import report_on
from tacit.request import Input, Left, Records, Request
from tacit.sparse import is_sparse

OTHER_UNITS = {
    "units": "is about {} times as large as at the other parties: check its unit there",
    "small": "reaches only {} of the largest value of all parties: check the unit there, and where that value is",
}
ALONE = "nothing is sent: each party works on its own columns alone"


@parameterized
class FederatedTransformer(Simulation, Savable, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fits a `Federation`, or plain arrays by simulating `n_parties`; transforms either. Missing values are NaN."""

    NOT_PROTECTED: ClassVar[tuple[str, ...]] = (
        "A column in which all but a few records have the same value: its sums are about those few records.",
        "Columns, or fits, whose present values differ by a few records: the difference of their sums is about these.",
    )

    RAW: ClassVar[bool] = False  # whether it takes columns of texts and dates that nobody declared

    _: KW_ONLY
    partition: Partition = "horizontal"

    @abstractmethod
    def _request(self, federation: Federation) -> Request:
        """Return what fitting asks for; parameters and federation were checked."""

    @abstractmethod
    def _model(self, federation: Federation, result: Any) -> Any:
        """Return the model of a result; what is not known here of columns of others is NaN."""

    @abstractmethod
    def _names_out(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the new columns."""

    def _list_unprotected(self) -> tuple[str, ...]:
        """Return what stays open to misuse."""
        return self.NOT_PROTECTED

    def _notices(self) -> list[str]:
        """Return what whoever fits it should know of what it found."""
        return []

    def _compare_units(self, result: Any, federation: Federation) -> list[str]:
        """Return where a party's units seem to be others."""
        return other_units(result, federation.features)

    @property
    def takes_sparse(self) -> bool:
        """Whether records may be sparse."""
        return False

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        check(self)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to transform.

        Args:
            X: a `Federation`, or plain records, which are then split between `n_parties`.
            y: ignored.
        """
        del y
        self.check_parameters()
        if not isinstance(X, Federation):
            X = self._federate_records(X)
        with self._watching():
            if fit_elsewhere(self, X):
                return self
            X = declare_texts(X, self._texts())
            return self.receive(X, X.run(self.request(X)))

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raises whatever it would refuse before anything is sent."""
        self.check_parameters()
        if not federation.backend.prepares:
            name = type(self).__name__
            raise LocalError(f"{name} cannot be fitted on records that are elsewhere: connect to their sites first")
        self._check_kinds(federation)
        request = self._request(federation)
        unprotected = federation.backend.imagined and "min_rows" in request.params
        return request.with_params(min_rows=1) if unprotected else request

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Become the fitted transformer that the outcome of the request makes."""
        self._take(federation, outcome)
        # of rows that were dealt at random another unit is chance
        units = [] if federation.backend.imagined else self._compare_units(outcome.result, federation)
        warn_of(self.report_, [*self._notices(), *units])
        return self

    def _take(self, federation: Federation, outcome: Outcome) -> Self:
        set_features(self, federation)
        self.model_ = self._keep(federation, outcome)
        self.restore()
        silent = None if outcome.ledger.rounds else ALONE
        more = () if silent else self._list_unprotected()
        self.report_ = report_on(self, federation, outcome, not_protected=more, protection=silent)
        self.federation_ = federation.without_records()
        return self

    def transform(self, X: Any) -> Any:
        """Return the new columns, of records or of a `Federation`, at each of its parties."""
        check_is_fitted(self)
        if isinstance(X, Federation):
            X = self._known(X)
            return remake_columns(X, self.model_.sources, self._names_out(X.features), self._make, self._held())
        model = self._whole()
        made = model.apply(self._records(X, reset=False)[:, model.sources], np.arange(len(model.sources)))
        names = self._names_out(self.federation_.features)
        texts = {name: known for name, known in self.federation_.categories.items() if name in names}
        return with_texts(X, made, names, texts) if texts and is_frame(X) else made

    def restore(self) -> None:
        """Set the attributes that follow from the model, if it is here."""
        if not self._kept_by_owners:
            self._set_learnt(self.model_)

    def _set_learnt(self, model: Any) -> None:
        """Set the attributes that follow from the model."""

    @property
    def _kept_by_owners(self) -> bool:
        """Whether each owner keeps what was found of its own columns, and nobody has all of it."""
        return isinstance(self.model_, KeptByOwners)

    @property
    def _outline(self) -> Any:
        """The model as far as everybody knows it."""
        return self.model_.outline if self._kept_by_owners else self.model_

    def _keep(self, federation: Federation, outcome: Outcome) -> Any:
        """Return the model of an outcome, or where its owners keep it what everybody knows of it."""
        model = self._model(federation, outcome.result)
        if getattr(outcome.result, "columns", ()) is not None:
            return model
        told = outcome.result.to_public()
        return KeptByOwners(outcome.job, self._request(federation).name, told, model)

    def _held(self) -> tuple[Input, ...]:
        """Return what each owner brings to a transformation beside its records."""
        return (Left(Holder, self.model_.job, "columns"),) if self._kept_by_owners else ()

    def _make(self, X: F64, new: I64, *found: Any) -> F64:
        """Return the new columns with these numbers; `found` is what an owner found of its own columns."""
        made: F64 = self._complete(*found).apply(X, new)
        return made

    def _complete(self, *found: Any) -> Any:
        """Return the model with what an owner found of its own columns; as it is if nobody brings such."""
        if not found:
            return self._outline
        result = read_result(self.model_.protocol, self.model_.told)
        return self._model(self.federation_, dataclasses.replace(result, columns={"own": found[0]}))

    def _whole(self) -> Any:
        """Return the model; raise if it is not here."""
        if self._kept_by_owners:
            owners = ", ".join(self.federation_.parts)
            raise LocalError(
                f"{owners} each keep what this {type(self).__name__} found of their own columns, under job"
                f" {self.model_.job}: transform a federation that is connected to them"
            )
        return self.model_

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the new columns."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array(self._names_out(tuple(names)), dtype=object)

    def _federate_records(self, X: Any) -> Federation:
        federation = self._simulate(self._records(X, reset=True), partition=self.partition, allow_missing=True)
        return dataclasses.replace(federation, categories=self.texts_of(X))

    def _texts(self) -> dict[str, tuple[str, ...]]:
        """Return the texts that this transformer declares itself, by column."""
        declared: Mapping[str, Sequence[Any]] = getattr(self, "categories", None) or {}
        return {name: tuple(values) for name, values in declared.items() if is_text(values)}

    def texts_of(self, X: Any) -> dict[str, tuple[str, ...]]:
        """Return the texts that are declared for columns of plain records: here, or by the frame itself."""
        return {**declared_texts(X), **self._texts()} if is_frame(X) else {}

    def _check_kinds(self, federation: Federation) -> None:
        """Refuse columns that are no numbers; a transformer of texts says otherwise."""
        check_numbers(federation, type(self).__name__)

    def _known(self, federation: Federation) -> Federation:
        """Return a federation like the one this was fitted on, with texts as the same numbers."""
        self._check_like(federation)
        return declare_texts(federation, self.federation_.categories)

    def _records(self, X: Any, *, reset: bool) -> F64:
        """Return whole records as numbers."""
        texts = self.texts_of(X) if reset else self.federation_.categories
        if is_frame(X) and texts:
            self._check_names(X, reset=reset)
            return as_table(X, allow_missing=True, categories=texts).X
        refuse_texts(X, type(self).__name__, declare=hasattr(self, "categories"))
        if is_sparse(X) and self.takes_sparse:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X  # type: ignore[return-value]  # it stands for an array
        gaps: dict[str, Any] = {"ensure_all_finite": "allow-nan", "ensure_min_samples": 2 if reset else 1}
        sparse = "csr" if self.takes_sparse else False
        records: F64 = validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=np.float64, **gaps)
        return as_table(records).X if issparse(records) else records

    def _check_names(self, X: Any, *, reset: bool) -> None:
        """Compare the columns of a frame with those of fitting, which have names of their own, or were made before."""
        if reset or hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif X.shape[1] != self.n_features_in_:
            known = ", ".join(self.federation_.features)
            raise LocalError(f"X has {X.shape[1]} columns, and {type(self).__name__} was fitted on {known}: give these")

    def _check_like(self, federation: Federation) -> None:
        mine = self.federation_
        refuse_elsewhere(self, federation)
        refuse_sparse(self, federation)
        same_names = federation.features == mine.features or not (federation.named and mine.named)
        if federation.n_features != mine.n_features or not same_names or not federation.backend.prepares:
            name, known = type(self).__name__, ", ".join(mine.features)
            raise LocalError(f"{name} was fitted on the features {known}: give a federation of these, in this process")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.takes_sparse
        return tags


@parameterized
class SummingTransformer(FederatedTransformer):
    """A transformer by statistics of all parties' records, which come from masked sums."""

    OWN: ClassVar[Mapping[str, Kind | None]] = {"min_count": Number(1, whole=True), "secure_sum": OneOf(METHODS)}

    _: KW_ONLY
    min_count: int = 5
    min_rows: int = 5
    secure_sum: str = "pairwise"
    segments: int = 1
    accept_risk: bool = False

    def _arguments(self, federation: Federation, protocol: str, **given: Any) -> dict[str, Any]:
        """Return the parameters of a protocol; refuse a party that would learn its sums."""
        learns = "sums, from which it can subtract its own values"
        check_coordinator(federation, learns, accept_risk=self.accept_risk)
        refuse_absence(self.secure_sum, federation.partition)
        return arguments_for(self, protocol, **{"method": self.secure_sum, **given})


@parameterized
class BinningTransformer(SummingTransformer):
    """A transformer some of whose statistics come from histograms."""

    _: KW_ONLY
    bins: int = 32


@parameterized
class PrivateTransformer(Private, BinningTransformer):
    """A transformer that `epsilon` gives differential privacy: its statistics come from noisy sums."""

    def check_parameters(self) -> None:
        """Raise if a parameter has a value that it must not have."""
        super().check_parameters()
        if self.secure_sum in OF_SOME:
            self.refuse_epsilon(
                f"secure_sum={self.secure_sum!r}, with which the noise of parties that stay away is missing"
            )

    def _noisy_request(self, federation: Federation, **asked: Any) -> Request:
        """Return a request for statistics from noisy sums."""
        spent = self.spending(federation)
        given = self._arguments(federation, "noisy_columns", **{**asked, **spent})
        Asked(**{name: given[name] for name in ("names", "histograms", "ranges") if name in given}).check()
        return Request("noisy_columns", {"data": Records()}, given)

    def _list_unprotected(self) -> tuple[str, ...]:
        return NOT_PROTECTED if self.epsilon is not None else super()._list_unprotected()

    def _take(self, federation: Federation, outcome: Outcome) -> Self:
        super()._take(federation, outcome)
        if self.epsilon is not None:
            found: NoisyColumns = outcome.result
            self.report_.figures = write_bill(found.spent, self.delta, found.honest, len(federation.parts))
        return self


def collect_declared(estimator: Any, federation: Federation) -> dict[str, Any]:
    """Return the categories of all columns that have some: the federation's, and the estimator's own."""
    given = {**federation.categories, **(estimator.categories or {})}
    declared, name = check_columns_of(estimator, "categories", given, federation.features), type(estimator).__name__
    for column, values in declared.items():
        if not len(values) or len(set(values)) < len(values):
            raise LocalError(f"{name} needs the categories of column '{column}', each of them once: correct categories")
        if tuple(values) != federation.categories.get(column, () if is_text(values) else tuple(values)):
            raise LocalError(f"{name} declares other categories of column '{column}' than the federation was made with")
    return declared


def by_owner(result: OwnColumns, names: tuple[str, ...], quantiles: int = 1) -> dict[str, F64]:
    """Return what each column's owner found, an array per statistic in the order of the columns; NaN if not known."""
    found = join_owners(result.columns)
    keys = Statistics.field_names()
    blank: dict[str, Any] = {**dict.fromkeys(keys, np.nan), "quantiles": np.full(quantiles, np.nan)}
    unknown = Statistics(**blank)
    return {key: np.array([getattr(found.get(name, unknown), key) for name in names]) for key in keys}


def tell_if_apart(federation: Federation) -> dict[str, bool]:
    """Return the parameter by which owners tell what becomes of their columns, where no process has all of them."""
    return {} if federation.backend.returns_shares else {"tell": True}


def join_owners(columns: Any) -> dict[str, Any]:
    """Return what owners found, by column, as far as it is here."""
    return {name: told for own in (columns or {}).values() for name, told in own.items()}


def other_units(result: Any, names: tuple[str, ...]) -> list[str]:
    """Return what to say of columns that are far larger or smaller than the others'; a party hears its own only."""
    return [
        f"party '{party}': column '{name}' {words.format(f'{factor:.2g}')}"
        for kind, words in OTHER_UNITS.items()
        for party, factors in (getattr(result, kind, None) or {}).items()
        for name, factor in zip(names, factors, strict=True)
        if factor != 1.0
    ]


def check_columns_of(estimator: Any, parameter: str, given: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return {column: value} as a dict; refuse columns that do not exist."""
    unknown = [column for column in given if column not in names]
    if unknown:
        who = f"The '{parameter}' parameter of {type(estimator).__name__}"
        raise LocalError(f"{who} names a column {unknown[0]!r} that does not exist (columns: {', '.join(names)})")
    return dict(given)
