"""The rounds of a consensus over rows: every party solves its own rows, and only averages travel until all agree.

The problem and its letters are those of `consensus_horizontal`. ADMM, with the penalty 1/2 (.)'H(.) where the paper has
rho/2 |.|^2, from z = gamma_m = 0, in each round:

    theta_m  solves the party's own rows with 1/2 (theta - p_m)'H(theta - p_m) added,  p_m = z - gamma_m  (10)-(12)
    told_m = a theta_m + (1 - a) z + gamma_m,   a: over-relaxation                                     (13a), (13d)
    z = sum_m told_m / M                                                                               (13b), (13e)
    gamma_m = told_m - z                                                                               (13c), (13f)

(12) has a box only and no equality: w and b are one theta (`numeric.consensus.rows`). With a kernel the party's dual
has M K_rest added to it: what of w_m cannot be compared is its own. All that follows is in the norm of H:

    primal residual  mean_m |theta_m - z|,   dual residual  |z - z before|;   end when both are <= tol |z|  (1)

Roles, threat, source: as `consensus_horizontal`.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.consensus.rows import (
    BALANCED,
    CORNER,
    FIRST,
    FOLLOWED,
    RIDGE,
    balance_residuals,
    bound,
    elasticity,
    follow_loss,
    local_solution,
    losses,
    norm,
    penalty,
    total_price,
)
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.consensus.rest import consensus_watch, rate_answers
from tacit.protocols.consensus.settings import RowSvm
from tacit.protocols.consensus.space import Space
from tacit.protocols.witness import Voice
from tacit.protocols.work import SOLVER, consensus_rounds
from tacit.scratch import zeros_like

INNER, TIGHT = 0.1, 1e-10  # a party solves its own rows to a tenth of the dual residual, between this and tol
BLIND = 10.0  # the first rho where nothing about the data is opened
FAR = 1e6  # residuals beyond are told as this
NOTHING = 1e-12  # of C n: an objective as small as this is none
Watched = tuple[F64, Array, str]  # features of public rows, their classes, and which problems several classes are


class Agreed(
    Message,
    tells=(
        Fact("consensus.average", "holders", "model", "all", "the average of the parties' weights"),
        Fact(
            "consensus.distance",
            "holders",
            "aggregate",
            "all",
            "how far apart the weights were around the previous average",
        ),
        Fact(
            "consensus.summed_loss",
            "holders",
            "aggregate",
            "all",
            "unless disclose='least' the summed loss of all rows at the previous average, a bound on it, and rho,"
            " which follows from sums over the parties",
        ),
    ),
):
    """The average z of (13) and its dual residual, and the penalty of the next round.

    `primal`, `objective` and `gap` are of the z before, and `done` says whether (1) held there.
    """

    z: F64
    dual: F64
    primal: F64
    objective: F64
    gap: F64
    done: bool
    scale: F64


class Mapped(State):
    """A holder's rows: features, M K_rest between them, their signs in every problem, their prices C_i."""

    U: F64
    E: F64
    signs: F64
    cap: F64


class OwnWeights(State):
    """Where a holder stands after a round.

    `lam` is its dual, `theta` its weights, `own` r_m at its rows, `told` what it told by (13) with figures behind,
    `H` the penalty it used.
    """

    lam: F64
    theta: F64
    own: F64
    told: F64
    H: F64


class Scheme(State):
    """How the rounds go, all public.

    `whole` is C n; `adapt` says by what rho changes: the "loss", the "residuals" or "nothing".
    """

    holders: int
    relaxation: float
    tol: float
    whole: float
    shape: F64
    ridge: float
    loss: bool
    adapt: str

    def penalty(self, scale: F64) -> F64:
        """Return the diagonal of the penalty H for these scales."""
        return penalty(scale, self.shape, self.ridge)

    def relative(self, vectors: F64, z: F64, H: F64) -> F64:
        """Return lengths in units of |z|, or of next to nothing where z is none."""
        found: F64 = np.minimum(norm(vectors, H) / np.maximum(norm(z, H), 1e-6 * np.sqrt(self.whole)), FAR)
        return found

    def unit(self, agreed: Agreed) -> F64:
        """Return what losses are divided by, so that they fit into fixed point: the objective before."""
        found: F64 = np.clip(agreed.objective, NOTHING * self.whole, self.whole)[:, None]
        return found

    def follows(self, t: int) -> bool:
        """Return whether the loss at the parties' own weights is looked at in this round."""
        return self.adapt == "loss" and t in FOLLOWED

    def regulariser(self) -> F64:
        """Return the diagonal R of the regulariser: 1/M, and nothing on the bias."""
        return np.append(np.full(len(self.shape) - 1, 1.0 / self.holders), 0.0)


