"""Consensus SVM over rows: every party trains on its own records, and only averages travel until all agree.

The problem. Party m of M holds X_m with labels y_m. The SVM of all rows, or with a kernel the problem (15), is

    min  sum_m [ 1/(2M) |w_m|^2 + sum_i C_i xi_mi ],    y_i (w_m.phi(x_i) + b_m) >= 1 - xi_mi,  xi >= 0  (6), (15)
    subject to   theta_m = z   for the numbers theta of each classifier that can be compared (`consensus.space`)

One problem for two classes, else one per class against the rest or one per pair of classes, all advancing together in
the rounds of ADMM (`consensus.rounds`), whose penalty is H where the paper has rho, and which end when primal and dual
residual are small. The average of a pair is over the rows of two classes only, and more often than that of all rows it
moves by a few of them from one round to the next: pairs need accept_risk, and `FLOOR` rows of every two at each party.

disclose="metric" takes H from the data and follows the loss (`numeric.consensus.rows`), for which it opens second
moments, in every round the summed loss and the summed multipliers, which bound the gap of z to the optimum, and that
must be <= tol of the objective too, and in some rounds two sums more. disclose="loss" opens the losses and multipliers
only, disclose="least" none of it: then H = rho, balanced by the residuals unless it is given. With a kernel "metric" is
as "loss".

Probabilities need models that did not see a record. Averages of such models beside those of all rows could differ by a
few rows, and nothing here would hold them back; so they are trained by cutting planes, which do (`fold_scores`, linear
only), to the same optimum.

Roles. Holder: records with labels. Coordinator: opens the averages and publishes them, so that it knows what all know.
Threat. Semi-honest; coalitions as `secure_sum`. Of two parties each learns the other's theta_m in every round. Not
protected: what a sequence of averages says about the rows of all, alone or beside the sums for probabilities; what the
model itself reveals; against a coordinator that publishes another z than the average, and so asks for the parties'
weights and losses where it likes.
Source: 000 sections IV A, IV B, V; corrected (docs/methods/consensus.md). Metric, over-relaxation and rule for rho are
not in it.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import COLUMNS, SMALL, TABLE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.groups.least_count import FLOOR
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import OVO, Pairs, signs_of
from tacit.protocols.consensus.rest import RestOfKernel, rest_matrix, rest_of
from tacit.protocols.consensus.rounds import Agreed, Mapped, OwnWeights, alpha, rounds, scheme_of, start_rounds
from tacit.protocols.consensus.settings import RowSvm
from tacit.protocols.consensus.space import (
    ENOUGH,
    Space,
    check_limits,
    consensus_space,
    count_landmarks,
    features,
    turn_to_features,
)
from tacit.protocols.invented import by_rows
from tacit.protocols.labels import weigh_classes
from tacit.protocols.part import Names, Records
from tacit.protocols.planes.cost import estimate_sums, shrink_groups
from tacit.protocols.planes.feature_map import FeatureMap
from tacit.protocols.planes.maps import prepare
from tacit.protocols.planes.pool import STEPS
from tacit.protocols.planes.problems import (
    CELL_MOMENTS,
    Common,
    agree_on_common,
    codes_of,
    count_classes,
    mark_counting,
    rows_of,
)
from tacit.protocols.scores.fold_scores import MOST as FOLDS
from tacit.protocols.scores.fold_scores import fold_scores
from tacit.protocols.scores.platt import platt
from tacit.protocols.sums.secure_sum import OF_SOME
from tacit.protocols.table_facts import CLASS_SIZES, CLASSES_OF_PARTY
from tacit.protocols.work import MAP, USUAL, consensus_phases, consensus_rounds
from tacit.scratch import empty_like, fill, release, select_rows, side_by_side

MOST = 20_000  # rows of a party with a kernel, which keeps the matrix of their products
PLANES = 4  # messages, one after the other, of a round of cutting planes
PATIENCE, APART = 100, 0.1  # after so many rounds residuals of this size do not end well


class Plane(
    Message,
    tells=Fact(
        "consensus.plane",
        "nobody",
        "nothing",
        "none",
        "nothing new: the last average, as weights of the features themselves",
    ),
):
    """The model's w and b along the features; the coordinator computes them, as rounding differs between machines."""

    w: F64
    b: F64


