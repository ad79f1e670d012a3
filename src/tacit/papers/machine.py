"""A linear model on a public map whose problems may be pairs of classes: what PAN-SVM and consensus over rows leave."""

from __future__ import annotations

from math import isqrt

from tacit.arrays import F64
from tacit.choreo import State
from tacit.models.files import Shapes
from tacit.models.mapped import MappedModel
from tacit.numeric.scores.folds import votes
from tacit.numeric.svm.kernels import OVO, problems


class PublicMachine(State):
    """f(x) = w.F(x) + b of every problem, and how problems give classes; whoever has it predicts alone."""

    mapped: MappedModel
    multi_class: str

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        self.mapped.check(Shapes(shapes.held, shapes.columns, 0))  # whose columns are problems, and not classes
        shapes.told_apart(self.multi_class)
        shapes.same("problems", self.mapped.weights.shape[1])

    def decide(self, X: F64) -> F64:
        """Return decision values: one column for two classes, else one for each class."""
        return value_classes(self.mapped.decide(X), self.multi_class)

    @property
    def linear(self) -> tuple[F64, F64] | None:
        """The weights of the columns, a row for each problem, and the intercepts; None of a kernel."""
        return self.mapped.linear

    def records_of(self) -> dict[str, str]:
        """Return whose records a file contains: nobody's, unless landmarks are records."""
        return {}


def gamma_of(gamma: float | str, columns: int, cells: int, total: float, squares: float) -> float:
    """Return scikit-learn's 'scale' or 'auto' as a number, from the number, sum and sum of squares of all cells."""
    if gamma == "auto":
        return 1.0 / columns
    if gamma != "scale":
        return float(gamma)
    variance = squares / cells - (total / cells) ** 2 if cells else 0.0
    # a constant table has a variance of nothing but rounding
    return 1.0 / (columns * variance) if variance > 1e-12 * (squares / max(cells, 1)) else 1.0


def value_classes(values: F64, multi_class: str) -> F64:
    """Return a column of values per class, or one for two classes, from a column per problem."""
    found = values.shape[1]
    if found == 1 or multi_class != OVO:
        return values
    classes = (1 + isqrt(1 + 8 * found)) // 2  # of which there are so many pairs
    return votes(values, problems(classes, OVO), classes)
