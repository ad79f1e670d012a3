"""Answers of a public model about records whose columns, or cells, are with several owners; only the asker gets them.

    V                features of the new records in shares                        (`features.shared`)
    f = V A          A: the weights of the raw features, which everybody has      each holder by itself             (1)

f is cut to `ANSWER_BITS` in shares, and the shares go to the asker alone.

Roles. Holder: columns or cells of the new records. Asker: the holder that is told. Coordinator: the dealer.
Threat: as `shares.dealing`. The asker learns the answers, which follow from the records and the public model.
Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import Asker, At, Everyone, Holder, Message, Run, State, choreography
from tacit.choreo.protocol import (
    SMALL,
    Cost,
    Declaration,
    Inputs,
    Planned,
    Rehearsal,
    Stage,
)
from tacit.errors import LocalError, PeerError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.ring_product import ring_product
from tacit.numeric.shares.shared_plan import SharedPlan, plan_shared
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.facts import ANSWERS, MODEL, SIZES
from tacit.protocols.features.maps import LINEAR, PublicMap, map_kernel
from tacit.protocols.features.shared import OwnTargets, Side, count_factors, make_features
from tacit.protocols.learners.fitting import count_table, describe_side
from tacit.protocols.learners.targets import publish_sizes
from tacit.protocols.part import Held, by_cells
from tacit.protocols.shares.dealing import Dealing, agree_with_dealer, check_dealer
from tacit.protocols.shares.gates import share_anew, truncate

ANSWER_BITS = 16
ROOM = 61  # bits that a product may have
MOST_BITS = 30  # of a weight
FAR = 3.0  # values are cut at so many times the largest one of the landmarks


class KnownModel(State):
    """A public model, with columns in the order of their owners: the map, and a row of weights for each feature."""

    map: PublicMap
    weights: F64


class Shown(Message, tells=MODEL, of_records=False):
    """The model, which all who take part have already."""

    map: PublicMap
    weights: F64


class AnswerShare(Message, tells=ANSWERS):
    """A holder's share of the answers."""

    words: U64


@choreography(opens={Everyone: (SIZES, MODEL), Asker: ANSWERS})
def answer_svm(
    run: Run, data: At[Held], model: At[KnownModel], *, partition: str, records: int | None = None
) -> At[F64]:
    """Return the values of new records at the asker, a column for each problem, (1)."""
    check_dealer(run)
    sizes = publish_sizes(run, data)
    rows, _ = count_table(sizes, partition, least=1)
    if records is not None and rows > records:
        raise LocalError(f"{rows} new records are more than the {records} that were asked for: ask about fewer")
    dealing, shown = agree_with_dealer(run), show_public(run, model)
    the_map, problems = shown.map, shown.weights.shape[1]
    side = describe_side(run, sizes, partition, caps_of_map(the_map), weighted=False)
    found = [
        share_anew(run, dealing, cut, size=size * problems)
        for size, cut in share_answers(run, dealing, data, shown, side, rows, bits=ANSWER_BITS)
    ]
    received = run.send(AnswerShare, Holder >> Asker, run.local(Holder, join_shares, *found))
    return run.local(Asker, read_answers, received, rows, problems)


def show_public(run: Run, model: At[KnownModel]) -> Shown:
    """Return the model that all holders have, so that everybody knows how large it is; refuse another one."""
    shown: Shown = run.publish(Shown, run.local(run.members(Holder)[0], show_model, model))
    run.local(Holder, check_model, model, shown, run.who(Holder))
    return shown


def share_answers(
    run: Run, dealing: Dealing, data: At[Held], model: Shown, side: Side, rows: int, *, bits: int
) -> Iterator[tuple[int, At[U64]]]:
    """Yield the number of records of each block, and shares of their values with so many bits after the point, (1)."""
    the_map, problems = model.map, model.weights.shape[1]
    plan = plan_shared(rows, the_map.width, count_factors(the_map, side))
    A, after = whole_weights(model, side, plan)
    none = run.local(Holder, no_targets)
    for j in range(plan.blocks):
        part = slice(j * plan.block, min((j + 1) * plan.block, rows))
        V = make_features(run, dealing, data, none, the_map, side, plan, part)
        f, size = run.local(Holder, apply_weights, V, A), part.stop - part.start
        yield size, truncate(run, dealing, f, plan.after + after - bits, size=size * problems)


