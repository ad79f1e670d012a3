"""Small exponent: a power of the attacker's own ciphertext gives the exponent away, unless fresh noise is put on it.

Algorithm 1 of paper 001, line 9: the party that holds A_jk answers m = E(A_ik, r) with

    m' = m^(A_jk) mod n^2                                                                                    (1)

which is, for whoever sent m, a discrete logarithm of a few bits. With baby steps and giant steps [Shanks1971] an
exponent of size below 2^b takes about 2^(b/2) multiplications. One record of one's own is enough: its cells go to the
owners of all others in the same column. Theorem 1 says that the sender learns nothing; that needs the fresh noise of
`engines.paillier`:

    m' = m^(A_jk) h_s^z mod n^2                                                                               (2)
"""

from __future__ import annotations

import secrets
from math import isqrt
from typing import Any

import numpy as np

from tacit.arrays import I64
from tacit.papers.gram.attacks.inversion import Inversion, judge
from tacit.papers.gram.engines.engines import BOUND, KEY_BITS, make_engine


def small_exponent(sent: Any, answer: Any, modulus: Any, bound: int) -> int | None:
    """Return the b with |b| <= bound and sent^b = answer, if there is one."""
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


def play(cells: I64, known: I64, *, randomised: bool, bits: int = KEY_BITS, bound: int = BOUND) -> Inversion:
    """Return the records that the owner of the `known` ones works out from answers by (1), or by (2).

    It sends each cell of its records. Cells that it does not find are 0.
    """
    make_engine("paillier", 1, key_bits=bits)  # says which extra is missing
    from tacit.papers.gram.engines.paillier import Powers, SecretKey  # noqa: PLC0415 - an extra

    key = SecretKey.from_seed(secrets.token_bytes(32), bits).public
    noise = Powers(key.base, key.square, key.noise_bits(bound), cells.size + 1)
    records = np.zeros_like(cells)
    records[known] = cells[known]
    for k in range(cells.shape[1] if len(known) else 0):
        sent = key.encrypt(int(cells[known[0], k]), noise.times(1, secrets.randbits(key.noise_bits())))
        for j in np.setdiff1d(np.arange(len(cells)), known):
            answer = pow(sent, int(cells[j, k]), key.square)
            if randomised:
                answer = noise.times(answer, secrets.randbits(key.noise_bits(bound)))
            records[j, k] = small_exponent(sent, answer, key.square, bound) or 0
    return judge(records.astype(np.float64), cells.astype(np.float64), known)
