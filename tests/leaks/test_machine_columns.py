"""What parties see of features in shares, (4) and (5) of `features.shared`, exactly, and in the protocol's own rings.

For other data of the honest holder there are other pads of it, one for each, that leave every byte that all others see
as it was. They are found message by message: what a message differs by is added to the pad that lies on it. Every step
can be undone, so that pads go to pads one to one, and the view of the others has the same distribution whatever the
data of the honest holder are. The dealer is sent public keys alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Labeller, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.ring.words import Ring, widen
from tacit.numeric.shares.shared_plan import plan_shared
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.features import shared as protocol
from tacit.protocols.features.maps import map_columns, map_kernel
from tacit.protocols.features.shared import MaskedTargets, OwnTargets, Side, add_shared, count_factors
from tacit.protocols.shares import factors
from tacit.protocols.shares.dealing import Dealt, agree_with_dealer
from tacit.protocols.shares.factors import MaskedFactor
from tacit.protocols.shares.gates import Opening, reduce
from tacit.runtimes.together import Together

DEALER = "dealer"
KINDS: dict[str, Any] = {kind.__name__: kind for kind in (Dealt, Opening, MaskedFactor, MaskedTargets)}
ROWS, COLUMNS, PROBLEMS, LANDMARKS = 5, 2, 2, 3  # columns of each holder


class Moved(RootEntropy):
    """Pads of the honest holder, at both ends, moved by some words. Tags are numbered as they are first used.

    last: the tag and size of what the honest holder drew last, and of what the dealer drew last for it.
    """

    def __init__(self, names: Any, honest: str, by: dict[int, Any]) -> None:
        parties = (*names, DEALER)
        super().__init__(parties, b"leak test", {p: p.encode().ljust(32, b".") for p in parties})
        self.honest, self.by = honest, by
        self.tags: list[bytes] = []
        self.last: dict[str, tuple[int, int]] = {}

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        if tag not in self.tags:
            self.tags.append(tag)
        return MovedPads(super().pads(party, seeds, tag), party, self)


class MovedPads:
    def __init__(self, pads: Any, party: str, source: Moved) -> None:
        self.inner, self.party, self.source = pads, party, source

    def put_on(self, name: str, words: int) -> Any:
        drawn = np.concatenate([np.empty(0, np.uint64), *(each.copy() for each in self.inner.take_off(name, words))])
        if words and self.source.honest in (self.party, name):
            tag = self.source.tags.index(self.inner.tag)
            self.source.last[self.party] = (tag, words)
            by = self.source.by.get(tag, np.zeros(0, np.uint64))
            drawn[: by.size] += by[:words]  # the last holder draws nothing that is made
        return iter([drawn])

    take_off = put_on


@dataclass(frozen=True)
class Seen:
    """A message that the others see: what it is, which of the honest holder's pads lies on it, less how many bits."""

    kind: str
    words: Any
    tag: int
    start: int
    dropped: int = 0


class Tapped(Together):
    """Keeps what reaches the others from the honest holder and from the dealer; each message once."""

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        name = place.rpartition("/")[2].partition("#")[0]
        last = self.entropy.last
        told = {}
        for (sender, receiver), frames in outbox.items():
            assert receiver != DEALER or name == "PublicKey", "the dealer is sent public keys alone"
            if name in KINDS and sender in (self.honest, DEALER) and receiver not in (self.honest, DEALER):
                own = name == "Opening" and place.split("/")[-3].startswith("round")  # of no gate
                dropped = self.dropped if own else 0
                words = widen(decode_as(KINDS[name], frames).words, self.bits - dropped)
                if words.size:
                    tag, drawn = last[sender]
                    told[sender] = Seen(name, words, tag, drawn - words.size if name == "Dealt" else 0, dropped)
        self.seen += told.values()
        return super()._exchange(place, outbox, wanted, missing)


def table(names: Any, honest: str | None = None) -> dict[str, Any]:
    """Return columns of every holder, targets and roots of weights; other ones for the honest holder."""
    found = {}
    for k, p in enumerate(names):
        rng = np.random.default_rng([k, p == honest])
        targets = rng.choice([-0.5, 0.5], (ROWS, PROBLEMS))
        found[p] = rng.normal(size=(ROWS, COLUMNS)), targets, rng.uniform(0.2, 1, ROWS)
    return found


