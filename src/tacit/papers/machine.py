"""A linear model on a public map whose problems may be pairs of classes: what PAN-SVM and consensus over rows leave."""

from __future__ import annotations

from tacit.arrays import F64
from tacit.choreo import State
from tacit.models.mapped import MappedModel
from tacit.models.shapes import Shapes
from tacit.numeric.svm.problems import value_classes


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