class Trained(Result):
    """What a consensus leaves: the public plane in its map, and with a kernel the rest that each holder keeps."""

    classes: Names
    columns: int
    map: FeatureMap
    metric: bool
    w: F64
    b: F64
    rest: At[RestOfKernel] | None
    sigmoids: F64 | None
    rounds: int
    converged: bool


@choreography(
    opens={
        Coordinator: (
            CELL_MOMENTS,
            Fact(
                "consensus.stiffness",
                "holders",
                "aggregate",
                "all",
                "with disclose='metric', unless rho is given, in 14 rounds how stiff the parties' losses are together"
                " and the mean square of the decision values of their own weights",
            ),
        ),
        Everyone: (
            CLASSES_OF_PARTY,
            CLASS_SIZES,
            Fact(
                "consensus.second_moments_if_metric",
                "holders",
                "aggregate",
                "column",
                "without a kernel, with disclose='metric', mean and covariance of the columns",
            ),
            Fact(
                "consensus.landmarks_or_ranges",
                "holder",
                "aggregate",
                "group",
                "with a kernel the landmarks, each the mean of at least min_cluster records (with"
                " landmark_source='ranges' of none)",
            ),
            Fact(
                "consensus.averages",
                "holders",
                "model",
                "all",
                "in every round the average of the parties' weights and their mean distance from it",
            ),
            Fact(
                "consensus.losses",
                "holders",
                "aggregate",
                "all",
                "unless disclose='least' the summed loss of all rows at that average and the sum of all multipliers",
            ),
            Fact(
                "consensus.rho",
                "holders",
                "aggregate",
                "all",
                "rho, which with disclose='metric' is the ratio of what the coordinator knows",
            ),
            Fact(
                "consensus.accuracy_by_round",
                "holders",
                "aggregate",
                "all",
                "with watch the accuracy on public rows in every round",
            ),
            Fact("consensus.model", "holders", "model", "all", "the model"),
        ),
    }
)
def consensus_horizontal(
    run: Run, data: At[Records], *, svm: RowSvm, watch: tuple[F64, Array] | None = None
) -> Trained:
    """Train an SVM by consensus over rows.

    Everyone ends with the public part of the model, and with a kernel each holder with its rest. `watch` are public
    rows with their classes: how many of them are judged rightly is noted in every round.
    """
    check_way(svm)
    limits = np.asarray(svm.landmark_range, dtype=np.float64)
    run.local(Holder, check_rows, data, svm.kernel, limits, run.who(Holder))
    ground = agree_on_common(run, data, svm=svm)
    refuse_pairs(len(ground.classes), svm.multi_class, accept_risk=svm.accept_risk)
    run.local(Holder, check_pairs, data, ground.classes, ground.pairs, run.who(Holder))
    holders, prices = len(run.roster[Holder]), svm.C * weigh_classes(ground.classes, ground.sizes, svm.class_weight)
    width, bent = count_landmarks(svm, ground.rows), svm.kernel != "linear"
    run.expect(*consensus_phases(ground.rows, width, ground.columns, len(ground.pairs), holders, bent=bent))
    AB = sigmoids(run, data, ground) if svm.probability else None
    space = consensus_space(run, data, ground=ground, limits=limits, metric=svm.disclose == "metric")
    run.phase(MAP)
    mapped = run.local(Holder, mapped_rows, data, space, ground.classes, ground.pairs, prices, holders)
    scheme = scheme_of(space, svm, holders=holders, rows=ground.rows)
    public, seen = None, None
    if watch is not None:
        public = (features(space, watch[0]), number_classes(watch[1], ground.classes), svm.multi_class)
        seen = None if svm.kernel == "linear" else run.local(Holder, seen_rows, data, space, watch[0])
    start = start_rounds(scheme, len(ground.pairs), svm.rho)
    last, mine, count = rounds(
        run, mapped, voice=ground.voice, scheme=scheme, start=start, most=svm.max_rounds, watch=public, seen=seen
    )
    refuse_apart(last, count)
    plane = run.publish(Plane, run.local(Coordinator, turn_back, last, space))
    rest = None if svm.kernel == "linear" else run.local(Holder, keep_rest, data, mapped, mine, space, holders)
    return Trained(
        classes=ground.classes,
        columns=ground.columns,
        map=space.map,
        metric=space.metric,
        w=plane.w,
        b=plane.b,
        rest=rest,
        sigmoids=AB,
        rounds=count,
        converged=last.done,
    )


