import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import LocalError
from tacit.federation import Federation, as_table

X = np.random.default_rng(0).normal(size=(30, 5))
Y = np.repeat(["no", "yes"], 15)
PARTITIONS = ["horizontal", "vertical", "arbitrary"]


@given(st.sampled_from(PARTITIONS), st.integers(1, 7), st.integers(1, 9), st.integers(1, 6), st.integers(0, 99))
def test_pooling_undoes_the_split(partition, m, n, d, seed):
    table, y, weight = X[:n, :d], Y[:n], np.arange(n) + 0.5
    fed = Federation.simulate(table, y, parties=m, partition=partition, seed=seed, sample_weight=weight)
    back, labels, weights = fed.pooled()
    assert np.array_equal(back, table)
    assert np.array_equal(labels, y)
    assert np.array_equal(weights, weight)
    assert (len(fed), fed.n_rows, fed.n_features) == (m, *table.shape)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_parts_are_read_only_float64_and_c_contiguous(partition):
    for part in Federation.simulate(X, Y, partition=partition).parts.values():
        assert part.X.dtype == np.float64
        assert part.X.flags.c_contiguous
        assert not part.X.flags.writeable


def test_changing_the_callers_array_changes_no_part():
    mine = X.copy()
    fed = Federation.simulate(mine, Y)
    mine[:] = 0
    assert np.array_equal(fed.pooled()[0], X)


def test_the_defaults_are_four_numbered_parties_and_a_separate_site():
    fed = Federation.simulate(X, Y)
    assert list(fed.parts) == ["party-1", "party-2", "party-3", "party-4"]
    assert (fed.partition, fed.coordinator, fed.labeller, fed.runtime) == (
        "horizontal",
        "coordinator",
        None,
        "together",
    )
    assert fed.warnings == ()


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_only_the_labeller_holds_labels_and_weights(partition):
    fed = Federation.simulate(
        X, Y, parties=["a", "b", "c"], partition=partition, labeller="b", sample_weight=np.ones(30)
    )
    assert fed.labeller == "b"
    assert [name for name, part in fed.parts.items() if part.y is not None] == ["b"]
    assert [name for name, part in fed.parts.items() if part.weight is not None] == ["b"]


def test_the_first_party_labels_by_default():
    assert Federation.simulate(X, Y, partition="vertical").labeller == "party-1"


def test_vertical_parts_name_their_own_columns():
    frame = pd.DataFrame(X, columns=list("abcde"))
    fed = Federation.simulate(frame, Y, parties=3, partition="vertical", split="contiguous")
    assert [part.features for part in fed.parts.values()] == [("a", "b"), ("c", "d"), ("e",)]
    assert fed.features == tuple("abcde")
    assert fed.named


def test_surplus_parties_hold_nothing():
    fed = Federation.simulate(X[:, :2], Y, parties=4, partition="vertical")
    assert [part.X.shape[1] for part in fed.parts.values()] == [1, 1, 0, 0]
    assert [part.holds_data for part in fed.parts.values()] == [True, True, False, False]


def test_a_cell_is_zero_at_all_but_its_owner():
    fed = Federation.simulate(X, Y, parties=3, partition="arbitrary")
    assert np.array_equal(sum(part.owned.astype(int) for part in fed.parts.values()), np.ones(X.shape))
    assert all(np.array_equal(part.X, np.where(part.owned, X, 0)) for part in fed.parts.values())


def test_a_range_of_a_feature_can_split_the_rows():
    parts = list(Federation.simulate(X, Y, split="range", by=-1).parts.values())
    assert all(a.X[:, -1].max() <= b.X[:, -1].min() for a, b in pairwise(parts))


def test_a_frames_column_names_the_parties_and_is_no_feature():
    frame = pd.DataFrame(X[:3], columns=list("abcde")).assign(site=["south", "north", "east"])
    fed = Federation.simulate(frame, [0, 1, 0], split="column", by="site")
    assert list(fed.parts) == ["east", "north", "south"]
    assert fed.features == tuple("abcde")
    assert fed.rows["south"].tolist() == [0]


def test_an_array_of_sites_may_give_the_public_order():
    fed = Federation.simulate(X[:3], split="column", by=["b", "a", "b"], parties=["b", "a"])
    assert {name: len(part.X) for name, part in fed.parts.items()} == {"b": 2, "a": 1}
    assert list(fed.parts) == ["b", "a"]


def test_a_table_that_was_read_can_be_split():
    table = as_table(pd.DataFrame({"a": [1.0, 2.0], "site": ["x", "y"]}), [0, 1], drop=["site"])
    assert list(Federation.simulate(table, split="column", by="site").parts) == ["x", "y"]


