"""What discovering categories gives away: texts that enough records have; of rarer ones only how often some occur.

The coordinator's table has counts without texts. Who has the key too, as every holder has, can test a text by guessing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.protocols.columns import categories
from tacit.protocols.columns.counts import Fewest
from tacit.protocols.settings import Protected
from tacit.runtimes.together import Together

ROSTER = Roster({Holder: ("p1", "p2", "p3"), Coordinator: ("coordinator",)})
COMMON = ["EU"] * 9 + ["US"] * 7
Table = Sequence[Sequence[str]]  # each holder's texts


class Opened:
    """One run: what was published, what the coordinator opened, and the key that the holders have."""

    def __init__(self, table: Table, monkeypatch: pytest.MonkeyPatch, root: bytes = b"r") -> None:
        self.totals: list[Any] = []
        self.published: list[Any] = []
        self.marked: list[Any] = []
        self.keys: set[bytes] = set()
        for name, keep in (("find_full", self.see_full), ("read_texts", self.see_texts), ("join_key", self.see_key)):
            monkeypatch.setattr(categories, name, keep(getattr(categories, name)))
        roots = {p: hashlib.sha256(root + p.encode()).digest() for p in ROSTER.parties}  # the same keys in every run
        with Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"run", roots)) as run:
            held = {p: part(texts) for p, texts in zip(ROSTER[Holder], table, strict=True)}
            found = categories.discover_categories(
                run, run.hold(Holder, held), names=("region",), fewest=Fewest(min_rows=1), protected=Protected()
            )
        monkeypatch.undo()
        self.categories = found.categories["region"]
        self.shapes = [(row.place, row.type, row.shapes) for row in run.ledger]

    def see_full(self, honest: Any) -> Any:
        def find_full(total: Any, min_count: int) -> Any:
            self.totals.append(total)
            self.published.append(honest(total, min_count).full)
            return honest(total, min_count)

        return find_full

    def see_texts(self, honest: Any) -> Any:
        def read_texts(marked: Any, full: Any) -> Any:
            self.marked.append(marked)
            return honest(marked, full)

        return read_texts

    def see_key(self, honest: Any) -> Any:
        def join_key(*args: Any) -> bytes:
            self.keys.add(honest(*args))
            return honest(*args)

        return join_key


ASKED = {"names": ("region",), "fewest": Fewest(min_rows=1), "protected": Protected()}


def part(texts: Sequence[str]) -> Any:
    known = tuple(sorted(set(texts)))
    codes = np.array([[float(known.index(text))] for text in texts]).reshape(len(texts), 1)
    return part_of(codes, None, None, ("region",), texts={"region": known})


def dealt(*extra: Sequence[str]) -> Table:
    return [COMMON[k::3] + list(more) for k, more in enumerate(extra)]


ONE = dealt(["Mars"], ["Mars", "Venus"], [])
OTHERS = (dealt(["Pluto", "Pluto"], [], ["Io"]), dealt([], [], ["a", "b", "b"]))


@pytest.mark.parametrize("other", OTHERS)
def test_all_that_is_published_is_the_same_whatever_the_rare_texts_are_and_whose(other, monkeypatch):
    first, second = (Opened(table, monkeypatch) for table in (ONE, other))
    assert first.categories == second.categories == ("EU", "US")
    np.testing.assert_array_equal(first.published, second.published)
    np.testing.assert_array_equal(first.marked, second.marked)
    assert first.shapes == second.shapes, "nor does the size of a message tell"


@pytest.mark.parametrize("other", OTHERS)
def test_the_coordinator_sees_how_often_texts_occur_and_not_which(other, monkeypatch):
    first, second = (Opened(table, monkeypatch) for table in (ONE, other))
    for one, two in zip(first.totals[0][0], second.totals[0][0], strict=True):
        np.testing.assert_array_equal(np.sort(one), np.sort(two))
    again = Opened(ONE, monkeypatch, root=b"another")
    assert not np.array_equal(first.totals, again.totals), "where a text stands depends on a key that it does not have"
    for one, two in zip(first.totals[0][0], again.totals[0][0], strict=True):
        np.testing.assert_array_equal(np.sort(one), np.sort(two))


def test_the_key_takes_a_share_of_every_holder():
    shares = {p: categories.KeyShare(p.encode() * 16) for p in ("p1", "p2", "p3")}
    keys = {p: categories.join_key(shares[p].share, {q: s for q, s in shares.items() if q != p}, p) for p in shares}
    assert len(set(keys.values())) == 1
    changed = {**shares, "p3": categories.KeyShare(b"x" * 32)}
    assert categories.join_key(shares["p1"].share, {q: changed[q] for q in ("p2", "p3")}, "p1") != keys["p1"]


def test_a_coordinator_that_colludes_with_a_holder_can_test_a_text_that_it_guesses(monkeypatch):
    """As `categories` says: not protected."""
    run = Opened(ONE, monkeypatch)
    (key,), table = run.keys, run.totals[0][0]
    guessed = {text: table[range(12), categories.slots_of(key, "region", text)].min() for text in ("Mars", "Io")}
    assert guessed == {"Mars": 2, "Io": 0}


def test_a_rare_text_that_shares_slots_with_a_frequent_one_is_not_named(monkeypatch):
    """In one row only: in all rows it would be."""
    honest = categories.slots_of

    def collide(key: bytes, column: str, text: str) -> Any:
        slots = honest(key, column, "EU" if text == "Mars" else text)
        return np.where(np.arange(categories.ROWS) == 11, honest(key, column, text), slots)

    monkeypatch.setattr(categories, "slots_of", collide)
    with Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"r")) as run:
        held = {p: part(texts) for p, texts in zip(ROSTER[Holder], ONE, strict=True)}
        found = categories.discover_categories(
            run, run.hold(Holder, held), names=("region",), fewest=Fewest(min_rows=1), protected=Protected()
        )
    assert found.categories["region"] == ("EU", "US")


def test_two_frequent_texts_that_share_a_slot_are_both_named(monkeypatch):
    honest = categories.slots_of

    def collide(key: bytes, column: str, text: str) -> Any:
        slots = honest(key, column, text)
        return np.where(np.arange(categories.ROWS) < categories.NAMING - 1, honest(key, column, "EU"), slots)

    monkeypatch.setattr(categories, "slots_of", collide)
    assert Opened(dealt([], [], []), monkeypatch).categories == ("EU", "US")
