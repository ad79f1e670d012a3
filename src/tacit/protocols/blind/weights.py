"""Classes in shares, with class weights as boxes of different widths: (1) and (2) of `numeric.shares.losses`.

    w_i = weight of the class of record i / 2^E,     E so that none is above 1                                       (1)

With class_weight='balanced' the sizes of the classes are opened.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64, Array
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import Q_BITS, DualPlan
from tacit.numeric.shares.losses import HINGE, WEIGHTED, Loss
from tacit.protocols.blind.goals import Goal
from tacit.protocols.classes import weigh_classes
from tacit.protocols.facts import BALANCE
from tacit.protocols.part import ClassWeight, Held, Names
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import share_anew

MOST = 64  # of a weight: its bits are added to those of a bias


class SizesShare(Message, tells=BALANCE):
    """A holder's share of how many records each class has, which all of them together open."""

    words: U64


@dataclass(frozen=True)
class Boxes(Goal):
    """Classes, each told from the rest, with the widths of (1), their E, and whether they differ."""

    classes: Names
    widths: tuple[float, ...]
    exponent: int
    weighted: bool
    target_range: None = None

    @property
    def loss(self) -> Loss:
        """The hinge loss, of weighted records if the widths differ."""
        return WEIGHTED if self.weighted else HINGE

    @property
    def problems(self) -> int:
        """One for two classes, else one for each class against the rest."""
        return 1 if len(self.classes) == 2 else len(self.classes)  # noqa: PLR2004 - two classes are one problem

    def price(self, C: float) -> float:
        """Return 2^E C."""
        return C * 2.0**self.exponent

    def follow(self, y: Array, plan: DualPlan) -> Sequence[I64]:
        """Return pull, l and with class weights l + w, (4) and (5) of `losses`."""
        one = np.column_stack([y == name for name in self.classes[-self.problems :]])
        own = [(y == name) * round(np.ldexp(w, Q_BITS)) for name, w in zip(self.classes, self.widths, strict=True)]
        width = np.stack(own, axis=1).astype(np.int64).sum(axis=1, keepdims=True)
        pull = np.where(one, 1, -1) * round(2**Q_BITS / (plan.rho * plan.C))
        lower = np.where(one, 0, -width)
        return (pull, lower, lower, lower + width) if self.weighted else (pull, lower, lower)


def weigh(run: Run, dealing: Dealing, data: At[Held], classes: Names, class_weight: ClassWeight) -> Boxes:
    """Return the widths of (1); refuse a class without any."""
    if class_weight is None:
        return Boxes(classes, (1.0,) * len(classes), 0, weighted=False)
    sizes = open_sizes(run, dealing, data, classes) if isinstance(class_weight, str) else np.ones(len(classes))
    weights = weigh_classes(classes, sizes, class_weight)
    if not weights.min() > 0:
        raise LocalError("features='exact' needs class weights above 0: leave records of other classes out")
    if weights.max() > MOST:
        raise LocalError(
            f"a class weight of {weights.max():g} leaves no room in 64 bits: give at most {MOST}, and a larger C"
        )
    exponent = max(0, math.ceil(math.log2(weights.max())))
    return Boxes(classes, tuple(np.ldexp(weights, -exponent).tolist()), exponent, weighted=True)


@choreography(opens={Everyone: BALANCE})
def open_sizes(run: Run, dealing: Dealing, data: At[Held], classes: Names) -> F64:
    """Return how many records each class has."""
    own = share_anew(run, dealing, run.local(Holder, count_own, data, classes), size=len(classes))
    told = run.publish_all(SizesShare, run.local(Holder, SizesShare, own))
    return Z64.total(message.words for message in told.values()).astype(np.float64)


# Steps at the holders


def count_own(part: Held, classes: Names) -> U64:
    """Return how many records of each class a holder has the labels of."""
    labels = () if part.y is None else part.y
    return np.array([np.sum(labels == name) for name in classes], dtype=np.uint64)
