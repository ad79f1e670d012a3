"""What is learnt in shares: labels or targets, and what follows from them at the holder that has them.

    pull_i = y_i / (rho C),     l_i,     e_ij         of (4) to (6) of `numeric.shares.losses`                       (1)

The labeller, or by rows each holder, knows the labels or targets of its records. So its share is (1), and everybody
else's share is zero. Classes are in `blind.weights`, numbers in `blind.numbers`.

A constant in y moves the bias and nothing else. But the rounding errors of Z 1 and of 1 / n would be multiplied by it.
So the mean of the pull is subtracted, in shares, and added to the bias again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from tacit.arrays import I64, U64, Array
from tacit.choreo import At, Holder, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.shares.dual_plan import Q_BITS, DualPlan
from tacit.numeric.shares.losses import Loss
from tacit.protocols.facts import UNIFORM
from tacit.protocols.part import Held, Names
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import truncate

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
