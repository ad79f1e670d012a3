"""Consensus SVM over rows: every party trains on its own records, and only averages travel until all agree.

The problem. Party m of M holds X_m with labels y_m. The SVM of all rows, or with a kernel the problem (15), is

    min  sum_m [ 1/(2M) |w_m|^2 + sum_i C_i xi_mi ],    y_i (w_m.phi(x_i) + b_m) >= 1 - xi_mi,  xi >= 0              (6), (15)
    subject to   theta_m = z   for the numbers theta of each classifier that can be compared (`consensus_space`)

One problem for two classes, else one per class against the rest, all advancing together. ADMM, with the penalty
1/2 (.)'H(.) where the paper has rho/2 |.|^2, from z = gamma_m = 0, in each round:

    theta_m  solves the party's own rows with 1/2 (theta - p_m)'H(theta - p_m) added,  p_m = z - gamma_m            (10)-(12)
    told_m = a theta_m + (1 - a) z + gamma_m,   a: over-relaxation                                                   (13a), (13d)
    z = sum_m told_m / M                                                                                             (13b), (13e)
    gamma_m = told_m - z                                                                                             (13c), (13f)

(12) has a box only and no equality: w and b are one theta (`numeric.consensus_rows`). With a kernel the party's dual has M K_rest
added to it: what of w_m cannot be compared is its own. All that follows is in the norm of H:

    primal residual  mean_m |theta_m - z|,   dual residual  |z - z before|;   end when both are <= tol |z|           (1)

disclose="metric" takes H from the data and follows the loss (`numeric.consensus_rows`), for which it opens second moments, in
every round the summed loss and the summed multipliers, which bound the gap of z to the optimum, and that must be <= tol of the
objective too, and in some rounds two sums more. disclose="loss" opens the losses and multipliers only, disclose="least" none of it:
then H = rho, balanced by (1) unless it is given. With a kernel "metric" is as "loss".

Roles. Holder: records with labels. Coordinator: opens the averages and publishes them, so that it knows what all know.
Threat. Semi-honest; coalitions as `secure_sum`. Of two parties each learns the other's theta_m in every round.
Not protected: what a sequence of averages says about the rows of all; what the model itself reveals; against a coordinator that
publishes another z than the average, and so asks for the parties' weights and losses where it likes.
Source: 000 sections IV A, IV B, V; corrected (docs/methods/consensus.md). Metric, over-relaxation and rule for rho are not in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, Array, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.consensus_rows import (
    BALANCED,
    CORNER,
    FIRST,
    FOLLOWED,
    RIDGE,
    balanced,
    bound,
    elasticity,
    followed,
    local_solution,
    losses,
    norm,
    penalty,
)
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel
from tacit.protocols.consensus_rest import RestOfKernel, consensus_watch, rest_matrix, rest_of, right
from tacit.protocols.consensus_space import Space, check_limits, consensus_space, features, unturned
from tacit.protocols.elm_horizontal import codes_of, counting
from tacit.protocols.feature_map import Records
from tacit.protocols.pan_svm import Pairs, class_weights, prepare, problems, signs_of
from tacit.protocols.secure_sum import Protection, secure_sum

INNER, TIGHT = 0.1, 1e-10  # a party solves its own rows to a tenth of the dual residual, between this and tol
MOST = 20_000  # rows of a party with a kernel, which keeps the matrix of their products
BLIND = 10.0  # the first rho where nothing about the data is opened
FAR = 1e6  # residuals beyond are told as this
PATIENCE, APART = 100, 0.1  # after so many rounds residuals of this size do not end well
NOTHING = 1e-12  # of C n: an objective as small as this is none


class Agreed(
    Message,
    tells="the average of the parties' weights; how far apart they were around the average before; unless disclose='least' the summed"
    " loss of all rows at that one, a bound on it, and rho, which follows from sums over the parties",
):
    """Z of (13) and its dual residual; of the z before, primal residual, objective and gap, and whether (1) held; the next penalty."""

    z: F64
    dual: F64
    primal: F64
    objective: F64
    gap: F64
    done: bool
    scale: F64


class Plane(Message, tells="nothing new: the last average, as weights of the features themselves"):
    """W and b; the coordinator turns them back once, since rounding may differ between machines."""

    w: F64
    b: F64


class Mapped(State):
    """A holder's rows: features, M K_rest between them, their signs in every problem, their prices C_i."""

    U: F64
    E: F64
    signs: F64
    cap: F64


class OwnWeights(State):
    """Where a holder is: the dual, its weights, r_m at its rows, what it told (13) with figures behind, the penalty it used."""

    lam: F64
    theta: F64
    own: F64
    told: F64
    H: F64


