"""Machines of the core with differential privacy: what moves are noisy sums, and every holder adds noise of its own.

    map         landmarks of N(0, I), or a layer, from a joint coin: no data          `learners.svm`, `learners.elm`
    rows        whole numbers q, |q| <= R, by a frame that needs no data               `numeric.privacy.newton` (1)  (1)
    A           sum q q', once; one noisy sum                                                                        (2)
    w           `STEPS` Newton steps, each by one noisy sum of slopes s q, |s| <= S                                  (3)

Why not least squares in shares with noise on S and H: the noise in S is multiplied by weights, which are large where
features are many: at epsilon = 1 it loses 1.4 points on cod-rna beside what is done here (docs/methods/svc_epsilon.md).
A slope is cut for each record where its holder has it in clear; in shares this would be a comparison a record and step.

Proof. Unit: one record, blanked, so that its q and s are zeros; how many records each holder has stays public. Let x be
the sum of (2) over all holders, and x' that of a neighbour. With noise of variance 2v on the diagonal and v off it,

    |x - x'|^2 in units of the noise = sum_i q_i^4 / 2v + sum_(i<j) q_i^2 q_j^2 / v = |q|^4 / 2v <= R^4 / 2v         (4)

and for a step of (3) with m columns sum_ik (s_k q_i)^2 / v = |s|^2 |q|^2 / v <= (S R)^2 / v, whatever the w is at
which slopes are taken. The noise of t = `honest` holders is discrete Gaussian of t times the variance of one, so that
each sum is mu-Gaussian private with mu^2 the right side of (4), v less 16 for being discrete (`numeric.privacy.
accountant`). Sums are chosen one after the other from those before: their mu^2 add up, to what (epsilon, delta) allows.
What the coordinator makes of them, and all that is published, is post-processing. Nothing is rounded that depends on
more than one record: rows, slopes and iterates are whole numbers, and their products exact. Nothing else of the records
is told: classes and the range of targets are declared, map and frame are of N(0, I), no a is chosen by scores, and
nothing is refused for what a record holds: one that is not finite, or of no declared class, counts as blank, and values
are cut. Assumed: of a matrix product an entry depends on its own row and column, and otherwise on public sizes alone,
as in every BLAS that we know; then a row depends on its own record alone.

Collusion. Whoever works with M - t holders subtracts their noise, which (4) has left out. With fewer than t honest
holders, t' of them, mu is sqrt(t / t') times as large. The dealer of the machines without epsilon is not needed.

Columns should be scaled to about mean 0 and variance 1: by what is public, or by a scaler with epsilon before this.

Roles. Holder: records with labels or targets. Coordinator: opens the noisy sums, publishes every iterate.
Threat. As `noisy_sum`. NOT protected: how many records each holder has; what follows from the model for people who are
in no table; someone with k records has k times the mu.
Source: ours; noise by Kairouz, Liu and Steinke, ICML 2021, accounting by Dong, Roth and Su, JRSS B 84, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Holder, Message, PeerError, Run, State, choreography
from tacit.choreo.declaration import declared_fields
from tacit.choreo.protocol import COLUMNS, LARGE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.features.normal_points import draw_normals
from tacit.numeric.privacy import newton
from tacit.numeric.privacy.descent import KEPT, MOST, ONE, TWO, S, find_diagonal, loss_of
from tacit.numeric.privacy.newton import NUMBERS, STEPS, Frame
from tacit.numeric.privacy.scaling import R, mark_finite
from tacit.protocols.facts import NOISY_MODEL, SIZES
from tacit.protocols.features.coin import seed_of, toss_coin
from tacit.protocols.features.landmarks import standard_distribution
from tacit.protocols.features.maps import FOURIER, PublicMap, features_of, map_layer
from tacit.protocols.learners.elm import AUTO, choose_activation, choose_nodes
from tacit.protocols.learners.fitting import TrainedMachine
from tacit.protocols.learners.svm import Learner, choose_map, choose_size
from tacit.protocols.noisy.ground import (
    SPENDING,
    Ground,
    Spending,
    agree_on_ground,
    check_classes,
    codes_of,
    measure,
    own_weights,
    weigh,
)
from tacit.protocols.noisy.noisy_sum import noisy_sum
from tacit.protocols.parameters import AnyKernel
from tacit.protocols.part import ClassWeight, Names, Records, by_rows
from tacit.protocols.sums.secure_sum import protect
from tacit.scratch import ROWS, blocks

USUAL = 4096  # records of N(0, I) by which a frame is made
FEATURES = 400  # at most, where their number is left open: more cost as much in noise as they bring


class PrivateIterate(
    Message,
    tells=NOISY_MODEL,
):
    """A model in whole numbers, a column for each problem."""

    w: I64


class PrivateRows(State):
    """A holder's rows of whole numbers, with the class or number of each and its weight; blank records are zeros."""

    rows: NDArray[np.int16]
    targets: F64
    weight: F64