def sigmoids(run: Run, data: At[Records], ground: Common) -> F64:
    """Return what turns decision values into probabilities, fitted to models that did not see the record."""
    ready = prepare(run, data, [Kernel("linear")], ground=ground)
    ground = ready.ground
    rows = run.local(Holder, rows_of, data, ready.maps[0], ready.atoms, *ground.labelling)
    _, scores, _ = fold_scores(run, rows, ready.atoms, width=ground.columns, ground=ground, whole=False)
    return platt(run, scores, voice=ground.voice, sizes=ground.playing)


def check_way(svm: RowSvm) -> None:
    """Raise before anything is sent if this SVM cannot be trained by consensus over rows."""
    if svm.method in OF_SOME:
        raise LocalError(
            f"secure_sum={svm.method!r} lets holders stay away, and an average without them is another one: use"
            " 'pairwise'"
        )
    if svm.probability:
        refuse_probability(svm.kernel)


def refuse_probability(kernel: str) -> None:
    """Raise for kernels by which the parties have no decision value in common."""
    if kernel != "linear":
        raise LocalError(
            "probability=True over rows needs kernel='linear': with another the parties agree at landmarks only, and"
            " each has decision values of its own; use PanSVC, which has one model for all"
        )


def refuse_pairs(classes: int, multi_class: str, *, accept_risk: bool) -> None:
    """Raise for pairs of several classes: no rule of this method holds back a round that moves few of their rows."""
    if classes > 2 and multi_class == OVO and not accept_risk:  # noqa: PLR2004 - two classes are one problem
        raise LocalError(
            "multi_class='ovo' averages weights over the rows of two classes at a time, and two rounds of so few rows"
            " may differ by one or two records: use multi_class='ovr', or PanSVC, which sums over groups of rows, or"
            " say accept_risk=True"
        )


def number_classes(labels: Array, classes: Names) -> Array:
    """Return labels as indices into the classes, -1 where training knows none."""
    names = np.array(classes)
    at = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    return np.where(names[at] == labels, at, -1)


def refuse_apart(agreed: Agreed, rounds: int) -> None:
    """Raise if the parties never came together: their average is no model."""
    primal, dual = float(agreed.primal.max()), float(agreed.dual.max())
    if not agreed.done and rounds >= PATIENCE and max(primal, dual) > APART:
        raise LocalError(
            f"after {rounds} rounds the parties are still apart: primal residual {primal:.3g}, dual residual {dual:.3g}"
            " of the weights' length; raise rho, or leave it to rho='auto'"
        )


# Steps at the holders


def check_rows(part: Records, kernel: str, limits: F64, me: str) -> None:
    """Raise if a party has no rows, or too many for a kernel; or if ranges are not of its columns."""
    rows = sum(int(use.sum()) for _, (use,) in side_by_side(mark_counting(part)))
    check_limits(limits, part.X.shape[1])
    if not rows:
        raise LocalError(f"{me} has no records that count: a consensus is between parties that have some; leave it out")
    if kernel != "linear" and rows > MOST:
        raise LocalError(
            f"{me} has {rows} records, and a kernel needs the matrix of their products: use at most {MOST}, or PanSVC"
        )


