"""Blind comparison of one value: hashes to points of curve25519 that commute under secret scalars.

    H(x)                                         a value as a point of the curve, whose logarithm nobody knows
    a (b H(x)) = b (a H(x))                      two parties may put their scalars on in either order                (1)

Who sees b H(y), and b (a H(x)) for its own a and x, learns whether x is y, and can test no other x without asking the
owner of b again (decisional Diffie-Hellman, H a random oracle). A digest under a key that both know would not do: its
receiver could try any number of lists that are nearly its own.

Points are known by one coordinate, as X25519 has them. H tries numbers until one is of a point on the curve itself and
not on its twist: scalars lead to neither from the other, so that which of the two it is would tell a bit of x. Scalars
are multiples of 8, which leads into the group of prime order. X25519 is of the library that is always installed; many
values are compared by `oprf`.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import count

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tacit.errors import PeerError

POINT = 32  # bytes
PRIME = 2**255 - 19
CURVE = 486662  # v^2 = u^3 + 486662 u^2 + u


def hash_to_point(value: bytes) -> bytes:
    """Return H(x): the first hash of a value that is a point of the curve."""
    numbers = (sha256(b"tacit point %d " % i + value).digest() for i in count())
    return next(each for each in numbers if is_on_curve(each))


def is_on_curve(point: bytes) -> bool:
    """Return whether these bytes are a coordinate of points of the curve; else they are of its twist."""
    u = int.from_bytes(point, "little") % 2**255 % PRIME
    return pow(u * (u * u + CURVE * u + 1), (PRIME - 1) // 2, PRIME) == 1


def put_on(scalar: bytes, point: bytes) -> bytes:
    """Return the point under a secret scalar of 32 bytes, (1); refuse what is no point of the large group."""
    try:
        return X25519PrivateKey.from_private_bytes(scalar).exchange(X25519PublicKey.from_public_bytes(point))
    except ValueError:
        raise PeerError("bytes arrived that are not a point of curve25519: stop and ask the sender") from None
