"""Products with a shared result: what the engines `bfv` and `paillier` have in common.

The key holder P has integer columns a_1 .. a_C. The other side Q has a matrix B of integers for every block of a plan:

    S_P + S_Q = sum_{f in block} a_f b_f'   (mod 2^k)         a_f of length L, b_f of `rows` entries, column f of B  (1)

S_P and S_Q are L x rows words of Z_2^k, each of them uniform. The plan is public: how long the columns are, and which
of them each block multiplies. One upload serves many plans, so it can go to many peers.

    P: secret(seed)                  -> secret                     key material, to be kept by P
    P: upload(secret, lengths, a)    -> upload                     the columns, encrypted
    Q: reply(upload, plan, B, pads)  -> reply, S_Q                 masked by `pads`, protected against the key holder
    P: finish(secret, plan, reply)   -> S_P

Entries are integers of at most `bound` in size and a block has at most `terms` columns, with terms * bound^2 < 2^(k-1):
the centred residue of S_P + S_Q is the product itself, and nothing wraps unseen. Where P's columns are shares
themselves, they are any elements of Z_2^k, of up to `uploads` in size, and (1) holds modulo 2^k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.arrays import I64, U8, U64
from tacit.errors import LocalError, MissingExtraError

BITS, BOUND, KEY_BITS = 48, 1 << 20, 2048
STATISTICAL = 40  # what hides behind a larger random number does so up to a distance of 2^-40
ENGINES = ("bfv", "paillier")


@dataclass(frozen=True)
class Block:
    """Uploaded columns of one length, each to be multiplied with a column of a matrix of so many rows."""

    columns: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class Plan:
    """How long the uploaded columns are, and the blocks; known to both sides."""

    lengths: tuple[int, ...]
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        if not self.lengths or min(self.lengths) < 1 or any(b.rows < 1 for b in self.blocks):
            raise LocalError("a product of nothing: every column and every block needs at least one row")
        for block in self.blocks:
            if len({self.lengths[c] for c in block.columns}) != 1 or len(set(block.columns)) != len(block.columns):
                raise LocalError(
                    f"a block needs different columns of one length, got columns {block.columns}: make it two blocks"
                )

    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Return the shapes of the shares, one for each block."""
        return tuple((self.lengths[b.columns[0]], b.rows) for b in self.blocks)


def plan_dense(rows: int, others: int, columns: int) -> Plan:
    """Return a plan of one block: a `rows` x `columns` matrix times the transpose of an `others` x `columns` one."""
    return Plan((rows,) * columns, (Block(tuple(range(columns)), others),))


class Masks(Protocol):
    """Where the other side of a product takes its masks and its noise from."""

    def put_on(self, name: str, words: int) -> Iterator[U64]:
        """Return the pad of that name in chunks; once only."""
        ...


class Engine(Protocol):
    """One way to compute (1)."""

    @property
    def bits(self) -> int:
        """The k of Z_2^k."""
        ...

    @property
    def bound(self) -> int:
        """The largest size of an entry."""
        ...

    @property
    def terms(self) -> int:
        """How many columns a block has at most."""
        ...

    def secret(self, seed: bytes) -> bytes:
        """Return the key, made of 32 random bytes."""
        ...

    def upload(self, secret: bytes, columns: Sequence[I64]) -> U8:
        """Return the columns, encrypted."""
        ...

    def reply(self, upload: U8, plan: Plan, matrices: Sequence[I64], pads: Masks) -> tuple[U8, tuple[U64, ...]]:
        """Return the products under masks, encrypted, and the share S_Q."""
        ...

    def finish(self, secret: bytes, plan: Plan, reply: U8) -> tuple[U64, ...]:
        """Return the share S_P."""
        ...

    def count_bytes(self, plan: Plan) -> int:
        """Return how many bytes the upload and the reply of a plan have; nothing is computed."""
        ...


def make_engine(
    name: str,
    terms: int,
    *,
    bits: int = BITS,
    bound: int = BOUND,
    key_bits: int = KEY_BITS,
    fold: int = 1,
    uploads: int | None = None,
) -> Engine:
    """Return an engine for blocks of at most `terms` columns.

    `key_bits` and `uploads` are for `paillier`, `fold` (columns in one ciphertext) for `bfv`.
    """
    if name not in ENGINES:
        raise LocalError(f"unknown engine {name!r} of a product: use one of {', '.join(ENGINES)}")
    if terms < 1 or bound < 1 or terms * bound * bound >= 1 << (bits - 1):
        raise LocalError(
            f"{terms} products of entries up to {bound} do not fit into {bits} bits: lower feature_bits, scale the"
            " features, or raise bits"
        )
    try:
        if name == "bfv":
            from tacit.papers.gram.engines.bfv import Bfv  # noqa: PLC0415 - an extra

            return Bfv(terms, bound, bits, fold)
        from tacit.papers.gram.engines.paillier_slots import PaillierSlots  # noqa: PLC0415 - an extra

        return PaillierSlots(terms, bound, bits, key_bits, uploads=uploads)
    except ImportError:
        raise MissingExtraError(f"a product with engine={name!r}", "he") from None


def check_entries(values: Sequence[I64], shapes: Sequence[tuple[int, ...]], bound: int, what: str) -> None:
    """Refuse arrays that are not what the plan says, or entries that could wrap."""
    found = [np.shape(v) for v in values]
    if found != [tuple(s) for s in shapes]:
        raise LocalError(f"{what}: arrays of shape {found} where the plan of the product says {list(shapes)}")
    largest = max(max(int(v.max()), -int(v.min())) for v in values)
    if largest > bound:
        raise LocalError(
            f"{what}: an entry is {largest} in fixed point, over the bound of {bound}: scale the features or lower"
            " feature_bits"
        )


def check_matrices(plan: Plan, matrices: Sequence[I64], bound: int) -> None:
    """Refuse matrices of Q that are not what the plan says."""
    check_entries(matrices, [(b.rows, len(b.columns)) for b in plan.blocks], bound, "the other side of a product")


def draw_words(pads: Masks, name: str, words: int) -> U64:
    """Return so many words of a pad in one array."""
    return np.concatenate([chunk.copy() for chunk in pads.put_on(name, words)])
