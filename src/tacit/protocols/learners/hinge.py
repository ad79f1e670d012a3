"""The hinge in shares: over-relaxed ADMM in D dimensions, (1) to (6) of `numeric.shares.hinge_plan`.

    1. Z - A is opened once       by rows at the peers of each owner                                `shares.owned`
                                  by columns and cells at all holders                               `features.rows`
    2. S = Z'Z                    by rows each owner's own S_k is its share; opened once under a mask
    3. G ~ (I + rho S)^-1         squares of D x D, opened once under a mask                        `blind.iterate`
    4. iterations                 nine openings each, of sizes that are public:
         W - b, and W - w~ under a mask                         2 D words
         X under a mask, bits of its clip, and what they make   a word and some bits of a row       `shares.lean_clip`
         s - c                                                  a word of a row
         h and S (W - w~), to be cut                            2 D words                           `shares.cut_each`
         r under a mask                                         D words
         w~, W, H, and a shorter W, to be cut                   4 D words

In the first iteration w = 0, so that s is known to who has the label of a row, and by rows h to the holders. Several
columns of labels share all openings, Z - A, S and G. Nothing is opened but values under masks, and the number of
iterations is public. `OwnedTable` and `SharedTable` are the two ways in which Z is split; all else is the same.

Roles. Holder: owns rows of Z and their labels, or cells; then one has all labels. Coordinator: the dealer.
Threat. As `shares.dealing`: semi-honest; any M - 1 holders learn nothing but what they are told of the result, and the
dealer nothing. Everybody knows how many rows each holder has, D, m, C and T. NOT protected: the dealer together with
one holder knows all rows; what w tells.
Source: ours; ADMM after Eckstein and Bertsekas, Mathematical Programming 55, 1992.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import F64, I8, U64
from tacit.choreo import At, Giver, Holder, Run, Site, State, choreography
from tacit.errors import LocalError
from tacit.numeric.ring.triangle import pack
from tacit.numeric.ring.words import Z64, Ring
from tacit.numeric.shares.dual_plan import K_BITS
from tacit.numeric.shares.hinge_plan import S_BITS, Z_BITS, HingePlan
from tacit.numeric.shares.ring_product import ring_symmetric
from tacit.protocols.blind.iterate import open_squares, take_from_one
from tacit.protocols.facts import UNIFORM
from tacit.protocols.features.rows import MappedRows
from tacit.protocols.shares.cut_each import Part, Parts, cut_each
from tacit.protocols.shares.dealing import Dealing, Share, deal
from tacit.protocols.shares.deposits import collect
from tacit.protocols.shares.gates import open_masked, subtract_mask
from tacit.protocols.shares.held_rows import multiply_itself, open_given
from tacit.protocols.shares.lean_clip import lean_clip
from tacit.protocols.shares.matrices import Applied, Opened, open_once
from tacit.protocols.shares.owned import I16, Batch, Matrix, Shape, align, forward, open_rows, prepare, transpose_times

GRAM_ROWS = 1 << 12  # rows that are multiplied as doubles at a time
OVER = 1e-2  # what rounding may add to the length of a row

TWO, THREE = np.uint64(2), np.uint64(3)


class OwnRows(State):
    """What a holder brings: its rows of features, labels and prices.

    Z: `Z_BITS` after the point. signs: 1 or -1 in each problem, or 0 where a row takes no part (`HingePlan.partial`).
    price: what a row's errors cost, of C, between 0 and 1; None where all cost C. margin: what y z.w is to reach; None
    where that is 1.
    """

    Z: I16
    signs: I8
    price: F64 | None = None
    margin: F64 | None = None


class HingeSide(State):
    """What a holder knows of rows by their labels, a line for each problem.

    pull: y/kappa + [y<0] of (1), as words of X. below: [y<0] of (2), as words of s. first: the s of the first
    iteration. start: where its rows begin among all n.
    """

    pull: U64
    below: U64
    first: U64
    start: int
    n: int


class Moving(State):
    """A holder's shares of what moves from one iteration to the next, D x m: w~, W, H, and W with fewer bits."""

    w: U64
    W: U64
    short: U64
    H: U64


