"""How much each feature matters: the criteria of 004, chapters 5 and 6, from sums that parties can add up.

A model is a sum over l landmarks, for each of K problems; k^-j is the kernel without feature j, and f^-j is made of it:

    f(x) = sum_i v_i k(x, l_i) + b,    v = U Lambda^-1/2 w                                                          (1)
    RFE_j  = |v'Av - v'A^-j v|                                       linear kernel: w_j^2                         (5.1)
    RSVM_j = mean_+(f - f^-j) - mean_-(f - f^-j)                     linear kernel: w_j (m+_j - m-_j)             (5.2)
    t_j    = |m+_j - m-_j| / sqrt(s+_j^2 / n+ + s-_j^2 / n-)         SVM-t: of rows with y f <= 1                 (5.3)

The filters take all rows, class against class; t of (5.3) by class is (6.2), and beside it

    Fisher_j = (m+_j - m-_j)^2 / (sigma+_j^2 + sigma-_j^2)                                                        (6.1)
    S_j      = sum_i n_i (m_ij - m_j)^2 / sum_i sum_{x in i} (x_j - m_ij)^2                                       (6.3)

Corrected: (5.1) and (5.2) are printed with a w_j that exists for the linear kernel only; (6.1) without the square
depends on units; n+ and n- of (6.2) are class sizes; S_b of (6.3) is weighted by n_i.

Moments are rows [n, sum (x - o), sum (x - o)^2] about the middle o of all records, without which n m^2 hides the
variance. A score of K > 1 problems is the mean over them; (6.1) and (6.2) of c > 2 classes are of each class against
the rest. A feature without variance in any class scores 0, or infinity if its means differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from tacit.arrays import F64, I8, I64, Flags
from tacit.numeric.svm.kernels import Kernel, kernel_matrix
from tacit.protocols.features.maps import PublicMap

FLOOR = 1e-8  # differences below are of fixed point


@dataclass(frozen=True)
class Expansion:
    """The models (1): a kernel, landmarks (l x d), v (K x l) and b (K); of linear models v are their weights."""

    kernel: Kernel
    landmarks: F64
    v: F64
    b: F64

    @classmethod
    def of(cls, the_map: PublicMap, w: F64) -> Expansion:
        """Return models on a map, a row of w each with b last, as sums over landmarks."""
        raw = the_map.unfold(w.T)
        return cls(the_map.shape, the_map.centres, raw[:-1].T, raw[-1])

    def values(self, X: F64) -> F64:
        """Return the decision values of records, a column for each problem."""
        K = X if self.kernel.name == "linear" else kernel_matrix(X, self.landmarks, self.kernel)
        return np.asarray(K @ self.v.T + self.b)

    def changes(self, X: F64) -> Iterator[F64]:
        """Yield f - f^-j of records for feature after feature, a column for each problem."""
        if self.kernel.name == "linear":
            yield from (np.outer(column, weights) for column, weights in zip(X.T, self.v.T, strict=True))
            return
        base = _find_base(self.kernel, X, self.landmarks)
        for x, z in zip(X.T, self.landmarks.T, strict=True):
            yield _change(self.kernel, base, x[:, None], z) @ self.v.T


def _find_base(kernel: Kernel, X: F64, L: F64) -> F64:
    """Return gamma |x - l|^2 of an RBF kernel, else gamma x.l + coef0."""
    if kernel.name == "rbf":
        squares = np.square(X).sum(axis=1)[:, None] + np.square(L).sum(axis=1) - 2.0 * X @ L.T
        return np.asarray(kernel.gamma * np.maximum(squares, 0.0))
    return np.asarray(kernel.gamma * X @ L.T + kernel.coef0)


def _change(kernel: Kernel, base: F64, x: F64, z: F64) -> F64:
    """Return the kernel less the one without a feature, whose values are x and z."""
    if kernel.name == "rbf":
        part = kernel.gamma * np.square(x - z)
        return np.asarray(np.exp(np.minimum(part - base, 0.0)) * np.expm1(-part))  # no exponent above 0
    return np.asarray(base**kernel.degree - (base - kernel.gamma * x * z) ** kernel.degree)


# The wrapper's criteria


def score_rfe(e: Expansion) -> F64:
    """Return (5.1) of every feature, from public values alone: v'Av - v'A^-j v = sum_i v_i (f - f^-j)(l_i)."""
    if e.kernel.name == "linear":
        return np.asarray(np.square(e.v).mean(axis=0))
    return np.array([np.abs(np.einsum("ki,ik->k", e.v, each)).mean() for each in e.changes(e.landmarks)])


def sum_changes(e: Expansion, X: F64, signs: I8) -> F64:
    """Return a party's part of (5.2): for each problem and side [count, sum of f - f^-j], (K x 2 x 1+d)."""
    sides = split_sides(signs)
    sums = [np.einsum("nks,nk->ks", sides, each) for each in e.changes(X)]
    return np.stack([sides.sum(axis=0), *sums], axis=2)


