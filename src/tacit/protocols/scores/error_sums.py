"""How good a regressor is on records that many hold: sums of its errors, and a histogram of them.

The problem. Holder h has records with targets y and the numbers f that the model gave; e = y - f. Everyone shall know

    n = sum_h rows of h,        mean = sum_h sum_i y_i / n                                                         (1)
    sum_h sum_i of e, |e|, e^2 and (y - mean)^2, each divided by n                                                 (2)
    m_c = sum_h |{i : e_i / s in bin c}|,   s^2 the mean of e^2, bins of s equal in v / (1 + |v|)                  (3)

from which mean errors and R^2 = 1 - mean e^2 / mean (y - mean)^2 follow. (2) comes after (1) is published, since sums
around zero lose their digits. Units are not known, so the sums are of wide numbers (`numeric.ring.wide`).

What is opened, in this order: n, and nothing more if it is below min_count; (1); (2); (3) to the coordinator as it is,
and to everyone in bins put together until each has none or at least min_count records.

Over columns, one party, the labeller, has all answers and the targets: it counts alone, and publishes the same.

Roles. Holder: records. Coordinator: opens the sums. Labeller: over columns, has everything.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: in a bin that holds one record the coordinator sees that
record's error to the bin's width, not whose it is; where one error is far larger than all others together, its size is
about that of the sums; what two evaluations on almost the same records tell apart.
Source: ours; definitions as in scikit-learn.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Labeller, Message, Run, State, choreography
from tacit.choreo.protocol import Declaration
from tacit.errors import LocalError
from tacit.numeric.ring.wide import Z256, decode, encode
from tacit.numeric.scores.histogram import cells_of, counts_of
from tacit.numeric.scores.metrics import merge_bins, squash, stretch
from tacit.protocols.column_parameters import OF_SCORES
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_sum import Protection, secure_sum

RECORDS = Fact("errors.records", "holders", "count", "all", "the number of records that are judged")
TARGET_MEAN = Fact("errors.target_mean", "holders", "aggregate", "all", "the mean of the targets over all parties")
MEAN_ERRORS = Fact(
    "errors.means",
    "holders",
    "aggregate",
    "all",
    "the mean error, absolute error and squared error of the model, and the variance of the targets",
)
ERROR_BINS = Fact(
    "errors.bins",
    "holders",
    "count",
    "group",
    "a histogram of the errors, in bins of no record or of at least min_count records",
)


class JudgedRecords(Message, tells=RECORDS):
    """How many records there are; published first."""

    count: int


class TargetMean(Message, tells=TARGET_MEAN):
    """The mean of the targets, (1)."""

    value: float


class MeanErrors(Message, tells=MEAN_ERRORS):
    """The means (2): of e, |e|, e^2 and (y - mean)^2."""

    values: F64


class ErrorTally(State):
    """All that is published of errors: n, the means (2), and (3) from the lowest errors up, cut at these errors."""

    records: int
    means: F64
    cuts: F64
    counts: I64


class ErrorBins(Message, tells=ERROR_BINS):
    """The histogram (3)."""

    cuts: F64
    counts: I64


class Errors(Message, tells=(RECORDS, MEAN_ERRORS, ERROR_BINS)):
    """The tally of the labeller, who has all records."""

    tally: ErrorTally


class Answered(State):
    """What a holder brings along: for each record its target and the model's answer."""

    targets: F64
    answers: F64


@choreography(
    opens={
        Coordinator: Fact(
            "errors.fine_bins",
            "holders",
            "answer",
            "record",
            "how many records have an error in each of many fine bins: where a bin holds one record, that record's"
            " error to the bin's width, but not whose it is",
        ),
        Everyone: (RECORDS, MEAN_ERRORS, ERROR_BINS),
    }
)
def error_sums(
    run: Run,
    answered: At[Answered],
    *,
    bins: int = 256,
    min_count: int = 5,
    protected: Protected,
) -> ErrorTally:
    """Publish the tally over all records."""
    least, me = max(1, min_count), run.who(Holder)
    run.local(Holder, check_answered, answered, me)
    by = protected.protect(run, to=Coordinator)
    counted = secure_sum(run, run.local(Holder, count_here, answered), to=Coordinator, by=by, what="number of records")
    n = run.publish(JudgedRecords, run.local(Coordinator, count_all, counted)).count
    check_enough(n, least)
    mean = target_mean(run, run.local(Holder, targets_of, answered), n, by=by)
    errors = secure_sum(
        run, run.local(Holder, sum_errors, answered, mean, me), to=Coordinator, by=by, what="errors", ring=Z256
    )
    means = run.publish(MeanErrors, run.local(Coordinator, means_of, errors, n)).values
    held = run.local(Holder, bin_errors, answered, means, bins)
    fine = secure_sum(run, held, to=Coordinator, by=by, what="errors by bin")
    told = run.publish(ErrorBins, run.local(Coordinator, merge_errors, fine, means, least))
    return ErrorTally(n, means, told.cuts, told.counts)


