"""Platt's probabilities over rows that many hold: a slope and an offset for each class, from sums over all records.

The problem. Holder h has records with decision values f of a model that did not see them, a column per class (one for the
second of two). For every column everyone shall know the A and B that are best for all records together,

    p(f) = 1 / (1 + exp(A f + B)),    min_{A,B} L = - sum_i t_i log p_i + (1 - t_i) log(1 - p_i)                  (1)

with the targets t of `numeric.platt`. The coordinator publishes a candidate (A, B) of every column, one secure sum opens L, its
gradient and its second derivatives there, and a Newton step, or half of the one before, gives the next. All columns go on
together, for at most `MOST` rounds. How many records each class has is public before.

Where one party has all decision values and labels, it fits (1) by itself (`numeric.platt.sigmoids`) and publishes the answer.

Roles. Holder: decision values with labels. Coordinator: opens the sums. With `witness` the sums are open to the holders too, who
repeat every step of the coordinator and stop if it differs.
Threat. Semi-honest; coalitions as `secure_sum`. Every sum is over all records of all classes that take part, of which each has
at least `min_count`. A round opens six numbers per column: after n / 6 rounds they are as many as the decision values of n
records, and determine them in principle, though not whose they are.
Not protected: that, and what the probabilities themselves reveal.
Source: Lin, Lin and Weng, Machine Learning 68, 2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Message, Role, Run, State, choreography
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.platt import MOST, SUMS, Fit, advance, classes_of, sigmoids, start, sums
from tacit.protocols.secure_sum import Protection
from tacit.protocols.witness import Voice

NO_CHANCE = (0.0, 700.0)  # of a class that took no part: exp(-700) is the least that a double holds with its logarithm


class Candidate(Message, tells="the slope and the offset of each class's probability that are tried next, and which are final"):
    """(A, B) by column; done: 1 or 0."""

    AB: F64
    done: I64


class Sigmoids(Message, tells="the slope and the offset of each class's probability"):
    """(A, B) by column."""

    AB: F64


class Scores(State):
    """What a holder brings along: decision values, a column per problem, and the class of every record."""

    values: F64
    codes: I64


class Fitting(State):
    """`numeric.platt.Fit`, as it is kept from round to round."""

    best: F64
    loss: F64
    candidate: F64
    step: F64
    slope: F64
    done: NDArray[np.bool_]


@choreography(
    opens={
        Coordinator: "at every candidate, the loss of each class's probabilities, its gradient and its second derivatives, each summed over"
        " all records",
        Everyone: "every candidate, and the slope and the offset of each class's probability; with witness=True all that the coordinator"
        " learns",
    }
)
def platt(run: Run, scores: At[Any], *, sizes: F64, by: Protection, fixed: FixedPoint, witness: bool = False) -> F64:
    """A and B of each column, a line each. `sizes`: how many records each class has over all parties; 0 if it takes no part."""
    voice = Voice(run, by, fixed, witness)
    s = run.carry(fitting=run.local(voice.who, first, sizes))
    for _ in run.rounds(MOST, s):
        tried = voice.told(Candidate, candidate, s.fitting)
        if tried.done.all():
            break
        s.fitting = run.local(voice.who, onwards, s.fitting, voice.added(sums_here, scores, sizes, tried.AB))
    return with_absent(voice.told(Sigmoids, best, s.fitting).AB, sizes)


@choreography(opens={Everyone: "the slope and the offset of each class's probability"})
def own_platt(run: Run, scores: At[Any], *, at: Role) -> F64:
    """(1) where the party `at` has all decision values and labels."""
    return run.publish(Sigmoids, run.local(at, fitted, scores)).AB


def with_absent(AB: F64, sizes: F64) -> F64:
    """A class without a record has no chance."""
    here = sizes[list(classes_of(len(AB)))] > 0
    return np.where(here[:, None], AB, NO_CHANCE)


def sides(sizes: F64) -> tuple[F64, F64]:
    """Records of each column's class, and all others."""
    P = sizes[1:] if len(sizes) == 2 else sizes  # noqa: PLR2004 - one column separates two
    return P, sizes.sum() - P


# Steps at the holders


def sums_here(scores: Scores, sizes: F64, AB: F64) -> F64:
    """This holder's part of the six sums of every column."""
    columns = zip(scores.values.T, classes_of(len(AB)), *sides(sizes), AB, strict=True)
    return np.array([sums(f, scores.codes == k, float(P), float(N), at) if P else np.zeros(SUMS) for f, k, P, N, at in columns])


# Steps at the coordinator, and at witnesses


def first(sizes: F64) -> Fitting:
    """Where the search begins."""
    return Fitting(**vars(start(*sides(sizes))))


def candidate(fitting: Fitting) -> Candidate:
    """What is tried next."""
    return Candidate(fitting.candidate, fitting.done.astype(np.int64))


def onwards(fitting: Fitting, total: F64) -> Fitting:
    """With the sums of the last candidate."""
    return Fitting(**vars(advance(Fit(**{name: getattr(fitting, name) for name in fitting.field_names()}), total)))


def best(fitting: Fitting) -> Sigmoids:
    """The answer."""
    return Sigmoids(fitting.best)


def fitted(scores: Scores) -> Sigmoids:
    """(1), where one party has all."""
    return Sigmoids(sigmoids(scores.values, scores.codes))
