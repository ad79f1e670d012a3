"""The report of a run: who learnt what, what it cost, how good it is."""

from tacit.report.report import Report, default_not_protected, traffic

__all__ = ["Report", "default_not_protected", "traffic"]
