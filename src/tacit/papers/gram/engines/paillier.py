"""Paillier's cryptosystem over `gmpy2`, with noise from a fixed base [Paillier1999, DamgardJurikNielsen2010].

    n = p q,   p = q = 3 mod 4,  gcd(p - 1, q - 1) = 2;       h = -x^2 mod n,  h_s = h^n mod n^2                     (1)
    E(m; r) = (1 + n)^m h_s^r mod n^2 = (1 + m n) h_s^r mod n^2                                                     (2)
    E(a; r) E(b; s) = E(a + b; r + s),      E(a; r)^b = E(ab; rb)                                                    (3)
    D(c) mod p = L_p(c^(p-1) mod p^2) / L_p((1 + n)^(p-1) mod p^2),  L_p(u) = (u - 1) / p;  likewise q, then CRT     (4)

h_s is part of the public key, so h_s^r costs one multiplication per window of r from a table. Exponents r are short
(448 bits for keys of 2048): the assumption of Damgard, Jurik and Nielsen is that this looks like noise to whoever
cannot factor n.

E(a; r)^b alone is a plain power of what the sender sent, and a small b is found by trial (`attacks.small_exponent`).
What leaves the holder of b is multiplied by h_s^z with z so long that z + r b tells nothing about r b (`noise_bits`, 40
bits longer): then the sender learns nothing about b even if it could take logarithms.

The secret key is a function of 32 bytes of the run, and so are all exponents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from tacit.crypto.pads.entropy import prf, words_of
from tacit.errors import LocalError, PeerError
from tacit.papers.gram.engines.engines import STATISTICAL

mpz = gmpy2.mpz
Integer = Any  # gmpy2's integers: the library has no types

NOISE = {2048: 448, 3072: 512}  # bits of a key, bits of an exponent of its noise
TESTS = 25  # rounds of a primality test
WINDOWS = range(2, 9)


@dataclass(frozen=True)
class PublicKey:
    """The public key: n and h_s."""

    n: Integer
    base: Integer = field(repr=False)

    @cached_property
    def square(self) -> Integer:
        """The modulus n^2."""
        return self.n * self.n

    @property
    def bits(self) -> int:
        """How many bits n has."""
        return int(self.n.bit_length())

    @property
    def nbytes(self) -> int:
        """How many bytes a ciphertext has."""
        return self.bits // 4

    def noise_bits(self, factor: int = 0) -> int:
        """Return how long exponents are: of fresh noise, or of noise that hides a multiplication by up to `factor`."""
        return NOISE[self.bits] + (factor.bit_length() + STATISTICAL if factor else 0)

    def encrypt(self, message: Integer, noise: Integer) -> Integer:
        """Return the ciphertext (2) of a message, with h_s^r given as `noise`."""
        return (1 + message % self.n * self.n) * noise % self.square

    def to_bytes(self) -> bytes:
        """Return n, then h_s."""
        return _bytes([self.n], self.bits // 8) + _bytes([self.base], self.nbytes)


@dataclass(frozen=True, repr=False)
class SecretKey:
    """The factors of n, and the base of the noise."""

    p: Integer
    q: Integer
    public: PublicKey

    def __repr__(self) -> str:
        return f"SecretKey({self.public.bits} bits)"

    @classmethod
    def from_seed(cls, seed: bytes, bits: int) -> SecretKey:
        """Return the key (1) that follows from a seed."""
        check_size(bits)
        numbers = _numbers(prf(seed, b"paillier"), bits // 2)
        p = next(_primes(numbers, bits // 2))
        q = next(q for q in _primes(numbers, bits // 2) if q != p and gmpy2.gcd(p - 1, q - 1) == 2)  # noqa: PLR2004 - (1)
        n, x = p * q, next(numbers) * next(numbers)
        h = -x * x % n
        return cls(p, q, PublicKey(n, _join(gmpy2.powmod(h, n, p * p), gmpy2.powmod(h, n, q * q), p * p, q * q)))

    @cached_property
    def _halves(self) -> tuple[tuple[Integer, Integer, Integer], ...]:
        """For each factor its square and the inverse in (4)."""
        base, factors = 1 + self.public.n, (self.p, self.q)
        return tuple((f, f * f, gmpy2.invert(_l(gmpy2.powmod(base, f - 1, f * f), f), f)) for f in factors)

    def decrypt(self, cipher: Integer) -> Integer:
        """Return the message of a ciphertext, (4)."""
        a, b = (_l(gmpy2.powmod(cipher, f - 1, square), f) * inverse % f for f, square, inverse in self._halves)
        return _join(a, b, self.p, self.q)

    def to_bytes(self) -> bytes:
        """Return the factors and h_s."""
        return _bytes([self.p, self.q], self.public.bits // 16) + _bytes([self.public.base], self.public.nbytes)

    @classmethod
    def from_bytes(cls, data: bytes, bits: int) -> SecretKey:
        """Return the key that `to_bytes` wrote."""
        size = bits // 16
        p, q, base = (mpz.from_bytes(part, "little") for part in (data[:size], data[size : 2 * size], data[2 * size :]))
        return cls(p, q, PublicKey(p * q, base))


class Powers:
    """Powers of one base by a table of windows, as wide as is cheapest for `count` of them of up to `bits` bits."""

    def __init__(self, base: Integer, modulus: Integer, bits: int, count: int) -> None:
        self._width = min(WINDOWS, key=lambda w: (count + (1 << w) - 1) * -(-bits // w))
        self._modulus, self._rows, self._digit = modulus, [], (1 << self._width) - 1
        for _ in range(-(-bits // self._width)):
            row = [mpz(1), base]
            for _ in range(self._digit - 1):
                row.append(row[-1] * base % modulus)
            self._rows.append(row)
            base = row[-1] * base % modulus

    def times(self, value: Integer, exponent: int) -> Integer:
        """Return `value` * base^exponent."""
        for row in self._rows:
            if digit := exponent & self._digit:
                value = value * row[digit] % self._modulus
            exponent >>= self._width
        return value


def public_key(data: bytes, bits: int) -> PublicKey:
    """Return a key that a peer sent; refuse what is none."""
    check_size(bits)
    n, base = mpz.from_bytes(data[: bits // 8], "little"), mpz.from_bytes(data[bits // 8 :], "little")
    if len(data) != bits // 8 + bits // 4 or n.bit_length() != bits or n % 2 == 0:
        raise PeerError(
            f"the key that arrived is not a Paillier key of {bits} bits: all parties need the same key_bits"
        )
    key = PublicKey(n, base)
    _check_units([base], key)
    return key


def check_size(bits: int) -> None:
    """Refuse keys that are too short, or of no usual size."""
    if bits not in NOISE:
        raise LocalError(f"a Paillier key has {' or '.join(map(str, NOISE))} bits, got {bits}")


def ciphers_to_bytes(ciphers: Sequence[Integer], key: PublicKey) -> bytes:
    """Return ciphertexts as bytes, one after the other."""
    return _bytes(ciphers, key.nbytes)


def ciphers_from_bytes(data: bytes, key: PublicKey) -> list[Integer]:
    """Return the ciphertexts that a peer sent, each a unit modulo n^2."""
    ciphers = [mpz.from_bytes(data[i : i + key.nbytes], "little") for i in range(0, len(data), key.nbytes)]
    _check_units(ciphers, key)
    return ciphers


def exponents(words: NDArray[np.uint64], count: int, bits: int) -> list[int]:
    """Return as many random numbers of so many bits, from as many words as they fill."""
    rows = words.astype("<u8").reshape(count, -1)
    return [int.from_bytes(row.tobytes(), "little") & ((1 << bits) - 1) for row in rows]


def _check_units(values: Sequence[Integer], key: PublicKey) -> None:
    product = mpz(1)
    for value in values:
        product = product * value % key.n
    if any(not 0 < v < key.square for v in values) or gmpy2.gcd(product, key.n) != 1:
        raise PeerError("a Paillier ciphertext is not one under this key: it was made for another, or altered")


def _numbers(key: bytes, bits: int) -> Iterator[Integer]:
    """Yield random numbers of so many bits, from one key."""
    for i in range(1 << 32):
        words = words_of(prf(key, i.to_bytes(4, "little")), bits // 64)
        yield mpz.from_bytes(words.astype("<u8").tobytes(), "little")


def _primes(numbers: Iterator[Integer], bits: int) -> Iterator[Integer]:
    """Yield primes 3 mod 4 that have the upper two bits set, so that a product of two has its full length."""
    for number in numbers:
        prime = gmpy2.next_prime(number | (mpz(3) << (bits - 2)))
        if prime % 4 == 3 and prime.bit_length() == bits and gmpy2.is_prime(prime, TESTS):  # noqa: PLR2004 - (1)
            yield prime


def _l(u: Integer, factor: Integer) -> Integer:
    return (u - 1) // factor


def _join(a: Integer, b: Integer, p: Integer, q: Integer) -> Integer:
    """Return the number below pq that is a mod p and b mod q."""
    return a + p * ((b - a) * gmpy2.invert(p, q) % q)


def _bytes(values: Sequence[Integer], size: int) -> bytes:
    return b"".join(mpz(v).to_bytes(size, "little") for v in values)
