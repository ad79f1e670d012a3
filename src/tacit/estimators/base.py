"""What all estimators share: plain arrays become a simulated federation, answers become labels or numbers."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.choreo import F64, I64, Array
from tacit.data import Federation
from tacit.data.columns import check_present
from tacit.data.plan import Partition
from tacit.errors import LocalError
from tacit.estimators.saved import save


class Federated(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Fits a `Federation`, or plain arrays by simulating `n_parties`."""

    NUMBERS = False  # whether targets are numbers

    partition: Partition
    n_parties: int
    runtime: str
    random_state: Any
    federation_: Federation

    @abstractmethod
    def _fit(self, federation: Federation, *, compare: bool) -> None:
        """Train; sets the model and `report_`."""

    @abstractmethod
    def _decide(self, federation: Federation) -> F64:
        """Values of new records, one column per problem."""

    @abstractmethod
    def _check_targets(self, y: Array) -> None:
        """Refuse targets of the wrong kind."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse bad parameters."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, compare: bool = False) -> Self:
        """Train together.

        Args:
            X: a `Federation` that holds the labels, or plain records, which are then split between `n_parties`.
            y: labels, with plain records.
            sample_weight: weights, with plain records.
            compare: in simulation, also train the centralised learner and put the gap into `report_`.
        """
        self._check_parameters()
        federation = self._given(X, y, sample_weight) if isinstance(X, Federation) else self._simulated(X, y, sample_weight)
        self.n_features_in_ = federation.n_features
        if federation.named:
            self.feature_names_in_ = np.array(federation.features, dtype=object)
        self._fit(federation, compare=compare)
        self.federation_ = federation.without_records()
        return self

    def save(self, path: str | Path) -> Path:
        """Write a model file; its header says whose records it contains."""
        check_is_fitted(self)
        return save(self, path)

    def _given(self, federation: Federation, y: Any, sample_weight: Any) -> Federation:
        name = type(self).__name__
        if y is not None or sample_weight is not None:
            raise LocalError(f"{name}.fit got a Federation and also y or sample_weight: the labeller of the federation holds both")
        if federation.partition != self.partition:
            raise LocalError(
                f"{name}(partition={self.partition!r}) got a federation split {federation.partition}ly: set partition to match it"
            )
        if not federation.simulated:  # the labeller checks them
            federation.check_targets(numbers=self.NUMBERS)
            return federation
        check_present(federation)
        labels = [part.y for part in federation.parts.values() if part.y is not None]
        if not labels:
            raise LocalError(f"{name} needs labels, and no party of the federation holds any: give y= when you build it")
        for held in labels:
            self._check_targets(held)
        return federation

    def _simulated(self, X: Any, y: Any, sample_weight: Any, *, varied: bool = True) -> Federation:
        records, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, y_numeric=self.NUMBERS)
        self._check_targets(labels)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, records)
        if varied:
            self._check_variety(labels)
        federation = Federation.simulate(
            records, labels, parties=self.n_parties, partition=self.partition, seed=self._seed(), sample_weight=sample_weight,
            runtime=self.runtime,
        )  # fmt: skip
        named = getattr(self, "feature_names_in_", None)
        return federation if named is None else federation.renamed(tuple(named))

    def _check_variety(self, y: Array) -> None:
        """Refuse plain arrays whose targets are too much alike."""

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))

    def _values(self, X: Any) -> F64:
        """Decision values of whole records, or of a `Federation` of them."""
        return self._decide(self._new_records(X))

    def _new_records(self, X: Any) -> Federation:
        if not isinstance(X, Federation):
            return self.federation_.split(validate_data(self, X, reset=False, dtype=np.float64))
        if X.runtime == "spark" and not X.simulated:
            raise LocalError("records on a cluster are not brought here: call predict in a function for DataFrame.mapInPandas")
        mine = self.federation_
        if set(X.parts) != set(mine.parts) or X.coordinator != mine.coordinator:
            raise LocalError(f"the new records must be between the same parties: {', '.join(mine.parts)}; coordinator {mine.coordinator}")
        for party, part in mine.parts.items():
            if X.parts[party].features != part.features:
                raise LocalError(f"the new records are not split like the training records: {party!r} must hold {', '.join(part.features)}")
        check_present(X)
        return X


class FederatedClassifier(ClassifierMixin, Federated):  # type: ignore[misc]  # scikit-learn is untyped
    """Learns classes; `_fit` sets `classes_` too."""

    classes_: Array

    def decision_function(self, X: Any) -> F64:
        """Decision values of whole records, or of a `Federation` of records that stay split."""
        check_is_fitted(self)
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict(self, X: Any) -> Array:
        """The class of every record."""
        check_is_fitted(self)
        labels: Array = self.classes_[chosen(self._values(X))]
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on whole records, or on a `Federation` that holds the labels."""
        if isinstance(X, Federation) and y is None:
            y, sample_weight = _known_targets(X)
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _check_targets(self, y: Array) -> None:
        check_classification_targets(y)

    def _check_variety(self, y: Array) -> None:
        if len(np.unique(y)) < 2:  # noqa: PLR2004 - a classifier separates two
            raise LocalError(f"{type(self).__name__} needs samples of at least 2 classes in y, but the data contains only one class")


class FederatedRegressor(RegressorMixin, Federated):  # type: ignore[misc]  # scikit-learn is untyped
    """Learns a number."""

    NUMBERS = True

    def predict(self, X: Any) -> F64:
        """The number of every record."""
        check_is_fitted(self)
        return self._values(X)[:, 0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 on whole records, or on a `Federation` that holds the targets."""
        if isinstance(X, Federation) and y is None:
            y, sample_weight = _known_targets(X)
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def _check_targets(self, y: Array) -> None:
        if y.dtype.kind not in "iufb":
            raise LocalError(f"{type(self).__name__} needs numbers as targets, got {y.dtype}: use a classifier for classes")


def _known_targets(federation: Federation) -> tuple[Array, F64 | None]:
    """Before a question is asked in vain."""
    _, y, weight = federation.pooled()
    if y is None:
        raise LocalError("score compares answers with labels, and the federation has none here: give records with labels")
    return y, weight


def chosen(values: F64) -> I64:
    """Which class the decision values choose: by sign if there is one column, else the largest."""
    return np.asarray(values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1), dtype=np.int64)
