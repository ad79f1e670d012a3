"""What a fitted selector is: which columns it keeps, and how it ranks all of them."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import State
from tacit.models.shapes import MisfitError, Shapes, below


class Selected(State):
    """Some of the columns, as they are.

    ranking: of every column, 1 for those that stay. accuracy: over folds, by number of columns, where it was needed.
    """

    sources: I64
    ranking: I64
    accuracy: dict[int, float]

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        shapes.fit(self.sources, len(self.sources))
        shapes.fit(self.ranking, "columns")
        below(self.sources.tolist(), shapes.columns)
        if not len(self.sources) or np.any(np.diff(self.sources) <= 0):
            raise MisfitError("selected columns stand in their order, each once")

    def apply(self, X: F64, new: I64) -> F64:
        """Return the columns as they are."""
        del new
        return X

    def records_of(self) -> dict[str, str]:
        """Return nothing: which columns were selected is no record."""
        return {}
