"""Consensus SVM over columns: every party holds some columns of the same records; the result is the pooled SVM.

The problem. Party m holds X_m, its columns of n records; one party also holds the labels. For every class against the rest (of two
classes: the second)

    min_{w,b}  1/2 sum_m |w_m|^2 + sum_i C_i max(0, 1 - y_i (z_i + b)),     z = sum_m X_m w_m                        (1)

or, with a kernel, the same in the feature spaces of all parties: the SVM of the SUM of the parties' kernels.

rho="auto": the coordinator asks for products with the kernel matrix and works in their span (`consensus_span`).
rho=number: ADMM as in the paper, corrected; S = sum_m c_m is all that is summed, and everyone is told the bracket's second term:

    w_m = (I/rho + X_m'X_m)^-1 X_m' [c_m + (z - S + r)/M],   c_m = X_m w_m         kernel: c_m = K_m (K_m + I/rho)^-1 [...]    (2)
    h = a S + (1 - a) z,     d = h - r                                              a: over-relaxation, 1 as in the paper      (3)
    l_i(b) = clip((rho/M)(1 - y_i (d_i + b)), 0, C_i),   b such that y'l(b) = 0                                                (4)
    z = d + (M/rho) Y l,     r += z - h                                                                                        (5)

It ends when |z - S| <= tol max(|z|, |S|) and |z - z_before| <= tol |r|, for every problem. A new record is classified from the sum of
its parts, sum_m x_m.w_m + b.

Roles. Holder: columns. Labeller: the holder that has the labels. Coordinator: holds no data; learns the sums. Asker: is told the values.

Threat. Semi-honest; coalitions as `secure_sum`. The sums of many rounds together say much more than each: as many of them as there are
columns span the column space of X, and as many known records as columns then give all others (`attacks.vertical_span`). Under ADMM
twice as many rounds give even the gram matrix X_m X_m' of every single party: c_m(t+1) = H_m (c_m(t) + v(t)) is a linear system
whose input v and output S the coordinator knows, so it finds H_m. Both need accept_risk; `consensus_span` opens products with
the one matrix sum_m X_m X_m', and so never more than that.
Holders see labels: the sign of what is published is y_i for every record with l_i > 0, all of them in the first round; and where
0 < l_i < C_i they see d_i + b by (4).
Not protected: what decision values reveal.

Source: 000 section IV.C, eqs 26 to 29, corrected in four places (docs/methods/consensus.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, Asker, At, Coordinator, Holder, Labeller, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.consensus_columns import factor, hinge, kernel_values, own_kernel, ridge, spans
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel
from tacit.protocols.consensus_span import consensus_span
from tacit.protocols.gram_vertical import (
    BAND,
    Classes,
    Columns,
    Decision,
    Labels,
    append_values,
    class_names,
    labels_of,
    sizes,
    stack,
)
from tacit.protocols.pan_svm import problems, signs_of
from tacit.protocols.secure_sum import Protection, protect, secure_sum


class Share(
    Message,
    tells="what is missing of every record's decision value, which gives its label and, within the margin, the decision value itself;"
    " residuals and objective",
):
    """(z - S + r)/M of (2), a column per problem."""

    values: F64
    primal: float
    dual: float
    objective: F64
    done: bool


class ColumnShare(State):
    """A holder's share of the model: weights of its columns; with a kernel, coefficients of its own columns of the training records."""

    weights: F64
    X: F64
    kernel: str
    gamma: float
    degree: int
    coef0: float


class ColumnHead(State):
    """The coordinator's share."""

    bias: F64


class Sides(State):
    """The coordinator's problems: signs and C_i, a column per problem."""

    signs: F64
    C: F64


