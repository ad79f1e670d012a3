"""What an estimator's parameters may be; refused in scikit-learn's words before anything is sent.

A parameter that a protocol has too is declared with the protocol's (`protocols.parameters`), and one that only
estimators have here. An estimator names in `OWN` what means something else to it, or of which it takes fewer values;
None for what it checks in its own words.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, TypeVar, dataclass_transform

from sklearn.utils import check_random_state

from tacit.choreo.declaration import (
    Either,
    Kind,
    Nothing,
    Number,
    OneOf,
    Switch,
    Unmeasured,
    declared_fields,
    wrong_value,
)
from tacit.protocols.parameters import PARAMETERS
from tacit.registry import RUNTIMES, declared


@dataclass(frozen=True)
class RandomState(Unmeasured):
    """What numpy takes as a seed."""

    def accepts(self, value: Any) -> bool:
        """Whether it is one."""
        return value is None or isinstance(value, Integral) or hasattr(value, "randint")

    def __str__(self) -> str:
        return "an int, a numpy RandomState or None"


T = TypeVar("T")

NONE = Nothing()
FACE: Mapping[str, Kind] = {
    "n_parties": Number(1, whole=True),
    "random_state": RandomState(),
    "verbose": Either((NONE, Switch())),
    "bins": Number(2, 1024, whole=True),
}


def rules_of(estimator: type) -> dict[str, Kind]:
    """Return the kind of each of an estimator's parameters.

    None of one that it checks by itself, such as another estimator.
    """
    own: Mapping[str, Kind | None] = getattr(estimator, "OWN", {})
    here = {"runtime": OneOf(tuple(RUNTIMES))}
    splits = {"partition": Either((NONE, OneOf(estimator.SPLITS)))} if hasattr(estimator, "SPLITS") else {}
    in_place = {each.name: each.kind for each in declared_fields(estimator)}
    known = {**{name: each.kind for name, each in PARAMETERS.items()}, **FACE, **here, **splits, **in_place, **own}
    names = estimator._get_param_names()  # type: ignore[attr-defined]  # noqa: SLF001 - scikit-learn reads signatures
    return {name: kind for name in names if (kind := known.get(name)) is not None}


def check(estimator: object) -> None:
    """Refuse a parameter that is none of its kind."""
    for name, kind in rules_of(type(estimator)).items():
        value = getattr(estimator, name)
        if not kind.allows(value):
            raise wrong_value(name, type(estimator).__name__, kind.words, value)


def arguments_for(estimator: Any, protocol: str, **given: Any) -> dict[str, Any]:
    """Return the parameters of a protocol: those that are given, else the estimator's own, numbers as it takes them."""
    known = declared(protocol).takes
    own = {**estimator.get_params(deep=False), **given}
    return {name: _number(own[name], str(known[name].annotation)) for name in known if name in own}


def _number(value: Any, annotation: str) -> Any:
    numeric = isinstance(value, Real) and not isinstance(value, bool)
    return float(value) if numeric and "float" in annotation.split(" | ") else value


def draw_seed(random_state: Any) -> int:
    """Return a public seed, drawn from a random state; without one from numpy's own, as scikit-learn does."""
    return int(check_random_state(random_state).randint(2**31))


@dataclass_transform(field_specifiers=(field,))
def parameterized(cls: type[T]) -> type[T]:
    """Make a dataclass of a class of parameters: of those that need a name, its own stand before inherited ones."""
    made = dataclass(eq=False, repr=False)(cls)
    levels = [list(inspect.get_annotations(each)) for each in cls.__mro__]
    signature = inspect.signature(made.__init__)
    by_place: list[inspect.Parameter] = []
    named: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        (named if each.kind is each.KEYWORD_ONLY else by_place).append(each)
    order = [*by_place, *sorted(named, key=lambda each: _place(each.name, levels))]
    vars(made)["__init__"].__signature__ = signature.replace(parameters=order)
    return made


def _place(name: str, levels: list[list[str]]) -> tuple[int, int]:
    """Return how far up the classes a parameter is declared, and its place there."""
    return next((level, names.index(name)) for level, names in enumerate(levels) if name in names)
