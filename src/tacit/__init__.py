"""tacit: SVMs and ELMs over data that several organisations hold and may not show each other."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.errors import LocalError, PeerError, TacitError

if TYPE_CHECKING:
    from tacit.data import Federation
    from tacit.estimators import FilterWrapperSelector, GramSVC, PanSVC, ShiftSVC, VotedWrapperSelector, load
    from tacit.report import Report

__all__ = [
    "Federation",
    "FilterWrapperSelector",
    "GramSVC",
    "LocalError",
    "PanSVC",
    "PeerError",
    "Report",
    "ShiftSVC",
    "TacitError",
    "VotedWrapperSelector",
    "load",
]

# imported when first asked for: the command line must not wait for scikit-learn to print its help
_HOMES = {
    "Federation": "tacit.data",
    "FilterWrapperSelector": "tacit.estimators",
    "GramSVC": "tacit.estimators",
    "PanSVC": "tacit.estimators",
    "Report": "tacit.report",
    "SecureELMClassifier": "tacit.estimators",
    "SecureELMRegressor": "tacit.estimators",
    "ShiftSVC": "tacit.estimators",
    "VotedWrapperSelector": "tacit.estimators",
    "load": "tacit.estimators",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
