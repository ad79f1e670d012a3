"""Steps: what a party computes alone, with the arguments that it has for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tacit.choreo.codec import seal_arrays
from tacit.scratch import is_on_disk, lay_aside, release

F = TypeVar("F", bound=Callable[..., Any])
ONE_AT_A_TIME = threading.Lock()  # of the steps on values that lie on disk


def once(step: F) -> F:
    """Mark a step whose result is another one every time, such as an encryption.

    A run that is taken up again goes on with the first.
    """
    vars(step)["once"] = True
    return step


@dataclass(frozen=True, repr=False)
class Work:
    """A step with the arguments of one party, to be done where that party is."""

    label: str
    step: Callable[..., Any]
    args: tuple[Any, ...]
    named: Mapping[str, Any]

    @property
    def once(self) -> bool:
        """Whether doing the step again would give something else."""
        return getattr(self.step, "once", False)

    def __call__(self) -> Any:
        """Do the step and return its result, checked to be in wire form.

        What a step makes of values on disk lies on disk too, and these steps are done one at a time, so that of a run
        with many rows no more than one step of one party is in memory.
        """
        given = (*self.args, *self.named.values())
        if not is_on_disk(given):
            return self._do()
        with ONE_AT_A_TIME:
            made = lay_aside(self._do())
            release(given)
            return made

    def _do(self) -> Any:
        return seal_arrays(self.step(*self.args, **self.named), f"step {self.label}", kept=True)
