"""Probabilities from decision values: Platt's sigmoid, from sums over records alone.

    p(f) = 1 / (1 + exp(A f + B))                                                                                    (1)
    min_{A,B}  L = - sum_i t_i log p_i + (1 - t_i) log(1 - p_i),   t = (P + 1) / (P + 2) or 1 / (N + 2)              (2)

for the P records of the class and the N others. Newton's method needs six sums over the records at each (A, B): L, its
gradient and its second derivatives.

    dL = sum (t - p) (f, 1),     d2L = sum p (1 - p) (f^2, f, 1)                                                     (3)

Source: Lin, Lin and Weng, Machine Learning 68, 2007, whose targets, start and backtracking these are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from tacit.arrays import F64, I64, Flags

SUMS = 6  # L, two of dL, three of d2L
ENOUGH = 1e-10  # what another Newton step would gain of L, relative to it
DECREASE = 1e-4  # of what the slope promises, a step must gain so much
SINGULAR = 1e-7  # values that are nearly all the same have no slope
MOST = 30  # candidates


@dataclass(frozen=True)
class Fit:
    """The state of a fit, a line for each problem.

    The best (A, B) and its L; the candidate to look at next; the step to it and its slope; whether it ended.
    """

    best: F64
    loss: F64
    candidate: F64
    step: F64
    slope: F64
    done: Flags


def start(P: F64, N: F64) -> Fit:
    """Return the fit at the slope 0 and the records' own shares; it ends at once without records on both sides."""
    first = np.column_stack([np.zeros(len(P)), np.log((N + 1.0) / (P + 1.0))])
    return Fit(first, np.full(len(P), np.inf), first, np.zeros_like(first), np.zeros(len(P)), (P == 0) | (N == 0))


def sums(f: F64, positive: Flags, P: float, N: float, at: F64) -> F64:
    """Return L, dL and d2L of (2) and (3) at (A, B), over these records of all."""
    t = np.where(positive, (P + 1.0) / (P + 2.0), 1.0 / (N + 2.0))
    z = at[0] * f + at[1]
    p = expit(-z)
    loss = np.sum(np.logaddexp(0.0, z) - (1.0 - t) * z)  # -t log p - (1 - t) log(1 - p), without an overflow
    d, w = t - p, p * (1.0 - p)
    return np.array([loss, d @ f, d.sum(), w @ (f * f), w @ f, w.sum()])


def advance(fit: Fit, found: F64) -> Fit:
    """Return the fit at its next candidates, once the sums at these are known, a line each.

    The next candidate is a Newton step on, or half the way back.
    """
    loss, newton = found[:, 0], np.array([_newton(each) for each in found])
    better = loss <= fit.loss + DECREASE * fit.slope
    best = np.where(better[:, None], fit.candidate, fit.best)
    step = np.where(better[:, None], newton, fit.step / 2.0)
    slope = np.where(better, np.einsum("ki,ki->k", newton, found[:, 1:3]), fit.slope / 2.0)
    least = np.where(better, loss, fit.loss)
    done = fit.done | (-slope <= ENOUGH * least)
    # the last step is taken unseen: there Newton's error is the square of what is left
    after = np.where((done & better)[:, None], best + step, best)
    held = fit.done[:, None]
    return Fit(np.where(held, fit.best, after), least, np.where(held, fit.candidate, best + step), step, slope, done)


def _newton(found: F64) -> F64:
    (g, h), (a, b, c) = found[1:3], found[3:]
    if a * c - b * b <= SINGULAR * a * c:
        return np.array([0.0, -h / c if c > 0 else 0.0])
    step: F64 = np.array([b * h - c * g, b * g - a * h]) / (a * c - b * b)
    return step


def sigmoids(values: F64, codes: I64) -> F64:
    """Return A and B of every column, a line each, where one party has all decision values.

    There is a column per class, or one for class 1 of two.
    """
    of = [codes == k for k in classes_of(values.shape[1])]
    P = np.array([float(positive.sum()) for positive in of])
    N = len(codes) - P
    fit = start(P, N)
    for _ in range(MOST):
        columns = zip(values.T, of, P, N, fit.candidate, strict=True)
        fit = advance(fit, np.array([sums(f, *each) for f, *each in columns]))
    return fit.best


def classes_of(columns: int) -> range:
    """Return which class is positive in which column."""
    return range(1, 2) if columns == 1 else range(columns)


def probabilities(values: F64, AB: F64) -> F64:
    """Return a column of probabilities per class, (1).

    Of several classes, what they say against the rest is made to add up to 1.
    """
    p: F64 = expit(-(AB[:, 0] * values + AB[:, 1]))
    if p.shape[1] == 1:
        return np.column_stack([1.0 - p, p])
    total = p.sum(axis=1, keepdims=True)
    shares: F64 = np.divide(p, total, out=np.full_like(p, 1.0 / p.shape[1]), where=total > 0)
    return shares
