"""Pads are AES-256-CTR over zeros, however large they are."""

import itertools

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR, ECB

from tacit.crypto.pads.entropy import WORDS, stream

KEY = bytes(range(32))
# AES-256 under the zero key of the blocks 0, 1 and 2, as NIST's GCM test cases 13 and 14 print them (H, E(K, Y0) and
# the ciphertext)
ZERO_KEY = "dc95c078a2408989ad48a21492842087530f8afbc74536b9a963b4f1c4cb738bcea7403d4d606b6e074ec5d3baf39d18"


def whole(key, words):
    return np.concatenate([np.empty(0, dtype=np.uint64), *(chunk.copy() for chunk in stream(key, words))])


@pytest.mark.parametrize(
    "words", [0, 1, 2, 3, WORDS - 1, WORDS, WORDS + 1, 2 * WORDS - 1, 2 * WORDS, 2 * WORDS + 1, 3 * WORDS + 7]
)
def test_a_stream_is_aes_256_ctr_of_zeros_in_one_shot(words):
    expected = Cipher(AES(KEY), CTR(bytes(16))).encryptor().update(bytes(8 * words))
    got = whole(KEY, words)
    assert got.size == words
    assert got.tobytes() == expected


def test_a_stream_is_the_block_cipher_of_a_big_endian_counter():
    counters = b"".join(i.to_bytes(16, "big") for i in range(WORDS // 2 + 5))
    expected = Cipher(AES(KEY), ECB()).encryptor().update(counters)  # noqa: S305 - the block function itself
    assert whole(KEY, WORDS + 10).tobytes() == expected


def test_the_zero_key_gives_nists_words():
    assert whole(bytes(32), 6).astype("<u8").tobytes().hex() == ZERO_KEY


def test_words_are_little_endian():
    (first,) = whole(bytes(32), 1).tolist()
    assert first == int.from_bytes(bytes.fromhex(ZERO_KEY)[:8], "little")


def test_a_shorter_stream_is_the_start_of_a_longer_one():
    assert np.array_equal(whole(KEY, 1000), whole(KEY, WORDS + 1000)[:1000])


def test_chunks_share_one_buffer_so_that_a_large_pad_never_exists_as_a_whole():
    first, second = itertools.islice(stream(KEY, 3 * WORDS), 2)
    assert np.shares_memory(first, second)


def test_two_streams_do_not_disturb_each_other():
    a, b = stream(KEY, 2 * WORDS), stream(bytes(32), 2 * WORDS)
    mixed = [(x.copy(), y.copy()) for x, y in zip(a, b, strict=True)]
    assert np.array_equal(np.concatenate([x for x, _ in mixed]), whole(KEY, 2 * WORDS))


@pytest.mark.parametrize("size", [0, 16, 24, 31, 33, 64])
def test_a_key_of_another_length_is_refused(size):
    with pytest.raises(ValueError, match=f"a pad needs a key of 32 bytes, got {size}"):
        next(stream(bytes(size), 1))
