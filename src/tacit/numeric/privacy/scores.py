"""How good a model is, from noisy sums of integers over records that are judged.

Of a classifier of k classes, with one histogram of B bins per column of decision values:

    U times the confusion matrix, and U times each histogram of scores, by side    one record: U^2 (1 + columns)   (1)
    counts that are no less than 0 and add up to the number of records, nearest to the noisy ones                  (2)

Of a regressor whose targets lie within declared numbers, with e = y - f in units of their width, both clipped to them,
u = round(U e), and v = round(U y) around the middle in units of half the width:

    sums of U u, U |u|, u^2, U v, v^2, and U^2 in the bin of e                     one record: 6 U^4 at most       (3)

The number of records is public. A record whose score, target or answer is not finite adds zero to every sum.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.numeric.privacy.scaling import U
from tacit.numeric.scores.metrics import histograms

ERRORS = 5  # sums of (3) before the bins


def count_scores(values: F64, codes: I64, chosen: I64, sides: I64, bins: int, classes: int) -> I64:
    """Return (1): the confusion matrix, then the histograms of those of each column's class, then of all others.

    `sides` are the classes of the columns; records with a code of -1, or a value that is not finite, are blank.
    """
    use = (codes >= 0) & np.isfinite(values).all(axis=1)
    values, codes, chosen = values[use], codes[use], chosen[use]
    confusion = np.bincount(codes * classes + chosen, minlength=classes * classes)
    P, N = histograms(values, codes[:, None] == sides, bins)
    return np.asarray(U * np.concatenate([confusion, P.ravel(), N.ravel()])).astype(np.int64)


def score_sensitivity(columns: int) -> int:
    """Return by which squared length one record changes (1) at most."""
    return U**2 * (1 + columns)


def read_scores(total: F64, classes: int, columns: int, bins: int, rows: int) -> tuple[F64, F64, F64]:
    """Return the confusion matrix and the histograms P and N that (2) makes of the noisy sums."""
    confusion, both = total[: classes * classes] / U, total[classes * classes :].reshape(2, columns, bins) / U
    made = np.stack([settle(both[:, j], rows) for j in range(columns)], axis=1)
    return settle(confusion, rows).reshape(classes, classes), made[0], made[1]


def settle(counts: F64, total: int) -> F64:
    """Return the counts nearest to noisy ones that are no less than 0 and add up to this, (2); rounded."""
    down = np.sort(counts.reshape(-1))[::-1]
    above = (np.cumsum(down) - total) / np.arange(1, down.size + 1)
    level = above[np.flatnonzero(down > above)[-1]]
    return np.asarray(np.rint(np.maximum(counts - level, 0.0)))


def sum_errors(targets: F64, answers: F64, low: float, high: float, bins: int) -> I64:
    """Return (3): the sums, then the bins of errors from -1 to 1."""
    use = np.isfinite(targets) & np.isfinite(answers)
    y, f = (np.clip(each[use], low, high) for each in (targets, answers))
    u = np.rint(U * np.clip((y - f) / (high - low), -1.0, 1.0)).astype(np.int64)
    v = np.rint(U * np.clip((2 * y - low - high) / (high - low), -1.0, 1.0)).astype(np.int64)
    sums = [U * u.sum(), U * np.abs(u).sum(), (u * u).sum(), U * v.sum(), (v * v).sum()]
    cells = np.clip((u + U) * bins // (2 * U), 0, bins - 1)
    return np.concatenate([np.array(sums, dtype=np.int64), U * U * np.bincount(cells, minlength=bins)])


def error_sensitivity() -> int:
    """Return by which squared length one record changes (3) at most."""
    return 6 * U**4


def read_errors(total: F64, low: float, high: float, rows: int) -> tuple[F64, F64, F64]:
    """Return means of e, |e|, e^2 and the targets' variance, where the bins are cut, and their counts."""
    width, found = high - low, total / (U**2 * rows)
    mean, absolute, square = found[0] * width, abs(found[1]) * width, max(found[2], 0.0) * width**2
    variance = max(found[4] - found[3] ** 2, 0.0) * (width / 2) ** 2
    bins = len(total) - ERRORS
    cuts = width * (2 * np.arange(1, bins) / bins - 1)
    return np.array([mean, absolute, square, variance]), cuts, settle(total[ERRORS:] / U**2, rows)
