"""Consensus over columns in a few rounds: the coordinator solves the SVM in the span of the products that it has seen.

The problem is (1) of `consensus_vertical`. Round t, with K = sum_m K_m and K_m = X_m X_m' or the party's kernel matrix:

    everyone is told p_t = Y l / max C for every problem that goes on; l: its multipliers so far                    (1)
    S_t = K p_t = sum_m K_m p_t                    is summed                                                        (2)
    1'l - 1/2 p'Kp                                 bounds the objective of the problem from below                   (3)
    w = sum_j a_j X'p_j                            the best model of this form, of all problems' products so far    (4)

(4) is a linear SVM of few features, which the coordinator solves alone (`numeric.svm.interior_svm`); its multipliers
are the next l. The objective of (4) less the best bound (3) is how far the model can be from the optimum: the rounds
end when it is tol of the objective. If a product adds no direction, (4) is the optimum: there are at most as many
rounds as columns and one to see it; ADMM takes hundreds.

Roles and threat as `consensus_vertical`. The coordinator's view follows from the labels and the products (2): two
tables with the same dot products between records, however split, look the same to it. ADMM's sums depend on the
parties' own matrices.

Source: ours; the reason stands in docs/methods/consensus.md.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Fact, Holder, Message, Result, Run, State, choreography
from tacit.numeric.consensus.columns import widen_span
from tacit.numeric.svm.interior_svm import balance_classes, solve
from tacit.protocols.consensus.settings import ColumnSvm
from tacit.protocols.witness import Voice
from tacit.protocols.work import CONVERGING

OWN_WEIGHTS = Fact("consensus.own_weights", "reader", "model", "party", "its own weights")


class Sides(State):
    """The coordinator's problems: signs and C_i, a column per problem."""

    signs: F64
    C: F64


class OwnMatrix(State):
    """What a holder multiplies with: X_m, or K_m; and for ADMM the Cholesky factor of (1) in `sharing`, else empty."""

    A: F64
    L: F64


class Solved(Result):
    """What consensus over columns leaves: weights at each holder; biases and decision values at the coordinator.

    `bound` is a bound on the objectives from below, where the way of solving gives one.
    """

    weights: At[F64]
    bias: At[F64]
    values: At[F64]
    objective: F64
    bound: F64 | None
    rounds: int
    converged: bool


class Question(
    Message,
    tells=(
        Fact(
            "consensus.multipliers",
            "holders",
            "label",
            "record",
            "the multiplier of every record in every problem that is not finished, and so its class",
        ),
        Fact(
            "consensus.within_margin",
            "holders",
            "membership",
            "record",
            "whether each record is within the margin, on it or beyond",
        ),
        Fact("consensus.objectives_and_bounds", "holders", "aggregate", "all", "objectives and bounds of all"),
    ),
):
    """The products that are asked for next, (1), with objectives and bounds."""

    live: I64
    p: F64
    objective: F64
    bound: F64


class Coefficients(
    Message,
    tells=Fact("consensus.coefficients", "holders", "label", "record", "the coefficient of every record in the model"),
):
    """The coefficients of all records in the models: w_m = X_m' values."""

    values: F64


class Search(State):
    """What the coordinator keeps: the basis of what was summed; multipliers, models and certificates by problem."""

    B: F64
    F: F64
    multipliers: F64
    weights: tuple[F64, ...]
    bias: F64
    objective: F64
    bound: F64
    stuck: tuple[bool, ...]


