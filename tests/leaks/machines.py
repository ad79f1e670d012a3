"""Machines of the core as an attacker has them: trained in one process, with the shipped noise or without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from conformance.case import flat
from tacit.choreo import Coordinator, Holder, Labeller, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.protocols.features.landmarks import standard_distribution
from tacit.protocols.learners import least_squares, rounding, svm, targets
from tacit.protocols.learners.targets import LEAST_CLASS
from tacit.runtimes.together import Together

DEALER = "dealer"
SHIPPED = {  # as a job between organisations has it, but for `repeat`, which the public landmarks follow from
    "kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "loss": "least_squares", "features": "auto", "C": 1.0,
    "alpha": "auto", "balanced": False, "class_prices": None, "least_class": LEAST_CLASS, "weight_cap": 1.0,
    "repeat": 7,
}  # fmt: skip
OFF = {"least_class": 1}  # what only a simulation may choose


def names_of(X: Any) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(X.shape[1]))


def by_rows(X: Any, y: Any, holders: int = 3) -> dict[str, Any]:
    return {f"p{i}": part_of(X[i::holders], y[i::holders], None, names_of(X)) for i in range(holders)}


def play(
    parts: dict[str, Any], *, noise: int = 0, partition: str = "horizontal", lasting: bool = False, **chosen: Any
) -> tuple[Any, Any]:
    """Train; return the run and the model. `noise` numbers the randomness of the run.

    lasting: whether parties keep a secret from job to job, as sites do.
    """
    names = tuple(parts)
    roster = Roster({Holder: names, Coordinator: (DEALER,), Labeller: names[:1]})
    roots = {p: p.encode().ljust(24, b".") + noise.to_bytes(8, "little") for p in roster.parties}
    entropy = RootEntropy(roster.parties, b"run", roots, lasting=dict.fromkeys(names, b"kept") if lasting else None)
    with Together(roster, job=b"machines", entropy=entropy) as run:
        return run, flat(svm.train_svm)(run, run.hold(Holder, parts), partition=partition, **(SHIPPED | chosen))


def train(X: Any, y: Any, *, noise: int = 0, holders: int = 3, **chosen: Any) -> Any:
    """Return the model of records that some holders have row by row."""
    return play(by_rows(X, y, holders), noise=noise, **chosen)[1]


@contextmanager
def edition() -> Iterator[None]:
    """Draw landmarks from one public distribution in all jobs: that of an edition of standardised columns."""
    with patch.object(svm, "find_distribution", lambda *_, columns, **__: standard_distribution(columns, 7)):
        yield


FOUND = svm.find_distribution


@contextmanager
def found_landmarks() -> Iterator[None]:
    """Let each job find landmarks of its own from the records, as jobs without an edition do."""
    with patch.object(svm, "find_distribution", FOUND):
        yield


@contextmanager
def exact_weights() -> Iterator[None]:
    """Reveal weights as they are, to the last bit of the shares: the defence is off."""
    with patch.object(rounding, "FINE", 60), patch.object(rounding, "add_noise", lambda w, *_: w):
        yield


@contextmanager
def exact_comparisons() -> Iterator[None]:
    """Compare the size of weights and counts of classes, and reveal averages, without noise: the defence is off."""

    def keep(_run: Any, x: Any, *_: Any, **__: Any) -> Any:
        return x

    with (
        patch.object(rounding, "move_limits", keep),
        patch.object(targets, "add_common_noise", keep),
        patch.object(least_squares, "add_noise", keep),
    ):
        yield


@contextmanager
def least_limits() -> Iterator[None]:
    """Let the noise on limits be what suits an attacker best: every class of `LEAST_CLASS` records is one."""
    with patch.object(targets, "HIDDEN", 1):
        yield


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def distance(found: Any, record: Any) -> float:
    """Return how far what was found is from a record, relative to that record's length; 1 where nothing was found."""
    off = float(np.linalg.norm(found - record) / np.linalg.norm(record))
    return min(off, 1.0) if np.isfinite(off) else 1.0