class Scheme(State):
    """How the rounds go, all public; `whole` is C n; `adapt` says by what rho changes: the "loss", the "residuals" or "nothing"."""

    holders: int
    relaxation: float
    tol: float
    whole: float
    shape: F64
    ridge: float
    loss: bool
    adapt: str

    def penalty(self, scale: F64) -> F64:
        """H."""
        return penalty(scale, self.shape, self.ridge)

    def relative(self, vectors: F64, z: F64, H: F64) -> F64:
        """Lengths in units of |z|, or of next to nothing where z is none."""
        found: F64 = np.minimum(norm(vectors, H) / np.maximum(norm(z, H), 1e-6 * np.sqrt(self.whole)), FAR)
        return found

    def unit(self, agreed: Agreed) -> F64:
        """What losses are divided by, so that they fit into fixed point: the objective before."""
        found: F64 = np.clip(agreed.objective, NOTHING * self.whole, self.whole)[:, None]
        return found

    def follows(self, t: int) -> bool:
        """Whether the loss at the parties' own weights is looked at in this round."""
        return self.adapt == "loss" and t in FOLLOWED

    def regulariser(self) -> F64:
        """R: 1/M, and nothing on the bias."""
        return np.append(np.full(len(self.shape) - 1, 1.0 / self.holders), 0.0)


@choreography(
    opens={
        Coordinator: "with gamma='scale' the sum and the sum of squares of all cells; with disclose='metric', unless rho is given, in 14"
        " rounds how stiff the parties' losses are together and the mean square of the decision values of their own weights",
        Everyone: "which classes each party has; how many records each class has over all parties; without a kernel, with"
        " disclose='metric', mean and covariance of the columns; with a kernel the landmarks, each the mean of at least min_cluster records"
        " (with landmark_source='ranges' of none); in every round the average of the parties' weights and their mean distance from it, and"
        " unless disclose='least' the summed loss of all rows there and the sum of all multipliers; rho, which with disclose='metric' is"
        " the ratio of what the coordinator knows; with watch the accuracy on public rows in every round; the model",
    }
)
def consensus_horizontal(
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
    disclose: str = "metric",
    landmark_source: str = "local",
    landmarks: int = 40,
    landmark_range: Any = (-1.0, 1.0),
    min_cluster: int = 5,
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_rounds: int = 1000,
    seed: int = 0,
    watch: tuple[F64, Array] | None = None,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
) -> dict[str, Any]:
    """Train; everyone ends with the public part of the model, and with a kernel each holder with its rest.

    `watch` are public rows with their classes: how many of them are judged rightly is noted in every round.
    """
    if method == "threshold":
        raise LocalError("secure_sum='threshold' lets holders stay away, and an average without them is another one: use 'pairwise'")
    limits = np.asarray(landmark_range, dtype=np.float64)
    run.local(Holder, check_rows, data, kernel, limits, run.who(Holder))
    begun = prepare(
        run, data, kernel=Kernel(kernel, degree=degree, coef0=coef0), gamma=gamma, method=method, segments=segments,
        fraction_bits=fraction_bits, witness=False,
    )  # fmt: skip
    by, fixed, classes, facts = begun.by, begun.fixed, begun.classes, begun.facts
    rows = round(float(facts.sizes.sum()))
    space = consensus_space(
        run, data, kernel=Kernel(kernel, facts.gamma, degree, coef0), source=landmark_source, count=landmarks, limits=limits,
        min_cluster=min_cluster, rows=rows, columns=begun.columns, seed=seed, metric=disclose == "metric", by=by, fixed=fixed,
    )  # fmt: skip
    pairs = problems(len(classes), "ovr")
    prices = C * class_weights(classes, facts.sizes, class_weight)
    mapped = run.local(Holder, mapped_rows, data, space, classes, pairs, prices, len(run.roster[Holder]))
    scheme = scheme_of(space, len(run.roster[Holder]), over_relaxation, tol, C * rows, disclose, rho)
    agreed, mine, count = rounds(
        run, mapped, scheme=scheme, start=first(scheme, len(pairs), rho), most=max_rounds, by=by, fixed=fixed,
        watch=None if watch is None else (features(space, watch[0]), numbered(watch[1], classes)),
        seen=None if watch is None or kernel == "linear" else run.local(Holder, seen_rows, data, space, watch[0]),
    )  # fmt: skip
    refuse_apart(agreed, count)
    plane = run.publish(Plane, run.local(Coordinator, turned_back, agreed, space))
    rest = None if kernel == "linear" else run.local(Holder, kept, data, mapped, mine, space, len(run.roster[Holder]))
    return {
        "classes": classes,
        "columns": begun.columns,
        "map": space.map,
        "metric": space.metric,
        "w": plane.w,
        "b": plane.b,
        "rounds": count,
        "converged": agreed.done,
        "rest": rest,
    }


