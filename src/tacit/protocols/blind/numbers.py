"""Targets that are numbers, in shares: a regression.

    y_i -> (y_i - m) / h,        m, h: the middle and half the width of a range that no target leaves                (1)

The range is declared, and targets beyond it are cut. Without a declaration, the parties learn the smallest power of
two that no target exceeds in size, and nothing else of the range (`secure_or`). C and tube are divided by h too, so the
solution is that of the targets themselves: f = m + C (K beta + b / C).

Roles, threat: as `shares.dealing`. The holder of a target computes (1) before it shares the target. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Array, Flags
from tacit.choreo import At, Coordinator, Everyone, Holder, Labeller, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.integers import exponent_over, mark_exceeded
from tacit.numeric.shares.dual_plan import Q_BITS, DualPlan
from tacit.numeric.shares.losses import INSENSITIVE, Loss
from tacit.protocols.blind.goals import Goal
from tacit.protocols.facts import MAGNITUDES
from tacit.protocols.part import Held, Names
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import protect

Span = tuple[float, float]


class TargetRange(Message, tells=MAGNITUDES):
    """The exponent of the smallest power of two that no target exceeds in size."""

    exponent: int


@dataclass(frozen=True)
class Numbers(Goal):
    """Numbers in a public range; errors up to tube cost nothing."""

    target_range: Span
    tube: float
    classes: Names = ()
    exponent: int = 0

    def __post_init__(self) -> None:
        if not self.tube < self.half:
            raise LocalError(
                f"tube={self.tube:g} is not below {self.half:g}, half the range of the targets, so that no error"
                " would count: lower tube, or declare the target_range that targets have"
            )

    @property
    def half(self) -> float:
        """Half the width of the range: h of (1)."""
        return half_of(self.target_range)

    @property
    def loss(self) -> Loss:
        """The insensitive loss."""
        return INSENSITIVE

    @property
    def problems(self) -> int:
        """One."""
        return 1

    def price(self, C: float) -> float:
        """Return C / h."""
        return C / self.half

    def follow(self, y: Array, plan: DualPlan) -> Sequence[I64]:
        """Return pull, l, k and -1 - k, (6) of `losses`."""
        scaled = (np.clip(y.astype(np.float64), *self.target_range)[:, None] - middle_of(self.target_range)) / self.half
        pull = _encode(scaled / (plan.rho * plan.C))
        one, k = (_encode(np.full_like(scaled, x)) for x in (1.0, self.tube / self.half / (plan.rho * plan.C)))
        return pull, -one, k, -one - k


@choreography(opens={Everyone: MAGNITUDES})
def agree_on_numbers(run: Run, data: At[Held], partition: str, tube: float, declared: Span | None) -> Numbers:
    """Return the range of the targets, declared or found, and tube."""
    who = Holder if partition == "horizontal" else Labeller
    run.local(who, check_targets, data, run.who(who))
    if declared is not None:
        return Numbers(declared, tube)
    by, own = protect(run), run.local(Holder, mark_targets, data)
    marks = secure_or(run, own, to=Coordinator, by=by, what="range of the targets")
    size = 2.0 ** run.publish(TargetRange, run.local(Coordinator, find_range, marks)).exponent
    return Numbers((-size, size), tube)


def middle_of(span: Span | None) -> float:
    """Return what is added to answers: m of (1), or 0 for classes."""
    return 0.0 if span is None else (span[0] + span[1]) / 2.0


def half_of(span: Span | None) -> float:
    """Return what C is divided by: h of (1), or 1 for classes; refuse a range without a width."""
    if span is None:
        return 1.0
    if not span[0] < span[1]:
        raise LocalError(f"target_range=({span[0]:g}, {span[1]:g}) has no width: give two different numbers")
    return (span[1] - span[0]) / 2.0


# Steps at the holders


def check_targets(part: Held, me: str) -> None:
    """Refuse records without targets, and targets that are no numbers."""
    if part.y is None and len(part.X):
        raise LocalError(
            f"{me} holds no targets of its records: name the party that does (labeller=...), by rows give y at every"
            " party"
        )
    if not np.isfinite(_read(part)).all():
        raise LocalError(f"a target of {me} is not a finite number: impute or remove it")


def mark_targets(part: Held) -> Flags:
    """Return which powers of two a target of the holder exceeds in size."""
    return mark_exceeded(_read(part))


def _read(part: Held) -> F64:
    return np.empty(0) if part.y is None else part.y.astype(np.float64)


def _encode(values: F64) -> I64:
    return np.rint(np.ldexp(values, Q_BITS)).astype(np.int64)


# Steps at the coordinator


def find_range(marks: Flags) -> TargetRange:
    """Return the range that holds all targets, from what anybody marked."""
    return TargetRange(exponent_over(marks))
