"""A gram SVM: the coordinator's coefficients, and every holder's columns of the support vectors."""

from __future__ import annotations

from dataclasses import field

from tacit.choreo import Coordinator, Holder, State
from tacit.models.files import Shapes, among
from tacit.numeric.svm.kernels import KERNELS, OVR
from tacit.papers.gram.train import DualModel, SupportColumns
from tacit.papers.gram.weights import WeightShare
from tacit.request import Input, Left, Values

Shares = dict[str, Input]


class GramModel(State):
    """All shares in one place, which exists only where all parties are simulated."""

    dual: DualModel
    columns: dict[str, SupportColumns]
    weights: dict[str, WeightShare] = field(default_factory=dict)  # with the linear kernel, from the first question on
    asked: int = 0  # new records so far, where there is a quota

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit.

        By rows each holder has support vectors of its own, else its cells of all of them.
        """
        shapes.told_apart(self.dual.multi_class)
        shapes.fit(self.dual.coef, "problems", "support")
        shapes.fit(self.dual.norms, "support")
        for numbers in (self.dual.bias, self.dual.objective, *([] if self.dual.length is None else [self.dual.length])):
            shapes.fit(numbers, "problems")
        among(self.dual.kernel, KERNELS, "kernel")
        shapes.of_holders(self.columns)
        for party, own in self.columns.items():
            shapes.fit(own.X, len(own.X), shapes.held[party])
            if own.owned is not None:
                shapes.fit(own.owned, *own.X.shape)
        rows = [len(own.X) for own in self.columns.values()]
        shapes.same("support", sum(rows) if len({*rows, len(self.dual.norms)}) > 1 else rows[0])
        if self.weights:
            shapes.of_holders(self.weights)
        for share in self.weights.values():
            shapes.fit(share.words, "problems", shapes.columns + 1)

    @property
    def multi_class(self) -> str:
        """Which problems several classes are."""
        return self.dual.multi_class

    def shares(self, site: str) -> Shares:
        """Return what each party brings along when the model is asked."""
        return {"dual": Values(Coordinator, {site: self.dual}), "columns": Values(Holder, self.columns)}

    def weight_shares(self) -> Shares:
        """Return what each holder brings along of the weights of a linear model."""
        return {"weights": Values(Holder, dict(self.weights))}

    def records_of(self) -> dict[str, str]:
        """Return whose records a file of this model contains."""
        return {p: f"{c.X.shape[1]} columns of {len(c.X)} support vectors" for p, c in self.columns.items() if c.X.size}


class StoredModel(State):
    """A model that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    weights: str = ""  # the job that shared the weights of a linear one, from the first question on
    multi_class: str = OVR

    def check(self, shapes: Shapes) -> None:
        """Raise unless the parties are the holders and one that coordinates."""
        shapes.told_apart(self.multi_class)
        shapes.of_holders(self.parties[:-1])

    def shares(self, site: str) -> Shares:
        """Return what each party brings along when the model is asked: what the training left with it."""
        del site
        return {"dual": Left(Coordinator, self.job, "dual"), "columns": Left(Holder, self.job, "columns")}

    def weight_shares(self) -> Shares:
        """Return what each holder brings along of the weights of a linear model."""
        return {"weights": Left(Holder, self.weights)}

    def records_of(self) -> dict[str, str]:
        """Return nothing: the file holds a reference only."""
        return {}
