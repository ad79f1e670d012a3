"""Weights in shares: the w and b of a linear gram SVM, split between its holders so that nobody has them.

The problem. The coordinator has the coefficients c of s support vectors in k problems, and the biases b; A_p are the cells of the support
vectors that holder p owns, and zero elsewhere (`gram_arbitrary`). With the linear kernel all answers follow from

    f(z) = w . z + b,        w = c A = sum_p c A_p                                                                        (1)

Every c A_p is a product of two parties (`crypto.paillier_slots`). Its shares are integers until they are reduced modulo 2^k, and so
they can be cut to as many fraction bits f as a prediction has room for:

    coordinator >> p     E(c)                                      once for all                                           (2)
    p >> coordinator     E(c A_p + R_p)                                                                                   (3)
    P_p + Q_p = 2^f c A_p    up to one,       P_p at the coordinator, Q_p at p, each of them uniform                       (4)

The coordinator adds up its shares, puts the biases into one more column, and deals the sum out in uniform parts:

    sum_p U_p = sum_p P_p + 2^f (0, b),       coordinator >> p     U_p                                                    (5)
    W_p = U_p + Q_p,                          sum_p W_p = 2^f (w, b)    (mod 2^k)                                         (6)

It is done once for a model; `gram_linear` answers with it, and the coordinator is not needed any more.

Fraction bits. No cell of a support vector is larger than 2^e. Cells become integers of 40 bits and c has f + e + g fraction bits, where s
is less than 2^(g-1); so 40 + g bits are cut in (4). An entry of w is off by less than

    (M + 1/4) 2^-f + |c|_1 2^(e-41)                                                                                       (7)

f is as large as |w| allows, which the coordinator knows from the gram matrix (`gram_model.lengths`). b has f - e + 6 bits, to be as exact
where cells are tiny.

Roles. Holder: cells of the support vectors. Coordinator: the dual model.
Threat. Semi-honest. All that the coordinator receives is under masks R_p, up to 2^-40 an entry. Of the W_p, and of the U_p alone, any M - 1
are uniform: all holders together have w, and nobody less. A coalition with the coordinator lacks the R_p of the others, and so has c A_p
of its own only; c and the gram matrix it has anyway. Not protected: the power of two next to the size of w and b, which holders learn.

Source: 001 section 3.3 gives every party all coefficients; shares of w instead are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.choreo import I64, U64, At, Coordinator, Each, Holder, Message, Run, State, choreography
from tacit.crypto.product import Block, Engine, Plan
from tacit.errors import LocalError, MissingExtraError
from tacit.numeric.cells import EXPONENTS, Cells, widest
from tacit.numeric.ownership import Owners
from tacit.numeric.ring import Ring
from tacit.protocols.cell_products import CellReply
from tacit.protocols.gram_arbitrary import agreed_range, ownership
from tacit.protocols.gram_model import DualModel, SupportColumns
from tacit.protocols.secure_product import Reply, Upload, answered, finished, offer, own_pads, sealed_reply
from tacit.protocols.secure_sum import cut, own, protect

CELL, COEFFICIENT = 40, 60  # bits of a cell, and of a coefficient at most
FINER = 6  # bits that a bias has more than w, on the scale of answers


class DealtWeights(
    Message,
    tells="nothing of w but the power of two next to its size: a uniform part of w under the masks of all holders",
):
    """U_p, and f."""

    words: U64
    fraction_bits: int


class WeightShare(State):
    """W_p: a line per problem, a column per feature and one for the bias; f; and e, the range of the support vectors."""

    words: U64
    fraction_bits: int
    exponent: int


@choreography(
    opens={
        Coordinator: "who owns which cells of the support vectors, and the smallest power of two that none of them exceeds",
        Holder: "the same; its share of w, uniform, of which only all holders together make w; the power of two next to the size of w",
    }
)
def gram_weights(
    run: Run,
    dual: At[DualModel],
    columns: At[SupportColumns],
    *,
    partition: str,
    problems: int,
    key_bits: int = 2048,
    feature_range: float | None = None,
) -> At[WeightShare]:
    """Every holder's W_p of (6)."""
    slots(1, 1, key_bits)  # what is missing is missed before anything is sent
    run.local(Coordinator, check_model, dual, problems)
    owners = ownership(run, columns, partition)
    e = some_range(agreed_range(run, [columns], feature_range, protect(run, to=Coordinator)))
    sizes, table = answer_cells(e, owners.shape[1]), (problems, owners.shape[1] + 1)
    f = run.local(Coordinator, fraction_bits, dual, e, sizes.bits)
    P, Q = run.local(Coordinator, np.zeros, table, np.uint64), run.local(Holder, np.zeros, table, np.uint64)
    if owners.shape[0]:  # a constant has no support vectors
        c, A = run.local(Coordinator, coefficients, dual, f, e), run.local(Holder, integers, columns, e)
        P, Q = weight_products(run, c, A, table=table, owners=owners, way=slots(owners.shape[0], sizes.ring_bits, key_bits))
    dice, ring = run.pads(run.local(Coordinator, own, run.random(Coordinator)), run.tag()), Ring(1 << sizes.ring_bits)
    parts = run.local(Coordinator, dealt, run.local(Coordinator, with_biases, P, dual, f, e), dice, run.roster[Holder], f, ring)
    return run.local(Holder, share, run.send(DealtWeights, Coordinator >> Holder, parts), Q, e, ring)


