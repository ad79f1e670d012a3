"""How much each feature matters: the criteria of paper 004, chapters 5 and 6, from sums that parties can add up.

A model is an expansion over l landmarks (or support vectors), one for each of K binary problems; k^-j is the kernel
without feature j, A = K(L, L), and f^-j, A^-j are made with k^-j:

    f(x) = sum_i v_i k(x, l_i) + b                                                                      (1)
    RFE_j  = |v'Av - v'A^-j v|                                    linear: w_j^2                         (2)
    RSVM_j = mean_+(f - f^-j) - mean_-(f - f^-j)                  linear: w_j (m+_j - m-_j)             (3)
    t_j    = |m+_j - m-_j| / sqrt(s+_j^2 / n+ + s-_j^2 / n-)      SVM-t: over the rows with y f <= 1    (4)

The filters take all rows: (4) by class, with its p-value, and

    Fisher_j = (m+_j - m-_j)^2 / (sigma+_j^2 + sigma-_j^2)        sigma^2 divides by n, s^2 by n - 1    (5)
    S_j      = sum_i n_i (m_ij - m_j)^2 / sum_i sum_{x in i} (x_j - m_ij)^2                             (6)

Where the paper prints something else in (2), (3), (5) or (6), these are the corrected forms: its w_j does not exist
outside the linear kernel, its Fisher score depends on units, and its S_b forgets n_i. S (n - c) / (c - 1) is ANOVA's F.

`*_sums` are arrays that a party computes on its own rows and that add up over parties; a score is made of their total.
Moments are rows [n, sum (x - o), sum (x - o)^2], o a public offset per feature: without it n m^2 hides the variance.
With K > 1 problems a score is the mean over them; (4) and (5) of c > 2 classes are means over each class against the
rest. What is undefined (a class with no row, in (4) with one; in (5), (6) no class with two) and what is constant
scores 0, p = 1. A feature that is constant in every class, but not the same, separates them: infinity, p = 0, as in
scipy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from tacit.arrays import F64, I8, I64
from tacit.errors import LocalError
from tacit.numeric.svm.kernels import Kernel

BLOCK = 1 << 18  # entries of a temporary: it stays in the cache
EPS = float(np.finfo(np.float64).eps)
MILD = 30.0  # exp of it, times a kernel value, neither overflows nor brings back what had underflowed


@dataclass(frozen=True)
class Expansion:
    """The model (1): landmarks (l x d), v (K x l), b (K). Of a linear model w: landmarks w, v the identity."""

    kernel: Kernel
    landmarks: F64
    v: F64
    b: F64


# The wrapper's criteria: what a party sums, and the scores


def rfe(e: Expansion, block: int = BLOCK) -> F64:
    """Return the criterion (2) of every feature, from public values alone."""
    change = weighted_change(e, e.landmarks, e.v.T[:, :, None], block)  # v'Av - v'A^-j v = sum_i v_i (f - f^-j)(l_i)
    return _mean(np.abs(change[:, 0]))


def rsvm_sums(e: Expansion, X: F64, signs: I8, block: int = BLOCK) -> F64:
    """Return a party's sums for (3), (K x 2 x 1+d): [count, sum of f - f^-j] for the rows of sign +1 and -1.

    A row of sign 0 is not in the problem.
    """
    sides = _sides(signs)
    return np.concatenate([sides.sum(axis=0)[..., None], weighted_change(e, X, sides, block)], axis=2)


def rsvm(sums: F64) -> F64:
    """Return the criterion (3), signed: a feature that works against the separation counts less than an idle one."""
    n = sums[..., :1]
    mean = sums[..., 1:] / np.maximum(n, 1.0)
    return _mean((mean[:, 0] - mean[:, 1]) * (n > 0).all(axis=1))


def margin_sums(
    e: Expansion, X: F64, signs: I8, offset: F64 | float = 0.0, slack: float = 0.0, block: int = BLOCK
) -> F64:
    """Return a party's sums for SVM-t, (K x 2 x 1+2d): moments of the rows with y f <= 1 + slack, by sign."""
    inside = signs * decision(e, X, block) <= 1.0 + slack
    return moments(X, _sides(signs) * inside[..., None], offset)


def margin_t(sums: F64, error: float = 0.0) -> F64:
    """Return (4) from the total of `margin_sums`; `error` bounds what each entry is off by (fixed point)."""
    return _mean(_welch(sums, error)[0])


# The filters


def class_sums(X: F64, codes: I64, classes: int, offset: F64 | float = 0.0) -> F64:
    """Return the moments of every class, (c x 1+2d); `codes` are 0 .. c-1."""
    return moments(X, (codes[:, None] == np.arange(classes)).astype(np.float64), offset)


def welch(sums: F64, error: float = 0.0) -> F64:
    """Return Welch's t of (4) over all rows, from the total of `class_sums`."""
    return _mean(_welch(one_versus_rest(sums), _rest_error(sums, error))[0])


def welch_p(sums: F64, error: float = 0.0) -> F64:
    """Return the two-sided p of (4).

    Of c > 2 classes it is Bonferroni's, c times the smallest, for "some class differs from the rest".
    """
    p = _welch(one_versus_rest(sums), _rest_error(sums, error))[1]
    return np.asarray(np.minimum(1.0, len(p) * p.min(axis=0)))


