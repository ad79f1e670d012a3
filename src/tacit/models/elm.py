"""Extreme learning machines: a public one over rows, and one over columns in shares."""

from __future__ import annotations

import numpy as np

from tacit.choreo import F64, State
from tacit.models.shapes import MisfitError, Shapes, among, below, check_seed
from tacit.numeric.elm import ACTIVATIONS, BLOCK, hidden
from tacit.protocols.elm_horizontal import Layer, layer_weights
from tacit.protocols.elm_vertical import Master, NodeWeights


class ElmModel(State):
    """f(x) = h(x) beta, public; it holds no record, and whoever has it predicts alone. Absent classes were not learnt."""

    layer: Layer
    beta: F64
    ridge: float
    rank: int
    absent: tuple[int, ...]

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit; the hidden layer is drawn anew, so its size must be that of the weights."""
        among(self.layer.activation, ACTIVATIONS, "activation")
        check_seed(self.layer.seed)
        shapes.same("columns", self.layer.columns)
        shapes.same("nodes", self.layer.nodes)
        shapes.fit(self.beta, "nodes", "decisions")
        below(self.absent, self.beta.shape[1])
        if len({*self.absent}) >= self.beta.shape[1]:
            raise MisfitError("a model has learnt none of its classes")

    def decide(self, X: F64) -> F64:
        """A column per output, in blocks of records."""
        W, b = layer_weights(self.layer)
        step = max(1, BLOCK // self.layer.nodes)
        found = [hidden(X[i : i + step], W, b, self.layer.activation) @ self.beta for i in range(0, len(X), step)]
        values = np.concatenate(found) if found else np.empty((0, self.beta.shape[1]))
        return lowered(values, self.absent)

    def records_of(self) -> dict[str, str]:
        """Nobody's."""
        return {}


class ElmShares(State):
    """All shares of a model over columns in one place, which exists only where all parties are simulated."""

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

    def records_of(self) -> dict[str, str]:
        """Nobody's: weights are drawn, not learnt."""
        return {}


def lowered(values: F64, absent: tuple[int, ...]) -> F64:
    """Outputs that were not learnt, under all others."""
    if absent:
        values[:, list(absent)] = np.delete(values, absent, axis=1).min(axis=1, keepdims=True) - 1.0
    return values
