"""Vertical span: the sums of a consensus over columns span the columns, and known records give all others.

Every sum that the coordinator opens is X times a vector that it does not know, one for each round and problem:

    S = X W,    Q R = S    so    X = Q A    with A from the known records:    Q_K A = X_K                  (1)

From as many sums as columns Q spans all of X, and as many known records as columns fix A. The more sums, the less it
matters that one is almost the combination of others. Fewer sums than columns leave directions of which nothing is
known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import Coordinator, Holder, Labeller, Roster
from tacit.federation.part import Part, part_of
from tacit.papers.consensus.attacks.overheard import overheard
from tacit.papers.consensus.columns import ColumnSettings, consensus_columns


def listen(parts: Mapping[str, Part], **params: Any) -> tuple[F64, F64]:
    """Train with honest parties, the first with the labels; return what the coordinator told and what it learnt.

    Both have a column for each round and problem.
    """
    roster = Roster({Holder: tuple(parts), Labeller: (next(iter(parts)),), Coordinator: ("coordinator",)})
    svm = ColumnSettings(**{"kernel": "linear", "gamma": "scale", "degree": 3, "coef0": 0.0, **params})
    with overheard(roster, "aim", "meet") as run:
        consensus_columns(run, run.hold(Holder, parts), svm=svm)
    told = [each["coordinator"].share for each in run.heard["aim"]]
    return np.hstack(told), np.hstack([each["coordinator"].S for each in run.heard["meet"]])


def deal_columns(X: F64, y: I64, cuts: list[I64]) -> dict[str, Part]:
    """Return the columns at their parties, with the labels at the first."""
    return {
        f"p{i + 1}": part_of(X[:, cut], y if i == 0 else None, None, tuple(f"x{j}" for j in cut))
        for i, cut in enumerate(cuts)
    }


def vertical_span(sums: F64, truth: F64, known: I64) -> float:
    """Reconstruct all records by (1); return how wrong they are, relative to their size.

    Of `truth` only the known rows are used; the rest measures.
    """
    Q, size, _ = np.linalg.svd(sums / np.linalg.norm(sums, axis=0), full_matrices=False)
    Q = Q[:, : min(truth.shape[1], int(np.sum(size > size[0] * np.finfo(np.float64).eps)))]
    records = Q @ np.linalg.lstsq(Q[known], truth[known], rcond=None)[0]
    unknown = np.setdiff1d(np.arange(len(truth)), known)
    return float(np.linalg.norm((records - truth)[unknown]) / np.linalg.norm(truth[unknown]))
