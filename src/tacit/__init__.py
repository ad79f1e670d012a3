"""tacit: SVMs and ELMs over data that several organisations hold and may not show each other."""

from tacit.data import Federation
from tacit.errors import LocalError, PeerError, TacitError
from tacit.estimators import GramSVC, load
from tacit.report import Report

__all__ = ["Federation", "GramSVC", "LocalError", "PeerError", "Report", "TacitError", "load"]