@choreography(
    opens={
        Everyone: Fact(
            "consensus.averages_and_distances",
            "holders",
            "model",
            "all",
            "the average of the parties' weights in every round, and how far apart they are",
        )
    }
)
def rounds(
    run: Run,
    rows: At[Mapped],
    *,
    voice: Voice,
    scheme: Scheme,
    start: Agreed,
    most: int,
    watch: Watched | None,
    seen: At[F64] | None,
) -> tuple[Agreed, At[OwnWeights], int]:
    """Play (10) to (13) until (1) holds.

    Returns the last average, each holder's own weights, and how many rounds it took.
    """
    s = run.carry(mine=run.local(Holder, start_at_zero, rows, start, scheme), agreed=start, count=0)
    run.phase(SOLVER)
    for t in run.rounds(most, s, usual=consensus_rounds(scheme.holders), until=scheme.tol):
        before = s.agreed
        s.mine = run.local(Holder, step, rows, s.mine, before, scheme, t, voice.fixed)
        total = voice.sum_to_coordinator(run.local(Holder, read_told, s.mine), "weights")
        s.agreed, s.count = run.publish(Agreed, run.local(Coordinator, agree, total, before, scheme, t)), t + 1
        noted = figures(before, s.agreed)
        if watch is not None:
            noted["accuracy"] = accuracy(run, rows, s.mine, s.agreed, watch, seen, voice=voice)
        run.note(**noted)
        if s.agreed.done:
            break
    return s.agreed, s.mine, s.count


def accuracy(
    run: Run,
    rows: At[Mapped],
    mine: At[OwnWeights],
    agreed: Agreed,
    watch: Watched,
    seen: At[F64] | None,
    *,
    voice: Voice,
) -> float:
    """Return the accuracy on the rows of `watch`: of the public model alone, or with what the holders' rests add."""
    U, y, multi_class = watch
    values = U @ agreed.z.T
    if seen is None:
        return rate_answers(values, y, multi_class)
    coef = run.local(Holder, alpha, rows, mine, len(run.roster[Holder]))
    return consensus_watch(run, seen, coef, values, y, voice=voice, multi_class=multi_class)


def scheme_of(space: Space, svm: RowSvm, *, holders: int, rows: int) -> Scheme:
    """Return how the rounds go.

    In the metric, a ridge keeps those directions moving in which the data hardly differ.
    """
    ridge = RIDGE / holders if space.metric else 0.0
    adapt = "nothing" if svm.rho != "auto" else "loss" if space.metric else "residuals"
    loss, whole = svm.disclose != "least", svm.C * rows
    return Scheme(holders, svm.over_relaxation, svm.tol, whole, space.shape, ridge, loss, adapt)


def start_rounds(scheme: Scheme, count: int, rho: float | str) -> Agreed:
    """Return the state before the first round: z = 0, and rho as given."""
    blind = BLIND if rho == "auto" else float(rho)
    scale = FIRST * scheme.whole / scheme.holders if scheme.adapt == "loss" else blind
    none = np.full(count, np.inf)
    return Agreed(np.zeros((count, len(scheme.shape))), none, none, none, none, done=False, scale=np.full(count, scale))


def figures(before: Agreed, agreed: Agreed) -> dict[str, float]:
    """Return how far z moved, and figures of the z before, as far as there was one.

    Residuals, penalty and objective of a z are known only one round later.
    """
    moved = {"moved": float(((agreed.z - before.z)[:, :-1] ** 2).sum())}
    if not np.isfinite(before.dual).all():
        return moved
    residuals = {
        "primal": float(agreed.primal.max()),
        "dual": float(before.dual.max()),
        "rho": float(before.scale.mean()),
    }
    if not np.isfinite(agreed.objective).all():
        return {**moved, **residuals}
    return {**moved, **residuals, "objective": float(agreed.objective.sum()), "gap": float(agreed.gap.max())}


# Steps at the holders


def start_at_zero(rows: Mapped, start: Agreed, scheme: Scheme) -> OwnWeights:
    """Return a holder's starting point: all weights and multipliers zero."""
    nothing = np.zeros_like(start.z)
    return OwnWeights(
        zeros_like(rows.signs, rows.signs.shape, np.float64),
        nothing,
        np.zeros((len(nothing), len(rows.E))),
        nothing,
        scheme.penalty(start.scale),
    )


