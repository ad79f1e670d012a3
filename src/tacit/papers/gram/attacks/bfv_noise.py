"""BFV noise: a mask hides the plaintext of a reply, not its noise, which tells the key holder the other matrix.

P knows its key s, and of its own ciphertexts the polynomials a_f and the errors e_f. A reply of the product's engine
`bfv` is linear in what the other side multiplied with, b_f = sum_j b_jf X^(jm):

    c1 = sum_f b_f a_f   (+ u a + e')                  the bracket is there after a fresh encryption            (1)
    c0 + c1 s - (q/t) D = sum_f b_f e_f   (+ E)        D is what it decrypts to, E is the flood                 (2)

Without a mask D is the product, and A is known. Without a fresh encryption the d unknowns b_jf follow from d
coefficients of (1), by elimination modulo a prime. Without a flood they follow from all N coefficients of (2), by least
squares; the fresh encryption adds an error there that is small beside b e. With all three nothing is left: (1) is a
sample of RLWE, and E is 2^70 times larger than the sum it covers.

Played on replies before they are cut to fewer bits: that blurs (2) as well, but nothing relies on it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import F64, I64, U64
from tacit.crypto.pads.entropy import words_of
from tacit.numeric.ring.words import Ring
from tacit.papers.gram.engines.bfv_layout import N, Stretch, terms
from tacit.papers.gram.engines.bfv_words import limbs_of
from tacit.papers.gram.engines.engines import BITS, BOUND, make_engine
from tacit.papers.gram.engines.seal_bytes import Memory, coefficients

Integers = NDArray[np.object_]


@dataclass(frozen=True)
class Guess:
    """The other side's matrix as the key holder makes it out; entries that cannot be are 0."""

    matrix: I64
    error: float


def bfv_noise(A: I64, B: I64, *, masked: bool = True, encrypted: bool = True, flooded: bool = True) -> Guess:
    """Play the product of A with so many rows of B as one reply holds, with its protections or without.

    Then guess B.
    """
    make_engine("bfv", A.shape[1])  # says which extra is missing
    from tacit.papers.gram.engines import bfv_scheme as bfv  # noqa: PLC0415 - an extra

    with Memory() as memory:
        me = KeyHolder(bfv, memory, A)
        reply = answer(me, B, masked=masked, encrypted=encrypted, flooded=flooded)
        guesses = [_plausible(found(me, reply, len(B)), B) for found in (by_reading, by_elimination, by_least_squares)]
    return min(guesses, key=lambda guess: guess.error)


