"""What of a kernel classifier stays with its party when all agree at landmarks only, and how they answer together.

The problem. After `consensus_horizontal` all parties share v and s, and party m alone has the rest of its weights (1):

    rest_m = M sum_i lambda_i y_i (phi(x_i) without its part in the landmarks' span)
    f_m(x) = v.F(x) + s + r_m(x),    r_m(x) = sum_i alpha_i K_rest(x, x_i),   alpha_i = M lambda_i y_i    (25)

With K_rest(x, x_i) = K(x, x_i) - F(x).F(x_i) the last term needs only sum_i alpha_i F(x_i) beside the support vectors.
The answer about a new record is the average over the parties, which is a secure sum:

    f(x) = v.F(x) + s + sum_m r_m(x) / M                                                                  (2)

Roles. Holder: its rest and, in turn, its new records. Nobody else is needed.
Threat. Semi-honest; coalitions as `secure_sum`. To compute r_m(x) every holder must see x: whoever asks shows its new
records to all other holders. It learns (2) at records of its choice, so the others' average rest as a function; of two
holders, the other's own.
Source: 000 eq. 25, corrected (docs/methods/consensus.md); that parties average is ours, the paper lets each use its own
f_m.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, Array
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.choreo.protocol import Declaration
from tacit.numeric.consensus.rows import values_outside
from tacit.numeric.features.feature_map import kernel_matrix
from tacit.numeric.scores.folds import choose_class
from tacit.numeric.svm.kernels import Kernel
from tacit.numeric.svm.problems import value_classes
from tacit.protocols.part import Records
from tacit.protocols.planes.feature_map import FeatureMap, map_records
from tacit.protocols.settings import Sums
from tacit.protocols.sums.secure_sum import secure_sum
from tacit.protocols.witness import Voice


class NewRecords(
    Message,
    tells=Fact("consensus.new_records", "holder", "record", "record", "the sender's new records, in clear"),
    ragged=True,
):
    """The new records that the sender asks about."""

    X: F64


class Accuracy(
    Message,
    tells=Fact(
        "consensus.accuracy", "holders", "aggregate", "all", "the share of the public rows that are judged rightly"
    ),
):
    """The share of the public rows of `watch` that are judged rightly."""

    share: float


class RestOfKernel(State):
    """A holder's share: its support vectors, alpha a row per problem, and sum_i alpha_i F(x_i)."""

    X: F64
    coef: F64
    pull: F64


@choreography(
    opens={
        Holder: (
            Fact("consensus.new_records_of_others", "holder", "record", "record", "the new records of all others"),
            Fact(
                "consensus.own_answers",
                "reader",
                "answer",
                "record",
                "the average of the parties' decision values at its own new records",
            ),
        )
    }
)
def consensus_predict(
    run: Run, data: At[Records], rest: At[RestOfKernel], *, the_map: FeatureMap, sums: Sums
) -> At[F64]:
    """Return what the rests add to (2), for each holder at its own new records."""
    holders, fixed = run.members(Holder), sums.fixed_point(run)
    found = {}
    for asker in holders:
        by = sums.protect(run, to=asker)
        asked = run.send(NewRecords, asker >> Holder, run.local(asker, records_of, data))
        values = run.local(Holder, answer, rest, asked, the_map, len(holders))
        found[str(asker.party)] = secure_sum(run, values, to=asker, by=by, fixed=fixed, what="decision values")  # (2)
    return run.unite(Holder, found)


@choreography(
    opens={
        Coordinator: Fact(
            "consensus.public_answers",
            "holders",
            "answer",
            "record",
            "in every round the average of the parties' decision values at the public rows",
        ),
        Everyone: Fact("consensus.right_answers", "holders", "count", "all", "how many answers are right"),
    }
)
def consensus_watch(
    run: Run, seen: At[F64], coef: At[F64], agreed: F64, y: Array, *, voice: Voice, multi_class: str
) -> float:
    """Return how well (2) does on public rows with labels.

    `seen` is K_rest between these rows and each holder's own.
    """
    parts = run.local(Holder, seen_values, seen, coef, len(run.roster[Holder]))
    total = voice.sum_to_coordinator(parts, "decision values")
    return run.publish(Accuracy, run.local(Coordinator, judge, total, agreed, y, multi_class)).share


# Steps


def rest_matrix(X: F64, others: F64, the_map: FeatureMap) -> F64:
    """Return K_rest between two sets of records; it is empty where the features are all there is."""
    if the_map.source == "identity":
        return np.empty((0, 0))
    kernel = Kernel(the_map.kernel, the_map.gamma, the_map.degree, the_map.coef0)
    rest: F64 = kernel_matrix(X, others, kernel) - map_records(the_map, X) @ map_records(the_map, others).T
    return rest


def rest_of(X: F64, alpha: F64, the_map: FeatureMap) -> RestOfKernel:
    """Return what a holder keeps of its own rows."""
    support = np.flatnonzero(np.any(alpha, axis=0))
    X, alpha = X[support], alpha[:, support]
    return RestOfKernel(X, alpha, alpha @ map_records(the_map, X))


def rest_values(rest: RestOfKernel, X: F64, the_map: FeatureMap) -> F64:
    """Return r_m of these records, a column per problem."""
    kernel = Kernel(the_map.kernel, the_map.gamma, the_map.degree, the_map.coef0)
    return kernel_matrix(X, rest.X, kernel) @ rest.coef.T - map_records(the_map, X) @ rest.pull.T


def records_of(part: Records) -> NewRecords:
    """Return the new records in clear, as they are shown to all other holders."""
    return NewRecords(part.X)


def answer(rest: RestOfKernel, asked: NewRecords, the_map: FeatureMap, holders: int) -> F64:
    """Return this holder's part of (2) at the records it was asked about."""
    return rest_values(rest, asked.X, the_map) / holders


def seen_values(seen: F64, coef: F64, holders: int) -> F64:
    """Return this holder's part of (2) at the public rows."""
    return values_outside(seen, coef).T / holders


def judge(total: F64, agreed: F64, y: Array, multi_class: str) -> Accuracy:
    """Return the share of the public rows that are judged rightly."""
    return Accuracy(rate_answers(agreed + total, y, multi_class))


def rate_answers(values: F64, y: Array, multi_class: str) -> float:
    """Return the share of right classes by the values of all problems; `y` are numbers of classes."""
    return float(np.mean(choose_class(value_classes(values, multi_class)) == y))


CONSENSUS_PREDICT = Declaration(consensus_predict, asks=True)
