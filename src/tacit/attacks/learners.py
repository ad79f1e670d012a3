"""The estimators that attacks on models are tried against: those whose model is public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tacit.attacks.twins import Train, train_between

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
