"""Secure sums: what they refuse, what they draw, what memory they take."""

from __future__ import annotations

import secrets
import tracemalloc
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, LocalError, PeerError, Role, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.protocols.sums.secure_sum import mask, pair_seeds, protect, secure_sum
from tacit.runtimes.together import Together


def summed(x: dict[str, Any], *, to: Role = Coordinator, fixed: FixedPoint | None = None) -> tuple[Any, RootEntropy]:
    roster = Roster({Holder: tuple(x), Coordinator: ("coordinator",)})
    entropy = RootEntropy(roster.parties, b"run")
    with Together(roster, job=b"job", entropy=entropy) as run:
        by = protect(run)
        total = secure_sum(run, run.hold(Holder, x), to=to, by=by, fixed=fixed, what="heights")
        return next(iter(total._entries.values())), entropy


def words(parties: int, n: int) -> dict[str, Any]:
    return {f"p{i}": np.frombuffer(secrets.token_bytes(8 * n), dtype=np.uint64) for i in range(parties)}


@pytest.mark.parametrize("parties", [2, 3, 5])
def test_every_party_draws_a_pad_for_every_other_so_nobody_is_skipped(parties):
    _, entropy = summed(words(parties, 1000))
    assert entropy.words_drawn == parties * (parties - 1) * (1000 + 1)


def test_masking_takes_at_most_one_and_a_half_times_the_vector():
    names = [f"p{i}" for i in range(5)]
    x = np.zeros(1 << 20, dtype=np.uint64)
    pads = RootEntropy(names, b"run").pads("p0", {p: secrets.token_bytes(32) for p in names[1:]}, b"tag")
    tracemalloc.start()
    mask(x, pads, "p0", None, "x", Z64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.5 * x.nbytes


def test_masking_reals_takes_no_second_copy_either():
    names = [f"p{i}" for i in range(5)]
    x = np.zeros(1 << 20)
    pads = RootEntropy(names, b"run").pads("p0", {p: secrets.token_bytes(32) for p in names[1:]}, b"tag")
    tracemalloc.start()
    mask(x, pads, "p0", FixedPoint(32, 5), "x", Z64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.5 * x.nbytes + (1 << 20)


def test_a_masked_vector_is_not_the_vector():
    names = ["p0", "p1"]
    x = np.arange(64, dtype=np.uint64)
    pads = RootEntropy(names, b"run").pads("p0", {"p1": secrets.token_bytes(32)}, b"tag")
    sent = mask(x, pads, "p0", None, "x", Z64).words
    assert not np.any(sent[:-1] == x)


def test_a_value_the_fixed_point_cannot_hold_is_refused_by_its_owner():
    x = {p: np.array([1.0, 2.0]) for p in ("north", "south", "east")}
    x["south"] = np.array([1.0, 1e18])
    with pytest.raises(
        LocalError, match=r"heights.*1e\+18 does not fit.*32 fraction bits for 3 parties.*scale the features"
    ):
        summed(x, fixed=FixedPoint(32, 3))


def test_holders_with_different_shapes_are_named():
    x = {"north": np.zeros(3, np.uint64), "south": np.zeros(4, np.uint64), "east": np.zeros(3, np.uint64)}
    with pytest.raises(PeerError, match=r"senders of Masked .* disagree on its shape: north .* south"):
        summed(x)


def test_a_public_key_that_is_none_is_a_peer_error_without_a_secret_in_it():
    private = secrets.token_bytes(32)
    with pytest.raises(PeerError, match="a public key that north received is not an X25519 key") as caught:
        pair_seeds(private, {"north": b"x" * 32, "south": bytes(32)}, "north")
    assert private.hex() not in str(caught.value)


def test_symmetric_sums_refuse_what_is_not_square():
    x = {p: np.zeros((2, 3)) for p in ("a", "b", "c")}
    roster = Roster({Holder: tuple(x), Coordinator: ("coordinator",)})
    with (
        Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run")) as run,
        pytest.raises(LocalError, match="square matrix"),
    ):
        secure_sum(run, run.hold(Holder, x), to=Coordinator, by=protect(run), symmetric=True)


def test_a_symmetric_matrix_sends_one_triangle():
    x = {p: np.ones((50, 50)) for p in ("a", "b", "c")}
    roster = Roster({Holder: tuple(x), Coordinator: ("coordinator",)})
    with Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run")) as run:
        secure_sum(
            run,
            run.hold(Holder, x),
            to=Coordinator,
            by=protect(run),
            fixed=FixedPoint(20, 3),
            symmetric=True,
        )
    (shape,) = {row.shapes for row in run.ledger if row.type == "Masked"}
    assert shape == ((50 * 51 // 2 + 1,),)