class PrivateMachine(TrainedMachine):
    """What a training leaves: the model, how many holders have to be honest, and what each kind of sums cost."""

    honest: int
    spent: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Private(Spending):
    """The budget, and what is learnt: classes or numbers, as they are declared."""

    alpha: float | str = "auto"
    classify: bool = True
    probability: bool = False
    classes: Names | None = None
    class_weight: ClassWeight = None
    target_range: tuple[float, float] | None = None
    repeat: int | None = None

    @property
    def names(self) -> Names:
        """The classes; none of a regression."""
        return tuple(sorted(self.classes or ())) if self.classify else ()

    @property
    def loss(self) -> str:
        """The loss whose slopes are taken."""
        return loss_of(len(self.names), probability=self.probability) if self.classify else NUMBERS

    @property
    def columns(self) -> int:
        """How many problems there are: two classes are one."""
        return len(self.names) if len(self.names) > TWO else 1

    @property
    def span(self) -> tuple[float, float]:
        """The middle of the targets, and how far from it they are cut."""
        low, high = (-1.0, 1.0) if self.classify or self.target_range is None else self.target_range
        return (low + high) / 2.0, (high - low) / 2.0 or 1.0


@choreography(opens={Everyone: (SIZES, NOISY_MODEL)})
def private_svm(
    run: Run, data: At[Records], *, kernel: AnyKernel, features: int | str = "auto", private: Private
) -> PrivateMachine:
    """Train a machine on landmarks from noisy sums; everyone ends with the model."""
    ground, seed = begin(run, data, private)
    size = min(FEATURES, choose_size("auto", ground.rows)) if isinstance(features, str) else int(features)
    the_map = choose_map(standard_distribution(ground.columns, seed), kernel, size)
    return descend(run, data, the_map, private, ground, seed)


