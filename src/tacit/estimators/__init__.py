"""The scikit-learn face: no maths, no messages."""

from collections.abc import Callable

from tacit.estimators.base import FederatedClassifier
from tacit.estimators.consensus import ConsensusSVC
from tacit.estimators.elm import SecureELMClassifier, SecureELMRegressor
from tacit.estimators.encoder import FederatedEncoder
from tacit.estimators.evaluating import evaluate
from tacit.estimators.gram import GramSVC, GramSVR
from tacit.estimators.imputer import FederatedImputer
from tacit.estimators.pan import PanSVC
from tacit.estimators.pipeline import Pipeline
from tacit.estimators.saved import load
from tacit.estimators.scaler import FederatedScaler
from tacit.estimators.search import FederatedGridSearch, FederatedHalvingSearch, FederatedRandomizedSearch
from tacit.estimators.selectors import FilterWrapperSelector, VotedWrapperSelector
from tacit.estimators.shift import ShiftSVC
from tacit.estimators.transformer_base import FederatedTransformer

__all__ = [
    "ConsensusSVC",
    "FederatedEncoder",
    "FederatedGridSearch",
    "FederatedHalvingSearch",
    "FederatedImputer",
    "FederatedRandomizedSearch",
    "FederatedScaler",
    "FederatedTransformer",
    "FilterWrapperSelector",
    "GramSVC",
    "GramSVR",
    "PanSVC",
    "Pipeline",
    "SecureELMClassifier",
    "SecureELMRegressor",
    "ShiftSVC",
    "VotedWrapperSelector",
    "evaluate",
    "load",
]

# what a job or the command line may name
CLASSIFIERS: dict[str, Callable[..., FederatedClassifier]] = {
    kind.__name__: kind for kind in (ConsensusSVC, GramSVC, PanSVC, SecureELMClassifier, ShiftSVC)
}
