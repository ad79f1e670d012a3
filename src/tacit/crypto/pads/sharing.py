"""Shamir's secret sharing: any t of n shares give 32 bytes back, t - 1 of them tell nothing.

    f(X) = secret + c_1 X + ... + c_{t-1} X^{t-1}  over Z_p,    share i = (i, f(i)),  i = 1..n        (1)
    secret = f(0) = sum_i f(i) prod_{j != i} j / (j - i)                                             (2)

p = 2^256 + 297 is the first prime above every 32-byte secret. The coefficients are a PRF of a seed of the dealer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import mul

from tacit.crypto.pads.entropy import prf

P = (1 << 256) + 297
SECRET, POINT, VALUE = 32, 2, 33  # bytes
SHARE = POINT + VALUE


def deal(secret: bytes, t: int, n: int, seed: bytes) -> tuple[bytes, ...]:
    """Return n shares of the secret, of which t are needed, (1)."""
    if len(secret) != SECRET:
        raise ValueError(f"a shared secret has {SECRET} bytes, got {len(secret)}")
    if not 1 <= t <= n < 1 << (8 * POINT):
        raise ValueError(f"cannot deal {n} shares of which {t} are needed")
    coefficients = [int.from_bytes(secret), *(_below_p(seed, i) for i in range(1, t))]
    values = (sum(map(mul, coefficients, powers)) % P for powers in _powers(n, t))
    return tuple(x.to_bytes(POINT, "big") + value.to_bytes(VALUE, "big") for x, value in enumerate(values, 1))


def reconstruct(shares: Sequence[bytes], t: int) -> bytes:
    """Return the secret from at least t shares, (2)."""
    points = dict(_read(share) for share in shares)
    if len(points) != len(shares):
        raise ValueError("a share is there twice")
    if len(points) < t:
        raise ValueError(f"{len(points)} shares, {t} are needed")
    chosen = tuple(sorted(points)[:t])
    secret = sum(points[x] * weight for x, weight in zip(chosen, _weights(chosen), strict=True)) % P
    if secret >> (8 * SECRET):
        raise ValueError("the shares do not belong together")
    return secret.to_bytes(SECRET, "big")


def _below_p(seed: bytes, i: int) -> int:
    """Return 512 bits modulo p: uniform but for 2^-255."""
    halves = (prf(seed, b"share", bytes([half]), i.to_bytes(2, "big")) for half in (0, 1))
    return int.from_bytes(b"".join(halves)) % P


@lru_cache(maxsize=16)
def _powers(n: int, t: int) -> tuple[tuple[int, ...], ...]:
    """Return x^0, ..., x^(t-1) for x = 1..n: one reduction of a whole sum takes less time than one of each term."""
    return tuple(tuple(x**i % P for i in range(t)) for x in range(1, n + 1))


def _read(share: bytes) -> tuple[int, int]:
    x, value = int.from_bytes(share[:POINT]), int.from_bytes(share[POINT:])
    if len(share) != SHARE or not x or value >= P:
        raise ValueError("malformed share")
    return x, value


@lru_cache(maxsize=256)
def _weights(points: tuple[int, ...]) -> tuple[int, ...]:
    """Return the weights of Lagrange at 0; the points are public and the same for all secrets of a round."""
    above, below = prod(points), [prod(y - x for y in points if y != x) % P for x in points]
    return tuple(above // x * inverse % P for x, inverse in zip(points, _invert(below), strict=True))


def _invert(numbers: Sequence[int]) -> list[int]:
    """Return the inverses of all numbers, by one inversion of their product."""
    products = list(accumulate(numbers, lambda a, b: a * b % P, initial=1))
    inverse, found = pow(products.pop(), -1, P), []
    for number, before in zip(reversed(numbers), reversed(products), strict=True):
        found.append(inverse * before % P)
        inverse = inverse * number % P
    return found[::-1]
