"""Few violators: the coordinator reads a row that alone is within the margin, or alone tells two sums apart.

    a_V - a_W = +-s y f,    d_V - d_W = +-s y,    m_V - m_W = +-s         V and W differ by one row                 (1)

so f is the first over the second, and y the second over the third. PAN-SVM opens such sums all the time: near the
optimum a round moves a few rows over the margin. The coordinator follows the protocol; it only remembers. It takes
every two sums whose counts differ by one for such a pair, and is right where they do. From f the record follows: the
kernel values k = f (U Lambda^-1/2)^+ give distances from, or products with, public landmarks, of which one more than
there are columns is enough.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from tacit.arrays import F64, I64
from tacit.attacks.learners import Point, Points
from tacit.numeric.svm.kernels import Kernel
from tacit.papers.pan.attacks.coordinator import deal_rows, listen
from tacit.papers.pan.kmeans import find_centres
from tacit.papers.pan.pan_svm import map_by
from tacit.protocols.features.maps import PublicMap, features_of

FEW, COLUMNS = 80, 5  # of a study
NEAR = 1e-5  # how near a record is that was read, and not guessed
TINY = 1e-9  # a kernel value below this is rounding


def read_rows(sums: F64, weight: float = 1.0) -> F64:
    """Return what every two of these sums (a, d, m) give by (1) whose counts differ by one row, a row each."""
    every = np.vstack([np.zeros_like(sums[:1]), sums])
    first, second = np.triu_indices(len(every), 1)
    apart = every[second] - every[first]
    one = np.isclose(np.abs(apart[:, -2:]), weight, rtol=1e-6).all(axis=1)
    return np.asarray(apart[one, :-2] / apart[one, -2:-1])


def find_record(the_map: PublicMap, features: F64) -> F64:
    """Return the record that has these features."""
    if the_map.kernel == "linear":
        return features
    start = locate(the_map, features @ np.linalg.pinv(the_map.basis))

    def miss(x: F64) -> F64:
        return np.asarray(features_of(the_map, x[None], shorten=False)[0, :-1] - features)

    return np.asarray(least_squares(miss, start, xtol=1e-15, ftol=1e-15, gtol=1e-15).x)


def locate(the_map: PublicMap, k: F64) -> F64:
    """Return about where the record is, from its kernel values with the landmarks."""
    L = the_map.centres
    if the_map.kernel == "rbf":
        near, first = k > TINY, int(np.argmax(k))
        left = np.square(L).sum(axis=1) + np.log(np.clip(k, TINY, 1.0)) / the_map.gamma  # 2 x.L_j - |x|^2
        A, right = 2.0 * (L - L[first])[near], (left - left[first])[near]
    else:
        power = np.sign(k) * np.abs(k) ** (1.0 / max(1, the_map.degree))
        A, right = L, (power - the_map.coef0) / the_map.gamma
    return np.asarray(np.linalg.lstsq(A, right, rcond=None)[0])


def find_truth(guesses: F64, truth: F64) -> I64:
    """Return which records of the truth are among the guesses."""
    if not len(guesses):
        return np.empty(0, dtype=np.int64)
    far = np.abs(truth[:, None] - guesses).max(axis=2)
    return np.flatnonzero(far.min(axis=1) < NEAR)


def study(X: F64, y: I64) -> Points:
    """Yield the share of records that the coordinator reads, with and without a kernel, by the price C."""
    X, y = X[:FEW, :COLUMNS], y[:FEW]
    for kernel in ("linear", "rbf"):
        the_map = map_by(Kernel(kernel, 1.0 / COLUMNS), find_centres(X, FEW // 4))
        rows = deal_rows(features_of(the_map, X, shorten=False)[:, :-1], y)
        for C in (0.3, 1.0, 3.0):
            found = [find_record(the_map, each) for each in read_rows(listen(rows, C=C))]
            share = len(find_truth(np.array(found).reshape(-1, X.shape[1]), X)) / len(X)
            yield Point(f"kernel={kernel!r}", C, share)