@dataclass(frozen=True)
class HingeTable(ABC):
    """Rows of features that were opened once under masks, for every training on them. labels: signs and prices."""

    matrix: Matrix
    labels: At[OwnRows]

    @abstractmethod
    def share_grams(self, run: Run, dealing: Dealing, plan: HingePlan) -> tuple[At[U64], At[U64]]:
        """Return shares of S, and of rho S / 2^shift, as triangles with the bits of the plan and `K_BITS`."""

    @abstractmethod
    def share_first(self, run: Run, dealing: Dealing, side: At[HingeSide], plan: HingePlan) -> At[U64]:
        """Return shares of h of the first iteration, D x m, with `plan.w_bits`; the ring is that of the plan's X."""


@dataclass(frozen=True)
class OwnedTable(HingeTable):
    """Rows of several owners. Z: with prices."""

    Z: At[I16]

    def share_grams(self, run: Run, dealing: Dealing, plan: HingePlan) -> tuple[At[U64], At[U64]]:
        """Return what each owner knows of its own rows."""
        del dealing
        grams = run.local(Holder, own_gram, self.Z)
        return run.local(Holder, shift_gram, grams, plan), run.local(Holder, first_power, grams, plan)

    def share_first(self, run: Run, dealing: Dealing, side: At[HingeSide], plan: HingePlan) -> At[U64]:
        """Return what each owner knows of its own rows."""
        del dealing
        return run.local(Holder, first_h, self.Z, side, plan)


@dataclass(frozen=True)
class SharedTable(HingeTable):
    """Rows that are in shares, with prices. gram: shares of Z'Z with twice `Z_BITS`."""

    gram: At[U64]

    def share_grams(self, run: Run, dealing: Dealing, plan: HingePlan) -> tuple[At[U64], At[U64]]:
        """Return Z'Z, cut twice."""
        size, up = plan.columns * (plan.columns + 1) // 2, K_BITS - 2 * Z_BITS + plan.exponent - plan.shift
        parts = (Part(size, 64, 2 * Z_BITS - plan.gram_bits), Part(size, 64, max(0, -up)))
        both = cut_each(run, replace(dealing, ring=Z64), run.local(Holder, join, self.gram, self.gram), parts)
        return run.local(Holder, take_half, both, 0, 0), run.local(Holder, take_half, both, 1, max(0, up))

    def share_first(self, run: Run, dealing: Dealing, side: At[HingeSide], plan: HingePlan) -> At[U64]:
        """Return Z's by a product, as s is known to who has the labels."""
        batch = prepare(run, dealing, self.matrix, products=1, m=plan.problems)
        s = run.local(Holder, newest, run.local(Holder, first_s, side))
        h = transpose_times(run, dealing, batch, 0, s)
        return cut_each(run, replace(dealing, ring=Z64), h, parts_of_sums(plan)[:1])


@choreography(opens={Holder: UNIFORM})
def open_table(run: Run, dealing: Dealing, rows: At[OwnRows], plan: HingePlan, *, k: int = 0) -> OwnedTable:
    """Open the rows of all owners once, in as many bits as the plan or `k` says; refuse what the plan does not fit."""
    Z = run.local(Holder, price_rows, rows, plan, run.who(Holder), run.roster[Holder])
    k = max(k, plan.window.k)
    matrix = open_rows(run, replace(dealing, ring=Ring(1 << k)), Z, Shape(plan.rows, plan.columns, k))
    return OwnedTable(matrix, rows, Z)


def share_table(mapped: MappedRows, labels: At[OwnRows]) -> SharedTable:
    """Return rows that are in shares, with the labels that one holder knows."""
    return SharedTable(mapped.matrix, labels, mapped.gram)


