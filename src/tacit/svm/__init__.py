"""Support vector machines and extreme learning machines in shares: only the model is revealed."""

from tacit.svm.elm import ELMClassifier, ELMRegressor
from tacit.svm.svc import SVC, SVR

__all__ = ["SVC", "SVR", "ELMClassifier", "ELMRegressor"]
