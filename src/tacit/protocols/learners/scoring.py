"""How good candidates are on records that were left out: counts and sums in shares, one rounded number of each told.

    values     f = Z W of all records under the weights without their fold                       `shares.owned`
    right      classes: [f >= 0] beside the label, or who wins all comparisons with other classes; n of them are right
    noise      each holder adds some, with a deviation of `CLOSE` records, to each candidate
    best       of a candidate whose alpha is open the best of a few is taken, in shares
    score      right / n, or 1 - E / V of numbers, with V = sum t^2 - (sum t)^2 / n: for r on a public grid
                   right - r n >= 0,        (1 - r) V - E >= 0                                                      (1)

(1) is linear in shares. Its bits fall with r, so they tell on which side of r the score is, and all of them the rounded
score: to 2^-(2 + j), 2^j the root of the number of records or more, which is about half of its sampling error.

Roles, threat: as `learners.hinge`. Source: ours.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError, PeerError
from tacit.numeric.ring.words import Z64, Ring, public_words
from tacit.numeric.shares.lean import Lean
from tacit.protocols.facts import SCORES, SIZES
from tacit.protocols.judge.shared import compare_values, count_duels
from tacit.protocols.learners.hinge import OwnRows
from tacit.protocols.learners.noise import add_noise
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.part import Held
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import multiply, reduce
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.owned import Matrix, forward, prepare

CLOSE = 1.0  # records: the deviation of a holder's noise
COMPARED = Lean(F=0, I=64, q=0)
MOST_STEP = 10  # binary digits of a score
UNITS, EXTRA = 10, 2  # bits of r in (1), whose grid has one more


@dataclass(frozen=True)
class Lines:
    """Which column of weights each record that is scored was left out by.

    at: the records, by their numbers among all; rows: how many of these each holder has labels of. columns: a line
    for each candidate and problem.
    """

    at: I64
    rows: tuple[int, ...]
    columns: I64
    tried: int
    problems: int


def count_right(
    run: Run, dealing: Dealing, matrix: Matrix, W: At[U64], labels: At[OwnRows], lines: Lines, *, k: int, columns: int
) -> At[U64]:
    """Return shares, modulo 2^64, of how many of the records each candidate gives their own class.

    W: D x columns, so short that its products with Z fit a ring of k bits. labels: at each holder, of its own records.
    """
    narrow, size, m = replace(dealing, ring=Ring(1 << k)), len(lines.at), lines.problems
    batch, window = prepare(run, narrow, matrix, products=1, m=columns), Lean(F=0, I=k, q=0)
    f, absorbed, _ = forward(run, batch, 0, W, run.local(Holder, no_words))
    places = (lines.columns * matrix.shape.n + lines.at).ravel()
    if m == 1:
        own = run.local(Holder, take_entries, f, places)
        known = narrow.dealer.compute(run, take_entries, absorbed, places)
        b = reaches_one(run, narrow, own, window, size=places.size, absorbed=known)
    else:
        own = run.local(Holder, compare_all, f, places, size, m)
        known = narrow.dealer.compute(run, compare_all, absorbed, places, size, m)
        duels = reaches_one(run, narrow, own, window, size=m * (m - 1) // 2 * size * lines.tried, absorbed=known)
        won = run.local(Holder, win_all, duels, size, lines.tried, m, dealing.first)
        b = reaches_one(run, narrow, won, window, size=places.size)
    who, holders = run.who(Holder), run.roster[Holder]
    signs, sure = (run.local(Holder, lay_out, labels, lines, who, holders, kind) for kind in (m, 0))
    right = multiply(run, narrow, signs, b, size=places.size)
    total = run.local(Holder, add_right, right, sure, lines.tried, narrow.ring)
    return cut_each(run, replace(dealing, ring=Z64), total, (Part(lines.tried, k, 0),))


def take_best(run: Run, dealing: Dealing, x: At[U64], choices: tuple[tuple[int, ...], ...]) -> At[U64]:
    """Return shares of the largest value of each choice of entries, in as many rounds as the longest has entries."""
    found, left = run.local(Holder, take_words, x, tuple(each[0] for each in choices)), choices
    for depth in range(1, max(map(len, choices))):
        other = run.local(Holder, take_words, x, tuple(each[min(depth, len(each) - 1)] for each in left))
        ahead = run.local(Holder, difference, other, found)
        b = reaches_one(run, dealing, ahead, COMPARED, size=len(choices))
        gain = multiply(run, dealing, ahead, b, size=len(choices))
        found = run.local(Holder, add_words, found, gain)
    return found


@choreography(opens={Everyone: SCORES})
def tell_scores(
    run: Run,
    dealing: Dealing,
    part: At[U64],
    whole: At[U64],
    *,
    tried: int,
    bits: int,
    records: int,
    low: float,
    unit: float = 1.0,
) -> F64:
    """Return rounded part / whole of each candidate, (1), at least `low`; both have so many bits after the point.

    whole: of all candidates, one value. unit: how much a record changes a part.
    """
    noisy = add_noise(run, part, size=tried, bits=bits, deviation=unit * CLOSE)
    grid = grid_of(records, low)
    limits = np.ceil(np.ldexp(grid, UNITS + EXTRA)).astype(np.int64)
    x = run.local(Holder, compare_ratio, noisy, whole, limits)
    reached = reaches_one(run, dealing, x, COMPARED, size=tried * len(limits))
    found = reveal(run, dealing, SCORES, reached, size=tried * len(limits)).reshape(tried, -1).sum(axis=1)
    step = step_of(records)
    return np.asarray(low + step * found)


def step_of(records: int) -> float:
    """Return to which step scores of so many records are rounded."""
    return 2.0 ** -min(2 + max(0, math.ceil(math.log2(max(records, 1)) / 2)), MOST_STEP)


def grid_of(records: int, low: float) -> F64:
    """Return the numbers between the steps that a score may be rounded to, from just above `low` to 1."""
    step = step_of(records)
    return np.arange(low + step / 2, 1.0, step)


# Steps at the holders, and at the dealer


def no_words() -> U64:
    """Return nothing."""
    return np.empty(0, dtype=np.uint64)


def take_entries(f: U64, at: I64) -> U64:
    """Return some entries; values above 0 are 1 or more."""
    return f[at]


def compare_all(f: U64, at: I64, size: int, problems: int) -> U64:
    """Return f_j - f_i for each pair of classes, candidate by candidate."""
    values = f[at].reshape(-1, problems, size)
    return np.concatenate([compare_values(np.ascontiguousarray(each.T).ravel(), size, problems) for each in values])


def win_all(duels: U64, size: int, tried: int, problems: int, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of how many others each class beats, less all but one: 1 where it is chosen."""
    each = duels.reshape(tried, -1)
    return np.concatenate([count_duels(line, size, problems, first) for line in each])


