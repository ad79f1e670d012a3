"""Which C of a short public menu suits the hinge: all of them as columns of one run, on fixed folds, in shares.

    1. held out      one of every five records in a row, drawn by a public seed; its labels are 0 in its columns    (1)
    2. weights       a column for each C, each fold and each problem: one Z, one S, one G, one rho      `learners.hinge`
    3. f = Z w~      of the records that a column held out
    4. b = [f >= 0]  compared in shares                                                            `shares.lean_clip`
    5. E_C = n+ - sum_i t_i b_i   errors, by a product with the labels, which are opened under masks                (2)
    6. the winner    E of all pairs of candidates compared, with noise, as least squares does it

Of few records all five folds are columns, so that every record is held out once; of many records one fold is enough.
More than four problems are stood for by four of them. Only which C has won is revealed. Each holder adds noise with a
deviation of `CLOSE` errors to each candidate: a record changes the difference of two candidates by as much as it is
told apart in problems, at most 4.

Roles, threat: as `learners.hinge`. Which records are held out, and the number of columns, are public.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.arrays import I64, U64
from tacit.choreo import At, Everyone, Giver, Holder, Run, Site, choreography
from tacit.numeric.ring.words import Z64, Ring, public_words
from tacit.numeric.shares.hinge_plan import HingePlan
from tacit.numeric.shares.lean import Lean
from tacit.protocols.facts import MODEL
from tacit.protocols.learners.hinge import HingeTable, Moving, OwnRows, train_moving, weights_of
from tacit.protocols.learners.least_squares import find_least
from tacit.protocols.learners.noise import add_common_noise
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import bits_of
from tacit.protocols.shares.held_rows import open_given
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.owned import I16, Matrix, Shape, forward, open_rows, prepare, transpose_times

COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # the menu
SUITED, ITERATIONS = 3.0, 30  # of all, rho as suits this C: then each of them is within a hundredth of its optimum
FOLDS = 5
FEW = 2000  # records times problems, up to which all folds are tried
MOST_PROBLEMS = 4
CLOSE = 1.0  # errors: the deviation of a holder's noise


@dataclass(frozen=True)
class Search:
    """What is public of a search. folds: the fold of every record. used: how many folds are held out, one by one."""

    rows: tuple[int, ...]
    folds: I64
    used: int
    problems: tuple[int, ...]
    tried: int

    @property
    def columns(self) -> int:
        """How many columns are trained: for each candidate and fold each problem."""
        return self.tried * self.used * len(self.problems)

    @property
    def held(self) -> I64:
        """The numbers of all records that are held out."""
        return np.flatnonzero(self.folds < self.used)

    @property
    def counts(self) -> tuple[int, ...]:
        """Of how many records that are held out each holder knows the labels."""
        ends = np.cumsum(self.rows)
        found = np.searchsorted(self.held, np.concatenate([[0], ends]))
        return tuple(np.diff(found).tolist())

    @property
    def lines(self) -> I64:
        """For each candidate, problem and record that is held out, which column held it out."""
        fold = self.folds[self.held]
        c, p = np.arange(self.tried)[:, None, None], np.arange(len(self.problems))[None, :, None]
        return np.asarray((c * self.used + fold) * len(self.problems) + p)


def plan_search(rows: tuple[int, ...], problems: int, seed: int) -> Search:
    """Return which records are held out, and which problems are looked at, by a public seed."""
    n = sum(rows)
    order = public_words(seed, problems + FOLDS * (n // FOLDS + len(rows) + 1))
    chosen = np.sort(np.argsort(order[:problems], kind="stable")[:MOST_PROBLEMS])
    draws, folds = order[problems:].reshape(-1, FOLDS), []
    for count in rows:  # every five records that follow each other are in five folds
        blocks = -(-count // FOLDS)
        folds.append(np.argsort(draws[:blocks], axis=1, kind="stable").ravel()[:count])
        draws = draws[blocks:]
    used = FOLDS if n * len(chosen) <= FEW else 1
    return Search(rows, np.concatenate(folds).astype(np.int64), used, tuple(chosen.tolist()), len(COSTS))


@choreography(opens={Everyone: MODEL})
def choose_cost(run: Run, dealing: Dealing, table: HingeTable, search: Search, plan: HingePlan) -> int:
    """Return which C of the plan makes the fewest errors on records that were held out, (2)."""
    labels = run.local(Site, hold_out, table.labels, search, run.who(Site), run.roster[Site])
    moving = train_moving(run, dealing, replace(table, labels=labels), plan)
    b = predict_signs(run, dealing, table, moving, search, plan)
    errors = count_errors(run, dealing, table, b, search, plan)
    noisy = add_common_noise(run, errors, lines=search.tried, width=1, deviation=CLOSE)
    ones = run.local(Holder, share_ones, search.tried, dealing.first)
    return find_least(run, dealing, noisy, ones, search.tried)


def predict_signs(
    run: Run, dealing: Dealing, table: HingeTable, moving: At[Moving], search: Search, plan: HingePlan
) -> At[U64]:
    """Return shares of [f >= 0] for each candidate, problem and record that is held out, in the ring of X."""
    narrow, wide = replace(dealing, ring=Ring(1 << plan.window.k)), replace(dealing, ring=Z64)
    batch = prepare(run, narrow, table.matrix, products=1, m=plan.problems)
    part = Part(plan.columns * plan.problems, 64, plan.w_bits - plan.short_bits)
    short = cut_each(run, wide, run.local(Holder, weights_of, moving), (part,))
    f, absorbed, _ = forward(run, batch, 0, short, run.local(Holder, no_words))
    at = (search.lines * plan.n + search.held).ravel()
    own = run.local(Holder, raise_entries, f, at, dealing.first)
    known = dealing.dealer.compute(run, take_entries, absorbed, at)
    return reaches_one(run, narrow, own, Lean(F=0, I=plan.window.k, q=0), size=at.size, absorbed=known)


def count_errors(run: Run, dealing: Dealing, table: HingeTable, b: At[U64], search: Search, plan: HingePlan) -> At[U64]:
    """Return shares of the errors of each candidate, less how many records have the first label: - sum_i t_i b_i."""
    k, few = plan.window.k, len(search.problems)
    narrow = replace(dealing, ring=Ring(1 << k))
    matrix = open_signs(run, narrow, table, search)
    batch = prepare(run, narrow, matrix, products=1, m=search.tried * few)
    products = transpose_times(run, narrow, batch, 0, b)
    total = run.local(Holder, add_problems, products, few)
    return cut_each(run, replace(dealing, ring=Z64), total, (Part(search.tried, k, 0),))


def open_signs(run: Run, dealing: Dealing, table: HingeTable, search: Search) -> Matrix:
    """Return the signs of all records that are held out, opened once under masks."""
    few, sites = len(search.problems), run.roster[Site]
    signs = run.local(Site, take_held, table.labels, search, run.who(Site), sites)
    if not run.roster[Giver]:
        return open_rows(run, dealing, signs, Shape(search.counts, few, bits_of(dealing.ring)))
    return open_given(run, dealing, signs, search.counts, few)


# Steps at the holders


def own_folds(search: Search, me: str, holders: Sequence[str]) -> I64:
    """Return the folds of the records of which a holder knows the labels."""
    at = holders.index(me)
    start = sum(search.rows[:at])
    return search.folds[start : start + search.rows[at]]


def hold_out(rows: OwnRows, search: Search, me: str, holders: Sequence[str]) -> OwnRows:
    """Return labels with a column for each candidate, fold and problem, 0 where a record is held out, (1)."""
    kept = own_folds(search, me, holders)[:, None] != np.arange(search.used)
    signs = rows.signs[:, None, search.problems] * kept[:, :, None].astype(np.int8)
    return OwnRows(
        rows.Z, np.tile(signs.reshape(len(signs), search.used * len(search.problems)), search.tried), rows.price
    )


def take_held(rows: OwnRows, search: Search, me: str, holders: Sequence[str]) -> I16:
    """Return the signs of a holder's records that are held out."""
    signs = rows.signs[own_folds(search, me, holders) < search.used]
    return np.ascontiguousarray(signs[:, search.problems]).astype(np.int16)


def no_words() -> U64:
    """Return nothing."""
    return np.empty(0, dtype=np.uint64)


def raise_entries(f: U64, at: I64, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of some entries plus 1: 1 or more where they are not below 0."""
    return f[at] + np.uint64(1) if first else f[at]


def add_problems(products: U64, few: int) -> U64:
    """Return the share of - sum_i t_i b_i over all problems, for each candidate."""
    found: U64 = np.einsum("pcp->c", products.reshape(few, -1, few))
    return np.uint64(0) - found


def share_ones(count: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return shares of ones."""
    return np.full(count, np.uint64(1) if first else np.uint64(0))


# A step at the dealer


def take_entries(absorbed: U64, at: I64) -> U64:
    """Return the dealer's part of some entries."""
    return absorbed[at]
