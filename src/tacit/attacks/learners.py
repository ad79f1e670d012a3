"""The estimators that attacks on models are tried against: those whose model is public."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.twins import Train, train_between
from tacit.errors import LocalError

PARTIES = ("north", "east", "south")


@dataclass(frozen=True)
class Learner:
    """What is trained anew, between parties that hold rows."""

    name: str
    train: Train


LEARNERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SVC", {}),
    ("SVC", {"loss": "hinge"}),
    ("ELMClassifier", {}),
)


def list_learners() -> Iterator[Learner]:
    """Yield the learners of the studies; estimators are known by name here, since they are built on a floor above."""
    for name, params in LEARNERS:
        said = ", ".join(f"{key}={value!r}" for key, value in params.items())
        estimator = getattr(import_module("tacit"), name)(**params)
        yield Learner(f"{name}({said})", train_between(estimator, PARTIES, "horizontal"))


# What studies of attacks are made of: points, and how far to step


MANY = 400  # records of a study: attacks do not get better with more
FEW = 60  # with fewer there is nothing to compare with
ERROR = "relative error"


@dataclass(frozen=True)
class Point:
    """What came out: under which variant of the method, with so much known."""

    variant: str
    knows: float
    found: float


Points = Iterator[Point]


def steps(top: int) -> list[int]:
    """Return how much is known in a study: from nothing to enough, and one short of that."""
    return sorted({0, top // 4, top // 2, 3 * top // 4, top - 1, top})


def scale(X: F64, top: int) -> I64:
    """Return the values as whole numbers of up to that size."""
    return np.asarray(np.rint(X / np.abs(X).max() * top), np.int64)


@dataclass(frozen=True)
class Attack:
    """An attack: which estimators it is against, what its attacker knows, and what is measured.

    Of an error a small one is a success. `reads` names the facts that the attack starts from: who is told one of them
    can try it. `needs` says what else it takes, and `stopped` which rule of this version stops it, if one does;
    `accepted` says that a job which accepts the risk is without that rule. `finds`: "records", or "members", of whom
    the attacker has the records, or most of them, and learns that they were in the training. `per_column`: how many
    records it needs for each column that varies.
    """

    name: str
    against: tuple[str, ...]
    shows: str
    knows: str
    measures: str
    study: Callable[[F64, I64], Points]
    reads: tuple[str, ...] = ()
    needs: str = ""
    stopped: str = ""
    accepted: bool = False
    finds: str = "records"
    per_column: int = 4

    def points(self, X: F64, y: I64) -> list[Point]:
        """Play the attack on standardised records of two classes, and return what came out."""
        rows = np.random.default_rng(0).permutation(len(X))[:MANY]
        spread = X.std(axis=0)
        kept = X[:, spread > 0]
        needed = max(FEW, self.per_column * kept.shape[1])
        if kept.shape[1] < 2 or len(rows) < needed:  # noqa: PLR2004 - one column has nothing to mix
            raise LocalError(
                f"{len(rows)} records of {kept.shape[1]} columns that vary are too few to study {self.name}: give at"
                f" least two columns, and {needed} records"
            )
        return list(self.study(((kept - kept.mean(axis=0)) / kept.std(axis=0))[rows], y[rows]))
