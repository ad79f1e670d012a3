"""What a coalition sees of other parties' cells, exactly: every input and every mask of a product in Z_2 and Z_3.

The engine is replaced by what it shall be: an upload that tells nothing, and a reply that tells the key holder its
share. All else is the real choreography: shares, where they belong in the matrix, and their sum.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.cells.integers import Cells
from tacit.numeric.cells.ownership import owners_of
from tacit.numeric.ring.words import Ring
from tacit.papers.gram.arbitrary import sum_bands
from tacit.papers.gram.cell_products import Scheme, cell_products
from tacit.papers.gram.crossing import gram_crossing
from tacit.papers.gram.secure_product import Reply
from tacit.protocols.sums.secure_sum import Masked, protect
from tacit.runtimes.together import Together


@dataclass(frozen=True)
class Ideal:
    """A product whose upload tells nothing."""

    q: int
    masked: bool = True
    bits: int = 48
    bound: int = 1 << 20
    terms: int = 4

    def secret(self, seed: bytes) -> bytes:
        return seed

    def upload(self, secret: bytes, columns: Any) -> Any:  # noqa: ARG002 - an engine's way
        return np.frombuffer(np.concatenate(columns).tobytes(), np.uint8)

    def reply(self, upload: Any, plan: Any, matrices: Any, pads: Any) -> Any:
        columns = np.split(np.frombuffer(upload.tobytes(), np.int64), np.cumsum(plan.lengths)[:-1])
        products = [
            np.stack([columns[c] for c in b.columns], axis=1) @ m.T for b, m in zip(plan.blocks, matrices, strict=True)
        ]
        words = np.concatenate([p.ravel() for p in products]) % self.q
        mask = next(iter(pads.put_on("mask", words.size))) if self.masked else np.zeros(words.size, np.uint64)
        return np.frombuffer(((words + mask.astype(np.int64)) % self.q).tobytes(), np.uint8), self._cut(
            plan, (self.q - mask) % self.q
        )

    def finish(self, secret: bytes, plan: Any, reply: Any) -> Any:  # noqa: ARG002 - as above
        return self._cut(plan, np.frombuffer(reply.tobytes(), np.int64))

    def _cut(self, plan: Any, words: Any) -> Any:
        ends = np.cumsum([a * b for a, b in plan.shapes()])[:-1]
        return tuple(w.reshape(s).astype(np.uint64) for w, s in zip(np.split(words, ends), plan.shapes(), strict=True))


class Chosen:
    """Pads that are given one by one, by the numbers that a first run gave them; real seeds, the same in every run."""

    def __init__(self, parties: Any, values: tuple[int, ...], numbers: dict[Any, int], *, sums: bool) -> None:
        self.real = RootEntropy(parties, b"leak", {p: p.encode().ljust(32, b".") for p in parties})
        self.values, self.sums = values, sums
        self.numbers = numbers
        self.known: dict[str, set[int]] = {p: set() for p in parties}
        self.lock = threading.Lock()

    def seed(self, party: str, place: str) -> bytes:
        return self.real.seed(party, place)

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        return ChosenPads(self, party, seeds, tag)

    def word(self, party: str, key: Any) -> int:
        with self.lock:
            number = self.numbers.setdefault(key, len(self.numbers))
            self.known[party].add(number)
        return self.values[number] if self.values else 0


@dataclass
class ChosenPads:
    source: Chosen
    party: str
    seeds: Any
    tag: bytes

    def put_on(self, name: str, words: int) -> Any:
        if "mask" not in name and not self.source.sums:  # the pads of a sum, whose own leak test enumerates them
            return iter([np.zeros(words, np.uint64)])
        last = words if "mask" in name else words - 1  # the check word carries no pad: its value is public
        drawn = [self.source.word(self.party, (self.seeds[name], self.tag, i)) for i in range(last)]
        return iter([np.array(drawn + [0] * (words - last), np.uint64)])

    take_off = put_on


class Tapped(Together):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: list[tuple[str, str, tuple[int, ...]]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        for (s, r), frames in outbox.items():
            if place.endswith("Reply"):
                self.seen.append((s, r, tuple(decode_as(Reply, frames).body.tolist())))
            if place.endswith("Masked"):
                self.seen.append((s, r, tuple(decode_as(Masked, frames).words.tolist())))
        return super()._exchange(place, outbox, wanted, missing)


@dataclass
class Played:
    run: Tapped
    entropy: Chosen
    gram: tuple[float, ...]


def played(
    cells: dict[str, Any], q: int, pads: tuple[int, ...], numbers: dict[Any, int], *, sums: bool, masked: bool
) -> Played:
    roster = Roster({Holder: tuple(cells), Coordinator: ("coordinator",)})
    owners = owners_of("horizontal", {p: np.ones(np.shape(a), bool) for p, a in cells.items()})
    entropy, size = Chosen(roster.parties, pads, numbers, sums=sums), Cells(0, 20, 1)
    with Tapped(roster, job=b"leak", entropy=entropy) as run:  # type: ignore[arg-type]  # a stand-in
        table = run.hold(Holder, cells)
        by = protect(run)
        share = cell_products(
            run, table, table, crossing=gram_crossing(owners), scheme=Scheme("", size, made=Ideal(q, masked))
        )
        opened = sum_bands(run, table, share, owners=owners, cells=size, ring=Ring(q), by=by, band=100)
    return Played(run, entropy, tuple(np.concatenate(opened._entries["coordinator"]).tolist()))


def views(holders: int, q: int, *, sums: bool, masked: bool = True) -> dict[tuple[str, ...], dict[Any, Any]]:
    """For every coalition and what it may know, the distributions of its view over all pads.

    One each, if it sees nothing else.
    """
    names = [f"p{k}" for k in range(holders)]
    blank = {p: np.zeros((1, 1), np.int64) for p in names}
    numbers: dict[Any, int] = {}
    played(blank, q, (), numbers, sums=sums, masked=masked)
    everyone = ["coordinator", *names]
    coalitions = [c for k in range(1, len(everyone)) for c in combinations(everyone, k)]
    found: dict[tuple[str, ...], dict[Any, Any]] = {c: {} for c in coalitions}
    for values in product(range(q), repeat=holders):
        seen: dict[tuple[str, ...], Counter[Any]] = {c: Counter() for c in coalitions}
        for pads in product(range(q), repeat=len(numbers)):
            cells = {p: np.full((1, 1), v, np.int64) for p, v in zip(names, values, strict=True)}
            one = played(cells, q, pads, numbers, sums=sums, masked=masked)
            for c in coalitions:
                received = tuple(m for s, r, m in one.run.seen if r in c and (sums or r != "coordinator"))
                own = tuple(sorted((n, pads[n]) for p in c for n in one.entropy.known[p]))
                seen[c][received, own] += 1
        for c in coalitions:
            may = (
                tuple(v for p, v in zip(names, values, strict=True) if p in c),
                one.gram if "coordinator" in c else None,
            )
            found[c].setdefault(may, set()).add(frozenset(seen[c].items()))
    return found


@pytest.mark.parametrize(("holders", "q", "sums"), [(2, 2, True), (2, 3, False), (3, 2, False)])
def test_a_coalition_sees_its_own_cells_and_with_the_coordinator_the_gram_matrix_and_nothing_else(holders, q, sums):
    for coalition, by_knowledge in views(holders, q, sums=sums).items():
        for distributions in by_knowledge.values():
            assert len(distributions) == 1, coalition


def test_a_product_without_its_mask_is_caught():
    found = views(2, 3, sums=False, masked=False)
    assert any(len(distributions) > 1 for distributions in found["p0",].values())
