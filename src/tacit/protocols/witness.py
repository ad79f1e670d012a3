"""How holders and a coordinator speak where the coordinator's steps may have witnesses.

The coordinator opens sums and publishes what follows from them. With `witness` the sums are open to the holders too, who repeat every step
of the coordinator and stop if it differs: it cannot publish what is allowed, or an iterate, as it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tacit.choreo import F64, Coordinator, Everyone, Holder, Message, PeerError, Role, Run, State
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.secure_sum import Protection, open_sum, secure_sum

M = TypeVar("M", bound=Message)
SAME = 1e-9  # how far a witness lets the coordinator be from its own result


@dataclass(frozen=True)
class Voice:
    """How holders and coordinator speak in a run: with `witness` everyone sees the sums and repeats the coordinator's steps."""

    run: Run
    by: Protection
    fixed: FixedPoint
    witness: bool

    @property
    def who(self) -> Role:
        """Who reads the sums."""
        return Everyone if self.witness else Coordinator

    def added(self, step: Callable[..., F64], *args: Any) -> Any:
        """The sum of what the holders' steps give."""
        x = self.run.local(Holder, step, *args)
        if self.witness:
            return open_sum(self.run, x, by=self.by, fixed=self.fixed)
        return secure_sum(self.run, x, to=Coordinator, by=self.by, fixed=self.fixed)

    def told(self, kind: type[M], step: Callable[..., M], *args: Any) -> M:
        """What the coordinator's step gives, published."""
        message = self.run.publish(kind, self.run.local(Coordinator, step, *args))
        if self.witness:
            self.run.local(Holder, confirm, self.run.local(Holder, step, *args), message)
        return message


def confirm(own: Message | State, published: Message | State) -> None:
    """A witness: the coordinator's step must be the one that the sums give."""
    for name in own.field_names():
        mine, theirs = getattr(own, name), getattr(published, name)
        if isinstance(mine, State):
            confirm(mine, theirs)
        elif np.shape(mine) != np.shape(theirs) or not np.allclose(_floats(mine), _floats(theirs), rtol=SAME, atol=SAME):
            raise PeerError(f"the coordinator published a {type(own).__name__} whose {name} does not follow from the sums: stop and ask it")


def _floats(value: Any) -> F64:
    return np.asarray(value, dtype=np.float64)
