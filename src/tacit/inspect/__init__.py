"""Looking at tables before training, and at models: what columns hold and which matter, boundaries, learning curves."""

from __future__ import annotations

from importlib import import_module as _import
from typing import TYPE_CHECKING, Any

from tacit.inspect.describe import Describe, TableOverview

if TYPE_CHECKING:
    from tacit.inspect.by_site import table_one
    from tacit.inspect.comparison import Comparison, compare
    from tacit.inspect.curves import LearningCurve, learning_curve
    from tacit.inspect.decision import DecisionPlot, decision_plot
    from tacit.inspect.importance import Importances, permutation_importance

__all__ = [
    "Comparison",
    "DecisionPlot",
    "Describe",
    "Importances",
    "LearningCurve",
    "TableOverview",
    "compare",
    "decision_plot",
    "learning_curve",
    "permutation_importance",
    "table_one",
]

# imported when first asked for: they draw, and a party that only describes must not wait for matplotlib
_DRAWN = ("comparison", "curves", "decision", "importance", "by_site")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tacit.inspect' has no attribute {name!r}")
    return next(
        getattr(home, name) for home in (_import(f"{__name__}.{each}") for each in _DRAWN) if hasattr(home, name)
    )


def __dir__() -> list[str]:
    return __all__
