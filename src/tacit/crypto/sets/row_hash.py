"""A keyed hash of every row of a table of bytes: BLAKE2b.

    h_i = BLAKE2b(key, use, row_i)            `use` keeps the hashes of different uses apart under one key

Under a key that nobody else has it is a pseudorandom function; without a key, a hash. Few rows are hashed by Python's
library one by one, many short ones by machine code of our own; both give the same bytes.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import I64, U8, U64

MANY = 4096  # rows that are worth loading the machine code
BLOCK, WORD = 128, 8  # bytes


def hashes(rows: U8, size: int, *, use: bytes, key: bytes = b"") -> U8:
    """Return `size` bytes of each row, 64 at most."""
    if size > blake2b.MAX_DIGEST_SIZE or len(use) > blake2b.PERSON_SIZE:
        raise ValueError(f"a row hash has at most {blake2b.MAX_DIGEST_SIZE} bytes and a use of {blake2b.PERSON_SIZE}")
    width = rows.shape[1]
    if len(rows) >= MANY and 0 < width <= BLOCK and width % WORD == 0:
        return _hash_many(rows, size, use, key)
    data = rows.tobytes()
    found = [
        blake2b(data[at : at + width], digest_size=size, key=key, person=use).digest()
        for at in range(0, len(data), width)
    ]
    return np.frombuffer(b"".join(found), np.uint8).reshape(len(rows), size)


def words(rows: U8, count: int, *, use: bytes, key: bytes = b"") -> U64:
    """Return `count` words of each row."""
    return hashes(rows, 8 * count, use=use, key=key).view("<u8").astype(np.uint64, copy=False)


def order_of(rows: U8) -> I64:
    """Return what sorts the rows, read as numbers; of pseudorandom rows it is an order that tells nothing."""
    first = _first_words(rows)
    order = np.argsort(first)
    if _has_neighbours(np.take(first, order)):  # of pseudorandom rows one pair in 2^64
        return np.lexsort(_numbers(rows).T[::-1])
    return order


def sorted_rows(rows: U8) -> U8:
    """Return the rows in the order of `order_of`."""
    return np.take(rows, order_of(rows), axis=0)


def has_repeats(rows: U8) -> bool:
    """Return whether a row is there twice."""
    if not _has_neighbours(np.sort(_first_words(rows))):
        return False
    ordered = sorted_rows(rows)
    return bool((ordered[1:] == ordered[:-1]).all(axis=1).any())


def find_rows(rows: U8, wanted: U8) -> I64:
    """Return where each wanted row stands among the rows, of which none is there twice; -1 where it does not."""
    if not len(rows):
        return np.full(len(wanted), -1)
    order = order_of(rows)
    ordered, numbers = _numbers(np.take(rows, order, axis=0)), _numbers(wanted)
    first = ordered[:, 0].astype(np.uint64)
    if _has_neighbours(first):
        place = np.searchsorted(_records(ordered), _records(numbers))
    else:
        place = np.searchsorted(first, numbers[:, 0].astype(np.uint64))
    place = np.minimum(place, len(order) - 1)
    same = (np.take(ordered, place, axis=0) == numbers).all(axis=1)
    return np.where(same, np.take(order, place), -1)


def _numbers(rows: U8) -> NDArray[np.uint64]:
    """Return rows of bytes as words of which the first counts most."""
    return np.ascontiguousarray(rows).view(">u8")


def _first_words(rows: U8) -> U64:
    return _numbers(rows)[:, 0].astype(np.uint64)


def _records(numbers: NDArray[np.uint64]) -> NDArray[np.void]:
    """Return rows of words as records that NumPy orders as wholes."""
    return numbers.view([(f"w{i}", ">u8") for i in range(numbers.shape[1])])[:, 0]


def _has_neighbours(ordered: U64) -> bool:
    return bool((ordered[1:] == ordered[:-1]).any())


def _hash_many(rows: U8, size: int, use: bytes, key: bytes) -> U8:
    """Return the hashes of rows of whole words that are a block each at most."""
    from tacit.crypto.sets.hash_loops import IV, compress_rows  # noqa: PLC0415 - it takes a second to load

    state = np.array(IV, np.uint64)
    state[0] ^= np.uint64(size | len(key) << 8 | 1 << 16 | 1 << 24)  # the parameter block of RFC 7693
    state[6:] ^= np.frombuffer(use.ljust(blake2b.PERSON_SIZE, b"\0"), "<u8")
    if key:
        block, after = np.frombuffer(key.ljust(BLOCK, b"\0"), "<u8")[None], np.empty((1, len(IV)), np.uint64)
        compress_rows(state, np.uint64(BLOCK), np.uint64(0), block, after)
        state = after[0]
    read = np.uint64(rows.shape[1] + (BLOCK if key else 0))
    out = np.empty((len(rows), -(-size // WORD)), np.uint64)
    compress_rows(state, read, ~np.uint64(0), np.ascontiguousarray(rows).view("<u8"), out)
    return out.view(np.uint8)[:, :size]
