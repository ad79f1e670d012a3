"""Features of records whose columns, or cells, are with several owners: features in shares, and their sums.

    rbf       k(x, l) = prod_k exp(-gamma |x_k - l_k|^2)        each owner its factor, products in shares            (1)
    poly      k(x, l) = (sum_k gamma x_k.l_k + coef0)^degree    each owner its part of the sum, powers in shares     (2)
    linear    x                                                 each owner its own columns                          (3)
    fourier   cos(x.w), sin(x.w), x.w = sum_k x_k.w_k           each owner its part of the phase (`shares.phases`)  (3b)

With V the features of all records, and a last one 1, least squares needs V'QV and V'QT. The labeller knows weights q
and targets t; it multiplies its factor, or all features, by sqrt(q). V is opened once under a mask, block by block,
without the lowest bits, which would be cut off afterwards:

    V = C - R (`numeric.shares.shared_plan`),    V'V = C'C - C'R - R'C + R'R         R in shares, R'R dealt          (4)
    E = T - B opened,    V'T = C'T - R'E - R'B                                       C'T at the labeller, R'B dealt  (5)

The basis B of the map (`features.maps`) meets these sums alone: B'(V'V)B is taken in shares, with B in whole numbers.

Roles. Holder: columns or cells. Labeller: the holder with labels and weights. Coordinator: the dealer.
Threat: as `shares.dealing`; nothing but values under masks is opened. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import F64, I64, U8, U64
from tacit.choreo import At, Everyone, Holder, Message, Pads, Run, State, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.triangle import pack, unpack
from tacit.numeric.ring.words import Ring, narrow, widen
from tacit.numeric.shares.lean import Lean
from tacit.numeric.shares.ridge_plan import P_BITS, RidgePlan, bound_trace
from tacit.numeric.shares.ring_product import ring_product
from tacit.numeric.shares.shared_plan import SharedPlan
from tacit.protocols.facts import MODEL, UNIFORM
from tacit.protocols.features.maps import FOURIER, LINEAR, PublicMap
from tacit.protocols.learners.least_squares import RidgeShare
from tacit.protocols.learners.noise import move_limits
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.part import OwnCells
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import DEALER, Correlation, Dealing, Kept, Share, Sizes, Words, deal
from tacit.protocols.shares.factors import draw_words, multiply_factors
from tacit.protocols.shares.gates import bits_of, multiply, open_masked, reduce, triangle_size, truncate
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.owned import Given
from tacit.protocols.shares.phases import turn_phases, write_phases

WORD = 64
COMPARED = Lean(F=0, I=64, q=0)
OUTER_BITS = 7  # of B B', in a trace
LONGEST = 14  # bits that the trace may be larger than that of rows of length 1
REACH, TINY = 5.0, 1e-9  # of sums of products with landmarks, in units of what landmarks themselves have
BASIS_BITS = 16  # after the point, of the basis of a map


class MaskedTargets(Message, tells=UNIFORM, ragged=True):
    """E of (5) from the labeller; nothing from the others."""

    words: U64 | U8


class OwnTargets(State):
    """What the labeller knows, and nobody else: targets times roots of weights, those roots, and squares of targets."""

    T: F64
    root: F64
    squares: F64


class RawSums(State):
    """A holder's shares of V'V, a full matrix, and of V'T."""

    S: U64
    H: U64


@dataclass(frozen=True)
class Side:
    """What is public of the table: who owns columns, which they are, who has labels, and whether records have weights.

    columns: of each owner, the numbers of its columns among those of the map. caps: of (3), how far from its middle a
    value of each column may be; others are cut.
    """

    owners: tuple[str, ...]
    columns: Mapping[str, I64]
    labeller: str
    weighted: bool
    caps: F64

    def reach(self, the_map: PublicMap, owner: str) -> F64:
        """Return how large an owner's part of the sum of (2) can be for each landmark; larger ones are cut."""
        L = the_map.centres[:, self.columns[owner]]
        return np.asarray(REACH * the_map.gamma * np.sqrt(np.square(L @ L.T).mean(axis=0)) + TINY)

    def lengths(self, the_map: PublicMap) -> F64:
        """Return how large the sum of (2) can be for each landmark."""
        return np.asarray(np.sum([self.reach(the_map, owner) for owner in self.owners], axis=0) + abs(the_map.coef0))

    def scale_weights(self, the_map: PublicMap, raw: F64) -> F64:
        """Return weights of raw features of size 1 at most, from those of the raw features as they are."""
        inner = raw[:-1]
        if the_map.kernel == LINEAR:
            inner = self.caps[:, None] * inner
        elif the_map.kernel == "poly":
            inner = self.lengths(the_map)[:, None] ** the_map.degree * inner
        return np.concatenate([inner, raw[-1:]])

    def basis(self, the_map: PublicMap) -> F64:
        """Return B: a row for each raw feature of size 1 at most, a column for each feature."""
        return self.scale_weights(the_map, the_map.unfold(np.eye(the_map.size)))

    def whole_basis(self, the_map: PublicMap, bits: int = BASIS_BITS) -> U64:
        """Return B in whole numbers."""
        return np.rint(np.ldexp(self.basis(the_map), bits)).astype(np.int64).view(np.uint64)


