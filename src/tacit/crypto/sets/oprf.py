"""Blind hashing on ristretto255: hashes to the group that commute under secret scalars, and the function made of them.

    H(x)                  an item as a point of the group, whose logarithm nobody knows
    (H(x)^r)^s = (H(x)^s)^r                                   two parties may put their scalars on in either order   (1)
    F_s(x) = H'(x, H(x)^s)                                    pseudorandom to all who do not know s                  (2)

Who knows x and no scalar learns F_s(x) from the owner of s: it asks for H(x)^r, is answered H(x)^rs, and takes r off
again. The owner sees points that tell nothing (decisional Diffie-Hellman, H a random oracle; one r serves all items of
a run).

The group is libsodium's, through `rbcl`. It refuses points that are none, the identity and scalars of zero, and leaves
Python's lock alone while it works, so the items are spread over the processor's cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha512
from importlib import import_module
from types import ModuleType

import numpy as np

from tacit.arrays import U8, U64
from tacit.crypto.sets import row_hash
from tacit.errors import MissingExtraError, PeerError

POINT = 32  # bytes
VALUE = 2  # words of F
FEW = 128  # items that are not worth a thread


@cache
def load_sodium() -> ModuleType:
    """Return the library, which is installed separately."""
    try:
        return import_module("rbcl")
    except ImportError:
        raise MissingExtraError("blind hashing, of ids or for method='intersection',", "he") from None


def make_scalar(seed: bytes) -> bytes:
    """Return a secret scalar of 32 secret bytes."""
    found: bytes = load_sodium().crypto_core_ristretto255_scalar_reduce(sha512(b"tacit scalar" + seed).digest())
    return found


def invert(s: bytes) -> bytes:
    """Return the scalar that takes another one off again."""
    found: bytes = load_sodium().crypto_core_ristretto255_scalar_invert(s)
    return found


def hash_to_points(items: U8, use: bytes) -> U8:
    """Return H(x) of every row; `use` keeps different kinds of items apart."""
    from_hash = load_sodium().crypto_core_ristretto255_from_hash
    return _spread(from_hash, row_hash.hashes(items, 64, use=use))


def raise_points(given: U8, s: bytes) -> U8:
    """Return every point under the scalar, (1); refuse what is no point, which only a peer can have sent."""
    power = load_sodium().crypto_scalarmult_ristretto255
    if given.ndim != 2 or given.shape[1] != POINT:  # noqa: PLR2004 - rows of bytes
        raise PeerError(
            f"points of ristretto255 have {POINT} bytes each, these came in shape {given.shape}: stop and ask the"
            " sender"
        )
    try:
        return _spread(lambda point: power(s, point), given)
    except RuntimeError:
        raise PeerError("bytes arrived that are not a point of ristretto255: stop and ask the sender") from None


def hash_outputs(items: U8, under: U8) -> U64:
    """Return F of every item, from its point under the scalar, (2)."""
    return row_hash.words(np.hstack([items, under]), VALUE, use=b"tacit oprf")


def _spread(do: Callable[[bytes], bytes], rows: U8) -> U8:
    """Do each row by itself, on as many threads as there are cores."""
    pieces = np.array_split(rows, max(1, min(os.cpu_count() or 1, len(rows) // FEW)))
    if len(pieces) == 1:
        done = [_each(do, rows)]
    else:
        with ThreadPoolExecutor(len(pieces)) as pool:
            done = list(pool.map(lambda piece: _each(do, piece), pieces))
    return np.frombuffer(b"".join(done), np.uint8).reshape(-1, POINT)


def _each(do: Callable[[bytes], bytes], rows: U8) -> bytes:
    data, width = rows.tobytes(), rows.shape[1]
    return b"".join([do(data[at : at + width]) for at in range(0, len(data), width)])
