"""Independent component analysis: columns of rotated records, without knowing any record.

    b_i = x_i Q + r,  columns of x independent and not gaussian:   FastICA finds them up to order, sign and scale    (1)

A rotation keeps every distance, so what remains to be found is which rotation. Sums of independent columns look more
gaussian than the columns themselves; the directions in which b looks least gaussian are the columns. Order and scale
are no secret for long: ranges and rough distributions of ages or doses are public. Columns that are gaussian, or that
depend on each other, are found less well.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from tacit.arrays import F64


@dataclass(frozen=True)
class Unmixed:
    """The best estimate of each column, scaled to fit; its relative error (1: nothing found).

    The share found within 0.25.
    """

    records: F64
    errors: F64
    error: float
    share: float


def ica(moved: F64, truth: F64, *, found: float = 0.25, seed: int = 0) -> Unmixed:
    """Unmix rotated records; `truth` names, scales and judges the components that were found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        components = FastICA(whiten="unit-variance", random_state=seed, max_iter=1000, tol=1e-5).fit_transform(moved)
    centred, spread = truth - truth.mean(axis=0), truth.std(axis=0)
    correlation = components.T @ (centred / np.where(spread > 0, spread, 1.0)) / len(truth)
    which, column = linear_sum_assignment(-np.abs(correlation))
    records = np.tile(truth.mean(axis=0), (len(truth), 1))
    records[:, column] += components[:, which] * (correlation[which, column] * spread[column])
    wrong = np.linalg.norm(records - truth, axis=0) / np.maximum(
        np.linalg.norm(centred, axis=0), np.finfo(np.float64).tiny
    )
    errors = np.where(spread > 0, wrong, 0.0)
    return Unmixed(records, errors, float(errors.mean()), float(np.mean(errors <= found)))
