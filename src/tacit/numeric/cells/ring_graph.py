"""The ring graph: n vertices on a ring, each joined to the k/2 nearest on either side (a Harary graph), k even.

Take the colluders out, a set of at most a share g of the vertices that was fixed before the order on the ring was drawn
uniformly. Two others that follow each other on the ring are joined, unless k/2 or more colluders stand between them. If
that happens at most once around the ring, all others are still connected. So they fall apart only if two disjoint runs
of k/2 places hold colluders alone. There are fewer than n^2/2 pairs of runs, and k given places hold colluders alone
with probability (gn/n) ((gn-1)/(n-1)) ... <= g^k:

    P(the others fall apart) <= n^2 g^k / 2                                                                  (1)

With k >= n - 1 every two vertices are joined, and whatever is left is connected.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter


@dataclass(frozen=True)
class RingGraph:
    """A ring graph by its order and its k; it gives neighbours without writing all of them down."""

    order: tuple[str, ...]
    k: int

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the place of every vertex on the ring."""
        return {v: i for i, v in enumerate(self.order)}

    def around(self, v: str) -> tuple[str, ...]:
        """Return a vertex and its neighbours as they stand on the ring, from the place k/2 before it on."""
        n, half = len(self.order), self.k // 2
        if self.k >= n - 1:
            return self.order
        first = self.places[v] - half
        return tuple(self.order[i % n] for i in range(first, first + self.k + 1))

    def find_sparsest(self, some: Collection[str]) -> tuple[str, int]:
        """Return the vertex that has the fewest of some vertices around it, itself among them, and how many."""
        n, half = len(self.order), self.k // 2
        if self.k >= n - 1:
            return self.order[0], sum(v in some for v in self.order)
        found = [v in some for v in self.order]
        counts = list(accumulate(found[-half:] + found + found[:half], initial=0))
        return min(((v, counts[i + self.k + 1] - counts[i]) for i, v in enumerate(self.order)), key=itemgetter(1))


def join_neighbours(order: Sequence[str], k: int) -> dict[str, tuple[str, ...]]:
    """Return the k neighbours of every vertex of a ring, or all others where there are no more."""
    n = len(order)
    if k >= n - 1:
        return {v: tuple(u for u in order if u != v) for v in order}
    steps = [s for s in range(-(k // 2), k // 2 + 1) if s]
    return {v: tuple(order[(i + s) % n] for s in steps) for i, v in enumerate(order)}


def bound_failure(n: int, share: float, k: int) -> float:
    """Return the bound (1) on the probability that colluders of at most this share cut the others apart."""
    return 0.0 if k >= n - 1 else min(1.0, n * n * share**k / 2)


def choose_degree(n: int, share: float, failure: float) -> int:
    """Return the smallest even k for which (1) is at most `failure`: about log(n^2 / failure) / log(1 / share)."""
    return next(k for k in range(2, n + 2, 2) if bound_failure(n, share, k) <= failure)
