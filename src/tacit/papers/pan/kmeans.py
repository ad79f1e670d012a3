"""K-means as 004 uses it at every party: the centres of a party's own records become landmarks.

    label_i = argmin_c |x_i - m_c|,    m_c = mean of the records with label c                                       (1)

Seeds are those of k-means++: each next one is drawn by its squared distance to those before. A cluster of one record
has that record as its centre; nothing here prevents that (`attacks.landmark_exposure` counts how often).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64

ITERATIONS = 25  # of (1); later ones change the sum of squares by less than a tenth of a percent
BLOCK = 1 << 22  # distances held at once


def find_centres(X: F64, k: int, seed: int = 0) -> F64:
    """Return at most k centres of the records; fewer where fewer records differ."""
    middle = X[choose_seeds(X, k, np.random.default_rng(seed))]
    label = np.full(len(X), -1, dtype=np.int64)
    for _ in range(ITERATIONS):
        before, label = label, find_nearest(X, middle)
        if np.array_equal(before, label):
            break
        middle = mean_by_label(X, label, middle)
    return middle


def choose_seeds(X: F64, k: int, rng: np.random.Generator) -> I64:
    """Return the numbers of at most k different records, far from each other."""
    chosen = [int(rng.integers(len(X)))]
    far = np.full(len(X), np.inf)
    while len(chosen) < k:
        far = np.minimum(far, np.square(X - X[chosen[-1]]).sum(axis=1))
        odds = np.cumsum(far)
        if not odds[-1] > 0:
            break
        chosen.append(int(np.searchsorted(odds, rng.random() * odds[-1], side="right")))
    return np.array(chosen)


def find_nearest(X: F64, middle: F64) -> I64:
    """Return the number of the nearest centre of every record."""
    squares, step = np.square(middle).sum(axis=1), max(1, BLOCK // len(middle))
    blocks = [X[i : i + step] for i in range(0, len(X), step)]
    return np.concatenate([(squares - 2.0 * (block @ middle.T)).argmin(axis=1) for block in blocks])


def mean_by_label(X: F64, label: I64, middle: F64) -> F64:
    """Return the mean of the records of each label; a centre that lost all its records is left out."""
    size = np.bincount(label, minlength=len(middle))
    order = np.argsort(label, kind="stable")
    starts = (np.cumsum(size) - size)[size > 0]
    return np.asarray(np.add.reduceat(X[order], starts, axis=0) / size[size > 0, None])
