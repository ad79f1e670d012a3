"""Pair seeds: X25519 and HKDF."""

import hashlib
import hmac

import pytest

from tacit.crypto.pads.agreement import pair_seed, public_key

# RFC 7748, section 6.1
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
ALICE_PUBLIC = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
CAROL = bytes(range(32))
SMALL_ORDER = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]


def hkdf(secret, salt, info):
    """RFC 5869, one block."""
    extracted = hmac.digest(salt, secret, hashlib.sha256)
    return hmac.digest(extracted, info + b"\x01", hashlib.sha256)


def test_a_public_key_is_the_rfcs():
    assert public_key(ALICE) == ALICE_PUBLIC
    assert public_key(BOB) == BOB_PUBLIC


def test_a_pair_seed_is_the_same_at_both_ends():
    seed = pair_seed(ALICE, BOB_PUBLIC, b"sum")
    assert seed == pair_seed(BOB, ALICE_PUBLIC, b"sum")
    assert len(seed) == 32


def test_a_pair_seed_is_hkdf_of_the_rfcs_shared_secret_and_both_public_keys():
    assert pair_seed(ALICE, BOB_PUBLIC, b"sum") == hkdf(SHARED, ALICE_PUBLIC + BOB_PUBLIC, b"tacit pair seed sum")


def test_a_pair_seed_differs_by_context_and_by_pair():
    seeds = {
        pair_seed(ALICE, BOB_PUBLIC, b"sum"),
        pair_seed(ALICE, BOB_PUBLIC, b"product"),
        pair_seed(ALICE, BOB_PUBLIC, b""),
        pair_seed(ALICE, public_key(CAROL), b"sum"),
        pair_seed(BOB, public_key(CAROL), b"sum"),
    }
    assert len(seeds) == 5
    assert SHARED not in seeds


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_public_key_of_another_length_is_refused(size):
    with pytest.raises(ValueError, match="32 bytes"):
        pair_seed(ALICE, bytes(range(size)), b"sum")


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_a_public_key_of_small_order_is_refused(point):
    with pytest.raises(ValueError, match=r".+"):
        pair_seed(ALICE, bytes.fromhex(point), b"sum")


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_private_key_of_another_length_is_refused(size):
    with pytest.raises(ValueError, match="32 bytes"):
        public_key(bytes(size))
