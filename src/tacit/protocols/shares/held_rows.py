"""Products with a matrix that is in shares itself, opened once under a mask of which every holder has a part.

Z is n x D; A_p is drawn by holder p and by the dealer. All products are modulo 2^k of the ring.

    D = Z - A opened once,    A = sum_p A_p drawn: nothing is dealt for it                                          (1)

    Z W,   e = W - b opened:     D b_p  +  A_p e   at each p  +  D e  at the first  +  A b  at the dealer            (2)
    Z's,   f = s - c opened:     D'c_p  +  A_p'f   at each p  +  D'f  at the first  +  A'c  dealt, D words           (3)
    Z'Z                          D'A_p  +  A_p'D   at each p  +  D'D  at the first  +  A'A  dealt, a triangle        (4)

Where sites have rows of Z in clear and a committee multiplies (`deposits`), A is drawn by those sites, and dealt:

    D_k = Z_k - A_k opened once to the committee by each site k;    A in shares of the committee, dealt: n D words   (5)

D b_p, D'c_p and the dealer's terms depend on neither data nor earlier products: they are made for a batch, as `owned`
has it. So the calls `prepare`, `forward` and `transpose_times` of `owned` serve this matrix too.

Roles, threat: as `dealing`; D is uniform as long as one holder's part of A is unknown, and D_k as long as k and the
dealer keep A_k to themselves.
Source: as `owned`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Pads, Run, Site, choreography
from tacit.errors import PeerError
from tacit.numeric.ring.triangle import pack
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.ring_product import ring_product
from tacit.protocols.facts import UNIFORM
from tacit.protocols.shares.dealing import DEALER, Dealing, Share, Words, deal
from tacit.protocols.shares.factors import draw_words
from tacit.protocols.shares.gates import bits_of, open_masked, triangle_size
from tacit.protocols.shares.owned import (
    I16,
    Given,
    MaskedRows,
    Matrix,
    MatrixShare,
    Shape,
    align,
    count_items,
    draw_masks,
    draw_rows,
    mask_rows,
    read_rows,
)


class HeldShare(MatrixShare):
    """What a holder has of the matrix: D, and what it multiplies opened values with: A_p, and D at the first one."""

    D: U64
    own: U64

    def masked(self, shape: Shape) -> Iterator[tuple[int, U64]]:
        """Yield D."""
        del shape
        yield 0, align(self.D)

    def add_forward(self, e: U64, b: U64, found: U64) -> None:
        """Add A_p e of (2), and D e at the first holder."""
        from tacit.numeric.shares.owned_loops import add_dots  # noqa: PLC0415 - it takes a second to load

        del b
        add_dots(align(self.own), align(e), found, 0)

    def add_back(self, f: U64, c: U64, found: U64) -> None:
        """Add A_p'f of (3), and D'f at the first holder."""
        from tacit.numeric.shares.owned_loops import add_outer  # noqa: PLC0415 - as above

        del c
        add_outer(align(self.own), align(f), found, 0)


class HeldRows(Matrix):
    """The matrix after (1)."""

    @staticmethod
    def multiply_masks(A: Pads, pads: Pads, holders: Sequence[str], shape: Shape, lines: int) -> tuple[U64, U64]:
        """Return the dealer's terms of (2) and (3)."""
        return multiply_held(A, pads, holders, shape, lines)


@choreography(opens={Holder: UNIFORM})
def open_held(run: Run, dealing: Dealing, Z: At[U64], *, n: int, columns: int) -> HeldRows:
    """Open Z - A, (1), once for all products with Z, of which the holders have shares modulo 2^64, row by row."""
    tag, shape = run.tag(), Shape((n,), columns, 64)
    pads, known = dealing.dealer.draw(run, tag)
    mask = run.local(Holder, draw_mask, pads, shape)
    D = open_masked(run, run.local(Holder, hide_matrix, Z, mask), ring=Z64, size=n * columns)
    held = run.local(Holder, keep_matrix, D, mask, shape, dealing.first)
    return HeldRows(shape, held, known)


@choreography(opens={Holder: UNIFORM})
def open_given(run: Run, dealing: Dealing, Z: At[I16], rows: Sequence[int], columns: int) -> HeldRows:
    """Open Z - A, (5), once for all products with Z, of which every site has so many rows."""
    tag, shape, dealer = run.tag(), Shape(tuple(rows), columns, bits_of(Z64), run.roster[Site]), dealing.dealer
    own, known = dealer.draw(run, tag)
    received = run.send(MaskedRows, Site >> Holder, run.local(Site, mask_rows, Z, own, shape))
    A = dealer.compute(run, draw_given, known, shape)
    dealt, _ = deal(run, replace(dealing, ring=Z64), Given(shape.n * columns), kept=A)
    return HeldRows(shape, run.local(Holder, keep_given, received, dealt, shape, dealing.first), known)