def fisher(sums: F64, error: float = 0.0) -> F64:
    """Return Fisher's score (5) of every feature."""
    n, mean, within, off = _spread(one_versus_rest(sums), _rest_error(sums, error))
    gap = _beyond(mean[:, 0] - mean[:, 1], off.sum(axis=1)) * (n > 0).all(axis=1) * (n > 1).any(axis=1)
    return _mean(_ratio(gap**2, (within / np.maximum(n, 1.0)).sum(axis=1)))


def scatter_ratio(sums: F64, error: float = 0.0) -> F64:
    """Return the ratio (6), of any number of classes; one without rows does not count."""
    n, mean, within, off = _spread(sums, error)
    total = np.maximum(n.sum(axis=0), 1.0)
    gap = _beyond(mean - (n * mean).sum(axis=0) / total, off + (n * off).sum(axis=0) / total) * (n > 1).any()
    return _ratio((n * gap**2).sum(axis=0), within.sum(axis=0))


def one_versus_rest(sums: F64) -> F64:
    """Return moments of c classes as those of c problems (c x 2 x 1+2d); two classes are one problem."""
    if len(sums) == 2:  # noqa: PLR2004 - two classes
        return sums[None]
    return np.stack([sums, (1.0 - np.eye(len(sums))) @ sums], axis=1)


def _rest_error(sums: F64, error: float) -> float:
    return error * max(len(sums) - 1, 1)  # the rest is a sum over the other classes


# Ranking and voting


def order(scores: F64) -> I64:
    """Return the features from the least relevant; of equals the first comes first."""
    return np.argsort(scores, kind="stable")


@dataclass(frozen=True)
class Vote:
    """Who goes, least relevant first; and, if that is too few, sets of which one goes as well.

    The accuracy without each set decides which.
    """

    gone: tuple[int, ...]
    contested: tuple[tuple[int, ...], ...]


def vote(rankings: Sequence[Sequence[int] | I64], drop: int) -> Vote:
    """Return which features go, by step 4 of 5.2.3: those that most criteria name among their first `drop`.

    If more than `drop` are so named, those of most votes go, then those of the smallest sum of ranks. If fewer, each
    criterion proposes the next features of its own ranking to make up the number. Up to three criteria name different
    ones (else they would be gone), so the tie costs one accuracy per criterion however many features go at once.
    """
    orders = [[int(j) for j in ranking] for ranking in rankings]
    _check_vote(orders, drop)
    named = [set(o[:drop]) for o in orders]
    votes = {j: sum(j in names for names in named) for j in set().union(*named)}
    ranks = [{j: i for i, j in enumerate(o)} for o in orders]
    agreed = [j for j, count in votes.items() if 2 * count > len(orders)]
    gone = sorted(agreed, key=lambda j: (-votes[j], sum(rank[j] for rank in ranks), j))[:drop]
    left, out = drop - len(gone), set(gone)
    proposals = [tuple(j for j in o[:drop] if j not in out)[:left] for o in orders] if left else []
    return Vote(tuple(gone), tuple(dict.fromkeys(proposals)))


def _check_vote(orders: list[list[int]], drop: int) -> None:
    if not orders or any(sorted(o) != sorted(set(orders[0])) for o in orders):
        raise LocalError("a vote needs at least one ranking, and every ranking must hold the same features, each once")
    if not 1 <= drop <= len(orders[0]):
        raise LocalError(f"a vote drops 1 to {len(orders[0])} of {len(orders[0])} features, got drop={drop}")


# The expansion, whole and without a feature


