"""How good a model is on records that many hold, with differential privacy for every record: one noisy sum.

The problem. Holder h has records with what is right of each and what a public model says of it. Everyone shall know
about how good the model is, and no outcome of the run shall hardly depend on one record:

    classes     the confusion matrix and histograms of scores                                    (`privacy.scores`)  (1)
    numbers     sums of errors within declared numbers, and a histogram of them                  (`privacy.scores`)  (2)

Each is one `noisy_sum` that has the whole budget. What everybody is told are the counts nearest to the noisy ones that
are no less than 0 and add up to the number of records, which is public.

Unit of privacy: one record, blanked. Nothing is refused because of what a record holds: one of a class that the model
does not know, or with a score that is not finite, counts in nothing, and errors are clipped.

Roles. Holder: records. Coordinator: opens the noisy sum.
Threat. As `noisy_sum`: a coalition of the coordinator and M - honest holders; the others are told the same. Not
protected: how many records each holder has; what the model itself tells, which is paid for where it is trained.
Source: ours; definitions as in scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Holder, Message, Result, Run, State, choreography
from tacit.choreo.declaration import Settings
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.numeric.privacy import scores as maths
from tacit.numeric.scores.metrics import average_precision, merge_bins, roc_auc, stretch
from tacit.numeric.scores.platt import classes_of
from tacit.protocols.column_parameters import OF_SCORES
from tacit.protocols.facts import NOISY_JUDGEMENT, SIZES
from tacit.protocols.noisy.ground import SPENDING, TARGETS, Size, Spending, agree_on_ground
from tacit.protocols.noisy.noisy_sum import noisy_sum
from tacit.protocols.sums.secure_sum import protect


class NoisyCounts(Message, tells=NOISY_JUDGEMENT):
    """The tally (1)."""

    tally: Tally


class NoisyErrors(Message, tells=NOISY_JUDGEMENT):
    """The tally (2)."""

    tally: ErrorTally


class NoisyScores(Result):
    """The tally of a classifier, and what of the budget it took."""

    tally: Tally
    honest: int
    spent: dict[str, float]


class NoisyErrorSums(Result):
    """The tally of a regressor, and what of the budget it took."""

    tally: ErrorTally
    honest: int
    spent: dict[str, float]


@choreography(opens={Everyone: (SIZES, NOISY_JUDGEMENT)})
def noisy_scores(run: Run, scored: At[Scored], *, counting: Counting, spending: Spending) -> NoisyScores:
    """Publish the tally of a classifier over all records."""
    by, classes, bins = protect(run), counting.n_classes, counting.bins
    ground = agree_on_ground(run, run.local(Holder, measure_scored, scored), spending, by)
    columns = len(sides_of(classes))
    noise = ground.budget.noise(maths.score_sensitivity(columns), 1.0)
    held = run.local(Holder, count_scored, scored, classes, bins)
    total = noisy_sum(run, held, to=Coordinator, by=by, noise=noise, what="counts")
    told = run.publish(NoisyCounts, run.local(Coordinator, make_tally, total, classes, bins, ground.rows))
    return NoisyScores(tally=told.tally, honest=ground.budget.honest, spent={"evaluation": noise.cost})


@choreography(opens={Everyone: (SIZES, NOISY_JUDGEMENT)})
def noisy_errors(
    run: Run,
    answered: At[Answered],
    *,
    bins: int = 16,
    privacy_targets: tuple[float, float] | None,
    spending: Spending,
) -> NoisyErrorSums:
    """Publish the tally of a regressor over all records."""
    low, high = check_targets(privacy_targets)
    by = protect(run)
    ground = agree_on_ground(run, run.local(Holder, measure_answered, answered), spending, by)
    noise = ground.budget.noise(maths.error_sensitivity(), 1.0)
    held = run.local(Holder, sum_errors, answered, low, high, bins)
    total = noisy_sum(run, held, to=Coordinator, by=by, noise=noise, what="errors")
    told = run.publish(NoisyErrors, run.local(Coordinator, make_errors, total, low, high, ground.rows))
    return NoisyErrorSums(tally=told.tally, honest=ground.budget.honest, spent={"evaluation": noise.cost})


def check_targets(within: tuple[float, float] | None) -> tuple[float, float]:
    """Return between which numbers targets lie; raise if nobody declared it."""
    if within is None or not within[0] < within[1]:
        raise LocalError(
            "with epsilon a regressor is judged between numbers that are declared: say target_range=(low, high)"
        )
    return within


def sides_of(classes: int) -> tuple[int, ...]:
    """Return the class of each column of decision values."""
    return tuple(classes_of(classes if classes > 2 else 1))  # noqa: PLR2004 - one column separates two


# Steps at the holders


def measure_scored(scored: Scored) -> Size:
    """Return how many records a holder has, and columns of decision values."""
    return Size(len(scored.codes), scored.values.shape[1])


def count_scored(scored: Scored, classes: int, bins: int) -> I64:
    """Return the holder's part of (1)."""
    sides = np.array(sides_of(classes))
    return maths.count_scores(scored.values, scored.codes, scored.chosen, sides, bins, classes)