class OwnMatrix(State):
    """What a holder's steps work on: X_m, or K_m; the Cholesky factor of (2)."""

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
        Coordinator: "every label; for every round and problem one sum over the parties, of a number for each record. Over the rounds these"
        " sums span the column space of X: from as many as there are columns, that many known records give all others. With rho='auto' no"
        " more than the one matrix of all dot products (of all kernel values) follows from them; with a number, from twice as many"
        " rounds, the dot products of every single party's columns",
        Holder: "the names of the classes; how many records and columns each party has; the label of every record; at every round its"
        " multiplier, from which with a number as rho the decision values of the records within the margin follow; its own weights",
    }
)
def consensus_vertical(
    run: Run,
    data: At[Any],
    *,
    C: float,
    kernel: str = "linear",
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    rho: float | str = "auto",
    over_relaxation: float = 1.8,
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_rounds: int = 1000,
    accept_risk: bool = False,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
) -> dict[str, Any]:
    """Train; every holder ends with its `ColumnShare`, the coordinator with its `ColumnHead`. gamma='scale' is of each party's columns."""
    if method == "threshold":
        raise LocalError("secure_sum='threshold' lets holders stay away, and a sum without their columns is wrong: use 'pairwise'")
    if kernel == "sigmoid":
        raise LocalError("kernel='sigmoid' is no inner product, which consensus over columns needs: use 'linear', 'rbf' or 'poly'")
    if isinstance(rho, str) and rho != "auto":
        raise LocalError(f"unknown rho {rho!r}: use 'auto' or a number")
    linear, shape = kernel == "linear", Kernel(kernel, degree=degree, coef0=coef0)
    fixed = FixedPoint(fraction_bits, terms=len(run.roster[Holder]))
    found = run.local(Labeller, class_names, data)
    run.local(Holder, check_range, data, shape, gamma, fixed, run.who(Holder))
    by = protect(run, to=Coordinator, method=method, segments=segments)
    names = run.publish(Classes, found).names
    pairs = problems(len(names), "ovr")
    records, columns = sizes(run, data)
    if not accept_risk:
        refuse_span(max_rounds, columns, len(pairs))
    labels = run.send(Labels, Labeller >> Coordinator, run.local(Labeller, labels_of, data, names, class_weight))
    sides = run.local(Coordinator, sides_of, labels, pairs, records, C)
    own = run.local(Holder, own_matrix, data, shape, gamma, rho)
    if isinstance(rho, str):
        result = consensus_span(run, own, sides, by=by, fixed=fixed, linear=linear, tol=tol, max_rounds=max_rounds)
    else:
        result = sharing(
            run, own, sides, by=by, fixed=fixed, linear=linear, rho=float(rho), over_relaxation=over_relaxation, tol=tol,
            max_rounds=max_rounds, shape=(records, len(pairs)),
        )  # fmt: skip
    return {
        **result,
        "classes": names,
        "columns": columns,
        "shares": run.local(Holder, share_of, data, result["weights"], shape, gamma),
        "head": run.local(Coordinator, ColumnHead, result["bias"]),
    }


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
) -> dict[str, Any]:
    """ADMM, (2) to (5)."""
    parties = len(run.roster[Holder])
    zero = np.zeros(shape)
    nothing = run.local(Coordinator, Sharing, zero, zero, zero, zero[0], 0.0, 0.0, zero[0])
    state = run.local(Coordinator, margin_step, nothing, zero, sides, rho / parties, 1.0)
    told = run.publish(Share, run.local(Coordinator, share_out, state, parties, tol))
    s = run.carry(step=run.local(Holder, OwnStep, zero[:0], zero), state=state, share=told.values, rounds=0)
    for t in run.rounds(max_rounds, s):
        s.step = run.local(Holder, ridge_step, own, s.step, s.share, linear)  # (2)
        S = secure_sum(run, run.local(Holder, part_of, s.step), to=Coordinator, by=by, fixed=fixed, what="parts of the decision values")
        s.state = run.local(Coordinator, margin_step, s.state, S, sides, rho / parties, over_relaxation)
        told = run.publish(Share, run.local(Coordinator, share_out, s.state, parties, tol))
        s.share, s.rounds = told.values, t + 1
        run.note(objective=float(told.objective.sum()), primal=told.primal, dual=told.dual)
        if told.done:
            break
    return {
        "weights": run.local(Holder, weights_of, s.step),
        "bias": run.local(Coordinator, bias_of, s.state),
        "objective": told.objective,
        "bound": None,
        "rounds": s.rounds,
        "converged": told.done,
    }


