"""A public classifier over rows that many hold, with differential privacy for every record.

The problem. Holder h has records with labels. All shall have a linear classifier, or one on Fourier features of a
public seed, and any one record shall change the odds of every outcome by little:

    scale        histograms of magnitudes unless ranges are declared, then sums of u and u^2    (`privacy.scaling`)  (1)
    rows         whole numbers q, |q| <= R                                                     (`privacy.features`)  (2)
    A = sum q q' once, and eight gradients sum s q                                              (`privacy.descent`)  (3)

Every sum of (1) and (3) is a `noisy_sum`. The budget mu^2 of (epsilon, delta) is spent as follows: a tenth on (1), or a
twentieth with declared ranges; of the rest a tenth on A, and the others on the gradients, each an eighth. Two records
that differ have the run's outcomes differ by no more than that, whatever the coordinator publishes in between.

Unit of privacy: one record, blanked: its label and values are replaced by nothing. How many records each holder has is
public, and so are names of columns and classes. Nothing is refused because of what a record holds: values are clipped
to their bounds, a record with a value that is not finite or a class that was not declared counts as blank.

Roles. Holder: records with labels. Coordinator: opens the noisy sums, publishes every iterate.
Threat. As `noisy_sum`: a coalition of the coordinator and M - honest holders; the others are told the same. Not
protected: how many records each holder has; what follows from the model for people who are in no table; someone who has
k records is protected by epsilon for mu k times as large.
Source: ours; noise by Kairouz, Liu and Steinke, ICML 2021, accounting by Dong, Roth and Su, JRSS B 84, 2022.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, PeerError, Result, Run, State, choreography
from tacit.choreo.protocol import COLUMNS, LARGE, TABLE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.numeric.privacy import descent, scaling
from tacit.numeric.privacy.descent import STEPS, S, loss_of, mean_of
from tacit.numeric.privacy.features import Features, R
from tacit.numeric.privacy.scaling import Bounds, Scale
from tacit.protocols.invented import by_rows
from tacit.protocols.noisy.ground import (
    ROW_COUNTS,
    Ground,
    agree_on_ground,
    check_bounds,
    codes_of,
    find_bounds,
    measure,
    weigh,
)
from tacit.protocols.noisy.noisy_sum import Noise, noisy_sum
from tacit.protocols.noisy.settings import NOISE, NoisySvm, check_noisy, count_features, ranges_of
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.sums.secure_sum import protect

SCALING, DECLARED, PRODUCTS = 0.1, 0.05, 0.1  # shares of the budget; gradients have what is left


class Scaled(
    Message,
    tells=Fact(
        "noisy.scale", "holders", "aggregate", "column", "about the mean and the spread of each column, from noisy sums"
    ),
):
    """Centre and width of every column."""

    centre: F64
    width: F64


class Iterate(
    Message, tells=Fact("noisy.iterate", "holders", "model", "all", "an iterate of the model, from noisy sums")
):
    """A model in whole numbers, a column per problem."""

    w: I64


class NoisyMap(State):
    """How records become rows; public."""

    middle: F64
    half: F64
    centre: F64
    width: F64
    kernel: str
    gamma: float
    seed: int
    pairs: int

    @property
    def features(self) -> Features:
        """The map itself."""
        scale = Scale(Bounds(self.middle, self.half), self.centre, self.width)
        return Features(scale, self.kernel, self.gamma, self.seed, self.pairs)


class NoisyRows(State):
    """A holder's rows of whole numbers, with the class and the weight of each; those of blank records are zeros."""

    rows: F64
    codes: I64
    weight: F64


class NoisyTrained(Result):
    """What a training leaves: the map, the model, and what of the budget each kind of sums took."""

    classes: Names
    map: NoisyMap
    w: I64
    rows: int
    columns: int
    honest: int
    spent: dict[str, float]