class KeyHolder:
    """What P has: a key, and the columns it uploaded."""

    def __init__(self, bfv: Any, memory: Memory, A: I64) -> None:
        self.bfv, self.memory, self.A, self.s = bfv, memory, A, bfv.scheme(BITS)
        self.key = self.s.secret(secrets.token_bytes(32))
        self.messages = [np.pad(column.astype(np.uint64) & np.uint64(self.s.mask), (0, N - len(A))) for column in A.T]
        self.upload = [bfv.encrypt_column(self.s, memory, self.key, words) for words in self.messages]
        self.public = bfv.public_of(self.s, memory, self.key)

    def columns(self) -> list[U64]:
        """Return the words of the uploaded ciphertexts: both polynomials modulo each prime."""
        return [self.s.words(self.memory, self.bfv.open_column(self.s, self.memory, sent)) for sent in self.upload]

    def error(self, words: U64, message: U64) -> F64:
        """Return the left of (2), over t: exact integers, then rounded."""
        primes = self.s.primes
        q, t = int(np.prod(np.array(primes, object))), 1 << BITS
        phase = sum(
            row.astype(object) * (q // p * pow(q // p, -1, p))
            for row, p in zip(self._phase(words), primes, strict=True)
        )
        rest = (phase * t - message.astype(object) * q) % (q * t)
        return np.asarray(np.where(rest > q * t // 2, rest - q * t, rest) / t, np.float64)

    def decrypt(self, words: U64) -> U64:
        """Return D of (2): what a ciphertext decrypts to."""
        plain = self.bfv.seal.Plaintext()
        self.bfv.seal.Decryptor(self.s.context, self.key).decrypt(self._cipher(words), plain)
        return coefficients(self.memory.save(plain), N)

    def _cipher(self, words: U64) -> Any:
        return self.s.cipher(self.memory, self.s.full, words.astype("<u8").tobytes())

    def _phase(self, words: U64) -> U64:
        """Return c0 + c1 s modulo each prime, computed where products are entry by entry."""
        evaluator, ntt = self.s.evaluator, self.s.transformed
        moved = self.bfv.seal.Ciphertext()
        evaluator.transform_to_ntt(self._cipher(words), moved)
        both = self.bfv.words_of(ntt, ntt.content(self.memory.save(moved))).astype(object)
        primes = np.array(self.s.primes, object)[:, None]
        s = np.frombuffer(self.memory.save(self.key)[-8 * N * len(self.bfv.PRIMES) :], "<u8").reshape(-1, N)[
            : len(primes)
        ]
        sums = ((both[0] + both[1] * s.astype(object)) % primes).astype("<u8")
        moved = self.s.cipher(self.memory, ntt, np.stack([sums, sums]).tobytes())
        evaluator.transform_from_ntt_inplace(moved)
        return np.asarray(self.s.words(self.memory, moved)[0])


def answer(me: KeyHolder, B: I64, *, masked: bool, encrypted: bool, flooded: bool) -> U64:
    """Return the other side's reply as `engines.bfv` makes it, or with a protection left out."""
    s, stretch = me.s, Stretch(0, 0, 0, len(me.A), 0, len(B), 0)
    limbs = np.stack([limbs_of(words) for words in me.columns()])
    reply: U64 = np.zeros(s.full.shape, np.uint64)
    s.arithmetic.add_multiples(reply, limbs, [terms(B, range(B.shape[1]), stretch, 1)], BOUND)
    zero = me.bfv.Zeros(s, me.memory, me.public).draw() if encrypted else np.zeros_like(reply)
    mask, *flood = words_of(secrets.token_bytes(32), 3 * N).reshape(3, N)
    mask &= np.uint64(s.mask if masked else 0)
    s.arithmetic.add_protections(reply, zero, mask, np.stack(flood) * np.uint64(flooded))
    return reply


def by_reading(me: KeyHolder, reply: U64, rows: int) -> I64:
    """Return what the reply decrypts to, taken for A B'."""
    products = Ring(1 << BITS).centred(me.decrypt(reply)[: rows * len(me.A)]).reshape(rows, -1)
    return _whole(np.linalg.lstsq(me.A.astype(float), products.T.astype(float), rcond=None)[0].T)


def by_elimination(me: KeyHolder, reply: U64, rows: int) -> I64:
    """Return the other matrix by (1), modulo the first prime."""
    prime, unknowns = me.s.primes[0], rows * me.A.shape[1]
    shifted = _shifts([column[1, 0].astype(object) for column in me.columns()], len(me.A), rows)
    found = solve(shifted[:unknowns] % prime, reply[1, 0, :unknowns].astype(object), prime)
    return Ring(prime).centred(found.astype(np.uint64)).reshape(-1, rows).T


def by_least_squares(me: KeyHolder, reply: U64, rows: int) -> I64:
    """Return the other matrix by (2), with least squares over all coefficients."""
    errors = [me.error(column, message) for column, message in zip(me.columns(), me.messages, strict=True)]
    found = np.linalg.lstsq(_shifts(errors, len(me.A), rows), me.error(reply, me.decrypt(reply)), rcond=None)[0]
    return _whole(found).reshape(-1, rows).T


def solve(matrix: Integers, right: Integers, prime: int) -> Integers:
    """Return the solution of a linear system modulo a prime, by Gaussian elimination."""
    rows = np.concatenate([matrix, right[:, None]], axis=1)
    for i in range(len(rows)):
        pivot = i + int(np.flatnonzero(rows[i:, i])[0])
        rows[[i, pivot]] = rows[[pivot, i]]
        rows[i] = rows[i] * pow(int(rows[i, i]), -1, prime) % prime
        others = np.arange(len(rows)) != i
        rows[others] = (rows[others] - rows[others, i][:, None] * rows[i]) % prime
    return rows[:, -1]


def _whole(x: F64) -> I64:
    return np.rint(np.clip(x, -(2.0**62), 2.0**62)).astype(np.int64)


def _shifts(polynomials: Sequence[NDArray[Any]], step: int, rows: int) -> NDArray[Any]:
    """Return a column for every unknown: the polynomial times X^(j step), where X^N is -1."""
    return np.stack(
        [np.concatenate([-p[N - j * step :], p[: N - j * step]]) for p in polynomials for j in range(rows)], axis=1
    )


def _plausible(found: I64, B: I64) -> Guess:
    kept = np.where(np.abs(found) <= BOUND, found, 0)
    return Guess(kept, float(np.linalg.norm((kept - B).astype(float)) / np.linalg.norm(B.astype(float))))
