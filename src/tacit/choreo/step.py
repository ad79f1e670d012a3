"""Steps: what a party computes alone, with the arguments that it has for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tacit.choreo.codec import seal_arrays

F = TypeVar("F", bound=Callable[..., Any])


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
        """Do the step and return its result, checked to be in wire form."""
        return seal_arrays(self.step(*self.args, **self.named), f"step {self.label}", kept=True)
