"""Federations carry missing values and text only where the caller says so, through every split and back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tacit import Federation, LocalError
from tacit.federation import read
from tacit.federation.columns import check_prepared, remake_columns

X = np.random.default_rng(0).normal(size=(20, 3))
X[3, 1] = X[7, 2] = np.nan


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_missing_values_are_carried_on_request_and_refused_else(partition):
    fed = Federation.simulate(X, parties=3, partition=partition, allow_missing=True)
    pooled, _, _ = fed.pooled()
    np.testing.assert_array_equal(pooled, X)
    with pytest.raises(
        LocalError, match=r"column 'x1' of X has 1 missing value .*allow_missing=True lets FederatedImputer do it"
    ):
        Federation.simulate(X, parties=3, partition=partition)
    with pytest.raises(
        LocalError,
        match=r"Input X contains NaN: column 'x\d' of party 'party-\d' has 1 missing values: fit a FederatedImputer",
    ):
        check_prepared(fed, "SVC")


def test_parts_and_files_carry_them_too(tmp_path):
    parts = np.array_split(X, 4)
    assert np.isnan(Federation.from_parts(parts, partition="horizontal", allow_missing=True).parts["party-1"].X[3, 1])
    for i, part in enumerate(parts):
        pd.DataFrame(part, columns=list("abc")).to_csv(tmp_path / f"{i}.csv", index=False)
    paths = [tmp_path / f"{i}.csv" for i in range(4)]
    fed = Federation.from_files(paths, partition="horizontal", label=None, allow_missing=True)
    np.testing.assert_allclose(fed.pooled()[0], X)
    with pytest.raises(LocalError, match=r"Input X contains NaN: column 'b' of 0\.csv"):
        Federation.from_files(paths, partition="horizontal", label=None)


def test_declared_texts_become_their_numbers_and_gaps_stay_gaps(tmp_path):
    (tmp_path / "north.csv").write_text("sex,age,label\nm,1,0\n,2,1\nf,3,0\n")
    table = read(tmp_path / "north.csv", allow_missing=True, categories={"sex": ["f", "m"]})
    np.testing.assert_array_equal(table.X, [[1, 1], [np.nan, 2], [0, 3]])
    with pytest.raises(
        LocalError, match=r"column 'sex' of north.csv has 1 values that nobody declared \(first in row 1\)"
    ):
        read(tmp_path / "north.csv", allow_missing=True, categories={"sex": ["f"]})
    with pytest.raises(
        LocalError,
        match=(
            r"holds text, not numbers \(first in row 1\): encode it as numbers \(raw=True lets a TableVectorizer do it,"
            r" or declare its texts in categories=\), or"
        ),
    ):
        read(tmp_path / "north.csv", allow_missing=True)


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_new_columns_are_where_the_old_ones_were(partition):
    whole = np.arange(40.0).reshape(10, 4)
    fed = Federation.simulate(whole, np.arange(10), parties=["a", "b", "c"], partition=partition, seed=5)
    sources = np.array([3, 0, 0])
    moved = remake_columns(fed, sources, ("d", "a1", "a2"), lambda S, new: S * (new + 1))
    np.testing.assert_array_equal(moved.pooled()[0], whole[:, sources] * [1, 2, 3])
    np.testing.assert_array_equal(moved.pooled()[1], np.arange(10))
    assert not moved.named
    for party, part in moved.parts.items():
        assert part.features == tuple(moved.features[j] for j in moved.columns[party])
