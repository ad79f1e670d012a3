"""What parties see of the gates that the machines of the core brought, exactly: everything that holders may draw.

`revealing.reveal`, `factors` (1) and (2), `squarings`, and `apply_each` of a matrix that was opened once, are played in
tiny rings: a coalition must see the same, as often, whatever the others have. The sums (4) and
(5) of `features.shared` have other pads for other data, which leave every byte that a coalition sees as it was. Of each
gate a broken mask is noticed.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from tiny import DEALER, Views

from tacit.choreo import Holder
from tacit.protocols.facts import MODEL
from tacit.protocols.learners import least_squares
from tacit.protocols.learners.least_squares import AppliedEach, apply_each
from tacit.protocols.learners.revealing import ModelShare, ModelWords, reveal
from tacit.protocols.shares import factors, gates, revealing, squarings
from tacit.protocols.shares.dealing import Dealt, deal
from tacit.protocols.shares.factors import multiply_group
from tacit.protocols.shares.gates import open_masked, share_anew, square_each
from tacit.protocols.shares.revealing import pack_share
from tacit.protocols.shares.squarings import open_all, open_quotient, open_square

THREE = ("p1", "p2", "p3")
PAIRS = list(combinations(THREE, 2))


def equal(first: Views, other: Views, *coalition: str) -> bool:
    return np.array_equal(first.of(*coalition), other.of(*coalition))


def between(names: tuple[str, ...], *values: int) -> dict[str, int]:
    return dict(zip(names, values, strict=True))


# Revealing


def reveal_all(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
    return reveal(run, dealing, MODEL, x, size=size)


def revealed(*shares: int, gate: Any = reveal_all) -> Views:
    return Views(gate, THREE, 4, 2, between(THREE, *shares))


@pytest.mark.parametrize("viewer", [*THREE, DEALER])
def test_who_is_told_a_sum_sees_the_same_whatever_it_is_made_of(viewer):
    """The viewer's own share is 1 in all cases, and the sum is 2."""
    cases = [(1, 0, 1), (1, 2, 3), (1, 3, 2)]
    if viewer in THREE:
        at = THREE.index(viewer)
        cases = [(*case[1 : at + 1], case[0], *case[at + 1 :]) for case in cases]
    views = [revealed(*case) for case in cases]
    assert all((view.left % 4 == 2).all() for view in views)
    assert all(equal(views[0], other, viewer) for other in views[1:])
    assert not equal(views[0], revealed(1, 1, 1), viewer), "another sum is another view"


@pytest.mark.parametrize("pair", PAIRS)
def test_all_but_one_holder_see_what_follows_from_the_sum(pair):
    """What the last holder sends is the result less what they have themselves, in every entry."""
    view = revealed(1, 2, 3)
    last = next(p for p in THREE if p not in pair)
    sent = [view.words(m) for s, r, m in view.seen if s == last and r in pair and isinstance(m, ModelShare)]
    own = [view.words(m) for s, r, m in view.seen if s in pair and r == last and isinstance(m, ModelShare)]
    for words in sent:
        np.testing.assert_array_equal((words + sum(own)) % 4, view.left % 4)


def test_the_dealer_hears_the_result_alone():
    heard = [(sender, type(message)) for sender, receiver, message in revealed(1, 2, 3).seen if receiver == DEALER]
    assert heard == [("p1", ModelWords)]