@choreography(opens={Coordinator: "the sum of its shares, uniform", Holder: "its share, uniform"})
def weight_products(
    run: Run, c: At[tuple[I64, ...]], A: At[I64], *, table: tuple[int, int], owners: Owners, way: Engine
) -> tuple[At[U64], At[U64]]:
    """(2) to (4): the sum of all P_p, and Q_p, each with a column of zeros for the biases."""
    offered, me = offer(run, c, p=Coordinator, way=way), run.who(Holder)
    upload, tag = run.send(Upload, Coordinator >> Holder, offered.upload), run.tag()
    pads = run.pads(run.local(Holder, own_pads, run.random(Holder)), run.tag())
    answer = run.local(Holder, answers, A, upload, offered.tag, tag, pads, owners, way, table, me)
    replies = run.send(CellReply, Holder >> Coordinator, run.local(Holder, reply_of, answer))
    return run.local(Coordinator, added, replies, offered.secret, offered.upload, tag, owners, way, table), run.local(Holder, kept, answer)


def answer_cells(exponent: int, columns: int) -> Cells:
    """What predictions multiply w with: as many bits as there is room for in dot products with w and b."""
    return Cells(exponent, widest(columns + 1), columns + 1)


def some_range(exponent: int) -> int:
    """Any, where no support vector has a cell that is not zero: new records are compared with it."""
    return 0 if exponent == EXPONENTS.start else exponent


def slots(support: int, bits: int, key_bits: int) -> Engine:
    """The engine of (2) to (4), for so many support vectors."""
    try:
        from tacit.crypto.paillier_slots import PaillierSlots  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("prediction with the linear kernel", "he") from None
    dropped = (CELL + guard(support)) // 8
    return PaillierSlots(support, 1 << CELL, bits, key_bits, dropped, 1 << COEFFICIENT)


