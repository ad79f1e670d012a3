"""Consensus over columns by ADMM, as in the paper, corrected: the parties share what is missing of every record's decision value.

The problem is (1) of `consensus_vertical`, for every class against the rest. S = sum_m c_m is all that is summed, and everyone is told the
bracket's second term:

    w_m = (I/rho + X_m'X_m)^-1 X_m' [c_m + (z - S + r)/M],   c_m = X_m w_m         kernel: c_m = K_m (K_m + I/rho)^-1 [...]    (1)
    h = a S + (1 - a) z,     d = h - r                                              a: over-relaxation, 1 as in the paper      (2)
    l_i(b) = clip((rho/M)(1 - y_i (d_i + b)), 0, C_i),   b such that y'l(b) = 0                                                (3)
    z = d + (M/rho) Y l,     r += z - h                                                                                        (4)

It ends when |z - S| <= tol max(|z|, |S|) and |z - z_before| <= tol |r|, for every problem.

Roles as `consensus_vertical`.
Threat. As there; and c_m(t+1) = H_m (c_m(t) + v(t)) is a linear system whose input v and output S the coordinator knows: from twice as
many rounds as columns it finds H_m, and with it the gram matrix X_m X_m' of every single party (`attacks.vertical_modes`).
Holders see labels: the sign of what is published is y_i for every record with l_i > 0, all of them in the first round; and where
0 < l_i < C_i they see d_i + b by (3).

Source: 000 section IV.C, eqs 26 to 29, corrected in four places (docs/methods/consensus.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, At, Coordinator, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.consensus_columns import hinge, ridge
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.consensus_span import Sides
from tacit.protocols.secure_sum import Protection, secure_sum


class Share(
    Message,
    tells="what is missing of every record's decision value, which gives its label and, within the margin, the decision value itself;"
    " residuals and objective",
):
    """(z - S + r)/M of (1), a column per problem."""

    values: F64
    primal: float
    dual: float
    objective: F64
    done: bool


class OwnMatrix(State):
    """What a holder's steps work on: X_m, or K_m; the Cholesky factor of (1)."""

    A: F64
    L: F64


class OwnStep(State):
    """Weights or coefficients, and c_m."""

    weights: F64
    c: F64


class Sharing(State):
    """The coordinator between rounds; b and the residuals are of the last one."""

    z: F64
    r: F64
    S: F64
    b: F64
    primal: float
    dual: float
    objective: F64


@choreography(
    opens={
        Coordinator: "for every round and problem the sum of the parties' parts of all decision values",
        Holder: "at every round the multiplier of every record, and the decision value of those within the margin; residuals; own weights",
    }
)
def sharing(
    run: Run,
    own: At[OwnMatrix],
    sides: At[Sides],
    *,
    by: Protection,
    fixed: FixedPoint,
    linear: bool,
    rho: float,
    over_relaxation: float,
    tol: float,
    max_rounds: int,
    shape: tuple[int, int],
    models: int,
) -> dict[str, Any]:
    """(1) to (4) for all problems of `shape`, of which the first `models` are the model's."""
    parties = len(run.roster[Holder])
    zero = np.zeros(shape)
    nothing = run.local(Coordinator, Sharing, zero, zero, zero, zero[0], 0.0, 0.0, zero[0])
    state = run.local(Coordinator, margin_step, nothing, zero, sides, rho / parties, 1.0)
    told = run.publish(Share, run.local(Coordinator, share_out, state, parties, tol))
    s = run.carry(step=run.local(Holder, OwnStep, zero[:0], zero), state=state, share=told.values, rounds=0)
    for t in run.rounds(max_rounds, s):
        s.step = run.local(Holder, ridge_step, own, s.step, s.share, linear)  # (1)
        S = secure_sum(run, run.local(Holder, part_of, s.step), to=Coordinator, by=by, fixed=fixed, what="parts of the decision values")
        s.state = run.local(Coordinator, margin_step, s.state, S, sides, rho / parties, over_relaxation)
        told = run.publish(Share, run.local(Coordinator, share_out, s.state, parties, tol))
        s.share, s.rounds = told.values, t + 1
        run.note(objective=float(told.objective[:models].sum()), primal=told.primal, dual=told.dual)
        if told.done:
            break
    return {
        "weights": run.local(Holder, weights_of, s.step, models),
        "bias": run.local(Coordinator, bias_of, s.state, models),
        "values": run.local(Coordinator, values_of, s.state),
        "objective": told.objective[:models],
        "bound": None,
        "rounds": s.rounds,
        "converged": told.done,
    }


# Steps at the holders


def ridge_step(own: OwnMatrix, step: OwnStep, share: F64, linear: bool) -> OwnStep:  # noqa: FBT001 - a step
    """(1)."""
    return OwnStep(*ridge(own.A, own.L, step.c + share, linear=linear))


def part_of(step: OwnStep) -> F64:
    """c_m."""
    return step.c


def weights_of(step: OwnStep, models: int) -> F64:
    """w_m, or coefficients."""
    return step.weights[:, :models]


# Steps at the coordinator


def margin_step(state: Sharing, S: F64, sides: Sides, k: float, relaxation: float) -> Sharing:
    """(2) to (4), with k = rho/M."""
    h = relaxation * S + (1.0 - relaxation) * state.z
    with np.errstate(all="ignore"):  # what overflows is told below
        multipliers, b = hinge(h - state.r, sides.signs, sides.C, k)
        z = h - state.r + sides.signs * multipliers / k
        r = state.r + z - h
        primal = _largest(np.linalg.norm(z - S, axis=0), np.maximum(np.linalg.norm(z, axis=0), np.linalg.norm(S, axis=0)))
        dual = _largest(np.linalg.norm(z - state.z, axis=0), np.linalg.norm(r, axis=0))
        # at the optimum |w|^2 = w'X'Yl = S'Yl
        loss = sides.C * np.maximum(0.0, 1.0 - sides.signs * (S + b))
        objective = np.sum(0.5 * S * sides.signs * multipliers + loss, axis=0)
    if not np.isfinite(primal + dual + objective.sum()):
        raise LocalError(
            f"consensus over columns diverged: primal residual {primal:.3g}, dual residual {dual:.3g}, objective"
            f" {objective.sum():.3g}; scale the features, or choose rho nearer to 1, or rho='auto'"
        )
    return Sharing(z, r, S, b, primal, dual, objective)


def _largest(lengths: F64, of: F64) -> float:
    return float(np.max(lengths / np.maximum(of, np.finfo(np.float64).tiny)))


def share_out(state: Sharing, parties: int, tol: float) -> Share:
    """What (1) needs."""
    done = state.primal <= tol and state.dual <= tol
    return Share((state.z - state.S + state.r) / parties, state.primal, state.dual, state.objective, bool(done))


def bias_of(state: Sharing, models: int) -> F64:
    """The bias of every problem of the model."""
    return state.b[:models]


def values_of(state: Sharing) -> F64:
    """Decision values of all records, in every problem."""
    return state.S + state.b
