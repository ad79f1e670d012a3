"""A support vector machine in shares: only the model is revealed, to everyone who takes part.

    1. sizes, names of classes         public                                                     `learners.targets`
    2. landmarks                       synthetic points of the pooled records                     `features.landmarks`
    3. Z                               each record's features, at its owner                       `features.maps`
    4. weights                         least squares, or the hinge, in shares                     `learners`
    5. the model                       rounded to a step, with noise of a step                    `learners.rounding`

    least squares    min_w  a |w|^2 + sum_i q_i (z_i.w - t_i)^2                                                     (1)
    hinge            min_w  1/2 |w|^2 + C sum_i q_i max(0, 1 - t_i z_i.w)                                           (2)

z has a last feature 1, and a is in units of rows with |z| <= 1. Several classes are each told from the rest.

Roles. Holder: records with labels or targets. Coordinator: the dealer, which holds no data.
Threat. Semi-honest. Any holders but one learn nothing but what is listed above; so does the dealer. NOT protected: the
dealer together with one holder has everything; what the model itself reveals.
Source: ours (docs/methods/svc.md); (1) is Suykens and Vandewalle, Neural Processing Letters 9, 1999.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Holder, Run, Site, choreography
from tacit.choreo.declaration import Either, Number, OneOf, Switch, parameter
from tacit.choreo.protocol import COLUMNS, SMALL, Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.shares.ridge_plan import MENU, MOST_FEATURES, plan_ridge
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.facts import BALANCE, CLASSES, LANDMARKS, MODEL, SIZES
from tacit.protocols.features.landmarks import (
    Distribution,
    check_cells,
    draw_landmarks,
    find_distribution,
    gamma_scale,
    standard_distribution,
)
from tacit.protocols.features.maps import PublicMap, map_columns, map_kernel, map_widths
from tacit.protocols.learners.fitting import Task, TrainedMachine, alphas_of, count_table, learn_hinge, learn_squares
from tacit.protocols.learners.menu import MENU as CHOICES
from tacit.protocols.learners.targets import (
    MOST_WEIGHT,
    Aim,
    Classes,
    Fit,
    agree_on_names,
    check_labels,
    check_weights,
    find_reach,
    labellers_of,
    publish_sizes,
    weigh_classes,
)
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import Held, Names, by_cells
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.deposits import AUTO, choose_committee
from tacit.protocols.shares.gates import count_sent
from tacit.scratch import ROWS as BLOCK
from tacit.scratch import blocks
from tacit.sparse import is_sparse

LEAST_SQUARES, HINGE = "least_squares", "hinge"
LOSSES = (LEAST_SQUARES, HINGE)
FEWEST = 80  # records times the root of the number of holders; of fewer, landmarks are those of scaled columns
SIZES_BY_ROWS = ((0, 300), (601, 500), (5001, 600))  # records, and features by default from there on
WORD, LEVEL, DEALT = 8, 9, 20  # bytes of an entry: of S and p_0; a level opens and is dealt (`squarings`)
FEW = 3  # features of a rehearsal
WIDE = 8.0  # values of columns that are multiplied in shares are cut at so many deviations


@dataclass(frozen=True, kw_only=True)
class Learner(Fit):
    """What is minimised, on how many features."""

    loss: str = parameter(LEAST_SQUARES, OneOf(LOSSES), "what an error costs", opens=True)
    features: int | str = parameter(
        "auto",
        Either((OneOf(("auto",)), Number(1, MOST_FEATURES, whole=True))),
        "how many landmarks there are",
        opens=True,
    )
    C: float = 1.0
    tube: float = 0.1  # of numbers with the hinge
    choose_cost: bool = parameter(
        False,  # noqa: FBT003 - a default
        Switch(),
        "whether the hinge finds the best C of a few on records that are held out, in shares",
        opens=True,
    )


@choreography(opens={Everyone: (SIZES, CLASSES, LANDMARKS, BALANCE, MODEL)})
def train_svm(
    run: Run,
    data: At[Held],
    *,
    partition: str,
    kernel: AnyKernel,
    learner: Learner,
    classify: bool = True,
    probability: bool = False,
    classes: Names | None = None,
    target_range: tuple[float, float] | None = None,
) -> TrainedMachine:
    """Train; everyone ends with the model."""
    check_dealer(run)
    check_probability(classify=classify, probability=probability, loss=learner.loss)
    numbers = check_numbers(learner, partition) if learner.loss == HINGE and not classify else False
    run.local(Holder, check_labels, data, classify, run.who(Holder), labellers_of(run, partition))
    most = MOST_WEIGHT if learner.between_sites else learner.weight_cap
    run.local(Holder, check_weights, data, most, run.who(Holder))
    sizes = publish_sizes(run, data)
    rows, columns = count_table(sizes, partition)
    members = choose_committee(learner.committee, run.roster[Holder], partition)
    dealing = agree_with_dealer(run, committee=members)
    with run.seat(members):
        found = agree_on_names(run, dealing, data, classes, learner.least_class) if classify else Classes()
        names = found.names
        counts = {party: size[0] for party, size in sizes.items()}
        distribution = place_points(run, dealing, data, partition, counts, rows, columns, learner.repeat)
        the_map = choose_map(distribution, kernel, choose_size(learner.features, rows))
        middle, reach = (0.0, 1.0) if classify else find_reach(run, dealing, data, rows, target_range)
        weights = weigh_classes(run, dealing, data, names, learner, rows)
        problems = len(names) if len(names) > 2 else 1  # noqa: PLR2004 - two classes are one problem
        cap = sizes.cap(learner)
        unit = cap * (1.0 if weights is None else max(float(weights.max()), 1.0))
        aim = Aim(found, middle, reach, weights, cap, partial=learner.between_sites)
        task = Task(
            data,
            the_map,
            aim,
            partition,
            sizes,
            caps_of(distribution),
            problems,
            device=learner.device,
            probability=probability,
            tube=min(learner.tube / reach, 1.0) if numbers else None,
        )
        if learner.loss == HINGE:
            learnt = learn_hinge(
                run, dealing, task, None if learner.choose_cost else learner.C / reach, unit, rows, distribution.seed
            )
        else:
            learnt = learn_squares(run, dealing, task, alphas_of(learner.alpha, unit, MENU), rows)
        run.note(records=rows, features=the_map.size - 1)
    return TrainedMachine(
        classes=names,
        map=the_map,
        weights=learnt.weights.reshape(-1, problems),
        step=learnt.step,
        middle=middle,
        reach=reach,
        alpha=learnt.alpha * unit,
        records=rows,
        seed=distribution.seed,
        class_weights=weights,
        sigmoids=learnt.sigmoids,
        C=learnt.C * reach,
    )


def place_points(
    run: Run,
    dealing: Dealing,
    data: At[Held],
    partition: str,
    counts: dict[str, int],
    rows: int,
    columns: int,
    repeat: int | None,
) -> Distribution:
    """Return where landmarks are drawn; of few records where columns are scaled, since noise would hide them all.

    Between organisations what is opened does not depend on how many records there are, as an approval lists it.
    """
    few = rows < FEWEST * math.sqrt(len(counts))
    if few and repeat is not None:
        run.local(Site, check_records, data, run.who(Site))
        return standard_distribution(columns, repeat)
    found = find_distribution(run, dealing, data, partition=partition, rows=counts, columns=columns, seed=repeat)
    return standard_distribution(columns, found.seed) if few else found


def check_records(part: Held, me: str) -> None:
    """Raise if a record has values that landmarks do not hold."""
    for _, block in blocks(part.X, BLOCK):
        check_cells(block.toarray() if is_sparse(block) else block, me)


def check_numbers(learner: Learner, partition: str) -> bool:
    """Return that numbers are learnt with the hinge; refuse what it does for classes only."""
    if partition != "horizontal":
        raise LocalError(
            "SVR(loss='hinge') with landmarks is for rows: over columns and cells take loss='least_squares', or"
            " features='exact'"
        )
    if learner.choose_cost:
        raise LocalError("C='auto' counts errors of classes: name a number")
    return True


def check_probability(*, classify: bool, probability: bool, loss: str) -> None:
    """Refuse probabilities of numbers, and of a hinge, whose decision values are no averages."""
    if probability and (not classify or loss == HINGE):
        raise LocalError("probability=True is of classes, with loss='least_squares': leave it out, or change the loss")


def choose_size(features: float | str, rows: int) -> int:
    """Return how many landmarks there are: as given, else by the number of records."""
    if isinstance(features, str):
        return min(rows, next(size for least, size in reversed(SIZES_BY_ROWS) if rows >= least))
    return int(features)


def choose_map(distribution: Distribution, kernel: AnyKernel, size: int) -> PublicMap:
    """Return the map of a kernel; an RBF kernel whose gamma is not a number has two widths."""
    if kernel.name == "linear":
        return map_columns(distribution.centre, distribution.scale > 0, spread_of(distribution))
    landmarks = draw_landmarks(distribution, size)
    if not isinstance(kernel.gamma, str):
        return map_kernel(Kernel(kernel.name, float(kernel.gamma), kernel.degree, kernel.coef0), landmarks)
    gamma = gamma_scale(distribution) if kernel.gamma == "scale" else 1.0 / len(distribution.centre)
    if kernel.name == "rbf":
        return map_widths(gamma, landmarks)
    return map_kernel(Kernel(kernel.name, gamma, kernel.degree, kernel.coef0), landmarks)


def spread_of(distribution: Distribution) -> float:
    """Return the root of the sum of the variances of all columns."""
    root = distribution.root
    own = np.square(root).sum(axis=0) if root.ndim > 1 else np.square(root)
    return float(np.sqrt((np.square(distribution.scale) * own).sum()))


def caps_of(distribution: Distribution) -> F64:
    """Return how large values of each column may be in products of columns of several owners."""
    root = distribution.root
    own = np.sqrt(np.square(root).sum(axis=0)) if root.ndim > 1 else root
    found = np.abs(distribution.centre) + WIDE * distribution.scale * own
    return np.asarray(np.maximum(found, 1e-9))


# As a job


def estimate(planned: Planned) -> Cost:
    """Estimate the cost for so many landmarks; with the linear kernel features are columns."""
    wanted = planned.complete.get("features", "auto")
    linear = planned.complete.get("kernel") == "linear"
    return estimate_squares(planned, COLUMNS if linear else choose_size(wanted, planned.records))


def estimate_squares(planned: Planned, features: int) -> Cost:
    """Estimate the cost by that of a rehearsal, and of the squares: what a level opens, and what is dealt for it."""
    ledger, size = planned.rehearse(SMALL), features + 1
    alphas = alphas_of(planned.complete.get("alpha", "auto"), 1.0, MENU)
    plan, played = plan_ridge(planned.records, size, 1, alphas), plan_ridge(SMALL, FEW + 1, 1, alphas)
    holders, words = planned.roster[Holder], size * (size + 1) // 2
    members = choose_committee(planned.complete.get("committee", AUTO), holders, planned.complete["partition"])
    told, often = count_sent(words, len(members))
    opened = round(words * (2 * WORD + LEVEL * (plan.levels + 1)) * told)
    dealt, given = words * DEALT * (plan.levels + 1), words * 2 * WORD
    each = dict.fromkeys(holders, given) | dict.fromkeys(planned.roster[Coordinator], dealt)
    sent = 2 * opened + dealt // len(members)  # both ways; they take turns in what is dealt
    each |= dict.fromkeys(members, sent + given * (len(holders) > len(members)))
    traffic = zip(planned.roster.parties, planned.traffic(ledger), strict=True)
    return Cost(
        rounds=ledger.rounds + 4 * (plan.levels - played.levels) + (often - 1) * (1 + 2 * (plan.levels + 1)),
        bytes={party: n + each.get(party, 0) for party, n in traffic},
    )


def shrink(params: Params) -> Params:
    """Return what a rehearsal takes instead: few features; how a is chosen stays as it is."""
    del params
    return {"features": FEW}


TRAIN_SVM = Declaration(
    train_svm,
    rehearsal=Rehearsal(by_cells, shrink, estimate),
    dealt=True,
    menu=CHOICES,
    streams={"loss": LEAST_SQUARES},
    sparse={"loss": LEAST_SQUARES},
)
