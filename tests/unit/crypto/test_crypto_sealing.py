"""Sealed boxes: only the same key opens them, in the same context, unaltered."""

import secrets

import pytest

from tacit.crypto.pads.sealing import OVERHEAD, seal, unseal

KEY, CONTENT, CONTEXT = secrets.token_bytes(32), b"the patient is 47", b"north > south"


def test_a_box_opens_to_its_content_and_does_not_show_it():
    box = seal(KEY, CONTENT, CONTEXT)
    assert unseal(KEY, box, CONTEXT) == CONTENT
    assert CONTENT not in box
    assert len(box) == len(CONTENT) + OVERHEAD


@pytest.mark.parametrize("position", range(0, len(CONTENT) + OVERHEAD, 4))
def test_an_altered_byte_is_an_error(position):
    box = bytearray(seal(KEY, CONTENT, CONTEXT))
    box[position] ^= 1
    with pytest.raises(ValueError, match="the box was altered"):
        unseal(KEY, bytes(box), CONTEXT)


@pytest.mark.parametrize("length", [0, 1, OVERHEAD - 1, OVERHEAD, len(CONTENT) + OVERHEAD - 1])
def test_a_truncated_box_is_an_error(length):
    with pytest.raises(ValueError, match="the box was altered"):
        unseal(KEY, seal(KEY, CONTENT, CONTEXT)[:length], CONTEXT)


def test_another_key_or_context_is_an_error_without_a_secret_in_it():
    box = seal(KEY, CONTENT, CONTEXT)
    with pytest.raises(ValueError, match="another key or for another context") as caught:
        unseal(secrets.token_bytes(32), box, CONTEXT)
    assert KEY.hex() not in str(caught.value)
    with pytest.raises(ValueError, match="another key or for another context"):
        unseal(KEY, box, b"south > north")


def test_a_key_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a key of 32 bytes, got 16"):
        seal(bytes(16), CONTENT, CONTEXT)
