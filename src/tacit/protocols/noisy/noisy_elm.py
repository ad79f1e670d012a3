"""An extreme learning machine over rows that many hold, with differential privacy for every record: one noisy sum.

The problem. Holder m has records with targets. The hidden layer is drawn from a public seed. All shall have the output
weights of least squares, and no outcome of the run shall hardly depend on one record:

    rows             whole numbers q of the hidden layer and the targets, |q| <= R               (`privacy.hidden`)  (1)
    M = sum q q'     one `noisy_sum`, with noise 2v on the diagonal: mu^2 = R^4 / 2v                                 (2)
    beta             least squares from M, with a ridge that the size of the noise asks for      (`privacy.hidden`)  (3)

Targets of a regression lie within declared numbers, or a noisy histogram of their magnitudes says how large they are,
at a tenth of the budget. (2) has all the rest.

Unit of privacy: one record, blanked. How many records each holder has is public, and so are names of columns and
classes. Nothing is refused because of what a record holds: values, targets and weights are clipped, a record with a
value that is not finite or a class that was not declared counts as blank. Columns should vary by about 1, so that few
rows are shortened: by a scaler with epsilon before this.

Roles. Holder: records with targets. Coordinator: opens the noisy sum, publishes the output weights.
Threat. As `noisy_sum`: a coalition of the coordinator and M - honest holders; the others are told the same. Not
protected: how many records each holder has; what follows from the model for people who are in no table; someone who has
k records is protected by epsilon for mu k times as large.
Source: ours; 003 for the machine, noise by Kairouz, Liu and Steinke, ICML 2021, accounting by Dong, Roth and Su, JRSS B
84, 2022.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import COLUMNS, LARGE, TABLE, Cost, Declaration, Params, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.features.elm import ACTIVATIONS, targets_of
from tacit.numeric.privacy import scaling
from tacit.numeric.privacy.descent import find_diagonal, multiply_rows
from tacit.numeric.privacy.features import R
from tacit.numeric.privacy.hidden import Rows
from tacit.protocols.elm.shape import Layer, layer_weights, outputs_of
from tacit.protocols.invented import by_rows
from tacit.protocols.noisy.ground import (
    ROW_COUNTS,
    Ground,
    agree_on_ground,
    codes_of,
    find_bounds,
    measure,
    own_weights,
    weigh,
)
from tacit.protocols.noisy.noisy_sum import noisy_sum
from tacit.protocols.noisy.settings import SPENDING, TARGETS, NoisyElm, check_classes
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.settings import Protected

NODES = 100  # at most, where their number is left open
SIZES = 0.1  # of the budget, for how large targets are


class NoisyOutput(
    Message,
    tells=Fact("noisy.output_weights", "holders", "model", "all", "the output weights and the ridge, from a noisy sum"),
):
    """The output weights (3), and the ridge they were made with."""

    beta: F64
    ridge: float
    rank: int


class NoisyMachine(Result):
    """What a training leaves: the model, and what of the budget each kind of sums took."""

    classes: Names
    columns: int
    rows: int
    layer: Layer
    beta: F64
    ridge: float
    rank: int
    honest: int
    spent: dict[str, float]


@choreography(
    opens={
        Everyone: (
            ROW_COUNTS,
            Fact(
                "noisy.machine",
                "holders",
                "model",
                "all",
                "the output weights of the machine, and in a regression about how large targets are: from noisy"
                " sums, so differentially private with the epsilon and delta of the parameters",
            ),
        )
    }
)
def noisy_elm(run: Run, data: At[Records], *, elm: NoisyElm, protected: Protected) -> NoisyMachine:
    """Train from one noisy sum; everyone ends with the model."""
    check_elm(elm)
    by = protected.protect(run, to=Coordinator)
    ground = agree_on_ground(run, run.local(Holder, measure, data), elm, by)
    largest, paid = agree_on_targets(run, data, elm, ground)
    nodes = elm.n_hidden or max(1, min(NODES, ground.rows // 2))
    layer = Layer(elm.activation, ground.columns, nodes, elm.scale, elm.seed)
    size = rows_of(layer, elm.names).size
    noise = ground.budget.noise(R**4 // 2, 1.0 - (SIZES if paid else 0.0))
    own = run.local(Holder, multiply, data, layer, elm.names, elm.class_weight, largest, elm.privacy_targets)
    diagonal = find_diagonal(size)
    M = noisy_sum(run, own, to=Coordinator, by=by, noise=noise, what="products of the hidden layer", doubled=diagonal)
    made = run.local(Coordinator, fit, M, layer, elm.names, ground.rows, noise.deviation, elm.ridge, largest)
    found = run.publish(NoisyOutput, made)
    return NoisyMachine(
        classes=elm.names,
        columns=ground.columns,
        rows=ground.rows,
        layer=layer,
        beta=found.beta,
        ridge=found.ridge,
        rank=found.rank,
        honest=ground.budget.honest,
        spent={**({"size of targets": paid} if paid else {}), "products": noise.cost},
    )


def check_elm(elm: NoisyElm) -> None:
    """Raise if the parameters ask for what noise cannot protect."""
    if elm.activation not in ACTIVATIONS:
        raise LocalError(f"unknown activation {elm.activation!r}: use one of {', '.join(ACTIVATIONS)}")
    if elm.classify:
        check_classes(elm.names, elm.class_weight)


def agree_on_targets(run: Run, data: At[Records], elm: NoisyElm, ground: Ground) -> tuple[float, float]:
    """Return how large targets are taken to be at most, and what it cost to know; of classes they are 1."""
    if elm.classify:
        return 1.0, 0.0
    if elm.privacy_targets is not None:
        return max(1e-12, *map(abs, elm.privacy_targets)), 0.0
    bounds, paid = find_bounds(run, run.local(Holder, count_targets, data), ground, SIZES, 1)
    return float(bounds.half[0]), paid


def rows_of(layer: Layer, classes: Names) -> Rows:
    """Return how records become rows, (1)."""
    return Rows(*layer_weights(layer), layer.activation, layer.scale, outputs_of(classes))


# Steps at the holders


def numbers_of(part: Records) -> F64:
    """Return the targets of a regression, as one column; what is no number is missing."""
    if part.y is None or part.y.dtype.kind not in "iufb":
        return np.full((len(part.X), 1), np.nan)
    return part.y.astype(np.float64)[:, None]


def count_targets(part: Records) -> I64:
    """Return the histogram of magnitudes of a holder's targets."""
    targets = numbers_of(part)
    return scaling.count_magnitudes(np.where(np.isfinite(targets), targets, 0.0))


