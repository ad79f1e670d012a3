"""What of a kernel classifier stays with its party when the parties agree at landmarks only, and how they answer together.

The problem. After `consensus_horizontal` all parties share v and s, and party m alone has the rest of its weights (1):

    rest_m = M sum_i lambda_i y_i (phi(x_i) without its part in the landmarks' span)
    f_m(x) = v.F(x) + s + r_m(x),    r_m(x) = sum_i alpha_i K_rest(x, x_i),   alpha_i = M lambda_i y_i                (25)

With K_rest(x, x_i) = K(x, x_i) - F(x).F(x_i) the last term needs only sum_i alpha_i F(x_i) beside the support vectors. The answer
about a new record is the average over the parties, which is a secure sum:

    f(x) = v.F(x) + s + sum_m r_m(x) / M                                                                             (2)

Roles. Holder: its rest and, in turn, its new records. Nobody else is needed.
Threat. Semi-honest; coalitions as `secure_sum`. To compute r_m(x) every holder must see x: whoever asks shows its new records to all
other holders. It learns (2) at records of its choice, so the others' average rest as a function; of two holders, the other's own.
Source: 000 eq. 25, corrected (docs/methods/consensus.md); that parties average is ours, the paper lets each use its own f_m.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, Array, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.numeric.consensus_rows import outside
from tacit.numeric.feature_map import kernel_matrix
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.kernels import Kernel
from tacit.protocols.feature_map import FeatureMap, Records, map_records
from tacit.protocols.secure_sum import Protection, protect, secure_sum


class NewRecords(Message, tells="the sender's new records, in clear", ragged=True):
    """X of those it asks about."""

    X: F64


class Accuracy(Message, tells="the share of the public rows that are judged rightly"):
    """On the rows of `watch`."""

    share: float


class RestOfKernel(State):
    """A holder's share: its support vectors, alpha a row per problem, and sum_i alpha_i F(x_i)."""

    X: F64
    coef: F64
    pull: F64


@choreography(opens={Holder: "the new records of all others; the average of the parties' decision values at its own new records"})
def consensus_predict(
    run: Run, data: At[Any], rest: At[RestOfKernel], *, the_map: FeatureMap, method: str = "pairwise", segments: int = 1,
    fraction_bits: int = 32,
) -> dict[str, At[F64]]:  # fmt: skip
    """What the rests add to (2), for each holder at its own records."""
    holders = run.members(Holder)
    fixed = FixedPoint(fraction_bits, terms=len(holders))
    found = {}
    for asker in holders:
        by = protect(run, to=asker, method=method, segments=segments)
        asked = run.send(NewRecords, asker >> Holder, run.local(asker, records_of, data))
        values = run.local(Holder, answered, rest, asked, the_map, len(holders))
        found[str(asker.party)] = secure_sum(run, values, to=asker, by=by, fixed=fixed, what="decision values")  # (2)
    return found


@choreography(
    opens={Coordinator: "in every round the average of the parties' decision values at the public rows", Everyone: "how many are right"}
)
def consensus_watch(run: Run, seen: At[F64], coef: At[F64], agreed: F64, y: Array, *, by: Protection, fixed: FixedPoint) -> float:
    """How well (2) does on public rows with labels, of which each holder has `seen`: K_rest between them and its own rows."""
    parts = run.local(Holder, seen_values, seen, coef, len(run.roster[Holder]))
    total = secure_sum(run, parts, to=Coordinator, by=by, fixed=fixed, what="decision values")
    return run.publish(Accuracy, run.local(Coordinator, judged, total, agreed, y)).share


# Steps


def rest_matrix(X: F64, others: F64, the_map: FeatureMap) -> F64:
    """K_rest; nothing where the features are all there is."""
    if the_map.source == "identity":
        return np.empty((0, 0))
    kernel = Kernel(the_map.kernel, the_map.gamma, the_map.degree, the_map.coef0)
    rest: F64 = kernel_matrix(X, others, kernel) - map_records(the_map, X) @ map_records(the_map, others).T
    return rest


def rest_of(X: F64, alpha: F64, the_map: FeatureMap) -> RestOfKernel:
    """What a holder keeps of its own rows."""
    support = np.flatnonzero(np.any(alpha, axis=0))
    X, alpha = X[support], alpha[:, support]
    return RestOfKernel(X, alpha, alpha @ map_records(the_map, X))


def rest_values(rest: RestOfKernel, X: F64, the_map: FeatureMap) -> F64:
    """r_m of these records, a column per problem."""
    kernel = Kernel(the_map.kernel, the_map.gamma, the_map.degree, the_map.coef0)
    return kernel_matrix(X, rest.X, kernel) @ rest.coef.T - map_records(the_map, X) @ rest.pull.T


def records_of(part: Records) -> NewRecords:
    """In clear."""
    return NewRecords(part.X)


def answered(rest: RestOfKernel, asked: NewRecords, the_map: FeatureMap, holders: int) -> F64:
    """This holder's part of (2)."""
    return rest_values(rest, asked.X, the_map) / holders


def seen_values(seen: F64, coef: F64, holders: int) -> F64:
    """This holder's part of (2) at the public rows."""
    return outside(seen, coef).T / holders


def judged(total: F64, agreed: F64, y: Array) -> Accuracy:
    """The share of right signs, or of right largest values."""
    return Accuracy(right(agreed + total, y))


def right(values: F64, y: Array) -> float:
    """Y: numbers of classes."""
    chosen = values[:, 0] > 0 if values.shape[1] == 1 else values.argmax(axis=1)
    return float(np.mean(chosen == y))