@choreography(opens={Everyone: "the average of the parties' weights in every round, and how far apart they are"})
def rounds(
    run: Run,
    rows: At[Mapped],
    *,
    scheme: Scheme,
    start: Agreed,
    most: int,
    by: Protection,
    fixed: FixedPoint,
    watch: tuple[F64, Array] | None,
    seen: At[F64] | None,
) -> tuple[Agreed, At[OwnWeights], int]:
    """(10) to (13) until (1); the last average, each holder's own weights, and how many rounds it took."""
    s = run.carry(mine=run.local(Holder, before_all, rows, start, scheme), agreed=start, count=0)
    for t in run.rounds(most, s):
        before = s.agreed
        s.mine = run.local(Holder, step, rows, s.mine, before, scheme, t, fixed)
        total = secure_sum(run, run.local(Holder, told_by, s.mine), to=Coordinator, by=by, fixed=fixed, what="weights")
        s.agreed, s.count = run.publish(Agreed, run.local(Coordinator, agree, total, before, scheme, t)), t + 1
        noted = figures(before, s.agreed)
        if watch is not None:
            noted["accuracy"] = accuracy(run, rows, s.mine, s.agreed, watch, seen, by=by, fixed=fixed)
        run.note(**noted)
        if s.agreed.done:
            break
    return s.agreed, s.mine, s.count


def accuracy(
    run: Run, rows: At[Mapped], mine: At[OwnWeights], agreed: Agreed, watch: tuple[F64, Array], seen: At[F64] | None, *, by: Protection,
    fixed: FixedPoint,
) -> float:  # fmt: skip
    """On the rows of `watch`: of the public model alone, or with what the holders' rests add."""
    U, y = watch
    values = U @ agreed.z.T
    if seen is None:
        return right(values, y)
    return consensus_watch(run, seen, run.local(Holder, alpha, rows, mine, len(run.roster[Holder])), values, y, by=by, fixed=fixed)


def scheme_of(space: Space, holders: int, relaxation: float, tol: float, whole: float, disclose: str, rho: float | str) -> Scheme:
    """In the metric, a ridge keeps those directions moving in which the data hardly differ."""
    ridge = RIDGE / holders if space.metric else 0.0
    adapt = "nothing" if rho != "auto" else "loss" if space.metric else "residuals"
    return Scheme(holders, relaxation, tol, whole, space.shape, ridge, disclose != "least", adapt)


def first(scheme: Scheme, count: int, rho: float | str) -> Agreed:
    """Before the first round: z = 0, and rho as given."""
    blind = BLIND if rho == "auto" else float(rho)
    scale = FIRST * scheme.whole / scheme.holders if scheme.adapt == "loss" else blind
    none = np.full(count, np.inf)
    return Agreed(np.zeros((count, len(scheme.shape))), none, none, none, none, done=False, scale=np.full(count, scale))


def numbered(labels: Array, classes: tuple[Any, ...]) -> Array:
    """Labels as indices into the classes, -1 where training knows none."""
    names = np.array(classes)
    at = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    return np.where(names[at] == labels, at, -1)


def refuse_apart(agreed: Agreed, rounds: int) -> None:
    """An average of parties that never came together is no model."""
    primal, dual = float(agreed.primal.max()), float(agreed.dual.max())
    if not agreed.done and rounds >= PATIENCE and max(primal, dual) > APART:
        raise LocalError(
            f"after {rounds} rounds the parties are still apart: primal residual {primal:.3g}, dual residual {dual:.3g} of the weights'"
            " length; raise rho, or leave it to rho='auto'"
        )


def figures(before: Agreed, agreed: Agreed) -> dict[str, float]:
    """How far z moved; of the z before, as far as there was one, its residuals, penalty and objective, which are known only now."""
    moved = {"moved": float(((agreed.z - before.z)[:, :-1] ** 2).sum())}
    if not np.isfinite(before.dual).all():
        return moved
    residuals = {"primal": float(agreed.primal.max()), "dual": float(before.dual.max()), "rho": float(before.scale.mean())}
    known = {"objective": float(agreed.objective.sum()), "gap": float(agreed.gap.max())} if np.isfinite(agreed.objective).all() else {}
    return {**moved, **residuals, **known}


# Steps at the holders


def check_rows(part: Records, kernel: str, limits: F64, me: str) -> None:
    """A party must have rows, and with a kernel not too many; ranges are of its columns."""
    rows = int(counting(part).sum())
    check_limits(limits, part.X.shape[1])
    if not rows:
        raise LocalError(f"{me} has no records that count: a consensus is between parties that have some; leave it out")
    if kernel != "linear" and rows > MOST:
        raise LocalError(f"{me} has {rows} records, and a kernel needs the matrix of their products: use at most {MOST}, or PanSVC")


