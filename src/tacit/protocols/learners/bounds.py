"""Whether what each site brings to least squares is what so many records can be: compared in shares, by public bounds.

A site of n records brings S = sum_i q_i z_i z_i', H = sum_i q_i z_i t_i' and squares E of random sums of targets, with
|z_i|^2 <= 2 (its last entry is 1), |t_i| <= 1, 0 <= q_i <= 1. So for each site, for each column h of H, and for v and R
that are drawn by a joint coin after all was brought, with entries 0 and, each with a chance of a quarter, 1 and -1,

    S_DD = n,  with weights 0 <= S_DD <= n;       0 <= tr S <= 2 n;       0 <= E <= n                               (1)
    0 <= v'S v <= 100 n,       |sum_(i >= j) R_ij S_ij| <= 14 n             `RANDOM` draws of each                   (2)
    |sum_(i >= j) R_ij (p_ij + S_ij / 2^K)| <= what rounding makes          p: what a site brings for p_0            (3)
    |h| <= sqrt(2) n                                                                                                (4)
    h'Q h <= 1.5 n + 4                                Q = (S + a I)^-1 of all sites, within 25 %                    (5)

(1) to (4) hold for whatever records there are. In (2) each bound is exceeded with a chance below 2^-65: the left sides
are subgaussian with variances |S|^2 / 2 <= 2 n^2, and v'S v is a mean of squares of such, weighted by eigenvalues whose
sum is tr S. Numbers are modulo 2^64: an entry of S that is not between -28 n and 28 n passes a draw of R with a chance
of 1/2 at most, since the bound allows one of any two neighbouring values of R_ij at most. (5) holds since
S + a I >= Z'QZ + a I of the site alone. It is what counts: Q h is what the site adds to the weights, and

    sum over all records of q_i (z_i Q h)^2  <=  2 n + 5.4,  so a site moves decision values as its rows can         (6)

Errors by rounding are bounded for up to 2,000 features: 12 % of n by rows of Q h, 8 % by what h loses before (`READ`).

All comparisons are made at once. Of each site two bits are opened: whether (1) to (4) hold, and whether (5) does too.
Both are 1 in every run of sites that bring what their records are. (5) alone may fail because another site's S is
no sum of squares, so it accuses nobody alone.

Roles, threat: as `shares.brought`. NOT noticed: records that are made up; S with eigenvalues a little below 0, or up to
some ten times as large as (1) allows for one direction; what a holder adds to later shares. Source: ours; random sums
that bound a norm after Rathee et al., ELSA, S&P 2023, and Johnson and Lindenstrauss, 1984.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import I64, U64
from tacit.choreo import At, Everyone, Giver, Holder, Message, Run, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.lean import Lean
from tacit.numeric.shares.ridge_plan import P_BITS, Resolvent, RidgePlan
from tacit.protocols.facts import SIZES
from tacit.protocols.features.coin import toss_coin
from tacit.protocols.learners.least_squares import add_products, apply_each, join_words, take_part
from tacit.protocols.shares.brought import Brought, LinearMap, map_brought
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import Opening, multiply, triangle_size, truncate
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.matrices import Opened
from tacit.protocols.shares.revealing import reveal

RANDOM = 16  # draws of R, and of v: an entry that is too large passes all with a chance of 2^-16
SPREAD, SQUARED = 7, 50  # bounds of (2), in units of 2 n
NEAR = 10  # bits of n within which sums in double precision are exact
WORD = 64
COARSE = 39  # bits that H loses for (4), so that squares of any words add up below 2^62
READ = 9  # bits after the point of Q h in (5), so that the product fits 62 bits where (4) holds
INFLUENCE, ROOM = 1.5, 4.0  # of (5)
COMPARED = Lean(F=0, I=WORD, q=0)
COUNTED = Lean(F=0, I=12, q=0, joined=True)  # of how many bounds hold
BLOCK = 1 << 14  # entries whose coefficients are drawn together


class WithinShare(Opening, tells=SIZES):
    """A holder's share of which sites brought what their records can be."""


class Within(Message, tells=SIZES):
    """Two bits of each site: whether (1) to (4) hold, and whether (5) does too."""

    values: I64


@dataclass(frozen=True)
class HeldRows:
    """How many records each site brings, and whether they count differently."""

    counts: Mapping[str, int]
    weighted: bool