@choreography(opens={Holder: UNIFORM})
def train_hinge(run: Run, dealing: Dealing, table: HingeTable, plan: HingePlan) -> At[U64]:
    """Return shares of w~ = w / kappa, D x m row by row, modulo 2^64 with `plan.w_bits` after the point.

    The shares are uniform, and of a dealer's randomness that nothing else is made of: told by all holders they tell w.
    """
    return run.local(Holder, weights_of, train_moving(run, dealing, table, plan))


def train_moving(run: Run, dealing: Dealing, table: HingeTable, plan: HingePlan) -> At[Moving]:
    """Return all that moves, after the last iteration."""
    side = share_sides(run, dealing, table.labels, plan)
    narrow, wide = replace(dealing, ring=Ring(1 << plan.window.k)), replace(dealing, ring=Z64)
    S, G = make_matrices(run, wide, *table.share_grams(run, wide, plan), plan)
    moving = take_first_step(run, wide, G, table.share_first(run, narrow, side, plan), plan)
    s = run.carry(past=run.local(Holder, first_s, side), moving=moving)
    for t in run.rounds(len(plan.batches), s):  # a checkpoint holds some fifteen shares of s: not one an iteration
        batch = prepare(run, narrow, table.matrix, products=plan.batches[t], m=plan.problems)
        for j in range(plan.batches[t]):
            s.past, s.moving = iterate_once(run, narrow, wide, batch, j, S, G, side, s.past, s.moving, plan)
    run.note(rows=plan.n, iterations=plan.iterations, squares=plan.squares.levels)
    moved: At[Moving] = s.moving
    return moved


def share_sides(run: Run, dealing: Dealing, labels: At[OwnRows], plan: HingePlan) -> At[HingeSide]:
    """Return what is known of rows by their labels; with a committee, which has shares of it, of all rows at once."""
    sides = run.local(Site, take_side, labels, plan, run.who(Site), run.roster[Site])
    if not run.roster[Giver]:
        return sides
    sizes = {party: 3 * plan.problems * rows for party, rows in zip(run.roster[Site], plan.rows, strict=True)}
    return run.local(Holder, read_side, collect(run, dealing, run.local(Site, write_side, sides), sizes), plan)


@choreography(opens={Holder: UNIFORM})
def give_rows(run: Run, dealing: Dealing, rows: At[OwnRows], plan: HingePlan) -> SharedTable:
    """Return the rows of all sites for a committee, opened to it once under masks that it has in shares."""
    Z = run.local(Site, price_rows, rows, plan, run.who(Site), run.roster[Site])
    matrix = open_given(run, dealing, Z, plan.rows, plan.columns)
    return SharedTable(matrix, rows, multiply_itself(run, dealing, matrix))


@choreography(opens={Holder: UNIFORM})
def make_matrices(run: Run, dealing: Dealing, gram: At[U64], power: At[U64], plan: HingePlan) -> tuple[Opened, Opened]:
    """Return S and G, each opened under a mask for all products with it."""
    D = plan.columns
    S = open_once(run, dealing, gram, D)
    start = run.local(Holder, take_from_one, power, D, K_BITS, dealing.first)
    return S, open_squares(run, dealing, start, plan.squares.weights, n=D, bits=plan.g_bits)


@choreography(opens={Holder: UNIFORM})
def take_first_step(run: Run, dealing: Dealing, G: Opened, h: At[U64], plan: HingePlan) -> At[Moving]:
    """Return what moves, after the iteration that begins with w = 0."""
    moving = run.local(Holder, no_step, plan)
    return move(run, dealing, G, run.local(Holder, without_moves, h), moving, plan)