def lay_out(rows: OwnRows, lines: Lines, me: str, holders: tuple[str, ...], kind: int) -> U64:
    """Return what is multiplied with bits: of two classes the labels, of more those of each; 0: what is right anyway.

    It is 0 for all records but a holder's own.
    """
    start = sum(lines.rows[: holders.index(me)])
    own = (lines.at >= start) & (lines.at < start + len(rows.signs))
    found = np.zeros((max(kind, 1), len(lines.at)), dtype=np.int64)
    signs = rows.signs[lines.at[own] - start].astype(np.int64)
    if kind == 0:
        found[0, own] = (signs[:, 0] < 0) if lines.problems == 1 else 0
    elif kind == 1:
        found[0, own] = signs[:, 0]
    else:
        found[:, own] = (signs > 0).T
    return np.tile(found.ravel(), lines.tried if kind else 1).view(np.uint64)


def add_right(right: U64, sure: U64, tried: int, ring: Ring) -> U64:
    """Return the share of how many records are right for each candidate."""
    total: U64 = right.reshape(tried, -1).sum(axis=1, dtype=np.uint64) + sure.sum(dtype=np.uint64)
    return reduce(total, ring)


def take_words(x: U64, at: tuple[int, ...]) -> U64:
    """Return some entries."""
    return x[np.array(at, dtype=np.int64)]


def difference(x: U64, y: U64) -> U64:
    """Return the share of x - y."""
    return x - y


def add_words(x: U64, y: U64) -> U64:
    """Return the share of a sum."""
    return x + y


def compare_ratio(part: U64, whole: U64, limits: I64) -> U64:
    """Return the share of part - r whole for each candidate and r, in units of 2^-(UNITS + EXTRA)."""
    scaled = part[:, None] << np.uint64(UNITS + EXTRA)
    return (scaled - limits.view(np.uint64)[None, :] * whole).ravel()


