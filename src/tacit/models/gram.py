"""A gram SVM: the coordinator's coefficients, and every holder's columns of the support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.choreo import F64, Coordinator, Holder, Role, State
from tacit.models.shapes import Shapes, among
from tacit.numeric.kernels import KERNELS
from tacit.protocols.gram_model import DualModel, SupportColumns
from tacit.protocols.gram_weights import WeightShare

Shares = dict[str, tuple[Role, Mapping[str, Any]]]


class GramModel(State):
    """All shares in one place, which exists only where all parties are simulated."""

    dual: DualModel
    columns: dict[str, SupportColumns]
    sigmoids: F64 | None = None  # Platt's A and B, a line per problem; public
    weights: dict[str, WeightShare] = field(default_factory=dict)  # with the linear kernel, from the first question on
    asked: int = 0  # new records so far, where there is a quota

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit; by rows each holder has support vectors of its own, else its cells of all of them."""
        shapes.fit(self.dual.coef, "decisions", "support")
        shapes.fit(self.dual.norms, "support")
        for numbers in (self.dual.bias, self.dual.objective, *([] if self.dual.length is None else [self.dual.length])):
            shapes.fit(numbers, "decisions")
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
            shapes.fit(share.words, "decisions", shapes.columns + 1)
        shapes.fit_sigmoids(self.sigmoids)

    def shares(self, site: str) -> Shares:
        """What each party brings along when the model is asked."""
        return {"dual": (Coordinator, {site: self.dual}), "columns": (Holder, self.columns)}

    def records_of(self) -> dict[str, str]:
        """Whose records a file of this model contains."""
        return {p: f"{c.X.shape[1]} columns of {len(c.X)} support vectors" for p, c in self.columns.items() if c.X.size}


class StoredModel(State):
    """A model that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    sigmoids: F64 | None = None
    weights: str = ""  # the job that shared the weights of a linear one, from the first question on

    def check(self, shapes: Shapes) -> None:
        """Raise unless the parties are the holders and one that coordinates."""
        shapes.of_holders(self.parties[:-1])
        shapes.fit_sigmoids(self.sigmoids)

    def shares(self) -> Shares:
        """As of a whole model; this reference stands for what each party has."""
        *holders, site = self.parties
        return {"dual": (Coordinator, {site: self}), "columns": (Holder, dict.fromkeys(holders, self))}

    def weight_shares(self) -> Shares:
        """The same of the weights."""
        kept = StoredModel(self.weights, self.parties)
        return {"weights": (Holder, dict.fromkeys(self.parties[:-1], kept))}

    def records_of(self) -> dict[str, str]:
        """This file holds a reference only."""
        return {}


@dataclass(frozen=True)
class Answers:
    """Answers about records between organisations: with who asked, under the job's id, and nowhere else."""

    job: str
    at: tuple[str, ...]

    def __str__(self) -> str:
        return f"the answers are at {', '.join(self.at)} only, and read there: tacit party answers {self.job[:8]}"
