"""What holders hear of an opening in parts, exactly: every mask that three holders may draw for three bits.

Masked shares are uniform where a holder's part of the mask is not known. So what any holders hear together, beside
their own, must have the same distribution whatever the others' shares of one value are.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Holder, Roster, decode_as, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.words import Ring, widen
from tacit.protocols.shares import gates
from tacit.protocols.shares.gates import Opening, open_masked
from tacit.runtimes.together import Together

NAMES, BITS, TWO = ("p0", "p1", "p2"), 3, Ring(2)
MASKS = [np.array(each, np.uint64).reshape(3, BITS) for each in product((0, 1), repeat=3 * BITS)]


class Tapped(Together):
    """Keeps what everybody hears."""

    heard: list[tuple[str, str, tuple[int, ...]]]

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: Any) -> Any:
        for (sender, receiver), frames in outbox.items():
            if sender != receiver:
                words = widen(decode_as(Opening, frames).words, 1)
                self.heard.append((sender, receiver, tuple(words.tolist())))
        return super()._exchange(place, outbox, wanted, missing)


def hear(shares: Any, coalition: tuple[str, ...]) -> Counter[Any]:
    """Return how often a coalition has which masks and hears what, where masks are all that there may be."""
    found: Counter[Any] = Counter()
    for masks in MASKS:
        with Tapped(Roster({Holder: NAMES}), job=b"leak", entropy=RootEntropy(NAMES, b"leak")) as run:
            run.heard = []
            masked = (shares + masks) % np.uint64(2)
            opened = open_masked(run, run.hold(Holder, dict(zip(NAMES, masked, strict=True))), ring=TWO, size=BITS)
            assert all((words == masked.sum(axis=0) % 2).all() for words in entries_of(opened).values())
        own = tuple(map(bytes, (masks[NAMES.index(p)] for p in coalition)))
        told = tuple(each for each in run.heard if each[1] in coalition and each[0] not in coalition)
        found[own, told] += 1
    return found


@pytest.mark.parametrize("coalition", [("p0",), ("p2",), ("p0", "p1"), ("p1", "p2")], ids=" and ".join)
def test_what_holders_hear_of_an_opening_in_parts_depends_on_no_share_of_the_others(coalition, monkeypatch):
    monkeypatch.setattr(gates, "MANY", 1)
    own = dict(zip(NAMES, np.array([(1, 1, 0), (0, 1, 1), (1, 0, 1)], np.uint64), strict=True))
    others = [p for p in NAMES if p not in coalition]
    cases = []
    for changed in ((0, 0, 0), (1, 1, 1)):
        held = {**own, **{p: np.array(changed, np.uint64) for p in others}}
        cases.append(hear(np.array([held[p] for p in NAMES]), coalition))
    assert cases[0] == cases[1]
    assert len(cases[0]) > len(MASKS) // 8, "parts were sent"