def score_rsvm(sums: F64) -> F64:
    """Return (5.2), signed: a feature that works against the separation counts less than an idle one."""
    mean = sums[..., 1:] / np.maximum(sums[..., :1], 1.0)
    return np.asarray((mean[:, 0] - mean[:, 1]).mean(axis=0))


def sum_margin(e: Expansion, X: F64, signs: I8, middle: F64) -> F64:
    """Return a party's part of (5.3): moments of the rows with y f <= 1 on each side of each problem."""
    inside = signs * e.values(X) <= 1.0
    return sum_moments(X, split_sides(signs) * inside[..., None], middle)


def score_t(sums: F64) -> F64:
    """Return (5.3), or (6.2), of every feature."""
    return np.asarray(_find_t(sums)[0].mean(axis=0))


def split_sides(signs: I8) -> F64:
    """Return which rows are on the positive and on the negative side of each problem, (n x K x 2)."""
    return np.stack([signs > 0, signs < 0], axis=2).astype(np.float64)


# The filters


def sum_classes(X: F64, codes: I64, classes: int, middle: F64) -> F64:
    """Return a party's part of the moments of every class, (c x 1+2d)."""
    return sum_moments(X, np.equal.outer(codes, np.arange(classes)).astype(np.float64), middle)


def pair_classes(sums: F64) -> F64:
    """Return moments of classes as those of two sides: of c > 2 classes, each against the rest."""
    if len(sums) == 2:  # noqa: PLR2004 - two classes
        return sums[None]
    return np.stack([sums, sums.sum(axis=0) - sums], axis=1)


def score_fisher(sums: F64) -> F64:
    """Return (6.1) of every feature, from moments of classes."""
    n, mean, within = _spread(pair_classes(sums))
    return np.asarray(_divide(_find_gap(mean) ** 2, (within / np.maximum(n, 1.0)).sum(axis=1)).mean(axis=0))


def find_p(sums: F64) -> F64:
    """Return the p-value of (6.2); of c > 2 classes c times the smallest, for "some class differs from the rest"."""
    p = _find_t(pair_classes(sums))[1]
    return np.asarray(np.minimum(1.0, len(p) * p.min(axis=0)))


def score_scatter(sums: F64) -> F64:
    """Return (6.3) of every feature; S (n - c) / (c - 1) is the F of an analysis of variance."""
    n, mean, within = _spread(sums)
    off = _beyond(mean - (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1.0))
    return _divide((n * off**2).sum(axis=0), within.sum(axis=0))


# Moments


def sum_moments(X: F64, member: F64, middle: F64) -> F64:
    """Return [n, sum (x - o), sum (x - o)^2] of every group of rows; `member` says which rows are in which."""
    off = X - middle
    columns = (np.ones((len(X), 1)), off, off**2)
    return np.concatenate([np.tensordot(member, each, axes=(0, 0)) for each in columns], axis=-1)


