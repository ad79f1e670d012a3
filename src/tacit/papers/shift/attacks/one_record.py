"""Known records: who sees moved records and knows one of them has the shift, and with it all others.

    shift        b_i = x_i + r:       r = b_k - x_k for one known record k                                     (1)
    rotation     b_i = x_i Q + r:     Q from known records K by orthogonal Procrustes on x_k - mean, b_k - mean,
                                      r = mean b_k - mean x_k Q                                                (2)

(1) is exact. (2) is exact once the known records span as many directions as there are columns, one more than columns;
two per column are plenty. 002 counts on the shift being drawn from a wide distribution; neither equation asks how wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64


@dataclass(frozen=True)
class MovedBack:
    """The reconstructed table, and how wrong it is on the records that were not known, relative to their spread."""

    records: F64
    error: float


def shift_one_record(moved: F64, truth: F64, known: I64, *, rotated: bool = False) -> MovedBack:
    """Move all records back by (1), or by (2) if they are rotated too.

    Of `truth` only the known rows are used, the rest measures.
    """
    x, b = truth[known], moved[known]
    turn = _procrustes(x, b) if rotated else np.eye(moved.shape[1])
    r = b.mean(axis=0) - x.mean(axis=0) @ turn
    records = (moved - r) @ turn.T
    return MovedBack(records, relative_error(records, truth, np.setdiff1d(np.arange(len(truth)), known)))


def _procrustes(x: F64, b: F64) -> F64:
    """Return the orthogonal Q that brings x - mean nearest to b - mean."""
    left, _, right = np.linalg.svd((x - x.mean(axis=0)).T @ (b - b.mean(axis=0)))
    return np.asarray(left @ right, dtype=np.float64)


def relative_error(records: F64, truth: F64, rows: I64 | None = None) -> float:
    """Return the root mean square of what is wrong, over that of a guess of the mean of each column."""
    wrong, guess = records - truth, truth - truth.mean(axis=0)
    wrong, guess = (wrong, guess) if rows is None else (wrong[rows], guess[rows])
    return float(np.linalg.norm(wrong) / max(float(np.linalg.norm(guess)), np.finfo(np.float64).tiny))