@choreography(opens={Holder: UNIFORM})
def multiply_itself(run: Run, dealing: Dealing, matrix: HeldRows, *, rows: slice | None = None) -> At[U64]:
    """Return shares of Z'Z, (4), modulo 2^64, as a triangle; of all rows, or of some that follow each other."""
    holders, shape, taken = run.roster[Holder], matrix.shape, rows or slice(0, matrix.shape.n)
    made = dealing.dealer.compute(run, square_masks, matrix.pads, holders, shape, taken)
    dealt, _ = deal(run, replace(dealing, ring=Z64), Given(triangle_size(shape.columns)), kept=made)
    return run.local(Holder, add_squares_of, matrix.held, dealt, taken, dealing.first)


# Steps at the holders


def draw_mask(pads: Pads, shape: Shape) -> U64:
    """Return A_p."""
    return draw_words(pads, DEALER, shape.n * shape.columns, Z64)


def hide_matrix(Z: U64, mask: U64) -> U64:
    """Return the share of D."""
    return Z - mask


def keep_matrix(D: U64, mask: U64, shape: Shape, first: bool) -> HeldShare:  # noqa: FBT001 - a step
    """Return what a holder has of the matrix."""
    own = mask + D if first else mask
    return HeldShare(D.reshape(-1, shape.columns), own.reshape(-1, shape.columns))


def keep_given(received: Mapping[str, MaskedRows], dealt: Share, shape: Shape, first: bool) -> HeldShare:  # noqa: FBT001 - a step
    """Return what a member of the committee has of the matrix, (5)."""
    D = np.empty((shape.n, shape.columns), dtype=np.uint64)
    for party, rows, at in zip(shape.sites, shape.rows, shape.starts, strict=True):
        words = received[party].words
        if words.size != rows * shape.columns * count_items(shape.k):
            raise PeerError(f"{party} sent rows of another size than it said: stop and ask {party}")
        for start, block in read_rows(words, rows, shape):
            D[at + start : at + start + len(block)] = block
    return keep_matrix(D.ravel(), dealt.made[0], shape, first)


def add_squares_of(held: HeldShare, dealt: Share, rows: slice, first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of (4). Of D'A + A'D + D'D each part is a matrix with its transpose, or symmetric itself."""
    D, own = align(held.D[rows]), align(held.own[rows])
    turned = np.ascontiguousarray(D.T)
    product = ring_product(turned, own)
    found = product + product.T
    if first:  # its own part has D in it already, twice
        found -= ring_product(turned, D)
    return np.asarray(pack(found, 0) + dealt.made[0])


# Steps at the dealer


def draw_blocks(A: Pads, holders: Sequence[str], shape: Shape) -> Iterator[tuple[int, U64]]:
    """Yield A block by block, with the row where each begins."""
    if shape.sites:
        for party, rows, first in zip(shape.sites, shape.rows, shape.starts, strict=True):
            for start, block in draw_rows(A.take_off(party, rows * shape.columns), rows, shape):
                yield first + start, block
        return
    words = shape.n * shape.columns
    drawn = [draw_rows(A.take_off(party, words), shape.n, shape) for party in holders]
    for parts in zip(*drawn, strict=True):
        yield parts[0][0], np.sum([block for _, block in parts], axis=0, dtype=np.uint64)


def draw_given(A: Pads, shape: Shape) -> Words:
    """Return A of (5), row by row."""
    found = np.empty((shape.n, shape.columns), dtype=np.uint64)
    for start, block in draw_blocks(A, (), shape):
        found[start : start + len(block)] = block
    return (found.ravel(),)


def multiply_held(A: Pads, pads: Pads, holders: Sequence[str], shape: Shape, lines: int) -> tuple[U64, U64]:
    """Return the dealer's terms of (2) and (3), a line for each column of each product."""
    from tacit.numeric.shares.owned_loops import add_dots, add_outer  # noqa: PLC0415 - as above

    masks = [draw_masks(pads, party, shape, lines) for party in holders]
    b, c = (np.sum(each, axis=0, dtype=np.uint64) for each in zip(*masks, strict=True))
    ahead = np.zeros((lines, shape.n), dtype=np.uint64)
    behind = np.zeros((lines, shape.columns), dtype=np.uint64)
    for start, block in draw_blocks(A, holders, shape):
        add_dots(block, b, ahead, start)
        add_outer(block, c, behind, start)
    return ahead, behind


def square_masks(A: Pads, holders: Sequence[str], shape: Shape, rows: slice) -> Words:
    """Return A'A of (4), of these rows."""
    found = np.zeros((shape.columns, shape.columns), dtype=np.uint64)
    for start, drawn in draw_blocks(A, holders, shape):
        block = drawn[max(0, rows.start - start) : max(0, rows.stop - start)]
        found += ring_product(np.ascontiguousarray(block.T), block)
    return (pack(found, 0),)
