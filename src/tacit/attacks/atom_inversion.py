"""Atom inversion: a sum of few mapped rows gives back the rows, if it has more entries than the rows have unknowns.

A group of p rows of d columns is mapped to D features, and sums are opened. With maps phi_m and known coefficients u_mi
(1 or -1 for a row that is in the sum, 0 for one that is not) every opened sum is

    t_m = sum_i u_mi phi_m(x_i),      m = 1, 2, ...                                                        (1)

These are D_1 + D_2 + ... equations in p d unknowns. Levenberg and Marquardt's method solves them from a good start:

    (J'J + damping 1) step = J'r,     r = all of (1) as residuals,     J = its derivatives by all rows     (2)

A pursuit gives the start: rows are added one at a time, each the random record that leaves the least residual, improved
by (2), and after each of them all rows found so far are improved together. Where the residual does not vanish, the
pursuit begins anew.

Records of few possible values have less than one unknown per column. Let Phi have a line for every possible record.
Then

    t = Phi'n,    n >= 0,    1'n = p,      n = how often each record is in the group                       (3)

is linear. Non-negative least squares finds n if p is small against D, or if there are no more possible records than
features. Lattice reduction finds it in whole numbers, for large groups too, if there are only a few dozen possible
records.

Measured (standard normal rows of 8 columns, gamma = 1 / 8, at most 40 pursuits of about 0.1 s). One map of 100 Fourier
features: all rows of 8 of 8 groups with p d = 0.64 D, of 7 with 0.80 D, 5 with 0.88 D, 2 with 0.96 D, 0 with 1.04 D.
Features of several maps add up: two maps of 60 features, 16 of 16 groups with p d = 0.80 (D_1 + D_2), 0 of 16 with
1.07. So do those of sub-groups: two groups of p = 1.25 D / d rows, each of which is safe by itself, were recovered in
49 of 80 cases with D = 32 to 100 Fourier features, and in 8 of 8 with 64 landmarks, when the sum of both was also
opened under a second map of D features.

Rows of 8 to 16 binary columns: least squares recovers all of them up to p d = 1.5 D to 2.5 D, as if a row had 1.6 ln(N
/ D) unknowns, N the number of possible records. Rows of 6 binary columns: lattice reduction counts out 2,000 rows from
20 features, and 20,000 from 30.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import cycle, islice, product

import numpy as np
from scipy.optimize import linear_sum_assignment, nnls

from tacit.arrays import F64, I64
from tacit.attacks.pairwise_rule import View, pairwise_rule
from tacit.attacks.set_lattice import reduce_basis
from tacit.attacks.study import Point, Points
from tacit.errors import LocalError
from tacit.numeric.features.feature_map import fourier_weights, kernel_matrix
from tacit.numeric.groups.least_count import least_count
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.feature_map import FeatureMap, map_records

STARTS, TRIED = 400, 3  # random records for the next row of a pursuit, and how many of the best are improved
SPREADS = (1.0, 1.0, 1.0, 1.0, 4.0)  # of the random records, one pursuit after the other: outliers are rare
EXACT = 1e-16  # a squared residual below this is the rounding of a secure sum
SAME = 1e-6  # counts that differ by less are the same
FOUND = 1e-3  # of a record's length: how near is found
STALL = 30  # steps in which the residual must fall by a twentieth
COUNTING = (1e10, 1e12, 1e14)  # how much more a residual counts than a coefficient
DAMPING, REFUSALS = 1e-2, 12
PATIENT, MANY = 8, 20  # pursuits of a group; of one of more rows than this, which take long, one

Slopes = Callable[[F64], tuple[F64, F64]]


@dataclass(frozen=True)
class Sum:
    """One opened sum (1): its map, its value, and the coefficient of every row of the group."""

    the_map: FeatureMap
    total: F64
    of: F64


@dataclass(frozen=True)
class Inverted:
    """The rows that fit best, and the squared residual that they leave."""

    rows: F64
    residual: float


Sums = Sequence[Sum]
Groups = Callable[[FeatureMap, F64, F64], Sequence[Sums]]


def sum_of(the_map: FeatureMap, X: F64, of: F64 | None = None) -> Sum:
    """Return the sum (1) of mapped records, which an attacker is given.

    Of all with coefficient 1 unless `of` says otherwise.
    """
    of = np.ones(len(X)) if of is None else of
    return Sum(the_map, np.asarray(of @ map_records(the_map, X)), of)


def atom_inversion(sums: Sums, columns: int, *, pursuits: int = 20, seed: int = 0) -> Inverted:
    """Return the rows of the group, by (2) from the best of at most so many pursuits."""
    rng, best = np.random.default_rng(seed), Inverted(np.empty((0, columns)), np.inf)
    for spread in islice(cycle(SPREADS), pursuits):
        best = min(best, improve(sums, pursue(sums, columns, rng, spread), 300), key=lambda found: found.residual)
        if best.residual <= EXACT:
            break
    return best


def pursue(sums: Sums, columns: int, rng: np.random.Generator, spread: float) -> F64:
    """Return a start for all rows, added one at a time.

    Random records are standard normal, or up to `spread` times as far out.
    """
    X = np.empty((0, columns))
    for i in range(len(sums[0].of)):
        rest = [Sum(s.the_map, s.total - _features(s, X), s.of[i : i + 1]) for s in sums if s.of[i]]
        drawn = rng.normal(size=(STARTS, columns)) * spread ** rng.uniform(size=(STARTS, 1))
        left = sum(np.sum((s.of * map_records(s.the_map, drawn) - s.total) ** 2, axis=1) for s in rest)
        tried = [improve(rest, drawn[k : k + 1], 15) for k in np.argsort(left)[:TRIED]]
        X = np.vstack([X, min(tried, key=lambda found: found.residual).rows])
        X = improve([Sum(s.the_map, s.total, s.of[: i + 1]) for s in sums if s.of[: i + 1].any()], X, 10).rows
    return X


def improve(sums: Sums, X: F64, steps: int) -> Inverted:
    """Return the rows after (2); the damping falls after a step that helps and rises after one that does not."""
    damping, r, J = DAMPING, *_derive(sums, X)
    past = [float(r @ r)]
    for _ in range(steps):
        A, g = J.T @ J, J.T @ r
        unit = np.eye(len(A)) * max(np.trace(A) / len(A), 1e-300)
        for _ in range(REFUSALS):
            ahead = X - np.linalg.solve(A + damping * unit, g).reshape(X.shape)
            left = residuals(sums, ahead)
            if left @ left < past[-1]:
                break
            damping *= 4.0
        else:
            break
        X, damping = ahead, max(damping / 5.0, 1e-13)
        r, J = _derive(sums, X)
        past.append(float(r @ r))
        if past[-1] < 1e-10 * EXACT or (len(past) > STALL and past[-1] > 0.95 * past[-STALL]):
            break
    return Inverted(X, past[-1])


def residuals(sums: Sums, X: F64) -> F64:
    """Return what is missing of all sums (1), one after the other."""
    return np.concatenate([_features(s, X) - s.total for s in sums])


def _features(s: Sum, X: F64) -> F64:
    return np.asarray(s.of[: len(X)] @ map_records(s.the_map, X))


def _derive(sums: Sums, X: F64) -> tuple[F64, F64]:
    """Return the residuals and their derivatives by all cells, row by row."""
    r, J = [], []
    for s in sums:
        F, slopes = slopes_of(s.the_map, X.shape[1])(X)
        r.append(s.of @ F - s.total)
        J.append((s.of[:, None, None] * slopes).transpose(1, 0, 2).reshape(len(s.total), X.size))
    return np.concatenate(r), np.vstack(J)


def slopes_of(the_map: FeatureMap, columns: int) -> Slopes:
    """Return the function that gives the features of records, and their derivatives: records by features by columns."""
    if the_map.source == "fourier":
        return partial(_fourier_slopes, *_weights(the_map.seed, columns, the_map.size, the_map.gamma))
    if the_map.source == "identity":
        return _identity_slopes
    if the_map.kernel != "rbf":
        raise LocalError(f"slopes are for landmarks with the rbf kernel, not with {the_map.kernel!r}: use kernel='rbf'")
    return partial(_landmark_slopes, the_map)


@cache
def _weights(seed: int, columns: int, size: int, gamma: float) -> tuple[F64, F64]:
    return fourier_weights(seed, columns, size, gamma)


def _fourier_slopes(W: F64, o: F64, X: F64) -> tuple[F64, F64]:
    Z, high = X @ W + o, np.sqrt(2.0 / len(o))
    return high * np.cos(Z), -high * np.sin(Z)[:, :, None] * W.T


def _identity_slopes(X: F64) -> tuple[F64, F64]:
    return X, np.broadcast_to(np.eye(X.shape[1]), (len(X), X.shape[1], X.shape[1]))


def _landmark_slopes(the_map: FeatureMap, X: F64) -> tuple[F64, F64]:
    L, gamma = the_map.centres, the_map.gamma
    K = kernel_matrix(X, L, Kernel("rbf", gamma))
    change = -2.0 * gamma * K[:, :, None] * (X[:, None] - L)
    return K @ the_map.basis, np.einsum("ild,lf->ifd", change, the_map.basis)


def listed_records(sums: Sums, possible: F64) -> F64:
    """Return the rows of the group by (3), from sums of all its rows.

    `possible` lists the records that there can be.
    """
    p = len(sums[0].of)
    A = np.vstack([*(np.asarray(map_records(s.the_map, possible)).T for s in sums), np.ones(len(possible))])
    try:
        n, _ = nnls(A, np.concatenate([*(s.total for s in sums), [p]]), maxiter=30 * len(A))
    except RuntimeError:  # no convergence, as it happens where there are too many rows
        return np.empty((0, possible.shape[1]))
    return np.repeat(possible, np.rint(n).astype(np.int64), axis=0)


def counted_records(sums: Sums, possible: F64) -> F64:
    """Return the rows of the group by (3) in whole numbers, for a few dozen possible records.

    The sums are a whole-number combination of the possible records' features, and the shortest one is the group,
    however large it is.
    """
    A = np.hstack([np.asarray(map_records(s.the_map, possible)) for s in sums])
    total, even = np.concatenate([s.total for s in sums]), round(len(sums[0].of) / len(possible))
    every = np.vstack([A, even * A.sum(axis=0) - total])
    for scale in COUNTING:
        for u in reduce_basis(every @ every.T, scale):
            n = even + u[:-1] * u[-1]
            if abs(u[-1]) == 1 and n.min() >= 0 and n.sum() == len(sums[0].of):
                return np.repeat(possible, n, axis=0)
    return np.empty((0, possible.shape[1]))


def all_records(values: Sequence[Sequence[float]]) -> F64:
    """Return every record that has one of the given values in each column."""
    return np.array(list(product(*values)), np.float64)


def recover_rows(found: F64, truth: F64, within: float = FOUND) -> float:
    """Return the share of the true rows that were found, each by a row of its own."""
    if not len(found):
        return 0.0
    far = np.linalg.norm(found[:, None] - truth, axis=2) / np.linalg.norm(truth, axis=1)
    i, j = linear_sum_assignment(np.minimum(far, 1.0))
    return float(np.sum(far[i, j] <= within) / len(truth))


def closest_sums(view: View, the_map: FeatureMap) -> Sum:
    """Return the difference of the two sums that differ by the fewest rows, as a sum (1).

    Its coefficients are known: p rows differ, and as many more of them count as +1 than as -1 as the difference of d
    says.
    """
    if view.gram is None:
        raise LocalError(
            "this view does not say by how many rows the sums differ: give a view with the Gram matrix of its sets"
        )
    size = view.gram.diagonal()
    apart = size[:, None] + size - 2.0 * view.gram + np.diag(np.full(len(size), np.inf))
    s, t = np.unravel_index(np.argmin(apart), apart.shape)
    difference, p = view.sums[s] - view.sums[t], round(float(apart[s, t]))
    plus = (p + round(float(difference[-2]))) // 2
    return Sum(the_map, difference[:-2], np.repeat([1.0, -1.0], [plus, p - plus]))


def nested_sums(view: View, the_map: FeatureMap, least: int) -> Sum:
    """Return the smallest difference of two sums that may be a sum of `least` rows or more of one class.

    Nothing but the sums and the size of groups is known: c and d of such a difference have the same size.
    """
    every = np.vstack([np.zeros_like(view.sums[:1]), view.sums])
    i, j = np.triu_indices(len(every), 1)
    apart = every[i] - every[j]
    size = np.abs(apart[:, -1])
    fits = (np.abs(size - np.abs(apart[:, -2])) < SAME) & (size >= least - SAME)
    best = apart[fits][np.argmin(size[fits])]
    return Sum(the_map, np.asarray(best[:-2] * np.sign(best[-2])), np.ones(round(float(abs(best[-1])))))


def _of_groups(the_map: FeatureMap, X: F64, y: F64) -> Sequence[Sums]:
    """Return the sums of two groups of one class, as few rows each as `min_count="auto"` allows."""
    least = least_count(the_map.size, X.shape[1], 0.0)
    return [[sum_of(the_map, X[y == side][:least])] for side in (1.0, -1.0)]


def _of_pairwise_rule(the_map: FeatureMap, X: F64, y: F64) -> Sequence[Sums]:
    F = np.asarray(map_records(the_map, X))
    return [[closest_sums(pairwise_rule(F, y, C=C), the_map)] for C in (1.0, 10.0, 100.0)]


VARIANTS: Mapping[str, Groups] = {"0.1.0's rule": _of_pairwise_rule, "groups": _of_groups}


def _try_maps(sums: Sums, columns: int) -> F64:
    return atom_inversion(sums, columns, pursuits=PATIENT if len(sums[0].of) <= MANY else 1).rows


def study(X: F64, y: I64, variants: Mapping[str, Groups] = VARIANTS) -> Points:
    """Yield the share of the rows that are found in all groups a variant opens, by features for each column."""
    few, signs, none = X[:, :8], np.where(y == y.max(), 1.0, -1.0), np.empty((0, 0))
    for name, groups in variants.items():
        for each in (2, 4, 8, 16):
            D = each * few.shape[1]
            opened = groups(FeatureMap("fourier", "rbf", 1.0 / few.shape[1], 3, 0.0, none, none, 1, D), few, signs)
            found = np.vstack([_try_maps(sums, few.shape[1]) for sums in opened])
            near = [np.linalg.norm(few - x, axis=1).min() <= FOUND * np.linalg.norm(x) for x in found]
            yield Point(name, each, float(np.mean(near)))