def multiply(
    part: Records,
    layer: Layer,
    classes: Names,
    class_weight: ClassWeight,
    largest: float,
    within: tuple[float, float] | None,
) -> I64:
    """Return the holder's part of M, (2)."""
    rows = rows_of(layer, classes)
    if classes:
        codes = codes_of(part, classes)
        T, weight = targets_of(codes, len(classes)), weigh(part, codes, classes, class_weight)
    else:
        targets = numbers_of(part)
        T, weight = (targets if within is None else np.clip(targets, *within)) / largest, own_weights(part)
    return multiply_rows(rows.make(part.X, T, weight))


# Steps at the coordinator


def fit(
    M: F64, layer: Layer, classes: Names, rows: int, deviation: float, ridge: float | str, largest: float
) -> NoisyOutput:
    """Return the output weights, (3)."""
    found = rows_of(layer, classes).solve(M, rows, deviation, ridge)
    return NoisyOutput(found.beta * largest, found.ridge, found.rank)


# What a job needs


def small(params: Params) -> Params:
    """Return parameters for a few invented rows."""
    return {
        "classes": (0, 1, 2) if len(params.get("classes") or ()) > 2 else (0, 1),  # noqa: PLR2004 - other targets
        "class_weight": None, "n_hidden": 3, "privacy_delta": 1e-9, "honest": None,
    }  # fmt: skip


def training_cost(planned: Planned) -> Cost:
    """Estimate the one sum: a triangle of nodes and targets."""
    params, holders = planned.complete, planned.roster[Holder]
    nodes = params["n_hidden"] or max(1, min(NODES, planned.records * len(holders) // 2))
    size = 1 + nodes + outputs_of(tuple(params["classes"] or ()))
    each = 8 * (size * (size + 1) // 2 + 2 * size + COLUMNS)
    site = planned.roster[Coordinator][0]
    rounds = planned.rehearse(LARGE).rounds
    return Cost(rounds=rounds, bytes={p: each * (len(holders) if p == site else 1) for p in planned.roster.parties})


NOISY_ELM = Declaration(
    noisy_elm, TABLE, Rehearsal(by_rows, small, training_cost), takes_gaps=True, parameters=(*SPENDING, TARGETS)
)
