"""What column statistics give away: marks only whether anybody has one, sums nothing of few values or of whose.

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

from conformance.case import by_name, flat
from leaks.enumeration import Digits, EnumeratedEntropy, Tapped
from tacit.choreo import Coordinator, Holder, LocalError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.ring.words import Ring
from tacit.protocols.columns import extremes as column_extremes
from tacit.protocols.columns import moments as column_moments
from tacit.protocols.columns import quantiles as column_quantiles
from tacit.protocols.columns.fill_values import fill_values
from tacit.protocols.sums import secure_or as protocol
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

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
                by = protect(run, to=Coordinator)
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


def opened(play: Any, parts: Sequence[Any], **params: Any) -> Any:
    """What the coordinator opened in each secure sum, and the ledger."""
    roster = Roster({Holder: tuple(f"p{i}" for i in range(len(parts))), Coordinator: ("coordinator",)})
    held = {p: part_of(X, None, None, ("a", "b")) for p, X in zip(roster[Holder], parts, strict=True)}
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        try:
            result = flat(play)(run, run.hold(Holder, held), min_rows=1, **params)
        except LocalError as error:
            return str(error), run.ledger
    return result, run.ledger


RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 2)) * [1.0, 1e5]
NAMES = ("a", "b")
PLAYS = [
    (column_moments.column_moments, {"names": NAMES}),
    (column_extremes.column_extremes, {"names": NAMES}),
    (column_quantiles.column_quantiles, {"names": NAMES, "probabilities": (0.25, 0.5)}),
    (fill_values, {"mean": ("a",), "median": ("b",), "indicators": NAMES}),
    (fill_values, {"constant": NAMES}),
]


@pytest.mark.parametrize(("play", "params"), PLAYS)
def test_a_column_with_a_few_values_shows_how_many_and_nothing_more(play, params):
    few = X.copy()
    few[4:, 1] = np.nan
    error, ledger = opened(play, np.array_split(few, 3), **params)
    assert "column 'b' has 4 present values over all parties, fewer than min_count=5" in error
    about_b = {row.type for row in ledger} - {"PublicKey", "Masked", "Present"}
    assert about_b <= ({"Means"} if "mean" in params else set()), "the mean of column a may have been published before"


@pytest.mark.parametrize(("play", "params"), PLAYS[:4])
def test_everyone_learns_the_same_however_the_rows_are_split(play, params, monkeypatch):
    totals = []
    honest = column_quantiles.narrow_down
    monkeypatch.setattr(column_quantiles, "narrow_down", lambda *args: totals.append(args[1]) or honest(*args))
    (first, one), (second, other) = (
        opened(play, parts, **params) for parts in (np.array_split(X, 3), [X[:50], X[50:], X[:0]])
    )
    assert_alike(first, second)
    for a, b in zip(totals[: len(totals) // 2], totals[len(totals) // 2 :], strict=True):
        np.testing.assert_array_equal(a, b)
    assert [(row.place, row.type, row.shapes) for row in one] == [(row.place, row.type, row.shapes) for row in other]


def assert_alike(a: Any, b: Any) -> None:
    a, b = by_name(a), by_name(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a.keys() - {"units", "small"}:  # these stay at the parties
            assert_alike(a[key], b[key])
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_part_with_a_few_values_is_not_cut_again(monkeypatch):
    cut = []
    honest = column_quantiles.parts_of

    def keep(*args: Any) -> Any:
        counts = honest(*args)
        cut.append((args[3], args[2], counts))
        return counts

    monkeypatch.setattr(column_quantiles, "parts_of", keep)
    result, _ = opened(
        column_quantiles.column_quantiles, np.array_split(X, 3), names=NAMES, probabilities=(0.05, 0.5), bins=24
    )
    first = np.sum([counts for t, _, counts in cut if t == 0], axis=0)
    again = next(flags for t, flags, _ in cut if t == 1)
    second = np.sum([counts for t, _, counts in cut if t == 1], axis=0)
    assert again.any()
    assert not again.all()
    assert not second[~again].any(), "nobody counts in a part that is not cut again"
    assert (second[again].sum(axis=1) >= 5).all()
    assert (first.sum(axis=-1) == 60).all()
    coarse = np.maximum(~again[:, ::2], ~again[:, 1::2])
    assert ((result.error / result.error.min(axis=1, keepdims=True) > 20) == coarse).all()
