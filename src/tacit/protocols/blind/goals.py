"""What is learnt in shares: labels or targets, and what follows from them at the holder that has them.

    pull_i = y_i / (rho C),     l_i,     e_ij         of (4) to (6) of `numeric.shares.losses`                       (1)

The labeller, or by rows each holder, knows the labels or targets of its records. So its share is (1), and everybody
else's share is zero. Classes are in `blind.goals`, numbers in `blind.numbers`.

A constant in y moves the bias and nothing else. But the rounding errors of Z 1 and of 1 / n would be multiplied by it.
So the mean of the pull is subtracted, in shares, and added to the bias again.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, U64, Array
from tacit.choreo import At, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import Q_BITS, DualPlan
from tacit.numeric.shares.losses import HINGE, WEIGHTED, Loss
from tacit.protocols.classes import weigh_classes
from tacit.protocols.facts import BALANCE, UNIFORM
from tacit.protocols.part import ClassWeight, Held, Names
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import share_anew, truncate

ROOM = 61  # bits that a product may have


class SideShare(State):
    """A holder's share of (1), a column for each problem; all with `Q_BITS` after the point.

    edges: a line for each j. middle: for each problem, what was subtracted from the pull of all records.
    """

    pull: U64
    lower: U64
    edges: U64
    middle: U64


class Goal(ABC):
    """What is learnt: classes or numbers, as far as it is public.

    classes: empty for numbers. exponent: E; coefficients are in units of 2^E C. target_range: None for classes.
    """

    classes: Names
    exponent: int
    target_range: tuple[float, float] | None

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What errors cost."""

    @property
    @abstractmethod
    def problems(self) -> int:
        """How many problems share all rounds."""

    @abstractmethod
    def price(self, C: float) -> float:
        """Return C in units in which no label, target or coefficient is larger than 1."""

    @abstractmethod
    def follow(self, y: Array, plan: DualPlan) -> Sequence[I64]:
        """Return (1) of these labels or targets: pull, l and every e_j, each a matrix of records x problems."""


@choreography(opens={Holder: UNIFORM})
def centre_pull(run: Run, dealing: Dealing, sides: At[SideShare], plan: DualPlan) -> At[SideShare]:
    """Return the sides with a pull whose mean is zero, up to rounding."""
    bits = ROOM + 1 - Q_BITS - plan.window.I  # no pull is larger than the window, 2^(I-2)
    middle = truncate(run, dealing, run.local(Holder, average_pull, sides, plan, bits), bits, size=plan.problems)
    return run.local(Holder, take_off, sides, middle)


# Steps at the holders


def average_pull(sides: SideShare, plan: DualPlan, bits: int) -> U64:
    """Return the share of the mean of the pull of each problem, with so many more bits after the point."""
    sums: U64 = sides.pull.reshape(plan.n, -1).sum(axis=0)
    return sums * np.uint64(round(2**bits / plan.n))


def take_off(sides: SideShare, middle: U64) -> SideShare:
    """Return the sides with the middle subtracted from the pull."""
    pull = (sides.pull.reshape(-1, middle.size) - middle).ravel()
    return SideShare(pull, sides.lower, sides.edges, middle)


def own_sides(part: Held, goal: Goal, plan: DualPlan, owners: Owners, me: str) -> SideShare:
    """Return the holder's share of (1): values for records whose labels or targets it has, and zeros elsewhere."""
    lines = np.zeros((2 + plan.loss.pieces, owners.shape[0], plan.problems), dtype=np.uint64)
    if part.y is not None:
        lines[:, owners.rows[me]] = np.stack(goal.follow(part.y, plan)).view(np.uint64)
    pull, lower, *edges = lines.reshape(len(lines), -1)
    return SideShare(pull, lower, np.stack(edges), np.zeros(plan.problems, dtype=np.uint64))


def check_unweighted(part: Held, me: str) -> None:
    """Refuse sample weights, which would otherwise be ignored."""
    if part.weight is not None:
        raise LocalError(
            f"{me} brings sample weights, which features='exact' does not support: leave them out, or train with"
            " landmarks"
        )


# Classes in shares, with class weights as boxes of different widths: (1) and (2) of `numeric.shares.losses`.
#
#     w_i = weight of the class of record i / 2^E,     E so that none is above 1                                     (1)
#
# With class_weight='balanced' the sizes of the classes are opened.


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
