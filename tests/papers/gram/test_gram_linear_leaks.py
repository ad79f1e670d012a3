"""What shared weights and their answers give away, exactly: the asker learns its own values, and nobody learns w.

`own_sums`, which opens answers by rows, is enumerated in Z_2 over all inputs and all pads, for every coalition; dealing
shares of w in Z_4. That masks of products are long enough is arithmetic (`unit/crypto/test_crypto_product`), and
products themselves are enumerated in `test_secure_product_leaks` and `test_cell_leaks`.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from leaks.enumeration import Digits, Enumerated, EnumeratedEntropy, coalitions
from papers.gram import linear_reference as linear
from papers.gram.cases import CASES
from tacit.choreo import Asker, Coordinator, Holder, Message, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.words import Ring
from tacit.papers.gram.linear import OwnMasked, own_sums
from tacit.papers.gram.weights import DealtWeights, deal
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

Q = 2


class Tapped(Together):
    """Keeps what crossed every border, decoded where it is a share of an answer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[str, str, Message]] = []
        self.frames: list[tuple[str, str, bytes]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        self.frames += [(receiver, place, frames.join()) for (_, receiver), frames in outbox.items()]
        if place.endswith("/OwnMasked"):
            self.seen += [(s, r, decode_as(OwnMasked, frames)) for (s, r), frames in outbox.items()]
        return super()._exchange(place, outbox, wanted, missing)


class Unmasked(EnumeratedEntropy):
    """Pads that are all zero."""

    def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
        return np.zeros_like(super().pad(party, seed, tag, words))


def records(names: tuple[str, ...], size: int) -> Owners:
    """So many of each holder."""
    rows = {p: np.arange(i * size, (i + 1) * size) for i, p in enumerate(names)}
    masks = {p: np.ones((size, 1), np.bool_) for p in names}
    return Owners((len(names) * size, 1), rows, dict.fromkeys(names, np.arange(1)), masks)


def enumerated(holders: int, entropy: type[EnumeratedEntropy] = EnumeratedEntropy) -> Enumerated:
    """One run over all inputs and pads: input t of a holder is its part of an answer to holder t."""
    names = tuple(f"p{i + 1}" for i in range(holders))
    roster = Roster({Holder: names, Asker: names[:1], Coordinator: ("coordinator",)})
    digits = Digits(Q, holders**2)
    for _ in ("count", "enumerate"):
        source = entropy(roster.parties, digits)
        with Tapped(roster, job=b"leak test", entropy=source) as run:
            parts = {
                p: np.concatenate([digits.of(t * holders + i) for t in range(holders)])[None]
                for i, p in enumerate(names)
            }
            by = protect(run)
            sums = own_sums(run, run.hold(Holder, parts), new=records(names, digits.size), by=by, ring=Ring(Q))._entries
        digits.pads = len(source.numbers)
        digits.freeze()
    found = Enumerated(run, source, digits, names, rounds=holders)  # type: ignore[arg-type]  # a Tapped of its own
    for t, p in enumerate(names):
        np.testing.assert_array_equal(sums[p][0], found.sums(names, t))
    return found


@pytest.mark.parametrize("holders", [2, 3])
def test_a_coalition_learns_the_sums_of_its_own_records_and_nothing_else(holders):
    found = enumerated(holders)
    for coalition in coalitions(found.holders):

        def own(t: int, members: tuple[str, ...] = coalition) -> list[Any]:
            return [found.sums(found.holders, t)] if found.holders[t] in members else []

        assert found.depends_only_on(coalition, own), coalition


def test_answers_without_pads_are_caught():
    found = enumerated(3, Unmasked)
    assert not found.depends_only_on(("p1",), lambda t: [found.sums(found.holders, t)] if t == 0 else [])


class Dice:
    """Given in place of AES."""

    def __init__(self, values: tuple[int, ...]) -> None:
        self.values = values

    def put_on(self, name: str, words: int) -> Any:
        assert (name, words) == ("own", len(self.values))
        return iter([np.array(self.values, np.uint64)])


@pytest.mark.parametrize("holders", [2, 3])
def test_all_but_one_of_the_dealt_parts_are_uniform_whatever_is_dealt(holders):
    names, ring = tuple(f"p{i}" for i in range(holders)), Ring(4)
    for left_out in names:
        seen = []
        for total in range(4):
            views = Counter()
            for values in product(range(4), repeat=holders - 1):
                parts = deal(np.array([[total]], np.uint64), Dice(values), names, 7, ring)
                words = {p: int(part.words[0, 0]) for p, part in parts.items() if isinstance(part, DealtWeights)}
                assert sum(words.values()) % 4 == total
                views[tuple(w for p, w in words.items() if p != left_out)] += 1
            seen.append(views)
        assert set(seen[0].values()) == {1}
        assert len(seen[0]) == 4 ** (holders - 1)
        assert all(views == seen[0] for views in seen)


def frames(name: str) -> list[tuple[str, str, bytes]]:
    """Receiver, place and bytes of everything that a case sends, with the same secrets every time."""
    (case,) = (each for each in CASES if each.name == name)
    roster = case.roster(3)
    roots = {p: p.encode().ljust(32, b".") for p in roster.parties}
    with Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r", roots)) as run:
        case.run(run, case.inputs(roster))
    return run.frames


@pytest.mark.parametrize("name", ["gram_linear_rows", "gram_linear_columns"])
def test_the_coordinator_receives_the_same_bytes_whatever_the_new_records_are(name, monkeypatch):
    first = [frame for frame in frames(name) if frame[0] == "coordinator"]
    monkeypatch.setattr(linear, "Z", np.where(np.abs(linear.Z) < 2, 0.25, -linear.Z))
    assert [frame for frame in frames(name) if frame[0] == "coordinator"] == first
    assert {place.rsplit("/", 1)[1] for _, place, _ in first} <= {"Owned", "PublicKey", "Range"}


def test_records_out_of_the_range_of_the_support_vectors_show_in_the_range_and_nowhere_else(monkeypatch):
    first = [frame for frame in frames("gram_linear_rows") if frame[0] == "coordinator"]
    monkeypatch.setattr(linear, "Z", 16 * linear.Z)
    second = [frame for frame in frames("gram_linear_rows") if frame[0] == "coordinator"]
    differ = [place for (_, place, a), (_, _, b) in zip(first, second, strict=True) if a != b]
    assert differ == ["/gram_linear_predict/agreed_range/Range"]


def test_all_but_one_holder_receive_the_same_bytes_whatever_w_is(monkeypatch):
    """But for ciphertexts; which one it is does not matter, as dealing is enumerated above."""

    def heard() -> list[Any]:
        return [f for f in frames("gram_weights_cells") if f[0] in ("p1", "p2") and not f[1].endswith("/Upload")]

    first = heard()
    assert sum(place.endswith("/DealtWeights") for _, place, _ in first) == 2
    for name in ("C", "B"):
        monkeypatch.setattr(linear, name, -getattr(linear, name))  # of the same size
    assert heard() == first
