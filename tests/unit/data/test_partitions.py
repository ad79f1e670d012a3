from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import LocalError
from tacit.federation import partitions

counts = st.integers(0, 40)
parties = st.integers(1, 8)
seeds = st.integers(0, 2**32 - 1)


def assert_disjoint_and_covering(shares, total):
    assert np.array_equal(np.sort(np.concatenate(shares)), np.arange(total))


@given(counts, parties, seeds)
def test_a_random_split_is_disjoint_covers_and_is_equal(n, m, seed):
    shares = partitions.random_rows(n, m, seed)
    sizes = [len(s) for s in shares]
    assert_disjoint_and_covering(shares, n)
    assert len(shares) == m
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), parties, st.floats(0.01, 100), seeds)
def test_a_dirichlet_split_is_disjoint_covers_and_leaves_nobody_empty_while_rows_suffice(labels, m, alpha, seed):
    shares = partitions.dirichlet_rows(np.array(labels), m, alpha, seed)
    assert_disjoint_and_covering(shares, len(labels))
    assert sum(len(s) > 0 for s in shares) == m or all(len(s) <= 1 for s in shares)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), parties)
def test_ranges_do_not_overlap_but_at_their_borders(values, m):
    column = np.array(values)
    shares = [s for s in partitions.range_rows(column, m) if len(s)]
    assert_disjoint_and_covering(shares, len(values))
    assert all(column[a].max() <= column[b].min() for a, b in pairwise(shares))


@given(counts, parties, st.none() | seeds)
def test_columns_are_disjoint_and_cover(d, m, seed):
    shares = partitions.spread_columns(d, m, seed)
    assert_disjoint_and_covering(shares, d)
    assert len(shares) == m


@given(counts, counts, parties, seeds)
def test_every_cell_has_one_of_the_parties_as_owner(n, d, m, seed):
    owners = partitions.cell_owners(n, d, m, seed)
    assert owners.shape == (n, d)
    assert np.isin(owners, np.arange(m)).all()


def test_the_same_seed_gives_the_same_split():
    first, again, other = (partitions.random_rows(50, 3, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])


def test_columns_without_a_seed_stay_neighbours():
    assert [s.tolist() for s in partitions.spread_columns(5, 3, None)] == [[0, 1], [2, 3], [4]]


def test_a_small_alpha_makes_the_parties_less_alike():
    y = np.repeat([0, 1], 500)
    spread = {a: np.std([y[s].mean() for s in partitions.dirichlet_rows(y, 4, a, 0)]) for a in (0.1, 100.0)}
    assert spread[0.1] > 5 * spread[100.0]


def test_a_column_names_the_parties_by_its_values():
    rows = partitions.column_rows(np.array(["south", "north", "south"]))
    assert {k: v.tolist() for k, v in rows.items()} == {"north": [1], "south": [0, 2]}


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan")])
def test_alpha_must_be_positive(alpha):
    with pytest.raises(LocalError, match=r"The 'alpha' parameter of a Dirichlet split must be .* Got .* instead"):
        partitions.dirichlet_rows(np.array([0, 1]), 2, alpha, 0)
