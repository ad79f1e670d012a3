"""What a fitted model says of records, all of it from one question: asking again would tell more, and cost as much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tacit.arrays import F64, Array
from tacit.base.estimator import choose_classes
from tacit.errors import LocalError

Columns = dict[str, Array]


@dataclass(frozen=True)
class Predictions:
    """The class of every record with its scores, and probabilities if the model has them; or a number."""

    answers: Array
    classes: Array | None = None
    scores: F64 | None = None
    probabilities: F64 | None = None

    def columns(self) -> Columns:
        """Return a column for each thing that is said, under a plain name; scores and probabilities by class."""
        if self.classes is None or self.scores is None:
            return {"value": self.answers}
        names = self.classes.tolist()
        if self.scores.shape[1] == 1:
            scores = {"score": self.scores[:, 0]}
        else:
            scores = {f"score_{name}": self.scores[:, k] for k, name in enumerate(names)}
        chances = self.probabilities
        likely = {} if chances is None else {f"probability_{name}": chances[:, k] for k, name in enumerate(names)}
        return {"label": self.answers, **scores, **likely}


def predict_records(model: Any, X: Any) -> Predictions:
    """Ask a fitted estimator, search or pipeline about whole records, or about a `Federation` of split ones."""
    if hasattr(model, "prepare"):  # a pipeline
        return predict_records(model[-1], model.prepare(X))
    last = getattr(model, "best_estimator_", model)
    if not hasattr(last, "ask"):
        raise LocalError(
            f"a {type(last).__name__} predicts nothing: give a model that ends in a classifier or regressor"
        )
    values: F64 = last.ask(X).values
    if not is_classifier(last):
        return Predictions(values[:, 0])
    chances = last.probabilities(values) if getattr(last, "probability", False) else None
    return Predictions(last.classes_[choose_classes(values)], last.classes_, np.asarray(values), chances)