def caps_of_map(the_map: PublicMap) -> F64:
    """Return at which size values of new records are cut, in products of several owners' columns."""
    if the_map.kernel == LINEAR:
        return np.full(the_map.columns, FAR * the_map.radius)
    return np.asarray(FAR * np.abs(the_map.centres).max(axis=0) + 1e-9)


def whole_weights(model: Shown, side: Side, plan: SharedPlan) -> tuple[U64, int]:
    """Return the weights of raw features in whole numbers, and how many bits they have after the point."""
    A = side.scale_weights(model.map, model.map.unfold(model.weights))
    bits = min(MOST_BITS, ROOM - plan.after - math.ceil(math.log2(float(np.abs(A).sum(axis=0).max()) + 1.0)))
    if plan.after + bits < ANSWER_BITS:
        raise LocalError("the weights of this model are too large for answers in shares: predict whole records")
    return np.rint(np.ldexp(A, bits)).astype(np.int64).view(np.uint64), bits


# Steps at the holders


def show_model(model: KnownModel) -> Shown:
    """Return the model as a message."""
    return Shown(model.map, model.weights)


def check_model(model: KnownModel, shown: Shown, me: str) -> None:
    """Raise if another model was shown than this holder has."""
    same = model.weights.shape == shown.weights.shape and np.array_equal(model.weights, shown.weights)
    if not same or not np.array_equal(model.map.centres, shown.map.centres):
        raise PeerError(f"{me} has another model than the one that is asked: bring the same one")


def no_targets() -> OwnTargets:
    """Return what there is of targets of new records: nothing."""
    return OwnTargets(np.empty((0, 0)), np.empty(0), np.empty(0))


def apply_weights(V: U64, A: U64) -> U64:
    """Return the share of (1)."""
    return ring_product(V.reshape(-1, len(A)), A).ravel()


def join_shares(*shares: U64) -> AnswerShare:
    """Return the shares of all answers."""
    return AnswerShare(np.concatenate([np.empty(0, dtype=np.uint64), *shares]))


# Steps at the asker


def read_answers(received: Mapping[str, AnswerShare], rows: int, problems: int) -> F64:
    """Return the answers from all shares."""
    for party, message in received.items():
        if message.words.shape != (rows * problems,):
            raise PeerError(f"{party} sent {message.words.size} words of {rows * problems}: is it of the same version?")
    total = Z64.total([message.words for message in received.values()])
    return FixedPoint(ANSWER_BITS).decode(total).reshape(rows, problems)


# As a job


def ask_invented(stage: Stage) -> Inputs:
    """Return invented records, and a model of them."""
    held = by_cells(stage)["data"][1]
    widths = [part.X.shape[1] for part in held.values()]
    columns = sum(widths) if stage.params["partition"] == "vertical" else max(widths)
    the_map = map_kernel(Kernel("rbf", 1.0), np.eye(columns))
    model = KnownModel(the_map, np.zeros((the_map.size, 1)))
    return {**by_cells(stage), "model": (Holder, dict.fromkeys(held, model))}


def estimate(planned: Planned) -> Cost:
    """Estimate the cost by that of a rehearsal, which grows with the records."""
    ledger = planned.rehearse(SMALL)
    more = max(1.0, planned.records / SMALL)
    traffic = zip(planned.roster.parties, planned.traffic(ledger), strict=True)
    return Cost(rounds=ledger.rounds, bytes={party: round(n * more) for party, n in traffic})


ANSWER_SVM = Declaration(
    answer_svm,
    rehearsal=Rehearsal(ask_invented, lambda _: {}, estimate),
    asks=True,
    dealt=True,
)
