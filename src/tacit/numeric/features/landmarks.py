"""Landmarks: k-means centres, each the mean of at least `min_cluster` records.

    k-means:     label_i = argmin_c |x_i - m_c|,   m_c = mean of the records with label c                   (1)
    merge:       while a cluster has fewer than min_cluster records, the smallest joins the nearest           (2)
    give back:   while there are fewer than k, the widest cluster of 2 min_cluster records or more is cut
                 across its longest axis, at its mean or as near as leaves min_cluster on both sides         (3)

Where records are many, (1) iterates over a sample of them, and then every record joins the nearest centre: a centre is
the mean of all records of its cluster, of which (2) and (3) count all.

A cluster of one record IS that record, and at 15 % landmarks a third of them can be; (2) ends that. Without (3), which
is not in the paper, up to half of the landmarks asked for are lost to (2).

(1) is not scikit-learn's `KMeans`, to which the tests compare it. That one sets the number of BLAS threads of the whole
process and warns about duplicate records, and neither is safe where each party is a thread. And where it stops before
it has converged, its centres are the means of other clusters than its labels say, which may be of one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy.sparse import csr_matrix

from tacit.arrays import F64, I64
from tacit.counted import counted
from tacit.numeric.devices import CPU, Device, Held, is_on_processor, square_rows
from tacit.numeric.groups.numbering import count_labels, largest_of, number_labels, sort_by_label
from tacit.numeric.order import divide
from tacit.scratch import (
    CELLS,
    LINES,
    ROWS,
    blocks,
    empty_like,
    fill,
    gather,
    gather_blocks,
    like,
    release,
    rows_at_once,
    side_by_side,
    take_rows,
)
from tacit.sparse import is_sparse

BLOCK = 1 << 22  # distances held at once: 32 MiB
ITERATIONS = 25  # of (1); later ones change the objective by less than a tenth of a percent
FIRST, MANY = 8, 1 << 12  # of these from two starts, of which the better goes on, and from how many records on
SAMPLED = 256  # records for each cluster over which (1) iterates: its objective stays within 3 % of that of all
ALIKE = 1e-12  # squares about the mean, as a share of those about 0, that are nothing but rounding
POWER = 10  # steps towards the longest axis in (3); a rough one will do


def centres(X: F64, k: int, min_cluster: int, seed: int) -> tuple[F64, I64]:
    """Return at most k centres and how many records each is the mean of, at least `min_cluster`.

    Returns none where records are too few.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if min(k, len(X) // min_cluster) < 1:
        return np.empty((0, X.shape[1])), np.empty(0, dtype=np.int64)
    return means(X, clusters(X, k, min_cluster, seed))


def clusters(X: F64, k: int, min_cluster: int, seed: int, device: Device = CPU) -> I64:
    """Return the number of its cluster for every record.

    There are at most k clusters and at least one, each of `min_cluster` records if there are as many.
    """
    k, middle = max(1, min(k, len(X) // min_cluster)), mean_of(X)
    # |m|^2 - 2 x.m cancels where the data lie far from 0
    label = k_means_of_sample(X, middle, k, seed, device)
    size = count_labels(label)[1:]
    if len(size) == k and size.min() >= min_cluster:
        return label
    return give_back(X, merge_small(X, label, k, min_cluster, middle), k, min_cluster)


def mean_of(X: F64) -> F64:
    """Return the mean of every column, added up block by block."""
    total = np.zeros(X.shape[1])
    for _, block in blocks(X, LINES):
        total += block.sum(axis=0)
    return total / len(X)


def clusters_of_groups(X: F64, group: I64, k: int, min_cluster: int, seed: int, device: Device = CPU) -> I64:
    """Return the number of its cluster for every record, where clusters are unions of groups or pieces of them.

    A piece has at least `min_cluster` records. As many clusters as groups are had without cutting a group. Fewer are
    unions; for more, groups are cut, each by its share of k. What is then smaller than `min_cluster` joins the nearest,
    as by (2).
    """
    own, size = number_labels(group)
    if len(size) == 1 and largest_of(group) == 0:  # one group, or every record a group of its own
        return clusters(X, k, min_cluster, seed, device)
    label = own
    if len(size) > k:
        cells = X.mean_by(own, len(size)) if is_sparse(X) else sum_by_label(X, own, len(size)) / size[:, None]
        middle = size @ cells / size.sum() if is_sparse(cells) else np.average(cells, axis=0, weights=size)
        found = k_means(cells - middle, size.astype(np.float64), k, seed)
        label = fill(lambda some: found[some], own, dtype=np.int64)
    elif len(size) < k:
        label = _cut_groups(X, own, size, k, min_cluster, seed, device)
    return merge_small(X, label, largest_of(label) + 1, min_cluster, mean_of(X))


def _cut_groups(X: F64, own: I64, size: I64, k: int, min_cluster: int, seed: int, device: Device) -> I64:
    """Return clusters of each group by itself, by its share of k."""
    label, order, ends, number = empty_like(X, own.shape, np.int64), sort_by_label(own, size), np.cumsum(size), 0
    for n, end in counted(tuple(zip(size.tolist(), ends.tolist(), strict=True))):
        rows = order[end - n : end]
        found = clusters(take_rows(X, rows), max(1, round(k * n / len(X))), min_cluster, seed, device)
        for _, (at, cluster) in side_by_side(rows, found):
            label[at] = number + cluster
            release(label)
        number += largest_of(found) + 1
    return label


def centres_of_cells(cells: F64, size: I64, k: int, seed: int) -> F64:
    """Return at most k centres of cells that are known by mean and size only.

    Each is the mean of all records of its cells.
    """
    if len(cells) <= k:
        return cells
    weight = size.astype(np.float64)
    shifted = cells - np.average(cells, axis=0, weights=weight)
    used, label = np.unique(k_means(shifted, weight, k, seed), return_inverse=True)
    centre: F64 = sum_by_label(cells * weight[:, None], label, len(used)) / np.bincount(label, weights=weight)[:, None]
    return centre


def k_means(X: Held, weight: F64, k: int, seed: int, device: Device = CPU) -> I64:
    """Return the better of two clusterings: seeds drawn by distance suit few clusters, seeds far apart suit many.

    Of many records the one that is better after a few iterations goes on alone. Records are on a device, where
    distances and sums are computed; what is of the clusters is not.
    """
    starts = (seeds(X, weight, k, np.random.default_rng(seed), device), spread_seeds(X, k, device))
    first = FIRST if len(weight) > MANY else ITERATIONS
    begun = [lloyd(X, weight, _rows_of(X, start, device), device, first) for start in counted(starts)]
    middle, label = min(begun, key=lambda each: within(X, weight, each[1], k, device))
    return lloyd(X, weight, middle, device, ITERATIONS - first, label)[1]


def k_means_of_sample(X: F64, middle: F64, k: int, seed: int, device: Device = CPU) -> I64:
    """Return the clusters of all records, whose centres (1) found in a sample of them, or in all where they are few.

    Records are taken from their middle on.
    """
    if len(X) <= SAMPLED * k:
        return like(X, k_means(device.put(X - middle), np.ones(len(X)), k, seed, device))
    rows = np.sort(np.random.default_rng(seed).choice(len(X), SAMPLED * k, replace=False))
    some = gather(X, rows) - middle
    found, _ = means(some, k_means(device.put(some), np.ones(len(rows)), k, seed, device))
    label, shift = empty_like(X, (len(X),), np.int64), device.put(middle)
    for at, block in blocks(X, max(1, max(BLOCK, device.block) // max(k, X.shape[1]))):
        label[at] = nearest(device.put(block) - shift, found, device)
        release(label[at])
    return label


def within(X: Held, weight: F64, label: I64, k: int, device: Device = CPU) -> float:
    """Return what (1) makes small: weighted squares about the means, less those about 0."""
    total = np.maximum(np.bincount(label, weights=weight, minlength=k), np.finfo(np.float64).tiny)
    return -float((np.square(weighted_sums(X, weight, label, k, device)).sum(axis=1) / total).sum())


def lloyd(
    X: Held, weight: F64, middle: F64, device: Device = CPU, iterations: int = ITERATIONS, label: I64 | None = None
) -> tuple[F64, I64]:
    """Iterate (1) from these centres; return the last ones, and the number of its cluster for every record.

    Some clusters may be used by none. `label` are the records' clusters where they are known already.
    """
    label = nearest(X, middle, device) if label is None else label
    for _ in counted(range(iterations)):
        total = np.bincount(label, weights=weight, minlength=len(middle))
        sums = weighted_sums(X, weight, label, len(middle), device)
        used = total > 0
        middle = np.where(used[:, None], sums / np.where(used, total, 1.0)[:, None], middle)
        before, label = label, nearest(X, middle, device)
        if np.array_equal(before, label):
            break
    return middle, label


def _rows_of(X: Held, numbers: I64, device: Device) -> F64:
    """Return the records of these numbers."""
    return np.stack([device.get(X[int(i), :]) for i in numbers])


def seeds(X: Held, weight: F64, k: int, draw: np.random.Generator, device: Device = CPU) -> I64:
    """Return the seeds of k-means++: each next one is drawn by weight times squared distance to those before.

    There are fewer than k if they cover all.
    """
    chosen = [int(draw.choice(len(weight), p=weight / weight.sum()))]
    squares, far = square_rows(X, device.xp), np.full(len(weight), np.inf)
    while len(chosen) < k:
        last = chosen[-1]
        np.minimum(far, device.get(squares + squares[last] - 2.0 * _dots(X, last, device)), out=far)
        far[last] = 0.0
        odds = np.cumsum(weight * np.maximum(far, 0.0))
        if not odds[-1] > 0:
            break
        at = min(draw.random() * odds[-1], np.nextafter(odds[-1], 0.0))
        chosen.append(int(np.searchsorted(odds, at, side="right")))
    return np.array(chosen, dtype=np.int64)


def _dots(X: Held, i: int, device: Device) -> Held:
    if isinstance(X, np.ndarray):
        # einsum, not BLAS: a small product on all cores waits for the other parties' threads
        return np.einsum("ij,j->i", X, X[i])
    if is_sparse(X):
        return X @ X[i]
    return device.xp.sum(X * X[i, :], axis=1)


def spread_seeds(X: Held, k: int, device: Device = CPU) -> I64:
    """Return seeds far apart: each next one is the record farthest from those before, the first is nearest to 0.

    No region is left without a seed.
    """
    xp = device.xp
    chosen = [int(xp.argmin(square_rows(X, xp)))]
    far = square_rows(X - X[chosen[0], :], xp)
    while len(chosen) < k and float(xp.max(far)) > 0:
        chosen.append(int(xp.argmax(far)))
        far = xp.minimum(far, square_rows(X - X[chosen[-1], :], xp))
    return np.array(chosen, dtype=np.int64)


def nearest(X: Held, middle: F64, device: Device = CPU) -> I64:
    """Return the number of the nearest centre for every record, computed block by block."""
    squares, label = device.put(np.einsum("ij,ij->i", middle, middle)), np.empty(X.shape[0], dtype=np.int64)
    there = device.put(np.ascontiguousarray(-2.0 * middle.T))
    step = max(1, max(BLOCK, device.block) // max(1, len(middle)))
    for start in range(0, len(label), step):
        some = X[start : min(start + step, len(label)), :]
        label[start : start + step] = device.get(_closest(some, there, squares, device))
    return label


def _closest(X: Held, there: Held, squares: Held, device: Device) -> Held:
    """Return where squares + X @ there is smallest in the line of every record."""
    if is_on_processor(X):
        distance = X @ there
        distance += squares
        return distance.argmin(axis=1)
    # records in columns: across lines CuPy compiles one small kernel, and along them one for each width, of seconds
    distance = there.T @ X.T
    distance += squares[:, None]
    return device.xp.argmin(distance, axis=0)


def weighted_sums(X: Held, weight: F64, label: I64, k: int, device: Device = CPU) -> F64:
    """Return the weighted sum of the records under each label, where records are on a device."""
    if is_sparse(X):
        return X.sum_by(label, k, weight)
    if isinstance(X, np.ndarray):
        return sum_by_label(X * weight[:, None], label, k)
    # no function of the array API adds up by label, and a product with marks is as fast
    marks = device.put(label)[:, None] == device.put(np.arange(k))[None, :]
    weighted = X * device.put(weight)[:, None]
    found: F64 = device.get(device.cast(marks, "float64").T @ weighted)
    return found


def sum_by_label(X: F64, label: I64, k: int, middle: F64 | None = None) -> F64:
    """Return the sum of the records, taken from their middle on, under each label; those without one are left out."""
    if is_sparse(X):
        rows = np.flatnonzero(label >= 0)
        own = X if len(rows) == len(X) else X[rows]
        return (own if middle is None else own - middle).sum_by(label[rows], k)
    total = np.zeros((k, X.shape[1]))
    for at, block in blocks(X, LINES):
        own = label[at]
        rows = np.flatnonzero(own >= 0)
        member = csr_matrix((np.ones(len(rows)), (own[rows], rows)), shape=(k, len(own)))
        total += member @ (block if middle is None else block - middle)
        release(own)
    return total


def means(X: F64, label: I64) -> tuple[F64, I64]:
    """Return mean and size of every cluster that is used."""
    size = count_labels(label)[1:]
    used = size > 0
    return sum_by_label(X, label, len(size))[used] / size[used, None], size[used]


def merge_small(X: F64, label: I64, k: int, min_cluster: int, middle: F64 | None = None) -> I64:
    """Return the clusters after small ones have joined the nearest, (2); sums are of records from their middle on."""
    sums, size, into = sum_by_label(X, label, k, middle), np.zeros(k, dtype=np.int64), np.arange(k)
    held = count_labels(label)[1:]
    size[: len(held)] = held
    for _ in range(k):
        small = int(np.where(size > 0, size, len(X) + 1).argmin())
        if size[small] >= min_cluster:
            break
        distance = np.full(k, np.inf)
        others = np.flatnonzero((size > 0) & (np.arange(k) != small))
        distance[others] = np.square(sums[others] / size[others, None] - sums[small] / size[small]).sum(axis=1)
        near = int(distance.argmin())
        into[into == small] = near
        sums[near] += sums[small]
        size[near] += size[small]
        size[small] = 0
    return fill(lambda own: into[own], label, dtype=np.int64)


def give_back(X: F64, label: I64, k: int, min_cluster: int) -> I64:
    """Return the clusters after wide ones were cut until there are k, (3)."""
    label, size = number_labels(label)
    if len(size) >= k:
        return label
    order = sort_by_label(label, size)
    clusters = [order[end - n : end] for n, end in zip(size, np.cumsum(size), strict=True)]
    width = np.where(size >= 2 * min_cluster, widths(X, label, size), 0.0).tolist()
    while len(clusters) < k and max(width) > 0:
        widest = int(np.argmax(width))
        if not _width(X, clusters[widest], min_cluster):  # rounding alone made it wide
            width[widest] = 0.0
            continue
        halves = cut(X, clusters[widest], min_cluster)
        clusters[widest], width[widest] = halves[0], _width(X, halves[0], min_cluster)
        clusters.append(halves[1])
        width.append(_width(X, halves[1], min_cluster))
    for number, rows in enumerate(clusters):
        for _, (some,) in side_by_side(rows):
            label[some] = number
            release(label)
    return label


def widths(X: F64, label: I64, size: I64) -> F64:
    """Return the sum of squares about its mean for every cluster, block by block."""
    middle, found = sum_by_label(X, label, len(size)) / size[:, None], np.zeros(len(size))
    if is_sparse(X):
        found += np.bincount(label, square_rows(X, np)) - size * np.square(middle).sum(axis=1)
        return found
    for _, (some, own) in side_by_side(X, label, rows=rows_at_once(X, ROWS)):
        off = some - middle[own]
        found += np.bincount(own, np.einsum("ij,ij->i", off, off), minlength=len(size))
    return found


def cut(X: F64, rows: I64, min_cluster: int) -> tuple[I64, I64]:
    """Return one cluster as two, cut across its longest axis."""
    mean, read = _mean_of_some(X, rows)
    axis = max(_farthest(read, mean), key=lambda found: found[0])[1]
    for _ in range(POWER):
        axis = sum((off.T @ (off @ axis) for off in (block - mean for block in read())), np.zeros(len(mean)))
        axis /= np.linalg.norm(axis)
    along, start = empty_like(rows, rows.shape, np.float64), 0
    for block in read():
        along[start : start + len(block)] = (block - mean) @ axis
        start += len(block)
        release(along)
    below = sum(int((some < 0).sum()) for _, (some,) in side_by_side(along))
    return divide(rows, along, min(max(below, min_cluster), len(rows) - min_cluster))


def _farthest(read: Callable[[], Iterable[F64]], mean: F64) -> Iterator[tuple[float, F64]]:
    """Yield of every block how far the farthest record is from the mean, squared, and in which direction."""
    for block in read():
        off = block - mean
        squares = square_rows(off, np)
        yield float(squares.max()), off[int(squares.argmax())]


def _mean_of_some(X: F64, rows: I64) -> tuple[F64, Callable[[], Iterable[F64]]]:
    """Return the mean of these records, and what reads them: from memory where they are few, else block by block."""
    if len(rows) * X.shape[1] <= CELLS:
        held = gather(X, rows)
        return held.mean(axis=0), lambda: [held]
    total = sum((block.sum(axis=0) for block in gather_blocks(X, rows)), np.zeros(X.shape[1]))
    return total / len(rows), lambda: gather_blocks(X, rows)


def _width(X: F64, rows: I64, min_cluster: int) -> float:
    """Return the sum of squares about the mean; 0 where the cluster cannot be cut."""
    if len(rows) < 2 * min_cluster:
        return 0.0
    if is_sparse(X):
        own = X[rows]
        squares = square_rows(own - own.mean(axis=0), np)
        return float(squares.sum()) if squares.max() > ALIKE * square_rows(own, np).max() else 0.0
    mean, read = _mean_of_some(X, rows)
    first, equal, total = gather(X, rows[:1]), True, 0.0
    for block in read():
        equal = equal and bool((block == first).all())
        total += float(np.square(block - mean).sum())
    return 0.0 if equal else total
