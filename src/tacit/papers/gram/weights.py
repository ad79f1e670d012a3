"""Weights in shares: the w and b of a linear gram SVM, split between its holders so that nobody has them.

The problem. The coordinator has the coefficients c of s support vectors in k problems, and the biases b; A_p are the
cells of the support vectors that holder p owns, and zero elsewhere (`arbitrary`). With the linear kernel all
answers follow from

    f(z) = w . z + b,        w = c A = sum_p c A_p                                                                   (1)

Every c A_p is a product of two parties (`engines.paillier_slots`). Its shares are integers until they are
reduced modulo 2^k, and so they can be cut to as many fraction bits f as a prediction has room for:

    coordinator >> p     E(c)                                      once for all                                      (2)
    p >> coordinator     E(c A_p + R_p)                                                                              (3)
    P_p + Q_p = 2^f c A_p    up to one,       P_p at the coordinator, Q_p at p, each of them uniform                 (4)

The coordinator adds up its shares, puts the biases into one more column, and deals the sum out in uniform parts:

    sum_p U_p = sum_p P_p + 2^f (0, b),       coordinator >> p     U_p                                               (5)
    W_p = U_p + Q_p,                          sum_p W_p = 2^f (w, b)    (mod 2^k)                                    (6)

It is done once for a model; `linear` answers with it, and the coordinator is not needed any more.

Fraction bits. No cell of a support vector is larger than 2^e. Cells become integers of 40 bits and c has f + e + g
fraction bits, where s is less than 2^(g-1); so 40 + g bits are cut in (4). An entry of w is off by less than

    (M + 1/4) 2^-f + |c|_1 2^(e-41)                                                                                  (7)

f is as large as |w| allows, which the coordinator knows from the gram matrix (`train.bound_weights`). b has
f - e + 6 bits, to be as exact where cells are tiny.

Roles. Holder: cells of the support vectors. Coordinator: the dual model. Threat. Semi-honest. All that the coordinator
receives is under masks R_p, up to 2^-40 an entry. Of the W_p, and of the U_p alone, any M - 1 are uniform: all holders
together have w, and nobody less. A coalition with the coordinator lacks the R_p of the others, and so has c A_p of its
own only; c and the gram matrix it has anyway. Not protected: the power of two next to the size of w and b, which
holders learn.

Source: 001 section 3.3 gives every party all coefficients; shares of w instead are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tacit.arrays import I64, U64
from tacit.choreo import At, Coordinator, Each, Fact, Holder, Message, Pads, Run, State, choreography
from tacit.errors import LocalError, MissingExtraError
from tacit.numeric.cells.integers import EXPONENTS, Cells, widest
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.words import Ring
from tacit.numeric.svm.kernels import OVR
from tacit.papers.gram.cell_products import empty_share
from tacit.papers.gram.engines.engines import Block, Engine, Plan
from tacit.papers.gram.secure_product import Reply, Upload, answer_upload, finish_product, offer, own_pads, seal_reply
from tacit.papers.gram.train import DualModel, SupportColumns
from tacit.protocols.blind.owners import agreed_range, ownership
from tacit.protocols.sums.secure_sum import name_own_seed, protect

SUPPORT_CELLS = Fact(
    "gram.support_cells", "holder", "membership", "cell", "who owns which cells of the support vectors"
)
SUPPORT_RANGE = Fact(
    "gram.support_range", "holders", "aggregate", "all", "the smallest power of two that none of them exceeds"
)

CELL, COEFFICIENT = 40, 60  # bits of a cell, and of a coefficient at most
FINER = 6  # bits that a bias has more than w, on the scale of answers


class DealtWeights(
    Message,
    tells=Fact(
        "gram.dealt_weights",
        "holders",
        "aggregate",
        "all",
        "nothing about w except the power of two next to its size: a uniform part of w under the masks of all holders",
    ),
):
    """The part U_p of (5) for a holder, and the number f of fraction bits."""

    words: U64
    fraction_bits: int


class WeightShare(State):
    """The share W_p of (6): a line per problem, a column per feature and one for the bias.

    fraction_bits: f. exponent: e, the range of the support vectors.
    """

    words: U64
    fraction_bits: int
    exponent: int


@choreography(
    opens={
        Coordinator: (SUPPORT_CELLS, SUPPORT_RANGE),
        Holder: (
            SUPPORT_CELLS,
            SUPPORT_RANGE,
            Fact(
                "gram.weight_share",
                "nobody",
                "nothing",
                "none",
                "its share of w, uniform, of which only all holders together make w",
            ),
            Fact("gram.weight_size", "holders", "aggregate", "all", "the power of two next to the size of w"),
        ),
    }
)
def gram_weights(
    run: Run,
    dual: At[DualModel],
    columns: At[SupportColumns],
    *,
    partition: str,
    problems: int,
    multi_class: str = OVR,
    key_bits: int = 2048,
    feature_range: float | None = None,
) -> At[WeightShare]:
    """Return every holder's share W_p of (6)."""
    make_engine(1, 1, key_bits)  # what is missing is missed before anything is sent
    run.local(Coordinator, check_model, dual, problems, multi_class)
    owners = ownership(run, columns, partition)
    e = choose_range(agreed_range(run, [columns], feature_range, protect(run)))
    sizes, table = answer_cells(e, owners.shape[1]), (problems, owners.shape[1] + 1)
    f = run.local(Coordinator, fraction_bits, dual, e, sizes.bits)
    P, Q = run.local(Coordinator, empty_share, table), run.local(Holder, empty_share, table)
    if owners.shape[0]:  # a constant has no support vectors
        c, A = run.local(Coordinator, coefficients, dual, f, e), run.local(Holder, integers, columns, e)
        way = make_engine(owners.shape[0], sizes.ring_bits, key_bits)
        P, Q = weight_products(run, c, A, table=table, owners=owners, way=way)
    dice, ring = (
        run.pads(run.local(Coordinator, name_own_seed, run.random(Coordinator)), run.tag()),
        Ring(1 << sizes.ring_bits),
    )
    total = run.local(Coordinator, add_biases, P, dual, f, e)
    parts = run.local(Coordinator, deal, total, dice, run.roster[Holder], f, ring)
    return run.local(Holder, add_shares, run.send(DealtWeights, Coordinator >> Holder, parts), Q, e, ring)


