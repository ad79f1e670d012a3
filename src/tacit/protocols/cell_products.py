"""Cell products: everyone ends with a share of A B' where both tables are split between the parties cell by cell.

The problem. A = sum_p A_p and B = sum_q B_q, zero where a party owns no cell; who owns what is public (`numeric.ownership`). In Z_2^k

    sum_p S_p = sum_{(p, q) in pairs} A_p B_q'                                                                          (1)

shall hold, where S_p are the shares of all parties, and nobody shall learn anything else. Each pair does what `secure_product` does, all
pairs in the same two rounds; p makes one upload for all its peers, of columns that one of these owns cells of too:

    p >> q   E_p(a_pf)                                   for every column f that p uploads                              (2)
    q >> p   E_p(sum_f a_pf b_qf' - R_pq)                for every block of columns with the same rows                  (3)
    S_p = sum_q D_p(3) + sum_q R_qp                      entries of a block where they belong in A B'                   (4)

Roles. Holder: has cells of A and of B.
Threat. As `secure_product`, for each pair: shares are uniform, so any coalition can make up what it sees of the others' cells from its own.
Not protected: who owns which cell.

Source: 001 section 5, the variant that resists collusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import I64, U64, At, Each, Holder, Message, Run, choreography, once
from tacit.crypto.bfv_layout import best_fold
from tacit.crypto.entropy import prf
from tacit.crypto.product import Block, Engine, Plan, engine
from tacit.numeric.cells import Cells
from tacit.numeric.ownership import Crossing
from tacit.protocols.secure_product import Reply, Upload, answered, finished, sealed_reply, sealed_upload

U8 = NDArray[np.uint8]


class CellUpload(
    Message,
    tells="nothing: columns under a key that only the sender has, as many as the public map of owners says",
    ragged=True,
):
    """(2), authenticated; empty where two parties share no column."""

    body: U8
    mac: bytes


class CellReply(
    Message,
    tells="nothing: products under masks that only the sender has, as many as the public map of owners says",
    ragged=True,
):
    """(3), authenticated; empty where two parties share no column."""

    body: U8
    mac: bytes


@dataclass(frozen=True)
class Scheme:
    """Which engine multiplies, for cells of which size, and uploads of another if they are shares; `made` stands in for it in tests."""

    name: str
    cells: Cells
    key_bits: int = 2048
    made: Engine | None = None
    uploads: int | None = None

    def engine(self, crossing: Crossing, party: str) -> Engine:
        """For what a party uploads: columns may share a ciphertext if all blocks use all of them."""
        if self.made is not None:
            return self.made
        blocks = [block for q in crossing.asked_by(party) for block in crossing.blocks(party, q)]
        count, fold = len(crossing.uploads(party)), 1
        if all(len(block.uploaded) == count for block in blocks):
            fold = best_fold(len(blocks[0].left), max(len(block.right) for block in blocks), count)
        size = {"bits": self.cells.ring_bits, "bound": self.cells.bound}
        return engine(self.name, self.cells.terms, **size, key_bits=self.key_bits, fold=fold, uploads=self.uploads)


@choreography(opens={Holder: "its share of the products, uniform"})
def cell_products(run: Run, left: At[I64], right: At[I64], *, crossing: Crossing, scheme: Scheme) -> At[U64]:
    """Everyone's S of (1), for tables of integers; where no two parties share a column, nothing is sent."""
    if not any(crossing.blocks(p, q) for p, q in crossing.pairs):
        return run.local(Holder, np.zeros, crossing.shape, np.uint64)
    me, tags = run.who(Holder), (run.tag(), run.tag())
    secret = run.local(Holder, secret_key, run.random(Holder), crossing, scheme, me)
    pads = run.pads(run.local(Holder, mask_seeds, run.random(Holder), crossing, me), run.tag())
    own = run.local(Holder, sealed_own, run.local(Holder, upload, left, secret, crossing, scheme, me), tags[0])
    uploads = run.send(CellUpload, Holder >> Holder, run.local(Holder, to_each, own, crossing, me))
    answer = run.local(Holder, answers, right, uploads, pads, *tags, crossing, scheme, me)
    replies = run.send(CellReply, Holder >> Holder, run.local(Holder, replies_of, answer))
    return run.local(Holder, add_replies, answer, own, replies, secret, tags[1], crossing, scheme, me)


