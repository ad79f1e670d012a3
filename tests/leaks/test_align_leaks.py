"""What holders see before the count depends on sizes only, exactly; and what coalitions can do beyond that.

Codes, pads, stores and shares work bit by bit, so a word can hold 64 copies of the protocol: bit c of every value is
the run in which the random variables have the digits of c. One run of the real choreography shows the views of all
combinations. For the first holder's view variables are the outputs of the blind function, of the shares of zero and of
the kept key, and the noise of the stores; for the views of the others they are the codes, the pads t0 and t1 and the
choices s at one place. Bands are tiny ones over three columns. What a transfer shows of choices is enumerated in a
group of eight elements.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from conformance.intersection_reference import digested
from tacit.choreo import Coordinator, Holder, LocalError, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.crypto.sets import key_value_store, transfer
from tacit.crypto.sets.key_value_store import Bands
from tacit.protocols.align import alignment as protocol
from tacit.protocols.align import blind_function as blind
from tacit.runtimes.together import Together

BITS = {"a": 0b011, "b": 0b110, "c": 0b111}  # any two are independent
COLUMNS = 3
IDS = [row.tobytes() for row in digested(list(BITS))]


def remember(do: Callable[..., Any]) -> Callable[..., Any]:
    """Transfer keys once: secrets are fixed here, so that every run has the same ones."""
    known: dict[Any, Any] = {}

    def remembered(*given: Any) -> Any:
        key = tuple(bytes(each) for each in given)
        if key not in known:
            known[key] = do(*given)
        return known[key]

    return remembered


PLAIN_CHOOSE = transfer.choose
CHOOSE, MAKE_KEYS = remember(transfer.choose), remember(transfer.make_keys)


@pytest.fixture(autouse=True)
def _once(monkeypatch):
    monkeypatch.setattr(transfer, "choose", CHOOSE)
    monkeypatch.setattr(transfer, "make_keys", MAKE_KEYS)


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
            return np.array([drawn((item.tobytes(), row.tobytes())) for item, row in zip(items, under, strict=True)])

        def ask(held: Any, salt: bytes, columns: int, *keys: Any, asked: Any = asked) -> Any:
            asked += [row for both in keys for row in ASK(held, salt, columns, both)]
            return ASK(held, salt, columns, *keys)

        with monkeypatch.context() as patch, Tapped(roster, job=b"j", entropy=Noisy(roster.parties, drawn)) as run:
            patch.setattr(blind, "hash_outputs", outputs)
            patch.setattr(blind, "ask_values", ask)
            patch.setattr(
                protocol, "pseudorandom", lambda held, _key: np.array([drawn(("share", row.tobytes())) for row in held])
            )
            if protocol.key_ids is KEPT:
                patch.setattr(
                    protocol, "key_ids", lambda held, _key: np.array([drawn(("kept", row.tobytes())) for row in held])
                )
            patch.setattr(key_value_store, "place_bands", tiny)
            patch.setattr(key_value_store, "count_columns", lambda _: COLUMNS)
            with pytest.raises(LocalError, match="fewer than 3"):  # nothing is opened, so this is all there is to see
                protocol.align(run, run.hold(Holder, ids), min_records=3)
        also = [drawn((what, row)) for what, told in (("share", share), ("kept", kept)) if told for row in IDS]
        seen = [*asked, *also, *(row for store in run.stores.values() for row in store.words)]
        total = 2 ** len(drawn.numbers)
        drawn.freeze()
    return distribution(seen, total)


def distribution(seen: list[Any], total: int) -> Any:
    """Return how often each combination of bits is seen, over all combinations of the variables."""
    codes = np.zeros(total, np.int64)
    for row in seen:
        codes = 2 * codes + np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")[:total]
    return np.bincount(codes, minlength=2 ** len(seen)) / total


ASK, KEPT = blind.ask_values, protocol.key_ids
PAIRS = ["".join(pair) for pair in combinations("abc", 2)]


@pytest.mark.parametrize("parties", [2, 3])
def test_what_the_first_holder_sees_before_the_count_is_uniform_whatever_the_others_hold(parties, monkeypatch):
    for held in product(PAIRS, repeat=parties - 1):
        found = view({"p1": "ab", **{f"p{i + 2}": names for i, names in enumerate(held)}}, monkeypatch)
        assert (found == 1 / len(found)).all()


def test_it_would_not_be_without_the_shares_of_zero(monkeypatch):
    monkeypatch.setattr(protocol, "add_zero_share", lambda _ids, F, *_: F.copy())
    with_b, without = (view({"p1": "ab", "p2": "ab", "p3": names}, monkeypatch) for names in ("ab", "ac"))
    assert (with_b != without).any()


def test_nor_without_the_kept_key(monkeypatch):
    monkeypatch.setattr(protocol, "key_ids", lambda _ids, _key: np.zeros((1, 1), np.uint64))
    with_b, without = (view({"p1": "ab", "p2": names}, monkeypatch) for names in ("ab", "ac"))
    assert (with_b != without).any()


def test_the_first_and_the_third_together_see_nothing_of_the_second_s_ids(monkeypatch):
    first, *rest = (view({"p1": "ab", "p2": names, "p3": "ac"}, monkeypatch, share=True) for names in PAIRS)
    assert all((other == first).all() for other in rest)


def test_the_first_and_the_second_together_see_which_ids_of_the_first_the_third_has(monkeypatch):
    with_b, without = (
        view({"p1": "ab", "p2": "ac", "p3": names}, monkeypatch, share=True, kept=True) for names in ("ab", "ac")
    )
    assert (with_b != without).any()


# What the others see of the first holder's ids


class EnumeratedPads:
    """Pads and choices of every transfer as variables: the sender's keys draw t0 and t1, the receiver's t_s of (1b)."""

    def __init__(self, drawn: Variables) -> None:
        self.drawn, self.pairs = drawn, []

    def make_keys(self, *given: Any) -> Any:
        self.pairs.append(MAKE_KEYS(*given))
        return self.pairs[-1]

    def stretch(self, keys: Any, start: int, stop: int) -> Any:
        for n, pair in enumerate(self.pairs):
            for name, own in zip(("t0", "t1"), pair, strict=True):
                if (keys == own).all():
                    return np.array([self.drawn((name, n, i)) for i in range(start, stop)])
            if ((keys == pair[0]) | (keys == pair[1])).all():  # the receiver's, some of either
                t0, t1 = (np.array([self.drawn((name, n, i)) for i in range(start, stop)]) for name in ("t0", "t1"))
                return t0 ^ (self.drawn(("s", n)) & (t0 ^ t1))
        raise AssertionError("keys of nobody")


class EnoughError(Exception):
    """All was seen."""


def stop(*_: Any) -> None:
    raise EnoughError


def received(first: str, monkeypatch: pytest.MonkeyPatch, others: int = 1) -> Any:
    """How often P_2, or P_2 and P_3, see what: all codes, their choices s, their pads t_s, and U."""
    drawn = Variables()
    ids = {"p1": digested(list(first)), **{f"p{k + 2}": digested(["a", "c"]) for k in range(others)}}
    roster = Roster({Holder: tuple(ids), Coordinator: ("site",)})
    for _ in ("count", "enumerate"):
        pads, seen = EnumeratedPads(drawn), []

        def unmask(_before: Any, told: Any, chosen: Any, *rest: Any, seen: Any = seen, pads: Any = pads) -> Any:
            t, s = pads.stretch(chosen[1], *rest[1:]), drawn(("s", len(seen)))
            seen.append([s, *t, *told.words])
            return t ^ (s & told.words)

        def code(held: Any, _salt: bytes) -> Any:
            return np.array([drawn(("C", row.tobytes())) for row in held])

        with monkeypatch.context() as patch, Tapped(roster, job=b"j", entropy=Noisy(roster.parties, drawn)) as run:
            patch.setattr(transfer, "make_keys", pads.make_keys)
            patch.setattr(transfer, "stretch", pads.stretch)
            patch.setattr(blind, "unmask_codes", unmask)
            patch.setattr(blind, "code_ids", code)
            patch.setattr(blind, "ask_values", stop)
            patch.setattr(key_value_store, "place_bands", tiny)
            patch.setattr(key_value_store, "count_columns", lambda _: COLUMNS)
            with pytest.raises(EnoughError):  # what follows does not depend on what P_1 sent
                protocol.align(run, run.hold(Holder, ids))
        rows = [*(drawn(("C", name)) for name in IDS), *(row for one in seen for row in one)]
        total = 2 ** len(drawn.numbers)
        drawn.freeze()
    assert len(seen) == others
    return distribution(rows, total)


@pytest.mark.parametrize("others", [1, 2])
def test_what_the_others_receive_is_the_same_whatever_the_first_holder_has(others, monkeypatch):
    views = [received(names, monkeypatch, others) for names in (*PAIRS, "a", "b")[: 5 if others == 1 else 2]]
    assert all((view == 1 / len(view)).all() for view in views)


def test_it_would_not_be_without_the_second_pad(monkeypatch):
    def forgetful(P: Any, keys: Any, start: int, stop: int) -> Any:
        return blind.Masked(P[start:stop] ^ transfer.stretch(keys[0], start, stop))

    monkeypatch.setattr(blind, "mask_codes", forgetful)
    one, other = (received(names, monkeypatch) for names in ("ab", "ac"))
    assert (one != other).any()


def test_points_are_uniform_whichever_keys_were_chosen(monkeypatch):
    """In a group of eight elements, over all scalars b: B = b + s a takes every value once, for s = 0 and s = 1."""
    monkeypatch.setattr(transfer, "PLACES", 8)
    monkeypatch.setattr(transfer, "load_sodium", lambda: EightElements)
    monkeypatch.setattr(transfer, "raise_points", lambda points, _b: points)
    monkeypatch.setattr(transfer, "make_scalar", lambda seed: bytes([seed]))
    monkeypatch.setattr(transfer, "prf", lambda _seed, _use, place: place[0])
    offer = np.zeros(32, np.uint8)
    for a in range(8):
        offer[0] = a
        for s in (0, 1):
            monkeypatch.setattr(transfer, "draw_choices", lambda _, s=s: np.array([255 * s], np.uint8))
            points, _ = PLAIN_CHOOSE(offer, b"")
            assert sorted(points[:, 0]) == list(range(8))


class EightElements:
    """Z_8 in the place of ristretto255; the generator is 1."""

    @staticmethod
    def crypto_scalarmult_ristretto255_base(b: bytes) -> bytes:
        return bytes([b[0] % 8]).ljust(32, b"\0")

    @staticmethod
    def crypto_core_ristretto255_add(p: bytes, q: bytes) -> bytes:
        return bytes([(p[0] + q[0]) % 8]).ljust(32, b"\0")


# The coordinator's view


def played(sets: dict[str, list[str]], *, least: int = 1) -> tuple[Tapped, dict[str, Any]]:
    """The run and its result, or nothing."""
    roster = Roster({Holder: tuple(sets), Coordinator: ("site",)})
    with Tapped(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        try:
            result = protocol.align(
                run, run.hold(Holder, {p: digested(names) for p, names in sets.items()}), min_records=least
            )
        except LocalError:
            result = {}
    return run, result


def test_the_coordinator_s_lists_have_nothing_in_common_but_the_count():
    run, result = played({"p1": ["a", "b", "c"], "p2": ["b", "c", "d", "e"], "p3": ["c", "b", "a"]})
    first, second = ({row.tobytes() for row in told.hashes} for told in run.tokens.values())
    assert (len(first), len(second), len(first & second)) == (3, 4, result.count == 2 and 2)
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
    evaluated, stored = blind.evaluate, protocol.fill_store

    def remember_function(_ids: Any, *secrets: Any) -> Any:
        kept["secrets"] = secrets
        return evaluated(_ids, *secrets)

    def remember_store(ids: Any, values: Any, noise: Any, salt: bytes) -> Any:
        kept["salt"], kept["store"] = salt, stored(ids, values, noise, salt)
        return kept["store"]

    monkeypatch.setattr(blind, "evaluate", remember_function)
    monkeypatch.setattr(protocol, "fill_store", remember_store)
    run, _ = played({"p1": ["a", "b", "secret"], "p2": ["a", "b", "mine"]})
    guesses = digested(["secret", "nobody's"])
    F = evaluated(guesses, *kept["secrets"])
    hashed = protocol.hash_values(protocol.read_stores(guesses, F, kept["salt"], kept["store"]))
    lists = {row.tobytes() for row in run.tokens["p1"].hashes}
    assert [row.tobytes() in lists for row in hashed] == [True, False]