def decision(e: Expansion, X: F64, block: int = BLOCK) -> F64:
    """Return the decision values (1), n x K."""
    if e.kernel.name == "linear":
        return np.asarray(X @ (e.v @ e.landmarks).T + e.b)
    out = np.empty((len(X), len(e.v)))
    squares = (e.landmarks**2).sum(axis=1)
    for rows in _slices(len(X), block // max(len(e.landmarks), 1)):
        K = e.kernel.from_dots(X[rows] @ e.landmarks.T, (X[rows] ** 2).sum(axis=1), squares)
        out[rows] = K @ e.v.T + e.b
    return out


def weighted_change(e: Expansion, X: F64, weights: F64, block: int = BLOCK) -> F64:
    """Return sum_n weights_nkc (f_k - f_k^-j)(x_n), (K x c x d).

    Temporaries have at most `block` entries (or one row's).
    """
    if e.kernel.name == "linear":
        return np.asarray(np.tensordot(weights, X, axes=(0, 0)) * (e.v @ e.landmarks)[:, None, :])
    out = np.zeros((*weights.shape[1:], X.shape[1]))
    # smaller dots, same distances
    centre = e.landmarks.mean(axis=0) if e.kernel.name == "rbf" and len(e.landmarks) else 0.0
    XT, LT = np.ascontiguousarray((X - centre).T), np.ascontiguousarray((e.landmarks - centre).T)
    width = max(*e.v.shape, 1)
    for rows in _slices(len(X), block // width):
        parts = XT[:, rows]
        base = _base(e.kernel, parts, LT)
        K = _value(e.kernel, base)
        for columns in _slices(len(XT), block // (width * parts.shape[1])):
            change = _change(e.kernel, base, K, parts[columns, :, None], LT[columns, None, :])
            drop = (change.reshape(-1, e.v.shape[1]) @ e.v.T).reshape(*change.shape[:2], len(e.v))
            out[..., columns] += np.einsum("jnk,nkc->kcj", drop, weights[rows])
    return out


def _base(kernel: Kernel, XT: F64, LT: F64) -> F64:
    """Return what `_change` takes a feature's part from: gamma |x - l|^2, or gamma x.l + coef0."""
    dots = XT.T @ LT
    if kernel.name == "rbf":
        squares = (XT**2).sum(axis=0)[:, None] + (LT**2).sum(axis=0)
        return np.asarray(kernel.gamma * np.maximum(squares - 2.0 * dots, 0.0))
    return np.asarray(kernel.gamma * dots + kernel.coef0)


def _value(kernel: Kernel, base: F64) -> F64:
    if kernel.name == "rbf":
        return np.asarray(np.exp(-base))
    return np.asarray(np.tanh(base) if kernel.name == "sigmoid" else base**kernel.degree)


def _change(kernel: Kernel, base: F64, K: F64, x: F64, z: F64) -> F64:
    """Return the kernel less the one without j, for a block of features (j x n x l)."""
    if kernel.name == "rbf":
        part = x - z
        part *= part
        part *= kernel.gamma
        return _rbf_change(base, K, part)
    part = kernel.gamma * x * z
    if kernel.name == "sigmoid":
        return np.asarray(K - np.tanh(base - part))
    without, factor = base - part, np.zeros_like(part)
    for i in range(kernel.degree):  # a^p - b^p = (a - b) sum_i a^i b^(p-1-i)
        factor *= without
        factor += base**i
    return np.asarray(part * factor)


def _rbf_change(base: F64, K: F64, part: F64) -> F64:
    """Return exp(-base) - exp(part - base).

    Takes one `expm1` per entry, or, where its exponent could overflow, two exponents <= 0.
    """
    if part.max(initial=0.0) <= MILD:
        np.expm1(part, out=part)
        part *= -K
        return part
    return np.asarray(np.exp(np.minimum(part - base, 0.0)) * np.expm1(-part))


def _slices(n: int, size: int) -> Iterator[slice]:
    return (slice(i, min(i + max(size, 1), n)) for i in range(0, n, max(size, 1)))


# Moments


def _sides(signs: I8) -> F64:
    return np.stack([signs > 0, signs < 0], axis=2).astype(np.float64)


def moments(X: F64, member: F64, offset: F64 | float) -> F64:
    """Return [n, sum (x - o), sum (x - o)^2] of every group of rows.

    `member` is n x groups, of any shape, 0 or 1.
    """
    centred = X - offset
    n, s, q = (np.tensordot(member, part, axes=(0, 0)) for part in (np.ones((len(X), 1)), centred, centred**2))
    return np.concatenate([n, s, q], axis=-1)


def _spread(sums: F64, error: float) -> tuple[F64, F64, F64, F64]:
    """Return n, the mean, the sum of squares around it (0 if it may be rounding), and how far off the mean may be."""
    n, (s, q) = sums[..., :1], np.split(sums[..., 1:], 2, axis=-1)
    some, q = np.maximum(n, 1.0), np.maximum(q, 0.0)
    mean, rounding = s / some, EPS * (some + 8.0)  # of a sum of n terms, relative to the sum of their sizes
    within = _beyond(q - s * mean, rounding * q + error * (1.0 + 2.0 * np.abs(mean) + error / some))
    return n, mean, np.maximum(within, 0.0), rounding * np.sqrt(q / some) + error / some


def _welch(sums: F64, error: float) -> tuple[F64, F64]:
    """Return (4) and its p with Welch and Satterthwaite's degrees of freedom, for each problem (K x d)."""
    n, mean, within, off = _spread(sums, error)
    free = np.maximum(n - 1.0, 1.0)
    share = within / free / np.maximum(n, 1.0)
    square = share.sum(axis=1)
    gap = np.abs(_beyond(mean[:, 0] - mean[:, 1], off.sum(axis=1))) * (n > 1).all(axis=1)
    part = share / np.where(square > 0, square, np.inf)[:, None]
    freedom = 1.0 / np.where(square > 0, (part**2 / free).sum(axis=1), 1.0)
    t = _ratio(gap, np.sqrt(square))
    return t, np.asarray(2.0 * stdtr(freedom, -t))


def _beyond(x: F64, bound: F64) -> F64:
    return np.where(np.abs(x) > bound, x, 0.0)


def _ratio(a: F64, b: F64) -> F64:
    """Return the quotient of values >= 0: 0 / 0 is 0, else a / 0 is infinite."""
    return np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=b > 0)


def _mean(scores: F64) -> F64:
    return np.asarray(scores.mean(axis=0))