@choreography(
    opens={
        Everyone: (
            ROW_COUNTS,
            Fact(
                "noisy.model",
                "holders",
                "model",
                "all",
                "scale of the columns, every iterate and the model: from noisy sums, so differentially private"
                " with the epsilon and delta of the parameters",
            ),
        ),
    }
)
def noisy_svm(run: Run, data: At[Records], *, svm: NoisySvm) -> NoisyTrained:
    """Train a classifier from noisy sums; everyone ends with the model."""
    check_noisy(svm)
    by = protect(run, to=Coordinator, method=svm.method, segments=svm.segments)
    ground = agree_on_ground(run, run.local(Holder, measure, data), svm, by)
    ranges_of(svm, ground.columns)
    scale, paid = agree_on_scale(run, data, svm, ground)
    the_map = choose_map(scale, svm, ground)
    rows = run.local(Holder, map_rows, data, the_map, svm.names, svm.class_weight)
    w, products, gradients = train(run, rows, the_map, svm, ground)
    return NoisyTrained(
        classes=svm.names,
        map=the_map,
        w=w,
        rows=ground.rows,
        columns=ground.columns,
        honest=ground.budget.honest,
        spent={"scaling": paid, "products": products, "gradients": gradients},
    )


def agree_on_scale(run: Run, data: At[Records], svm: NoisySvm, ground: Ground) -> tuple[Scale, float]:
    """Agree on the scale of every column, (1); return it with what it cost."""
    declared = ranges_of(svm, ground.columns)
    paid, classes = 0.0, svm.names
    if declared is None:
        counts = run.local(Holder, magnitudes_of, data, classes)
        bounds, paid = find_bounds(run, counts, ground, SCALING - DECLARED)
    else:
        bounds = scaling.bounds_of(np.array(declared))
    noise = ground.budget.noise(scaling.moment_sensitivity(ground.columns), DECLARED)
    sums = run.local(Holder, moments_of, data, classes, bounds.middle, bounds.half)
    total = noisy_sum(run, sums, to=Coordinator, by=ground.by, noise=noise, what="sums of columns")
    found = run.publish(Scaled, run.local(Coordinator, rescale, total, ground.rows, noise.deviation, bounds.half))
    return Scale(bounds, found.centre, found.width), paid + noise.cost