@dataclass(frozen=True)
class Looks(LinearMap):
    """Linear maps of what a site brings: those of (1) to (3), and H as it is. seed: the coin."""

    plan: RidgePlan
    seed: bytes

    @property
    def triangle(self) -> int:
        """How many words S has."""
        return triangle_size(self.plan.size)

    @property
    def rows(self) -> int:
        """How many numbers are made of S and p_0: the corner, the trace, and `RANDOM` of each of three kinds."""
        return 2 + 3 * RANDOM

    @property
    def size(self) -> int:
        """These numbers, H and squares."""
        return self.rows + self.plan.size * self.plan.columns + self.plan.probes

    @property
    def shifts(self) -> tuple[int, int]:
        """By how many bits p_0, and S, go to the left in (3), so that both have the same unit."""
        more = self.plan.bits + self.plan.K - P_BITS
        return max(more, 0), max(-more, 0)

    def apply(self, words: U64, start: int) -> U64:
        """Return the numbers, then H and squares."""
        found = np.zeros(self.size, dtype=np.uint64)
        numbers, n = found[: self.rows], self.triangle
        for lo in range(0, n, BLOCK):
            hi = min(lo + BLOCK, n)
            for offset in (0, n):
                at, part = _overlap(words, start, offset + lo, offset + hi)
                if part.size:
                    self.add_entries(numbers, part, at - offset, of_S=not offset)
        at, rest = _overlap(words, start, 2 * n, 2 * n + self.size - self.rows)
        found[self.rows + at - 2 * n :][: rest.size] = rest
        return found

    def add_entries(self, numbers: U64, part: U64, at: int, *, of_S: bool) -> None:
        """Add what entries of S, or of p_0, which lie within one block, make of the numbers."""
        block, skipped = divmod(at, BLOCK)
        R = _signs(self.seed + b"R" + block.to_bytes(4, "little"), RANDOM * BLOCK).reshape(RANDOM, BLOCK)
        drawn = R[:, skipped : skipped + part.size].astype(np.int64).view(np.uint64) @ part
        up_p, up_S = self.shifts
        numbers[2 + 2 * RANDOM :] += drawn << np.uint64(up_S if of_S else up_p)
        if not of_S:
            return
        numbers[2 + RANDOM : 2 + 2 * RANDOM] += drawn
        i, j = _places(at, at + part.size)
        v = _signs(self.seed + b"v", RANDOM * self.plan.size).reshape(RANDOM, -1)
        weights = v[:, i] * v[:, j] * np.where(i == j, 1, 2).astype(np.int8)
        numbers[2 : 2 + RANDOM] += weights.astype(np.int64).view(np.uint64) @ part
        numbers[1:2] += part[i == j].sum(dtype=np.uint64)
        numbers[:1] += part[(i == j) & (i == self.plan.size - 1)].sum(dtype=np.uint64)

    def limits(self, rows: int, *, weighted: bool) -> tuple[list[int], list[int]]:
        """Return the least and the most that the numbers, and squares, of a site of so many rows can be."""
        plan, n = self.plan, rows << self.plan.bits
        near, D = n >> NEAR, plan.size
        rounded = self.triangle * sum(1 << each for each in self.shifts)
        least = [-1 if weighted else n - near - 1, -D, *[-D * D] * RANDOM, *[-SPREAD * 2 * n - D * D] * RANDOM]
        most = [n + near + 1, 2 * (n + near) + D, *[SQUARED * 2 * n + D * D] * RANDOM]
        most += [SPREAD * 2 * n + D * D] * RANDOM
        E = rows << plan.error_bits
        ends = [E + (E >> NEAR) + 1] * plan.probes
        return [*least, *[-rounded] * RANDOM, *[-1] * plan.probes], [*most, *[rounded] * RANDOM, *ends]


@choreography(opens={Everyone: SIZES})
def check_brought(
    run: Run, dealing: Dealing, brought: Brought, plan: RidgePlan, held: HeldRows, Q: Opened, resolvent: Resolvent
) -> None:
    """Raise if a site brought what so many records cannot be, (1) to (5), and name it."""
    sites = (*run.roster[Holder], *run.roster[Giver])
    looks = Looks(plan, toss_coin(run))
    found = map_brought(run, dealing, brought, looks)
    numbers = run.local(Holder, take_numbers, found, looks, len(sites))
    H = run.local(Holder, take_targets, found, looks, len(sites))
    inner = measure_targets(run, dealing, H, plan, len(sites) * plan.columns, Q, resolvent)
    room = [find_room(looks, held.counts[site], weighted=held.weighted) for site in sites]
    each = 2 * (looks.rows + plan.probes) + 2 * plan.columns
    ends = run.local(Holder, compare_ends, numbers, inner, room, dealing.first)
    bits = reaches_one(run, dealing, ends, COMPARED, size=len(sites) * each)
    both = run.local(Holder, count_bits, bits, len(sites), plan.columns, dealing.first)
    within = reaches_one(run, dealing, both, COUNTED, size=2 * len(sites))
    told = reveal(run, replace(dealing, ring=Ring(1 << COUNTED.k)), WithinShare, Within, within, size=2 * len(sites))
    accuse(dict(zip(sites, told.reshape(-1, 2).tolist(), strict=True)), held.counts)