@dataclass(frozen=True)
class CutGram(Correlation):
    """r, r >> s, and R'R of (4) as a triangle."""

    rows: int
    width: int
    s: int

    @property
    def sizes(self) -> Sizes:
        """A mask, and two values of it."""
        size = self.rows * self.width
        return Sizes(masks=(size,), made=(size, triangle_size(self.width)))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return r >> s and R'R."""
        del bits, kept
        R = (masks[0] >> np.uint64(self.s)).reshape(self.rows, -1)
        return (R.ravel(), reduce(pack(ring_product(np.ascontiguousarray(R.T), R), 0), ring)), ()


@choreography(opens={Holder: UNIFORM})
def add_shared(
    run: Run,
    dealing: Dealing,
    data: At[OwnCells],
    targets: At[OwnTargets],
    the_map: PublicMap,
    side: Side,
    shared: SharedPlan,
    columns: int,
) -> At[RawSums]:
    """Return shares of V'V and V'T, with `columns` of targets, from features that nobody has as a whole."""
    narrow_dealing = replace(dealing, ring=Ring(1 << shared.ring))
    centre = len(run.roster[Holder]) << shared.dropped >> 1
    s = run.carry(sums=run.local(Holder, no_sums, shared.width, columns))
    for j in run.rounds(shared.blocks, s):
        rows = slice(j * shared.block, min((j + 1) * shared.block, shared.rows))
        count = rows.stop - rows.start
        x = make_features(run, narrow_dealing, data, targets, the_map, side, shared, rows)
        dealt, masks = deal(run, narrow_dealing, CutGram(count, shared.width, shared.s))
        hidden = run.local(Holder, hide, x, dealt, shared, centre, dealing.first)
        c = open_masked(run, hidden, ring=Ring(1 << (shared.ring - shared.dropped)), size=count * shared.width)
        E, beside = open_targets(run, narrow_dealing, targets, masks, side, shared, rows, columns)
        s.sums = run.local(Holder, add_block, s.sums, c, E, dealt, beside, targets, rows, shared, dealing.first)
    found: At[RawSums] = s.sums
    return found


def make_features(
    run: Run,
    dealing: Dealing,
    data: At[OwnCells],
    targets: At[OwnTargets],
    the_map: PublicMap,
    side: Side,
    shared: SharedPlan,
    rows: slice,
) -> At[U64]:
    """Return shares of the features of some rows, row by row, with `shared.after` bits after the point."""
    who, size, f = run.who(Holder), (rows.stop - rows.start) * shared.width, shared.factor
    own = run.local(Holder, own_features, data, targets, the_map, side, rows, f, who)
    if the_map.kernel == "rbf":
        return multiply_factors(run, dealing, own, factors_of(side), size=size, bits=f)[0]
    if the_map.activation == FOURIER:
        nodes = (rows.stop - rows.start) * len(the_map.centres)
        turned = turn_phases(run, dealing, own, size=nodes, bits=f)
        found, after = run.local(Holder, join_turned, *turned, 2 * f, len(the_map.centres), dealing.first), 2 * f
    else:
        found, after = own, f
    for _ in range(the_map.degree - 1 if the_map.kernel == "poly" else 0):
        short = truncate(run, dealing, found, after - f, size=size) if after > f else found
        found, after = multiply(run, dealing, short, own, size=size), 2 * f
    if side.weighted:
        short = truncate(run, dealing, found, after - f, size=size) if after > f else found
        root = run.local(Holder, spread_roots, targets, rows, shared.width, f, side, who)
        found = multiply(run, dealing, short, root, size=size)
    return found


def factors_of(side: Side) -> tuple[str, ...]:
    """Return who has a factor of (1): the owners of columns, and the labeller where there are weights."""
    return side.owners if not side.weighted or side.labeller in side.owners else (*side.owners, side.labeller)


