"""Envelopes: only the receiver opens them, in the same run, unaltered; their sizes tell steps and nothing finer."""

import secrets

import pytest
from cryptography.exceptions import InvalidTag
from hypothesis import given
from hypothesis import strategies as st

from tacit.crypto.pads.agreement import public_key
from tacit.crypto.pads.envelope import NONCE, STEPS, Sealer, _pad, _unpad
from tacit.errors import PeerError

RUN = b"digest of the job, and its id"
TAG = 16
PRIVATE = {name: secrets.token_bytes(32) for name in ("north", "south", "east")}
PUBLIC = {name: public_key(key) for name, key in PRIVATE.items()}
REFUSED = "a message that claims to be from north was altered, or is of another run: ask the broker's people"


def sealer(name, context=RUN, publics=None):
    return Sealer(name, PRIVATE[name], publics or PUBLIC, context)


NORTH, SOUTH, EAST = (sealer(name) for name in PRIVATE)


@pytest.mark.parametrize("plain", [b"", b"\0", b"the patient is 47", bytes(70_000), bytearray(b"mutable")], ids=len)
def test_a_letter_opens_at_its_receiver_in_both_directions(plain):
    assert SOUTH.open("north", "south", NORTH.seal("south", plain)) == plain
    assert NORTH.open("south", "north", SOUTH.seal("north", plain)) == plain


def test_a_party_reads_again_what_it_sent_and_what_it_keeps_for_itself():
    assert NORTH.open("north", "south", NORTH.seal("south", b"sent")) == b"sent"
    assert NORTH.open("north", "north", NORTH.seal("north", b"kept")) == b"kept"


def test_nobody_else_opens_what_a_party_keeps_for_itself():
    kept = NORTH.seal("north", b"kept")
    for sender, receiver in [("north", "south"), ("south", "south"), ("south", "north")]:
        with pytest.raises(PeerError, match="was altered, or is of another run"):
            SOUTH.open(sender, receiver, kept)


def test_the_plaintext_does_not_show_and_no_two_letters_are_alike():
    letters = {NORTH.seal("south", b"the patient is 47") for _ in range(20)}
    assert len(letters) == len({letter[:NONCE] for letter in letters}) == 20
    assert not any(b"patient" in letter for letter in letters)


def test_a_bit_that_flipped_anywhere_is_noticed():
    letter = NORTH.seal("south", b"the patient is 47")
    for at in range(len(letter) * 8):
        altered = bytearray(letter)
        altered[at // 8] ^= 1 << at % 8
        with pytest.raises(PeerError, match=REFUSED):
            SOUTH.open("north", "south", bytes(altered))


def test_a_letter_cut_or_lengthened_anywhere_is_noticed():
    letter = NORTH.seal("south", b"the patient is 47")
    for cut in (*(letter[:size] for size in range(len(letter))), letter[1:], letter + b"\0", letter + letter):
        with pytest.raises(PeerError, match=REFUSED):
            SOUTH.open("north", "south", cut)


@pytest.mark.parametrize(("sender", "receiver"), [("south", "north"), ("south", "south")])
def test_a_letter_sent_back_to_its_author_or_under_another_name_is_refused(sender, receiver):
    letter = NORTH.seal("south", b"hello")
    with pytest.raises(PeerError, match=f"claims to be from {sender} was altered"):
        (NORTH if receiver == "north" else SOUTH).open(sender, receiver, letter)


def test_a_third_party_neither_opens_a_letter_nor_passes_it_on_as_its_own():
    letter = NORTH.seal("south", b"hello")
    with pytest.raises(PeerError, match=REFUSED):
        EAST.open("north", "east", letter)
    with pytest.raises(PeerError, match="claims to be from east"):
        SOUTH.open("east", "south", letter)


def test_a_letter_of_another_run_is_refused():
    letter = sealer("north", b"another job").seal("south", b"hello")
    with pytest.raises(PeerError, match=REFUSED):
        SOUTH.open("north", "south", letter)
    with pytest.raises(PeerError, match="was altered, or is of another run"):
        NORTH.open("north", "north", sealer("north", b"another job").seal("north", b"kept"))


def test_every_run_has_keys_of_its_own():
    letter, other = NORTH.seal("south", b"hello"), sealer("south", b"another job")
    for pair in [("north", "south"), ("south", "north")]:
        with pytest.raises(InvalidTag):
            other._keys[pair].decrypt(letter[:NONCE], letter[NONCE:], NORTH._about("north", "south"))


def test_a_letter_to_a_key_that_was_exchanged_is_refused():
    false = {**PUBLIC, "south": PUBLIC["east"]}
    with pytest.raises(PeerError, match=REFUSED):
        SOUTH.open("north", "south", sealer("north", publics=false).seal("south", b"hello"))


def test_a_replay_opens_to_the_same_and_tells_nothing_new():
    letter = NORTH.seal("south", b"hello")
    assert {SOUTH.open("north", "south", letter) for _ in range(3)} == {b"hello"}


def test_a_refusal_shows_no_content():
    letter = bytearray(NORTH.seal("south", b"the patient is 47"))
    letter[-1] ^= 1
    with pytest.raises(PeerError) as error:
        SOUTH.open("north", "south", bytes(letter))
    assert error.value.__cause__ is None
    assert "47" not in str(error.value)


@given(st.integers(0, 500 * STEPS[-1]))
def test_a_size_tells_its_step_only(size):
    steps = [*STEPS, *(STEPS[-1] * 2**k * n // 16 for k in range(10) for n in range(17, 33))]
    length = len(NORTH.seal("south", bytes(size))) - NONCE - TAG
    assert length == min(step for step in steps if step >= size + 8)


@pytest.mark.parametrize("step", STEPS)
def test_the_last_size_of_a_step_and_the_first_of_the_next(step):
    assert len(_pad(bytes(step - 8))) == step
    assert len(_pad(bytes(step - 7))) > step


def test_a_count_of_99_looks_like_one_of_100():
    assert len(NORTH.seal("south", b"99")) == len(NORTH.seal("south", b"100"))


def test_a_length_that_lies_is_refused():
    with pytest.raises(PeerError, match="a sealed message is shorter than it says"):
        _unpad((249).to_bytes(8, "little") + bytes(248))


def test_nothing_secret_is_printed():
    assert repr(NORTH) == str(NORTH) == "Sealer(north)"
    shown = f"{NORTH!r}{vars(NORTH)}"
    assert PRIVATE["north"].hex() not in shown
    assert repr(PRIVATE["north"])[2:-1] not in shown
