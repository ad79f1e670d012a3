"""The scikit-learn face: no maths, no messages."""

from collections.abc import Callable

from tacit.estimators.base import FederatedClassifier
from tacit.estimators.elm import SecureELMClassifier, SecureELMRegressor
from tacit.estimators.gram import GramSVC
from tacit.estimators.pan import PanSVC
from tacit.estimators.saved import load
from tacit.estimators.selectors import FilterWrapperSelector, VotedWrapperSelector
from tacit.estimators.shift import ShiftSVC

__all__ = [
    "FilterWrapperSelector",
    "GramSVC",
    "PanSVC",
    "SecureELMClassifier",
    "SecureELMRegressor",
    "ShiftSVC",
    "VotedWrapperSelector",
    "load",
]

# what a job or the command line may name
CLASSIFIERS: dict[str, Callable[..., FederatedClassifier]] = {
    kind.__name__: kind for kind in (GramSVC, PanSVC, SecureELMClassifier, ShiftSVC)
}
