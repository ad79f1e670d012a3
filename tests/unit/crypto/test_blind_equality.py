"""Blind comparison: scalars commute, hashes are points of the curve, and what is none is refused."""

import secrets

import pytest

from tacit.crypto.sets.blind_equality import hash_to_point, is_on_curve, put_on
from tacit.errors import PeerError

BASE = (9).to_bytes(32, "little")  # of X25519, which is on the curve
TWIST = (2).to_bytes(32, "little")


def test_scalars_commute_on_the_same_value_and_on_no_other():
    a, b = secrets.token_bytes(32), secrets.token_bytes(32)
    same, other = hash_to_point(b"north"), hash_to_point(b"south")
    assert put_on(a, put_on(b, same)) == put_on(b, put_on(a, same))
    assert put_on(a, put_on(b, same)) != put_on(b, put_on(a, other))


def test_every_hash_is_on_the_curve_and_stays_there_so_that_no_bit_of_a_list_shows():
    assert is_on_curve(BASE)
    assert not is_on_curve(TWIST)
    for i in range(20):
        point = hash_to_point(b"%d" % i)
        assert is_on_curve(point)
        assert is_on_curve(put_on(secrets.token_bytes(32), point))


@pytest.mark.parametrize("bad", [bytes(32), (1).to_bytes(32, "little"), b"short"])
def test_what_is_no_point_of_the_large_group_is_refused(bad):
    with pytest.raises(PeerError, match="not a point of curve25519: stop and ask the sender"):
        put_on(secrets.token_bytes(32), bad)