def measure_answered(answered: Answered) -> Size:
    """Return how many records a holder has."""
    return Size(len(answered.targets), 1)


def sum_errors(answered: Answered, low: float, high: float, bins: int) -> I64:
    """Return the holder's part of (2)."""
    return maths.sum_errors(answered.targets, answered.answers, low, high, bins)


# Steps at the coordinator


def make_tally(total: F64, classes: int, bins: int, rows: int) -> NoisyCounts:
    """Return what everyone is told of a classifier."""
    confusion, P, N = maths.read_scores(total, classes, len(sides_of(classes)), bins, rows)
    areas = [np.array([roc_auc(p, n), average_precision(p, n)]) for p, n in zip(P, N, strict=True)]
    curves = tuple(curve(p, n, area, bins) for p, n, area in zip(P, N, areas, strict=True))
    return NoisyCounts(Tally(confusion.astype(np.int64), curves))


def make_errors(total: F64, low: float, high: float, rows: int) -> NoisyErrors:
    """Return what everyone is told of a regressor."""
    means, cuts, counts = maths.read_errors(total, low, high, rows)
    return NoisyErrors(ErrorTally(rows, means, cuts, counts.astype(np.int64)))


NOISY_SCORES = Declaration(noisy_scores, parameters=(*OF_SCORES, *SPENDING))
NOISY_ERRORS = Declaration(noisy_errors, parameters=(*OF_SCORES, *SPENDING, TARGETS))


# What is told of scores and errors that were counted with noise, and what each holder brings along for it


@dataclass(frozen=True, kw_only=True)
class Counting(Settings):
    """How many classes there are, and in how many bins scores are counted."""

    n_classes: int
    bins: int = 16


class ScoreCurve(State):
    """The histogram (2) of a column, from the lowest scores up, cut at these decision values; bounds of the areas."""

    cuts: F64
    positives: I64
    negatives: I64
    roc_auc: F64
    average_precision: F64


class Tally(State):
    """All that is published of scores."""

    confusion: I64
    curves: tuple[ScoreCurve, ...]


class Scored(State):
    """What a holder brings along.

    For each record its class, the class chosen, and decision values.
    """

    values: F64
    codes: I64
    chosen: I64


class ErrorTally(State):
    """All that is published of errors: n, their means, and a histogram from the lowest up, cut at these errors."""

    records: int
    means: F64
    cuts: F64
    counts: I64


class Answered(State):
    """What a holder brings along: for each record its target and the model's answer."""

    targets: F64
    answers: F64


def curve(P: F64, N: F64, area: F64, bins: int) -> ScoreCurve:
    """Return the histogram of a column, in bins that hold a record."""
    ends = merge_bins(P, N, 1)
    starts = np.concatenate([[0], ends[:-1]])
    positives, negatives = (np.add.reduceat(side, starts).astype(np.int64) for side in (P, N))
    return ScoreCurve(stretch(ends[:-1] / bins), positives, negatives, area[0].copy(), area[1].copy())
