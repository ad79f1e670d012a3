"""The scikit-learn face: no maths, no messages."""

from tacit.estimators.gram import GramSVC
from tacit.estimators.pan import PanSVC
from tacit.estimators.saved import load

__all__ = ["GramSVC", "PanSVC", "load"]