def choose_map(scale: Scale, svm: NoisySvm, ground: Ground) -> NoisyMap:
    """Return how records become rows, (2)."""
    bounds = scale.bounds
    gamma = 1.0 / ground.columns if isinstance(svm.gamma, str) else float(svm.gamma)  # columns have a variance of 1
    pairs = 0 if svm.kernel == "linear" else max(1, count_features(svm.landmarks, ground.rows) // 2)
    return NoisyMap(bounds.middle, bounds.half, scale.centre, scale.width, svm.kernel, gamma, svm.seed, pairs)


def train(run: Run, rows: At[NoisyRows], the_map: NoisyMap, svm: NoisySvm, ground: Ground) -> tuple[I64, float, float]:
    """Descend by (3); return the model, and what A and the gradients cost."""
    left = 1.0 - (SCALING if svm.privacy_ranges is None else DECLARED)
    size, loss = the_map.features.size, loss_of(len(svm.names), probability=svm.probability)
    once = ground.budget.noise(R**4 // 2, left * PRODUCTS)
    each = ground.budget.noise((S * R) ** 2, left * (1 - PRODUCTS) / STEPS)
    triangle = run.local(Holder, multiply, rows)
    diagonal = descent.find_diagonal(size)
    A = noisy_sum(
        run, triangle, to=Coordinator, by=ground.by, noise=once, what="products of features", doubled=diagonal
    )
    P = run.local(Coordinator, invert_products, A, the_map, once, ground.rows, svm.C, loss)
    columns = 1 if loss != "softmax" else len(svm.names)
    s = run.carry(w=np.zeros((size, columns), dtype=np.int64), last=())
    for _ in run.rounds(STEPS, s):
        sums = run.local(Holder, gradient_of, rows, s.w, loss)
        g = noisy_sum(run, sums, to=Coordinator, by=ground.by, noise=each, what="gradient")
        s.w = run.publish(Iterate, run.local(Coordinator, move, s.w, g, P, ground.rows, svm.C, loss)).w
        s.last = (*s.last, s.w)[-descent.KEPT :]
    return mean_of(list(s.last)), once.cost, STEPS * each.cost


# Steps at the holders


def keep_counting(part: Records, classes: Names) -> F64:
    """Return the records that count; blank ones, which add zero to every sum, are left out."""
    return part.X[scaling.mark_finite(part.X) & (codes_of(part, classes) >= 0)]


def magnitudes_of(part: Records, classes: Names) -> I64:
    """Return the histogram of magnitudes of a holder's records."""
    return scaling.count_magnitudes(keep_counting(part, classes))


def moments_of(part: Records, classes: Names, middle: F64, half: F64) -> I64:
    """Return the sums of a holder's columns, (1)."""
    return scaling.sum_moments(keep_counting(part, classes), check_bounds(middle, half))


def map_rows(part: Records, the_map: NoisyMap, classes: Names, class_weight: ClassWeight) -> NoisyRows:
    """Return a holder's rows, (2); no record counts more than once, whatever its weight."""
    fine = np.isfinite(the_map.centre).all() and np.isfinite(the_map.width).all() and (the_map.width > 0).all()
    if not fine:
        raise PeerError("the coordinator published a scale that is not valid: stop and ask it")
    codes = codes_of(part, classes)
    rows = the_map.features.rows(part.X) * (codes >= 0)[:, None]
    return NoisyRows(rows, codes, weigh(part, codes, classes, class_weight))


def multiply(mapped: NoisyRows) -> I64:
    """Return the holder's part of A, (3)."""
    return descent.multiply_rows(mapped.rows)


def gradient_of(mapped: NoisyRows, w: I64, loss: str) -> I64:
    """Return the holder's part of a gradient, (3)."""
    if float(np.linalg.norm(w.astype(np.float64))) > 2 * descent.MOST:
        raise PeerError("the coordinator published a model that is too large for exact products: stop and ask it")
    values = descent.values_of(mapped.rows, w)
    return descent.sum_gradient(mapped.rows, descent.slopes_of(values, mapped.codes, mapped.weight, loss))


# Steps at the coordinator


def rescale(sums: F64, rows: int, deviation: float, half: F64) -> Scaled:
    """Return centre and width of every column."""
    found = scaling.choose_scale(sums, rows, deviation, Bounds(np.zeros_like(half), half))
    return Scaled(found.centre, found.width)


def invert_products(A: F64, the_map: NoisyMap, noise: Noise, rows: int, C: float, loss: str) -> F64:
    """Return the preconditioner of the descent."""
    return descent.invert(A, the_map.features.expect_products(), descent.Noise(noise.deviation, rows), C, loss)


def move(w: I64, g: F64, P: F64, rows: int, C: float, loss: str) -> Iterate:
    """Return the next iterate."""
    return Iterate(descent.descend(w, g, P, rows, C, loss))


# What a job needs


def small(params: Params) -> Params:
    """Return parameters for a few invented rows."""
    return {
        "classes": (0, 1, 2) if len(params.get("classes") or ()) > 2 else (0, 1),  # noqa: PLR2004 - another loss
        "class_weight": None, "landmarks": 4.0, "privacy_delta": 1e-9, "honest": None,
        "privacy_ranges": None if params.get("privacy_ranges") is None else (0.0, 1.0),
    }  # fmt: skip


def training_cost(planned: Planned) -> Cost:
    """Estimate sums of `COLUMNS` columns: the triangle of A, and eight gradients."""
    params, holders = planned.complete, planned.roster[Holder]
    linear = params["kernel"] == "linear"
    size = 1 + (COLUMNS if linear else count_features(params["landmarks"], planned.records * len(holders)))
    named = len(params["classes"] or ())
    problems = 1 if named <= 2 else named  # noqa: PLR2004 - one for two
    each = 8 * (size * (size + 1) // 2 + 2 * STEPS * size * problems + COLUMNS * (scaling.HIGHEST + 20))
    site = planned.roster[Coordinator][0]
    rounds = planned.rehearse(LARGE).rounds
    return Cost(rounds=rounds, bytes={p: each * (len(holders) if p == site else 1) for p in planned.roster.parties})


NOISY_SVM = Declaration(noisy_svm, TABLE, Rehearsal(by_rows, small, training_cost), takes_gaps=True, parameters=NOISE)
