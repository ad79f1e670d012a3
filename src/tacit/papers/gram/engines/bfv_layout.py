"""Where the entries of a product lie in polynomials of N coefficients: the layout of engine `bfv`.

A strip is a column of the upload, or F columns of one length side by side (F = `fold`), cut into pieces of at most N /
F rows:

    a(X) = sum_i sum_{f<F} a_if X^(iF + f)                                                                     (1)
    b(X) = sum_j sum_{f<F} b_jf X^(s + jw + F-1-f)                   w = F * rows of the piece                 (2)
    coefficient s + jw + iF + F-1 of a(X) b(X)   =   sum_f a_if b_jf                                           (3)

In (3) a product of different f, or one that goes once around, falls on another residue mod F. The products of all
strips of a block add up, and several rows j, of several blocks, lie side by side in one polynomial: a stretch is a run
of rows of one block in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import I64, U64
from tacit.errors import LocalError
from tacit.papers.gram.engines.engines import Block, Plan

N = 8192
LEAST = 128  # coefficients of a reply that are sent, so that a reply to another key is found out
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Stretch:
    """Where some rows of a block lie in a polynomial.

    Rows first .. first + count of the block's matrix, times rows top .. top + height of its columns, from coefficient
    `start` on.
    """

    block: int
    piece: int
    top: int
    height: int
    first: int
    count: int
    start: int


def strips(lengths: tuple[int, ...], fold: int) -> list[tuple[int, ...]]:
    """Return which columns share a polynomial."""
    return [tuple(range(c, min(c + fold, len(lengths)))) for c in range(0, len(lengths), fold)]


def strips_of(block: Block, lengths: tuple[int, ...], fold: int) -> list[int]:
    """Return the strips of a block, which must not use a part of a strip."""
    own = sorted({c // fold for c in block.columns})
    if fold > 1 and tuple(c for s in own for c in strips(lengths, fold)[s]) != block.columns:
        raise LocalError(
            f"blocks over columns that share a polynomial (fold={fold}) must use all of them, in order: use fold=1"
        )
    return own


def pieces(length: int, fold: int) -> Iterator[tuple[int, int]]:
    """Return where each piece of a column begins, and how many rows it has."""
    room = N // fold
    return ((top, min(room, length - top)) for top in range(0, length, room))


def numbers(lengths: tuple[int, ...], fold: int) -> dict[tuple[int, int], int]:
    """Return the place in the upload of every strip's pieces."""
    order = [
        (s, p)
        for s, columns in enumerate(strips(lengths, fold))
        for p, _ in enumerate(pieces(lengths[columns[0]], fold))
    ]
    return {key: i for i, key in enumerate(order)}


def stretches(plan: Plan, fold: int) -> list[list[Stretch]]:
    """Return every block's rows, one after the other, in as few polynomials as hold them."""
    found: list[list[Stretch]] = [[]]
    at = 0
    for b, (block, (length, _)) in enumerate(zip(plan.blocks, plan.shapes(), strict=True)):
        for piece, (top, height) in enumerate(pieces(length, fold)):
            first = 0
            while first < block.rows:
                count = min(block.rows - first, (N - at) // (height * fold))
                if count:
                    found[-1].append(Stretch(b, piece, top, height, first, count, at))
                    first, at = first + count, at + count * height * fold
                else:
                    found.append([])
                    at = 0
    return found


def spread_columns(columns: list[I64], top: int, height: int, fold: int, mask: int) -> U64:
    """Return (1), with negative entries as residues of the plaintext modulus."""
    words = np.zeros((height, fold), np.uint64)
    for f, column in enumerate(columns):
        words[:, f] = column[top : top + height].astype(np.uint64)
    return words.reshape(-1) & np.uint64(mask)


@dataclass(frozen=True)
class Terms:
    """What a stretch asks for: ciphertexts of the upload, each times a power of X and an entry of the block's matrix.

    All are tables with a row for each row of the stretch, and a column for each of the block.
    """

    numbers: I64
    shifts: I64
    values: I64


def terms(matrix: I64, numbers: Sequence[int], stretch: Stretch, fold: int) -> Terms:
    """Return the terms of (2), where the strips of a block are those ciphertexts."""
    values = matrix[stretch.first : stretch.first + stretch.count]
    columns = np.arange(values.shape[1])
    starts = stretch.start + stretch.height * fold * np.arange(stretch.count)
    shifts = starts[:, None] + fold - 1 - columns % fold
    return Terms(np.broadcast_to(np.asarray(numbers)[columns // fold], values.shape), shifts, values)


def place(shifts: I64, values: I64, mask: int) -> U64:
    """Return all N coefficients of (2), negative ones as residues of the plaintext modulus."""
    words = np.zeros(N, np.uint64)
    words[shifts] = values.astype(np.uint64) & np.uint64(mask)
    return words


def kept(row: Sequence[Stretch], fold: int) -> I64:
    """Return which coefficients of a reply are sent: those that hold a result, and the first `LEAST`."""
    marks = np.zeros(N, bool)
    marks[:LEAST] = True
    for x in row:
        _within(marks, x, fold)[:, :, fold - 1] = True
    return np.flatnonzero(marks)


def count_kept(row: Sequence[Stretch], fold: int) -> int:
    """Return how many coefficients of a reply are sent."""
    results = [(x.count * x.height, x.start + fold - 1) for x in row]
    early = sum(min(many, max(0, -(-(LEAST - start) // fold))) for many, start in results)
    return LEAST - early + sum(many for many, _ in results)


def entries(words: U64, stretch: Stretch, fold: int) -> U64:
    """Return (3): a column for every row of the stretch."""
    return _within(words, stretch, fold)[:, :, fold - 1].T


def _within(words: NDArray[T], stretch: Stretch, fold: int) -> NDArray[T]:
    size = stretch.count * stretch.height * fold
    return words[stretch.start : stretch.start + size].reshape(stretch.count, stretch.height, fold)


def best_fold(rows: int, others: int, columns: int) -> int:
    """Return the fold with the fewest bits to send for one dense product.

    A strip goes up with three primes of 60 bits. Of a reply the one polynomial comes down with 58 bits (of products in
    Z_2^48), and the other where it holds results, which are as many with any fold.
    """
    folds = range(1, max(1, min(columns, N // rows)) + 1)
    return min(folds, key=lambda fold: 180 * -(-columns // fold) + 58 * -(-others // max(1, N // (rows * fold))))
