"""What sites bring is what all later shares are of, and linear maps of each site's part come out, givers' too."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster, Site, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.shares.ridge_plan import plan_ridge
from tacit.protocols.learners.bounds import BLOCK, Looks, find_room
from tacit.protocols.shares import brought as module
from tacit.protocols.shares.brought import LinearMap, bring, map_brought, share_brought, take_opened
from tacit.protocols.shares.dealing import agree_with_dealer
from tacit.runtimes.together import Together

SITES = ("a", "b", "c", "d", "e")
SIZE = 11


@dataclass(frozen=True)
class Weighed(LinearMap):
    """Sums by weights."""

    @property
    def size(self) -> int:
        return 2

    def apply(self, words: Any, start: int) -> Any:
        weights = np.arange(2 * SIZE, dtype=np.uint64).reshape(2, SIZE) + np.uint64(3)
        words = words[: max(0, SIZE - start)]  # the last part is filled up
        return weights[:, start : start + words.size] @ words


@pytest.mark.parametrize("members", [SITES, SITES[1:4], SITES[:2]], ids=len)
def test_every_sites_part_is_mapped_and_shares_are_of_the_sum(members):
    rng = np.random.default_rng(1)
    held = {p: rng.integers(0, 1 << 64, SIZE, dtype=np.uint64) for p in SITES}
    sites = SITES if len(members) > 2 else members
    roster = Roster({Holder: sites, Coordinator: ("dealer",)})
    with Together(roster, job=b"t", entropy=RootEntropy([*sites, "dealer"], b"t")) as run:
        dealing = agree_with_dealer(run, committee=members)
        x = run.hold(Site, {p: held[p] for p in sites})
        with run.seat(members):
            brought = bring(run, dealing, x, size=SIZE)
            mapped = entries_of(map_brought(run, dealing, brought, Weighed()))
            shares = entries_of(share_brought(run, dealing, brought))
            opened = take_opened(run, dealing, brought, 2, 7)
    order = [*members, *(p for p in sites if p not in members)]
    np.testing.assert_array_equal(sum(mapped.values()).reshape(-1, 2), [Weighed().apply(held[p], 0) for p in order])
    total = np.sum([held[p] for p in sites], axis=0, dtype=np.uint64)
    np.testing.assert_array_equal(sum(shares.values()), total)
    (mask,) = entries_of(opened.A)["dealer"]
    for D in entries_of(opened.D).values():
        np.testing.assert_array_equal(D + mask, total[2:7])
    np.testing.assert_array_equal(sum(entries_of(opened.own).values()), mask)


def test_what_a_holder_says_of_itself_later_is_not_asked(monkeypatch):
    """It may tell others another part than it adds up: what it brings is then what the sum leaves."""
    told = module.add_part

    def lie(sent: Any, mine: Any, me: str, ring: Any) -> Any:
        return told(sent, mine, me, ring) + np.uint64(me == "b")

    monkeypatch.setattr(module, "add_part", lie)
    sites = SITES[:3]
    roster = Roster({Holder: sites, Coordinator: ("dealer",)})
    with Together(roster, job=b"t", entropy=RootEntropy([*sites, "dealer"], b"t")) as run:
        dealing = agree_with_dealer(run)
        brought = bring(run, dealing, run.hold(Site, dict.fromkeys(sites, np.zeros(SIZE, np.uint64))), size=SIZE)
        mapped = sum(entries_of(map_brought(run, dealing, brought, Weighed())).values()).reshape(-1, 2)
        x = sum(entries_of(share_brought(run, dealing, brought)).values())
    np.testing.assert_array_equal(x, [0] * 4 + [1] * 4 + [0] * 3)
    np.testing.assert_array_equal(mapped, [[0, 0], Weighed().apply(x, 0), [0, 0]])


def test_looks_are_the_same_of_parts_as_of_the_whole():
    looks = Looks(plan_ridge(1000, 250, 2, (0.1,)), b"seed")
    assert looks.triangle > BLOCK
    total = 2 * looks.triangle + looks.size - looks.rows
    words = np.random.default_rng(2).integers(0, 1 << 64, total, dtype=np.uint64)
    whole = looks.apply(words, 0)
    cuts = [0, 17, BLOCK + 5, looks.triangle + 3, 2 * looks.triangle + 10, total]
    parts = [looks.apply(words[lo:hi], lo) for lo, hi in pairwise(cuts)]
    np.testing.assert_array_equal(np.sum(parts, axis=0, dtype=np.uint64), whole)
    np.testing.assert_array_equal(whole[looks.rows :], words[2 * looks.triangle :])


@pytest.mark.parametrize("rows", [0, 1, 7, 400])
@pytest.mark.parametrize("alike", [False, True])
def test_sums_of_rows_are_within_the_bounds_and_others_are_not(rows, alike):
    plan = plan_ridge(1000, 30, 1, (0.1,))
    rng = np.random.default_rng(rows)
    Z = rng.normal(size=(rows, 29))
    Z = np.column_stack([Z / np.linalg.norm(Z, axis=1)[:, None], np.ones(rows)])
    Z = Z[[0] * rows] if alike and rows else Z
    for seed in range(20):
        looks = Looks(plan, bytes([seed]))
        room = np.array(find_room(looks, rows, weighted=False)[: 2 * (looks.rows + plan.probes)], dtype=object)

        def holds(S: Any, E: float, looks: Looks = looks, room: Any = room) -> bool:
            lower = np.tril_indices(30)
            words = [np.ldexp(S[lower], plan.bits), np.ldexp(-S[lower] / 2.0**plan.K, 30), np.zeros(30)]
            words.append(np.array([np.ldexp(E, plan.error_bits)]))
            found = looks.apply(np.rint(np.concatenate(words)).astype(np.int64).view(np.uint64), 0).view(np.int64)
            numbers = np.r_[found[: looks.rows], found[-plan.probes :]].astype(object)
            return bool((np.r_[numbers, -numbers] + room >= 1).all())

        S = Z.T @ Z
        assert holds(S, float(rows))
        assert not holds(S, rows + 2.0 + rows / 100)
        one = np.zeros((30, 30))
        one[-1, -1] = 1 + rows / 100
        assert not holds(S + one, rows)
        assert not holds(S - one, rows)
        for far in (400.0 * (rows + 1), -400.0 * (rows + 1)):
            one = np.zeros((30, 30))
            one[3, 4] = one[4, 3] = far
            assert not holds(S + one, rows)
            one = np.zeros((30, 30))
            one[3, 3], one[4, 4] = far, -far
            assert not holds(S + one, rows)
