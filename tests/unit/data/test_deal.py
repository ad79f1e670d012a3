"""How records are dealt into parts: exactly, class by class, alike wherever the records are the same."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.federation.ids import digests
from tacit.federation.slices import Choice, Deal
from tacit.federation.table import as_table
from tacit.numeric.scores.folds import share_out


@pytest.mark.parametrize("shares", [(0.75, 0.25), (0.2,) * 5, (0.9, 0.1), (0.5, 0.3, 0.2)])
def test_every_part_has_its_share_and_nothing_is_lost(shares):
    for n in range(120):
        sizes = share_out(n, shares, np.random.default_rng(n))
        assert sizes.sum() == n
        assert len(sizes) == len(shares)
        assert np.abs(sizes - n * np.array(shares)).max() < 1


def test_shares_are_as_asked():
    draw = np.random.default_rng(0)
    assert share_out(100, (0.75, 0.25), draw).tolist() == [75, 25]
    assert sorted(share_out(52, (0.2,) * 5, draw).tolist()) == [10, 10, 10, 11, 11]


def test_each_party_deals_its_own_classes_in_proportion():
    y = np.repeat([0, 1], [60, 20])
    part = Deal((0.75, 0.25), 3, stratify=True).part_of("north", y, None, 80)
    assert [np.bincount(part[y == k]).tolist() for k in (0, 1)] == [[45, 15], [15, 5]]


def test_numbers_as_targets_are_no_classes():
    y = np.random.default_rng(0).normal(size=80)
    part = Deal((0.75, 0.25), 3, stratify=True).part_of("north", y, None, 80)
    assert np.bincount(part).tolist() == [60, 20]


def test_the_same_seed_deals_alike_and_another_seed_or_party_does_not():
    deal = Deal((0.5, 0.5), 1, stratify=False)
    same, other = deal.part_of("north", None, None, 60), Deal((0.5, 0.5), 2, stratify=False)
    np.testing.assert_array_equal(same, deal.part_of("north", None, None, 60))
    assert (other.part_of("north", None, None, 60) != same).any()
    assert (deal.part_of("south", None, None, 60) != same).any()


def test_records_with_ids_stay_in_their_part_in_whatever_order_a_table_is():
    ids = [f"patient {i}" for i in range(60)]
    held = digests(ids, as_table(np.zeros((60, 1))))
    deal, order = Deal((0.7, 0.3), 1, stratify=False), np.random.default_rng(0).permutation(60)
    part = deal.part_of("", None, held, 60)
    np.testing.assert_array_equal(deal.part_of("", None, held[order], 60), part[order])


def test_a_choice_is_a_public_value_without_any_record():
    deal = Deal((0.5, 0.5), 1, stratify=False)
    assert Choice(deal, (0,)) == Choice(Deal((0.5, 0.5), 1, stratify=False), (0,))
    assert Choice(deal, (1,)).chosen({"north": np.array([0, 1, 1, 0])})["north"].tolist() == [1, 2]
