"""Cell products: everyone ends with a share of A B' where both tables are split between the parties cell by cell.

The problem. A = sum_p A_p and B = sum_q B_q, zero where a party owns no cell; who owns what is public
(`numeric.cells.ownership`). In Z_2^k

    sum_p S_p = sum_{(p, q) in pairs} A_p B_q'                                                                       (1)

shall hold, where S_p are the shares of all parties, and nobody shall learn anything else. Each pair does what
`secure_product` does, all pairs in the same two rounds; p makes one upload for all its peers, of columns that one of
these owns cells of too:

    p >> q   E_p(a_pf)                                   for every column f that p uploads                           (2)
    q >> p   E_p(sum_f a_pf b_qf' - R_pq)                for every block of columns with the same rows               (3)
    S_p = sum_q D_p(3) + sum_q R_qp                      entries of a block where they belong in A B'                (4)

Roles. Holder: has cells of A and of B. Threat. As `secure_product`, for each pair: shares are uniform, so any coalition
can make up what it sees of the others' cells from its own. Not protected: who owns which cell.

Source: 001 section 5, the variant that resists collusion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.arrays import I64, U8, U64
from tacit.choreo import At, Each, Fact, Holder, Pads, Run, choreography, once
from tacit.counted import counted
from tacit.crypto.pads.entropy import prf
from tacit.numeric.cells.integers import Cells
from tacit.papers.gram.crossing import Crossing
from tacit.papers.gram.engines.bfv_layout import best_fold
from tacit.papers.gram.engines.engines import Block, Engine, Plan, make_engine
from tacit.papers.gram.secure_product import Reply, Upload, answer_upload, finish_product, seal_reply, seal_upload

PRODUCT_SHARES = Fact("cells.product_shares", "nobody", "nothing", "none", "its share of the products, uniform")


@dataclass(frozen=True)
class Scheme:
    """Which engine multiplies cells of which size.

    uploads: how large uploaded numbers may be, where they are shares and larger than cells. made: an engine that stands
    in for it in tests.
    """

    name: str
    cells: Cells
    key_bits: int = 2048
    made: Engine | None = None
    uploads: int | None = None

    def engine(self, crossing: Crossing, party: str) -> Engine:
        """Return the engine for what a party uploads: columns may share a ciphertext if all blocks use all of them."""
        if self.made is not None:
            return self.made
        blocks = [block for q in crossing.asked_by(party) for block in crossing.blocks(party, q)]
        count, fold = len(crossing.uploads(party)), 1
        if all(len(block.uploaded) == count for block in blocks):
            fold = best_fold(len(blocks[0].left), max(len(block.right) for block in blocks), count)
        size = {"bits": self.cells.ring_bits, "bound": self.cells.bound}
        return make_engine(self.name, self.cells.terms, **size, key_bits=self.key_bits, fold=fold, uploads=self.uploads)


@choreography(opens={Holder: PRODUCT_SHARES})
def cell_products(run: Run, left: At[I64], right: At[I64], *, crossing: Crossing, scheme: Scheme) -> At[U64]:
    """Return everyone's share S of (1), for tables of integers.

    Where no two parties share a column, nothing is sent.
    """
    if not any(crossing.blocks(p, q) for p, q in crossing.pairs):
        return run.local(Holder, empty_share, crossing.shape)
    me, tags = run.who(Holder), (run.tag(), run.tag())
    secret = run.local(Holder, secret_key, run.random(Holder), crossing, scheme, me)
    pads = run.pads(run.local(Holder, mask_seeds, run.random(Holder), crossing, me), run.tag())
    own = run.local(Holder, seal_own, run.local(Holder, encrypt_own, left, secret, crossing, scheme, me), tags[0])
    uploads = run.send(Upload, Holder >> Holder, run.local(Holder, address_upload, own, crossing, me))
    answer = run.local(Holder, answer_uploads, right, uploads, pads, *tags, crossing, scheme, me)
    replies = run.send(Reply, Holder >> Holder, run.local(Holder, address_replies, answer))
    return run.local(Holder, add_replies, answer, own, replies, secret, tags[1], crossing, scheme, me)


def plan_of(crossing: Crossing, p: str, q: str) -> Plan:
    """Return what p and q multiply, as engines take it."""
    lengths = tuple(len(rows) for _, rows in crossing.uploads(p))
    return Plan(lengths, tuple(Block(block.uploaded, len(block.right)) for block in crossing.blocks(p, q)))


# Steps


@dataclass(frozen=True)
class PadsFor:
    """The pads of a party for one peer."""

    pads: Pads
    peer: str

    def put_on(self, name: str, words: int) -> Iterator[U64]:
        """Return the pad of that name in chunks, to be added to a value; once only."""
        return self.pads.put_on(f"{name} for {self.peer}", words)


def mask_seeds(seed: bytes, crossing: Crossing, me: str) -> dict[str, bytes]:
    """Return seeds of masks and of noise, for every peer that a party answers."""
    return {
        f"{name} for {p}": prf(seed, name.encode(), p.encode())
        for p in crossing.answered_by(me)
        for name in ("mask", "noise")
    }


def secret_key(seed: bytes, crossing: Crossing, scheme: Scheme, me: str) -> bytes:
    """Return the key of a party that uploads; empty if it does not."""
    return scheme.engine(crossing, me).secret(seed) if crossing.asked_by(me) else b""


def empty_share(shape: tuple[int, int]) -> U64:
    """Return a share to which nothing was added yet: zeros."""
    return np.zeros(shape, np.uint64)


@once
def encrypt_own(table: I64, secret: bytes, crossing: Crossing, scheme: Scheme, me: str) -> U8 | None:
    """Return a party's encrypted columns, (2), once for all peers and with fresh noise; None if nobody asks."""
    if not crossing.asked_by(me):
        return None
    own = crossing.left.columns[me]
    columns = [np.ascontiguousarray(table[rows, int(np.searchsorted(own, f))]) for f, rows in crossing.uploads(me)]
    return scheme.engine(crossing, me).upload(secret, columns)