def guard(support: int) -> int:
    """The g of (7), in whole bytes."""
    return 8 * -(-(support.bit_length() + 1) // 8)


# Steps at the coordinator


def check_model(model: DualModel, problems: int) -> None:
    """Whether the model has a w, for each of the problems that everybody expects."""
    if model.kernel != "linear" or len(model.coef) != problems:
        raise LocalError(
            f"shares of w are for the linear kernel and {problems} problems, the model has kernel {model.kernel!r} and {len(model.coef)}:"
            " predict with the estimator that was fitted"
        )


def fraction_bits(model: DualModel, exponent: int, bits: int) -> int:
    """The largest f by which w stays within its bits, b within those of answers, and c within `COEFFICIENT`."""
    length = np.abs(model.coef) @ np.sqrt(np.maximum(model.norms, 0.0)) if model.length is None else model.length
    size = max(float(length.max(initial=0.0)), float(np.ldexp(np.abs(model.bias), -exponent).max(initial=0.0)))
    largest = float(np.abs(model.coef).max(initial=0.0))
    return min(bits - _above(size), COEFFICIENT - exponent - guard(model.coef.shape[1]) - _above(largest))


def _above(size: float) -> int:
    """The exponent of the power of two that is larger."""
    return int(np.frexp(size)[1])


def coefficients(model: DualModel, f: int, exponent: int) -> tuple[I64, ...]:
    """The c in fixed point, a column for each support vector."""
    scaled = np.rint(np.ldexp(model.coef, f + exponent + guard(model.coef.shape[1]))).astype(np.int64)
    return tuple(np.ascontiguousarray(column) for column in scaled.T)


def added(
    replies: Mapping[str, CellReply], secret: bytes, upload: Upload, tag: bytes, owners: Owners, way: Engine, table: tuple[int, int]
) -> U64:
    """The sum of all P_p."""
    total = np.zeros(table, np.uint64)
    for party, message in replies.items():
        if (plan := plan_of(owners, table[0], party)) is not None:
            (words,) = finished(way, secret, upload, plan, Reply(message.body, message.mac), tag)
            total[:, owners.columns[party]] += words
    return total


def with_biases(total: U64, model: DualModel, f: int, exponent: int) -> U64:
    """And 2^f (0, b) of (5)."""
    total = total.copy()
    total[:, -1] = np.rint(np.ldexp(model.bias, f - exponent + FINER)).astype(np.int64).astype(np.uint64)
    return total


def dealt(total: U64, dice: Any, holders: Sequence[str], f: int, ring: Ring) -> Each:
    """(5)."""
    parts = cut((total.ravel(), total.shape), dice, len(holders), ring)
    words = [np.remainder(part.words, np.uint64(ring.modulus)).reshape(total.shape) for part in parts]
    return Each({p: DealtWeights(each, f) for p, each in zip(holders, words, strict=True)})


# Steps at the holders


def plan_of(owners: Owners, problems: int, party: str) -> Plan | None:
    """What the coordinator and a holder multiply: the support vectors of which it owns cells, with its columns; None if it has none."""
    rows = owners.rows[party][owners.masks[party].any(axis=1)]
    if not rows.size:
        return None
    return Plan((problems,) * owners.shape[0], (Block(tuple(rows.tolist()), len(owners.columns[party])),))


def integers(held: SupportColumns, exponent: int) -> I64:
    """Cells in fixed point."""
    return np.rint(np.ldexp(held.X, CELL - exponent)).astype(np.int64)


def answers(
    A: I64, upload: Upload, upload_tag: bytes, tag: bytes, pads: Any, owners: Owners, way: Engine, table: tuple[int, int], me: str
) -> tuple[CellReply, U64]:
    """(3), and Q_p in the columns that it belongs to."""
    own_share = np.zeros(table, np.uint64)
    if (plan := plan_of(owners, table[0], me)) is None:
        return CellReply(np.empty(0, np.uint8), b""), own_share
    matrix = np.ascontiguousarray(A[owners.masks[me].any(axis=1)].T)
    answer = answered(way, upload, upload_tag, plan, (matrix,), pads)
    own_share[:, owners.columns[me]] = answer[1][0]
    reply = sealed_reply(answer, upload, tag)
    return CellReply(reply.body, reply.mac), own_share


def reply_of(answer: tuple[CellReply, U64]) -> CellReply:
    """(3)."""
    return answer[0]


def kept(answer: tuple[CellReply, U64]) -> U64:
    """Q_p."""
    return answer[1]


def share(part: DealtWeights, Q: U64, exponent: int, ring: Ring) -> WeightShare:
    """(6)."""
    return WeightShare(ring.total([part.words.ravel(), Q.ravel()]).reshape(Q.shape), part.fraction_bits, exponent)
