"""FederatedImputer is scikit-learn's SimpleImputer of the pooled records but for rounding, whoever holds what."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer

import tacit
from tacit import SVC, FederatedImputer, Federation, LocalError

RNG = np.random.default_rng(7)
X = np.column_stack(
    [RNG.normal(50, 9, 240).round(), RNG.gamma(2, 5e-5, 240), RNG.choice([1, 2, 5], 240), RNG.normal(-2e6, 3e6, 240)]
)
X[RNG.random(X.shape) < 0.2] = np.nan
X[:, 1] = np.where(np.isnan(X[:, 1]), 1e-4, X[:, 1])
FRAME = pd.DataFrame(X, columns=["age", "dose", "grade", "mass"])
CATEGORIES = {"grade": [1, 2, 5, 7]}
PARTITIONS = pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])


def federation(partition="horizontal", frame=FRAME):
    return Federation.simulate(frame, parties=4, partition=partition, allow_missing=True, seed=1)


@PARTITIONS
@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_it_equals_scikit_learns_imputer_of_the_pooled_records(partition, strategy, add_indicator):
    categories = {name: np.unique(FRAME[name].dropna()) for name in FRAME}
    mine = FederatedImputer(strategy, fill_value=-1.0, add_indicator=add_indicator, categories=categories).fit(
        federation(partition)
    )
    theirs = SimpleImputer(
        strategy=strategy, fill_value=-1.0 if strategy == "constant" else None, add_indicator=add_indicator
    ).fit(FRAME)
    rounded = np.nanstd(X, axis=0) / 16 if strategy in ("mean", "median") else np.zeros(4)
    assert (np.abs(mine.statistics_ - theirs.statistics_) <= rounded).all()
    assert (mine.bin_error_ > 0).any() == (strategy == "median")
    moved, expected = mine.transform(FRAME), theirs.transform(FRAME)
    assert (np.abs(moved - expected) <= np.concatenate([rounded, np.zeros(moved.shape[1] - 4)])).all()
    pooled, _, _ = mine.transform(federation(partition)).pooled()
    np.testing.assert_array_equal(pooled, moved)
    np.testing.assert_array_equal(mine.to_sklearn().transform(FRAME), moved)
    assert mine.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if add_indicator:
        np.testing.assert_array_equal(mine.indicator_.features_, theirs.indicator_.features_)
    else:
        assert mine.indicator_ is None


def test_every_column_can_have_its_own_strategy():
    asked = {"age": "median", "grade": "most_frequent", "mass": "constant"}
    imputer = FederatedImputer(asked, categories=CATEGORIES, fill_value={"mass": 3.0}).fit(federation())
    assert imputer.statistics_[3] == 3.0
    assert imputer.statistics_[2] == SimpleImputer(strategy="most_frequent").fit(FRAME).statistics_[2]
    assert abs(imputer.statistics_[1] - np.nanmean(X[:, 1])) <= X[:, 1].std() / 16
    assert abs(imputer.statistics_[0] - np.nanmedian(X[:, 0])) <= imputer.bin_error_[0]


def test_a_site_may_lack_all_values_of_a_column():
    frame = FRAME.copy()
    site = np.repeat(["a", "b", "c"], 80)
    frame.loc[site == "b", "age"] = np.nan
    fed = Federation.simulate(frame, split="column", by=site, allow_missing=True)
    imputer = FederatedImputer().fit(fed)
    assert abs(imputer.statistics_[0] - frame["age"].mean()) <= frame["age"].std() / 16
    assert (imputer.transform(fed).parts["b"].X[:, 0] == imputer.statistics_[0]).all()


@PARTITIONS
def test_a_column_that_nobody_has_is_filled_with_nothing_found(partition):
    frame = FRAME.assign(age=np.nan)
    frame.loc[:2, "age"] = 4.0
    assert FederatedImputer("constant", fill_value=-1.0).fit(federation(partition, frame)).statistics_[0] == -1.0
    with pytest.warns(UserWarning, match="column 'age' has too few values over all parties"):
        imputer = FederatedImputer().fit(federation(partition, frame))
    assert imputer.statistics_[0] == 0.0


def test_values_that_nobody_declared_are_not_counted_and_stop_nothing():
    imputer = FederatedImputer({"grade": "most_frequent"}, categories={"grade": [1, 9]}).fit(federation())
    assert imputer.statistics_[2] == 1.0


@pytest.mark.parametrize(
    ("imputer", "words"),
    [
        (FederatedImputer("mode"), r"The 'strategy' parameter of FederatedImputer must be among .* Got 'mode' instead"),
        (FederatedImputer({"age": "mean", "sex": "mean"}),
         r"names a column 'sex' that does not exist \(columns: age, dose, grade, mass\)"),
        (FederatedImputer("most_frequent"),
         r"strategy='most_frequent'\) needs the values that column 'age' may have: declare them"),
        (FederatedImputer("median", ranges={"age": (0, 120)}), r"uses ranges with epsilon only: leave them out"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(imputer, words):
    with pytest.raises(LocalError, match=words) as caught:
        imputer.fit(federation())
    assert "\n" not in str(caught.value)


def test_estimators_refuse_missing_values_and_name_the_remedy():
    fed = Federation.simulate(FRAME, RNG.integers(0, 2, 240), parties=3, allow_missing=True)
    with pytest.raises(
        LocalError,
        match=r"Input X contains NaN: column '\w+' of party 'party-1' has \d+ missing values: fit a FederatedImpu",
    ):
        SVC().fit(fed)
    filled = FederatedImputer().fit(fed).transform(fed)
    scaler = tacit.FederatedScaler().fit(filled)
    model = SVC(kernel="linear").fit(scaler.transform(filled))
    with pytest.raises(LocalError, match="Input X contains NaN"):
        model.predict(fed)


def test_it_comes_back_from_a_file(tmp_path):
    imputer = FederatedImputer({"grade": "most_frequent"}, categories=CATEGORIES, add_indicator=True).fit(federation())
    again = tacit.load(imputer.save(tmp_path / "imputer.tacit"))
    np.testing.assert_array_equal(again.transform(FRAME), imputer.transform(FRAME))
    np.testing.assert_array_equal(again.indicator_.features_, imputer.indicator_.features_)
    assert again.feature_names_in_.tolist() == list(FRAME)
