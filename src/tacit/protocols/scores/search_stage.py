"""What a search tells of each of its stages, however its models are trained."""

from __future__ import annotations

from tacit.arrays import F64, I64
from tacit.choreo import State


class SearchStage(State):
    """One stage of a search.

    candidates: which ones were tried.
    scores: a row of scores for each of them, a column for each fold.
    share: the share of the records that they were tried on.
    early: how many problems of each candidate ended with a larger gap than asked for.
    """

    candidates: I64
    scores: F64
    share: float
    early: I64
