"""Edge-disjoint rings: Hamiltonian cycles of the complete graph that share no edge (Walecki's construction, 1892).

K_n has floor((n-1)/2) of them. For n = 2m + 1, with vertices 0..2m-1 on a circle and one in the middle, cycle i is

    middle, i, i+1, i-1, i+2, i-2, ..., i+m      (mod 2m)

For even n a last vertex is put into one edge of each cycle of K_{n-1}; as those edges share no vertex, it meets
every other vertex at most once.
"""

from __future__ import annotations

Cycle = tuple[int, ...]


def most(n: int) -> int:
    """How many edge-disjoint rings n vertices have."""
    return (n - 1) // 2


def disjoint_cycles(n: int, q: int) -> tuple[Cycle, ...]:
    """The first q edge-disjoint Hamiltonian cycles on vertices 0..n-1."""
    if n < 3 or not 1 <= q <= most(n):  # noqa: PLR2004 - a ring has three
        raise ValueError(f"{n} vertices have {max(most(n), 0)} edge-disjoint rings, asked for {q}")
    if n % 2:
        return tuple(_walecki(n // 2, i) for i in range(q))
    cycles = tuple(_walecki((n - 1) // 2, i) for i in range(q))
    return tuple(_insert(c, at, n - 1) for c, at in zip(cycles, _apart(cycles), strict=True))


def _walecki(m: int, i: int) -> Cycle:
    steps = [0] + [k if sign > 0 else -k for k in range(1, m) for sign in (1, -1)] + [m]
    return (2 * m, *((i + step) % (2 * m) for step in steps))


def _insert(cycle: Cycle, at: int, vertex: int) -> Cycle:
    return (*cycle[: at + 1], vertex, *cycle[at + 1 :])


def _apart(cycles: tuple[Cycle, ...], taken: frozenset[int] = frozenset()) -> tuple[int, ...]:
    """One edge of each cycle, no two of which share a vertex, found by backtracking."""
    if not cycles:
        return ()
    first, *rest = cycles
    for at, vertex in enumerate(first):
        edge = {vertex, first[(at + 1) % len(first)]}
        if edge & taken:
            continue
        try:
            return (at, *_apart(tuple(rest), taken | edge))
        except LookupError:
            continue
    raise LookupError("no vertex-disjoint edges")
