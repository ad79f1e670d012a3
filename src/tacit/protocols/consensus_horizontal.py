"""Consensus SVM over rows: every party trains on its own records, and only averages travel until all agree.

The problem. Party m of M holds X_m with labels y_m. The SVM of all rows, or with a kernel the problem (15), is

    min  sum_m [ 1/(2M) |w_m|^2 + sum_i C_i xi_mi ],    y_i (w_m.phi(x_i) + b_m) >= 1 - xi_mi,  xi >= 0              (6), (15)
    subject to   theta_m = z   for the numbers theta of each classifier that can be compared (`consensus_space`)

One problem for two classes, else one per class against the rest, all advancing together in the rounds of ADMM (`consensus_rounds`),
whose penalty is H where the paper has rho, and which end when primal and dual residual are small.

disclose="metric" takes H from the data and follows the loss (`numeric.consensus_rows`), for which it opens second moments, in
every round the summed loss and the summed multipliers, which bound the gap of z to the optimum, and that must be <= tol of the
objective too, and in some rounds two sums more. disclose="loss" opens the losses and multipliers only, disclose="least" none of it:
then H = rho, balanced by the residuals unless it is given. With a kernel "metric" is as "loss".

Probabilities need models that did not see a record. Averages of such models beside those of all rows could differ by a few rows, and
nothing here would hold them back; so they are trained by cutting planes, which do (`fold_scores`, linear only), to the same optimum.

Roles. Holder: records with labels. Coordinator: opens the averages and publishes them, so that it knows what all know.
Threat. Semi-honest; coalitions as `secure_sum`. Of two parties each learns the other's theta_m in every round.
Not protected: what a sequence of averages says about the rows of all, alone or beside the sums for probabilities; what the model itself
reveals; against a coordinator that publishes another z than the average, and so asks for the parties' weights and losses where it likes.
Source: 000 sections IV A, IV B, V; corrected (docs/methods/consensus.md). Metric, over-relaxation and rule for rho are not in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, Array, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.kernels import Kernel
from tacit.protocols.consensus_rest import RestOfKernel, rest_matrix, rest_of
from tacit.protocols.consensus_rounds import Agreed, Mapped, OwnWeights, alpha, first, rounds, scheme_of
from tacit.protocols.consensus_space import Space, check_limits, consensus_space, features, unturned
from tacit.protocols.feature_map import Records
from tacit.protocols.fold_scores import fold_scores
from tacit.protocols.platt import platt
from tacit.protocols.row_maps import prepare
from tacit.protocols.row_problems import Common, Pairs, Svm, agreed, class_weights, codes_of, counting, rows_of, signs_of

MOST = 20_000  # rows of a party with a kernel, which keeps the matrix of their products
PATIENCE, APART = 100, 0.1  # after so many rounds residuals of this size do not end well


class Plane(Message, tells="nothing new: the last average, as weights of the features themselves"):
    """W and b; the coordinator turns them back once, since rounding may differ between machines."""

    w: F64
    b: F64


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
    min_count: int | str = "auto",
    class_weight: dict[Any, float] | str | None = None,
    probability: bool = False,
    tol: float = 1e-3,
    max_rounds: int = 1000,
    seed: int = 0,
    watch: tuple[F64, Array] | None = None,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    accept_risk: bool = False,
) -> dict[str, Any]:
    """Train; everyone ends with the public part of the model, and with a kernel each holder with its rest.

    `watch` are public rows with their classes: how many of them are judged rightly is noted in every round.
    """
    svm = Svm(
        kernel, gamma, degree, coef0, C, landmark_source, landmarks, min_cluster, min_count, class_weight=class_weight, tol=tol,
        max_rounds=max_rounds, seed=seed, probability=probability, method=method, segments=segments, fraction_bits=fraction_bits,
        accept_risk=accept_risk,
    )  # fmt: skip
    check_way(svm)
    limits = np.asarray(landmark_range, dtype=np.float64)
    run.local(Holder, check_rows, data, kernel, limits, run.who(Holder))
    ground = agreed(run, data, svm=svm)
    holders, weights = len(run.roster[Holder]), class_weights(ground.classes, ground.sizes, class_weight)
    AB = sigmoids(run, data, ground) if probability else None
    space = consensus_space(run, data, ground=ground, limits=limits, metric=disclose == "metric")
    mapped = run.local(Holder, mapped_rows, data, space, ground.classes, ground.pairs, C * weights, holders)
    scheme = scheme_of(space, holders, over_relaxation, tol, C * ground.rows, disclose, rho)
    last, mine, count = rounds(
        run, mapped, scheme=scheme, start=first(scheme, len(ground.pairs), rho), most=max_rounds, by=ground.by, fixed=ground.fixed,
        watch=None if watch is None else (features(space, watch[0]), numbered(watch[1], ground.classes)),
        seen=None if watch is None or kernel == "linear" else run.local(Holder, seen_rows, data, space, watch[0]),
    )  # fmt: skip
    refuse_apart(last, count)
    plane = run.publish(Plane, run.local(Coordinator, turned_back, last, space))
    rest = None if kernel == "linear" else run.local(Holder, kept, data, mapped, mine, space, holders)
    model = {"map": space.map, "metric": space.metric, "w": plane.w, "b": plane.b, "rest": rest, "sigmoids": AB}
    return {"classes": ground.classes, "columns": ground.columns, **model, "rounds": count, "converged": last.done}


def sigmoids(run: Run, data: At[Any], ground: Common) -> F64:
    """What turns decision values into probabilities, fitted to those of models that did not see the record."""
    ready = prepare(run, data, [Kernel("linear")], ground=ground)
    ground = ready.ground
    rows = run.local(Holder, rows_of, data, ready.maps[0], ready.atoms, ground.classes, ground.pairs, ground.weights, ground.svm.dtype)
    _, scores, _ = fold_scores(run, rows, ready.atoms, width=ground.columns, ground=ground, whole=False)
    return platt(run, scores, sizes=ground.playing, by=ground.by, fixed=ground.fixed)


def check_way(svm: Svm) -> None:
    """Refused before anything is sent."""
    if svm.method == "threshold":
        raise LocalError("secure_sum='threshold' lets holders stay away, and an average without them is another one: use 'pairwise'")
    if svm.probability:
        refuse_probability(svm.kernel)


def refuse_probability(kernel: str) -> None:
    """A probability is of a decision value that all have in common."""
    if kernel != "linear":
        raise LocalError(
            "probability=True over rows needs kernel='linear': with another the parties agree at landmarks only, and each has decision"
            " values of its own; use PanSVC, which has one model for all"
        )


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


def kept(part: Records, rows: Mapped, mine: OwnWeights, space: Space, holders: int) -> RestOfKernel:
    """A holder's share of the model."""
    return rest_of(part.X[counting(part)], alpha(rows, mine, holders), space.map)


# Steps at the coordinator


def turned_back(agreed: Agreed, space: Space) -> Plane:
    """Z along the features."""
    return Plane(*unturned(space, agreed.z))