@choreography(opens={Coordinator: "the decision values of the records asked about", Asker: "the decision values"})
def consensus_vertical_predict(
    run: Run,
    data: At[Any],
    head: At[ColumnHead],
    shares: At[ColumnShare],
    *,
    problems: int,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    band: int = BAND,
) -> At[Any]:
    """Decision values of new records, whose parts stay where they are, at the asker."""
    records, _ = sizes(run, data)
    by = protect(run, to=Coordinator, method=method, segments=segments)
    fixed, step = FixedPoint(fraction_bits, terms=len(run.roster[Holder])), max(1, band // problems)
    s = run.carry(answers=run.local(Asker, tuple))
    for t in run.rounds(-(-records // step), s):
        part = run.local(Holder, part_of_new, data, shares, t * step, (t + 1) * step)
        total = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="parts of the decision values")
        answer = run.send(Decision, Coordinator >> Asker, run.local(Coordinator, decide, head, total))
        s.answers = run.local(Asker, append_values, s.answers, answer)
    return run.local(Asker, stack, s.answers)


def refuse_span(rounds: int, columns: int, problems: int = 1) -> None:
    """What needs accept_risk."""
    if spans(rounds, columns, problems):
        raise LocalError(
            f"max_rounds={rounds} sums for each of {problems} problems can span all {columns} columns, and then {columns} known records"
            f" give the coordinator all others: set max_rounds below {-(-columns // problems)}, or say accept_risk=True"
        )


# Steps at the holders


def check_range(part: Columns, kernel: Kernel, gamma: float | str, fixed: FixedPoint, me: str) -> None:
    """No entry of K_m p with |p_i| <= 1 is larger than n times the longest record's own kernel value (Cauchy and Schwarz)."""
    longest = np.einsum("ij,ij->i", part.X, part.X).max(initial=0.0, keepdims=True)
    value = own_kernel(kernel, gamma, part.X).from_dots(longest[None].copy(), longest, longest)
    fixed.encode(len(part.X) * value, f"kernel of {me}")


def own_matrix(part: Columns, kernel: Kernel, gamma: float | str, rho: float | str) -> OwnMatrix:
    """Once for all rounds."""
    linear = kernel.name == "linear"
    A = part.X if linear else kernel_values(own_kernel(kernel, gamma, part.X), part.X, part.X)
    return OwnMatrix(A, np.empty((0, 0)) if isinstance(rho, str) else factor(A, rho, linear=linear))


def ridge_step(own: OwnMatrix, step: OwnStep, share: F64, linear: bool) -> OwnStep:  # noqa: FBT001 - a step
    """(2)."""
    return OwnStep(*ridge(own.A, own.L, step.c + share, linear=linear))


def part_of(step: OwnStep) -> F64:
    """c_m."""
    return step.c


def weights_of(step: OwnStep) -> F64:
    """w_m, or coefficients."""
    return step.weights


def share_of(part: Columns, weights: F64, kernel: Kernel, gamma: float | str) -> ColumnShare:
    """The holder's share of the model."""
    own, X = own_kernel(kernel, gamma, part.X), part.X[:0] if kernel.name == "linear" else part.X
    return ColumnShare(weights, X, own.name, own.gamma, own.degree, own.coef0)


def part_of_new(part: Columns, share: ColumnShare, start: int, stop: int) -> F64:
    """x_m.w_m, or the same with the party's kernel."""
    x, columns = part.X[start:stop], len(share.weights) if share.kernel == "linear" else share.X.shape[1]
    if x.shape[1] != columns:
        raise LocalError(f"a new record has {x.shape[1]} values here, the model was made of {columns}: bring every column of the fit")
    if share.kernel == "linear":
        return x @ share.weights
    return kernel_values(Kernel(share.kernel, share.gamma, share.degree, share.coef0), x, share.X) @ share.weights


# Steps at the coordinator


def sides_of(labels: Labels, pairs: tuple[tuple[int, int], ...], records: int, C: float) -> Sides:
    """Signs and C_i of every problem."""
    if len(labels.codes) != records:
        raise LocalError(f"{len(labels.codes)} labels for {records} records: the labeller must hold one label per record")
    signs = signs_of(labels.codes, pairs).astype(np.float64)
    each = np.full(records, C) if labels.weight is None else C * labels.weight
    if any(not each[signs[:, k] == side].any() for k in range(len(pairs)) for side in (1, -1)):
        raise LocalError("one of the classes has no record of positive weight: give every class some weight")
    return Sides(signs, np.repeat(each[:, None], len(pairs), axis=1))


def margin_step(state: Sharing, S: F64, sides: Sides, k: float, relaxation: float) -> Sharing:
    """(3) to (5), with k = rho/M."""
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
    """What (2) needs."""
    done = state.primal <= tol and state.dual <= tol
    return Share((state.z - state.S + state.r) / parties, state.primal, state.dual, state.objective, bool(done))


def bias_of(state: Sharing) -> F64:
    """The bias of every problem."""
    return state.b


def decide(head: ColumnHead, total: F64) -> Decision:
    """f(x)."""
    return Decision(total + head.bias)
