"""Which cells of several owners must be multiplied for a matrix of dot products.

Party p owns some cells; A_p is the table with zeros in all others. With A = sum_p A_p and B = sum_q B_q,

    A B' = sum_p A_p B_p' + sum_{p != q} A_p B_q',        A_p B_q' = sum_f a_pf b_qf'                      (1)

where column f counts only if p and q both own cells of it, and of a_pf b_qf' only the rows that they own. A gram matrix
is A = B:

    A A' = sum_p A_p A_p' + sum_{p < q} (C_pq + C_pq'),   C_pq = A_p A_q'                                  (2)

so one of each two cross terms is enough. By columns no column is shared, and nothing is multiplied; by rows every
column has the same rows and C_pq is one block; in general columns with the same rows make a block together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.numeric.cells.ownership import Owners

SLOTS = 8192  # entries in a reply; the prices are those of the engine `bfv`, where a reply costs 1


FACTOR, UPLOAD = 0.06, 0.3  # what one more column in a reply costs, and one more ciphertext of an upload


@dataclass(frozen=True, eq=False)
class Group:
    """Columns (of the whole table) that are multiplied on the same rows (of the party's own)."""

    columns: tuple[int, ...]
    rows: I64


@dataclass(frozen=True, eq=False)
class Outer:
    """One block of A_p B_q'.

    Places of its columns in p's upload, rows of p's table, and columns and rows of q's table.
    """

    uploaded: tuple[int, ...]
    left: I64
    columns: I64
    right: I64


def groups(mask: Flags) -> tuple[Group, ...]:
    """Return the columns of a mask in groups, each with the rows to multiply them on.

    Columns with the same rows are together, and others where a block for all costs less.
    """
    patterns, of = np.unique(mask.T, axis=0, return_inverse=True)
    sets = [np.flatnonzero(of.ravel() == g) for g in range(len(patterns))]
    rows = patterns.astype(np.float64)
    cheapest = np.inf
    best: tuple[list[I64], F64] = ([], rows)
    while sets:  # until all are one: merging two may pay only once others are merged too
        if (cost := _price(rows.sum(axis=1), _sizes(sets))) <= cheapest:
            cheapest, best = cost, (sets, rows)
        sets, rows = _merge_cheapest(sets, rows)
    made = [Group(tuple(map(int, s)), np.flatnonzero(r)) for s, r in zip(best[0], best[1], strict=True) if r.any()]
    return tuple(sorted(made, key=lambda g: g.columns))


def _merge_cheapest(sets: list[I64], rows: F64) -> tuple[list[I64], F64]:
    """Return the groups with those two merged whose merging costs least; nothing if there is one only."""
    if len(sets) == 1:
        return [], rows
    sizes, counts = rows.sum(axis=1), _sizes(sets)
    union = sizes[:, None] + sizes - rows @ rows.T
    alone = _costs(sizes, counts)
    loss = _costs(union, counts[:, None] + counts) - alone[:, None] - alone
    loss[np.tril_indices(len(loss))] = np.inf
    a, b = (int(i) for i in np.unravel_index(int(np.argmin(loss)), loss.shape))
    others = [g for g in range(len(sets)) if g not in (a, b)]
    joined = np.sort(np.concatenate([sets[a], sets[b]]))
    return [*(sets[g] for g in others), joined], np.vstack([rows[others], np.maximum(rows[a], rows[b])])


def _sizes(sets: list[I64]) -> I64:
    return np.array([len(s) for s in sets])


def _costs(rows: F64, columns: I64) -> F64:
    """Return the cost of the replies of blocks, if the other side looks alike.

    Entries go with the square of the rows.
    """
    return np.asarray(rows**2 / SLOTS * (1 + FACTOR * columns))


def _price(rows: F64, columns: I64) -> float:
    """Return the cost of groups of so many rows and columns, with one peer.

    The columns of a single group may share ciphertexts, f in one.
    """
    if len(rows) > 1:
        return float(max(1.0, _costs(rows, columns).sum()) + UPLOAD * columns.sum())
    f = np.arange(1, columns[0] + 1)
    uploads = np.ceil(columns[0] / f)
    return float(np.min(np.maximum(1.0, rows**2 * f / SLOTS) * (1 + FACTOR * uploads) + UPLOAD * uploads))


@dataclass(frozen=True, eq=False)
class Crossing:
    """The cross terms A_p B_q' of (1) for the pairs (p, q), of which p uploads and q answers."""

    left: Owners
    right: Owners
    pairs: tuple[tuple[str, str], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of A B'."""
        return self.left.shape[0], self.right.shape[0]

    def answered_by(self, party: str) -> tuple[str, ...]:
        """Return whose uploads a party multiplies."""
        return tuple(p for p, q in self.pairs if q == party and self.blocks(p, q))

    def asked_by(self, party: str) -> tuple[str, ...]:
        """Return to whom a party uploads."""
        return tuple(q for p, q in self.pairs if p == party and self.blocks(p, q))

    def uploads(self, party: str) -> tuple[tuple[int, I64], ...]:
        """Return the columns of the whole table that a party uploads, each with the party's own rows in it."""
        return tuple((column, group.rows) for group in self._asking[party] for column in group.columns)

    def blocks(self, p: str, q: str) -> tuple[Outer, ...]:
        """Return what q multiplies of p's upload."""
        return self._blocks[p, q]

    @cached_property
    def _asking(self) -> dict[str, tuple[Group, ...]]:
        return {
            p: self._groups(self.left, p, [(self.right, q) for a, q in self.pairs if a == p]) for p in self.left.rows
        }

    @cached_property
    def _answering(self) -> dict[str, tuple[Group, ...]]:
        return {
            q: self._groups(self.right, q, [(self.left, p) for p, b in self.pairs if b == q]) for q in self.right.rows
        }

    @cached_property
    def _blocks(self) -> dict[tuple[str, str], tuple[Outer, ...]]:
        return {(p, q): tuple(self._outers(p, q)) for p, q in self.pairs}

    def _groups(self, owners: Owners, party: str, others: list[tuple[Owners, str]]) -> tuple[Group, ...]:
        """Return groups of the party's columns in which any of the others owns cells too."""
        there = np.zeros(owners.shape[1], np.bool_)
        for theirs, q in others:
            there |= theirs.present(q)
        own = owners.columns[party]
        used = np.flatnonzero((owners.present(party) & there)[own])
        return tuple(
            Group(tuple(int(own[used[c]]) for c in g.columns), g.rows) for g in groups(owners.masks[party][:, used])
        )

    def _outers(self, p: str, q: str) -> list[Outer]:
        place = {column: i for i, (column, _) in enumerate(self.uploads(p))}
        # one block: then all columns count, q's with zeros, and may share ciphertexts
        one = len(self._asking[p]) == len(self._answering[q]) == 1
        found = []
        for g in self._asking[p]:
            for h in self._answering[q]:
                if common := sorted(set(g.columns) & set(h.columns)):
                    used = [c for c in g.columns if c in self.right.columns[q]] if one else common
                    columns = np.searchsorted(self.right.columns[q], used)
                    found.append(Outer(tuple(place[c] for c in used), g.rows, columns, h.rows))
        return found


def gram_crossing(owners: Owners) -> Crossing:
    """Return the cross terms of (2): of each two parties one uploads, each to about as many as it answers."""
    names, M = list(owners.rows), len(owners.rows)
    ahead = [(i, (i + d) % M) for d in range(1, M // 2 + 1) for i in range(M) if 2 * d < M or i < d]
    return Crossing(owners, owners, tuple((names[i], names[j]) for i, j in ahead))


def dots_crossing(left: Owners, right: Owners) -> Crossing:
    """Return the cross terms of (1), of two tables: everyone uploads to everyone."""
    return Crossing(left, right, tuple((p, q) for p in left.rows for q in right.rows if p != q))
