"""Bound moments: many upper bounds on the loss of one group give its second moments, and these give its rows.

A holder tells the bound (1) of `numeric.groups.atoms` of a group of n rows f_i of one class, with h_i = 1 - f_i.w - b,
at a model (w, b). With g_i = (f_i, 1), v = (w, b), the group's sum s = sum_i g_i, which is opened too, and M = sum_i
g_i g_i',

    bound = (S + sqrt(n Q)) / 2,      S = n - s.v,      Q = sum_i h_i^2 = n - 2 s.v + v'M v                (1)

so every bound is one linear equation in the (D + 1) (D + 2) / 2 entries of M:

    v'M v = (2 bound - S)^2 / n - n + 2 s.v                                                                (2)

M has rank n. If n is smaller than D + 1, it has a null space N, and N'(f(x), 1) = 0 for the rows of the group and for
hardly any other x: the search of `elm_row_space` finds them. It makes no difference who picks the models, as long as
there are enough of them.

What it finds (breast cancer, standardised). With twelve bounds in each round for each problem, as a first version of
the groups had it: 11 of the 12 records of a party, from nine ordinary jobs, by a coalition of the coordinator and all
other parties; 15 of 20 from models that a coordinator picked. Since then holders count the bounds
(`planes.lockstep`): they allow fewer than there are unknowns in all the rows of a group, which are far fewer than
the entries of M.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from tacit.arrays import F64, I64
from tacit.attacks.atom_inversion import slopes_of
from tacit.attacks.study import Point, Points
from tacit.numeric.groups.atoms import upper_losses
from tacit.numeric.groups.least_count import count_left, least_count
from tacit.protocols.planes.feature_map import FeatureMap, map_records

UNIT = 2.0**-32  # opened numbers are whole multiples of it
SIZE = 1e3  # of the models: the larger, the less the rounding counts
STARTS = 80
ZERO = 1e-8  # a search that ends lower than this has ended at a zero
NEAR = 1e-3  # how near a record is found
COLUMNS = 4  # of the records of a study


@dataclass(frozen=True)
class Bounds:
    """The bounds that were told on one group: a model for each, its weights and its bias."""

    w: F64
    b: F64
    bound: F64


def bound_moments(told: Bounds, total: F64, size: int, the_map: FeatureMap, columns: int) -> F64:
    """Return candidates for the records of a group of so many rows, whose features add up to `total`, one to a line."""
    return rows_within(moments(told, total, size), size, the_map, columns)


def moments(told: Bounds, total: F64, size: int) -> F64:
    """Return M from (2), of all matrices that fit the one with the smallest entries."""
    V, s = np.column_stack([told.w, told.b]), np.append(total, size)
    S = size - V @ s
    right = (2.0 * told.bound - S) ** 2 / size - size + 2.0 * (V @ s)
    i, j = np.triu_indices(V.shape[1])
    A = V[:, i] * V[:, j] * np.where(i == j, 1.0, 2.0)
    high = np.abs(A).max(axis=1)
    M = np.zeros((V.shape[1], V.shape[1]))
    M[i, j] = np.linalg.lstsq(A / high[:, None], right / high, rcond=1e-13)[0]
    return np.asarray(M + M.T - np.diag(M.diagonal()))


def rows_within(M: F64, size: int, the_map: FeatureMap, columns: int, seed: int = 0) -> F64:
    """Return the zeros of N'(f(x), 1), N being the null space of a matrix of rank `size`."""
    N = np.linalg.eigh(M)[1][:, : max(0, len(M) - size)]
    if N.shape[1] < columns:
        return np.empty((0, columns))
    slopes = slopes_of(the_map, columns)

    def missing(x: F64) -> F64:
        return np.asarray(N.T @ np.append(map_records(the_map, x[None])[0], 1.0))

    def derived(x: F64) -> F64:
        return np.asarray(N[:-1].T @ slopes(x[None])[1][0])

    starts = np.random.default_rng(seed).normal(size=(STARTS, columns))
    ends = [least_squares(missing, start, derived, max_nfev=200) for start in starts]
    return np.array([end.x for end in ends if end.cost < ZERO]).reshape(-1, columns)


def bounds_of(F: F64, number: int, seed: int = 0) -> Bounds:
    """Return what a holder tells of the group of these mapped rows about so many random models."""
    models = SIZE * np.random.default_rng(seed).normal(size=(number, F.shape[1] + 1))
    group, weight, here = np.zeros(len(F), dtype=np.int64), np.ones(len(F)), np.zeros(1)
    H = 1.0 - np.column_stack([F, np.ones(len(F))]) @ models.T
    told = np.array([upper_losses(group, h, h, weight, here)[0] for h in H.T])
    return Bounds(models[:, :-1], models[:, -1], np.rint(told / UNIT) * UNIT)


def match_records(candidates: F64, truth: F64) -> int:
    """Return how many records of the truth are among the candidates."""
    return sum(bool(np.abs(candidates - x).max(axis=1).min(initial=np.inf) <= NEAR) for x in truth)


def enough(features: int, rows: int, columns: int) -> int:
    """Return half as many bounds again as M has entries."""
    del rows, columns
    return 3 * (features + 1) * (features + 2) // 4


def allowed(features: int, rows: int, columns: int) -> int:
    """Return how many bounds a holder of these rows allows over all jobs, after their sum."""
    return int(count_left(features / (rows * columns)) * rows * columns)


VARIANTS: Mapping[str, Callable[[int, int, int], int]] = {
    "as many bounds as asked for": enough,
    "bounds that a holder allows": allowed,
}


def study(X: F64, y: I64, variants: Mapping[str, Callable[[int, int, int], int]] = VARIANTS) -> Points:
    """Yield the share of the rows that are found in a group as large as `min_count="auto"` asks, by map features."""
    few, none = X[y == y.max(), :COLUMNS], np.empty((0, 0))
    d = few.shape[1]
    for name, number in variants.items():
        for D in (12, 16, 24, 32):
            the_map = FeatureMap("fourier", "rbf", 1.0 / d, 3, 0.0, none, none, 1, D)
            group = few[: least_count(D, d, 0.0)]
            F = np.asarray(map_records(the_map, group))
            told = bounds_of(F, number(D, len(group), d))
            yield Point(
                name, D, match_records(bound_moments(told, F.sum(axis=0), len(group), the_map, d), group) / len(group)
            )
