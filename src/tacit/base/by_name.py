"""Estimators by name, as a job, a command line or a model file gives them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from tacit.errors import LocalError

GROUP = "tacit.estimators"  # entry points by which other packages bring estimators
T = TypeVar("T")


def estimators(kind: type[T]) -> dict[str, type[T]]:
    """Return the estimators of that kind: those that `tacit` offers, and those that installed packages bring."""
    return {name: made for name, made in _list_all().items() if isinstance(made, type) and issubclass(made, kind)}


def own_estimators(kind: type[T]) -> list[str]:
    """Return the names of those that `tacit` itself offers."""
    front = import_module("tacit").__all__
    return [name for name in estimators(kind) if name in front]


@cache
def _list_all() -> dict[str, Any]:
    """Return all that the front door offers, and the estimators of installed packages; none may replace another."""
    front = import_module("tacit")
    found = {name: getattr(front, name) for name in front.__all__}
    for point in entry_points(group=GROUP):
        made = _load(point)
        if found.setdefault(point.name, made) is not made:
            raise LocalError(f"{_say_who(point)}, and there is another of this name: remove one of them")
    return found


def _load(point: EntryPoint) -> Any:
    """Return the class that a package brings, or say in one line why it brings none."""
    try:
        found = point.load()
    except Exception as error:  # whatever the text of another package raises
        raise LocalError(f"{_say_who(point)}, which cannot be loaded ({error}): install it again") from error
    if not isinstance(found, type) or found.__name__ != point.name:
        raise LocalError(f"{_say_who(point)}, but {point.value} is no class of that name: remove it")
    return found


def _say_who(point: EntryPoint) -> str:
    return f"package {point.dist.name if point.dist else point.module} brings an estimator {point.name!r}"
