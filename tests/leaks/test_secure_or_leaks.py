"""What marks of several parties give away: whether anybody has one, and nothing else.

Secure or is enumerated exactly, as in `enumeration`: an entry is one combination of all marks, all dice and all pads in
Z_q. The view of a coalition must have the same distribution over dice and pads for all marks of the others that have
the same or.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from leaks.enumeration import Digits, EnumeratedEntropy, Tapped
from tacit.choreo import Coordinator, Holder, Roster
from tacit.numeric.ring.words import Ring
from tacit.protocols.sums import secure_or as protocol
from tacit.protocols.sums.secure_sum import protect

HOLDERS = ("p1", "p2", "p3")
ROSTER = Roster({Holder: HOLDERS, Coordinator: ("coordinator",)})


def views(
    q: int, coalition: Sequence[str], entropy: type[EnumeratedEntropy] = EnumeratedEntropy
) -> dict[tuple[int, ...], Any]:
    """The coalition's sorted views over all dice and pads, for each combination of marks."""
    digits = Digits(q, 0)
    found = {}
    for marks in product((0, 1), repeat=len(HOLDERS)):
        digits.pads, digits.size = 0, 2
        for _ in ("count", "enumerate"):
            source = entropy(ROSTER.parties, digits)
            with Tapped(ROSTER, job=b"leak test", entropy=source) as run:
                by = protect(run)
                held = {p: np.full(digits.size, bool(mark)) for p, mark in zip(HOLDERS, marks, strict=True)}
                protocol.secure_or(run, run.hold(Holder, held), to=Coordinator, by=by, ring=Ring(q))
            digits.pads = len(source.numbers)
            digits.freeze()
        seen = sorted(((s, m.words[:-1]) for s, r, m in run.seen if {s, r} & set(coalition)), key=lambda pair: pair[0])
        known = [values for p in coalition for _, values in sorted(source.known[p].items(), key=repr)]
        code = np.zeros(digits.size, dtype=np.uint64)
        for column in (*(words for _, words in seen), *known):
            code = code * np.uint64(q) + column
        found[marks] = np.sort(code)
    return found


def told_apart(q: int, coalition: Sequence[str], entropy: type[EnumeratedEntropy] = EnumeratedEntropy) -> list[Any]:
    """Pairs of marks that agree on the coalition's own and on the or of the others, and look different."""
    found = views(q, coalition, entropy)

    def may_know(marks: tuple[int, ...]) -> Any:
        own = tuple(m for p, m in zip(HOLDERS, marks, strict=True) if p in coalition)
        return own, any(m for p, m in zip(HOLDERS, marks, strict=True) if p not in coalition)

    return [
        (a, b)
        for a, b in product(found, repeat=2)
        if a < b and may_know(a) == may_know(b) and not np.array_equal(found[a], found[b])
    ]


@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("coalition", [("coordinator",), ("coordinator", "p1"), ("p2",), ("p1", "p2")])
def test_marks_tell_whether_anybody_has_one_and_nothing_else(coalition, q):
    assert told_apart(q, coalition) == []


class Ones(EnumeratedEntropy):
    """Dice that always show 1: the sum would be the number of marks."""

    def pads(self, party: str, seeds: Any, tag: bytes) -> Any:
        made = super().pads(party, seeds, tag)
        if set(seeds) != {"own"}:
            return made

        class One:
            def put_on(self, _name: str, words: int) -> Any:
                return iter([np.ones(words, dtype=np.uint64)])

        return One()


def test_dice_that_are_not_uniform_are_caught():
    assert ((0, 0, 1), (0, 1, 1)) in told_apart(3, ("coordinator",), Ones)
