"""Products with a matrix of which every holder knows its own rows, opened once under masks.

Owner k has the rows Z_k, n_k x D. A_k is drawn by k and by the dealer. All products are modulo 2^k of the ring.

    D_k = Z_k - A_k opened once, at all peers of k                                                                  (1)

    Z W,   D words opened, nothing dealt:    e = W - b opened, b = sum_p b_p drawn; rows of k:
           Z_k (e + b_k) at k  +  sum_(p != k) D_k b_p  at each p  +  A_k (b - b_k)  at the dealer                  (2)

    Z's,   n words opened, D words dealt:    f = s - c opened, c = sum_p c_p drawn:
           sum_k Z_k'(f + c_k)  at each k  +  sum_(k != p) D_k' c_p  at each p  +  sum_k A_k'(c - c_k)  dealt       (3)

(In (3) every product takes the rows R_k of f and c.) The dealer's term of (2) is not dealt: whoever opens Z W next,
under another mask of the dealer's, takes it off that mask (`absorbed`).

D_k b_p, D_k'c_p and the dealer's terms depend on neither data nor earlier products. So they are made for a batch of
products at once, which reads each matrix once. The dealer draws A_k anew for each batch, and keeps none of it.

`prepare`, `forward` and `transpose_times` serve every `Matrix`: this one, and one that is in shares itself
(`shares.held_rows`). They differ in what the holders keep of the matrix, and in the dealer's terms.

Roles, threat: as `dealing`. e and f are uniform as long as one holder's part of b and c is unknown, and D_k as long as
its owner and the dealer keep A_k to themselves. The number of rows of every holder is public.
Source: ours; matrix triples as in Mohassel and Zhang, S&P 2017, but the owner of a matrix knows it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import U8, U64, Array
from tacit.choreo import At, Holder, Message, Pads, Run, State, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.words import Z64, Ring, narrow, widen
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import DEALER, Correlation, Dealer, Dealing, Kept, Share, Sizes, Words, deal, draw
from tacit.protocols.shares.gates import open_masked, reduce

BLOCK = 1 << 14  # words of rows that are taken at a time: they stay in the cache

I16 = NDArray[np.int16]


class MaskedRows(Message, tells=UNIFORM, ragged=True):
    """D_k of (1), block by block, each in as few bytes as the ring needs."""

    words: U64 | U8


class MatrixShare(State):
    """What a holder has of a matrix that was opened under masks."""

    def masked(self, shape: Shape) -> Iterator[tuple[int, U64]]:
        """Yield what is multiplied with a holder's masks, block by block, with the row where each block begins."""
        raise NotImplementedError

    def add_forward(self, e: U64, b: U64, found: U64) -> None:
        """Add what a product Z W takes beside that, from e and the holder's own b, a line for each column."""
        raise NotImplementedError

    def add_back(self, f: U64, c: U64, found: U64) -> None:
        """Add what a product Z's takes beside that, from f and the holder's own c."""
        raise NotImplementedError


class RowsShare(MatrixShare):
    """What a holder has of the matrix: its own rows, and D_k of every holder, which is empty for itself.

    start: where its own rows begin among all.
    """

    Z: I16
    D: tuple[U64 | U8, ...]
    start: int

    def masked(self, shape: Shape) -> Iterator[tuple[int, U64]]:
        """Yield D_k of all other holders."""
        for words, rows, first in zip(self.D, shape.rows, shape.starts, strict=True):
            for start, D in read_rows(words, rows if words.size else 0, shape):
                yield first + start, D

    def add_forward(self, e: U64, b: U64, found: U64) -> None:
        """Add Z_k (e + b_k) of (2)."""
        from tacit.numeric.shares.owned_loops import add_own_dots  # noqa: PLC0415 - it takes a second to load

        add_own_dots(align(self.Z), (e + b).view(np.int64), found.view(np.int64), self.start)

    def add_back(self, f: U64, c: U64, found: U64) -> None:
        """Add Z_k'(f + c_k) of (3)."""
        from tacit.numeric.shares.owned_loops import add_own_outer  # noqa: PLC0415 - as above

        R = slice(self.start, self.start + len(self.Z))
        add_own_outer(align(self.Z), (f[:, R] + c[:, R]).view(np.int64), found.view(np.int64), 0)