@choreography(opens={Holder: UNIFORM})
def iterate_once(
    run: Run,
    narrow: Dealing,
    wide: Dealing,
    batch: Batch,
    j: int,
    S: Opened,
    G: Opened,
    side: At[HingeSide],
    past: At[tuple[U64, ...]],
    moving: At[Moving],
    plan: HingePlan,
) -> tuple[At[tuple[U64, ...]], At[Moving]]:
    """Return the last shares of s, and what moves, after one iteration."""
    n, D, m = plan.n, plan.columns, plan.problems
    dealt, _ = deal(run, wide, Applied(D, m), kept=S.A)
    masked = run.local(Holder, mask_move, moving, dealt)
    ZW, absorbed, moved = forward(run, batch, j, run.local(Holder, short_of, moving), masked)
    X = run.local(Holder, make_x, ZW, past, side, plan)
    taken = narrow.dealer.compute(run, lift_down, absorbed, plan.lift)
    past = run.local(
        Holder, add_s, lean_clip(run, narrow, X, plan.window, size=n * m, absorbed=taken), past, side, plan
    )
    h = transpose_times(run, narrow, batch, j, run.local(Holder, newest, past))
    SW = run.local(Holder, apply_opened, S.D, S.own, moved, dealt, D, wide.first)
    both = cut_each(run, wide, run.local(Holder, join, h, SW), parts_of_sums(plan))
    return past, move(run, wide, G, both, moving, plan)


@choreography(opens={Holder: UNIFORM})
def move(run: Run, dealing: Dealing, G: Opened, sums: At[U64], moving: At[Moving], plan: HingePlan) -> At[Moving]:
    """Return what moves, (4) and (5), from h and S (W - w~)."""
    dealt, _ = deal(run, dealing, Applied(plan.columns, plan.problems), kept=G.A)
    r = run.local(Holder, make_r, sums, moving, plan)
    opened = open_masked(run, run.local(Holder, subtract_mask, r, dealt, dealing.ring), ring=dealing.ring)
    Gr = run.local(Holder, apply_opened, G.D, G.own, opened, dealt, plan.columns, dealing.first)
    steps = run.local(Holder, join_steps, Gr, sums, moving, plan)
    return run.local(Holder, split_steps, cut_each(run, dealing, steps, parts_of_steps(plan)))


# Bits


def parts_of_sums(plan: HingePlan) -> Parts:
    """Return how h and S (W - w~) are cut."""
    size = plan.columns * plan.problems
    return Part(size, plan.window.k, Z_BITS + S_BITS - plan.w_bits), Part(size, 64, plan.gram_bits)


def parts_of_steps(plan: HingePlan) -> Parts:
    """Return how w~, 2 W, the same for the shorter W, and 2 H are cut."""
    size, s = plan.columns * plan.problems, plan.g_bits + plan.below
    return (
        Part(size, 64, s),
        Part(size, 64, s + 1),
        Part(size, 64, s + 1 + plan.w_bits - plan.short_bits),
        Part(size, 64, 1),
    )


def words_of(x: F64, bits: int) -> U64:
    """Return numbers as words with so many bits after the point."""
    return np.rint(np.ldexp(x, bits)).astype(np.int64).view(np.uint64)


# Steps at the holders: what they know


def take_side(rows: OwnRows, plan: HingePlan, me: str, holders: tuple[str, ...]) -> HingeSide:
    """Return what a holder knows of rows by their labels; refuse signs and prices that the plan does not fit."""
    at = holders.index(me)
    check_labels(rows, plan, plan.rows[at])
    y = np.ascontiguousarray(rows.signs.T).astype(np.float64)
    price = np.ones(len(rows.signs)) if rows.price is None else rows.price
    margin = np.ones(len(rows.signs)) if rows.margin is None else rows.margin
    pull = y * price * margin / plan.kappas[:, None] + (y < 0)
    pull[y == 0] = -(2.0 ** (plan.window.I - 2))
    return HingeSide(
        words_of(pull, plan.window.F),
        words_of((y < 0).astype(np.float64), S_BITS),
        words_of(np.clip(pull, 0.0, 1.0) - (y < 0), S_BITS),
        sum(plan.rows[:at]),
        plan.n,
    )


def write_side(side: HingeSide) -> U64:
    """Return what is known of a site's rows as words, row by row."""
    return np.concatenate([side.pull, side.below, side.first]).T.ravel()


