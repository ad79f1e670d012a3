"""An extreme learning machine over columns: the coordinator's output weights, every holder's part of the layer."""

from __future__ import annotations

from tacit.choreo import Coordinator, Holder, State
from tacit.models.files import Shapes, among
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.papers.elm.vertical import Master, NodeWeights
from tacit.request import Input, Left, Values


class ElmShares(State):
    """All shares in one place, which exists only where all parties are simulated."""

    master: Master
    weights: dict[str, NodeWeights]

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        among(self.master.activation, ACTIVATIONS, "activation")
        shapes.fit(self.master.beta, "nodes", "decisions")
        shapes.of_holders(self.weights)
        for party, own in self.weights.items():
            shapes.fit(own.W, shapes.held[party], "nodes")
            shapes.fit(own.b, "nodes")
            shapes.same("columns", own.columns)

    @property
    def nodes(self) -> int:
        """Nodes of the hidden layer."""
        return len(self.master.beta)

    def parts(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked."""
        return {"master": Values(Coordinator, {site: self.master}), "weights": Values(Holder, self.weights)}

    def records_of(self) -> dict[str, str]:
        """Return nothing: the weights are drawn, and contain nobody's records."""
        return {}


class StoredElm(State):
    """A model that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    nodes: int

    def check(self, shapes: Shapes) -> None:
        """Raise unless the parties are the holders and one that coordinates."""
        shapes.same("nodes", self.nodes)
        shapes.of_holders(self.parties[:-1])

    def parts(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked: what the training left with it."""
        del site
        return {"master": Left(Coordinator, self.job, "master"), "weights": Left(Holder, self.job, "weights")}

    def records_of(self) -> dict[str, str]:
        """Return nothing: the file holds a reference only."""
        return {}