def _spread(sums: F64) -> tuple[F64, F64, F64]:
    """Return how many rows a group has, their mean, and the sum of squares about it."""
    n, (s, q) = sums[..., :1], np.split(sums[..., 1:], 2, axis=-1)
    mean = s / np.maximum(n, 1.0)
    return n, mean, np.maximum(_beyond(q - s * mean), 0.0)


def _find_t(sums: F64) -> tuple[F64, F64]:
    """Return (5.3) and its p with Welch and Satterthwaite's degrees of freedom, for each problem (K x d)."""
    n, mean, within = _spread(sums)
    free = np.maximum(n - 1.0, 1.0)
    share = within / free / np.maximum(n, 1.0)
    square = share.sum(axis=1)
    part = share / np.where(square > 0, square, np.inf)[:, None]
    freedom = 1.0 / np.where(square > 0, (part**2 / free).sum(axis=1), 1.0)
    t = _divide(np.abs(_find_gap(mean)) * (n > 1).all(axis=1), np.sqrt(square))
    return t, np.asarray(2.0 * stdtr(freedom, -t))


def _find_gap(mean: F64) -> F64:
    return _beyond(mean[:, 0] - mean[:, 1])


def _beyond(x: F64) -> F64:
    return np.where(np.abs(x) > FLOOR, x, 0.0)


def _divide(a: F64, b: F64) -> F64:
    """Return the quotient of values >= 0: 0 / 0 is 0, else a / 0 is infinite."""
    return np.divide(a, b, out=np.where(a > 0, np.inf, 0.0), where=b > 0)


# Ranks and votes


def order(scores: F64) -> I64:
    """Return the features from the least relevant; of equals the first comes first."""
    return np.argsort(scores, kind="stable")


def vote(orders: Sequence[I64], drop: int) -> tuple[list[int], list[list[int]]]:
    """Return which features go, and if these are too few, sets of which one goes as well (5.2.3, step 4).

    Those go that most criteria name among their first `drop`; if that is more than `drop`, those of most votes and then
    of the smallest sum of ranks. If it is fewer, each criterion proposes its next ones to make up the number.
    """
    named = [each[:drop].tolist() for each in orders]
    votes = {j: sum(j in names for names in named) for names in named for j in names}
    rank = np.sum([np.argsort(each) for each in orders], axis=0)
    agreed = sorted((-n, int(rank[j]), j) for j, n in votes.items() if 2 * n > len(orders))
    gone = [j for *_, j in agreed[:drop]]
    left = drop - len(gone)
    proposed = [tuple(j for j in names if j not in gone)[:left] for names in named] if left else []
    return gone, [list(each) for each in dict.fromkeys(proposed)]


@dataclass(frozen=True)
class Thresholds:
    """What passes a filter: a score, or a p-value, up to which; where there is none, so many of the best."""

    fisher: float | None
    welch: float | None
    scatter: float | None
    quota: int


def vote_features(sums: F64, by: Thresholds) -> I64:
    """Return the voted set, weakest first: the features that pass all three filters; the best one if none does."""
    scores = score_fisher(sums), score_t(pair_classes(sums)), score_scatter(sums)
    rank = np.sum([np.unique(each, return_inverse=True)[1] for each in scores], axis=0)
    passes = _pass(scores[0], by.fisher, by.quota) & _pass(scores[2], by.scatter, by.quota)
    passes &= _pass(scores[1], None, by.quota) if by.welch is None else find_p(sums) <= by.welch
    weakest_first = np.argsort(rank, kind="stable")
    return weakest_first[passes[weakest_first]] if passes.any() else weakest_first[-1:]


def _pass(scores: F64, least: float | None, quota: int) -> Flags:
    if least is not None:
        return np.asarray(scores >= least)
    return np.isin(np.arange(len(scores)), order(scores)[-quota:])
