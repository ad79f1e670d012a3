"""A reconstructed table, and how wrong it is: what attacks that work records out have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64


@dataclass(frozen=True)
class Inversion:
    """The reconstructed table, and how wrong it is on what was not known, relative to its size."""

    records: F64
    error: float


def judge(records: F64, truth: F64, known: I64) -> Inversion:
    """Return the reconstruction with its error; `truth` only measures, on the records that were not known."""
    unknown = np.setdiff1d(np.arange(len(truth)), known)
    return Inversion(records, relative(records[unknown], truth[unknown]))


def relative(found: F64, truth: F64) -> float:
    """Return the size of what is wrong, over that of the truth."""
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))
