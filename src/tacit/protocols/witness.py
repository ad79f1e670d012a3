"""How holders and a coordinator speak where holders may be witnesses of what the coordinator does.

The coordinator opens sums and publishes what follows from them. With `witness` the sums are open to the holders too.
They repeat every step of the coordinator and stop if it differs: the coordinator cannot publish what it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tacit.arrays import F64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, PeerError, Role, Run, State
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.sums.secure_sum import Protection, open_sum, secure_sum

WITNESSED = Fact(
    "witness.all_sums", "holder", "aggregate", "group", "with witness=True everything that the coordinator learns"
)

M = TypeVar("M", bound=Message)
SAME = 1e-9  # how far a witness lets the coordinator be from its own result


@dataclass(frozen=True)
class Voice:
    """How holders and the coordinator speak in one run: agreed once, and passed on to every part of it.

    `by` protects the sums and `fixed` says how reals are written in them. With `witness` everyone sees the sums and
    repeats the coordinator's steps.
    """

    run: Run
    by: Protection
    fixed: FixedPoint
    witness: bool = False

    @property
    def who(self) -> Role:
        """The role that reads the sums."""
        return Everyone if self.witness else Coordinator

    def add_up(self, step: Callable[..., F64], *args: object) -> At[F64] | F64:
        """Return the sum of what the holders' steps give."""
        x = self.run.local(Holder, step, *args)
        if self.witness:
            opened: F64 = open_sum(self.run, x, by=self.by, fixed=self.fixed)
            return opened
        return secure_sum(self.run, x, to=Coordinator, by=self.by, fixed=self.fixed)

    def announce(self, kind: type[M], step: Callable[..., M], *args: object) -> M:
        """Publish what the coordinator's step gives; witnesses confirm it."""
        message = self.run.publish(kind, self.run.local(Coordinator, step, *args))
        if self.witness:
            self.run.local(Holder, confirm, self.run.local(Holder, step, *args), message)
        return message

    def sum_to_coordinator(self, x: At[F64], what: str, *, symmetric: bool = False) -> At[Array]:
        """Return the sum of the holders' arrays at the coordinator, which nobody else sees, witness or not."""
        return secure_sum(self.run, x, to=Coordinator, by=self.by, fixed=self.fixed, symmetric=symmetric, what=what)


def confirm(own: Message | State, published: Message | State) -> None:
    """Refuse, as a witness, what differs from the coordinator's step that the sums give."""
    for name in own.field_names():
        mine, theirs = getattr(own, name), getattr(published, name)
        if isinstance(mine, State):
            confirm(mine, theirs)
        elif not _agree(mine, theirs):
            raise PeerError(
                f"the coordinator published a {type(own).__name__} whose {name} does not follow from the sums: stop and"
                " ask it"
            )


def _agree(mine: ArrayLike, theirs: ArrayLike) -> bool:
    a, b = np.asarray(mine, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    return a.shape == b.shape and np.allclose(a, b, rtol=SAME, atol=SAME)