# Fixed folds: which records a search leaves out in turn, ordered so that only the size of each fold is public.
#
# A site's records have fold numbers of its own, if it fixes them once for all jobs; else every five records that follow
# each other are in five folds, by a public seed. Each holder puts its own records in the order of their folds and tells
# how many each fold has. Over columns and cells all holders have the same records, and so the same folds.


FOLDS = 5


class FoldSizes(Message, tells=SIZES, of_records=False):
    """How many of the sender's records are in each fold."""

    records: I64


@dataclass(frozen=True)
class Folded:
    """What is public: how many records each holder has labels of in each fold; a line for each holder."""

    sizes: I64

    @property
    def rows(self) -> tuple[int, ...]:
        """How many records each holder has labels of."""
        return tuple(self.sizes.sum(axis=1).tolist())

    @property
    def fold(self) -> I64:
        """The fold of each record, holder by holder."""
        return np.concatenate([np.repeat(np.arange(FOLDS), each) for each in self.sizes])

    def own(self, at: int) -> list[slice]:
        """Return where a holder's records of each fold are among its own."""
        ends = np.cumsum(self.sizes[at]).tolist()
        return [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    def count(self, at: I64) -> tuple[int, ...]:
        """Return how many of these records each holder has labels of."""
        return tuple(np.diff(np.searchsorted(at, np.cumsum([0, *self.rows]))).tolist())

    def sample(self, most: int, used: int) -> I64:
        """Return the numbers of the records that are scored: of each holder and fold the first, alike many of all."""
        share = min(1.0, most / max(int(self.sizes[:, :used].sum()), 1))
        starts = np.cumsum([0, *self.rows])[:-1]
        found = [
            starts[i] + part.start + np.arange(int(np.ceil(share * (part.stop - part.start))))
            for i in range(len(self.sizes))
            for part in self.own(i)[:used]
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])


@choreography(opens={Everyone: SIZES})
def fold_records(run: Run, data: At[Held], partition: str, labeller: str | None, seed: int) -> tuple[At[Held], Folded]:
    """Return everybody's records in the order of folds, and how many there are in each."""
    holders = run.roster[Holder]
    folds = run.local(Holder, own_folds, data, seed, run.who(Holder), holders, partition)
    told = run.publish_all(FoldSizes, run.local(Holder, count_folds, folds, partition, run.who(Holder)))
    sizes = np.stack([np.resize(told[p].records, FOLDS) for p in holders])
    if labeller is not None:
        same = {tuple(line) for line in sizes.tolist() if any(line)}
        if len(same) > 1:
            raise PeerError("the holders have different folds of the same records: align the records, or their folds")
        sizes = sizes * (np.array(holders) == labeller)[:, None]
    if not sizes.sum(axis=0).all():
        raise LocalError(f"{int(sizes.sum())} records leave one of {FOLDS} folds empty: bring more records")
    return run.local(Holder, order_records, data, folds), Folded(sizes)


# Steps at the holders


def own_folds(part: Held, seed: int, me: str, holders: tuple[str, ...], partition: str) -> I64:
    """Return the fold of each of a holder's records."""
    given = getattr(part, "folds", None)
    n = len(part.X)
    if given is not None:
        return np.asarray(given, dtype=np.int64) % FOLDS
    blocks, at = -(-n // FOLDS), holders.index(me) if partition == "horizontal" else 0
    words = public_words(seed + at, max(blocks, 1) * FOLDS).reshape(-1, FOLDS)
    return np.argsort(words, axis=1, kind="stable").ravel()[:n].astype(np.int64)


def count_folds(folds: I64, partition: str, me: str) -> FoldSizes:
    """Return how many records are in each fold."""
    del partition, me
    return FoldSizes(np.bincount(folds, minlength=FOLDS)[:FOLDS].astype(np.int64))


def to_plain(values: Any) -> Any:
    """Return an array whose texts, as tables of texts have them, are an array of texts."""
    return np.array(values.tolist()) if values.dtype == object else np.ascontiguousarray(values)


def order_records(part: Held, folds: I64) -> Held:
    """Return a holder's records in the order of their folds."""
    order = np.argsort(folds, kind="stable")
    held = {name: getattr(part, name, None) for name in ("X", "y", "weight", "owned", "unlabelled")}
    cut = {name: None if each is None else to_plain(np.asarray(each[order])) for name, each in held.items()}
    return dataclasses.replace(part, **cut)  # type: ignore[type-var]  # whoever holds records has them as a record
