"""The report of a run: who learnt what, what it cost, how good it is."""

from __future__ import annotations

from importlib import import_module as _import
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.report.evaluation import Evaluation
    from tacit.report.report import Report, default_not_protected, traffic

__all__ = ["Evaluation", "Report", "default_not_protected", "traffic"]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and only then: commands need words of this room and none of its mathematics."""
    if name not in __all__:
        raise AttributeError(f"module 'tacit.report' has no attribute {name!r}")
    return getattr(_import("tacit.report.evaluation" if name == "Evaluation" else "tacit.report.report"), name)
