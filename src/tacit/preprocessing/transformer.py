"""What transformers share: plain arrays become a simulated federation, and a federation comes out as one."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from tacit.arrays import F64, Array
from tacit.base.parameters import arguments_for, check, parameterized
from tacit.base.private import NOT_PROTECTED, Private, write_bill
from tacit.base.saved import Savable
from tacit.base.shared import (
    Simulation,
    check_coordinator,
    refuse_elsewhere,
    refuse_sparse,
    set_features,
    warn_of,
)
from tacit.choreo.declaration import wrong_value
from tacit.errors import LocalError
from tacit.federation import Federation, as_table
from tacit.federation.columns import check_numbers, declare_texts, remake_columns
from tacit.federation.frames import declared_texts, is_frame, refuse_texts, with_texts
from tacit.federation.plan import Partition
from tacit.models.prepared import is_text
from tacit.protocols.column_parameters import MENU
from tacit.protocols.noisy.noisy_columns import Asked, NoisyColumns
from tacit.protocols.prepare.columns import PreparedColumns
from tacit.protocols.sums.secure_sum import PROTECTION as SUMS_PROTECTION
from tacit.registry import Outcome
from tacit.report.outcome import report_on
from tacit.request import Records, Request
from tacit.sparse import is_sparse

PROTECTION = "shares: while the coordinator, which deals the random numbers, works together with nobody"
LEARNS = "all records: it deals the random numbers that hide them"


@parameterized
class FederatedTransformer(Simulation, Savable, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fits a `Federation`, or plain arrays by simulating `n_parties`; transforms either. Missing values are NaN."""

    NOT_PROTECTED: ClassVar[tuple[str, ...]] = (
        (
            "Everything, from the coordinator together with any one party: its random numbers take the masks off what"
            " parties open to each other."
        ),
        "Fits whose records differ by a few: a rounded figure may be one step further because of them.",
    )

    gone: ClassVar[tuple[str, ...]] = ("min_count", "min_rows")  # which bounded sums that were opened
    SCALES: ClassVar[bool] = False  # whether it moves values, by numbers that a job may choose
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

    def _notices(self, federation: Federation, result: Any) -> list[str]:
        """Return what whoever fits it should know of what it found."""
        return say_few(result, federation.features) if isinstance(result, PreparedColumns) else []

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
            X.backend.fit(X, self, partial(self._learn, X))
        return self

    def _learn(self, federation: Federation) -> Self:
        declared = declare_texts(federation, self._texts())
        return self.receive(declared, declared.run(self.request(declared)))

    def request(self, federation: Federation) -> Request:
        """Return what `fit` would have the federation run; raises whatever it would refuse before anything is sent."""
        self.check_parameters()
        if not federation.backend.prepares:
            name = type(self).__name__
            raise LocalError(f"{name} cannot be fitted on records that are elsewhere: connect to their sites first")
        self._check_kinds(federation)
        refuse_sparse(self, federation)
        return self._request(federation)

    def receive(self, federation: Federation, outcome: Outcome) -> Self:
        """Become the fitted transformer that the outcome of the request makes."""
        self._take(federation, outcome)
        warn_of(self.report_, self._notices(federation, outcome.result))
        return self

    def _take(self, federation: Federation, outcome: Outcome) -> Self:
        set_features(self, federation)
        self.model_ = self._model(federation, outcome.result)
        self.restore()
        self.report_ = report_on(
            self, federation, outcome, not_protected=self._list_unprotected(), protection=self._protection
        )
        self.federation_ = federation.without_records()
        return self

    @property
    def _protection(self) -> str:
        """What protects the records, in words."""
        return PROTECTION

    def _ask(self, federation: Federation, **asked: Any) -> Request:
        """Return a request for what columns are prepared by; imagined parties need no protection from each other."""
        check_coordinator(federation, LEARNS, accept_risk=False)
        if federation.moved and asked.get("names") and not federation.backend.imagined:
            name = type(self).__name__
            raise LocalError(
                f"{name} measures columns that a step before it has scaled, and rounding holds for columns as they are:"
                " put it before that step, or leave one of them out"
            )
        few = {"fewest": 1} if federation.backend.imagined else {}
        return Request("prepare_columns", {"data": Records()}, {"partition": federation.partition, **asked, **few})

    def transform(self, X: Any) -> Any:
        """Return the new columns, of records or of a `Federation`, at each of its parties."""
        check_is_fitted(self)
        if isinstance(X, Federation):
            X = self._known(X)
            made = remake_columns(X, self.model_.sources, self._names_out(X.features), self.model_.apply)
            return dataclasses.replace(made, moved=made.moved or self.SCALES)
        model = self.model_
        made = model.apply(self._records(X, reset=False)[:, model.sources], np.arange(len(model.sources)))
        names = self._names_out(self.federation_.features)
        texts = {name: known for name, known in self.federation_.categories.items() if name in names}
        return with_texts(X, made, names, texts) if texts and is_frame(X) else made

    def restore(self) -> None:
        """Set the attributes that follow from the model."""
        self._set_learnt(self.model_)

    def _set_learnt(self, model: Any) -> None:
        """Set the attributes that follow from the model, if there are any."""

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
class PrivateTransformer(Private, FederatedTransformer):
    """A transformer that `epsilon` gives differential privacy: its statistics then come from noisy sums."""

    _: KW_ONLY
    accept_risk: bool = False

    def _noisy_request(self, federation: Federation, **asked: Any) -> Request:
        """Return a request for statistics from noisy sums."""
        spent = self.spending(federation)
        learns = "sums, from which it can subtract its own values"
        check_coordinator(federation, learns, accept_risk=self.accept_risk)
        given = arguments_for(self, "noisy_columns", **{**asked, **spent})
        Asked(**{name: given[name] for name in ("names", "histograms", "ranges") if name in given}).check()
        return Request("noisy_columns", {"data": Records()}, given)

    @property
    def _protection(self) -> str:
        return super()._protection if self.epsilon is None else SUMS_PROTECTION

    def _list_unprotected(self) -> tuple[str, ...]:
        return NOT_PROTECTED if self.epsilon is not None else super()._list_unprotected()

    def _take(self, federation: Federation, outcome: Outcome) -> Self:
        super()._take(federation, outcome)
        if self.epsilon is not None:
            found: NoisyColumns = outcome.result
            self.report_.figures = write_bill(federation, found.spent, self.delta, found.honest)
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


