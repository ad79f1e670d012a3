"""A sum that everyone opens.

From the masked vectors themselves, exactly the sum and nothing else, and no lie survives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leaks.enumeration import Digits, Enumerated, EnumeratedEntropy, Tapped, coalitions
from tacit.choreo import Coordinator, Everyone, Holder, LocalError, PeerError, Roster
from tacit.choreo.codec import encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums.secure_sum import Masked, open_sum, protect
from tacit.runtimes.apart import Apart, in_threads
from tacit.runtimes.together import Together

ROSTER = Roster({Holder: ("p1", "p2", "p3"), Coordinator: ("coordinator",)})
X = {p: np.arange(6.0).reshape(2, 3) * (i + 1) - 0.25 for i, p in enumerate(ROSTER[Holder])}


def fresh(me: str) -> RootEntropy:
    return RootEntropy([me], b"r")


def play(run: Any, x: Any = None, **params: Any) -> Any:
    by = protect(run, to=Coordinator, **params)
    held = run.hold(Holder, {p: v for p, v in (x or X).items() if p in run.present})
    return [open_sum(run, held, by=by, fixed=FixedPoint(32, 3)) for _ in range(2)]


def test_every_party_by_itself_learns_the_sum_in_its_shape():
    for sums in in_threads(ROSTER, play, job=b"j", entropy=fresh).values():
        for total in sums:
            np.testing.assert_allclose(total, np.sum(list(X.values()), axis=0), atol=1e-9)


def test_what_is_published_is_masked_and_the_ledger_says_who_learns_the_sum():
    with Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"r")) as run:
        play(run)
    rows = [row for row in run.ledger if row.type == "Masked"]
    assert {row.receiver for row in rows} == set(ROSTER.parties)
    assert {row.digest is not None for row in rows} == {True}, "it is published: audits can be compared"
    assert [(o.role, o.what) for o in run.ledger.opens if o.protocol == "open_sum"] == [
        (Everyone.name, "the sum over all holders")
    ]


@pytest.mark.parametrize("method", ["ring", "threshold", "graph"])
def test_protections_without_a_masked_vector_of_everyone_are_refused(method):
    with (
        Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"r")) as run,
        pytest.raises(LocalError, match=f"a sum that everyone checks needs secure_sum='pairwise', not '{method}'"),
    ):
        play(run, method=method)


def test_arrays_of_different_shapes_are_named():
    with (
        Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"r")) as run,
        pytest.raises(PeerError, match=r"senders of Masked .* disagree on its shape: p1 .* p2"),
    ):
        play(run, {**X, "p2": np.zeros((2, 2))})


class TwoFaced(Apart):
    """p2 tells p3 another masked vector than the others, in the first sum."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        if self.me == "p2" and place == "/open_sum/Masked":
            other = encode(Masked(np.arange(7, dtype=np.uint64), (2, 3)))
            outbox = {(s, r): other if r == "p3" else frames for (s, r), frames in outbox.items()}
        return super()._exchange(place, outbox, wanted, missing)


def test_a_party_that_was_told_something_else_spoils_the_sum_at_once_or_the_next_one(monkeypatch):
    monkeypatch.setattr("tacit.runtimes.apart.Apart", TwoFaced)
    with pytest.raises(
        PeerError, match="the pads do not cancel: the parties were told different things; compare their audits"
    ):
        in_threads(ROSTER, play, job=b"j", entropy=fresh)


def test_an_altered_check_word_is_seen(monkeypatch):
    class Altered(Apart):
        def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
            if self.me == "p1" and place == "/open_sum/Masked":
                outbox = {pair: encode(Masked(np.zeros(7, dtype=np.uint64), (2, 3))) for pair in outbox}
            return super()._exchange(place, outbox, wanted, missing)

    monkeypatch.setattr("tacit.runtimes.apart.Apart", Altered)
    with pytest.raises(PeerError, match="the pads do not cancel"):
        in_threads(ROSTER, play, job=b"j", entropy=fresh)


# Exactly, in Z_2: all inputs, all pads, two sums


class Once(Tapped):
    """A published vector is one vector, however many receive it; whoever is asked has it."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        done = super()._exchange(place, outbox, wanted, missing)
        self.seen = [(s, r, m) for s, r, m in self.seen if r == "coordinator"]
        return done


class Open(Enumerated):
    """Everyone sees every vector."""

    def view(self, coalition: Any) -> Any:
        members, seen = set(coalition), self.run.seen
        self.run.seen = [(s, next(iter(members)), m) for s, _, m in seen]
        try:
            return super().view(members)
        finally:
            self.run.seen = seen


def enumerated(entropy: type[EnumeratedEntropy] = EnumeratedEntropy) -> Open:
    names, digits = ROSTER[Holder], Digits(2, 6)
    for _ in ("count", "enumerate"):
        source = entropy(ROSTER.parties, digits)
        with Once(ROSTER, job=b"leak test", entropy=source) as run:
            by = protect(run, to=Coordinator)
            for t in range(2):
                x = run.hold(Holder, {p: digits.of(3 * t + i) for i, p in enumerate(names)})
                total = open_sum(run, x, by=by, ring=Ring(2))
                np.testing.assert_array_equal(total, sum(digits.of(3 * t + i) for i in range(3)) % np.uint64(2))
        digits.pads = len(source.numbers)
        digits.freeze()
    return Open(run, source, digits, names, ())


def test_the_view_of_every_coalition_depends_on_the_sums_and_its_own_values_only():
    done = enumerated()
    for coalition in coalitions(ROSTER.parties):
        assert done.depends_only_on(coalition, lambda t: [done.sums(done.holders, t)]), coalition
    assert not done.depends_only_on(("coordinator",), lambda _t: []), "it does learn the sums"


def test_a_pad_that_is_missing_is_caught():
    class NoPad(EnumeratedEntropy):
        def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
            return np.zeros_like(super().pad(party, seed, tag, words))

    done = enumerated(NoPad)
    assert not done.depends_only_on(("coordinator",), lambda t: [done.sums(done.holders, t)])
