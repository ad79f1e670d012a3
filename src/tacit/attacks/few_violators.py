"""Few violators: the coordinator can read a row that alone is within the margin, or alone tells two cuts apart.

    a_V - a_W = +-s y f,   d_V - d_W = +-s y,   c_V - c_W = +-s      V and W differ by one row, W perhaps empty  (1)

so f is the first over the second, and y the second over the third. The paper's solver opens such sums all the time:
near the optimum a round moves a few rows over the margin. The coordinator follows the protocol; it only remembers. It
takes every two sums whose counts differ by one for such a pair, and is right where they do. Sums over groups of at
least `min_count` rows have no such pair. From f the record follows: with landmarks the kernel values k = f B^+ are
distances or dot products with public points, which d + 1 of them turn into x; with Fourier features x solves a small
least-squares problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from tacit.arrays import F64
from tacit.attacks.coordinator import opened_sums
from tacit.protocols.planes.feature_map import FeatureMap, map_records
from tacit.protocols.planes.rows import Rows

FAR = 1e-9  # a kernel value below this is rounding
STARTS = 12


@dataclass(frozen=True)
class Violator:
    """What may be a row that was laid open: what the holder had in it."""

    features: F64
    sign: int
    weight: float


def few_violators(rows: Mapping[str, Rows], **params: Any) -> list[Violator]:
    """Return what an honest coordinator may take for single rows.

    Every two sums of a run that differ by the weight of one row.
    """
    sums = opened_sums(rows, **params)
    return read(sums, np.unique(np.concatenate([own.weight for own in rows.values()])))


def read(sums: F64, weights: F64) -> list[Violator]:
    """Return (1) of every two of these sums whose counts differ by a row's weight, and signs by as much.

    The empty sum is one of them.
    """
    every = np.vstack([np.zeros_like(sums[:1]), sums])
    first, second = np.triu_indices(len(every), 1)
    apart = every[second] - every[first]
    one = np.isclose(np.abs(apart[:, -1])[:, None], weights, rtol=1e-6).any(axis=1)
    return [violator(each) for each in apart[one & np.isclose(np.abs(apart[:, -1]), np.abs(apart[:, -2]), rtol=1e-6)]]


def violator(difference: F64) -> Violator:
    """Return the row of (1)."""
    a, d, c = difference[:-2], difference[-2], difference[-1]
    return Violator(a / d, int(np.sign(d * c)), float(abs(c)))


def record_of(the_map: FeatureMap, features: F64, columns: int) -> F64:
    """Return the record that has these features."""
    if the_map.source == "identity":
        return features
    if the_map.source == "fourier":
        starts = [np.zeros(columns), *np.random.default_rng(0).normal(size=(STARTS, columns))]
    else:
        starts = [locate(the_map, features @ np.linalg.pinv(the_map.basis))]
    tight = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}
    found = [least_squares(lambda x: map_records(the_map, x[None])[0] - features, start, **tight) for start in starts]
    record: F64 = min(found, key=lambda done: done.cost).x
    return record


def locate(the_map: FeatureMap, k: F64) -> F64:
    """Return where the record is, from its kernel values k with the landmarks.

    |x - L_j|^2, or x.L_j, is known for every j.
    """
    L = the_map.centres
    if the_map.kernel == "rbf":
        near, first = k > FAR, int(np.argmax(k))
        left = np.einsum("ij,ij->i", L, L) + np.log(np.clip(k, FAR, 1.0)) / the_map.gamma  # 2 x.L_j - |x|^2
        A, right = 2.0 * (L - L[first])[near], (left - left[first])[near]
    else:
        power = np.sign(k) * np.abs(k) ** (1.0 / max(1, the_map.degree))
        inner = power if the_map.kernel == "poly" else np.arctanh(np.clip(k, -1.0 + FAR, 1.0 - FAR))
        A, right = L, (inner - the_map.coef0) / the_map.gamma
    found: F64 = np.linalg.lstsq(A, right, rcond=None)[0]
    return found
