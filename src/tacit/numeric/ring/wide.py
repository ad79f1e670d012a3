"""Reals as integers of Z_2^256, four words each: sums of columns whose units nobody knows.

    encode(x) = round(x 2^128) mod 2^256            decode(v) = centred(v) 2^-128

`fixed_point` has to be told how large values can be; asking the parties would give something of their largest away.
Here anything between 1e-38 and 1e36 fits, in its full precision, and a sum of encodings is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.errors import LocalError
from tacit.numeric.ring.words import Ring

BITS = 128
LIMBS = 4  # words of a number, the least first
LARGEST = 1e36  # so that sums of a hundred parties stay below 2^127


@dataclass(frozen=True)
class WideRing(Ring):
    """Integers modulo 2^256; words that are too few for a number, such as a check word, are modulo 2^64."""

    modulus: int = 1 << 256

    def __post_init__(self) -> None:
        """Any modulus below this one is another ring."""

    def add(self, into: U64, chunks: Iterable[U64], sign: int = 1) -> U64:
        """Add `sign` times the chunks to `into`, in place, with carries."""
        added = np.concatenate([chunk.copy() for chunk in chunks])
        if added.size != into.size:
            raise ValueError(f"chunks cover {added.size} of {into.size} words")
        whole = into.size // LIMBS * LIMBS
        mine, theirs = into[:whole].reshape(-1, LIMBS), added[:whole].reshape(-1, LIMBS)
        carry = np.full(len(mine), sign < 0, dtype=np.uint64)  # -b is ~b + 1
        for i in range(LIMBS):
            limb = theirs[:, i] if sign > 0 else ~theirs[:, i]
            part = mine[:, i] + limb
            total = part + carry
            carry = ((part < limb) | (total < part)).astype(np.uint64)
            mine[:, i] = total
        rest = into[whole:]
        (np.add if sign > 0 else np.subtract)(rest, added[whole:], out=rest)
        return into


Z256 = WideRing()


def encode(x: F64, what: str) -> U64:
    """Return four words for every real; `what` names the array in an error."""
    if not (np.abs(x) < LARGEST).all():
        raise LocalError(
            f"{what}: a value is {LARGEST:.0e} or larger, or not a number: correct it, or use another unit"
        )
    whole = (round(math.ldexp(value, BITS)) for value in x.ravel().tolist())
    data = b"".join(number.to_bytes(8 * LIMBS, "little", signed=True) for number in whole)
    return np.frombuffer(data, dtype="<u8").astype(np.uint64).reshape(*x.shape, LIMBS)


def decode(words: U64) -> F64:
    """Return the reals of these words, by centred residues."""
    data = np.ascontiguousarray(words, dtype="<u8").tobytes()
    numbers = [int.from_bytes(data[i : i + 8 * LIMBS], "little", signed=True) for i in range(0, len(data), 8 * LIMBS)]
    return np.array([math.ldexp(float(number), -BITS) for number in numbers]).reshape(words.shape[:-1])
