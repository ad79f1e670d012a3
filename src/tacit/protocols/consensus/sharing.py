"""Consensus over columns by ADMM, as in the paper, corrected: parties share what decision values still lack.

The problem is (1) of `consensus_vertical`, once for each of its problems. S = sum_m c_m is all that is summed, and
everyone is told the bracket's second term:

    w_m = (I/rho + X_m'X_m)^-1 X_m' [c_m + (z - S + r)/M],     c_m = X_m w_m                                   (1)
    h = a S + (1 - a) z,     d = h - r,                        a: over-relaxation, 1 as in the paper           (2)
    l_i(b) = clip((rho/M)(1 - y_i (d_i + b)), 0, C_i),         b such that y'l(b) = 0                          (3)
    z = d + (M/rho) Y l,     r += z - h                                                                        (4)

With a kernel (1) is c_m = K_m (K_m + I/rho)^-1 [...].

It ends when |z - S| <= tol max(|z|, |S|) and |z - z_before| <= tol |r|, for every problem.

Roles as `consensus_vertical`.
Threat. As there; and c_m(t+1) = H_m (c_m(t) + v(t)) is a linear system whose input v and output S the coordinator
knows: from twice as many rounds as columns it finds H_m, and with it the gram matrix X_m X_m' of every single party
(`attacks.vertical_modes`). Holders see labels: the sign of what is published is y_i for every record with l_i > 0, all
of them in the first round; and where 0 < l_i < C_i they see d_i + b by (3).

Source: 000 section IV.C, eqs 26 to 29, corrected in four places (docs/methods/consensus.md).
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Fact, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.consensus.columns import hinge, ridge
from tacit.protocols.consensus.settings import ColumnSvm
from tacit.protocols.consensus.span import OwnMatrix, Sides, Solved
from tacit.protocols.witness import Voice
from tacit.protocols.work import CONVERGING


class Share(
    Message,
    tells=(
        Fact(
            "consensus.missing_part",
            "holders",
            "label",
            "record",
            "what is missing of every record's decision value, which gives its label and, within the margin, the"
            " decision value itself",
        ),
        Fact("consensus.residuals_and_objective", "holders", "aggregate", "all", "residuals and objective"),
    ),
):
    """What each party should add to its decision values: (z - S + r)/M of (1), a column per problem."""

    values: F64
    primal: float
    dual: float
    objective: F64
    done: bool


class OwnStep(State):
    """A holder's weights or coefficients, and its part c_m of the decision values."""

    weights: F64
    c: F64


class Sharing(State):
    """What the coordinator keeps between rounds; `b` and the residuals are of the last one."""

    z: F64
    r: F64
    S: F64
    b: F64
    primal: float
    dual: float
    objective: F64


@choreography(
    opens={
        Coordinator: Fact(
            "consensus.part_sums",
            "holders",
            "answer",
            "record",
            "for every round and problem the sum of the parties' parts of all decision values",
        ),
        Holder: (
            Fact(
                "consensus.multipliers_of_rounds",
                "holders",
                "label",
                "record",
                "at every round the multiplier of every record",
            ),
            Fact(
                "consensus.values_within_margin",
                "holders",
                "answer",
                "record",
                "the decision values of the records within the margin",
            ),
            Fact("consensus.residuals", "holders", "aggregate", "all", "residuals"),
            Fact("consensus.weights_of_own", "reader", "model", "party", "the reader's own weights"),
        ),
    }
)
def sharing(
    run: Run,
    own: At[OwnMatrix],
    sides: At[Sides],
    *,
    voice: Voice,
    svm: ColumnSvm,
    shape: tuple[int, int],
    models: int,
) -> Solved:
    """Solve all problems of `shape` by (1) to (4); the first `models` of them are the model's."""
    parties = len(run.roster[Holder])
    k, zero = float(svm.rho) / parties, np.zeros(shape)
    nothing = run.local(Coordinator, Sharing, zero, zero, zero, zero[0], 0.0, 0.0, zero[0])
    state = run.local(Coordinator, margin_step, nothing, zero, sides, k, 1.0)
    told = run.publish(Share, run.local(Coordinator, share_out, state, parties, svm.tol))
    s = run.carry(step=run.local(Holder, OwnStep, zero[:0], zero), state=state, share=told.values, rounds=0)
    for t in run.rounds(svm.max_rounds, s, usual=CONVERGING, until=svm.tol):
        s.step = run.local(Holder, ridge_step, own, s.step, s.share, svm.is_linear)  # (1)
        S = voice.sum_to_coordinator(run.local(Holder, part_of, s.step), "parts of the decision values")
        s.state = run.local(Coordinator, margin_step, s.state, S, sides, k, svm.over_relaxation)
        told = run.publish(Share, run.local(Coordinator, share_out, s.state, parties, svm.tol))
        s.share, s.rounds = told.values, t + 1
        run.note(objective=float(told.objective[:models].sum()), primal=told.primal, dual=told.dual)
        if told.done:
            break
    return Solved(
        weights=run.local(Holder, weights_of, s.step, models),
        bias=run.local(Coordinator, bias_of, s.state, models),
        values=run.local(Coordinator, values_of, s.state),
        objective=told.objective[:models],
        bound=None,
        rounds=s.rounds,
        converged=told.done,
    )


# Steps at the holders


def ridge_step(own: OwnMatrix, step: OwnStep, share: F64, linear: bool) -> OwnStep:  # noqa: FBT001 - a step
    """Return a holder's next weights and its c_m, (1)."""
    return OwnStep(*ridge(own.A, own.L, step.c + share, linear=linear))


def part_of(step: OwnStep) -> F64:
    """Return the holder's part c_m of the decision values."""
    return step.c


def weights_of(step: OwnStep, models: int) -> F64:
    """Return the weights w_m, or coefficients, of the model's own problems."""
    return step.weights[:, :models]


# Steps at the coordinator


def margin_step(state: Sharing, S: F64, sides: Sides, k: float, relaxation: float) -> Sharing:
    """Return the coordinator's state after (2) to (4), with k = rho/M."""
    h = relaxation * S + (1.0 - relaxation) * state.z
    with np.errstate(all="ignore"):  # what overflows is told below
        multipliers, b = hinge(h - state.r, sides.signs, sides.C, k)
        z = h - state.r + sides.signs * multipliers / k
        r = state.r + z - h
        lengths = np.maximum(np.linalg.norm(z, axis=0), np.linalg.norm(S, axis=0))
        primal = _largest(np.linalg.norm(z - S, axis=0), lengths)
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
    """Return what each party should add to its decision values, and whether the rounds end."""
    done = state.primal <= tol and state.dual <= tol
    return Share((state.z - state.S + state.r) / parties, state.primal, state.dual, state.objective, bool(done))


def bias_of(state: Sharing, models: int) -> F64:
    """Return the bias of every problem of the model."""
    return state.b[:models]


def values_of(state: Sharing) -> F64:
    """Return the decision values of all records, in every problem."""
    return state.S + state.b
