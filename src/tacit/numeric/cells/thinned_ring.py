"""The ring graph of which some vertices stay away: how many neighbours it needs, and how likely it fails.

Around each of the M places of a `ring_graph` stand n = k + 1 places: itself and the k/2 nearest on either side. A share
g of the vertices colludes and a share d stays away; both sets were fixed before the order was drawn. The survivors are
accepted only if

    every n places around a place hold at least t survivors, n >= t > 2n/3                                     (1)

Let T(x, s, m) = P(m given places hold x or more vertices of a set of s M), a tail of the hypergeometric distribution.

(1) is refused, and the sum stops, only if n places around some place hold n - t + 1 or more of those away:

    P(stop) <= M T(n - t + 1, d, n)                                                                            (2)

With (1) every run of k/2 places holds t - k/2 - 1 survivors or more, whoever chose who is away. Honest survivors that
follow each other on the ring are joined unless the survivors of such a run between them all collude. They fall apart
only if that happens in two disjoint runs, which hold 2t - n - 1 colluders or more in k places. There are fewer than
M^2/2 pairs of runs. That n places around a place hold 2t - n colluders or more, by which both secrets of an honest
holder in the middle could be opened, is an event of k places too, and there are M of them:

    P(fail) <= (M^2/2 + M) T(2t - n - 1, g, k)                                                                 (3)

With n >= M all places are around each: (1) is t survivors in all. Then nothing fails below 2t - M colluders, and
nothing stops while no more than M - t are away. Up to 100 vertices are few enough for that.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from math import exp, floor, lgamma
from typing import NamedTuple

FEW = 100


class Thresholds(NamedTuple):
    """How many places stand around each, how many of them must survive, and the bounds (3) and (2)."""

    n: int
    t: int
    failure: float
    stop: float

    @property
    def k(self) -> int:
        """Return the number of neighbours."""
        return self.n - 1


def count_least(M: int, n: int, t: int) -> int:
    """Return how many of M survive at least if (1) holds: every survivor is counted at n places."""
    return -(-M * t // n)


@lru_cache
def choose_thresholds(M: int, colluding: float, away: float, failure: float, stop: float) -> Thresholds:
    """Return the smallest n for which some t keeps both bounds; all M where they are few, or no smaller one does."""
    for n in range(3, M if M > FEW else 0, 2):
        t = find_least(M, n, colluding, failure)
        if t <= n and bound_stop(M, n, t, away) <= stop:
            return weigh(M, n, t, colluding, away)
    return weigh(M, M, least_of(M), colluding, away)


def find_least(M: int, n: int, colluding: float, failure: float) -> int:
    """Return the smallest t over two thirds of n for which (3), which falls with t, is small enough; else n + 1."""
    enough = range(least_of(n), n + 1)
    return least_of(n) + bisect_left(enough, -failure, key=lambda t: -bound_apart(M, n, t, colluding))


def weigh(M: int, n: int, t: int, colluding: float, away: float) -> Thresholds:
    """Return given thresholds with their bounds."""
    return Thresholds(n, t, bound_apart(M, n, t, colluding), bound_stop(M, n, t, away))


def least_of(n: int) -> int:
    """Return the smallest t over two thirds of n."""
    return 2 * n // 3 + 1


def bound_apart(M: int, n: int, t: int, colluding: float) -> float:
    """Return the bound (3) for colluders of at most this share."""
    if n >= M:
        return float(floor(colluding * M) >= 2 * t - M)
    return min(1.0, (M * M / 2 + M) * tail(M, floor(colluding * M), n - 1, 2 * t - n - 1))


def bound_stop(M: int, n: int, t: int, away: float) -> float:
    """Return the bound (2) for at most this share away."""
    if n >= M:
        return float(floor(away * M) > M - t)
    return min(1.0, M * tail(M, floor(away * M), n, n - t + 1))


def tail(M: int, marked: int, places: int, least: int) -> float:
    """Return the probability that so many of M places, in random order, hold `least` or more of the marked."""
    found = range(max(least, 0, places - (M - marked)), min(places, marked) + 1)
    return sum(
        exp(_log_choose(marked, x) + _log_choose(M - marked, places - x) - _log_choose(M, places)) for x in found
    )


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
