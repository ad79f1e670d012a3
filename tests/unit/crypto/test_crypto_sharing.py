"""Shamir shares: any t give the secret back, and nothing malformed does."""

import secrets
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.crypto.pads.sharing import SHARE, P, deal, reconstruct


def is_prime(n):
    """Miller-Rabin with forty bases."""
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(pow(a, odd, n) == 1 or any(pow(a, odd << r, n) == n - 1 for r in range(twos)) for a in range(2, 42))


def test_the_field_is_one_and_holds_every_32_byte_secret():
    assert is_prime(P)
    assert P > 1 << 256
    assert not any(is_prime((1 << 256) + k) for k in range(1, 297, 2))


@given(secret=st.binary(min_size=32, max_size=32), data=st.data())
@settings(deadline=None, max_examples=30)
def test_any_t_shares_give_the_secret_back(secret, data):
    n = data.draw(st.integers(1, 12))
    t = data.draw(st.integers(1, n))
    shares = deal(secret, t, n, b"dice")
    chosen = data.draw(st.lists(st.sampled_from(shares), min_size=t, unique=True))
    assert reconstruct(chosen, t) == secret


def test_the_largest_secret_comes_back_from_every_choice():
    shares = deal(b"\xff" * 32, 3, 5, b"dice")
    assert {reconstruct(chosen, 3) for chosen in combinations(shares, 3)} == {b"\xff" * 32}


def test_fewer_than_t_shares_fit_every_secret():
    """Any secret at all is on a polynomial through t - 1 given shares, so they cannot tell one from another."""
    two = deal(secrets.token_bytes(32), 3, 5, b"dice")[:2]
    (x1, y1), (x2, y2) = ((int.from_bytes(s[:2]), int.from_bytes(s[2:])) for s in two)
    for guess in (0, 1, int.from_bytes(secrets.token_bytes(32))):
        # the parabola through (0, guess), (x1, y1), (x2, y2), at 3
        s1, s2 = ((y - guess) * pow(x, -1, P) for x, y in ((x1, y1), (x2, y2)))
        c2 = (s2 - s1) * pow(x2 - x1, -1, P) % P
        c1 = (s1 - c2 * x1) % P
        third = (3).to_bytes(2) + ((guess + 3 * c1 + 9 * c2) % P).to_bytes(33)
        assert int.from_bytes(reconstruct([*two, third], 3)) == guess


def test_another_seed_gives_other_shares_and_the_same_seed_the_same():
    secret = secrets.token_bytes(32)
    assert deal(secret, 2, 3, b"dice") == deal(secret, 2, 3, b"dice")
    assert not set(deal(secret, 2, 3, b"dice")) & set(deal(secret, 2, 3, b"others"))


def test_too_few_shares_are_refused():
    with pytest.raises(ValueError, match="2 shares, 3 are needed"):
        reconstruct(deal(bytes(32), 3, 5, b"dice")[:2], 3)


def test_a_share_that_is_there_twice_is_refused():
    shares = deal(bytes(32), 3, 5, b"dice")
    with pytest.raises(ValueError, match="twice"):
        reconstruct([*shares[:3], shares[0]], 3)


@pytest.mark.parametrize(
    "share",
    [b"", bytes(SHARE), b"\0\1" + P.to_bytes(33), b"\0\1" + bytes(32), b"\0\1" + bytes(34)],
    ids=["empty", "at zero", "not below p", "short", "long"],
)
def test_a_malformed_share_is_refused(share):
    with pytest.raises(ValueError, match="malformed share"):
        reconstruct([share, *deal(bytes(32), 3, 5, b"dice")[1:]], 3)


def test_an_altered_share_does_not_give_the_secret():
    secret = secrets.token_bytes(32)
    first, *others = deal(secret, 3, 3, b"dice")
    altered = first[:-1] + bytes([first[-1] ^ 1])
    try:
        assert reconstruct([altered, *others], 3) != secret
    except ValueError as error:
        assert "do not belong together" in str(error)  # noqa: PT017 - either is right


@pytest.mark.parametrize(
    ("secret", "t", "n"), [(b"short", 2, 3), (bytes(32), 0, 3), (bytes(32), 4, 3), (bytes(32), 2, 1 << 16)]
)
def test_what_cannot_be_dealt_is_refused(secret, t, n):
    with pytest.raises(ValueError, match=r"a shared secret has 32 bytes, got 5|cannot deal \d+ shares"):
        deal(secret, t, n, b"dice")