@choreography(
    opens={
        Coordinator: Fact(
            "consensus.gram_products",
            "holders",
            "record",
            "record",
            "for every round and problem the product of the matrix of all dot products (kernel values) with what was"
            " published",
        ),
        Holder: (
            Fact(
                "consensus.margin_by_round",
                "holders",
                "membership",
                "record",
                "at every round the multiplier of every record, and so which are within the margin, on it or beyond",
            ),
            Fact("consensus.classes_of_records", "holders", "label", "record", "the class of every record"),
            Fact("consensus.objectives", "holders", "aggregate", "all", "objectives"),
            OWN_WEIGHTS,
        ),
    }
)
def consensus_span(
    run: Run,
    own: At[OwnMatrix],
    sides: At[Sides],
    *,
    voice: Voice,
    svm: ColumnSvm,
    models: int,
) -> Solved:
    """Solve all problems together, of which the first `models` are the model's."""
    search = run.local(Coordinator, start, sides)
    first = run.publish(Question, run.local(Coordinator, question, search, sides, svm.tol))
    s = run.carry(search=search, live=first.live, p=first.p, rounds=0)
    for t in run.rounds(svm.max_rounds, s, usual=CONVERGING, until=svm.tol):
        part = run.local(Holder, product, own, s.p, svm.is_linear)
        S = voice.sum_to_coordinator(part, "products")  # (2)
        s.search = run.local(Coordinator, widen, s.search, sides, s.live, s.p, S, voice.fixed.error)
        told = run.publish(Question, run.local(Coordinator, question, s.search, sides, svm.tol))
        objective, bound = (float(each[:models].sum()) for each in (told.objective, told.bound))
        run.note(objective=objective, bound=bound, gap=gap(told), problems=len(told.live))
        s.live, s.p, s.rounds = told.live, told.p, t + 1
        if not len(told.live):
            break
    found = run.publish(Coefficients, run.local(Coordinator, coefficients, s.search, models))
    return Solved(
        weights=run.local(Holder, weights, own, found.values, svm.is_linear),
        bias=run.local(Coordinator, bias, s.search, models),
        values=run.local(Coordinator, values, s.search),
        objective=told.objective[:models],
        bound=told.bound[:models],
        rounds=s.rounds,
        converged=gap(told) <= svm.tol,
    )


def gap(told: Question) -> float:
    """Return how far the worst model can be from its optimum, relative to it."""
    return float(np.max((told.objective - told.bound) / told.objective))


# Steps at the holders


def product(own: OwnMatrix, p: F64, linear: bool) -> F64:  # noqa: FBT001 - a step
    """Return the holder's product K_m p."""
    return own.A @ (own.A.T @ p) if linear else own.A @ p


def weights(own: OwnMatrix, values: F64, linear: bool) -> F64:  # noqa: FBT001 - a step
    """Return w_m = X_m' values; with a kernel the values are the coefficients."""
    return own.A.T @ values if linear else values


# Steps at the coordinator


def start(sides: Sides) -> Search:
    """Return the search before the first round: all records are within the margin."""
    n, k = sides.signs.shape
    first = np.stack([balance_classes(y, C) for y, C in zip(sides.signs.T, sides.C.T, strict=True)], axis=1)
    nothing, none = np.empty((n, 0)), np.empty(0)
    return Search(nothing, nothing, first, (none,) * k, np.zeros(k), np.full(k, np.inf), np.zeros(k), (False,) * k)


def question(search: Search, sides: Sides, tol: float) -> Question:
    """Return what is asked next, (1), of the problems that are not within tol yet."""
    far = (search.objective - search.bound) > tol * search.objective
    live = np.flatnonzero((far | np.isinf(search.objective)) & ~np.array(search.stuck))
    p = sides.signs[:, live] * search.multipliers[:, live] / sides.C.max()
    return Question(live.astype(np.int64), p, search.objective, search.bound)


def widen(search: Search, sides: Sides, live: I64, asked: F64, S: F64, error: float) -> Search:
    """Return the search after the products arrived: bounds by (3), models by (4)."""
    B, F, known = search.B, search.F, search.B.shape[1]
    bound, largest = search.bound.copy(), sides.C.max()
    for i, k in enumerate(live):
        p, Kp = asked[:, i] * largest, S[:, i] * largest
        bound[k] = max(bound[k], search.multipliers[:, k].sum() - 0.5 * float(p @ Kp))  # (3)
        B, F = widen_span(B, F, p, Kp, error * largest)
    multipliers, model = search.multipliers.copy(), list(search.weights)
    bias, objective, stuck = search.bias.copy(), search.objective.copy(), list(search.stuck)
    for k in live:
        found = solve(F, sides.signs[:, k], sides.C[:, k])  # (4)
        multipliers[:, k], model[k] = found.multipliers, found.weights
        bias[k], objective[k] = found.bias, found.objective
        stuck[k] = B.shape[1] == known  # the span has no more to give
    return Search(B, F, multipliers, tuple(model), bias, objective, bound, tuple(stuck))


def coefficients(search: Search, models: int) -> Coefficients:
    """Return the coefficients of the best models in the span."""
    return Coefficients(np.stack([search.B[:, : len(a)] @ a for a in search.weights[:models]], axis=1))


def bias(search: Search, models: int) -> F64:
    """Return the bias of every problem of the model."""
    return search.bias[:models]


def values(search: Search) -> F64:
    """Return the decision values of all records, in every problem."""
    return np.stack([search.F[:, : len(a)] @ a for a in search.weights], axis=1) + search.bias