class BatchShare(State):
    """A holder's part of a batch: its masks b and c, D_k b_p for all rows, and its share of the rest of (3).

    A line of each belongs to one column of one product.
    """

    b: U64
    c: U64
    forward: U64
    back: U64


@dataclass(frozen=True)
class Shape:
    """The public sizes of the matrix: how many rows each holder has, columns, and the bits of the ring.

    sites: who has the rows, where a committee multiplies for them.
    """

    rows: tuple[int, ...]
    columns: int
    k: int
    sites: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of all rows."""
        return sum(self.rows)

    @property
    def starts(self) -> tuple[int, ...]:
        """Where each holder's rows begin."""
        return tuple(sum(self.rows[:i]) for i in range(len(self.rows)))

    @property
    def block(self) -> int:
        """How many rows are taken at a time; whole fours, which the loops like."""
        return max(4, BLOCK // self.columns // 4 * 4)


@dataclass(frozen=True)
class Matrix(ABC):
    """A matrix that was opened once under masks. pads: what the dealer draws A from, each time anew."""

    shape: Shape
    held: At[MatrixShare]
    pads: Kept

    @staticmethod
    @abstractmethod
    def multiply_masks(A: Pads, pads: Pads, holders: Sequence[str], shape: Shape, lines: int) -> tuple[U64, U64]:
        """Return the dealer's terms of Z W and of Z's, a line for each column of each product."""


class OwnedRows(Matrix):
    """The matrix after (1)."""

    @staticmethod
    def multiply_masks(A: Pads, pads: Pads, holders: Sequence[str], shape: Shape, lines: int) -> tuple[U64, U64]:
        """Return the dealer's terms of (2) and (3)."""
        return multiply_owned(A, pads, holders, shape, lines)


@dataclass(frozen=True)
class Batch:
    """What is made beforehand for so many products Z W and Z's, of m columns each.

    absorbed: the dealer's term of (2), a line for each column.
    """

    matrix: Matrix
    m: int
    held: At[BatchShare]
    absorbed: Kept
    dealer: Dealer


@dataclass(frozen=True)
class BatchMasks(Correlation):
    """b and c of one holder."""

    b: int
    c: int

    @property
    def sizes(self) -> Sizes:
        """The two masks."""
        return Sizes(masks=(self.b, self.c))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return nothing: what follows takes each holder's masks apart from the others'."""
        del masks, bits, ring, kept
        return (), ()


@dataclass(frozen=True)
class Given(Correlation):
    """Words that the dealer has made already."""

    size: int

    @property
    def sizes(self) -> Sizes:
        """These words."""
        return Sizes(made=(self.size,))

    def make(self, masks: Words, bits: Words, ring: Ring, kept: Words) -> tuple[Words, Words]:
        """Return the words."""
        del masks, bits
        return (reduce(kept[0], ring).copy(),), ()


@choreography(opens={Holder: UNIFORM})
def open_rows(run: Run, dealing: Dealing, Z: At[I16], shape: Shape) -> OwnedRows:
    """Open Z - A, (1), once for all products with Z."""
    tag = run.tag()
    own, known = dealing.dealer.draw(run, tag)
    masked = run.local(Holder, mask_rows, Z, own, shape)
    received = run.send(MaskedRows, Holder >> Holder, masked)
    held = run.local(Holder, keep_rows, Z, received, run.who(Holder), run.roster[Holder], shape)
    return OwnedRows(shape, held, known)


@choreography(opens={Holder: UNIFORM})
def prepare(run: Run, dealing: Dealing, matrix: Matrix, *, products: int, m: int) -> Batch:
    """Make what so many products of each kind take, all of m columns."""
    tag, holders, shape = run.tag(), run.roster[Holder], matrix.shape
    lines = products * m
    dealer = dealing.dealer
    own, known = dealer.draw(run, tag)
    made = dealer.compute(run, matrix.multiply_masks, matrix.pads, known, holders, shape, lines)
    absorbed = dealer.compute(run, take_first, made)
    back, _ = deal(run, dealing, Given(lines * shape.columns), kept=dealer.compute(run, take_second, made))
    held = run.local(Holder, make_own, matrix.held, own, back, shape, lines)
    return Batch(matrix, m, held, absorbed, dealer)


@choreography(opens={Holder: UNIFORM})
def forward(run: Run, batch: Batch, j: int, W: At[U64], beside: At[U64]) -> tuple[At[U64], Kept, At[U64]]:
    """Return shares of Z W, (2), the dealer's term of it, and the other value, which is opened in the same message.

    W: shares modulo 2^64, a row for each column of Z, of m columns. Z W has a line for each of these.
    beside: shares of a value under a mask of its own, modulo 2^64.
    """
    masked = run.local(Holder, mask_columns, W, beside, batch.held, j, batch.m)
    opened = open_masked(run, masked, ring=Z64)
    share = run.local(Holder, forward_share, opened, batch.held, batch.matrix.held, j, batch.m)
    absorbed = batch.dealer.compute(run, take_lines, batch.absorbed, j, batch.m)
    return share, absorbed, run.local(Holder, drop_columns, opened, batch.held, batch.m)


@choreography(opens={Holder: UNIFORM})
def transpose_times(run: Run, dealing: Dealing, batch: Batch, j: int, s: At[U64]) -> At[U64]:
    """Return shares of Z's, (3), a row for each column of Z, of an s that has a line for each of m columns."""
    masked = run.local(Holder, mask_lines, s, batch.held, j, batch.m, dealing.ring)
    f = open_masked(run, masked, ring=dealing.ring)
    return run.local(Holder, transposed_share, f, batch.held, batch.matrix.held, j, batch.m)


# Blocks of rows


def draw_rows(chunks: Iterable[U64], rows: int, shape: Shape) -> Iterator[tuple[int, U64]]:
    """Yield a matrix of drawn words block by block, with the row where each begins; the next one overwrites it."""
    buffer = np.empty(shape.block * shape.columns, dtype=np.uint64)
    start = filled = 0
    whole = min(shape.block, rows) * shape.columns
    for chunk in chunks:
        at = 0
        while at < chunk.size:
            taken = min(chunk.size - at, whole - filled)
            buffer[filled : filled + taken] = chunk[at : at + taken]
            at, filled = at + taken, filled + taken
            if filled == whole:
                yield start, buffer[:whole].reshape(-1, shape.columns)
                start, filled = start + whole // shape.columns, 0
                whole = min(shape.block, rows - start) * shape.columns


def read_rows(words: U64 | U8, rows: int, shape: Shape) -> Iterator[tuple[int, U64]]:
    """Yield a matrix that was sent block by block, with the row where each begins."""
    item = count_items(shape.k)
    for start in range(0, rows, shape.block):
        end = min(start + shape.block, rows)
        block = words[start * shape.columns * item : end * shape.columns * item]
        yield start, align(widen(block, shape.k)).reshape(-1, shape.columns)


def align(array: Array) -> Array:
    """Return an array as compiled loops take it: what came from a message or a journal may begin at any byte."""
    return np.require(array, requirements=["C", "A"])


def count_items(k: int) -> int:
    """Return how many items of an array `narrow` makes of one word."""
    return narrow(np.zeros(1, dtype=np.uint64), k).size


# Steps at the holders


def mask_rows(Z: I16, pads: Pads, shape: Shape) -> MaskedRows:
    """Return D_k, (1)."""
    ring = Ring(1 << shape.k)
    empty = narrow(np.empty(0, dtype=np.uint64), shape.k)
    found = np.empty(Z.size * count_items(shape.k), dtype=empty.dtype)
    at = 0
    for start, A in draw_rows(pads.put_on(DEALER, Z.size), len(Z), shape):
        masked = Z[start : start + len(A)].astype(np.int64).view(np.uint64) - A
        part = narrow(reduce(masked, ring).ravel(), shape.k)
        found[at : at + part.size] = part
        at += part.size
    return MaskedRows(found)


def keep_rows(Z: I16, received: Mapping[str, MaskedRows], me: str, holders: Sequence[str], shape: Shape) -> RowsShare:
    """Return what a holder has of the matrix."""
    for party, rows in zip(holders, shape.rows, strict=True):
        whole = rows * shape.columns * count_items(shape.k)
        if party != me and received[party].words.size != whole:
            raise PeerError(f"{party} sent rows of another size than it said: stop and ask {party}")
    D = tuple(received[p].words if p != me else np.empty(0, dtype=np.uint64) for p in holders)
    return RowsShare(Z, D, shape.starts[holders.index(me)])


def make_own(held: MatrixShare, pads: Pads, back: Share, shape: Shape, lines: int) -> BatchShare:
    """Return a holder's part of a batch."""
    from tacit.numeric.shares.owned_loops import add_dots, add_outer  # noqa: PLC0415 - it takes a second to load

    b, c = draw_masks(pads, DEALER, shape, lines)
    ahead = np.zeros((lines, shape.n), dtype=np.uint64)
    behind = back.made[0].reshape(lines, -1).copy()
    for start, D in held.masked(shape):
        add_dots(D, b, ahead, start)
        add_outer(D, c, behind, start)
    return BatchShare(b, c, ahead, behind)


def draw_masks(pads: Pads, name: str, shape: Shape, lines: int) -> tuple[U64, U64]:
    """Return b and c of one holder, a line for each column of each product."""
    masks = draw(BatchMasks(lines * shape.columns, lines * shape.n), pads, name, Z64, last=True).masks
    return masks[0].reshape(lines, -1), masks[1].reshape(lines, -1)


def mask_columns(W: U64, beside: U64, held: BatchShare, j: int, m: int) -> U64:
    """Return the share of e, with the other value behind it."""
    return np.concatenate([(W.reshape(-1, m).T - held.b[j * m : (j + 1) * m]).ravel(), beside])


def forward_share(opened: U64, held: BatchShare, rows: MatrixShare, j: int, m: int) -> U64:
    """Return the share of Z W, (2)."""
    b = held.b[j * m : (j + 1) * m]
    found = held.forward[j * m : (j + 1) * m].copy()
    rows.add_forward(opened[: b.size].reshape(b.shape), b, found)
    return found.ravel()


def drop_columns(opened: U64, held: BatchShare, m: int) -> U64:
    """Return the other value that was opened with e."""
    return opened[m * held.b.shape[1] :]


def mask_lines(s: U64, held: BatchShare, j: int, m: int, ring: Ring) -> U64:
    """Return the share of f."""
    return reduce(s - held.c[j * m : (j + 1) * m].ravel(), ring)


def transposed_share(f: U64, held: BatchShare, rows: MatrixShare, j: int, m: int) -> U64:
    """Return the share of Z's, (3)."""
    found = held.back[j * m : (j + 1) * m].copy()
    rows.add_back(f.reshape(m, -1), held.c[j * m : (j + 1) * m], found)
    return found.T.ravel()


# Steps at the dealer


def multiply_owned(rows: Pads, pads: Pads, holders: Sequence[str], shape: Shape, lines: int) -> tuple[U64, U64]:
    """Return the dealer's terms of (2) and (3), a line for each column of each product."""
    from tacit.numeric.shares.owned_loops import add_dots, add_outer  # noqa: PLC0415 - as above

    spans = [slice(start, start + count) for start, count in zip(shape.starts, shape.rows, strict=True)]
    b, others = [], np.zeros((lines, shape.n), dtype=np.uint64)
    for party, own in zip(holders, spans, strict=True):
        of_columns, of_rows = draw_masks(pads, party, shape, lines)
        b.append(of_columns)
        others[:, : own.start] += of_rows[:, : own.start]  # c - c_k
        others[:, own.stop :] += of_rows[:, own.stop :]
    total = np.sum(b, axis=0, dtype=np.uint64)
    ahead = np.zeros((lines, shape.n), dtype=np.uint64)
    behind = np.zeros((lines, shape.columns), dtype=np.uint64)
    for party, own, of_columns, count in zip(holders, spans, b, shape.rows, strict=True):
        for start, A in draw_rows(rows.take_off(party, count * shape.columns), count, shape):
            add_dots(A, total - of_columns, ahead, own.start + start)
            add_outer(A, others, behind, own.start + start)
    return ahead, behind


def take_first(made: tuple[U64, U64]) -> U64:
    """Return the dealer's term of (2)."""
    return made[0]


def take_second(made: tuple[U64, U64]) -> Words:
    """Return the dealer's term of (3)."""
    return (made[1].ravel(),)


def take_lines(absorbed: U64, j: int, m: int) -> U64:
    """Return the dealer's term of one product."""
    return absorbed[j * m : (j + 1) * m].ravel()
