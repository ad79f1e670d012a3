"""tacit: SVMs and ELMs over data that several organisations hold and may not show each other."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tacit.errors import LocalError, PeerError, TacitError

if TYPE_CHECKING:
    from tacit.data import Federation
    from tacit.estimators import (
        ConsensusSVC,
        FederatedEncoder,
        FederatedGridSearch,
        FederatedHalvingSearch,
        FederatedImputer,
        FederatedRandomizedSearch,
        FederatedScaler,
        FilterWrapperSelector,
        GramSVC,
        GramSVR,
        PanSVC,
        Pipeline,
        ShiftSVC,
        VotedWrapperSelector,
        evaluate,
        load,
    )
    from tacit.report import Evaluation, Report

__all__ = [
    "ConsensusSVC",
    "Evaluation",
    "FederatedEncoder",
    "FederatedGridSearch",
    "FederatedHalvingSearch",
    "FederatedImputer",
    "FederatedRandomizedSearch",
    "FederatedScaler",
    "Federation",
    "FilterWrapperSelector",
    "GramSVC",
    "GramSVR",
    "LocalError",
    "PanSVC",
    "PeerError",
    "Pipeline",
    "Report",
    "ShiftSVC",
    "TacitError",
    "VotedWrapperSelector",
    "evaluate",
    "load",
]

# imported when first asked for: the command line must not wait for scikit-learn to print its help
_HOMES = {
    "Evaluation": "tacit.report",
    "ConsensusSVC": "tacit.estimators",
    "Federation": "tacit.data",
    "FederatedEncoder": "tacit.estimators",
    "FederatedGridSearch": "tacit.estimators",
    "FederatedHalvingSearch": "tacit.estimators",
    "FederatedImputer": "tacit.estimators",
    "FederatedRandomizedSearch": "tacit.estimators",
    "FederatedScaler": "tacit.estimators",
    "FilterWrapperSelector": "tacit.estimators",
    "GramSVC": "tacit.estimators",
    "GramSVR": "tacit.estimators",
    "PanSVC": "tacit.estimators",
    "Pipeline": "tacit.estimators",
    "Report": "tacit.report",
    "SecureELMClassifier": "tacit.estimators",
    "SecureELMRegressor": "tacit.estimators",
    "ShiftSVC": "tacit.estimators",
    "VotedWrapperSelector": "tacit.estimators",
    "evaluate": "tacit.estimators",
    "load": "tacit.estimators",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
