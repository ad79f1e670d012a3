"""Extreme learning machines: a public one over rows, and one over columns in shares."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import Coordinator, Holder, State
from tacit.models.shapes import MisfitError, Shapes, among, below, check_seed
from tacit.numeric.devices import device_of
from tacit.numeric.features.elm import ACTIVATIONS, BLOCK, hidden
from tacit.protocols.elm.shape import Layer, layer_weights
from tacit.protocols.elm.vertical import Master, NodeWeights
from tacit.request import Input, Left, Values
from tacit.scratch import blocks


class ElmModel(State):
    """f(x) = h(x) beta, public; it holds no record, and whoever has it predicts alone.

    Absent classes were not learnt.
    """

    layer: Layer
    beta: F64
    ridge: float
    rank: int
    absent: tuple[int, ...]
    sigmoids: F64 | None = None  # Platt's A and B, a line per column of `decide`

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
        shapes.fit_sigmoids(self.sigmoids)

    @property
    def nodes(self) -> int:
        """Nodes of the hidden layer."""
        return len(self.beta)

    def decide(self, X: F64, device: str = "cpu") -> F64:
        """Return a column of values per output, computed in blocks of records on a device."""
        on = device_of(device)
        W, b, beta = map(on.put, (*layer_weights(self.layer), self.beta))
        step = max(1, max(BLOCK, on.block) // self.layer.nodes)
        there = (on.put(block) for _, block in blocks(X, step))
        found = [on.get(hidden(block, W, b, self.layer.activation, on.xp) @ beta) for block in there]
        values = np.concatenate(found) if found else np.empty((0, self.beta.shape[1]))
        return lowered(values, self.absent)

    def records_of(self) -> dict[str, str]:
        """Return nothing: the model contains nobody's records."""
        return {}


class ElmShares(State):
    """All shares of a model over columns in one place, which exists only where all parties are simulated."""

    master: Master
    weights: dict[str, NodeWeights]
    sigmoids: F64 | None = None  # public

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        among(self.master.activation, ACTIVATIONS, "activation")
        shapes.fit(self.master.beta, "nodes", "decisions")
        shapes.of_holders(self.weights)
        for party, own in self.weights.items():
            shapes.fit(own.W, shapes.held[party], "nodes")
            shapes.fit(own.b, "nodes")
            shapes.same("columns", own.columns)
        shapes.fit_sigmoids(self.sigmoids)

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
    """A model over columns that its parties keep in shares, under the id of the job that trained it."""

    job: str
    parties: tuple[str, ...]
    nodes: int
    sigmoids: F64 | None = None  # public

    def check(self, shapes: Shapes) -> None:
        """Raise unless the parties are the holders and one that coordinates."""
        shapes.same("nodes", self.nodes)
        shapes.of_holders(self.parties[:-1])
        shapes.fit_sigmoids(self.sigmoids)

    def parts(self, site: str) -> dict[str, Input]:
        """Return what each party brings along when the model is asked: what the training left with it."""
        del site
        return {"master": Left(Coordinator, self.job, "master"), "weights": Left(Holder, self.job, "weights")}

    def records_of(self) -> dict[str, str]:
        """Return nothing: the file holds a reference only."""
        return {}


def lowered(values: F64, absent: tuple[int, ...]) -> F64:
    """Return the outputs with those of absent classes below all others."""
    if absent:
        values[:, list(absent)] = np.delete(values, absent, axis=1).min(axis=1, keepdims=True) - 1.0
    return values
