"""Exact leak tests: every value of every input and every pad, in a tiny ring, in one run.

Sums work entry by entry, so a vector can hold one copy of the protocol per entry: entry e uses the e-th combination of
all inputs and all pads in Z_q. One run of the real choreography then shows the views of all combinations at once. A
coalition's view must have the same distribution (over the pads) for any two inputs that agree on what it may know.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacit.choreo import At, Coordinator, Holder, Message, Role, Roster, Run, decode_as
from tacit.choreo.codec import Frames
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums import secure_sum as protocol
from tacit.runtimes.together import Together

ROUNDS = 2
SEEN = {kind.__name__: kind for kind in (protocol.Masked,)}


class Digits:
    """Numbers 0..q^n - 1 by their digits in base q: digit i is variable i of the enumeration."""

    def __init__(self, q: int, inputs: int) -> None:
        self.q, self.inputs, self.pads = q, inputs, 0
        self.size = 2  # while the pads are being counted

    def freeze(self) -> None:
        self.size = self.q ** (self.inputs + self.pads)

    def of(self, i: int) -> Any:
        return (np.arange(self.size, dtype=np.uint64) // np.uint64(self.q**i)) % np.uint64(self.q)


@dataclass
class EnumeratedPads:
    """In place of AES: pad number i is digit i."""

    seeds: Mapping[str, bytes]
    tag: bytes
    source: EnumeratedEntropy
    party: str

    def put_on(self, name: str, words: int) -> Iterator[Any]:
        return iter([self.source.pad(self.party, self.seeds[name], self.tag, words)])

    take_off = put_on


class EnumeratedEntropy:
    """Real seeds, so that keys and orders are the same in the counting and in the enumerating run."""

    def __init__(self, parties: Sequence[str], digits: Digits) -> None:
        self.digits = digits
        self.numbers: dict[Any, int] = {}
        self.known: dict[str, dict[Any, Any]] = defaultdict(dict)
        self.real = RootEntropy(parties, b"leak test", {p: p.encode().ljust(32, b".") for p in parties})
        self.lock = threading.Lock()

    def seed(self, party: str, place: str) -> bytes:
        return self.real.seed(party, place)

    def pads(self, party: str, seeds: Mapping[str, bytes], tag: bytes) -> EnumeratedPads:
        return EnumeratedPads(seeds, tag, self, party)

    def key(self, seed: bytes, tag: bytes, piece: int) -> Any:
        return (seed, tag, piece)

    def pad(self, party: str, seed: bytes, tag: bytes, words: int) -> Any:
        pieces = max(1, words // self.digits.size)
        drawn = [self._piece(party, self.key(seed, tag, i)) for i in range(pieces)]
        out = np.zeros(
            words, dtype=np.uint64
        )  # a check word, if there is one, carries no pad: its value is public anyway
        out[: pieces * self.digits.size] = np.concatenate(drawn)
        return out

    def _piece(self, party: str, key: Any) -> Any:
        with self.lock:
            number = self.numbers.setdefault(key, len(self.numbers))
            self.known[party][key] = values = self.digits.of(self.digits.inputs + number)
        return values


class Tapped(Together):
    """Keeps what crossed every border."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[str, str, Message]] = []

    def _exchange(self, place: str, outbox: Mapping[Any, Frames], wanted: Any, missing: int) -> Any:
        kind = SEEN.get(place.rsplit("/", 1)[-1].split("#", maxsplit=1)[0])
        if kind is not None:
            self.seen += [(s, r, decode_as(kind, frames)) for (s, r), frames in outbox.items()]
        return super()._exchange(place, outbox, wanted, missing)


@dataclass
class Enumerated:
    """One run over everything: what was seen, which pads each party knew."""

    run: Tapped
    entropy: EnumeratedEntropy
    digits: Digits
    holders: tuple[str, ...]
    rounds: int = ROUNDS

    def input(self, party: str, t: int) -> Any:
        return self.digits.of(t * len(self.holders) + self.holders.index(party))

    def view(self, coalition: Iterable[str]) -> Any:
        """Everything the coalition has, as one number per entry."""
        members, n = set(coalition), self.digits.size
        columns = [m.words[:n] for s, r, m in self.run.seen if members & {s, r}]
        pads = {key: values for p in members for key, values in self.entropy.known[p].items()}
        inputs = [self.input(p, t) for p in self.holders if p in members for t in range(self.rounds)]
        return self._code([*columns, *pads.values(), *inputs])

    def _code(self, columns: Sequence[Any]) -> Any:
        """A row of columns as one number in base q."""
        assert self.digits.q ** len(columns) < 2**64, "too many columns for one word"
        code = np.zeros(self.digits.size, dtype=np.uint64)
        for column in columns:
            code = code * np.uint64(self.digits.q) + column
        return code

    def depends_only_on(self, coalition: Iterable[str], allowed: Callable[[int], list[Any]]) -> bool:
        """Whether all inputs that agree on own inputs and `allowed` give a view of the same distribution over pads."""
        members = tuple(coalition)
        own = [self.input(p, t) for p in self.holders if p in members for t in range(self.rounds)]
        known = [a for t in range(self.rounds) for a in allowed(t)]
        inputs = self.digits.q**self.digits.inputs
        # inputs are the low digits, so a row is one choice of pads and a column one input
        views = np.sort(self.view(members).reshape(-1, inputs), axis=0)
        groups = self._code([*own, *known]).reshape(-1, inputs)[0]
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        return bool((views == views[:, first[group]]).all())

    def tells(self, coalition: Iterable[str], party: str) -> bool:
        """Whether any view of the first round leaves fewer than all values of the party's input possible."""
        pair = self.view(coalition) * np.uint64(self.digits.q) + self.input(party, 0)
        return np.unique(pair).size < self.digits.q * np.unique(self.view(coalition)).size

    def sums(self, parties: Iterable[str], t: int) -> Any:
        total: Any = sum((self.input(p, t) for p in parties), np.zeros(self.digits.size, dtype=np.uint64))
        return total % np.uint64(self.digits.q)


def coalitions(parties: Sequence[str]) -> list[tuple[str, ...]]:
    return [c for k in range(1, len(parties)) for c in combinations(parties, k)]


def enumerate_sums(
    holders: int,
    q: int,
    *,
    to: Role = Coordinator,
    entropy: type[EnumeratedEntropy] = EnumeratedEntropy,
    right: bool = True,
    rounds: int = ROUNDS,
) -> Enumerated:
    """Two sums, or so many, over all inputs and all pads: a first run counts the pads, a second one enumerates them."""
    names = tuple(f"p{i + 1}" for i in range(holders))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    digits = Digits(q, rounds * holders)
    for _ in ("count", "enumerate"):
        source = entropy(roster.parties, digits)
        with Tapped(roster, job=b"leak test", entropy=source) as run:
            _sums(run, digits, names, to, Ring(q), right=right, rounds=rounds)
        digits.pads = len(source.numbers)
        digits.freeze()
    return Enumerated(run, source, digits, names, rounds)


def _sums(
    run: Run,
    digits: Digits,
    names: Sequence[str],
    to: Role,
    ring: Ring,
    *,
    right: bool,
    rounds: int,
) -> None:
    by = protocol.protect(run)
    for t in range(rounds):
        x: At[Any] = run.hold(Holder, {p: digits.of(t * len(names) + i) for i, p in enumerate(names)})
        total = protocol.secure_sum(run, x, to=to, by=by, ring=ring)
        expected = sum(digits.of(t * len(names) + i) for i in range(len(names))) % np.uint64(ring.modulus)
        assert not right or all(np.array_equal(value, expected) for value in total._entries.values())