def mapped_rows(part: Records, space: Space, classes: tuple[Any, ...], pairs: Pairs, prices: F64, holders: int) -> Mapped:
    """Features, kernel, signs and prices of the rows that count."""
    use = counting(part)
    X, codes = part.X[use], codes_of(part, classes)[use]
    cap = prices[codes] if part.weight is None else prices[codes] * part.weight[use]
    signs = np.ascontiguousarray(signs_of(codes, pairs).T.astype(np.float64))
    return Mapped(features(space, X), holders * rest_matrix(X, X, space.map), signs, cap)


def seen_rows(part: Records, space: Space, public: F64) -> F64:
    """K_rest between this holder's rows and public ones."""
    return rest_matrix(part.X[counting(part)], public, space.map)


def before_all(rows: Mapped, start: Agreed, scheme: Scheme) -> OwnWeights:
    """Zeros."""
    nothing = np.zeros_like(start.z)
    return OwnWeights(np.zeros_like(rows.signs), nothing, np.zeros((len(nothing), len(rows.E))), nothing, scheme.penalty(start.scale))


def step(rows: Mapped, mine: OwnWeights, agreed: Agreed, scheme: Scheme, t: int, fixed: FixedPoint) -> OwnWeights:
    """(13c) and (13f) of the round before, then (10) to (13a) and (13d) of this one."""
    z, H, R = agreed.z, scheme.penalty(agreed.scale), scheme.regulariser()
    gamma = (mine.told[:, : len(R)] - z) * mine.H / H  # the multiplier H gamma outlives a change of H
    inner = max(min(INNER * float(agreed.dual.max()), scheme.tol), TIGHT)
    lam, theta, own = local_solution(rows.U, rows.E, rows.signs, rows.cap, mine.lam, H, R, z - gamma, tol=inner, seed=t)
    told = [scheme.relaxation * theta + (1.0 - scheme.relaxation) * z + gamma, scheme.relative(mine.theta - z, z, mine.H)[:, None]]
    if scheme.loss:
        sums = [objective(rows, z, mine.own, mine.lam, R), lam.sum(axis=1) - rest_price(rows, own, lam)]
        if scheme.follows(t):
            sums.append(np.minimum(objective(rows, theta, own, lam, R), CORNER * elasticity(lam, rows.cap)))
        told.append(np.stack(sums, axis=1) / scheme.unit(agreed))
    if scheme.follows(t):
        told.append((theta**2 @ scheme.shape)[:, None])
    everything = np.hstack(told)
    if not np.all(np.abs(everything) < fixed.bound):
        raise LocalError(
            f"the consensus diverges in round {t + 1}: after primal residual {agreed.primal.max():.3g} and dual residual"
            f" {agreed.dual.max():.3g} the weights do not fit into fixed point; raise rho, or scale the features"
        )
    return OwnWeights(lam, theta, own, everything, H)


def objective(rows: Mapped, theta: F64, own: F64, lam: F64, R: F64) -> F64:
    """A party's part of (6) or (15) at these weights."""
    return losses(rows.U, rows.signs, rows.cap, theta, own) + 0.5 * theta**2 @ R + rest_price(rows, own, lam)


def rest_price(rows: Mapped, own: F64, lam: F64) -> F64:
    """1/(2M) |rest_m|^2."""
    found: F64 = 0.5 * (rows.signs * lam * own).sum(axis=1) if own.size else np.zeros(len(lam))
    return found


def told_by(mine: OwnWeights) -> F64:
    """What is summed."""
    return mine.told


def alpha(rows: Mapped, mine: OwnWeights, holders: int) -> F64:
    """M lambda_i y_i."""
    return holders * rows.signs * mine.lam


def kept(part: Records, rows: Mapped, mine: OwnWeights, space: Space, holders: int) -> RestOfKernel:
    """A holder's share of the model."""
    return rest_of(part.X[counting(part)], alpha(rows, mine, holders), space.map)


# Steps at the coordinator


def agree(total: F64, before: Agreed, scheme: Scheme, t: int) -> Agreed:
    """(13b), (13e), (1), and the penalty of the next round."""
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


def turned_back(agreed: Agreed, space: Space) -> Plane:
    """Z along the features."""
    return Plane(*unturned(space, agreed.z))


def next_scale(sums: F64, primal: F64, before: Agreed, scheme: Scheme, t: int) -> F64:
    """Rho of the next round."""
    if scheme.follows(t):
        return followed(before.scale, scheme.unit(before)[:, 0] * sums[:, 2], sums[:, 3] / scheme.holders)
    if scheme.adapt == "residuals" and t in BALANCED:
        return balanced(before.scale, primal, before.dual)
    return before.scale