@choreography(
    opens={
        Coordinator: Fact("gram.share_sum", "nobody", "nothing", "none", "the sum of its shares, uniform"),
        Holder: Fact("gram.share", "nobody", "nothing", "none", "its share, uniform"),
    }
)
def weight_products(
    run: Run, c: At[tuple[I64, ...]], A: At[I64], *, table: tuple[int, int], owners: Owners, way: Engine
) -> tuple[At[U64], At[U64]]:
    """Return the sum of all P_p, and Q_p, by (2) to (4), each with a column of zeros for the biases."""
    offered, me = offer(run, c, p=Coordinator, way=way), run.who(Holder)
    upload, tag = run.send(Upload, Coordinator >> Holder, offered.upload), run.tag()
    pads = run.pads(run.local(Holder, own_pads, run.random(Holder)), run.tag())
    answer = run.local(Holder, answer_coordinator, A, upload, offered.tag, tag, pads, owners, way, table, me)
    replies = run.send(Reply, Holder >> Coordinator, run.local(Holder, reply_of, answer))
    P = run.local(Coordinator, add_replies, replies, offered.secret, offered.upload, tag, owners, way, table)
    return P, run.local(Holder, take_share, answer)


def answer_cells(exponent: int, columns: int) -> Cells:
    """Return what predictions multiply w with.

    Cells have as many bits as there is room for in dot products with w and b.
    """
    return Cells(exponent, widest(columns + 1), columns + 1)


def choose_range(exponent: int) -> int:
    """Return the range of the support vectors, or any where none of their cells differs from zero.

    New records are compared with it.
    """
    return 0 if exponent == EXPONENTS.start else exponent


def make_engine(support: int, bits: int, key_bits: int) -> Engine:
    """Return the engine of (2) to (4), for so many support vectors."""
    try:
        from tacit.papers.gram.engines.paillier_slots import PaillierSlots  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("prediction with the linear kernel", "he") from None
    dropped = (CELL + guard(support)) // 8
    return PaillierSlots(support, 1 << CELL, bits, key_bits, dropped, 1 << COEFFICIENT)


