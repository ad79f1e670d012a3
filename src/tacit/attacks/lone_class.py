"""Lone class: the features of a record that is a class of its own, from the weights of one model.

    (S + a I) W = H,    h_k = sum_i q_i z_i t_ik,    t_ik = 1 where record i is of class k, else -1                 (1)
    -(h_0 + h_1) = 2 sum of q_i z_i over the third class,    so that with a large a    -(w_0 + w_1) ~ 2 q z / a     (2)

Of three classes the targets of two cancel each other everywhere but in the third one. What is left is a record where
the third class has one, and the mean of its records where it has more. With a linear kernel its last feature, which is
1, gives the scale, and centre and radius of the map turn features into values. Weights of the classes that make all
other records small make the noise small beside it, too.

Whoever chooses labels can play it in a simulation, where a class may have one record and any weight. A job between
organisations gives no weights, and a class of fewer than `LEAST_CLASS` records is none: there is one line of weights
for the two that are left, from which nothing is found.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.learners import Point, Points
from tacit.attacks.twins import train_between
from tacit.protocols.features.maps import PublicMap
from tacit.protocols.learners.targets import LEAST_CLASS

SIZES = (1, 2, 3, 5, 10)  # records of the class, in the study
CHOSEN = {0: 1e-3, 1: 1e-3, 2: 1.0}
JOBS: dict[str, tuple[dict[str, object], int]] = {  # parameters, and how many records a class has at least
    "simulation, weights of the classes": ({"alpha": 30.0, "class_weight": CHOSEN}, 1),
    "simulation, no weights": ({"alpha": 1e4}, 1),
    "as in a job, class_weight='balanced'": ({"alpha": 1e5, "class_weight": "balanced"}, LEAST_CLASS),
    "as in a job, no weights": ({"alpha": 1e4}, LEAST_CLASS),
}
THIRD = 2
PARTIES = ("north", "east", "south")


class Machine(Protocol):
    """A public model: a map, and a row of weights for each feature."""

    @property
    def map(self) -> PublicMap:
        """The map."""
        ...

    @property
    def weights(self) -> F64:
        """The weights."""
        ...


def lone_class(model: Machine) -> F64 | None:
    """Return the one record of the third class, or the mean of its records, from a model with a linear kernel, (2)."""
    if model.weights.shape[1] < THIRD + 1:
        return None
    found = -(model.weights[:, 0] + model.weights[:, 1])
    last = found[-1] if found[-1] != 0 else np.inf
    return np.asarray(model.map.centres[0] + model.map.radius * found[:-1] / last)


def study(X: F64, y: I64) -> Points:
    """Yield how far what is found is from the nearest record of a class, by how many records it has."""
    for name, (params, least) in JOBS.items():
        machine = import_module("tacit").SVC(kernel="linear", **params)  # by name: estimators are a layer above
        for size in SIZES:
            labels = np.where(np.arange(len(y)) < size, THIRD, y != y[0])
            # a simulation takes any class: what a job does with a small one is to declare the others alone
            machine = machine.set_params(classes=(0, 1) if size < least else None)
            found = lone_class(train_between(machine, PARTIES, "horizontal")(X, labels, 0).model_)
            off = 1.0
            if found is not None:
                off = float((np.linalg.norm(X[:size] - found, axis=1) / np.linalg.norm(X[:size], axis=1)).min())
            yield Point(name, size, min(1.0, off))
