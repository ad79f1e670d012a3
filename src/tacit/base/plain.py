"""Plain frames as one federation for all steps of a pipeline.

Each step alone makes numbers of a frame, without the names of its columns and without what texts and dates mean. A
federation carries these from step to step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scipy.sparse import issparse

from tacit.federation import Federation
from tacit.federation.frames import is_frame


def federate_frame(steps: Sequence[Any], X: Any, y: Any, sample_weight: Any) -> Federation | None:
    """Return a frame, or sparse records, split once, as the last step splits plain records; None of all others.

    Others are arrays, and records for steps of other packages, or for a learner of single cells.
    """
    if not (is_frame(X) or issparse(X)) or not steps or not all(hasattr(step, "splitter") for step in steps):
        return None
    splitters = [step.splitter() for step in steps]
    if None in splitters:
        return None
    last = splitters[-1]
    partition = last.partition or last.SPLITS[0]
    if partition == "arbitrary":
        return None
    if issparse(X):
        made: Federation = last.imagine(X, y, partition=partition, sample_weight=sample_weight)
        return made
    declared = steps[0].texts_of(X) if hasattr(steps[0], "texts_of") else {}
    columns = X.column_names if hasattr(X, "column_names") else X.columns
    texts = {name: known for name, known in declared.items() if name in columns}  # its step refuses others
    frame: Federation = last.imagine(X, y, partition=partition, sample_weight=sample_weight, raw=True, categories=texts)
    return frame
