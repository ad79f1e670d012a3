"""Platt's probabilities over rows that many hold: a slope and an offset for each class, from sums over all records.

The problem. Holder h has records with decision values f of a model that did not see them, a column per class (one for
the second of two). For every column everyone shall know the A and B that are best for all records together,

    p(f) = 1 / (1 + exp(A f + B)),    min_{A,B} L = - sum_i t_i log p_i + (1 - t_i) log(1 - p_i)                  (1)

with the targets t of `numeric.scores.platt`. The coordinator publishes a candidate (A, B) of every column, one secure
sum opens L, its gradient and its second derivatives there, and a Newton step, or half of the one before, gives the
next. All columns go on together, for at most `MOST` rounds. How many records each class has is public before.

Where one party has all decision values and labels, it fits (1) by itself (`numeric.scores.platt.sigmoids`) and
publishes the answer.

Roles. Holder: decision values with labels. Coordinator: opens the sums. With `witness` the sums are open to the holders
too, who repeat every step of the coordinator and stop if it differs.
Threat. Semi-honest; coalitions as `secure_sum`. Every sum is over all records of all classes that take part, of which
each has at least `min_count`. A round opens six numbers per column: after n / 6 rounds they are as many as the decision
values of n records, and determine them in principle, though not whose they are. Not protected: that, and what the
probabilities themselves reveal.
Source: Lin, Lin and Weng, Machine Learning 68, 2007.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Message, Role, Run, State, choreography
from tacit.numeric.scores.platt import MOST, SUMS, Fit, advance, classes_of, sigmoids, start, sums
from tacit.protocols.witness import WITNESSED, Voice

SIGMOIDS = Fact("platt.sigmoids", "holders", "model", "all", "the slope and the offset of each class's probability")

NO_CHANCE = (0.0, 700.0)  # of a class that took no part: exp(-700) is the least that a double holds with its logarithm


class Candidate(
    Message,
    tells=Fact(
        "platt.tried",
        "holders",
        "model",
        "all",
        "the slope and the offset of each class's probability that are tried next, and which are final",
    ),
):
    """The candidate (A, B) of every column; `done` is 1 where it is final, else 0."""

    AB: F64
    done: I64


class Sigmoids(Message, tells=SIGMOIDS):
    """The fitted (A, B) of every column."""

    AB: F64


class Scores(State):
    """What a holder brings along: decision values, a column per problem, and the class of every record."""

    values: F64
    codes: I64


class Fitting(State):
    """The state of `numeric.scores.platt.Fit`, as it is kept from round to round."""

    best: F64
    loss: F64
    candidate: F64
    step: F64
    slope: F64
    done: Flags


@choreography(
    opens={
        Coordinator: Fact(
            "platt.derivatives",
            "holders",
            "aggregate",
            "all",
            "at every candidate, the loss of each class's probabilities, its gradient and its second derivatives, each "
            "summed over all records",
        ),
        Everyone: (
            Fact(
                "platt.candidates",
                "holders",
                "model",
                "all",
                "every candidate, and the slope and the offset of each class's probability",
            ),
            WITNESSED,
        ),
    }
)
def platt(run: Run, scores: At[Scores], *, voice: Voice, sizes: F64) -> F64:
    """Fit (1) and return A and B of each column, a line each.

    `sizes` says how many records each class has over all parties; 0 if it takes no part.
    """
    s = run.carry(fitting=run.local(voice.who, first, sizes))
    for _ in run.rounds(MOST, s):
        tried = voice.announce(Candidate, candidate, s.fitting)
        if tried.done.all():
            break
        s.fitting = run.local(voice.who, go_on, s.fitting, voice.add_up(sums_here, scores, sizes, tried.AB))
    return add_absent(voice.announce(Sigmoids, take_best, s.fitting).AB, sizes)


@choreography(opens={Everyone: SIGMOIDS})
def own_platt(run: Run, scores: At[Scores], *, at: Role) -> F64:
    """Fit (1) where the party `at` has all decision values and labels, and publish it."""
    return run.publish(Sigmoids, run.local(at, fit_own, scores)).AB


def add_absent(AB: F64, sizes: F64) -> F64:
    """Return the sigmoids, with no chance for a class without a record."""
    here = sizes[list(classes_of(len(AB)))] > 0
    return np.where(here[:, None], AB, NO_CHANCE)


def sides(sizes: F64) -> tuple[F64, F64]:
    """Return how many records each column's class has, and how many all others."""
    P = sizes[1:] if len(sizes) == 2 else sizes  # noqa: PLR2004 - one column separates two
    return P, sizes.sum() - P


# Steps at the holders


def sums_here(scores: Scores, sizes: F64, AB: F64) -> F64:
    """Return this holder's part of the six sums of every column."""
    columns = zip(scores.values.T, classes_of(len(AB)), *sides(sizes), AB, strict=True)
    return np.array(
        [sums(f, scores.codes == k, float(P), float(N), at) if P else np.zeros(SUMS) for f, k, P, N, at in columns]
    )


# Steps at the coordinator, and at witnesses


def first(sizes: F64) -> Fitting:
    """Return where the search for (A, B) begins."""
    return Fitting(**vars(start(*sides(sizes))))


def candidate(fitting: Fitting) -> Candidate:
    """Return what is tried next."""
    return Candidate(fitting.candidate, fitting.done.astype(np.int64))


def go_on(fitting: Fitting, total: F64) -> Fitting:
    """Return the search after the sums at the last candidate are known."""
    return Fitting(**vars(advance(Fit(**{name: getattr(fitting, name) for name in fitting.field_names()}), total)))


def take_best(fitting: Fitting) -> Sigmoids:
    """Return the best sigmoids found."""
    return Sigmoids(fitting.best)


def fit_own(scores: Scores) -> Sigmoids:
    """Return the sigmoids (1) where one party has all decision values."""
    return Sigmoids(sigmoids(scores.values, scores.codes))