def count_factors(the_map: PublicMap, side: Side) -> int:
    """Return of how many factors a feature is the product."""
    if the_map.kernel == "rbf":
        return len(factors_of(side))
    if the_map.activation == FOURIER:
        return 2
    return 1 + int((the_map.kernel == "poly" and the_map.degree > 1) or side.weighted)


@choreography(opens={Holder: UNIFORM})
def open_targets(
    run: Run,
    dealing: Dealing,
    targets: At[OwnTargets],
    masks: Kept,
    side: Side,
    shared: SharedPlan,
    rows: slice,
    columns: int,
) -> tuple[At[U64], At[Share]]:
    """Open E of (5) to the holders; return it, and shares of R'B."""
    tag, who, ring = run.tag(), run.who(Holder), dealing.ring
    size = (rows.stop - rows.start) * columns
    pads, known = dealing.dealer.draw(run, tag)
    made = dealing.dealer.compute(run, multiply_target_masks, known, masks, side, shared, columns)
    dealt, _ = deal(run, dealing, Given(shared.width * columns), kept=made)
    masked = run.local(Holder, mask_targets, targets, pads, who, side, shared, rows, ring)
    received = run.send(MaskedTargets, Holder >> Holder, run.local(Holder, pack_targets, masked, ring))
    return run.local(Holder, read_targets, received, masked, who, side, size, ring), dealt


@choreography(opens={Everyone: MODEL})
def measure_trace(
    run: Run, dealing: Dealing, sums: At[RawSums], the_map: PublicMap, side: Side, shared: SharedPlan
) -> int:
    """Return by how many bits the trace of B'(V'V)B is above that of rows of length 1; even, and 0 with (1).

    Where rows have no bound, this is what makes room for them: nothing stops at somebody's value.
    """
    if the_map.kernel == "rbf" or the_map.activation == FOURIER:
        return 0
    V, start = shared.width, bound_trace(shared.rows)
    kept = min(2 * shared.bits, 40 - start)
    parts = (Part(V * V, shared.k, 2 * shared.bits - kept),)
    lifted = cut_each(run, dealing, run.local(Holder, take_squares, sums), parts)
    limits = tuple(1 << (start + more + kept + OUTER_BITS) for more in range(0, LONGEST, 2))
    values = run.local(Holder, compare_trace, lifted, side.whole_basis(the_map), limits, dealing.first)
    bits = reaches_one(run, dealing, move_limits(run, values, limits), COMPARED, size=len(limits))
    return 2 * int(reveal(run, dealing, MODEL, bits, size=len(limits)).sum())


@choreography(opens={Holder: UNIFORM})
def fold_sums(
    run: Run,
    dealing: Dealing,
    sums: At[RawSums],
    targets: At[OwnTargets],
    the_map: PublicMap,
    side: Side,
    shared: SharedPlan,
    plan: RidgePlan,
) -> At[RidgeShare]:
    """Return shares of B'(V'V)B and B'(V'T), in the bits of the plan."""
    V, D, m, K = shared.width, plan.size, plan.columns, plan.K
    # so that no product with B leaves 62 bits
    of_S, of_left, of_H = min(2 * shared.bits, 40 - K), 45 - K, min(2 * shared.bits, 2 * plan.bits - BASIS_BITS)
    parts = (Part(V * V, shared.k, 2 * shared.bits - of_S), Part(V * m, shared.k, 2 * shared.bits - of_H))
    lifted = cut_each(run, dealing, run.local(Holder, join_sums, sums), parts)
    basis = side.whole_basis(the_map)
    inner = run.local(Holder, times_basis, lifted, basis)
    left = truncate(run, dealing, inner, of_S + BASIS_BITS - of_left, size=V * D)
    outer = run.local(Holder, basis_times, left, basis)
    size, bits = triangle_size(D), of_left + BASIS_BITS
    halves = (Part(size, WORD, bits - plan.bits), Part(size, WORD, bits - P_BITS + K))
    cut = cut_each(run, dealing, run.local(Holder, repeat_words, outer), halves)
    up = 2 * plan.bits - BASIS_BITS - of_H
    return run.local(Holder, make_share, cut, lifted, targets, basis, up, plan, dealing.first)


# Steps at the holders


def no_sums(width: int, columns: int) -> RawSums:
    """Return sums of no rows."""
    return RawSums(np.zeros((width, width), dtype=np.uint64), np.zeros((width, columns), dtype=np.uint64))


