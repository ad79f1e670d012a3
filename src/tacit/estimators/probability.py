"""Probabilities of the SVMs, by Platt's sigmoids: what `probability=True` adds to an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.choreo import F64
from tacit.estimators.base import FederatedClassifier
from tacit.numeric.platt import probabilities


def _asked_for(estimator: Any) -> bool:
    if not estimator.probability:
        name = type(estimator).__name__
        raise AttributeError(f"predict_proba is not available when probability=False: say probability=True before {name}.fit")
    return True


class SupportVectorClassifier(FederatedClassifier):
    """An SVM with `predict_proba`, with scikit-learn's names for the slope and the offset of every class: `probA_` and `probB_`."""

    probability: bool
    model_: Any

    @property
    def probA_(self) -> F64:  # noqa: N802 - scikit-learn's name
        """The slope of each class's probability."""
        return self._sigmoids[:, 0]

    @property
    def probB_(self) -> F64:  # noqa: N802 - scikit-learn's name
        """The offset."""
        return self._sigmoids[:, 1]

    @property
    def _sigmoids(self) -> F64:
        return np.empty((0, 2)) if self.model_.sigmoids is None else np.asarray(self.model_.sigmoids)

    @available_if(_asked_for)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> F64:
        """Probabilities of whole records, or of a `Federation` of records that stay split: a column per class."""
        check_is_fitted(self)
        return self._probabilities(self._values(X))

    @available_if(_asked_for)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> F64:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def _probabilities(self, values: F64) -> F64:
        if not self._sigmoids.size:
            raise NotFittedError("predict_proba is not available when fitted with probability=False: fit anew")
        return probabilities(values, self._sigmoids)
