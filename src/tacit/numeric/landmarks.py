"""Landmarks: k-means centres, each the mean of at least `min_cluster` records.

    k-means:     label_i = argmin_c |x_i - m_c|,   m_c = mean of the records with label c                   (1)
    merge:       while a cluster has fewer than min_cluster records, the smallest joins the nearest           (2)
    give back:   while there are fewer than k, the widest cluster of 2 min_cluster records or more is cut
                 across its longest axis, at its mean or as near as leaves min_cluster on both sides         (3)

A cluster of one record IS that record, and at 15 % landmarks a third of them can be; (2) ends that. Without (3), which
is not in the paper, up to half of the landmarks asked for are lost to (2).

(1) is not scikit-learn's `KMeans`, to which the tests compare it. That one sets the number of BLAS threads of the whole
process and warns about duplicate records, and neither is safe where each party is a thread. And where it stops before it
has converged, its centres are the means of other clusters than its labels say, which may be of one record.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

BLOCK = 1 << 22  # distances held at once: 32 MiB
ITERATIONS = 25  # of (1); later ones change the objective by less than a tenth of a percent
POWER = 10  # steps towards the longest axis in (3); a rough one will do


def centres(X: F64, k: int, min_cluster: int, seed: int) -> tuple[F64, I64]:
    """At most k centres and how many records each is the mean of, at least `min_cluster`; none where records are too few."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    if min(k, len(X) // min_cluster) < 1:
        return np.empty((0, X.shape[1])), np.empty(0, dtype=np.int64)
    return means(X, clusters(X, k, min_cluster, seed))


