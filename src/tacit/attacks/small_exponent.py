"""Small exponent: a power of one's own ciphertext gives away the exponent, unless fresh noise is put on it.

Algorithm 1 of paper 001, line 9: the party that holds A_jk answers m = E(A_ik, r) with

    m' = m^(A_jk) mod n^2                                                                                    (1)

which is, for whoever sent m, a discrete logarithm of a few bits. With baby steps and giant steps [Shanks1971] an exponent of size below 2^b
takes about 2^(b/2) multiplications. Theorem 1 says that the sender learns nothing; that needs the fresh noise of `crypto.paillier`:

    m' = m^(A_jk) h_s^z mod n^2                                                                               (2)
"""

from __future__ import annotations

import secrets
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.crypto.product import BOUND, KEY_BITS, engine

I64 = NDArray[np.int64]


def small_exponent(sent: Any, answer: Any, modulus: Any, bound: int) -> int | None:
    """The b with |b| <= bound and sent^b = answer, if there is one."""
    step = isqrt(2 * bound) + 1
    baby, power = {}, 1
    for i in range(step):
        baby[power] = i
        power = power * sent % modulus
    giant, value = pow(power, -1, modulus), answer * pow(sent, bound, modulus) % modulus  # an exponent of 0 .. 2 bound
    for i in range(step + 1):
        if value in baby:
            return i * step + baby[value] - bound
        value = value * giant % modulus
    return None


def play(values: I64, *, randomised: bool, bits: int = KEY_BITS, bound: int = BOUND) -> float:
    """The share of values that are found from answers by (1), or by (2)."""
    engine("paillier", 1, key_bits=bits)  # says which extra is missing
    from tacit.crypto.paillier import Powers, SecretKey  # noqa: PLC0415 - an extra

    key = SecretKey.from_seed(secrets.token_bytes(32), bits).public
    noise = Powers(key.base, key.square, key.noise_bits(bound), len(values) + 1)
    sent = key.encrypt(secrets.randbelow(bound) + 1, noise.times(1, secrets.randbits(key.noise_bits())))
    found = 0
    for value in values.tolist():
        answer = pow(sent, value, key.square)
        if randomised:
            answer = noise.times(answer, secrets.randbits(key.noise_bits(bound)))
        found += small_exponent(sent, answer, key.square, bound) == value
    return found / len(values)
