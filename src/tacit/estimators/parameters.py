"""What an estimator's parameters may be, as data; refused in scikit-learn's words before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from tacit.errors import LocalError


class Rule(Protocol):
    """Accepts a value, or says in words what it would accept."""

    def __call__(self, value: Any) -> bool:
        """Whether the value is allowed."""
        ...


@dataclass(frozen=True)
class Number:
    """A real or whole number within bounds."""

    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    open: bool = False

    def __call__(self, value: Any) -> bool:
        """Whether it is one."""
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool) or not math.isfinite(float(value)):
            return False
        number = float(value)
        return (self.low < number if self.open else self.low <= number) and number <= self.high

    def __str__(self) -> str:
        left, right = ("(" if self.open else "["), (")" if math.isinf(self.high) else "]")
        return f"{'an int' if self.whole else 'a float'} in the range {left}{self.low}, {self.high}{right}"


@dataclass(frozen=True)
class OneOf:
    """One of the given values."""

    values: tuple[Any, ...]

    def __call__(self, value: Any) -> bool:
        """Whether it is one."""
        return any(value is v or (type(value) is type(v) and value == v) for v in self.values)

    def __str__(self) -> str:
        return "among {" + ", ".join(repr(v) for v in self.values) + "}"


@dataclass(frozen=True)
class Weights:
    """A dictionary of class weights."""

    def __call__(self, value: Any) -> bool:
        """Whether it is one."""
        return isinstance(value, Mapping) and all(Number(0)(w) for w in value.values())

    def __str__(self) -> str:
        return "a dict of class weights"


@dataclass(frozen=True)
class RandomState:
    """What numpy takes as a seed."""

    def __call__(self, value: Any) -> bool:
        """Whether it is one."""
        return value is None or isinstance(value, Integral) or hasattr(value, "randint")

    def __str__(self) -> str:
        return "an int, a numpy RandomState or None"


def check(estimator: object, rules: Mapping[str, Iterable[Rule]]) -> None:
    """Every parameter must satisfy one of its rules."""
    for name, allowed in rules.items():
        value = getattr(estimator, name)
        if not any(rule(value) for rule in allowed):
            words = " or ".join(str(rule) for rule in allowed)
            raise LocalError(f"The '{name}' parameter of {type(estimator).__name__} must be {words}. Got {value!r} instead.")
