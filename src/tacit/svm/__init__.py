"""SVMs as scikit-learn has them, trained over data that several parties hold."""

from tacit.svm.consensus import ConsensusSVC
from tacit.svm.gram import GramSVC, GramSVR
from tacit.svm.pan import PanSVC
from tacit.svm.shift import ShiftSVC

__all__ = ["ConsensusSVC", "GramSVC", "GramSVR", "PanSVC", "ShiftSVC"]
