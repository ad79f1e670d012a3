"""Set lattice: integer combinations of opened sums are single records, although no two sums differ by few rows.

Let v_t in {0, 1}^n say which rows are in the set V_t, and let the rows of A = (a, d, c) be their opened sums. Sums are
linear:

    sum_t u_t v_t = +-e_i     gives     sum_t u_t (a_t, d_t, c_t) = +-s_i (y_i f_i, y_i, 1),     so  f_i = a / d  (1)

Who knows by how many rows the sets differ knows their Gram matrix G = (v_s . v_t), and e_i is the shortest vector that
the lattice of the v_t can have. Lattice reduction [Lenstra, Lenstra, Lovasz 1982] needs G only. It is run on

    W G + 1,      W large                                                                                         (2)

where the unit matrix keeps the coefficients u small, so that the rounding of the sums is not multiplied.

Who knows the sums only can take their own Gram matrix for G. Rows are not orthogonal, so it is whitened by the sums'
own moments:

    G = A (A'A + r 1)^-1 A' = S (S + r 1)^-1,      S = A A'                                                       (3)

for several r. A reduced vector whose c and d are those of one row is then a candidate. (3) works where there are more
features than sums; with few columns, short vectors of the sums are sums of several rows. `heavy_class` and
`neighbouring_jobs` are two cases where plain differences suffice: rows of a class with a tiny weight fill up the sets
of other rows, and jobs do not know of each other.

What it finds (569 records of breast cancer, standardised, release 0.1.0's rule, defaults): 38 records from one linear
run with C = 10, with errors below 1e-8. From one run with 400 Fourier features (gamma = 1 / 30, C = 100) 75 with (2),
and 73 from the sums alone. It finds dozens or none: none at C = 1, where the sets split the rows into more pieces than
there are sums. From the sums of linear runs alone, which are more than the columns, it finds few or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.coordinator import deal_rows, opened_sums
from tacit.attacks.pairwise_rule import View, pairwise_rule
from tacit.attacks.study import Point, Points
from tacit.numeric.groups.least_count import least_count
from tacit.protocols.planes.feature_map import FeatureMap, map_records

SCALES = (1e5, 1e10)  # W of (2)
RIDGES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # r of (3), of the largest eigenvalue
NOTHING = 1e-3  # a combination of sums below this is of no rows
SURE = 1e-5  # how far c and d may be from those of one row
LOVASZ = 0.99
VISITS = 200_000  # at most, of one reduction
NEAR = 1e-6  # how near a record is found

Views = Callable[[F64, F64, float, int], View]  # of rows, signs, C, and rows of a group


def set_lattice(view: View, weights: Sequence[float] = (1.0,)) -> F64:
    """Return candidates for mapped rows, one to a line; `weights` are those that a row may have."""
    return of_sums(view.sums, weights) if view.gram is None else of_sets(view.sums, view.gram)


def of_sets(sums: F64, gram: F64) -> F64:
    """Return the rows that are combinations of sets, by (2): every one of them is a row."""
    U = reduce_basis(gram, SCALES[-1])
    size = np.einsum("ij,jk,ik->i", U, np.rint(gram), U)
    return _features(_shorten(U[size == 1], U[size == 0]) @ sums)


def of_sums(sums: F64, weights: Sequence[float] = (1.0,), ridges: Sequence[float] = RIDGES) -> F64:
    """Return candidates for rows from the sums alone, by (3)."""
    values, Q = np.linalg.eigh(sums @ sums.T)
    values = np.maximum(values, 0.0)
    found = [np.empty((0, sums.shape[1]))]
    for ridge, scale in product(ridges, SCALES):
        gram = (Q * (values / (values + ridge * values[-1]))) @ Q.T
        U = reduce_basis(gram / gram.diagonal().min(), scale)
        nothing = np.abs(U @ sums).max(axis=1) < NOTHING
        found.append(single(_shorten(U[~nothing], U[nothing]) @ sums, weights))
    return distinct(_features(np.vstack(found)))


def _shorten(U: I64, nothing: I64) -> F64:
    """Return the smallest coefficients of the same vectors, given combinations that are no rows.

    Rounding is multiplied least.
    """
    K = nothing.astype(np.float64)
    return np.asarray(U - (U @ np.linalg.pinv(K)) @ K)


def single(combinations: F64, weights: Sequence[float] = (1.0,), within: float = SURE) -> F64:
    """Return those combinations whose c and d are those of one row."""
    size = np.abs(combinations[:, -2:])
    fits = [(np.abs(size - w) <= within * w).all(axis=1) for w in weights]
    return combinations[np.any(fits, axis=0)]


def distinct(candidates: F64, within: float = SURE) -> F64:
    """Return the candidates without repetitions."""
    _, first = np.unique(np.rint(candidates / within), axis=0, return_index=True)
    return candidates[np.sort(first)]


def found_rows(candidates: F64, truth: F64, within: float = NEAR) -> I64:
    """Return which rows of the truth are among the candidates."""
    if not len(candidates):
        return np.empty(0, np.int64)
    far = np.array([np.abs(candidates - row).max(axis=1).min() for row in truth])
    return np.flatnonzero(far <= within)


def heavy_class(view: View, heavy: float = 1.0, within: float = 1e-4) -> tuple[F64, F64]:
    """Return candidates of a class beside which the other has hardly any weight: sums, and differences of two sums.

    The sets have many rows and differ by many, but only the rows of one class count: a sum with c = `heavy` is one
    record of it.
    """
    alone = single(view.sums, (heavy,), within)
    return _features(alone), distinct(_features(single(differences(view.sums), (heavy,), within)))


def neighbouring_jobs(views: Sequence[View], weights: Sequence[float] = (1.0,)) -> F64:
    """Return candidates from jobs over the same rows.

    Differences of any two of their sums whose c and d are those of one row.
    """
    sums = np.vstack([view.sums for view in views])
    _, first = np.unique(np.rint(sums / SURE), axis=0, return_index=True)
    return distinct(_features(single(differences(sums[first]), weights)))


def differences(sums: F64) -> F64:
    """Return the differences of all pairs of sums."""
    i, j = np.triu_indices(len(sums), 1)
    return np.asarray(sums[i] - sums[j])


def _features(combinations: F64) -> F64:
    """Return the mapped rows of candidates, (1)."""
    return np.asarray(combinations[:, :-2] / combinations[:, -2:-1])


def reduce_basis(gram: F64, scale: float) -> I64:
    """Return integer coefficients, one vector to a line, of a basis of (2) that is reduced."""
    U: I64 = _compiled()(np.ascontiguousarray(gram, dtype=np.float64), scale, LOVASZ, VISITS)
    return U


# one loop, which numba compiles whole
def _reduce(gram: Any, scale: float, delta: float, visits: int) -> Any:  # noqa: C901
    """Return a reduced basis by LLL, from the two parts of (2), each kept in whole numbers where it has them.

    r and mu are computed anew at every visit.
    """
    n = len(gram)  # pragma: no cover - compiled
    G, H, U = gram.copy(), np.eye(n), np.eye(n).astype(np.int64)
    r, mu = np.zeros((n, n)), np.zeros((n, n))
    k = 0
    while k < n and visits > 0:
        changed = True
        while changed and visits > 0:
            visits -= 1
            for j in range(k + 1):
                r[k, j] = scale * G[k, j] + H[k, j] - np.sum(mu[j, :j] * r[k, :j])
                if j < k:
                    mu[k, j] = r[k, j] / r[j, j] if r[j, j] != 0.0 else 0.0
            changed = False
            x = mu[k].copy()
            for j in range(k - 1, -1, -1):
                if abs(x[j]) > 0.501:  # noqa: PLR2004 - a half, and some room for rounding
                    changed = True
                    q = np.rint(x[j])
                    x[:j] -= q * mu[j, :j]
                    U[k] -= np.int64(q) * U[j]
                    for M in (G, H):
                        M[k] -= q * M[j]
                        M[k, k] -= q * M[k, j]
                        M[:, k] = M[k]
        if k == 0 or delta * r[k - 1, k - 1] <= r[k, k] + mu[k, k - 1] * r[k, k - 1]:
            k += 1
            continue
        for i in range(n):
            U[k, i], U[k - 1, i] = U[k - 1, i], U[k, i]
        for M in (G, H):
            for i in range(n):
                M[k, i], M[k - 1, i] = M[k - 1, i], M[k, i]
            for i in range(n):
                M[i, k], M[i, k - 1] = M[i, k - 1], M[i, k]
        k -= 1
    return U


@cache
def _compiled() -> Callable[..., Any]:
    """Return the loop as machine code; numba takes a second to import, which nobody pays who does not attack."""
    from numba import njit, types  # noqa: PLC0415 - see above

    signature = types.Array(types.int64, 2, "C")(
        types.Array(types.float64, 2, "C", readonly=True), types.float64, types.float64, types.int64
    )
    try:
        loop: Callable[..., Any] = njit(signature, nogil=True, cache=True)(_reduce)
    except RuntimeError:  # nowhere to keep it: compile in every process
        loop = njit(signature, nogil=True)(_reduce)
    return loop


def of_pairwise_rule(F: F64, y: F64, C: float, least: int, *, counts: bool) -> View:
    """Return the view of release 0.1.0's coordinator, whose groups had no size; without `counts`, of its sums only."""
    del least
    view = pairwise_rule(F, y, C=C)
    return view if counts else View(view.sums)


def of_groups(F: F64, y: F64, C: float, least: int) -> View:
    """Return the view of a coordinator of four honest holders that sum groups of at least so many rows."""
    return View(opened_sums(deal_rows(F, y), C=C, min_count=least))


VARIANTS: Mapping[str, Views] = {
    "0.1.0's rule": partial(of_pairwise_rule, counts=True),
    "0.1.0's sums only": partial(of_pairwise_rule, counts=False),
    "groups": of_groups,
}


def study(X: F64, y: I64, variants: Mapping[str, Views] = VARIANTS) -> Points:
    """Yield the share of the records that one run gives away, by C, with 200 Fourier features."""
    none = np.empty((0, 0))
    F = np.asarray(map_records(FeatureMap("fourier", "rbf", 1.0 / X.shape[1], 3, 0.0, none, none, 1, 200), X))
    signs, least = np.where(y == y.max(), 1.0, -1.0), least_count(F.shape[1], X.shape[1], 0.0)
    for name, view_of in variants.items():
        for C in (3.0, 30.0, 100.0):
            yield Point(name, C, len(found_rows(set_lattice(view_of(F, signs, C, least)), F)) / len(F))