def own_features(
    part: OwnCells, targets: OwnTargets, the_map: PublicMap, side: Side, rows: slice, bits: int, me: str
) -> U64:
    """Return a holder's factor of (1), its part of the sum of (2), or its columns of (3), as words."""
    count, width = rows.stop - rows.start, the_map.width
    if the_map.activation == FOURIER:
        if me not in side.owners:
            return np.zeros(count * len(the_map.centres), dtype=np.uint64)
        X, W, own = own_cells(part, the_map, side, rows, me)
        return write_phases((X * own) @ W.T).ravel()
    if the_map.kernel == "rbf" and me not in factors_of(side):
        return np.empty(0, dtype=np.uint64)
    found = np.zeros((count, width))
    if me in side.owners:
        X, L, own = own_cells(part, the_map, side, rows, me)
        found[:, :-1] = own_values(X, L, own, the_map, side, me)
    if the_map.kernel == "rbf":
        if me not in side.owners:
            found[:, :-1] = 1.0
        found[:, -1] = 1.0
        if side.weighted and me == side.labeller:
            found *= targets.root[rows, None]
    elif me == side.labeller:
        found[:, -1] = 1.0
    return np.rint(np.ldexp(found, bits)).astype(np.int64).view(np.uint64).ravel()


def join_turned(
    cosines: U64,
    sines: U64,
    after: int,
    nodes: int,
    first: bool,  # noqa: FBT001 - a step
) -> U64:
    """Return the share of the features: cosines, sines and the constant one of each row."""
    both = np.concatenate([cosines.reshape(-1, nodes), sines.reshape(-1, nodes)], axis=1)
    one = np.full((len(both), 1), np.uint64(1 << after) if first else np.uint64(0))
    return np.concatenate([both, one], axis=1).ravel()


def own_cells(part: OwnCells, the_map: PublicMap, side: Side, rows: slice, me: str) -> tuple[F64, F64, F64]:
    """Return a holder's cells of some rows, its columns of the map's points, and which cells are its own."""
    columns = side.columns[me]
    L = the_map.centres[:, columns]
    X = np.asarray(part.X[rows], dtype=np.float64)
    owned = getattr(part, "owned", None)
    return X, L, np.ones_like(X) if owned is None else owned[rows].astype(np.float64)


def own_values(X: F64, L: F64, own: F64, the_map: PublicMap, side: Side, me: str) -> F64:
    """Return what a holder's cells give of the raw features, all of size 1 at most."""
    if the_map.kernel == "rbf":
        squares = np.square(X * own).sum(axis=1)[:, None] - 2.0 * (X * own) @ L.T + own @ np.square(L).T
        return np.asarray(np.exp(-the_map.gammas * np.maximum(squares, 0.0)))
    if the_map.kernel == LINEAR:
        found = np.zeros((len(X), the_map.columns))
        found[:, side.columns[me]] = (
            np.clip((X - L) * own / side.caps[side.columns[me]], -1.0, 1.0) * the_map.shift[side.columns[me]]
        )
        return found
    reach = side.reach(the_map, me)
    found = np.clip(the_map.gamma * (X * own) @ L.T, -reach, reach)
    if me == side.owners[0]:
        found += the_map.coef0
    return np.asarray(found / side.lengths(the_map))


def spread_roots(targets: OwnTargets, rows: slice, width: int, bits: int, side: Side, me: str) -> U64:
    """Return roots of weights, once for each feature, as the labeller's share."""
    if me != side.labeller:
        return np.zeros((rows.stop - rows.start) * width, dtype=np.uint64)
    root = np.rint(np.ldexp(targets.root[rows], bits)).astype(np.int64).view(np.uint64)
    return np.repeat(root, width)


