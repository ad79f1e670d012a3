"""The report of a run: who learnt what, what it cost, how good it is."""

from tacit.report.evaluation import Evaluation
from tacit.report.report import Report, default_not_protected, traffic

__all__ = ["Evaluation", "Report", "default_not_protected", "traffic"]