@choreography(opens={Everyone: TARGET_MEAN})
def target_mean(run: Run, targets: At[F64], n: int, *, by: Protection) -> float:
    """Return the mean (1) of the targets of all n records."""
    sums = run.local(Holder, sum_targets, targets, run.who(Holder))
    total = secure_sum(run, sums, to=Coordinator, by=by, what="targets", ring=Z256)
    return run.publish(TargetMean, run.local(Coordinator, mean_of, total, n)).value


@choreography(opens={Everyone: (RECORDS, MEAN_ERRORS, ERROR_BINS)})
def labeller_errors(run: Run, answered: At[Answered], *, bins: int = 256, min_count: int = 5) -> ErrorTally:
    """Publish the tally where the labeller has all answers and targets: it counts alone."""
    run.local(Labeller, check_answered, answered, run.who(Labeller))
    return run.publish(Errors, run.local(Labeller, all_errors, answered, bins, max(1, min_count))).tally


def check_enough(n: int, least: int) -> None:
    """Raise if the evaluation has too few records."""
    if n < least:
        raise LocalError(
            f"the evaluation has {n} records over all parties, and nothing is opened over fewer than min_count={least}:"
            " bring more, or lower min_count"
        )


# Steps at the holders


def check_answered(answered: Answered, me: str) -> None:
    """Raise if a target or an answer is not a number, before anything is sent."""
    for what, values in (("target", answered.targets), ("model's answer", answered.answers)):
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise LocalError(
                f"{me}: the {what} of {len(bad)} records is not a number, the first being number {bad[0] + 1}: look at"
                " its values"
            )


def count_here(answered: Answered) -> U64:
    """Return how many records this holder has."""
    return np.array([len(answered.targets)], dtype=np.uint64)


def targets_of(answered: Answered) -> F64:
    """Return a holder's targets."""
    return answered.targets


def sum_targets(targets: F64, me: str) -> U64:
    """Return this holder's part of (1)."""
    return encode(np.array([targets.sum()]), f"targets of {me}")


def error_totals(answered: Answered, mean: float) -> F64:
    """Return the sums (2) of a holder's own records."""
    e, from_mean = answered.targets - answered.answers, answered.targets - mean
    return np.array([e.sum(), np.abs(e).sum(), np.sum(e**2), np.sum(from_mean**2)])


def sum_errors(answered: Answered, mean: float, me: str) -> U64:
    """Return this holder's part of (2)."""
    return encode(error_totals(answered, mean), f"errors of {me}")


def bin_errors(answered: Answered, means: F64, bins: int) -> U64:
    """Return this holder's part of (3)."""
    scaled = squash((answered.targets - answered.answers) / scale_of(means))
    cells = cells_of(scaled[:, None], np.zeros(1), np.ones(1), bins)
    counts: U64 = counts_of(cells, bins)[0].astype(np.uint64)
    return counts


def scale_of(means: F64) -> float:
    """Return s of (3); 1 if there are no errors."""
    return float(np.sqrt(means[2])) or 1.0


def all_errors(answered: Answered, bins: int, least: int) -> Errors:
    """Return the tally of the labeller, who has all records."""
    n = len(answered.targets)
    check_enough(n, least)
    means = error_totals(answered, float(answered.targets.mean())) / n
    told = merge_errors(bin_errors(answered, means, bins), means, least)
    return Errors(ErrorTally(n, means, told.cuts, told.counts))


# Steps at the coordinator


def count_all(counted: U64) -> JudgedRecords:
    """Return the number of all records."""
    return JudgedRecords(int(counted[0]))


def mean_of(total: U64, n: int) -> TargetMean:
    """Return the mean (1) from the sum."""
    return TargetMean(float(decode(total)[0]) / n)


def means_of(total: U64, n: int) -> MeanErrors:
    """Return the means (2) from the sums."""
    return MeanErrors(decode(total) / n)


def merge_errors(fine: U64, means: F64, least: int) -> ErrorBins:
    """Return the histogram (3), in bins that may be seen."""
    counts = fine.astype(np.float64)
    ends = merge_bins(counts, np.zeros_like(counts), least)
    starts = np.concatenate([[0], ends[:-1]])
    cuts = stretch(ends[:-1] / len(counts)) * scale_of(means)
    return ErrorBins(cuts, np.add.reduceat(counts, starts).astype(np.int64))


ERROR_SUMS = Declaration(error_sums, parameters=OF_SCORES)
LABELLER_ERRORS = Declaration(labeller_errors, parameters=OF_SCORES)
