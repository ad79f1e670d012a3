"""Gates in a tiny ring: one run holds all that holders may draw, a combination in each entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from tacit.choreo import Coordinator, Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Ring, widen
from tacit.protocols.learners.revealing import ModelShare, ModelWords
from tacit.protocols.shares.dealing import Dealt, agree_with_dealer
from tacit.protocols.shares.deposits import Deposit
from tacit.protocols.shares.factors import MaskedFactor
from tacit.protocols.shares.gates import Opening
from tacit.protocols.shares.owned import MaskedRows
from tacit.runtimes.together import Together

DEALER = "dealer"
KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Dealt, Deposit, Opening, MaskedFactor, MaskedRows, ModelShare, ModelWords)
}


class Drawn(RootEntropy):
    """In place of AES: words that holders draw are the digits of the number of the entry, in the order of use."""

    def __init__(self, names: Sequence[str], ring: int, digits: int) -> None:
        super().__init__([*names, DEALER], b"leak test")
        self.ring, self.size = ring, ring**digits
        self.lines: dict[Any, Any] = {}
        self.lock = Lock()
        self.owners: dict[Any, set[str]] = {}

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        return Taken(self, party, seeds, tag)

    def take(self, party: str, key: Any, count: int) -> Any:
        with self.lock:  # parties of a step may be at work at once
            return self._take(party, key, count)

    def _take(self, party: str, key: Any, count: int) -> Any:
        self.owners.setdefault(key, set()).add(party)
        if key not in self.lines:
            at = sum(len(each) for each in self.lines.values())
            entry = np.arange(self.size, dtype=np.uint64)
            places = range(at, at + count // self.size)
            digits = [entry // np.uint64(self.ring**i) % np.uint64(self.ring) for i in places]
            self.lines[key] = np.array(digits, dtype=np.uint64).reshape(-1, self.size)
        return self.lines[key].ravel()


class Taken:
    def __init__(self, source: Drawn, party: str, seeds: Any, tag: bytes) -> None:
        self.source, self.party, self.seeds, self.tag = source, party, seeds, tag

    def put_on(self, name: str, words: int) -> Any:
        return iter([self.source.take(self.party, (self.seeds[name], self.tag), words)])

    take_off = put_on


def fill(value: int | None, size: int) -> Any:
    """Return the same word in every entry; nothing for who has none."""
    return np.empty(0, np.uint64) if value is None else np.full(size, value, np.uint64)


class Tapped(Together):
    """Keeps what everybody receives."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        kind = KINDS.get(place.rpartition("/")[2].partition("#")[0])
        for (sender, receiver), frames in outbox.items() if kind else ():
            if sender != receiver:
                self.seen.append((sender, receiver, decode_as(kind, frames)))
        return super()._exchange(place, outbox, wanted, missing)


class Views:
    """What parties see of a gate, for everything that holders may draw."""

    def __init__(
        self,
        gate: Callable[..., Any],
        names: Sequence[str],
        ring: int,
        digits: int,
        *held: Mapping[str, Any],
        committee: Sequence[str] = (),
    ) -> None:
        self.entropy, self.names, self.ring = Drawn(names, ring, digits), tuple(names), ring
        size = self.entropy.size
        roster = Roster({Holder: self.names, Coordinator: (DEALER,)})
        with Tapped(roster, job=b"leak test", entropy=self.entropy) as run:
            run.seen = []
            dealing = agree_with_dealer(run, ring=Ring(ring), committee=committee)
            values = [run.hold(Holder, {p: fill(x.get(p), size) for p in names}) for x in held]
            with run.seat(committee or self.names):
                left = gate(run, dealing, *values, size=size)
            self.left = entries_of(left) if hasattr(left, "_entries") else left
        self.seen = run.seen
        drawn = sum(len(each) for each in self.entropy.lines.values())
        assert drawn == digits, f"{drawn} words are drawn for an entry"

    def of(self, *coalition: str) -> Any:
        """Return how often parties together see what, in order: their draws, and all that they receive.

        The dealer draws what holders draw from the seeds that they share with it.
        """
        owners, size = self.entropy.owners, self.entropy.size
        tags = list(dict.fromkeys(tag for _, tag in self.entropy.lines))  # parties draw under a tag in any order
        order = sorted(self.entropy.lines, key=lambda key: (tags.index(key[1]), sorted(owners[key])))
        own = [line for key in order for line in self.entropy.lines[key] if owners[key].intersection(coalition)]
        got = [
            line
            for sender, receiver, message in self.seen
            if receiver in coalition and sender not in coalition
            for line in self.words(message).reshape(-1, size)
        ]
        code = np.zeros(size, dtype=np.uint64)
        assert self.ring ** (len(own) + len(got)) < 2**64, "too many words for a number"
        for line in (*own, *got):
            code = code * np.uint64(self.ring) + line
        return np.sort(code)

    def total(self) -> Any:
        return sum(self.left.values()) % np.uint64(self.ring)

    def words(self, message: Any) -> Any:
        """Return the words of a message."""
        if isinstance(message, Deposit):
            return message.words
        if isinstance(message, ModelWords):
            return message.values.view(np.uint64) % np.uint64(self.ring)
        return widen(message.words, self.ring.bit_length() - 1) if message.words.size else np.empty(0, np.uint64)
