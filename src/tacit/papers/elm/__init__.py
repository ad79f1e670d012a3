"""The extreme learning machine over columns of paper 003.

vertical   the protocols
model      what parties keep
estimator  SecureELMClassifier and SecureELMRegressor
attacks    what a hidden layer gives away
"""

from tacit.papers.elm.estimator import SecureELMClassifier, SecureELMRegressor

__all__ = ["SecureELMClassifier", "SecureELMRegressor"]