def reveal_to_the_dealer(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
    anew = share_anew(run, dealing, x, size=size)
    run.publish_all(ModelShare, run.local(Holder, pack_share, anew, dealing.ring, ModelShare))
    return reveal(run, dealing, MODEL, x, size=size)


def test_shares_that_the_dealer_hears_are_noticed():
    """It dealt the zeros, and takes them off."""
    views = [Views(reveal_to_the_dealer, THREE, 4, 4, between(THREE, *shares)) for shares in [(1, 0, 1), (1, 2, 3)]]
    assert not equal(*views, DEALER)


def keep_shares(_run: Any, _dealing: Any, x: Any, *, size: int) -> Any:
    del size
    return x


def test_shares_that_are_not_made_anew_are_noticed(monkeypatch):
    monkeypatch.setattr(revealing, "share_anew", keep_shares)
    views = [Views(reveal_all, THREE, 4, 0, between(THREE, *shares)) for shares in [(1, 0, 1), (1, 2, 3)]]
    assert not equal(*views, "p1")


# Products of factors of which each is known to one holder


def product_of(*owners: str) -> Any:
    def gate(run: Any, dealing: Any, x: Any, *, size: int) -> Any:
        return multiply_group(run, dealing, x, owners, size=size)

    return gate


def factored(names: tuple[str, ...], owners: tuple[str, ...], ring: int, *values: int) -> Views:
    words = len(owners) + (len(names) - 1) * (1 if len(owners) == 2 else 4)
    return Views(product_of(*owners), names, ring, words, between(owners, *values))


CASES = [  # holders, owners, elements of the ring
    (("p1", "p2"), ("p1", "p2"), 16),
    (THREE, ("p1", "p2"), 4),
    (THREE, ("p1", "p3"), 4),
    (THREE, ("p2", "p3"), 4),
    (THREE, THREE, 2),
    ((*THREE, "p4"), THREE, 2),
]


@pytest.mark.parametrize(("names", "owners", "ring"), CASES)
def test_a_product_of_factors_tells_no_coalition_the_others_factors(names, owners, ring):
    rng = np.random.default_rng(0)
    base = rng.integers(0, ring, len(owners))
    first = factored(names, owners, ring, *base.tolist())
    assert (first.total() == np.prod(base) % ring).all()
    for count in range(1, len(names)):
        for coalition in combinations(names, count):
            other = [int(v) if p in coalition else int(v + 1) % ring for p, v in zip(owners, base, strict=True)]
            assert equal(first, factored(names, owners, ring, *other), *coalition), coalition
    assert not any(receiver == DEALER for _, receiver, _ in first.seen)


def mask_twice(pads: Any, me: str, owners: Any, size: int, ring: Any) -> Any:
    """A mask whose lowest bit is 0."""
    found = draw_mask(pads, me, owners, size, ring)
    return found & ~np.uint64(1)


draw_mask = factors.draw_mask


def test_a_factor_whose_mask_lacks_a_bit_is_noticed(monkeypatch):
    monkeypatch.setattr(factors, "draw_mask", mask_twice)
    names = ("p1", "p2")
    assert not equal(factored(names, names, 16, 3, 5), factored(names, names, 16, 3, 4), "p1")


# A matrix that is opened under a mask, its square, and products with several vectors, each with a mask of its own


def entrywise(monkeypatch: Any) -> None:
    """Let symmetric matrices be numbers, one for each entry: triangles of one row, and their products."""

    def many(n: int) -> int:
        return n

    monkeypatch.setattr(squarings, "triangle_size", many)
    monkeypatch.setattr(squarings, "unpack", lambda parts, _n: parts[0])
    monkeypatch.setattr(squarings, "ring_square", lambda A: A * A)
    monkeypatch.setattr(squarings, "ring_both_ways", lambda D, B: np.uint64(2) * D * B)
    monkeypatch.setattr(least_squares, "ring_symmetric", lambda A, b: A[:, None] * b)
    monkeypatch.setattr(least_squares, "combine_each_product", reduced(least_squares.combine_each_product))


def reduced(step: Any) -> Any:
    def combine(*given: Any) -> Any:
        return step(*given) % np.uint64(RING)

    return combine


RING = 4


def take_share(D: Any, own: Any, first: Any) -> Any:
    return (D + own if first else own) % np.uint64(RING)


def share_of(run: Any, dealing: Any, opened: Any) -> Any:
    return run.local(Holder, take_share, opened.D, opened.own, dealing.first)


def square(run: Any, dealing: Any, X: Any, *, size: int) -> Any:
    (opened,) = open_all(run, dealing, X, n=size)
    return share_of(run, dealing, open_square(run, dealing, opened, 1, n=size))


def halve(run: Any, dealing: Any, y: Any, *, size: int) -> Any:
    return share_of(run, dealing, open_quotient(run, dealing, y, 1, n=size))


def halve_and_apply(run: Any, dealing: Any, y: Any, v: Any, *, size: int) -> Any:
    opened = open_quotient(run, dealing, y, 1, n=size)
    return apply_each(run, dealing, (opened,), v, n=size, m=1)


def open_and_apply(products: int) -> Any:
    def gate(run: Any, dealing: Any, X: Any, *vectors: Any, size: int) -> Any:
        """Every entry is a matrix of one row, so that the gates of n rows work entry by entry."""
        opened = open_all(run, dealing, *[X] * products, n=size)
        for v in vectors:
            left = apply_each(run, dealing, opened, v, n=size, m=1)
        return left

    return gate


GATES = [(square, 9, 1), (halve, 6, 1), (halve_and_apply, 9, 2)]  # with how many draws and inputs


@pytest.mark.parametrize("spare", [0, 7])
@pytest.mark.parametrize(("gate", "digits", "inputs"), GATES)
@pytest.mark.parametrize("viewer", ["p1", "p2"])
def test_what_a_holder_sees_of_a_square_does_not_depend_on_the_matrix(viewer, gate, digits, inputs, spare, monkeypatch):
    """With `spare` 0 the lowest bit of c is not sent."""
    entrywise(monkeypatch)
    monkeypatch.setattr(squarings, "SPARE", spare)
    names, views = ("p1", "p2"), []
    for hidden in range(RING):
        shares = [(1 + j, (hidden * (j + 1) + j) % RING) for j in range(inputs)]
        held = [between(names, *(pair if viewer == "p1" else pair[::-1])) for pair in shares]
        views.append(Views(gate, names, RING, digits, *held))
    assert all(equal(views[0], other, viewer) for other in views[1:])
    assert not any(receiver == DEALER for _, receiver, _ in views[0].seen)


@pytest.mark.parametrize("pair", PAIRS)
def test_nor_do_two_of_three_holders_together_see_more_of_a_quotient(pair, monkeypatch):
    entrywise(monkeypatch)
    last = next(p for p in THREE if p not in pair)
    views = [Views(halve, THREE, RING, 10, {**dict.fromkeys(THREE, 1), last: hidden}) for hidden in (0, 1, 2)]
    assert all(equal(views[0], other, *pair) for other in views[1:])


def carry_in_clear(c: Any, carried: Any, bits: int, low: Any) -> Any:
    """The carry without u."""
    w = np.uint64(1) - (c >> np.uint64(bits - 1))
    return w * carried.made[0] % np.uint64(low.modulus)


def lack_a_bit(y: Any, dealt: Any, t: int, centre: int, first: bool, ring: Any) -> Any:  # noqa: FBT001 - a step
    """A mask of one bit."""
    del centre, first
    return (y + (dealt.masks[0] & np.uint64(1))) % np.uint64(ring.modulus) >> np.uint64(t)


@pytest.mark.parametrize(("step", "broken"), [("mask_carry", carry_in_clear), ("mask_high", lack_a_bit)])
def test_a_square_whose_mask_is_missing_or_lacks_a_bit_is_noticed(step, broken, monkeypatch):
    entrywise(monkeypatch)
    monkeypatch.setattr(squarings, step, broken)
    names = ("p1", "p2")
    views = [Views(halve, names, RING, 6, between(names, 1, hidden)) for hidden in (0, 2)]
    assert not equal(*views, "p1")


def reused(names: tuple[str, ...], vectors: int, products: int, *values: Any) -> Views:
    words = len(names) * products + vectors * (len(names) + (len(names) - 1) * products)
    return Views(open_and_apply(products), names, RING, words, *values)


@pytest.mark.parametrize(("vectors", "products"), [(1, 1), (2, 1), (1, 3)])
def test_a_mask_that_serves_several_products_leaves_uniform_words(vectors, products, monkeypatch):
    entrywise(monkeypatch)
    monkeypatch.setattr(f"{__name__}.RING", 2 if products > 1 else 4)
    names = ("p1", "p2")
    for viewer in names:
        views = []
        for hidden in (0, 1, 3):
            shares = [(2, hidden), *[(1 + j, (hidden * (j + 2) + j) % RING) for j in range(vectors)]]
            held = [between(names, *(pair if viewer == "p1" else pair[::-1])) for pair in shares]
            views.append(reused(names, vectors, products, *held))
        x, v = (2 + 3) % RING, (vectors + (3 * (vectors + 1) + vectors - 1)) % RING
        assert (views[-1].total() == x * v % RING).all()
        assert all(equal(views[0], other, viewer) for other in views[1:])
        assert not any(receiver == DEALER for _, receiver, _ in views[0].seen)


@pytest.mark.parametrize("pair", PAIRS)
def test_nor_do_two_of_three_holders_together_see_more(pair, monkeypatch):
    entrywise(monkeypatch)
    monkeypatch.setattr(f"{__name__}.RING", 2)
    views = []
    for hidden in (0, 1):
        last = next(p for p in THREE if p not in pair)
        views.append(reused(THREE, 1, 2, *({**dict.fromkeys(THREE, 1), last: (hidden + k) % 2} for k in range(2))))
    assert equal(*views, *pair)


def hide_a_bit(x: Any, dealt: Any, ring: Any) -> Any:
    """A mask of one bit."""
    return (x - (dealt.masks[0] & np.uint64(1))) % np.uint64(ring.modulus)


def test_a_mask_of_a_vector_that_lacks_a_bit_is_noticed(monkeypatch):
    entrywise(monkeypatch)
    monkeypatch.setattr(least_squares, "subtract_mask", hide_a_bit)
    names = ("p1", "p2")
    views = [reused(names, 1, 1, between(names, 2, h), between(names, 1, h)) for h in (0, 2)]
    assert not equal(*views, "p1")


def open_with_one_mask(run: Any, dealing: Any, X: Any, first: Any, second: Any, *, size: int) -> Any:
    """Open a matrix, and two vectors under one mask."""
    (opened,) = open_all(run, dealing, X, n=size)
    dealt, _ = deal(run, dealing, AppliedEach(size, 1, 1), kept=opened.A)
    for v in (first, second):
        open_masked(run, run.local(Holder, gates.subtract_mask, v, dealt, dealing.ring), ring=dealing.ring)
    return X


def test_a_mask_that_is_on_two_vectors_is_noticed(monkeypatch):
    entrywise(monkeypatch)
    names = ("p1", "p2")
    views = [
        Views(open_with_one_mask, names, RING, 5, *[between(names, 1, h) for h in hidden])
        for hidden in ((0, 0, 0), (0, 1, 0))
    ]
    assert not equal(*views, "p1")


# Turns in what is dealt


def square_thrice(run: Any, dealing: Any, x: Any, y: Any, *, size: int) -> Any:
    """Each holder is sent once what the others did not draw."""
    square_each(run, dealing, y, size=size)
    square_each(run, dealing, y, size=size)
    return square_each(run, dealing, x, size=size)


@pytest.mark.parametrize("coalition", [*((p,) for p in THREE), *PAIRS])
def test_whoever_is_sent_what_the_others_did_not_draw_sees_uniform_words(coalition):
    views = []
    for hidden in (0, 1):
        x, y = ({p: 1 if p in coalition else (hidden + k) % 2 for p in THREE} for k in range(2))
        views.append(Views(square_thrice, THREE, 2, 3 * (len(THREE) + len(THREE) - 1), x, y))
    assert {receiver for _, receiver, m in views[0].seen if isinstance(m, Dealt) and m.words.size} == set(THREE)
    assert equal(*views, *coalition)