@choreography(opens={Everyone: (SIZES, NOISY_MODEL)})
def private_elm(
    run: Run,
    data: At[Records],
    *,
    activation: str = AUTO,
    n_hidden: int | None = None,
    scale: float = 1.0,
    private: Private,
) -> PrivateMachine:
    """Train the output weights of a random layer from noisy sums; everyone ends with the model."""
    ground, seed = begin(run, data, private)
    chosen = choose_activation(activation, "horizontal")
    count = min(FEATURES, choose_nodes(ground.rows)) if n_hidden is None else n_hidden
    the_map = map_layer(chosen, max(1, count // 2) if chosen == FOURIER else count, scale, seed, ground.columns)
    return descend(run, data, the_map, private, ground, seed)


@choreography(opens={Everyone: SIZES})
def begin(run: Run, data: At[Records], private: Private) -> tuple[Ground, int]:
    """Agree on sizes, the budget, and a seed."""
    check_private(private)
    by = protect(run)
    ground = agree_on_ground(run, run.local(Holder, measure, data), private, by)
    return ground, seed_of(toss_coin(run)) if private.repeat is None else private.repeat


@choreography(opens={Everyone: NOISY_MODEL})
def descend(
    run: Run, data: At[Records], the_map: PublicMap, private: Private, ground: Ground, seed: int
) -> PrivateMachine:
    """Train on a map that says nothing of the data, (1) to (3)."""
    frame = frame_map(the_map, private, seed)
    a = newton.LEAST if isinstance(private.alpha, str) else private.alpha * (frame.stretch / R) ** 2
    once = ground.budget.noise(R**4 // 2, newton.PRODUCTS)
    each = ground.budget.noise((S * R) ** 2, (1 - newton.PRODUCTS) / STEPS)
    rows = run.local(Holder, map_rows, data, the_map, frame, private)
    A = noisy_sum(
        run,
        run.local(Holder, multiply, rows),
        to=Coordinator,
        by=ground.by,
        noise=once,
        what="products of features",
        doubled=find_diagonal(frame.size),
    )
    P = run.local(Coordinator, invert, A, once.deviation, a, private.loss)
    s = run.carry(w=np.zeros((frame.size, private.columns), dtype=np.int64), last=())
    for _ in run.rounds(STEPS, s):
        sums = run.local(Holder, sum_slopes, rows, s.w, private.loss)
        g = noisy_sum(run, sums, to=Coordinator, by=ground.by, noise=each, what="slopes")
        s.w = run.publish(PrivateIterate, run.local(Coordinator, move, s.w, g, P, a, private.loss)).w
        s.last = (*s.last, s.w)[-KEPT:]
    run.note(records=ground.rows, features=the_map.size - 1)
    middle, reach = private.span
    return PrivateMachine(
        classes=private.names,
        map=the_map,
        weights=frame.unfold(newton.mean_of(tuple(s.last))),
        step=frame.stretch / (R * ONE),
        middle=middle,
        reach=reach,
        alpha=0.0 if isinstance(private.alpha, str) else float(private.alpha),
        records=ground.rows,
        seed=seed,
        sigmoids=np.tile([-1.0, 0.0], (private.columns, 1)) if private.probability else None,
        honest=ground.budget.honest,
        spent={"products": once.cost, "slopes": STEPS * each.cost},
    )


def check_private(private: Private) -> None:
    """Raise if the parameters ask for what noise cannot protect, or name too little."""
    if private.classify:
        check_classes(private.names, private.class_weight)
        if private.probability and private.columns > 1:
            raise LocalError("with epsilon probabilities are of two classes: leave probability out")
    elif private.target_range is None:
        raise LocalError(
            "with epsilon the range of targets is declared, since looking it up is not covered: say"
            " target_range=(low, high)"
        )


def frame_map(the_map: PublicMap, private: Private, seed: int) -> Frame:
    """Return how features become rows, from records of N(0, I); shortened rows keep their sides of a plane alone."""
    sides = private.classify and not private.probability
    usual = draw_normals(seed, USUAL, the_map.columns)
    return newton.frame_of(features_of(the_map, usual, shorten=False), newton.TIGHT if sides else newton.LOOSE)


# Steps at the holders


def map_rows(part: Records, the_map: PublicMap, frame: Frame, private: Private) -> PrivateRows:
    """Return a holder's rows, (1); no record counts more than once, whatever its weight."""
    targets, weight = targets_of(part, private)
    counts = mark_finite(part.X) & (weight > 0)
    rows = np.empty((len(part.X), frame.size), dtype=np.int16)
    for at, block in blocks(part.X, ROWS):
        Z = features_of(the_map, newton.clean_records(block, counts[at]), shorten=False)
        rows[at] = frame.rows(Z) * counts[at][:, None]
    return PrivateRows(rows, targets, weight * counts)


def targets_of(part: Records, private: Private) -> tuple[F64, F64]:
    """Return the class of each record by its number, or its target between -1 and 1, and its weight from 0 to 1."""
    if private.classify:
        codes = codes_of(part, private.names)
        return codes.astype(np.float64), weigh(part, codes, private.names, private.class_weight)
    middle, reach = private.span
    numbers = np.full(len(part.X), np.nan) if part.y is None or part.y.dtype.kind not in "iufb" else part.y
    known = np.isfinite(numbers)
    return np.clip((np.where(known, numbers, middle) - middle) / reach, -1.0, 1.0), own_weights(part) * known


def multiply(mapped: PrivateRows) -> I64:
    """Return the holder's part of A, (2)."""
    return newton.multiply_rows(mapped.rows)


def sum_slopes(mapped: PrivateRows, w: I64, loss: str) -> I64:
    """Return the holder's part of the slopes, (3)."""
    if float(np.linalg.norm(w.astype(np.float64))) > 2 * MOST:
        raise PeerError("the coordinator published a model that is too large for exact products: stop and ask it")
    return newton.sum_slopes(mapped.rows, w, mapped.targets, mapped.weight, loss)


# Steps at the coordinator


def invert(A: F64, deviation: float, a: float, loss: str) -> F64:
    """Return the preconditioner of the steps."""
    return newton.invert(A, deviation, a, loss)


def move(w: I64, g: F64, P: F64, a: float, loss: str) -> PrivateIterate:
    """Return the next iterate."""
    return PrivateIterate(newton.step(w, g, P, a, loss))


# What a job needs


def small(params: Params) -> Params:
    """Return parameters for a few invented rows."""
    return {
        "classes": (0, 1, 2) if len(params.get("classes") or ()) > TWO else (0, 1),
        "class_weight": None, "delta": 1e-9, "honest": None,
        **({"features": 3} if "features" in params else {}),
        **({"n_hidden": 3} if "n_hidden" in params else {}),
    }  # fmt: skip


def estimate(planned: Planned) -> Cost:
    """Estimate the triangle of A, and the steps."""
    params, holders = planned.complete, planned.roster[Holder]
    asked = params.get("features", params.get("n_hidden"))
    size = 1 + (FEATURES if asked in (None, "auto") else int(asked))
    named = len(params["classes"] or ())
    each = 8 * (size * (size + 1) // 2 + 2 * STEPS * size * (named if named > TWO else 1) + COLUMNS)
    site = planned.roster[Coordinator][0]
    rounds = planned.rehearse(LARGE).rounds
    return Cost(rounds=rounds, bytes={p: each * (len(holders) if p == site else 1) for p in planned.roster.parties})


OF_LEARNER = {each.name: each for each in declared_fields(Learner)}
PRIVATE_SVM = Declaration(
    private_svm,
    rehearsal=Rehearsal(by_rows, small, estimate),
    takes_gaps=True,
    parameters=(*SPENDING, OF_LEARNER["alpha"], OF_LEARNER["repeat"], OF_LEARNER["features"]),
)
PRIVATE_ELM = Declaration(
    private_elm,
    rehearsal=Rehearsal(by_rows, small, estimate),
    takes_gaps=True,
    parameters=(*SPENDING, OF_LEARNER["alpha"], OF_LEARNER["repeat"]),
)
