"""Messages by which results of a learner are revealed, each as its fact."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Fact, Message, Run
from tacit.protocols.facts import BALANCE, CLASSES, MODEL, SCORES
from tacit.protocols.shares import revealing
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import Opening


class ModelShare(Opening, tells=MODEL):
    """A holder's share of what is revealed of the model."""


class ModelWords(Message, tells=MODEL):
    """The weights, their size, or averages for probabilities, as whole numbers."""

    values: I64


class ClassShare(Opening, tells=CLASSES):
    """A holder's share of which classes have enough records."""


class ClassWords(Message, tells=CLASSES):
    """Which classes have enough records."""

    values: I64


class BalanceShare(Opening, tells=BALANCE):
    """A holder's share of the classes' weights."""


class BalanceWords(Message, tells=BALANCE):
    """The classes' weights, as whole numbers."""

    values: I64


class ScoreShare(Opening, tells=SCORES):
    """A holder's share of bits that say how good candidates are."""


class ScoreWords(Message, tells=SCORES):
    """Which public numbers the scores of candidates reach: bits of comparisons."""

    values: I64


KINDS: dict[Fact, tuple[type[Opening], type[Any]]] = {
    MODEL: (ModelShare, ModelWords),
    CLASSES: (ClassShare, ClassWords),
    BALANCE: (BalanceShare, BalanceWords),
    SCORES: (ScoreShare, ScoreWords),
}


def reveal(run: Run, dealing: Dealing, fact: Fact, x: At[U64], *, size: int) -> F64:
    """Tell everyone whole numbers that the holders have in shares, as one of the facts."""
    return np.asarray(revealing.reveal(run, dealing, *KINDS[fact], x, size=size), dtype=np.float64)