def read_columns(result: PreparedColumns, names: tuple[str, ...]) -> dict[str, F64]:
    """Return what was found of columns, an array for each figure in the order of the columns."""
    found = [result.columns[name] for name in names]
    centre, scale = (np.array([getattr(each, key) for each in found], dtype=np.float64) for key in ("centre", "scale"))
    quantiles = np.array([each.quantiles for each in found], dtype=np.float64).reshape(len(names), -1)
    return {"centre": centre, "scale": scale, "quantiles": quantiles}


def say_few(result: PreparedColumns, names: tuple[str, ...]) -> list[str]:
    """Return what to say of columns of which nothing is found, since too few records have a value."""
    return [
        f"column '{name}' has too few values over all parties: nothing of it is told, and it stays as it is"
        for name in names
        if name in result.columns and not result.columns[name].enough
    ]


def check_columns_of(estimator: Any, parameter: str, given: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return {column: value} as a dict; refuse columns that do not exist."""
    unknown = [column for column in given if column not in names]
    if unknown:
        who = f"The '{parameter}' parameter of {type(estimator).__name__}"
        raise LocalError(f"{who} names a column {unknown[0]!r} that does not exist (columns: {', '.join(names)})")
    return dict(given)


def check_percents(name: str, estimator: str, asked: Sequence[float]) -> None:
    """Refuse quantiles that are none of the few that may be asked for: many of them are a whole column."""
    if any(q not in MENU for q in asked):
        raise wrong_value(name, estimator, f"two of {', '.join(map(str, MENU))}", tuple(asked))
