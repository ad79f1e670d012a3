"""How much worse a model is when a column is shuffled: one score for each column and repeat, over all parties' records.

The problem. Holder h has for each of its records i, as it is (v = 0) and with one column shuffled (v = 1, 2, ...), how
the model does: s_iv = 1 if it gives the record its class and 0 if not; or its squared error. Everyone shall know

    S_v = sum_h sum_i s_iv / n,        n = sum_h rows of h                                                         (1)
    of numbers, also the variance of the targets,  sum_h sum_i (y_i - mean)^2 / n,   mean = sum_h sum_i y_i / n    (2)

Every holder shuffles its own cells of a column, among its own records: nobody's value goes to another party.

Roles. Holder: records. Coordinator: opens the sums. Labeller: over columns and cells, has all answers and the labels;
it adds up alone, and publishes the same.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: over columns and cells the labeller is told the answers
about shuffled records too, and how an answer changes with one column tells it about that column.
Source: Breiman, Random forests, Machine Learning 45, 2001; as scikit-learn's permutation_importance. The sums are ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Labeller, Message, Run, State, choreography
from tacit.choreo.protocol import Declaration
from tacit.numeric.ring.wide import Z256, decode, encode
from tacit.protocols.scores.error_sums import RECORDS, JudgedRecords, check_enough, count_all, target_mean
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_sum import secure_sum

SHUFFLED = Fact(
    "scores.shuffled",
    "holders",
    "aggregate",
    "all",
    "how good the model is over all records, as they are and with each column shuffled",
)


class ShuffledScores(Message, tells=SHUFFLED):
    """The means (1) and, of numbers, (2) as the last one."""

    values: F64


class ShuffledTally(Message, tells=(RECORDS, SHUFFLED)):
    """The means (1) and (2), from the labeller, who has all records."""

    records: int
    values: F64


class Shuffled(State):
    """What a holder brings along: a score for each record and variant, a column each; targets, if they are numbers."""

    scores: F64
    targets: F64


@choreography(opens={Everyone: (RECORDS, SHUFFLED)})
def shuffled_scores(
    run: Run,
    shuffled: At[Shuffled],
    *,
    numbers: bool = False,
    min_count: int = 5,
    protected: Protected,
) -> F64:
    """Return (1) of every variant, and (2) as the last number, which is 0 where targets are classes."""
    me, by = run.who(Holder), protected.protect(run, to=Coordinator)
    counted = secure_sum(run, run.local(Holder, count_rows, shuffled), to=Coordinator, by=by, what="number of records")
    n = run.publish(JudgedRecords, run.local(Coordinator, count_all, counted)).count
    check_enough(n, max(1, min_count))
    mean = target_mean(run, run.local(Holder, own_targets, shuffled), n, by=by) if numbers else 0.0
    own = run.local(Holder, sum_scores, shuffled, mean, me)
    summed = secure_sum(run, own, to=Coordinator, by=by, what="scores", ring=Z256)
    return run.publish(ShuffledScores, run.local(Coordinator, mean_scores, summed, n)).values


@choreography(opens={Everyone: (RECORDS, SHUFFLED)})
def labeller_shuffled(run: Run, shuffled: At[Shuffled], *, min_count: int = 5) -> F64:
    """Return the same where the labeller has all answers and labels: it adds up alone."""
    return run.publish(ShuffledTally, run.local(Labeller, all_scores, shuffled, max(1, min_count))).values


# Steps at the holders


def count_rows(shuffled: Shuffled) -> U64:
    """Return how many records this holder has."""
    return np.array([len(shuffled.scores)], dtype=np.uint64)


def own_targets(shuffled: Shuffled) -> F64:
    """Return a holder's targets."""
    return shuffled.targets


def totals(shuffled: Shuffled, mean: float) -> F64:
    """Return the sums (1) and (2) of a holder's own records."""
    return np.array([*shuffled.scores.sum(axis=0), np.sum((shuffled.targets - mean) ** 2)])


def sum_scores(shuffled: Shuffled, mean: float, me: str) -> U64:
    """Return this holder's part of (1) and (2)."""
    return encode(totals(shuffled, mean), f"scores of {me}")


def all_scores(shuffled: Shuffled, least: int) -> ShuffledTally:
    """Return (1) and (2) of the labeller, who has all records."""
    n = len(shuffled.scores)
    check_enough(n, least)
    mean = float(shuffled.targets.mean()) if len(shuffled.targets) else 0.0
    return ShuffledTally(n, totals(shuffled, mean) / n)


# Steps at the coordinator


def mean_scores(summed: U64, n: int) -> ShuffledScores:
    """Return (1) and (2) from the sums."""
    return ShuffledScores(decode(summed) / n)


SHUFFLED_SCORES = Declaration(shuffled_scores)
LABELLER_SHUFFLED = Declaration(labeller_shuffled)