def read_side(words: U64, plan: HingePlan) -> HingeSide:
    """Return a share of what is known of all rows."""
    pull, below, first = np.ascontiguousarray(words.reshape(plan.n, -1).T).reshape(3, plan.problems, plan.n)
    return HingeSide(pull, below, first, 0, plan.n)


def check_labels(rows: OwnRows, plan: HingePlan, count: int) -> None:
    """Refuse signs and prices that are none, and of other rows than the plan says."""
    if rows.signs.shape != (count, plan.problems):
        raise LocalError(
            f"signs are {rows.signs.shape}, the plan is for {count} rows in {plan.problems} problems: plan for the rows"
            " that are there"
        )
    if not np.isin(rows.signs, (-1, 0, 1) if plan.partial else (-1, 1)).all():
        raise LocalError(f"signs are 1 or -1{', or 0 for no part' if plan.partial else ''}: write labels as such")
    if rows.price is not None and not (rows.price.shape == (count,) and ((rows.price >= 0) & (rows.price <= 1)).all()):
        raise LocalError("every row has a price between 0 and 1, of C: divide the weights by the largest, and raise C")


def price_rows(rows: OwnRows, plan: HingePlan, me: str, holders: tuple[str, ...]) -> I16:
    """Return the owner's rows, with prices; refuse rows of other sizes than the plan says, and too long ones."""
    count = plan.rows[holders.index(me)]
    check_labels(rows, plan, count)
    if rows.Z.shape != (count, plan.columns):
        raise LocalError(
            f"rows are {rows.Z.shape}, the plan is for {count} rows of {plan.columns} columns: plan for the rows that"
            " are there"
        )
    lengths = np.sqrt(np.einsum("ij,ij->i", rows.Z, rows.Z, dtype=np.float64)) * 2.0**-Z_BITS
    if lengths.max(initial=0.0) > plan.longest * (1.0 + OVER):
        raise LocalError(
            f"a row is {lengths.max():.3g} long, and {plan.longest:g} is planned for: scale all rows alike, or plan"
            " for it"
        )
    if rows.price is None:
        return rows.Z
    return np.rint(rows.Z * rows.price[:, None]).astype(np.int16)


def own_gram(Z: I16) -> F64:
    """Return Z'Z in units of 2^-26, exactly: whole numbers below 2^53."""
    found = np.zeros((Z.shape[1], Z.shape[1]))
    for start in range(0, len(Z), GRAM_ROWS):
        part = Z[start : start + GRAM_ROWS].astype(np.float64)
        found += part.T @ part
    return found


def share_gram(Z: I16) -> U64:
    """Return the holder's share of Z'Z, a triangle: its own rows' part."""
    return words_of(pack(own_gram(Z), 0), 0)


def shift_gram(gram: F64, plan: HingePlan) -> U64:
    """Return the holder's share of S, a triangle: its own rows' part."""
    return words_of(pack(gram, 0), plan.gram_bits - 2 * Z_BITS)


def first_power(gram: F64, plan: HingePlan) -> U64:
    """Return the holder's share of rho S / 2^shift."""
    return words_of(pack(gram, 0), K_BITS - 2 * Z_BITS + plan.exponent - plan.shift)


def first_s(side: HingeSide) -> tuple[U64, ...]:
    """Return the share of s after the first iteration: what the owner knows of its rows."""
    found = np.zeros((len(side.first), side.n), dtype=np.uint64)
    found[:, side.start : side.start + side.first.shape[1]] = side.first
    return (found.ravel(),)


def first_h(Z: I16, side: HingeSide, plan: HingePlan) -> U64:
    """Return the share of h after the first iteration, D x m: that of the owner's rows, rounded."""
    from tacit.numeric.shares.owned_loops import add_own_outer  # noqa: PLC0415 - it takes a second to load

    found = np.zeros((len(side.first), Z.shape[1]), dtype=np.int64)
    add_own_outer(align(Z), align(side.first).view(np.int64), found, 0)
    return words_of(found.T.ravel().astype(np.float64), plan.w_bits - Z_BITS - S_BITS)


