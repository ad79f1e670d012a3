"""Estimators by name, as a job, a command line or a model file gives them."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


def estimators(kind: type[T]) -> dict[str, type[T]]:
    """Return the estimators of that kind that `tacit` itself offers."""
    front = import_module("tacit")
    offered = {name: getattr(front, name) for name in front.__all__}
    return {name: made for name, made in offered.items() if isinstance(made, type) and issubclass(made, kind)}
