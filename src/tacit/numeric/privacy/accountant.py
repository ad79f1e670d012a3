"""Gaussian differential privacy, counted exactly: what noisy sums cost together, and the noise that a budget asks for.

A sum of integer rows, of which one record changes the squared length by D^2 at most, opened with noise of variance v:

    mu^2 = D^2 / (v - 16)                                                                                          (1)
    mu^2 of several sums, each chosen after the ones before were seen = the sum of their mu^2                      (2)
    delta(epsilon) = Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu)                                 (3)
    members found at a share a of false alarms, by whatever attack <= Phi(Phi^-1(a) + mu)                          (4)

(1): discrete noise of variance v is a randomised rounding of normal noise of variance v - 16, up to a factor of
1 +- 4 exp(-2 pi^2 16), so what holds for normal noise holds for it. (2), (3) are equalities for normal noise, not
bounds. Of M holders that each add noise of variance V, those that collude can subtract theirs: with t honest ones
v = t V. Someone with k records changes every sum k times as much, so mu is k times as large.

Source: Dong, Roth and Su, Gaussian differential privacy, JRSS B 84, 2022 (2) to (4); Balle and Wang, ICML 2018 (3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from scipy.special import log_ndtr, ndtr, ndtri

ROUNDING = 16  # of the variance goes into the rounding of (1)
LEAST = 32  # the least variance of one holder's noise: then noise of several adds up to noise of the same kind
MOST = 1e6  # a mu that protects nobody


def delta_of(mu: float, epsilon: float) -> float:
    """Return the delta that goes with epsilon, (3)."""
    if mu <= 0:
        return 0.0
    below, above = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(math.exp(below) * -math.expm1(above - below)) if above < below else 0.0


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon that goes with delta, (3)."""
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    most = mu * (mu / 2 + 40.0)  # there Phi(mu/2 - epsilon/mu) is 1e-350
    return _last(lambda epsilon: delta_of(mu, epsilon) <= delta, most, 0.0)


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest mu that epsilon and delta allow, (3)."""
    return _last(lambda mu: delta_of(mu, epsilon) <= delta, 0.0, MOST)


def most_found(mu: float, alarms: float) -> float:
    """Return the share of members that no attack exceeds at this share of false alarms, (4)."""
    return float(ndtr(ndtri(alarms) + mu))


def cost_of(sensitivity: int, variance: int, honest: int) -> float:
    """Return mu^2 of a sum, (1): `sensitivity` is D^2, `variance` that of one holder's noise."""
    return sensitivity / (honest * variance - ROUNDING)


def variance_for(sensitivity: int, cost: float, honest: int) -> int:
    """Return the least variance of one holder's noise by which a sum costs no more than this mu^2, (1)."""
    needed = (Fraction(sensitivity) / Fraction(cost) + ROUNDING) / honest
    return max(LEAST, math.ceil(needed))


def _last(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return the last number from `inside` towards `outside` at which a monotone condition holds, by bisection."""
    if holds(outside):
        return outside
    while True:
        middle = (inside + outside) / 2
        if middle in (inside, outside):
            return inside
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
