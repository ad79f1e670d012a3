"""Cluster difference: k-means by secure sums gives away the records that change their cluster.

In round t of Lloyd's iteration the coordinator learns size n_c(t) and sum s_c(t) of every cluster c. If one record
entered or left c,

    x = s_c(t) - s_c(t - 1),   n_c(t) = n_c(t - 1) + 1         (or both with the other sign)                   (1)

`cluster_difference` takes every change of size by one for a record, and `truth` tells how often it was right.

Holding back sums that differ from an earlier one of the same cluster by fewer than min_cluster records ends (1), but
not combinations: two clusters that trade many records and lose one to a third have a sum of sums that differs by one.

    record i is determined by the sums if e_i is in the span of their membership vectors                       (2)

`single_out` finds these. `planes.joint_landmarks` cuts cells instead, so that (2) has no solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.numeric.features.landmarks import nearest, sum_by_label


@dataclass(frozen=True)
class Round:
    """What is opened in one round: of each cluster size and sum, where they are; the labels are for who checks."""

    size: I64
    total: F64
    opened: Flags
    label: I64


@dataclass(frozen=True)
class Differences:
    """What (1) takes for records, and which rows of the truth are among them."""

    records: F64
    found: I64


def lloyd_sums(X: F64, k: int, rounds: int, seed: int, min_cluster: int = 0) -> list[Round]:
    """Return Lloyd's iteration as its coordinator sees it, from a random partition.

    With `min_cluster`, sums are held back.
    """
    told: list[Round] = []
    middle, label = np.zeros((k, X.shape[1])), np.random.default_rng(seed).integers(0, k, len(X))
    for _ in range(rounds):
        size, total = np.bincount(label, minlength=k), sum_by_label(X, label, k)
        opened = (size > 0) & _is_allowed(told, label, size, min_cluster)
        told.append(Round(size, total, opened, label))
        middle[opened] = total[opened] / size[opened, None]
        label = nearest(X, middle)
    return told


def _is_allowed(told: Sequence[Round], label: I64, size: I64, min_cluster: int) -> Flags:
    """Return whether a sum is large enough, and equal to or far from every earlier sum of its cluster."""
    allowed = size >= min_cluster
    for earlier in told:
        both = np.bincount(label[label == earlier.label], minlength=len(size))
        moved = size + earlier.size - 2 * both
        allowed &= ~earlier.opened | (moved == 0) | (moved >= min_cluster)
    return allowed


def cluster_difference(told: Sequence[Round], truth: F64, tolerance: float = 1e-6) -> Differences:
    """Return the records that (1) finds between every opened sum and the next one of the same cluster.

    `truth` only tells which are right.
    """
    guesses = [guess for c in range(len(told[0].size)) for guess in _of_cluster([r for r in told if r.opened[c]], c)]
    records = np.array(guesses).reshape(-1, truth.shape[1])
    row = nearest(records, truth)
    near = np.linalg.norm(records - truth[row], axis=1) <= tolerance * np.abs(truth).max(initial=1.0)
    return Differences(records, np.unique(row[near]))


def _of_cluster(told: Sequence[Round], c: int) -> list[F64]:
    steps = [
        (int(after.size[c] - before.size[c]), after.total[c] - before.total[c]) for before, after in pairwise(told)
    ]
    return [sign * difference for sign, difference in steps if abs(sign) == 1]


def members(told: Sequence[Round]) -> Flags:
    """Return which records are in which opened sum."""
    return np.array([r.label == c for r in told for c in np.flatnonzero(r.opened)])


def single_out(member: Flags) -> I64:
    """Return the records that the sums of these members determine, in whichever combination, (2)."""
    _, size, axes = np.linalg.svd(member.astype(np.float64), full_matrices=False)
    span = axes[size > 1e-9 * size.max(initial=0.0)]
    return np.flatnonzero(np.square(span).sum(axis=0) > 1 - 1e-7)
