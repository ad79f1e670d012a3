"""A trained PAN-SVM, which is public, and what a selection of features leaves."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import State
from tacit.models.files import MisfitError, Shapes, below
from tacit.papers.machine import PublicMachine


class PanMachine(PublicMachine):
    """A PAN-SVM, whose map has landmarks of the parties."""

    def records_of(self) -> dict[str, str]:
        """Return whose records a file contains: nobody says whose, but landmarks may be records."""
        if self.mapped.map.kernel == "linear":
            return {}
        return {"some party": f"{len(self.mapped.map.centres)} landmarks, some of which may be records"}


class ChosenColumns(State):
    """Some of the columns: which, how all of them rank (1: chosen), and accuracies over folds by number of columns."""

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
