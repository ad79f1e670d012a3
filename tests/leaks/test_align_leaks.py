"""What the first holder sees before the count depends on sizes only, exactly; what coalitions can do beyond that, shown by doing it.

Stores and shares work bit by bit, so a word can hold 64 copies of the protocol: bit c of every value is the run in which the random
variables have the digits of c. One run of the real choreography shows the views of all combinations. Variables are the outputs of the
blind function, of the shares of zero and of the kept key, and the noise of the stores; bands are tiny ones over three columns.
"""

from __future__ import annotations

import threading
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from conformance.intersection_reference import digested
from tacit.choreo import Coordinator, Holder, LocalError, Roster, decode_as
from tacit.crypto import key_value_store
from tacit.crypto.entropy import RootEntropy
from tacit.crypto.key_value_store import Bands
from tacit.protocols import align as protocol
from tacit.runtimes.together import Together

BITS = {"a": 0b011, "b": 0b110, "c": 0b111}  # any two are independent
COLUMNS = 3
IDS = [row.tobytes() for row in digested(list(BITS))]


class Variables:
    """Bits that are drawn once and kept by what they are drawn for."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.words = 1  # while they are being counted
        self.lock = threading.Lock()

    def __call__(self, key: Any) -> Any:
        with self.lock:
            number = self.numbers.setdefault(key, len(self.numbers))
        runs = np.arange(64 * self.words, dtype=np.uint64)
        return np.packbits((runs >> np.uint64(number)) & np.uint64(1), bitorder="little").view(np.uint64)

    def freeze(self) -> None:
        self.words = max(1, 2 ** len(self.numbers) // 64)
        self.numbers = {}


class Noisy(RootEntropy):
    """Real seeds; the noise of stores is enumerated."""

    def __init__(self, parties: Any, drawn: Variables) -> None:
        super().__init__(parties, b"leaks", {p: p.encode().ljust(32, b".") for p in parties})
        self.drawn = drawn

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        del seeds, tag
        return Noise(party, self.drawn)


class Noise:
    def __init__(self, party: str, drawn: Variables) -> None:
        self.party, self.drawn = party, drawn

    def put_on(self, name: str, words: int) -> Any:
        assert name == "own"
        return [self.drawn(("noise", self.party, i)) for i in range(words // self.drawn.words)]


class Tapped(Together):
    """Keeps the stores, and what the coordinator is sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stores: dict[str, Any] = {}
        self.tokens: dict[str, Any] = {}

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        for kind, kept in ((protocol.Store, self.stores), (protocol.Tokens, self.tokens)):
            if f"/{kind.__name__}" in place:
                kept.update({s: decode_as(kind, frames) for (s, _), frames in outbox.items()})
        return super()._exchange(place, outbox, wanted, missing)


def tiny(keys: Any, salt: bytes, columns: int) -> Bands:
    del salt
    bits = {digested([name])[0].tobytes(): mask for name, mask in BITS.items()}
    found = np.array([[bits[row.tobytes()]] for row in keys], np.uint64)
    return Bands(np.zeros(len(keys), np.int64), found, columns)


def view(sets: dict[str, str], monkeypatch: pytest.MonkeyPatch, *, share: bool = False, kept: bool = False) -> Any:
    """How often P_1 sees what: outputs of the blind functions at its own ids, and all words of the stores.

    Of three parties: with the shares that P_2 and P_3 have of every id, too; with the values of P_2's key.
    """
    drawn = Variables()
    roster = Roster({Holder: tuple(sets), Coordinator: ("site",)})
    ids = {party: digested(list(names)) for party, names in sets.items()}
    for _ in ("count", "enumerate"):
        asked: list[Any] = []

        def outputs(items: Any, under: Any) -> Any:
            return np.array([drawn((item.tobytes(), point.tobytes())) for item, point in zip(items, under, strict=True)])

        def unblinded(before: Any, held: Any, secret: bytes, t: int, blocks: int, *answers: Any, asked: Any = asked) -> Any:
            off = protocol.inverse(protocol.scalar(secret))
            asked += [row for told in answers for row in outputs(held, protocol.raised(told.points, off))]
            return UNBLIND(before, held, secret, t, blocks, *answers)

        with monkeypatch.context() as patch, Tapped(roster, job=b"j", entropy=Noisy(roster.parties, drawn)) as run:
            patch.setattr(protocol, "NOTHING", np.zeros((0, drawn.words), np.uint64))
            patch.setattr(protocol, "outputs", outputs)
            patch.setattr(protocol, "unblind", unblinded)
            patch.setattr(protocol, "pseudorandom", lambda held, _key: np.array([drawn(("share", row.tobytes())) for row in held]))
            if protocol.kept is KEPT:
                patch.setattr(protocol, "kept", lambda held, _key: np.array([drawn(("kept", row.tobytes())) for row in held]))
            patch.setattr(key_value_store, "bands", tiny)
            patch.setattr(key_value_store, "width", lambda _: COLUMNS)
            with pytest.raises(LocalError, match="fewer than 3"):  # nothing is opened, so this is all there is to see
                protocol.align(run, run.hold(Holder, ids), min_records=3)
        also = [drawn((what, row)) for what, told in (("share", share), ("kept", kept)) if told for row in IDS]
        seen = [*asked, *also, *(row for store in run.stores.values() for row in store.words)]
        total = 2 ** len(drawn.numbers)
        drawn.freeze()
    codes = np.zeros(total, np.int64)
    for row in seen:
        codes = 2 * codes + np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")[:total]
    return np.bincount(codes, minlength=2 ** len(seen)) / total


