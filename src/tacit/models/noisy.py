"""A classifier with differential privacy: a public map to rows of whole numbers, and a linear model on them."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from tacit.arrays import F64, I64
from tacit.choreo import State
from tacit.models.shapes import MisfitError, Shapes, among, check_seed
from tacit.numeric.privacy.descent import MOST, TWO, values_of
from tacit.protocols.noisy.noisy_svm import NoisyMap
from tacit.protocols.noisy.settings import KERNELS, LARGEST

LIKELIEST = 700.0  # the largest logarithm of odds


class NoisyModel(State):
    """f(x) = q(x).w, in whole numbers; whoever has it predicts alone.

    With `sigmoids` the values are logarithms of odds, whose probabilities they give as they are.
    """

    map: NoisyMap
    w: I64
    sigmoids: F64 | None = None  # A = -1 and B = 0, a line per column of `decide`

    def check(self, shapes: Shapes) -> None:
        """Raise unless all parts fit."""
        the_map = self.map
        among(the_map.kernel, KERNELS, "kernel")
        check_seed(the_map.seed)
        for array in (the_map.middle, the_map.half, the_map.centre, the_map.width):
            shapes.fit(array, "columns")
            if not np.isfinite(array).all():
                raise MisfitError("a scale is not finite")
        if not (the_map.half > 0).all() or not (the_map.width > 0).all() or not 0 < the_map.gamma < np.inf:
            raise MisfitError("a width is not positive")
        if the_map.kernel != "linear" and not 1 <= the_map.pairs <= LARGEST // 2:
            raise MisfitError("there are no such Fourier features")
        shapes.fit(self.w, the_map.features.size, "decisions")
        if np.abs(self.w.astype(np.float64)).max() > MOST:
            raise MisfitError("weights are too large")
        shapes.fit_sigmoids(self.sigmoids)

    def decide(self, X: F64) -> F64:
        """Return decision values: one column for two classes, else one per class."""
        values = values_of(self.map.features.rows(X), self.w)
        if self.sigmoids is None or values.shape[1] < TWO:
            return values
        chance = values - logsumexp(values, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(chance - np.log(-np.expm1(np.minimum(chance, -1e-300))), -LIKELIEST, LIKELIEST))

    def records_of(self) -> dict[str, str]:
        """Return nothing: the model contains nobody's records."""
        return {}
