"""Probabilities by Platt's sigmoids: what `probability=True` adds to a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from tacit.arrays import F64
from tacit.base.estimator import FederatedClassifier
from tacit.models.handle import Answers
from tacit.numeric.scores.platt import probabilities


def _is_asked_for(estimator: Any) -> bool:
    if not estimator.probability:
        before = f"{type(estimator).__name__}.fit"
        raise AttributeError(
            f"predict_proba is not available when probability=False: say probability=True before {before}"
        )
    return True


class ProbabilityClassifier(FederatedClassifier):
    """A classifier with `predict_proba`; `probA_` and `probB_` are scikit-learn's names of its slopes and offsets."""

    probability: bool
    model_: Any

    @property
    def probA_(self) -> F64:  # noqa: N802 - scikit-learn's name
        """The slope of each class's probability."""
        return self._sigmoids[:, 0]

    @property
    def probB_(self) -> F64:  # noqa: N802 - scikit-learn's name
        """The offset of each class's probability."""
        return self._sigmoids[:, 1]

    @property
    def _sigmoids(self) -> F64:
        return np.empty((0, 2)) if self.model_.sigmoids is None else np.asarray(self.model_.sigmoids)

    @available_if(_is_asked_for)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of whole records, or of a `Federation` whose records stay split: a column per class.

        Between organisations an `Answers` says who has them.
        """
        return self._answer_with(X, self.probabilities)

    @available_if(_is_asked_for)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return logarithms of the probabilities, a column per class; between organisations an `Answers`."""
        found = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return found if isinstance(found, Answers) else np.asarray(np.log(found))

    def probabilities(self, values: F64) -> F64:
        """Return the probability of every class, from decision values."""
        if not self._sigmoids.size:
            raise NotFittedError("predict_proba is not available when fitted with probability=False: fit again")
        return probabilities(values, self._sigmoids)