def plan_of(crossing: Crossing, p: str, q: str) -> Plan:
    """What p and q multiply, as engines take it."""
    lengths = tuple(len(rows) for _, rows in crossing.uploads(p))
    return Plan(lengths, tuple(Block(block.uploaded, len(block.right)) for block in crossing.blocks(p, q)))


# Steps


@dataclass(frozen=True)
class PadsFor:
    """The pads for one peer."""

    pads: Any
    peer: str

    def put_on(self, name: str, words: int) -> Any:
        """Of that name."""
        return self.pads.put_on(f"{name} for {self.peer}", words)


def mask_seeds(seed: bytes, crossing: Crossing, me: str) -> dict[str, bytes]:
    """Seeds of masks and of noise, for every peer that a party answers."""
    return {f"{name} for {p}": prf(seed, name.encode(), p.encode()) for p in crossing.answered_by(me) for name in ("mask", "noise")}


def secret_key(seed: bytes, crossing: Crossing, scheme: Scheme, me: str) -> bytes:
    """Of whoever uploads."""
    return scheme.engine(crossing, me).secret(seed) if crossing.asked_by(me) else b""


@once
def upload(table: I64, secret: bytes, crossing: Crossing, scheme: Scheme, me: str) -> U8 | None:
    """(2), once for all peers, of fresh noise."""
    if not crossing.asked_by(me):
        return None
    own = crossing.left.columns[me]
    columns = [np.ascontiguousarray(table[rows, int(np.searchsorted(own, f))]) for f, rows in crossing.uploads(me)]
    return scheme.engine(crossing, me).upload(secret, columns)


def sealed_own(body: U8 | None, tag: bytes) -> Upload | None:
    """The same, authenticated."""
    return None if body is None else sealed_upload(body, tag)


def to_each(own: Upload | None, crossing: Crossing, me: str) -> Each:
    """The one upload to all that share columns."""
    full = None if own is None else CellUpload(own.body, own.mac)
    asked, nothing = crossing.asked_by(me), CellUpload(np.empty(0, np.uint8), b"")
    return Each({q: full if full is not None and q in asked else nothing for q in crossing.left.rows if q != me})


def answers(
    table: I64, uploads: Mapping[str, CellUpload], pads: Any, tag: bytes, reply_tag: bytes, crossing: Crossing, scheme: Scheme, me: str
) -> tuple[dict[str, CellReply], U64]:
    """(3) for every peer, and the sum of R_qp of (4)."""
    share, replies = np.zeros(crossing.shape, np.uint64), {}
    for p, message in uploads.items():
        if p not in crossing.answered_by(me):
            replies[p] = CellReply(np.empty(0, np.uint8), b"")
            continue
        received, plan, way = Upload(message.body, message.mac), plan_of(crossing, p, me), scheme.engine(crossing, p)
        matrices = tuple(np.ascontiguousarray(table[np.ix_(block.right, block.columns)]) for block in crossing.blocks(p, me))
        answer = answered(way, received, tag, plan, matrices, PadsFor(pads, p))
        reply = sealed_reply(answer, received, reply_tag)
        replies[p] = CellReply(reply.body, reply.mac)
        put_in(share, answer[1], crossing, p, me)
    return replies, share


def replies_of(answer: tuple[dict[str, CellReply], U64]) -> Each:
    """Each peer its own."""
    return Each(answer[0])


def add_replies(
    answer: tuple[dict[str, CellReply], U64],
    own: Upload | None,
    replies: Mapping[str, CellReply],
    secret: bytes,
    tag: bytes,
    crossing: Crossing,
    scheme: Scheme,
    me: str,
) -> U64:
    """(4)."""
    share = answer[1].copy()
    if own is not None:
        way = scheme.engine(crossing, me)
        for q in crossing.asked_by(me):
            reply = Reply(replies[q].body, replies[q].mac)
            put_in(share, finished(way, secret, own, plan_of(crossing, me, q), reply, tag), crossing, me, q)
    return share


def put_in(share: U64, words: tuple[U64, ...], crossing: Crossing, p: str, q: str) -> None:
    """The entries of every block where they belong."""
    for block, part in zip(crossing.blocks(p, q), words, strict=True):
        share[np.ix_(crossing.left.rows[p][block.left], crossing.right.rows[q][block.right])] += part
