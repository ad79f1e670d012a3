"""A model of the core: a public map, and weights that were revealed rounded. Whoever has it predicts alone."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import State
from tacit.models.files import MisfitError, Shapes, among
from tacit.numeric.devices import device_of
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.protocols.features.local import raw_blocks
from tacit.protocols.features.maps import FOURIER, LAYER, LINEAR, MIDDLES, PublicMap

KERNELS = (LINEAR, "rbf", "poly", LAYER)


class MappedModel(State):
    """f(x) = middle + reach (z(x), 1).w for every problem; it holds no record.

    step: to which the weights were rounded. sigmoids: Platt's A and B, a line per column of `decide`.
    """

    map: PublicMap
    weights: F64
    step: float
    middle: float = 0.0
    reach: float = 1.0
    sigmoids: F64 | None = None

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        the_map = self.map
        among(the_map.kernel, KERNELS, "kernel")
        shapes.same("columns", the_map.columns)
        if not 0 < the_map.radius < np.inf:
            raise MisfitError("a map has no radius")
        if the_map.kernel == LAYER:
            among(the_map.activation, (FOURIER, *ACTIVATIONS), "activation")
            shapes.fit(the_map.centres, "nodes", "columns")
            shapes.fit(the_map.shift, "nodes")
        elif the_map.kernel == LINEAR:
            shapes.fit(the_map.centres, 1, "columns")
            shapes.fit(the_map.shift, "columns")
        else:
            shapes.fit(the_map.centres, "landmarks", "columns")
            shapes.fit(the_map.basis, "landmarks", the_map.size - 1)
            if the_map.widths.size:
                shapes.fit(the_map.widths, "landmarks")
        shapes.fit(self.weights, the_map.size, "decisions")
        if not np.isfinite(self.weights).all():
            raise MisfitError("a weight is not finite")
        shapes.fit_sigmoids(self.sigmoids)

    @property
    def raw_weights(self) -> F64:
        """The weights of the raw features (kernel values, columns, nodes), the constant last."""
        found = self.map.unfold(self.weights) * self.reach
        found[-1] += self.middle
        return found

    @property
    def node_weights(self) -> F64:
        """The weights of a layer's nodes as activations have them, whose middle is not subtracted."""
        w = self.raw_weights
        w[-1] -= MIDDLES.get(self.map.activation, 0.0) * w[:-1].sum(axis=0)
        return w

    @property
    def linear(self) -> tuple[F64, F64] | None:
        """The weights of the columns, a row for each problem, and the intercepts; None of a kernel or a layer."""
        if self.map.kernel != LINEAR:
            return None
        w = self.raw_weights
        used = self.map.shift[:, None] * w[:-1]
        return used.T, w[-1] - self.map.centres[0] @ used

    def decide(self, X: F64, device: str = "cpu") -> F64:
        """Return a column of values for each problem, computed in blocks of records on a device."""
        on, w = device_of(device), self.raw_weights
        there = on.put(w)
        found = [on.get(V @ there) for _, V, _ in raw_blocks(X, self.map, on)]
        return np.concatenate(found) if found else np.empty((0, w.shape[1]))

    def records_of(self) -> dict[str, str]:
        """Return nothing: landmarks are synthetic, and the model contains nobody's records."""
        return {}
