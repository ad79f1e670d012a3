"""Sums that holders drop out of, under observation: what a coalition has in its hands, and what follows from it.

A few holders are enumerated one by one (`Played`). Of more that is too much, and not needed: what parties see is linear
in inputs and pads, so one run in which entry e has variable e at 1 and all others at 0 gives the matrix of the view.
Then elimination of the pads leaves exactly what the view tells about the inputs (`Linear`). Further entries with random
values check that it is linear.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from leaks.enumeration import ROUNDS, Digits, Enumerated, EnumeratedEntropy
from tacit.choreo import At, Message, decode_as, entries_of
from tacit.runtimes.together import Together


class Basis(Digits):
    """Entry e has variable e at 1 and the others at 0; the last entries have all at 0, then at random."""

    RANDOM = 20

    def __init__(self, q: int, inputs: int) -> None:
        super().__init__(q, inputs)
        self.freeze()

    @property
    def variables(self) -> int:
        return self.inputs + self.pads

    def freeze(self) -> None:
        self.size = self.variables + 1 + self.RANDOM

    def of(self, i: int) -> Any:
        column = np.zeros(self.size, dtype=np.uint64)
        column[i % self.size] = 1
        column[-self.RANDOM :] = np.random.default_rng(i).integers(0, self.q, self.RANDOM)
        return column


class Seeds(EnumeratedEntropy):
    """Remembers who wore which seeds in which sum."""

    def __init__(self, parties: Sequence[str], digits: Digits) -> None:
        super().__init__(parties, digits)
        self.worn: dict[str, set[bytes]] = defaultdict(set)
        self.tags: list[bytes] = []

    def pads(self, party: str, seeds: Mapping[Any, bytes], tag: bytes) -> Any:
        self.worn[party] |= set(seeds.values())
        self.tags += [tag] if tag not in self.tags else []
        return super().pads(party, seeds, tag)


class Tapped(Together):
    """Keeps what crossed every border, what was sent in vain, and the tags that were drawn."""

    KINDS: ClassVar[Mapping[str, type[Message]]] = {}
    PLACES: ClassVar[Sequence[str]] = ()  # of the sums

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[str, str, Any]] = []
        self.rounds_seen: list[int] = []
        self.tags: list[bytes] = []

    def tag(self) -> At[bytes]:
        made = super().tag()
        self.tags += set(entries_of(made).values())
        return made

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        kind = self.KINDS.get(place.rsplit("/", 1)[-1])
        if kind is not None:
            self.seen += [(s, r, decode_as(kind, frames)) for (s, r), frames in outbox.items()]
            self.rounds_seen += [next(t for t, p in enumerate(self.PLACES) if place.startswith(p))] * len(outbox)
        return super()._exchange(place, outbox, wanted, missing)


@dataclass
class Played(Enumerated):
    """Two sums over everything."""

    VECTORS: ClassVar[type[Message]]

    run: Tapped
    entropy: Seeds
    t: int = 0
    to: str = "coordinator"
    pairs: Mapping[str, dict[str, bytes]] = field(default_factory=dict)
    survivors: list[tuple[str, ...]] = field(default_factory=list)

    def messages(self, kind: type) -> Iterable[tuple[int, str, str, Any]]:
        seen = zip(self.run.rounds_seen, self.run.seen, strict=True)
        return ((t, s, r, m) for t, (s, r, m) in seen if isinstance(m, kind))

    def columns(self, coalition: Iterable[str]) -> list[Any]:
        """Everything the coalition has."""
        members, n = set(coalition), self.digits.size
        vectors = [m.words[:n] for _, s, r, m in self.messages(self.VECTORS) if members & {s, r}]
        known = self.seeds(members)
        pads = [self.digits.of(self.digits.inputs + i) for key, i in self.entropy.numbers.items() if key[0] in known]
        return [*vectors, *pads, *self.own(members)]

    def own(self, members: Iterable[str]) -> list[Any]:
        return [self.input(p, t) for p in self.holders if p in members for t in range(ROUNDS)]

    def view(self, coalition: Iterable[str]) -> Any:
        return self._code(self.columns(coalition))

    @abstractmethod
    def seeds(self, members: set[str]) -> set[bytes]:
        """Those that members made, or can put together."""

    @abstractmethod
    def allowed(self, coalition: Iterable[str]) -> Callable[[int], list[Any]]:
        """What the coalition may know of each sum."""

    def colluders(self, coalition: Iterable[str]) -> int:
        return sum(p in self.holders for p in coalition)


class Linear(Played):
    """The same verdict by elimination."""

    def depends_only_on(self, coalition: Iterable[str], allowed: Callable[[int], list[Any]]) -> bool:
        members = tuple(coalition)
        view, known = (
            self.matrix(self.columns(members)),
            self.matrix([*self.own(members), *(a for t in range(ROUNDS) for a in allowed(t))]),
        )
        n, q = self.digits.inputs, self.digits.q
        # the pads first: rows that keep none of them are what the view tells about the inputs
        reduced = echelon(np.roll(view, -n, axis=1), q)
        told = [row[-n:] for row in reduced if not row[:-n].any()]
        known = known[:, :n]
        return len(echelon(np.vstack([known, *told]), q)) == len(echelon(known, q))

    def matrix(self, columns: Sequence[Any]) -> Any:
        """A row per column of the view, by variable; random entries show that this says it all."""
        whole = np.array(columns, dtype=np.int64).reshape(len(columns), self.digits.size)
        n = self.digits.variables
        values = np.array([self.digits.of(i)[n:] for i in range(n)], dtype=np.int64)
        assert np.array_equal(whole[:, :n] @ values % self.digits.q, whole[:, n:])
        return whole[:, :n]


def echelon(rows: Any, q: int) -> Any:
    """Independent rows of the same span, modulo the prime q, each with its first nonzero entry at 1."""
    left, done = [row % q for row in rows], []
    for column in range(rows.shape[1]):
        pivot = next((row for row in left if row[column]), None)
        if pivot is not None:
            pivot = pivot * pow(int(pivot[column]), -1, q) % q
            left = [(row - row[column] * pivot) % q for row in left]
            done.append(pivot)
    return np.array(done, dtype=np.int64).reshape(len(done), rows.shape[1])


def nothing(_t: int) -> list[Any]:
    return []


class NoSelfMask(Seeds):
    """The seed under a holder's own name gives a pad of zeros."""

    def __init__(self, parties: Sequence[str], digits: Digits) -> None:
        super().__init__(parties, digits)
        self.bare: set[bytes] = set()

    def pads(self, party: str, seeds: Mapping[Any, bytes], tag: bytes) -> Any:
        self.bare |= {seeds[party]} if party in seeds else set()
        return super().pads(party, seeds, tag)

    def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
        values = super().pad(party, seed, tag, words)
        return np.zeros_like(values) if seed in self.bare else values
