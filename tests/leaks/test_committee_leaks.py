"""A committee that computes for all: what any coalition sees of what the others gave, exactly, in a tiny ring.

Without the dealer, and without one member of the committee, a coalition sees what follows from the result. All members
together see what each giver gave, and the dealer with one member the sum over all sites: both are stated, and shown.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from machines import DEALER, by_rows, edition, play
from tiny import Views

from tacit.choreo import Holder, PeerError, Site
from tacit.numeric.ring.words import Ring
from tacit.protocols.facts import MODEL
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.shares import deposits, held_rows
from tacit.protocols.shares.deposits import Deposit, choose_committee, collect, gather, read_given
from tacit.protocols.shares.gates import square_each
from tacit.protocols.shares.held_rows import open_given
from tacit.protocols.shares.owned import MaskedRows

SITES = ("p1", "p2", "p3", "p4", "p5")
THREE = ("p1", "p3", "p4")
GIVERS = tuple(p for p in SITES if p not in THREE)
RING = 4
EVERY = [c for count in range(1, len(SITES)) for c in combinations(SITES, count)]
SAFE = [c for c in EVERY if not set(THREE) <= set(c)]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: Any) -> None:
    monkeypatch.setattr(deposits, "Z64", Ring(RING))
    monkeypatch.setattr(deposits, "add_given", lambda x, given: sum(given.values(), x) % np.uint64(RING))


def tell_sum(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
    return reveal(run, dealing, MODEL, gather(run, dealing, x, size=size), size=size)


def square_sum(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
    return square_each(run, dealing, gather(run, dealing, x, size=size), size=size)


def lay_beside(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
    return collect(run, dealing, x, dict.fromkeys(SITES, size))


def played(gate: Any, digits: int, *values: int) -> Views:
    return Views(gate, SITES, RING, digits, dict(zip(SITES, values, strict=True)), committee=THREE)


def moved(coalition: tuple[str, ...], *values: int, same_sum: bool) -> list[int]:
    """Return other values of whoever is not in a coalition."""
    others = [i for i, p in enumerate(SITES) if p not in coalition]
    found, ring = list(values), RING if max(values) > 1 else 2
    for k, i in enumerate(others):
        found[i] = (found[i] + k + 1) % ring
    if same_sum and others:
        found[others[-1]] = (found[others[-1]] + sum(values) - sum(found)) % RING
    return found


BASE = (1, 2, 3, 1, 2)
GIVEN, ANEW, SQUARED = 2 * len(GIVERS), len(THREE) - 1, 2 * len(THREE) - 1  # words that are drawn for an entry


@pytest.mark.parametrize("coalition", SAFE, ids="".join)
def test_without_a_member_a_coalition_sees_what_follows_from_the_sum(coalition):
    first = played(tell_sum, GIVEN + ANEW, *BASE)
    assert (first.left % RING == sum(BASE) % RING).all()
    other = played(tell_sum, GIVEN + ANEW, *moved(coalition, *BASE, same_sum=True))
    np.testing.assert_array_equal(first.of(*coalition), other.of(*coalition))


@pytest.mark.parametrize("coalition", SAFE, ids="".join)
def test_and_of_what_stays_in_shares_nothing(coalition):
    for gate, digits in ((lay_beside, GIVEN), (square_sum, GIVEN + SQUARED)):
        first, other = played(gate, digits, *BASE), played(gate, digits, *moved(coalition, *BASE, same_sum=False))
        np.testing.assert_array_equal(first.of(*coalition), other.of(*coalition))


def open_bits_of(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
    """Every entry is a row of one column."""
    Z = run.local(Site, write_bits, x)
    matrix = open_given(run, dealing, Z, [size] * len(SITES), 1)
    return run.local(Holder, take_own, matrix.held)


def write_bits(words: Any) -> Any:
    return words.astype(np.int16)[:, None]


def take_own(held: Any) -> Any:
    return held.own


@pytest.mark.parametrize("coalition", SAFE, ids="".join)
def test_nor_of_the_rows_that_sites_open_to_a_committee(coalition, monkeypatch):
    monkeypatch.setattr(held_rows, "Z64", Ring(2))
    drawn = len(SITES) * len(THREE)  # the mask of each site, and the shares of these masks
    views = [
        Views(open_bits_of, SITES, 2, drawn, dict(zip(SITES, values, strict=True)), committee=THREE)
        for values in ((0, 1, 0, 1, 1), moved(coalition, 0, 1, 0, 1, 1, same_sum=False))
    ]
    np.testing.assert_array_equal(views[0].of(*coalition), views[1].of(*coalition))


def test_rows_without_a_mask_are_noticed(monkeypatch):
    def open_in_clear(Z: Any, _pads: Any, _shape: Any) -> MaskedRows:
        return MaskedRows(Z.astype(np.uint8).ravel())

    monkeypatch.setattr(held_rows, "Z64", Ring(2))
    monkeypatch.setattr(held_rows, "mask_rows", open_in_clear)
    drawn = len(SITES) * len(THREE)
    views = [
        Views(open_bits_of, SITES, 2, drawn, dict(zip(SITES, values, strict=True)), committee=THREE)
        for values in ((0, 1, 0, 1, 1), (0, 0, 0, 1, 1))
    ]
    assert not np.array_equal(views[0].of("p1"), views[1].of("p1"))


def test_all_members_together_see_what_a_giver_gave():
    first = played(tell_sum, GIVEN + ANEW, *BASE)
    other = played(tell_sum, GIVEN + ANEW, *moved(THREE, *BASE, same_sum=True))
    assert not np.array_equal(first.of(*THREE), other.of(*THREE))


@pytest.mark.parametrize("member", THREE)
def test_the_dealer_with_one_member_sees_the_sum_of_all_sites_and_no_more(member):
    first = played(square_sum, GIVEN + SQUARED, *BASE)
    same = played(square_sum, GIVEN + SQUARED, *moved((member,), *BASE, same_sum=True))
    np.testing.assert_array_equal(first.of(DEALER, member), same.of(DEALER, member))
    other = played(square_sum, GIVEN + SQUARED, *moved((member, *GIVERS), *BASE, same_sum=False))
    assert not np.array_equal(first.of(DEALER, member), other.of(DEALER, member))


def test_words_that_lack_a_draw_are_noticed(monkeypatch):
    def give_in_clear(x: Any, *_: Any) -> Deposit:
        return Deposit(x.copy())

    monkeypatch.setattr(deposits, "subtract_drawn", give_in_clear)
    views = [played(lay_beside, GIVEN, *values) for values in (BASE, (1, 3, 3, 1, 2))]
    assert not np.array_equal(views[0].of("p1"), views[1].of("p1"))


# A whole run


def ledger_of(y: Any, **chosen: Any) -> Any:
    X = np.random.default_rng(3).normal(size=(250, 4))
    return play(by_rows(X, y(X), len(SITES)), features=10, classes=(0, 1), **chosen)[0].ledger


@pytest.mark.parametrize("chosen", [{}, {"loss": "hinge", "C": 1.0}], ids=["least squares", "hinge"])
def test_givers_send_to_members_only_and_hear_what_everybody_is_told(chosen, monkeypatch):
    monkeypatch.undo()
    with edition():
        first, other = (
            ledger_of(y, committee="three", **chosen)
            for y in (lambda X: (X[:, 0] > 0).astype(int), lambda X: np.arange(len(X)) % 2)
        )
    names = tuple(f"p{i}" for i in range(len(SITES)))
    members, givers = names[:3], names[3:]
    given = {"Deposit"} if not chosen else {"Deposit", "MaskedRows"}
    sent = {(row.type, row.receiver in members) for row in first.rows if row.sender in givers and row.type in given}
    assert sent == {(kind, True) for kind in given}
    told = {"PublicKey", "Size", "OwnClasses", "Published", "ModelWords", "ClassWords", "Ready"}
    told |= {"CoinCommitment", "CoinPart", "Within"}  # the bounds on what sites bring
    assert {row.type for row in first.rows if row.receiver in (*givers, DEALER)} <= told
    assert {row.type for row in first.rows if row.sender in givers} <= {"PublicKey", "Size", "OwnClasses", *given}
    facts = {f.identifier for row in first.rows for f in row.tells if f.kind not in {"nothing", "key"}}
    assert facts <= {"core.sizes", "core.classes", "core.landmarks", "core.model", "run.present"}
    sizes = [[(row.place, row.sender, row.receiver, row.bytes) for row in each.rows] for each in (first, other)]
    assert sizes[0] == sizes[1], "sizes follow from data"


# Who computes


def test_who_computes_follows_from_the_roster():
    assert choose_committee("auto", SITES[:4], "horizontal") == SITES[:4]
    assert choose_committee("auto", SITES, "horizontal") == SITES[:3]
    assert choose_committee("all", SITES, "horizontal") == SITES
    assert choose_committee("three", SITES[:4], "horizontal") == SITES[:3]
    assert choose_committee(("p5", "p1", "p4"), SITES, "horizontal") == ("p1", "p4", "p5")
    assert choose_committee("auto", SITES, "vertical") == SITES


def test_a_giver_that_sends_too_few_words_is_stopped():
    with pytest.raises(PeerError, match="p2 gave 1 words where 2 belong: stop and ask p2"):
        read_given(
            {"p2": Deposit(np.zeros(1, np.uint64))},
            None,
            "p1",
            {"p2": "p1"},
            (("p2", 2),),
            Ring(RING),  # type: ignore[arg-type]
        )
