"""Moments of the rows within the margin, training after training, so that no two of them differ by a few rows.

The problem. SVM-t needs count, sum and sum of squares of every feature over the rows with y f(x) <= 1 + slack, for each
side of each problem (slack = sqrt(tol): which rows are on the margin is known only as far as the model is solved).
Feature by feature these are sums of raw values: if the rows within the margin of two models differ by one row, the
difference of their sums IS that row. So all sets of rows that were ever summed are kept, at their holders, and

    V is summed if |V| >= min_count and |V ^ W| >= min_count for every set W summed before                          (1)
    V is taken to be W, the nearest such set, if |V| >= min_count but |V ^ W| < min_count: nothing is summed        (2)
    V is left out if |V| < min_count, and with it the other side of its problem                                    (3)

where ^ is the symmetric difference. The sides as a whole count as sets W from the start: other sums are over them. For
(2) the coordinator has the sums already, of more features than are left.

Roles. Holder: records. Coordinator: counts first, sums after.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: combinations of more than two sums; sums over sets that
`cutting_plane` opened, which are in another space unless the kernel is linear.
Source: ours; SVM-t is 004 (5.3), corrected (docs/methods/feature_selection.md).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.numeric.relevance import Expansion, decision, moments
from tacit.protocols.feature_map import Records
from tacit.protocols.secure_sum import secure_sum
from tacit.protocols.subset_svm import Ground

Bits = NDArray[np.uint8]
I8 = NDArray[np.int8]


class Taken(
    Message, tells="which set of rows stands for those within the margin, on every side of every problem where these are not too few"
):
    """Numbers of sets, by (1) or (2); -1 by (3)."""

    sets: I64


class Summed(State):
    """What the coordinator has: the moments of every set summed so far, and of which features."""

    features: tuple[I64, ...]
    moments: tuple[F64, ...]


@choreography(
    opens={
        Coordinator: "how many rows are within the margin on each side of each problem, and by how many these sets differ from those summed"
        " before; of sets of at least min_count rows, no two differing by fewer, the sum and the sum of squares of every feature left",
        Everyone: "for each side, whether so many rows are within the margin (where not, SVM-t abstains), and whether they differ from"
        " every set before by so many (where not, that set stands for them)",
    }
)
def margin_moments(
    run: Run,
    data: At[Any],
    signs: At[I8],
    sets: At[Bits],
    summed: At[Summed],
    where: tuple[int, ...],
    features: I64,
    e: Expansion,
    *,
    ground: Ground,
) -> tuple[At[Bits], At[Summed], tuple[int, ...], At[F64] | None]:
    """Sets and sums with those of this model; where each set's moments are; the moments themselves, None if no problem has both.

    `where` holds a place for every set so far: its number among those summed, -1 if it was not, -2 if it never may be.
    """
    inside = run.local(Holder, within, data, signs, features, e, math.sqrt(ground.svm.tol))
    counts = run.local(Holder, compared, sets, inside)
    total = secure_sum(run, counts, to=Coordinator, by=ground.by, fixed=ground.fixed, what="rows within the margin")
    taken = run.publish(Taken, run.local(Coordinator, take, total, where, ground.svm.min_count)).sets
    new = tuple(int(number) for number in np.unique(taken) if number >= len(where) or (number >= 0 and where[number] < 0))
    sets = run.local(Holder, kept, sets, inside, taken, len(where))
    if new:
        own = run.local(Holder, moments_of, data, sets, new, features, offset(ground, features))
        opened = secure_sum(run, own, to=Coordinator, by=ground.by, fixed=ground.fixed, what="moments within the margin")
        where = placed(where, taken, new)
        summed = run.local(Coordinator, take_up, summed, opened, features)
    here = tuple(where[number] if number >= 0 else -1 for number in taken)
    known = any(min(here[2 * k : 2 * k + 2]) >= 0 for k in range(len(here) // 2))
    return sets, summed, where, run.local(Coordinator, looked_up, summed, here, features) if known else None


def offset(ground: Ground, features: I64) -> F64:
    """Where the features are, as far as the landmarks tell: sums of squares around it lose less to rounding."""
    return ground.landmarks(features).mean(axis=0) if len(ground.centres) else np.zeros(len(features))


def beginning(ground: Ground) -> tuple[int, ...]:
    """`where` before the first training: the whole sides, which may be summed if they are large enough."""
    return tuple(-1 if large else -2 for large in (ground.sides >= max(1, ground.svm.min_count)).ravel())


def placed(where: tuple[int, ...], taken: I64, new: tuple[int, ...]) -> tuple[int, ...]:
    """`where` with the sets summed now; their moments come after those before."""
    after, first = [*where, *[-1] * (max(len(where), int(taken.max()) + 1) - len(where))], sum(w >= 0 for w in where)
    for i, number in enumerate(new):
        after[number] = first + i
    return tuple(after)


# Steps at the holders


def whole_sides(signs: I8) -> Bits:
    """The rows of each side of each problem, as bits."""
    return np.packbits(_sides(signs), axis=1)


def _sides(signs: I8) -> NDArray[np.bool_]:
    return np.stack([signs.T > 0, signs.T < 0], axis=1).reshape(2 * signs.shape[1], len(signs))


def within(part: Records, signs: I8, features: I64, e: Expansion, slack: float) -> Bits:
    """The rows of each side with y f <= 1 + slack."""
    inside = signs * decision(e, part.X[:, features]) <= 1.0 + slack
    return np.packbits(_sides(signs) & np.repeat(inside.T, 2, axis=0), axis=1)


def compared(sets: Bits, inside: Bits) -> F64:
    """For each side: its rows within the margin; by how many they differ from every set before, and from every other side's."""
    others = np.concatenate([sets, inside])
    counts = [np.append(np.bitwise_count(V).sum(), np.bitwise_count(others ^ V).sum(axis=1)) for V in inside]
    return np.array(counts, dtype=np.float64)


