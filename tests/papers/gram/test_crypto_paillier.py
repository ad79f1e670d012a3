"""Paillier.

Decrypts what was encrypted, adds and multiplies under encryption, and its key is a function of its seed.
"""

from __future__ import annotations

import secrets

import gmpy2
import numpy as np
import pytest

from tacit.errors import LocalError, PeerError
from tacit.papers.gram.engines.paillier import (
    Powers,
    PublicKey,
    SecretKey,
    ciphers_from_bytes,
    ciphers_to_bytes,
    exponents,
    public_key,
)

KEY = SecretKey.from_seed(bytes(32), 2048)
PUBLIC = KEY.public
NOISE = Powers(PUBLIC.base, PUBLIC.square, PUBLIC.noise_bits(), 20)


def encrypted(message):
    return PUBLIC.encrypt(message, NOISE.times(1, secrets.randbits(PUBLIC.noise_bits())))


@pytest.mark.parametrize("message", [0, 1, 2**40, -1, 12345678901234567890])
def test_what_was_encrypted_is_decrypted(message):
    one, two = encrypted(message), encrypted(message)
    assert one != two
    assert KEY.decrypt(one) == KEY.decrypt(two) == message % PUBLIC.n
    assert KEY.decrypt(gmpy2.powmod(PUBLIC.base, 12345, PUBLIC.square)) == 0, "noise is an encryption of zero"


def test_products_of_ciphertexts_are_sums_and_powers_are_multiples():
    assert KEY.decrypt(encrypted(20) * encrypted(-3) % PUBLIC.square) == 17
    assert KEY.decrypt(gmpy2.powmod(encrypted(-7), 6, PUBLIC.square)) == PUBLIC.n - 42


@pytest.mark.parametrize("bits", [2048, 3072])
def test_a_key_is_a_function_of_its_seed_and_has_its_full_size(bits):
    one, same, other = (SecretKey.from_seed(seed, bits) for seed in (b"1" * 32, b"1" * 32, b"2" * 32))
    assert one.to_bytes() == same.to_bytes() != other.to_bytes()
    assert one.public.bits == bits
    assert one.p % 4 == one.q % 4 == 3
    assert gmpy2.gcd(one.p - 1, one.q - 1) == 2
    assert gmpy2.jacobi(one.public.base, one.public.n) == 1
    again = SecretKey.from_bytes(one.to_bytes(), bits)
    assert (again.p, again.q, again.public) == (one.p, one.q, one.public)
    assert public_key(one.public.to_bytes(), bits) == one.public


@pytest.mark.parametrize("count", [1, 100, 10_000])
def test_powers_from_a_table_are_powers(count):
    powers = Powers(gmpy2.mpz(7), PUBLIC.square, 50, count)
    for exponent in (0, 1, 2**50 - 1, 123456789):
        assert powers.times(3, exponent) == 3 * gmpy2.powmod(7, exponent, PUBLIC.square) % PUBLIC.square


def test_noise_that_hides_a_multiple_is_forty_bits_longer_than_the_multiple():
    assert PUBLIC.noise_bits() == 448
    assert PUBLIC.noise_bits(30 << 20) >= 448 + 25 + 40
    assert all(e < 1 << 70 for e in exponents(np.full(20, 2**64 - 1, np.uint64), 10, 70))


def test_what_is_no_ciphertext_is_refused():
    good = ciphers_to_bytes([encrypted(1), encrypted(2)], PUBLIC)
    assert [KEY.decrypt(c) for c in ciphers_from_bytes(good, PUBLIC)] == [1, 2]
    for bad in (0, PUBLIC.square, KEY.p):
        with pytest.raises(PeerError, match="not one under this key: it was made for another, or altered"):
            ciphers_from_bytes(int(bad).to_bytes(PUBLIC.nbytes, "little"), PUBLIC)


def test_a_key_of_another_size_is_refused():
    for data in (
        PUBLIC.to_bytes()[:-1],
        bytes(len(PUBLIC.to_bytes())),
        PublicKey(PUBLIC.n - 1, PUBLIC.base).to_bytes(),
    ):
        with pytest.raises(PeerError, match="not a Paillier key of 2048 bits"):
            public_key(data, 2048)
    with pytest.raises(LocalError, match="a Paillier key has 2048 or 3072 bits, got 512"):
        SecretKey.from_seed(bytes(32), 512)


def test_a_key_does_not_show_its_factors():
    assert repr(KEY) == "SecretKey(2048 bits)"