def clusters(X: F64, k: int, min_cluster: int, seed: int) -> I64:
    """The number of its cluster for every record: at most k clusters and at least one, each of `min_cluster` records if there are."""
    k = max(1, min(k, len(X) // min_cluster))
    shifted = X - X.mean(axis=0)  # |m|^2 - 2 x.m cancels where the data lie far from 0
    label = merged(shifted, k_means(shifted, np.ones(len(X)), k, seed), k, min_cluster)
    return given_back(shifted, label, k, min_cluster)


def clusters_of_groups(X: F64, group: I64, k: int, min_cluster: int, seed: int) -> I64:
    """The number of its cluster for every record: clusters are unions of groups, or of pieces of them of at least `min_cluster` records.

    As many clusters as groups are had without cutting a group. Fewer are unions; for more, groups are cut, each by its share of k. What
    is then smaller than `min_cluster` joins the nearest, as by (2).
    """
    _, own, size = np.unique(group, return_inverse=True, return_counts=True)
    label, number = own.ravel(), 0
    if len(size) > k:
        cells = grouped(X, label, len(size)) / size[:, None]
        label = k_means(cells - np.average(cells, axis=0, weights=size), size.astype(np.float64), k, seed)[label]
    elif len(size) < k:
        label = np.empty(len(X), dtype=np.int64)
        for g, n in enumerate(size):
            rows = np.flatnonzero(own.ravel() == g)
            label[rows] = number + clusters(X[rows], max(1, round(k * n / len(X))), min_cluster, seed)
            number = int(label[rows].max()) + 1
    return merged(X - X.mean(axis=0), label, int(label.max()) + 1, min_cluster)


def centres_of_cells(cells: F64, size: I64, k: int, seed: int) -> F64:
    """At most k centres of cells that are known by mean and size only; each is the mean of all records of its cells."""
    if len(cells) <= k:
        return cells
    weight = size.astype(np.float64)
    shifted = cells - np.average(cells, axis=0, weights=weight)
    used, label = np.unique(k_means(shifted, weight, k, seed), return_inverse=True)
    centre: F64 = grouped(cells * weight[:, None], label, len(used)) / np.bincount(label, weights=weight)[:, None]
    return centre


def k_means(X: F64, weight: F64, k: int, seed: int) -> I64:
    """The better of two: seeds drawn by distance serve few clusters well, seeds far apart serve many."""
    starts = (seeds(X, weight, k, np.random.default_rng(seed)), spread(X, k))
    return min((lloyd(X, weight, start) for start in starts), key=lambda label: within(X, weight, label, k))


def within(X: F64, weight: F64, label: I64, k: int) -> float:
    """What (1) makes small: weighted squares about the means, less those about 0."""
    total = np.maximum(np.bincount(label, weights=weight, minlength=k), np.finfo(np.float64).tiny)
    return -float((np.square(grouped(X * weight[:, None], label, k)).sum(axis=1) / total).sum())


def lloyd(X: F64, weight: F64, start: I64) -> I64:
    """(1) from the records numbered in `start`: the number of its cluster for every record; some clusters may be used by none."""
    middle = X[start]
    label = nearest(X, middle)
    for _ in range(ITERATIONS):
        total = np.bincount(label, weights=weight, minlength=len(middle))
        sums = grouped(X * weight[:, None], label, len(middle))
        used = total > 0
        middle[used] = sums[used] / total[used, None]
        before, label = label, nearest(X, middle)
        if np.array_equal(before, label):
            break
    return label


def seeds(X: F64, weight: F64, k: int, draw: np.random.Generator) -> I64:
    """k-means++: each next seed is drawn by weight times squared distance to those before; fewer than k if they cover all."""
    chosen = [int(draw.choice(len(X), p=weight / weight.sum()))]
    squares, far = np.einsum("ij,ij->i", X, X), np.full(len(X), np.inf)
    while len(chosen) < k:
        last = chosen[-1]
        # einsum, not BLAS: a small product on all cores waits for the other parties' threads
        np.minimum(far, squares + squares[last] - 2.0 * np.einsum("ij,j->i", X, X[last]), out=far)
        far[last] = 0.0
        odds = np.cumsum(weight * np.maximum(far, 0.0))
        if not odds[-1] > 0:
            break
        at = min(draw.random() * odds[-1], np.nextafter(odds[-1], 0.0))
        chosen.append(int(np.searchsorted(odds, at, side="right")))
    return np.array(chosen, dtype=np.int64)


def spread(X: F64, k: int) -> I64:
    """Each next seed is the record farthest from those before, the first the one nearest to 0: no region is left without."""
    chosen = [int(np.square(X).sum(axis=1).argmin())]
    far = np.square(X - X[chosen[0]]).sum(axis=1)
    while len(chosen) < k and far.max() > 0:
        chosen.append(int(far.argmax()))
        np.minimum(far, np.square(X - X[chosen[-1]]).sum(axis=1), out=far)
    return np.array(chosen, dtype=np.int64)


def nearest(X: F64, middle: F64) -> I64:
    """The number of the nearest centre for every record, block by block."""
    squares, label = np.einsum("ij,ij->i", middle, middle), np.empty(len(X), dtype=np.int64)
    step = max(1, BLOCK // max(1, len(middle)))
    for start in range(0, len(X), step):
        distance = X[start : start + step] @ (-2.0 * middle.T)
        distance += squares
        label[start : start + step] = distance.argmin(axis=1)
    return label


def grouped(X: F64, label: I64, k: int) -> F64:
    """The sum of the records under each label."""
    member = csr_matrix((np.ones(len(X)), (label, np.arange(len(X)))), shape=(k, len(X)))
    return np.asarray(member @ X, dtype=np.float64)


def means(X: F64, label: I64) -> tuple[F64, I64]:
    """Mean and size of every cluster that is used."""
    found, label, size = np.unique(label, return_inverse=True, return_counts=True)
    return grouped(X, label, len(found)) / size[:, None], size.astype(np.int64)


def merged(X: F64, label: I64, k: int, min_cluster: int) -> I64:
    """(2)."""
    label, sums, size = label.copy(), grouped(X, label, k), np.bincount(label, minlength=k)
    for _ in range(k):
        small = int(np.where(size > 0, size, len(X) + 1).argmin())
        if size[small] >= min_cluster:
            break
        distance = np.full(k, np.inf)
        others = np.flatnonzero((size > 0) & (np.arange(k) != small))
        distance[others] = np.square(sums[others] / size[others, None] - sums[small] / size[small]).sum(axis=1)
        into = int(distance.argmin())
        label[label == small] = into
        sums[into] += sums[small]
        size[into] += size[small]
        size[small] = 0
    return label


def given_back(X: F64, label: I64, k: int, min_cluster: int) -> I64:
    """(3)."""
    clusters = [np.flatnonzero(label == c) for c in np.unique(label)]
    width = [_width(X, rows, min_cluster) for rows in clusters]
    while len(clusters) < k and max(width) > 0:
        widest = int(np.argmax(width))
        halves = cut(X, clusters[widest], min_cluster)
        clusters[widest], width[widest] = halves[0], _width(X, halves[0], min_cluster)
        clusters.append(halves[1])
        width.append(_width(X, halves[1], min_cluster))
    for number, rows in enumerate(clusters):
        label[rows] = number
    return label


def cut(X: F64, rows: I64, min_cluster: int) -> tuple[I64, I64]:
    """Two clusters of one."""
    off = X[rows] - X[rows].mean(axis=0)
    axis = off[np.einsum("ij,ij->i", off, off).argmax()]
    for _ in range(POWER):
        axis = off.T @ (off @ axis)
        axis /= np.linalg.norm(axis)
    along = off @ axis
    low = min(max(int((along < 0).sum()), min_cluster), len(rows) - min_cluster)
    order = np.argsort(along, kind="stable")
    return rows[np.sort(order[:low])], rows[np.sort(order[low:])]


def _width(X: F64, rows: I64, min_cluster: int) -> float:
    """The sum of squares about the mean; 0 where the cluster cannot be cut."""
    if len(rows) < 2 * min_cluster or np.array_equal(X[rows].min(axis=0), X[rows].max(axis=0)):
        return 0.0
    return float(np.square(X[rows] - X[rows].mean(axis=0)).sum())