def check_pairs(part: Records, classes: Names, pairs: Pairs, me: str) -> None:
    """Raise if a party has few rows of two classes: the weights of their problem would be those of single rows."""
    sizes = count_classes(part, classes)
    few = next((pair for pair in pairs if min(pair) >= 0 and sizes[list(pair)].sum() < FLOOR), None)
    if few is not None and len(pairs) > 1:
        names = " and ".join(str(classes[k]) for k in few)
        raise LocalError(
            f"{me} has fewer than {FLOOR} records of the classes {names}, and multi_class='ovo' would average its"
            " weights of them alone: use multi_class='ovr', or PanSVC, which sums over groups of rows"
        )


def mapped_rows(part: Records, space: Space, classes: Names, pairs: Pairs, prices: F64, holders: int) -> Mapped:
    """Return features, kernel, signs and prices of the rows that count."""
    use = mark_counting(part)
    X, codes = select_rows(part.X, use), select_rows(codes_of(part, classes), use)
    cap = fill(lambda code: prices[code], codes, dtype=np.float64)
    if part.weight is not None:
        cap *= part.weight[use]
    signs = empty_like(X, (len(pairs), len(codes)), np.float64)
    for at, (code,) in side_by_side(codes):
        signs[:, at] = signs_of(code, pairs).T
        release(signs[:, at])
    return Mapped(features(space, X), holders * rest_matrix(X, X, space.map), signs, cap)


def seen_rows(part: Records, space: Space, public: F64) -> F64:
    """Return K_rest between this holder's rows and public ones."""
    return rest_matrix(part.X[mark_counting(part)], public, space.map)


def keep_rest(part: Records, rows: Mapped, mine: OwnWeights, space: Space, holders: int) -> RestOfKernel:
    """Return the holder's share of the model."""
    return rest_of(part.X[mark_counting(part)], alpha(rows, mine, holders), space.map)


# Steps at the coordinator


def turn_back(agreed: Agreed, space: Space) -> Plane:
    """Return the average z as weights of the features themselves."""
    return Plane(*turn_to_features(space, agreed.z))


# As a job


def small(params: Params) -> Params:
    """Return parameters for a few invented rows and rounds."""
    return {**shrink_groups(params), "C": 1.0, "max_rounds": 3, "landmarks": 3, "landmark_range": (-1.0, 1.0)}


def estimate(planned: Planned) -> Cost:
    """Estimate the cost of the usual rounds, of one problem.

    Averages are as long as there are columns, or landmarks.
    """
    params, averages = planned.params, consensus_rounds(len(planned.roster[Holder]))
    landmarks = ENOUGH if params.get("landmarks", "auto") == "auto" else params["landmarks"]
    width = COLUMNS if params.get("kernel", "linear") == "linear" else landmarks
    each = 8 * (averages * (2 * width + 10) + width * width)
    rounds = planned.rehearse(SMALL).rounds + (averages - 3) * 2
    if params.get("probability"):  # cutting planes without each fold
        each += 8 * USUAL * FOLDS * (len(STEPS) + 2 * width)
        rounds += (USUAL - 3) * PLANES
    sizes = planned.records, width, COLUMNS, 1, len(planned.roster[Holder])
    return estimate_sums(planned, rounds, each, consensus_phases(*sizes, bent=width != COLUMNS))


CONSENSUS_HORIZONTAL = Declaration(
    consensus_horizontal,
    TABLE,
    Rehearsal(by_rows, small, estimate),
    leaves=("a consensus model over rows",),
    unless={"kernel": "linear"},
    streams={"kernel": "linear", "probability": False},
    attacked=(
        "the averages of a consensus give single records to all its parties, under parameters that a job may choose"
    ),
)
