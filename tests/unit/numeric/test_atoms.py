"""Groups of rows: none is ever smaller than asked for, sets are unions of them, and bounds enclose the loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conformance.atoms_reference import round_set, upper_bound
from tacit.numeric.groups.atoms import (
    ALIKE,
    combine_labels,
    deal_groups,
    deal_stages,
    group_means,
    levels,
    make_groups,
    refine_groups,
    split_by_place,
    split_by_value,
    upper_losses,
)
from tacit.numeric.groups.numbering import OUT
from tacit.numeric.groups.rounding import round_to_groups

SEEDS = st.integers(0, 2**32 - 1)
LEAST = st.integers(1, 6)
NONE = np.zeros(0, np.int64)


def drawn_groups(rng: np.random.Generator, least: int, groups: int, most: int = 4) -> np.ndarray:
    """Groups of at least `least` rows in any order, and rows that are in none."""
    sizes = rng.integers(least, most * least + 1, groups)
    return rng.permutation(np.concatenate([np.repeat(np.arange(groups), sizes), np.full(rng.integers(0, 4), OUT)]))


def sizes(group: np.ndarray) -> np.ndarray:
    return np.unique(group[group >= 0], return_counts=True)[1]


def is_finer(fine: np.ndarray, coarse: np.ndarray) -> bool:
    """Whether rows that share a number in `fine` share one in `coarse`."""
    return len(np.unique(np.stack([fine, coarse]), axis=1).T) == len(np.unique(fine))


# A new run


@given(SEEDS, LEAST, st.integers(1, 60))
def test_rows_that_never_were_in_a_sum_are_grouped_by_kind_if_there_are_enough(seed, least, n):
    kind = np.random.default_rng(seed).integers(-1, 3, n)
    group = make_groups(np.full(n, OUT), np.zeros(n, np.int64), kind, least)
    for k in range(3):
        own = group[kind == k]
        if least == 1:
            assert len(np.unique(own)) == len(own)
        else:
            assert len(np.unique(own)) <= 1
            assert np.all(own >= 0) if len(own) >= least else np.all(own == OUT)
    assert np.all(group[kind < 0] == OUT)


@given(SEEDS, st.integers(2, 6), st.integers(1, 5), st.integers(0, 8))
def test_a_run_never_shows_fewer_than_least_rows_of_an_old_atom(seed, least, atoms, gone):
    """Whatever is known of an atom as a whole.

    Less the rows that the run takes of it, nothing or at least `least` rows are left.
    """
    rng = np.random.default_rng(seed)
    old = int(rng.integers(1, 2 * least))  # of earlier runs, which may have held back less or more
    label, kind = drawn_groups(rng, old, atoms), np.empty(0)
    kind = rng.integers(-1, 3, len(label)) if seed % 2 else np.where(rng.random(len(label)) < 0.9, label % 3, -1)
    here = np.sort(rng.permutation(len(label))[gone:])
    assume(len(here) > 0)
    left = np.bincount(label[here][label[here] >= 0], minlength=atoms)
    absent = np.where(label >= 0, np.append(np.bincount(label[label >= 0], minlength=atoms) - left, 0)[label], 0)
    group = make_groups(label[here], absent[here], kind[here], least)
    assert sizes(group).min(initial=least) >= least
    assert is_finer(group[group >= 0], kind[here][group >= 0]), "a group is of one kind"
    for a in range(atoms):
        whole, used = int(np.sum(label == a)), group[(label[here] == a) & (group >= 0)]
        for part in (*(int(np.sum(used == g)) for g in np.unique(used)), whole - len(used)):
            assert part in {0, whole} or part >= least or len(used) == 0


@given(SEEDS, st.integers(2, 6), st.integers(1, 8))
def test_small_atoms_are_put_together_whole_and_nothing_will_split_the_groups_of_several(seed, least, atoms):
    rng = np.random.default_rng(seed)
    label = drawn_groups(rng, 1, atoms, most=least)
    kind = np.where(label < 0, -1, label % 2)
    group = make_groups(label, np.zeros(len(label), np.int64), kind, least)
    used = group >= 0
    assert is_finer(label[used], group[used]), "atoms stay whole"
    for g in np.unique(group[used]):
        rows = group == g
        assert rows.sum() >= least
        assert len(np.unique(label[rows])) == 1 or rows.sum() < 2 * least
    for k in (0, 1):
        assert np.sum((kind == k) & ~used) < least, "what stays out is the rest of a kind"


def test_a_few_absent_rows_or_a_few_of_another_kind_keep_an_atom_away():
    label, kind = np.repeat([0, 1, 2], 6), np.zeros(18, np.int64)
    absent = np.where(label == 1, 2, 0)
    kind[0:2] = 1  # two of the first atom have changed their class
    assert np.unique(make_groups(label, absent, kind, 3)[label < 2]).tolist() == [OUT]
    assert np.all(make_groups(label, absent, kind, 3)[label == 2] >= 0)
    assert np.all(make_groups(label, absent, kind, 2) >= 0), "two are enough"


@given(SEEDS, st.integers(1, 40))
def test_labels_after_a_run_tell_apart_what_was_before_and_what_the_run_tells(seed, n):
    rng = np.random.default_rng(seed)
    label, group = rng.integers(-1, 4, n), rng.integers(-1, 4, n)
    after = combine_labels(label, group)
    for i in range(n):
        for j in range(n):
            assert (after[i] == after[j]) == ((label[i], group[i]) == (label[j], group[j]))
    np.testing.assert_array_equal(after == OUT, (label == OUT) & (group == OUT))


@given(SEEDS, st.integers(1, 40))
def test_groups_are_refined_by_a_number_of_each_row(seed, n):
    rng = np.random.default_rng(seed)
    group, part = rng.integers(-1, 4, n), rng.integers(-1, 5, n)
    after = refine_groups(group, part)
    np.testing.assert_array_equal(after < 0, group < 0)
    use = group >= 0
    assert is_finer(after[use], group[use])
    assert is_finer(after[use], part[use])
    assert len(np.unique(after[use])) == len(np.unique(np.stack([group, part])[:, use], axis=1).T)


def test_holders_without_rows_have_no_groups():
    assert (
        len(make_groups(NONE, NONE, NONE, 5)) == len(refine_groups(NONE, NONE)) == len(combine_labels(NONE, NONE)) == 0
    )
    marked, group = round_to_groups(NONE, np.zeros(0), 3, 0.0, 0)
    assert len(marked) == len(group) == 0
    np.testing.assert_array_equal(upper_losses(NONE, np.zeros(0), np.zeros(0), np.zeros(0), np.ones(4)), np.zeros(4))


# Pieces


@given(SEEDS, LEAST, st.integers(1, 4))
def test_levels_have_one_weight_each_and_keep_the_sum_of_weights(seed, least, groups):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups)
    weight = np.exp(rng.normal(scale=rng.choice([0.0, 0.3, 2.0]), size=len(group)))
    finer, even = levels(group, weight, least)
    np.testing.assert_array_equal(finer < 0, group < 0)
    assert is_finer(finer, group)
    assert sizes(finer).min() >= least
    for g in np.unique(finer[finer >= 0]):
        assert np.ptp(even[finer == g]) == 0
    for g in np.unique(group[group >= 0]):
        np.testing.assert_allclose(even[group == g].sum(), weight[group == g].sum())
    np.testing.assert_array_equal(even[group < 0], weight[group < 0])


def test_levels_follow_the_weights_where_rows_suffice():
    weight = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 1.1, 1.2])
    finer, even = levels(np.zeros(8, np.int64), weight, 3)
    assert finer[3] == finer[4] == finer[5] != finer[0]
    assert even[3] == 5.0
    assert ALIKE == 2.0
    np.testing.assert_array_equal(levels(np.zeros(8, np.int64), weight, 5)[0], np.zeros(8))


@given(SEEDS, LEAST, st.integers(1, 4), st.integers(1, 5))
def test_folds_are_dealt_in_pieces_of_enough_rows_evenly_within_each_kind(seed, least, groups, number):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups)
    kind = np.where(group < 0, -1, group % 2)
    part = deal_groups(group, kind, number, least, np.random.default_rng(seed))
    np.testing.assert_array_equal(part, deal_groups(group, kind, number, least, np.random.default_rng(seed)))
    assert set(part[group >= 0]) <= set(range(number))
    assert sizes(refine_groups(group, part)).min() >= least
    for k in np.unique(kind[group >= 0]):
        own = group[(kind == k) & (group >= 0)]
        pieces = sum(max(1, min(number, int(np.sum(own == g)) // least)) for g in np.unique(own))
        used = len(np.unique(part[(kind == k) & (group >= 0)]))
        assert used == min(number, pieces), "every fold has a piece of every kind, if there are as many"


@given(SEEDS, LEAST, st.integers(1, 4))
def test_stages_are_nested_in_pieces_of_enough_rows(seed, least, groups):
    rng = np.random.default_rng(seed)
    group, shares = drawn_groups(rng, least, groups, most=9), (0.25, 0.5, 1.0)
    stage = deal_stages(group, shares, least, np.random.default_rng(seed))
    assert set(stage) <= {0, 1, 2}
    assert sizes(refine_groups(group, stage)).min() >= least
    for g in np.unique(group[group >= 0]):
        rows = group == g
        if rows.sum() >= 8 * least:
            for s, share in enumerate(shares):
                assert abs(np.sum(stage[rows] <= s) - share * rows.sum()) <= 1
        elif rows.sum() < 2 * least:
            assert len(np.unique(stage[rows])) == 1


@given(SEEDS, LEAST, st.integers(1, 4), st.sampled_from([0.0, 0.3, 10.0]))
def test_groups_are_split_by_value_into_pieces_of_enough_rows_one_after_the_other(seed, least, groups, close):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups, most=6)
    value = rng.normal(size=len(group))
    finer = split_by_value(group, value, least, close)
    np.testing.assert_array_equal(finer < 0, group < 0)
    assert is_finer(finer, group)
    assert sizes(finer).min() >= least
    if least == 1:
        np.testing.assert_array_equal(finer, group)
    for g in np.unique(group[group >= 0]):
        pieces = [value[finer == p] for p in np.unique(finer[group == g])]
        ranges = sorted((piece.min(), piece.max()) for piece in pieces)
        assert all(low[1] <= high[0] for low, high in pairwise(ranges)), "pieces do not overlap"
        if close == 10.0:
            assert len(pieces) == 1


@given(SEEDS, st.integers(1, 5))
def test_means_are_of_the_group(seed, groups):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, 2, groups)
    group = group[group >= 0]
    values = rng.normal(size=(len(group), 2))
    found = group_means(group, values)
    for i in range(len(group)):
        np.testing.assert_allclose(found[i], values[group == group[i]].mean(axis=0))
    assert group_means(NONE, np.empty((0, 2))).shape == (0, 2)


# Bounds and rounded sets


@given(SEEDS, LEAST, st.integers(1, 5))
def test_bounds_bracket_the_hinge_loss_at_every_step_and_are_tight_for_single_rows(seed, least, groups):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups)
    h, ahead = rng.normal(size=(2, len(group)))
    weight = rng.uniform(0.5, 2.0, groups + 1)[group]
    steps = np.array([0.0, 0.25, 1.0, 2.0])
    upper = upper_losses(group, h, ahead, weight, steps)
    for step, bound in zip(steps, upper, strict=True):
        at = h + step * (ahead - h)
        loss = np.sum((weight * np.maximum(at, 0.0))[group >= 0])
        lower = sum(max(0.0, float((weight * at)[group == g].sum())) for g in range(groups))
        assert lower - 1e-9 <= loss <= bound + 1e-9
        np.testing.assert_allclose(
            bound, upper_bound([np.flatnonzero(group == g) for g in range(groups)], at, weight), atol=1e-9
        )
        alone = upper_losses(np.where(group < 0, OUT, np.arange(len(group))), h, ahead, weight, np.array([step]))
        np.testing.assert_allclose(alone, loss, atol=1e-9)


@given(SEEDS, st.integers(2, 6), st.integers(1, 5))
def test_finer_groups_never_have_a_larger_bound(seed, least, groups):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups)
    h, ahead = rng.normal(size=(2, len(group)))
    steps, weight = np.array([0.0, 0.7, 1.5]), np.ones(len(group))
    finer = refine_groups(group, rng.integers(0, 2, len(group)))
    assert np.all(upper_losses(finer, h, ahead, weight, steps) <= upper_losses(group, h, ahead, weight, steps) + 1e-9)


@given(SEEDS, LEAST, st.integers(1, 6), st.sampled_from([0.0, 0.5, 5.0, 1e9]))
def test_a_rounded_set_is_a_union_of_the_groups_it_returns_and_misses_no_more_than_it_may(seed, least, groups, slack):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups)
    h = rng.normal(size=len(group)) * rng.choice([1.0, 30.0], len(group))
    fresh = groups + int(rng.integers(0, 3))
    marked, finer = round_to_groups(group, h, least, slack, fresh)
    np.testing.assert_array_equal(finer < 0, group < 0)
    assert not marked[group < 0].any()
    assert is_finer(finer, group)
    assert sizes(finer).min() >= least
    assert not set(finer[marked]) & set(finer[~marked & (finer >= 0)]), "a union of groups"
    assert set(finer[finer != group]) == set(range(fresh, fresh + len(set(finer[finer != group])))), (
        "numbers follow each other"
    )
    use = group >= 0
    loss, cut = np.maximum(h[use], 0.0).sum(), h[marked].sum()
    whole = sum(max(0.0, float(h[group == g].sum())) for g in range(groups))
    assert whole - 1e-6 <= cut <= loss + 1e-9, "never less than without splits"
    if slack == 1e9:
        np.testing.assert_array_equal(finer, group)
    if least == 1:
        np.testing.assert_array_equal(
            marked, use & (np.array([h[group == g].sum() > 0 if g >= 0 else False for g in group]))
        )


@given(SEEDS, st.integers(2, 6), st.integers(1, 6), st.sampled_from([0.0, 0.5, 5.0]))
def test_rounding_takes_the_splits_of_the_plain_reference(seed, least, groups, slack):
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups)
    h = rng.normal(size=len(group))
    marked, finer = round_to_groups(group, h, least, slack, groups)
    lists = [list(np.flatnonzero(group == g)) for g in range(groups)]
    rows, after = round_set(lists, np.ones(len(group), bool), h, least, slack)
    assert sorted(rows) == list(np.flatnonzero(marked))
    assert {frozenset(each) for each in after} == {
        frozenset(np.flatnonzero(finer == g)) for g in np.unique(finer[finer >= 0])
    }


@given(SEEDS, st.integers(2, 6), st.integers(1, 6))
def test_without_slack_a_cut_misses_only_what_pieces_that_are_too_small_would_tell(seed, least, groups):
    """After a split by (2) with k* rows of each side or more nothing is missed.

    Else a split would leave a piece of fewer rows.
    """
    rng = np.random.default_rng(seed)
    group = drawn_groups(rng, least, groups, most=8)
    h = rng.normal(size=len(group))
    marked, _ = round_to_groups(group, h, least, 0.0, groups)
    for g in range(groups):
        rows = group == g
        inside, n = int(np.sum(h[rows] > 0)), int(rows.sum())
        if least <= inside <= n - least:
            np.testing.assert_array_equal(marked[rows], h[rows] > 0)


def test_a_group_whose_sum_is_nothing_but_rounding_is_in_no_set():
    group, h = np.repeat([0, 1], 2), np.array([0.25, -0.25 + 1e-12, 1.0, 1.0])
    assert round_to_groups(group, h, 2, 0.0, 2)[0].tolist() == [False, False, True, True]
    assert round_to_groups(np.arange(4), h, 1, 0.0, 4)[0].tolist() == [True, False, True, True]


@pytest.mark.parametrize("slack", [0.0, 0.3, 0.9])
def test_no_more_splits_are_taken_than_the_slack_asks_for(slack):
    group, h = np.repeat([0, 1, 2], 4), np.tile([1.0, 1.0, -1.0, -1.0], 3) * np.repeat([1.0, 0.5, 0.25], 4)
    _, finer = round_to_groups(group, h, 2, slack * 3.5, 3)
    assert len(np.unique(finer)) - 3 == {0.0: 3, 0.3: 2, 0.9: 1}[slack]


def test_large_groups_are_cut_into_pieces_of_rows_that_are_near_each_other():
    draw = np.random.default_rng(0)
    X = np.concatenate(
        [draw.normal(size=(40, 3)) + centre for centre in ([0, 0, 0], [50, 0, 0], [0, 50, 0], [50, 50, 0])]
    )
    group = np.zeros(160, dtype=np.int64)
    group[::40] = OUT
    found = split_by_place(group, X, 5, 8)
    assert (found[::40] == OUT).all()
    assert [len(np.unique(found[i + 1 : i + 40])) for i in range(0, 160, 40)] == [1, 1, 1, 1]
    assert sorted(np.bincount(found[found >= 0])) == [39, 39, 39, 39]


def test_groups_below_the_size_asked_for_and_single_rows_stay_as_they_are():
    X, group = np.random.default_rng(0).normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    np.testing.assert_array_equal(split_by_place(group, X, 5, 5), group)
    np.testing.assert_array_equal(split_by_place(group, X, 1, 2), group)
    assert np.bincount(split_by_place(group, X, 5, 4)).tolist() == [10] * 6


def test_rows_that_are_all_alike_are_split_too():
    assert np.bincount(split_by_place(np.zeros(40, np.int64), np.ones((40, 2)), 5, 4)).min() >= 5
