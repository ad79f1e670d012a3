"""What a job may choose of a machine of the core: short public lists.

Whoever knows all other records could look for the value at which the last one decides what is revealed. A list of few
values leaves nothing to look for, and makes jobs alike. A simulation takes any value.
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.choreo.declaration import Either, Kind, Nothing, Number, OneOf
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.numeric.shares.ridge_plan import MOST_FEATURES

KERNELS = ("linear", "rbf", "poly")
AUTO = OneOf(("auto",))


def choose_steep(least: float, most: float) -> Number:
    """Return the kind of a number above 0 that in a job is 1 or 3 times a power of ten."""
    return Number(0, above=True, job_least=least, job_most=most, job_digits=(1, 3))


COUNT = Number(1, MOST_FEATURES, whole=True, job_digits=tuple(range(1, 10)))
MENU: Mapping[str, Kind] = {
    "alpha": Either((AUTO, choose_steep(1e-6, 1e6))),
    "C": choose_steep(1e-3, 1e4),
    "kernel": OneOf(KERNELS),
    "gamma": Either((OneOf(("scale", "auto")), choose_steep(1e-6, 1e6))),
    "degree": Number(1, whole=True, job_most=9),
    "coef0": Number(job_least=0, job_most=1000, job_digits=(1, 3)),
    "tube": Number(job_least=0, job_most=1e6, job_digits=(1, 3)),
    "features": Either((AUTO, COUNT)),
    "activation": OneOf(("auto", "fourier", *ACTIVATIONS)),
    "n_hidden": Either((Nothing(), COUNT)),
    "scale": choose_steep(1e-3, 1e3),
}
