"""Blind hashing.

Scalars commute, a blinded question is answered as if it were open, and what is no point is refused.
"""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from conformance.intersection_reference import digested
from tacit.crypto.sets import oprf
from tacit.crypto.sets.row_hash import hashes, order_of, sorted_rows
from tacit.errors import MissingExtraError, PeerError, install_command

IDS = digested([f"id {i}" for i in range(300)])
R, S = oprf.make_scalar(b"r" * 32), oprf.make_scalar(b"s" * 32)


def test_scalars_commute_and_come_off_again():
    H = oprf.hash_to_points(IDS, b"test")
    np.testing.assert_array_equal(
        oprf.raise_points(oprf.raise_points(H, R), S), oprf.raise_points(oprf.raise_points(H, S), R)
    )
    np.testing.assert_array_equal(oprf.raise_points(oprf.raise_points(H, R), oprf.invert(R)), H)


def test_a_blinded_question_is_answered_as_an_open_one_and_tells_the_owner_nothing_it_could_compare():
    H = oprf.hash_to_points(IDS, b"test")
    blinded = oprf.raise_points(H, R)
    assert not {row.tobytes() for row in blinded} & {row.tobytes() for row in H}
    asked = oprf.hash_outputs(IDS, oprf.raise_points(oprf.raise_points(blinded, S), oprf.invert(R)))
    np.testing.assert_array_equal(asked, oprf.hash_outputs(IDS, oprf.raise_points(H, S)))
    assert len(np.unique(asked)) == asked.size


def test_the_group_is_the_one_of_rfc_9496():
    """The generator, and its double."""
    sodium = oprf.load_sodium()
    one = (1).to_bytes(32, "little")
    assert (
        sodium.crypto_scalarmult_ristretto255_base(one).hex()
        == "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"
    )
    generator = np.frombuffer(sodium.crypto_scalarmult_ristretto255_base(one), np.uint8)[None]
    twice = oprf.raise_points(generator, (2).to_bytes(32, "little"))
    assert twice.tobytes().hex() == "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919"


def test_uses_are_kept_apart():
    assert (oprf.hash_to_points(IDS[:3], b"one") != oprf.hash_to_points(IDS[:3], b"other")).any()
    assert (hashes(IDS, 16, use=b"a") != hashes(IDS, 16, use=b"b")).any()
    assert (hashes(IDS, 16, use=b"a", key=b"k") != hashes(IDS, 16, use=b"a")).any()


@pytest.mark.parametrize(
    "bad", [np.zeros((1, 32), np.uint8), np.full((2, 32), 255, np.uint8), np.zeros((1, 31), np.uint8)]
)
def test_what_is_no_point_is_a_peer_s_fault(bad):
    with pytest.raises(PeerError, match=r"point.* of ristretto255.*: stop and ask the sender"):
        oprf.raise_points(bad, S)


def test_rows_are_sorted_as_numbers():
    rows = np.random.default_rng(0).integers(0, 256, (50, 16), dtype=np.uint8)
    assert [row.tobytes() for row in sorted_rows(rows)] == sorted(row.tobytes() for row in rows)
    assert sorted(order_of(rows)) == list(range(50))


def test_without_the_library_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rbcl", None)
    oprf.load_sodium.cache_clear()
    try:
        with pytest.raises(
            MissingExtraError,
            match=rf"blind hashing, of ids or .*, needs the extra 'he': {re.escape(install_command('he'))}",
        ):
            oprf.load_sodium()
    finally:
        oprf.load_sodium.cache_clear()
