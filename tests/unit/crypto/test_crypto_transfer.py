"""Oblivious transfer: the receiver has the key that it chose at each place, and pads that fit those of the sender."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from tacit.crypto.sets import transfer
from tacit.errors import PeerError

SENDER, RECEIVER = b"a" * 32, b"b" * 32


@pytest.fixture(scope="module")
def keys():
    offer = transfer.make_offer(SENDER)
    points, chosen = transfer.choose(offer, RECEIVER)
    return (*transfer.make_keys(SENDER, points), chosen)


def bits(row):
    return np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")


def test_the_receiver_has_the_chosen_key_at_each_place_and_not_the_other(keys):
    first, second, chosen = keys
    s = bits(transfer.draw_choices(RECEIVER)).astype(bool)
    np.testing.assert_array_equal(chosen, np.where(s[:, None], second, first))
    assert not (chosen == np.where(s[:, None], first, second)).all(axis=1).any()
    assert len({key.tobytes() for pair in (first, second) for key in pair}) == 2 * transfer.PLACES
    assert 150 < s.sum() < 300, "the choices are random bits"


def test_the_pads_of_the_receiver_are_the_chosen_ones_of_the_sender(keys):
    t0, t1, t = (transfer.stretch(each, 0, 300) for each in keys)
    s = transfer.draw_choices(RECEIVER)
    np.testing.assert_array_equal(t, t0 ^ (s & (t0 ^ t1)))


def test_a_place_of_the_pads_is_the_key_stream_of_its_key(keys):
    rows = transfer.stretch(keys[0], 0, 256)
    stream = Cipher(AES(keys[0][70].tobytes()), CTR(bytes(16))).encryptor().update(bytes(32))
    np.testing.assert_array_equal([bits(row)[70] for row in rows], bits(np.frombuffer(stream, np.uint8)))


def test_pads_may_be_made_in_parts(keys):
    whole = transfer.stretch(keys[0], 0, transfer.CHUNK + 500)
    for start, stop in ((0, 128), (128, 200), (transfer.CHUNK - 128, transfer.CHUNK + 500)):
        np.testing.assert_array_equal(transfer.stretch(keys[0], start, stop), whole[start:stop])


@pytest.mark.parametrize("offer", [np.zeros(32, np.uint8), np.full(32, 255, np.uint8)])
def test_an_offer_that_is_no_point_is_a_peer_s_fault(offer):
    with pytest.raises(PeerError, match="not a point of ristretto255"):
        transfer.choose(offer, RECEIVER)


def test_so_are_choices_that_are_none_or_too_few():
    with pytest.raises(PeerError, match="not a point of ristretto255"):
        transfer.make_keys(SENDER, np.zeros((448, 32), np.uint8))
    with pytest.raises(PeerError, match=r"448 points must be chosen, these came in shape \(1, 32\)"):
        transfer.make_keys(SENDER, transfer.make_offer(RECEIVER)[None])
