"""Looking at tables before training, and at models: what columns hold and which matter, boundaries, learning curves."""

from tacit.inspect.curves import LearningCurve, learning_curve
from tacit.inspect.decision import DecisionPlot, decision_plot
from tacit.inspect.describe import Describe, TableOverview
from tacit.inspect.importance import Importances, permutation_importance

__all__ = [
    "DecisionPlot",
    "Describe",
    "Importances",
    "LearningCurve",
    "TableOverview",
    "decision_plot",
    "learning_curve",
    "permutation_importance",
]
