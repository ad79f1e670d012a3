"""Slices of a federation: the records and columns that a pandas user means, at the parties that hold them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit import Federation, LocalError
from tacit.federation.backend import Described

SPLITS = ("horizontal", "vertical", "arbitrary")


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).normal(size=(90, 5))
    return pd.DataFrame(X, columns=list("abcde")), (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def large():
    X = np.random.default_rng(0).normal(size=(900, 5))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("partition", SPLITS)
def test_records_are_chosen_by_slice_mask_or_numbers_and_keep_their_order(table, partition):
    X, y = table
    fed, values = tacit.simulate(X, y, parties=3, partition=partition), X.to_numpy()
    numbers = np.random.default_rng(1).permutation(90)[:40]
    for key in (slice(10, 60), values[:, 1] > 0, numbers, (-1, 0, 5)):
        found, labels, _ = fed[key].pooled()
        chosen = np.arange(90)[list(key) if isinstance(key, tuple) else key]
        np.testing.assert_array_equal(found, values[chosen])
        np.testing.assert_array_equal(labels, y[chosen])


@pytest.mark.parametrize("partition", SPLITS)
def test_columns_are_chosen_by_names_or_numbers_at_whoever_has_them(table, partition):
    X, y = table
    fed = tacit.simulate(X, y, parties=3, partition=partition)
    for key, names in ((["d", "a"], ["d", "a"]), ("c", ["c"])):
        chosen = fed[key]
        assert chosen.features == tuple(names)
        np.testing.assert_array_equal(chosen.pooled()[0], X[names])
    np.testing.assert_array_equal(fed.take_columns([-1, 0]).pooled()[0], X[["e", "a"]])


def test_weights_and_categories_go_with_their_records_and_columns():
    frame = pd.DataFrame({"kind": ["x", "y"] * 30, "size": np.arange(60.0)})
    fed = tacit.simulate(
        frame, [0, 1] * 30, sample_weight=np.arange(1.0, 61.0), parties=3, categories={"kind": ["x", "y"]}
    )
    assert fed[:20].pooled()[2].tolist() == list(range(1, 21))
    assert fed[["kind"]].categories == {"kind": ("x", "y")}
    assert fed[["size"]].categories == {}


def test_a_model_is_trained_on_a_slice_and_judged_on_the_rest(large):
    fed = tacit.simulate(*large, parties=3, seed=3)
    model = tacit.SVC(kernel="linear", random_state=0).fit(fed[:600])
    assert tacit.evaluate(model, fed[600:]).n_records == 300
    assert model.score(fed[600:]) > 0.9


def test_a_slice_that_leaves_two_holders_says_that_sums_hide_nothing(table):
    X, y = table
    fed = tacit.simulate(X, y, parties=3, partition="vertical", split="contiguous")
    assert not fed.warnings
    assert "only 2 parties hold data" in fed[["a", "e"]].warnings[0]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ([], "no record is chosen"),
        (slice(0, 0), "no record is chosen"),
        ([0, 0, 1], "a record is chosen twice, and would count twice in every sum"),
        ([90], "there is no record 90: records are numbered from 0 to 89"),
        (np.ones(4, bool), "the mask has 4 entries for 90 records: give one for each"),
        (1.5, "records are chosen by a mask, a slice or a list of whole numbers, and columns by a list of names"),
        (["a", "nope"], "nope"),
        (["a", "a"], "columns are chosen once each"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(table, key, words):
    X, y = table
    with pytest.raises(LocalError, match=words):
        tacit.simulate(X, y, parties=3)[key]


def test_a_federation_is_nothing_to_loop_over(table):
    X, y = table
    with pytest.raises(TypeError, match="not iterable"):
        list(tacit.simulate(X, y, parties=3))


@pytest.mark.parametrize("cut", [lambda fed: fed[:5], lambda fed: fed[["a"]], tacit.train_test_split])
def test_records_that_are_elsewhere_are_not_chosen_from_here(cut):
    fed = Federation.described(("a", "b", "c"), partition="horizontal", coordinator="site", backend=Described())
    with pytest.raises(LocalError, match="let each site set aside its own first"):
        cut(fed)


# What was opened before still counts


def test_asking_a_model_about_any_record_is_no_sum_and_not_compared(table):
    X, y = table
    fed = tacit.simulate(X, y, parties=3)
    model = tacit.SVC(kernel="linear", random_state=0).fit(fed)
    np.testing.assert_array_equal(model.predict(fed[3:5]), model.predict(X)[3:5])