def test_a_party_may_coordinate():
    assert Federation.simulate(X, Y, coordinator="party-2").coordinator == "party-2"


@pytest.mark.parametrize(("parties", "words"), [(1, "only 1 party holds data"), (2, "only 2 parties hold data")])
def test_fewer_than_three_holders_are_a_warning(parties, words):
    (warning,) = Federation.simulate(X, Y, parties=parties).warnings
    assert words in warning
    assert "IS the other's part" in warning


def test_surplus_parties_do_not_count_as_holders():
    assert Federation.simulate(X[:, :2], Y, parties=4, partition="vertical").warnings


@pytest.mark.parametrize("partition", PARTITIONS)
def test_new_records_are_cut_the_same_way(partition):
    fed = Federation.simulate(X, Y, parties=3, partition=partition)
    new = fed.split(X[:7] + 1)
    assert np.array_equal(new.pooled()[0], X[:7] + 1)
    assert new.pooled()[1] is None
    assert list(new.parts) == list(fed.parts)
    if partition == "vertical":
        assert all(np.array_equal(new.columns[name], fed.columns[name]) for name in fed.parts)


def test_new_records_may_outnumber_the_old_in_an_arbitrary_split():
    fed = Federation.simulate(X[:4], Y[:4], partition="arbitrary")
    assert np.array_equal(fed.split(X).pooled()[0], X)


def test_new_records_need_the_same_features():
    fed = Federation.simulate(pd.DataFrame(X, columns=list("abcde")), Y, partition="vertical")
    with pytest.raises(LocalError, match="X has 4 features, but Federation is expecting 5 features as input"):
        fed.split(X[:, :4])
    with pytest.raises(LocalError, match=r"feature names should match .* feature 1 is 'e', not 'a'"):
        fed.split(pd.DataFrame(X, columns=list("edcba")))


def test_repr_tells_sizes_and_no_values():
    text = repr(Federation.simulate(X, Y, parties=["north", "south", "east"], partition="vertical"))
    assert (
        text == "<Federation: vertical, 30 x 5: north 30 x 2, south 30 x 2, east 30 x 1, labels at north; coordinator"
        " coordinator>"
    )
    assert "cells" in repr(Federation.simulate(X, Y, partition="arbitrary"))


def test_a_federation_can_be_pickled():
    fed = pickle.loads(pickle.dumps(Federation.simulate(X, Y)))  # noqa: S301 - our own bytes
    assert np.array_equal(fed.pooled()[0], X)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"partition": "diagonal"},
            "The 'partition' parameter of Federation must be a str among .*Got 'diagonal' instead",
        ),
        (
            {"partition": "vertical", "split": "dirichlet"},
            "The 'split' parameter .* among {'random', 'contiguous'}. Got 'dirichlet'",
        ),
        ({"parties": 0}, r"The 'parties' parameter .* Got 0 instead"),
        ({"parties": []}, "at least one party"),
        ({"parties": "north"}, "party names must be a list of non-empty strings"),
        ({"parties": ["a", "a", "b"]}, "two parties are named 'a'"),
        ({"parties": ["coordinator", "b", "c"]}, "a party is named 'coordinator', like the separate site"),
        ({"labeller": "party-1"}, "labeller='party-1' does not fit a horizontal split"),
        ({"partition": "vertical", "labeller": "north"}, r"labeller='north' is not one of the parties \(party-1, "),
        ({"split": "range"}, "a split by range needs by="),
        ({"split": "range", "by": 5}, "one of the 5 features. Got 5 instead"),
        ({"split": "range", "by": "age"}, "X has no column 'age'"),
        ({"split": "column"}, "a split by column needs by="),
        ({"split": "column", "by": [1, 2]}, r"one value for each of the 30 records; got shape \(2,\)"),
        ({"split": "column", "by": "site"}, "no features has no column 'site'"),
        ({"split": "column", "by": [None] * 30}, "some are missing"),
        ({"split": "column", "by": Y, "parties": ["a", "b"]}, "the column names the parties no, yes, not a, b"),
        ({"split": "dirichlet", "y": None}, "y is missing: pass y"),
        ({"y": None, "sample_weight": np.ones(30)}, "sample weights but no labels"),
        (
            {"X": np.empty((0, 5)), "y": []},
            r"Found array with 0 sample\(s\) \(shape=\(0, 5\)\) while a minimum of 1 is required",
        ),
        ({"X": np.empty((30, 0))}, r"Found array with 0 feature\(s\) \(shape=\(30, 0\)\)"),
    ],
)
def test_bad_settings_are_refused(settings, words):
    with pytest.raises(LocalError, match=words):
        Federation.simulate(**{"X": X, "y": Y, **settings})