def guard(support: int) -> int:
    """Return the g of (7), in whole bytes."""
    return 8 * -(-(support.bit_length() + 1) // 8)


# Steps at the coordinator


def check_model(model: DualModel, problems: int, multi_class: str) -> None:
    """Refuse a model that has no w, or not one for each of the problems that everybody expects."""
    if model.kernel != "linear" or len(model.coef) != problems:
        raise LocalError(
            f"shares of w are for the linear kernel and {problems} problems, the model has kernel {model.kernel!r} and"
            f" {len(model.coef)}: predict with the estimator that was fitted"
        )
    if problems > 1 and model.multi_class != multi_class:
        raise LocalError(
            f"shares of w are for multi_class={multi_class!r}, and the model has {model.multi_class!r}: predict with"
            " the estimator that was fitted"
        )


def fraction_bits(model: DualModel, exponent: int, bits: int) -> int:
    """Return the largest f by which w stays within its bits, b within those of answers, and c within `COEFFICIENT`."""
    length = np.abs(model.coef) @ np.sqrt(np.maximum(model.norms, 0.0)) if model.length is None else model.length
    size = max(float(length.max(initial=0.0)), float(np.ldexp(np.abs(model.bias), -exponent).max(initial=0.0)))
    largest = float(np.abs(model.coef).max(initial=0.0))
    return min(bits - _above(size), COEFFICIENT - exponent - guard(model.coef.shape[1]) - _above(largest))


def _above(size: float) -> int:
    """Return the exponent of the power of two that is larger."""
    return int(np.frexp(size)[1])


def coefficients(model: DualModel, f: int, exponent: int) -> tuple[I64, ...]:
    """Return the c in fixed point, a column for each support vector."""
    scaled = np.rint(np.ldexp(model.coef, f + exponent + guard(model.coef.shape[1]))).astype(np.int64)
    return tuple(np.ascontiguousarray(column) for column in scaled.T)


def add_replies(
    replies: Mapping[str, Reply],
    secret: bytes,
    upload: Upload,
    tag: bytes,
    owners: Owners,
    way: Engine,
    table: tuple[int, int],
) -> U64:
    """Return the sum of all P_p."""
    total = np.zeros(table, np.uint64)
    for party, message in replies.items():
        if (plan := plan_of(owners, table[0], party)) is not None:
            (words,) = finish_product(way, secret, upload, plan, message, tag)
            total[:, owners.columns[party]] += words
    return total


def add_biases(total: U64, model: DualModel, f: int, exponent: int) -> U64:
    """Return the sum of all P_p, with 2^f (0, b) of (5)."""
    total = total.copy()
    total[:, -1] = np.rint(np.ldexp(model.bias, f - exponent + FINER)).astype(np.int64).astype(np.uint64)
    return total


def deal(total: U64, dice: Pads, holders: Sequence[str], f: int, ring: Ring) -> Each:
    """Return uniform parts of the sum, one for each holder, (5)."""
    rest, drawn = total.ravel().copy(), dice.put_on("own", total.size * (len(holders) - 1))
    parts = [] if len(holders) == 1 else np.split(np.concatenate([chunk.copy() for chunk in drawn]), len(holders) - 1)
    for part in parts:
        ring.add(rest, [part], sign=-1)
    words = [np.remainder(part, np.uint64(ring.modulus)).reshape(total.shape) for part in (*parts, rest)]
    return Each({p: DealtWeights(each, f) for p, each in zip(holders, words, strict=True)})


# Steps at the holders


def plan_of(owners: Owners, problems: int, party: str) -> Plan | None:
    """Return what the coordinator and a holder multiply; None if the holder has no cells.

    These are the support vectors of which it owns cells, with its columns.
    """
    rows = owners.rows[party][owners.masks[party].any(axis=1)]
    if not rows.size:
        return None
    return Plan((problems,) * owners.shape[0], (Block(tuple(rows.tolist()), len(owners.columns[party])),))


def integers(held: SupportColumns, exponent: int) -> I64:
    """Return the cells in fixed point."""
    return np.rint(np.ldexp(held.X, CELL - exponent)).astype(np.int64)


def answer_coordinator(
    A: I64,
    upload: Upload,
    upload_tag: bytes,
    tag: bytes,
    pads: Pads,
    owners: Owners,
    way: Engine,
    table: tuple[int, int],
    me: str,
) -> tuple[Reply, U64]:
    """Return the reply (3), and Q_p in the columns that it belongs to."""
    own_share = np.zeros(table, np.uint64)
    if (plan := plan_of(owners, table[0], me)) is None:
        return Reply(np.empty(0, np.uint8), b""), own_share
    matrix = np.ascontiguousarray(A[owners.masks[me].any(axis=1)].T)
    answer = answer_upload(way, upload, upload_tag, plan, (matrix,), pads)
    own_share[:, owners.columns[me]] = answer[1][0]
    return seal_reply(answer, upload, tag), own_share


def reply_of(answer: tuple[Reply, U64]) -> Reply:
    """Return the reply (3) of an answer."""
    return answer[0]


def take_share(answer: tuple[Reply, U64]) -> U64:
    """Return the holder's share Q_p of an answer."""
    return answer[1]


def add_shares(part: DealtWeights, Q: U64, exponent: int, ring: Ring) -> WeightShare:
    """Return the holder's share of the weights, (6)."""
    return WeightShare(ring.total([part.words.ravel(), Q.ravel()]).reshape(Q.shape), part.fraction_bits, exponent)
