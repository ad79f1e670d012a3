"""A keyed hash of every row of a table of bytes: BLAKE2b, one call a row.

    h_i = BLAKE2b(key, use, row_i)            `use` keeps the hashes of different uses apart under one key

Under a key that nobody else has it is a pseudorandom function; without a key, a hash.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]


def hashes(rows: U8, size: int, *, use: bytes, key: bytes = b"") -> U8:
    """`size` bytes of each row, 64 at most."""
    if size > blake2b.MAX_DIGEST_SIZE or len(use) > blake2b.PERSON_SIZE:
        raise ValueError(f"a row hash has at most {blake2b.MAX_DIGEST_SIZE} bytes and a use of {blake2b.PERSON_SIZE}")
    data, width = rows.tobytes(), rows.shape[1]
    found = [blake2b(data[at : at + width], digest_size=size, key=key, person=use).digest() for at in range(0, len(data), width)]
    return np.frombuffer(b"".join(found), np.uint8).reshape(len(rows), size)


def words(rows: U8, count: int, *, use: bytes, key: bytes = b"") -> U64:
    """`count` words of each row."""
    return hashes(rows, 8 * count, use=use, key=key).view("<u8").astype(np.uint64, copy=False)


def order_of(rows: U8) -> I64:
    """What sorts the rows, read as numbers; of pseudorandom rows it is an order that tells nothing."""
    return np.lexsort(np.ascontiguousarray(rows).view(">u8").T[::-1])


def sorted_rows(rows: U8) -> U8:
    """The rows in that order."""
    ordered: U8 = rows[order_of(rows)]
    return ordered
