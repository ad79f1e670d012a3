"""Twins of a model: models of the same training on halves of the records, by which an attacker learns what to expect.

    s_k(i)   how sure twin k is of record i: the margin of its class, or minus the error of a number
    in_k(i)  whether i was among the rows of twin k

Any estimator with `fit` and `decision_function` (or `predict`, of numbers) has twins. Those of a federated one train
in simulation, between as many parties. What is public in a model, such as the seed of its map, is the same in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.utils import _safe_indexing

from tacit.arrays import F64, Array
from tacit.federation import Federation

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Train = Callable[[Any, Array, int], Any]  # records, targets, number of the twin -> a fitted model
PUBLIC_SEED = 0  # of the map of every twin: an attacker knows that of the model


@dataclass(frozen=True)
class Twins:
    """Fitted models, which records each was trained on, and how sure each is of all of them."""

    models: tuple[Any, ...]
    member: Bools
    sure: F64

    def __len__(self) -> int:
        return len(self.models)

    def first(self, count: int) -> Twins:
        """Return the first ones."""
        return Twins(self.models[:count], self.member[:count], self.sure[:count])

    def without(self, k: int) -> Twins:
        """Return all twins but one."""
        others = np.arange(len(self)) != k
        models = tuple(model for model, other in zip(self.models, others, strict=True) if other)
        return Twins(models, self.member[others], self.sure[others])


@dataclass(frozen=True)
class Target:
    """A model that is attacked, and the twins that the attacker has; `member` only tells how well the attack went."""

    model: Any
    member: Bools
    sure: F64
    twins: Twins


def target_twins(twins: Twins) -> list[Target]:
    """Return every twin as a target of all others: so a few twins tell much about their training."""
    return [Target(model, twins.member[k], twins.sure[k], twins.without(k)) for k, model in enumerate(twins.models)]


def target_model(model: Any, X: Any, y: Array, member: Bools, twins: Twins) -> list[Target]:
    """Return one model as the target of twins, which were trained on some of the same records."""
    return [Target(model, member, measure_sureness(model, X, y), twins)]


def train_twins(train: Train, X: Any, y: Array, *, count: int, share: float = 0.5, seed: int = 0) -> Twins:
    """Return so many twins, each trained on a random share of the records of every class."""
    rng = np.random.default_rng(seed)
    member = np.array([_draw(y, share, rng) for _ in range(count)])
    models = tuple(train(_safe_indexing(X, np.flatnonzero(rows)), y[rows], k) for k, rows in enumerate(member))
    return Twins(models, member, np.array([measure_sureness(model, X, y) for model in models]))


def train_between(estimator: Any, parties: Sequence[str], partition: Any, **table: Any) -> Train:
    """Return what trains an unfitted copy of a federated estimator in simulation, between such parties.

    Rows are dealt round in their order, so that one row more at the end moves no other.
    """

    def train(X: Any, y: Array, number: int) -> Any:
        split: dict[str, Any] = {"parties": parties, "seed": number}
        if partition == "horizontal":
            split = {"split": "column", "by": np.resize(np.array(parties), len(y))}
        return copy_estimator(estimator).fit(Federation.simulate(X, y, partition=partition, **split, **table))

    return train


def train_here(estimator: Any) -> Train:
    """Return what trains an unfitted copy of any estimator on plain records."""
    return lambda X, y, number: copy_estimator(estimator).fit(X, y)  # noqa: ARG005 - twins are numbered


def copy_estimator(estimator: Any) -> Any:
    """Return an unfitted copy, whose map has the seed that all twins share; noise that it adds is its own."""
    copied = clone(estimator)
    params = copied.get_params()
    seeds = [name for name in params if name.rpartition("__")[2] == "random_state"]
    owners = {name: params.get(name.rpartition("__")[0], copied) for name in seeds}
    return copied.set_params(**{name: share_seed(owner) for name, owner in owners.items()})


def share_seed(estimator: Any) -> Any:
    """Return the public seed; of a simulation that a number repeats as a whole, noise and all, as a state."""
    repeats = hasattr(estimator, "_repeatable")
    return np.random.RandomState(PUBLIC_SEED) if repeats else PUBLIC_SEED


def measure_sureness(model: Any, X: Any, y: Array) -> F64:
    """Return how sure a fitted model is of the truth about every record."""
    if is_regressor(model):
        return -np.abs(np.asarray(model.predict(X), np.float64) - y)
    values, classes = np.asarray(model.decision_function(X), np.float64), model.classes_
    place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    learnt = classes[place] == y  # a class of few records may be in no half of them
    if values.ndim == 1:
        return np.asarray(np.where(learnt, np.where(place == 1, values, -values), -np.abs(values)))
    rows = np.arange(len(values))
    own, others = values[rows, place], values.copy()
    others[rows, place] = -np.inf
    return np.asarray(np.where(learnt, own - others.max(axis=1), values.min(axis=1) - values.max(axis=1)))


def _draw(y: Array, share: float, rng: np.random.Generator) -> Bools:
    """Return a random share of the rows; of few different targets, of each of them."""
    kinds, kind = np.unique(y, return_inverse=True)
    if len(kinds) > len(y) // 4:  # numbers
        kind = np.zeros(len(y), dtype=np.int64)
    rank = np.empty(len(y))
    for each in np.unique(kind):
        rows = np.flatnonzero(kind == each)
        rank[rows] = (rng.permutation(len(rows)) + rng.uniform()) / len(rows)
    return np.asarray(rank < share)
