"""tacit: SVMs and ELMs over data that several organisations hold and may not show each other."""

from __future__ import annotations

from importlib import import_module as _import
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from tacit.errors import LocalError, PeerError, TacitError

if TYPE_CHECKING:
    from tacit import attacks, inspect
    from tacit.base.saved import load
    from tacit.federation import Federation
    from tacit.metrics import evaluate
    from tacit.model_selection import (
        FederatedGridSearch,
        FederatedRandomizedSearch,
        FederatedSelector,
        Validation,
        cross_val_score,
        cross_validate,
        train_test_split,
    )
    from tacit.pipeline import Pipeline
    from tacit.preprocessing import FederatedEncoder, FederatedImputer, FederatedScaler, TableVectorizer
    from tacit.report import Evaluation, Report
    from tacit.request import Records, Request, Values
    from tacit.svm import SVC, SVR, ELMClassifier, ELMRegressor

    __version__: str
    advise = Federation.advise
    connect = Federation.connect
    from_files = Federation.from_files
    from_parts = Federation.from_parts
    simulate = Federation.simulate
    spark = Federation.spark

__all__ = [
    "SVC",
    "SVR",
    "ELMClassifier",
    "ELMRegressor",
    "Evaluation",
    "FederatedEncoder",
    "FederatedGridSearch",
    "FederatedImputer",
    "FederatedRandomizedSearch",
    "FederatedScaler",
    "FederatedSelector",
    "Federation",
    "LocalError",
    "PeerError",
    "Pipeline",
    "Records",
    "Report",
    "Request",
    "TableVectorizer",
    "TacitError",
    "Validation",
    "Values",
    "__version__",
    "advise",
    "attacks",
    "connect",
    "cross_val_score",
    "cross_validate",
    "evaluate",
    "from_files",
    "from_parts",
    "inspect",
    "load",
    "simulate",
    "spark",
    "train_test_split",
]

# imported when first asked for: the command line must not wait for scikit-learn to print its help
_HOMES = (
    "tacit.request",
    "tacit.federation",
    "tacit.report",
    "tacit.base.saved",
    "tacit.svm",
    "tacit.preprocessing",
    "tacit.pipeline",
    "tacit.model_selection",
    "tacit.metrics",
)
_ROOMS = ("attacks", "inspect")
_WAYS = ("advise", "connect", "from_files", "from_parts", "simulate", "spark")  # to make a federation, or a choice


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    if name == "__version__":
        return _version("tacit")
    if name in _ROOMS:
        return _import(f"tacit.{name}")
    if name in _WAYS:
        return getattr(_import("tacit.federation").Federation, name)
    return next(getattr(home, name) for home in map(_import, _HOMES) if hasattr(home, name))


def __dir__() -> list[str]:
    return __all__
