"""Edge-disjoint rings: Hamiltonian cycles of the complete graph that share no edge (Walecki's construction, 1892).

K_n has floor((n-1)/2) of them. For n = 2m + 1, with vertices 0..2m-1 on a circle and one in the middle, cycle i is

    middle, i, i+1, i-1, i+2, i-2, ..., i+m      (mod 2m)

For even n a last vertex is put into one edge of each cycle of K_{n-1}: into the diameter {u, u+m}, u = i - floor(m/2),
which lies on cycle i. As diameters share no vertex, the last vertex meets every other one at most once.
"""

from __future__ import annotations

Cycle = tuple[int, ...]


def most(n: int) -> int:
    """Return how many edge-disjoint rings n vertices have."""
    return (n - 1) // 2


def disjoint_cycles(n: int, q: int) -> tuple[Cycle, ...]:
    """Return the first q edge-disjoint Hamiltonian cycles on vertices 0..n-1."""
    if n < 3 or not 1 <= q <= most(n):  # noqa: PLR2004 - a ring has three
        raise ValueError(f"{n} vertices have {max(most(n), 0)} edge-disjoint rings, asked for {q}")
    if n % 2:
        return tuple(_walecki(n // 2, i) for i in range(q))
    return tuple(_with_last(_walecki((n - 1) // 2, i), (n - 1) // 2, i) for i in range(q))


def _walecki(m: int, i: int) -> Cycle:
    steps = [0] + [k if sign > 0 else -k for k in range(1, m) for sign in (1, -1)] + [m]
    return (2 * m, *((i + step) % (2 * m) for step in steps))


def _with_last(cycle: Cycle, m: int, i: int) -> Cycle:
    ends = {cycle.index((i - m // 2) % (2 * m)), cycle.index((i - m // 2 + m) % (2 * m))}
    return (*cycle[: max(ends)], 2 * m + 1, *cycle[max(ends) :])