def kept(sets: Bits, inside: Bits, taken: I64, before: int) -> Bits:
    """With the sets that (1) lets be summed."""
    return np.concatenate([sets, inside[[int(np.argmax(taken == n)) for n in np.unique(taken[taken >= before])]]])


def moments_of(part: Records, sets: Bits, numbers: tuple[int, ...], features: I64, at: F64) -> F64:
    """Count, sum and sum of squares around `at` over the rows of these sets."""
    member = np.unpackbits(sets[list(numbers)], axis=1, count=len(part.X)).T.astype(np.float64)
    return moments(part.X[:, features], member, at)


# Steps at the coordinator


def take(counts: F64, where: tuple[int, ...], min_count: int) -> Taken:
    """(1) to (3), side after side."""
    counts, least, before = np.rint(counts), max(1, min_count), len(where)
    usable = [n for n in range(before) if where[n] != -2]  # noqa: PLR2004 - too small to be summed, as `where` says
    numbers, accepted = np.full(len(counts), -1, dtype=np.int64), list[int]()
    for i, row in enumerate(counts):
        if min(row[0], counts[i ^ 1, 0]) < least:  # i ^ 1: the other side of the problem
            continue
        known = [(row[1 + n], n) for n in usable] + [(row[1 + before + j], before + a) for a, j in enumerate(accepted)]
        difference, nearest = min(known, default=(np.inf, -1))
        numbers[i] = nearest if difference < least else before + len(accepted)
        accepted += [i] if difference >= least else []
    return Taken(numbers)


def take_up(summed: Summed, opened: F64, features: I64) -> Summed:
    """One more entry for every set summed now."""
    return Summed((*summed.features, *[features] * len(opened)), (*summed.moments, *opened))


def looked_up(summed: Summed, here: tuple[int, ...], features: I64) -> F64:
    """(problems x 2 x moments) of the features left; zeros where there are none."""
    sides = [_moments_at(summed, n, features) if n >= 0 else np.zeros(1 + 2 * len(features)) for n in here]
    return np.array(sides).reshape(len(here) // 2, 2, -1)


def _moments_at(summed: Summed, n: int, features: I64) -> F64:
    at, size = np.searchsorted(summed.features[n], features), len(summed.features[n])
    return np.asarray(summed.moments[n][np.concatenate([[0], 1 + at, 1 + size + at])])