def step(rows: Mapped, mine: OwnWeights, agreed: Agreed, scheme: Scheme, t: int, fixed: FixedPoint) -> OwnWeights:
    """Return a holder's next step: (13c) and (13f) of the round before, then (10) to (13a) and (13d) of this one."""
    z, H, R = agreed.z, scheme.penalty(agreed.scale), scheme.regulariser()
    gamma = (mine.told[:, : len(R)] - z) * mine.H / H  # the multiplier H gamma outlives a change of H
    inner = max(min(INNER * float(agreed.dual.max()), scheme.tol), TIGHT)
    lam, theta, own = local_solution(rows.U, rows.E, rows.signs, rows.cap, mine.lam, H, R, z - gamma, tol=inner, seed=t)
    told = [
        scheme.relaxation * theta + (1.0 - scheme.relaxation) * z + gamma,
        scheme.relative(mine.theta - z, z, mine.H)[:, None],
    ]
    if scheme.loss:
        sums = [objective(rows, z, mine.own, mine.lam, R), total_price(lam) - rest_price(rows, own, lam)]
        if scheme.follows(t):
            sums.append(np.minimum(objective(rows, theta, own, lam, R), CORNER * elasticity(lam, rows.cap)))
        told.append(np.stack(sums, axis=1) / scheme.unit(agreed))
    if scheme.follows(t):
        told.append((theta**2 @ scheme.shape)[:, None])
    everything = np.hstack(told)
    if not np.all(np.abs(everything) < fixed.bound):
        raise LocalError(
            f"the consensus diverges in round {t + 1}: after primal residual {agreed.primal.max():.3g} and dual"
            f" residual {agreed.dual.max():.3g} the weights do not fit into fixed point; raise rho, or scale the"
            " features"
        )
    return OwnWeights(lam, theta, own, everything, H)


def objective(rows: Mapped, theta: F64, own: F64, lam: F64, R: F64) -> F64:
    """Return a party's part of (6) or (15) at these weights."""
    return losses(rows.U, rows.signs, rows.cap, theta, own) + 0.5 * theta**2 @ R + rest_price(rows, own, lam)


def rest_price(rows: Mapped, own: F64, lam: F64) -> F64:
    """Return 1/(2M) |rest_m|^2, what the rest of a party's weights costs."""
    found: F64 = 0.5 * (rows.signs * lam * own).sum(axis=1) if own.size else np.zeros(len(lam))
    return found


def read_told(mine: OwnWeights) -> F64:
    """Return what a holder tells in the sum."""
    return mine.told


def alpha(rows: Mapped, mine: OwnWeights, holders: int) -> F64:
    """Return the coefficients alpha_i = M lambda_i y_i of a holder's rows."""
    return holders * rows.signs * mine.lam


# Steps at the coordinator


def agree(total: F64, before: Agreed, scheme: Scheme, t: int) -> Agreed:
    """Return the average by (13b) and (13e), whether (1) holds, and the penalty of the next round."""
    p, H = len(scheme.shape), scheme.penalty(before.scale)
    z, primal, sums = total[:, :p] / scheme.holders, total[:, p] / scheme.holders, total[:, p + 1 :]
    whole = gap = np.full(len(z), np.inf)
    small = (primal <= scheme.tol) & (before.dual <= scheme.tol)
    if scheme.loss:
        whole, dual_sum = (scheme.unit(before) * sums[:, :2]).T
        below = bound(dual_sum, (z - before.z) / scheme.relaxation, before.z, H, scheme.regulariser(), scheme.holders)
        gap = (whole - below) / np.maximum(whole, NOTHING * scheme.whole)
        small &= gap <= scheme.tol
    dual, scale = scheme.relative(z - before.z, z, H), next_scale(sums, primal, before, scheme, t)
    return Agreed(z, dual, primal, whole, gap, bool(small.all()), scale)


def next_scale(sums: F64, primal: F64, before: Agreed, scheme: Scheme, t: int) -> F64:
    """Return rho of the next round."""
    if scheme.follows(t):
        return follow_loss(before.scale, scheme.unit(before)[:, 0] * sums[:, 2], sums[:, 3] / scheme.holders)
    if scheme.adapt == "residuals" and t in BALANCED:
        return balance_residuals(before.scale, primal, before.dual)
    return before.scale