def measure_targets(
    run: Run, dealing: Dealing, H: At[U64], plan: RidgePlan, columns: int, Q: Opened, resolvent: Resolvent
) -> At[U64]:
    """Return shares of |h|^2 for every column h that a site brought, and of h'Q h, (4) and (5)."""
    size, bits = plan.size * columns, plan.rest_bits(0)
    parts = (Part(size, WORD, COARSE), Part(size, WORD, 2 * plan.bits - bits))
    cut = cut_each(run, dealing, run.local(Holder, join_words, H, H), parts)
    coarse, rest = (run.local(Holder, take_part, cut, parts, k) for k in range(2))
    step = apply_each(run, dealing, (Q,), rest, n=plan.size, m=columns)
    W = truncate(run, dealing, step, P_BITS + resolvent.down + bits - READ, size=size)
    factors = (run.local(Holder, join_words, coarse, each) for each in (W, rest))
    products = multiply(run, dealing, *factors, size=2 * size)
    return run.local(Holder, add_products, products, plan.size, columns)


def find_room(looks: Looks, n: int, *, weighted: bool) -> list[int]:
    """Return what is added to the numbers of a site of n records, so that they are 1 or more where bounds hold."""
    plan, (least, most) = looks.plan, looks.limits(n, weighted=weighted)
    longest = math.ldexp(math.sqrt(2.0) * n * (1.0 + 2.0**-NEAR), 2 * plan.bits - COARSE) + math.sqrt(plan.size)
    influence = math.ldexp(INFLUENCE * n + ROOM, READ + plan.rest_bits(0))
    of_H = [math.ceil(longest**2)] * plan.columns + [math.ceil(influence)] * plan.columns
    return [*(1 - each for each in least), *(1 + each for each in (*most, *of_H))]


def accuse(within: Mapping[str, list[int]], counts: Mapping[str, int]) -> None:
    """Raise if a site brought what its records cannot be."""
    for site, (own, _) in within.items():
        if not own:
            raise PeerError(
                f"{site} brought sums that no {counts[site]} records have, so nothing was learnt: its software is not"
                f" what it says, or its device computes wrongly; ask {site}, and train without it until then"
            )
    for site, (_, fits) in within.items():
        if not fits:
            raise PeerError(
                f"the sums of {site} would move the model more than its {counts[site]} records can, so nothing was"
                f" learnt: {site} brought wrong targets, or another site wrong features; ask {site} first"
            )


# Steps at the holders


def take_numbers(found: U64, looks: Looks, sites: int) -> U64:
    """Return what (1) to (3) bound, a line for each site."""
    lines = found.reshape(sites, -1)
    return np.concatenate([lines[:, : looks.rows], lines[:, looks.size - looks.plan.probes :]], axis=1)


def take_targets(found: U64, looks: Looks, sites: int) -> U64:
    """Return H of all sites side by side."""
    H = found.reshape(sites, -1)[:, looks.rows : looks.size - looks.plan.probes]
    return np.ascontiguousarray(H.reshape(sites, looks.plan.size, -1).transpose(1, 0, 2)).ravel()


def compare_ends(numbers: U64, inner: U64, room: Sequence[Sequence[int]], first: bool) -> U64:  # noqa: FBT001 - a step
    """Return shares of what is 1 or more where a bound of (1) to (5) holds, a line for each site."""
    both = np.concatenate(np.split(inner.reshape(2 * len(room), -1), 2), axis=1)
    found = np.concatenate([numbers, np.uint64(0) - numbers, np.uint64(0) - both], axis=1)
    if first:
        found += np.array([[each % (1 << WORD) for each in line] for line in room], dtype=np.uint64)
    return found.ravel()


def count_bits(bits: U64, sites: int, columns: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return shares of what is 1 if all of (1) to (4) hold, and if (5) does too, for each site."""
    lines = bits.reshape(sites, -1)
    own, every = (part.sum(axis=1, dtype=np.uint64) for part in (lines[:, :-columns], lines))
    found = np.column_stack([own, every])
    if first:
        found = found - np.array([lines.shape[1] - columns - 1, lines.shape[1] - 1], dtype=np.uint64)
    return found.ravel() & np.uint64((1 << COUNTED.k) - 1)


# Coefficients


def _overlap(words: U64, start: int, lo: int, hi: int) -> tuple[int, U64]:
    """Return where words that begin at `start` meet lo .. hi, and these words."""
    at, end = max(lo, start), min(hi, start + words.size)
    return at, words[at - start : max(end, at) - start]


def _places(lo: int, hi: int) -> tuple[I64, I64]:
    """Return the rows and columns of entries of a triangle."""
    e = np.arange(lo, hi)
    i = ((np.sqrt(8.0 * e + 1.0) - 1.0) / 2.0).astype(np.int64)
    i += (i + 1) * (i + 2) // 2 <= e
    i -= i * (i + 1) // 2 > e
    return i, e - i * (i + 1) // 2


def _signs(seed: bytes, size: int) -> NDArray[np.int8]:
    """Return numbers of which half are 0 and a quarter each 1 and -1."""
    drawn = hashlib.shake_256(b"bounds" + seed).digest(2 * (-(-size // 8)))
    one, other = np.unpackbits(np.frombuffer(drawn, dtype=np.uint8)).view(np.int8).reshape(2, -1)[:, :size]
    found: NDArray[np.int8] = one - other
    return found
