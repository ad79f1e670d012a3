"""The product of two parties' matrices in shares: equal to the integer product, refused where anything is amiss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.choreo import Holder, LocalError, PeerError, Role, Roster, decode_as, encode, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.products.engines import BOUND
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Ring
from tacit.protocols.products.secure_product import Reply, Upload, secure_product
from tacit.protocols.sums.secure_sum import protect, secure_sum
from tacit.runtimes.together import Together

P1, P2 = (Role("holder", single=True, party=p) for p in ("p1", "p2"))
RING = Ring(1 << 48)
KINDS = {"Upload": Upload, "Reply": Reply}


def played(A: Any, B: Any, runtime: type[Together] = Together, **how: Any) -> Any:
    with runtime(Roster({Holder: ("p1", "p2")}), job=b"test", entropy=RootEntropy(["p1", "p2"], b"test")) as run:
        held = (run.hold(P1, {"p1": A}), run.hold(P2, {"p2": B}))
        shape = how.pop("shape", (len(A), len(B), A.shape[1]))
        mine, theirs = secure_product(run, *held, p=P1, q=P2, shape=shape, **how)
        return entries_of(mine)["p1"], entries_of(theirs)["p2"]


@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 2**32),
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 8)),
    st.sampled_from([1, 1000, BOUND]),
)
def test_the_shares_add_up_to_the_integer_product_of_what_was_drawn(seed, shape, size):
    rng = np.random.default_rng(seed)
    m, others, n = shape
    A, B = rng.integers(-size, size + 1, (m, n)), rng.integers(-size, size + 1, (others, n))
    mine, theirs = played(A, B)
    np.testing.assert_array_equal(RING.centred(RING.total([mine, theirs])), A @ B.T)


def test_reals_are_multiplied_as_fixed_point_to_within_rounding():
    rng = np.random.default_rng(0)
    A, B = rng.uniform(-1, 1, (9, 5)), rng.uniform(-1, 1, (4, 5))
    found = np.ldexp(RING.centred(RING.total(played(A, B, fixed=FixedPoint(20)))).astype(float), -40)
    assert np.abs(found - A @ B.T).max() <= 5 * 2.0**-20


def test_the_shares_can_go_into_a_secure_sum_of_the_same_ring():
    A, B = np.arange(6).reshape(3, 2) - 3, np.arange(4).reshape(2, 2)
    shares = dict(zip(("p1", "p2"), played(A, B, by="paillier"), strict=True))
    with Together(Roster({Holder: ("p1", "p2")}), job=b"sum", entropy=RootEntropy(["p1", "p2"], b"sum")) as run:
        total = secure_sum(run, run.hold(Holder, shares), to=P1, by=protect(run, to=P1), ring=RING)
        np.testing.assert_array_equal(RING.centred(entries_of(total)["p1"]), A @ B.T)


class Meddling(Together):
    """Somebody between the parties changes one byte of what passes."""

    kind = "Upload"
    at = 1000

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        label = place.rsplit("/", 1)[-1]
        if label == self.kind:
            outbox = {pair: encode(self.changed(decode_as(KINDS[label], frames))) for pair, frames in outbox.items()}
        return super()._exchange(place, outbox, wanted, missing)

    def changed(self, message: Any) -> Any:
        body = message.body.copy()
        body[self.at] ^= 1
        return type(message)(body, message.mac)


class MeddlingWithReplies(Meddling):
    kind = "Reply"


class Replaying(Meddling):
    """Hands out the reply of another run."""

    kind = "Reply"
    earlier: Any = None

    def changed(self, message: Any) -> Any:
        if Replaying.earlier is None:
            Replaying.earlier = message
        return Replaying.earlier


@pytest.mark.parametrize("by", ["bfv", "paillier"])
@pytest.mark.parametrize(("runtime", "what"), [(Meddling, "upload"), (MeddlingWithReplies, "reply")])
def test_a_flipped_bit_is_refused(by, runtime, what):
    A = np.arange(8).reshape(4, 2)
    with pytest.raises(
        PeerError,
        match=f"the {what} of a product was altered, or is of another run or place: nothing was computed from it",
    ):
        played(A, A, runtime, by=by)


def test_a_reply_of_another_run_is_refused():
    A = np.arange(8).reshape(4, 2)
    played(A, A, Replaying)
    with pytest.raises(PeerError, match="the reply of a product was altered, or is of another run or place"):
        played(A, A, Replaying)


def test_what_cannot_be_multiplied_is_refused_before_anything_is_sent():
    A = np.arange(8).reshape(4, 2)
    with pytest.raises(
        LocalError,
        match=r"the matrix of p1: arrays of shape \[\(4, 2\)\] where the plan of the product says \[\(5, 2\)\]",
    ):
        played(A, A, Unsent, shape=(5, 4, 2))
    with pytest.raises(
        LocalError,
        match="the matrix of p2: an entry is 2000000 in fixed point, over the bound of 1048576: scale the features",
    ):
        played(A, A * 2_000_000 // 7, Unsent)
    with pytest.raises(LocalError, match="the matrix of p1: a product is computed on integers"):
        played(A / 2, A, Unsent)
    with pytest.raises(LocalError, match="unknown engine 'rsa'"):
        played(A, A, Unsent, by="rsa")


class Unsent(Together):
    def _exchange(self, *_: Any) -> Any:
        raise AssertionError("something was sent")