def seal_own(body: U8 | None, tag: bytes) -> Upload | None:
    """Return the upload with its MAC."""
    return None if body is None else seal_upload(body, tag)


def address_upload(own: Upload | None, crossing: Crossing, me: str) -> Each:
    """Return the one upload for all that share columns, and nothing for the others."""
    asked, nothing = crossing.asked_by(me), Upload(np.empty(0, np.uint8), b"")
    return Each({q: own if own is not None and q in asked else nothing for q in crossing.left.rows if q != me})


def answer_uploads(
    table: I64,
    uploads: Mapping[str, Upload],
    pads: Pads,
    tag: bytes,
    reply_tag: bytes,
    crossing: Crossing,
    scheme: Scheme,
    me: str,
) -> tuple[dict[str, Reply], U64]:
    """Return the replies (3) for every peer, and the sum of the masks R_qp of (4)."""
    share, replies = np.zeros(crossing.shape, np.uint64), {}
    for p, message in counted(tuple(uploads.items())):
        if p not in crossing.answered_by(me):
            replies[p] = Reply(np.empty(0, np.uint8), b"")
            continue
        plan, way = plan_of(crossing, p, me), scheme.engine(crossing, p)
        blocks = [np.ix_(block.right, block.columns) for block in crossing.blocks(p, me)]
        matrices = tuple(np.ascontiguousarray(table[block]) for block in blocks)
        answer = answer_upload(way, message, tag, plan, matrices, PadsFor(pads, p))
        replies[p] = seal_reply(answer, message, reply_tag)
        put_in(share, answer[1], crossing, p, me)
    return replies, share


def address_replies(answer: tuple[dict[str, Reply], U64]) -> Each:
    """Return the replies, each for its own peer."""
    return Each(answer[0])


def add_replies(
    answer: tuple[dict[str, Reply], U64],
    own: Upload | None,
    replies: Mapping[str, Reply],
    secret: bytes,
    tag: bytes,
    crossing: Crossing,
    scheme: Scheme,
    me: str,
) -> U64:
    """Return the party's share, (4)."""
    share = answer[1].copy()
    if own is not None:
        way = scheme.engine(crossing, me)
        for q in counted(tuple(crossing.asked_by(me))):
            put_in(share, finish_product(way, secret, own, plan_of(crossing, me, q), replies[q], tag), crossing, me, q)
    return share


def put_in(share: U64, words: tuple[U64, ...], crossing: Crossing, p: str, q: str) -> None:
    """Add the entries of every block to the share where they belong."""
    for block, part in zip(crossing.blocks(p, q), words, strict=True):
        share[np.ix_(crossing.left.rows[p][block.left], crossing.right.rows[q][block.right])] += part