# Steps at the holders: an iteration


def no_step(plan: HingePlan) -> Moving:
    """Return shares of zero."""
    zero = np.zeros(plan.columns * plan.problems, dtype=np.uint64)
    return Moving(zero, zero, zero, zero)


def without_moves(h: U64) -> U64:
    """Return h, and S (W - w~) = 0 behind it."""
    return np.concatenate([h, np.zeros_like(h)])


def mask_move(moving: Moving, dealt: Share) -> U64:
    """Return the share of W - w~ under its mask."""
    return moving.W - moving.w - dealt.masks[0]


def short_of(moving: Moving) -> U64:
    """Return the share of W with fewer bits, which is multiplied by Z."""
    return moving.short


def make_x(ZW: U64, past: tuple[U64, ...], side: HingeSide, plan: HingePlan) -> U64:
    """Return the share of X, (1), but for what the dealer absorbs."""
    X = ZW * np.uint64(-(1 << plan.lift) % (1 << 64))
    term = np.empty_like(X)
    for c, s in zip(plan.weights, past, strict=False):  # (6)
        np.multiply(s, np.uint64(c % (1 << 64)), out=term)
        X += term
    X.reshape(plan.problems, -1)[:, side.start : side.start + side.pull.shape[1]] += side.pull
    return X


def add_s(clipped: U64, past: tuple[U64, ...], side: HingeSide, plan: HingePlan) -> tuple[U64, ...]:
    """Return the last shares of s, the newest one first, (2)."""
    s = clipped.copy()
    s.reshape(plan.problems, -1)[:, side.start : side.start + side.pull.shape[1]] -= side.below
    return (s, *past[: len(plan.weights) - 1])


def newest(past: tuple[U64, ...]) -> U64:
    """Return the share of s."""
    return past[0]


def apply_opened(D: U64, own: U64, e: U64, dealt: Share, n: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of a matrix times x, which were both opened under masks: (1) of `shares.matrices`, x = e + b."""
    e, b = e.reshape(n, -1), dealt.masks[0].reshape(n, -1)
    public = ring_symmetric(align(D), b + e if first else b)
    return (public + ring_symmetric(align(own), e)).ravel() + dealt.made[0]


def join(*values: U64) -> U64:
    """Return values one after the other."""
    return np.concatenate(values)


def take_half(both: U64, which: int, up: int) -> U64:
    """Return one half of some words, with more bits after the point."""
    return np.split(both, 2)[which] << np.uint64(up)


def make_r(sums: U64, moving: Moving, plan: HingePlan) -> U64:
    """Return the share of r, (4), times 2^below."""
    h, SW = np.split(sums, 2)
    up = np.uint64(1 << max(0, plan.exponent))
    return up * (SW - moving.H + TWO * h) - (moving.w << np.uint64(plan.below))


def join_steps(Gr: U64, sums: U64, moving: Moving, plan: HingePlan) -> U64:
    """Return shares of the new w~, of 2 W twice, and of 2 H, (5), before they are cut."""
    h, up = sums[: Gr.size], np.uint64(plan.g_bits + plan.below)
    twice = THREE * Gr + ((THREE * moving.w - moving.W) << up)
    return np.concatenate([Gr + (moving.w << up), twice, twice, THREE * h - moving.H])


def split_steps(cut: U64) -> Moving:
    """Return what moves, from the values that were cut."""
    w, W, short, H = np.split(cut, 4)
    return Moving(w, W, short, H)


def weights_of(moving: Moving) -> U64:
    """Return the share of w~."""
    return moving.w


# A step at the dealer


def lift_down(absorbed: U64, lift: int) -> U64:
    """Return the dealer's part of X, whose words have more bits than a product of Z with W."""
    return absorbed * np.uint64(-(1 << lift) % (1 << 64))