UNBLIND, KEPT = protocol.unblind, protocol.kept
PAIRS = ["".join(pair) for pair in combinations("abc", 2)]


@pytest.mark.parametrize("parties", [2, 3])
def test_what_the_first_holder_sees_before_the_count_is_uniform_whatever_the_others_hold(parties, monkeypatch):
    for held in product(PAIRS, repeat=parties - 1):
        found = view({"p1": "ab", **{f"p{i + 2}": names for i, names in enumerate(held)}}, monkeypatch)
        assert (found == 1 / len(found)).all()


def test_it_would_not_be_without_the_shares_of_zero(monkeypatch):
    monkeypatch.setattr(protocol, "shared", lambda _ids, F, *_: F.copy())
    with_b, without = (view({"p1": "ab", "p2": "ab", "p3": names}, monkeypatch) for names in ("ab", "ac"))
    assert (with_b != without).any()


def test_nor_without_the_kept_key(monkeypatch):
    monkeypatch.setattr(protocol, "kept", lambda ids, _key: np.zeros((len(ids), protocol.NOTHING.shape[1]), np.uint64))
    with_b, without = (view({"p1": "ab", "p2": names}, monkeypatch) for names in ("ab", "ac"))
    assert (with_b != without).any()


def test_the_first_and_the_third_together_see_nothing_of_the_second_s_ids(monkeypatch):
    first, *rest = (view({"p1": "ab", "p2": names, "p3": "ac"}, monkeypatch, share=True) for names in PAIRS)
    assert all((other == first).all() for other in rest)


def test_the_first_and_the_second_together_see_which_ids_of_the_first_the_third_has(monkeypatch):
    with_b, without = (view({"p1": "ab", "p2": "ac", "p3": names}, monkeypatch, share=True, kept=True) for names in ("ab", "ac"))
    assert (with_b != without).any()


# The coordinator's view


def played(sets: dict[str, list[str]], *, least: int = 1) -> tuple[Tapped, dict[str, Any]]:
    """The run and its result, or nothing."""
    roster = Roster({Holder: tuple(sets), Coordinator: ("site",)})
    with Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        try:
            result = protocol.align(run, run.hold(Holder, {p: digested(names) for p, names in sets.items()}), min_records=least)
        except LocalError:
            result = {}
    return run, result


def test_the_coordinator_s_lists_have_nothing_in_common_but_the_count():
    run, result = played({"p1": ["a", "b", "c"], "p2": ["b", "c", "d", "e"], "p3": ["c", "b", "a"]})
    first, second = ({row.tobytes() for row in told.hashes} for told in run.tokens.values())
    assert (len(first), len(second), len(first & second)) == (3, 4, result["count"] == 2 and 2)
    again, _ = played({"p1": ["a", "b", "c"], "p2": ["b", "c", "d", "e"], "p3": ["c", "b", "a"]})
    other = {row.tobytes() for told in again.tokens.values() for row in told.hashes}
    assert not other & (first | second), "tokens of two runs cannot be compared"


def test_below_min_records_nothing_opens_and_nobody_but_the_coordinator_knows_the_count():
    run, result = played({"p1": ["a", "b", "c"], "p2": ["b", "c"], "p3": ["c", "b", "a"]}, least=3)
    assert result == {}
    assert not {row.type for row in run.ledger} & {"Matched", "Opening"}
    run_of_none, _ = played({"p1": ["a", "b", "c"], "p2": ["x", "y"], "p3": ["c", "b", "a"]}, least=3)
    digests = [{row.digest for row in done.ledger if row.type == "Count"} for done in (run, run_of_none)]
    assert digests[0] == digests[1], "two common ids read like none"
    first, second = ({row.tobytes() for row in told.hashes} for told in run.tokens.values())
    assert len(first & second) == 2, "the coordinator has counted them"
    told = [opened.what for opened in run.ledger.opens if opened.role == "coordinator"]
    assert "how many ids are common to all holders, even if fewer than min_records" in told[0]


def test_the_coordinator_and_the_second_holder_together_can_test_guesses_and_no_one_else(monkeypatch):
    kept: dict[str, Any] = {}
    answer, stored = protocol.answer, protocol.stored

    def remember_scalar(asked: Any, secret: bytes) -> Any:
        kept["scalar"] = protocol.scalar(secret)
        return answer(asked, secret)

    def remember_store(ids: Any, values: Any, noise: Any, salt: bytes) -> Any:
        kept["salt"], kept["store"] = salt, stored(ids, values, noise, salt)
        return kept["store"]

    monkeypatch.setattr(protocol, "answer", remember_scalar)
    monkeypatch.setattr(protocol, "stored", remember_store)
    run, _ = played({"p1": ["a", "b", "secret"], "p2": ["a", "b", "mine"]})
    guesses = digested(["secret", "nobody's"])
    under = protocol.raised(protocol.points(guesses, b"tacit id"), kept["scalar"])
    hashed = protocol.hidden(protocol.looked_up(guesses, protocol.outputs(guesses, under), kept["salt"], kept["store"]))
    lists = {row.tobytes() for row in run.tokens["p1"].hashes}
    assert [row.tobytes() in lists for row in hashed] == [True, False]