def hide(x: U64, dealt: Share, shared: SharedPlan, centre: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of x + r of (4), without its lowest bits."""
    masked = x + dealt.masks[0] + np.uint64(centre if first else 0)
    return reduce(masked, Ring(1 << shared.ring)) >> np.uint64(shared.dropped)


def mask_targets(
    targets: OwnTargets, pads: Pads, me: str, side: Side, shared: SharedPlan, rows: slice, ring: Ring
) -> U64:
    """Return E of (5) at the labeller."""
    if me != side.labeller:
        return np.empty(0, dtype=np.uint64)
    T = whole_targets(targets, rows, shared)
    return reduce(T.ravel() - draw_words(pads, DEALER, T.size, ring), ring)


def whole_targets(targets: OwnTargets, rows: slice, shared: SharedPlan) -> U64:
    """Return targets as words."""
    return np.rint(np.ldexp(targets.T[rows], shared.bits)).astype(np.int64).view(np.uint64)


def pack_targets(masked: U64, ring: Ring) -> MaskedTargets:
    """Return the message of E."""
    return MaskedTargets(narrow(masked, bits_of(ring)))


def read_targets(received: Mapping[str, MaskedTargets], own: U64, me: str, side: Side, size: int, ring: Ring) -> U64:
    """Return E."""
    if me == side.labeller:
        return own
    try:
        words = widen(received[side.labeller].words, bits_of(ring))
    except ValueError:
        words = np.empty(0, dtype=np.uint64)
    if words.size != size:
        raise PeerError(f"{side.labeller} sent {words.size} words of targets where {size} belong: stop and ask it")
    return words


def add_block(
    sums: RawSums,
    c: U64,
    E: U64,
    dealt: Share,
    beside: Share,
    targets: OwnTargets,
    rows: slice,
    shared: SharedPlan,
    first: bool,  # noqa: FBT001 - a step
) -> RawSums:
    """Return the shares of (4) and (5) with one more block."""
    C = (c >> np.uint64(shared.s - shared.dropped)).reshape(-1, shared.width)
    R, E = dealt.made[0].reshape(C.shape), E.reshape(len(C), -1)
    CR = ring_product(np.ascontiguousarray(C.T), R)
    S = sums.S - CR - CR.T + unpack([dealt.made[1]], shared.width)
    H = sums.H - ring_product(np.ascontiguousarray(R.T), E) - beside.made[0].reshape(sums.H.shape)
    if first:
        S = S + ring_product(np.ascontiguousarray(C.T), C)
    if targets.T.size:
        H = H + ring_product(np.ascontiguousarray(C.T), whole_targets(targets, rows, shared))
    return RawSums(S, H)


def join_sums(sums: RawSums) -> U64:
    """Return both sums as words."""
    return np.concatenate([sums.S.ravel(), sums.H.ravel()])


def times_basis(lifted: U64, basis: U64) -> U64:
    """Return the share of (V'V) B."""
    width = len(basis)
    return ring_product(lifted[: width * width].reshape(width, -1), basis).ravel()


def basis_times(left: U64, basis: U64) -> U64:
    """Return the share of B'(V'V)B as a triangle."""
    found: U64 = pack(ring_product(np.ascontiguousarray(basis.T), left.reshape(len(basis), -1)), 0)
    return found


def take_squares(sums: RawSums) -> U64:
    """Return the share of V'V."""
    return sums.S.ravel()


def compare_trace(
    lifted: U64,
    basis: U64,
    limits: tuple[int, ...],
    first: bool,  # noqa: FBT001 - a step
) -> U64:
    """Return the share of the trace of B'(V'V)B less each limit, plus 1, in units of the limits."""
    B = basis.view(np.int64).astype(np.float64)
    outer = np.rint(np.ldexp(B @ B.T, OUTER_BITS - 2 * BASIS_BITS)).astype(np.int64).view(np.uint64)
    found = np.full(len(limits), (outer.ravel() * lifted).sum(dtype=np.uint64))
    return found - np.array([limit - 1 for limit in limits], dtype=np.uint64) if first else found


def repeat_words(words: U64) -> U64:
    """Return the same words twice: two values are cut of them."""
    return np.concatenate([words, words])


def make_share(
    cut: U64,
    lifted: U64,
    targets: OwnTargets,
    basis: U64,
    up: int,
    plan: RidgePlan,
    first: bool,  # noqa: FBT001 - a step
) -> RidgeShare:
    """Return a holder's share of what least squares needs."""
    D, V = plan.size, len(basis)
    S, scaled = np.split(cut, 2)
    start = np.uint64(0) - scaled
    if first:
        i = np.arange(D)
        start[i * (i + 3) // 2] += np.uint64(1 << P_BITS)
    H = ring_product(np.ascontiguousarray(basis.T), lifted[V * V :].reshape(V, -1)) << np.uint64(up)
    squares = np.rint(np.ldexp(targets.squares, plan.error_bits)).astype(np.int64).view(np.uint64)
    return RidgeShare(S, start, H.ravel(), squares)


# Steps at the dealer


def multiply_target_masks(pads: Pads, masks: Words, side: Side, shared: SharedPlan, columns: int) -> Words:
    """Return R'B of (5)."""
    R = (masks[0] >> np.uint64(shared.s)).reshape(-1, shared.width)
    B = draw_words(pads, side.labeller, len(R) * columns, Ring(1 << shared.ring)).reshape(len(R), -1)
    return (ring_product(np.ascontiguousarray(R.T), B).ravel(),)