def play(kernel: str, honest: str, data: Any, by: dict[int, Any], *, weighted: bool) -> list[Seen]:
    """Return what all but the honest holder see of sums over a block of rows."""
    names = tuple(data)
    d = COLUMNS * len(names)
    L = np.random.default_rng(5).normal(size=(LANDMARKS, d))
    the_map = (
        map_columns(np.zeros(d), np.ones(d, np.bool_), 2.0)
        if kernel == "linear"
        else map_kernel(Kernel(kernel, 0.2, 2, 1.0), L)
    )
    columns = {p: np.arange(COLUMNS * k, COLUMNS * (k + 1)) for k, p in enumerate(names)}
    side = Side(names, columns, names[0], weighted, np.full(d, 4.0))
    shared = plan_shared(ROWS, the_map.width, count_factors(the_map, side))
    roster = Roster({Holder: names, Coordinator: (DEALER,), Labeller: names[:1]})
    parts, targets = {}, {}
    for p, (X, T, root) in data.items():
        parts[p] = part_of(X, None, None, tuple(f"{p}{j}" for j in range(COLUMNS)))
        targets[p] = OwnTargets(np.empty((0, PROBLEMS)), np.empty(0), np.empty(0))
        if p == names[0]:
            targets[p] = OwnTargets(T, root if weighted else np.ones(ROWS), np.zeros(PROBLEMS))
    entropy = Moved(names, honest, by)
    with Tapped(roster, job=b"leak test", entropy=entropy) as run:
        run.seen, run.honest, run.bits, run.dropped, run.entropy = [], honest, shared.ring, shared.dropped, entropy
        held, own = run.hold(Holder, parts), run.hold(Holder, targets)
        add_shared(run, agree_with_dealer(run), held, own, the_map, side, shared, PROBLEMS)
    return run.seen


def differ(first: Sequence[Seen], other: Sequence[Seen]) -> list[int]:
    """Return which messages are not the same."""
    assert [each.kind for each in first] == [each.kind for each in other]
    return [i for i, (a, b) in enumerate(zip(first, other, strict=True)) if not np.array_equal(a.words, b.words)]


def add_at(by: dict[int, Any], tag: int, start: int, words: Any) -> dict[int, Any]:
    """Return moves with some words more."""
    old = by.get(tag, np.zeros(0, np.uint64))
    grown = np.zeros(max(old.size, start + words.size), np.uint64)
    grown[: old.size] = old
    grown[start : start + words.size] += words
    return {**by, tag: grown}


def adapt(kernel: str, names: Any, honest: str, *, weighted: bool) -> tuple[list[int], list[int]]:
    """Return which messages others see otherwise for other data, and which they do under pads that are moved to fit."""
    before, data = play(kernel, honest, table(names), {}, weighted=weighted), table(names, honest)
    by: dict[int, Any] = {}
    now = play(kernel, honest, data, by, weighted=weighted)
    plain = differ(before, now)
    while left := differ(before, now):  # a mask, then what is made of it and was dealt before it was used
        seen, off = before[left[0]], (now[left[0]].words - before[left[0]].words) << np.uint64(now[left[0]].dropped)
        for words in (off, np.uint64(0) - off):  # a pad is added, or taken off
            moved = add_at(by, seen.tag, seen.start, words)
            tried = play(kernel, honest, data, moved, weighted=weighted)
            if left[0] not in differ(before, tried):
                by, now = moved, tried
                break
        else:
            break
    return plain, left


CASES = [("linear", False), ("linear", True), ("rbf", False), ("rbf", True), ("poly", True)]


@pytest.mark.parametrize(("kernel", "weighted"), CASES)
@pytest.mark.parametrize(("holders", "honest"), [(2, "p0"), (2, "p1"), (3, "p0"), (3, "p1"), (3, "p2"), (4, "p1")])
def test_other_data_look_the_same_under_other_pads(kernel, weighted, holders, honest):
    names = tuple(f"p{k}" for k in range(holders))
    plain, left = adapt(kernel, names, honest, weighted=weighted)
    assert plain
    assert not left


def hide_evenly(x: Any, dealt: Any, shared: Any, *_others: Any) -> Any:
    """A mask that is even in the bits that are sent."""
    mask = dealt.masks[0] << np.uint64(shared.dropped + 1)
    return reduce(x + mask, Ring(1 << shared.ring)) >> np.uint64(shared.dropped)


def show_targets(targets: Any, _pads: Any, me: str, side: Any, shared: Any, rows: Any, _ring: Any) -> Any:
    """Targets without a mask."""
    return protocol.whole_targets(targets, rows, shared).ravel() if me == side.labeller else np.empty(0, np.uint64)


def draw_evenly(pads: Any, me: str, owners: Any, size: int, ring: Any) -> Any:
    """A factor's mask that is even."""
    return DRAW(pads, me, owners, size, ring) & ~np.uint64(1)


DRAW = factors.draw_mask


@pytest.mark.parametrize(
    ("module", "name", "broken"),
    [(protocol, "hide", hide_evenly), (protocol, "mask_targets", show_targets), (factors, "draw_mask", draw_evenly)],
)
def test_a_broken_mask_is_noticed(module, name, broken, monkeypatch):
    monkeypatch.setattr(module, name, broken)
    assert adapt("rbf", ("p0", "p1"), "p0", weighted=False)[1]
