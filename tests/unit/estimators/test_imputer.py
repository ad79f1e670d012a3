"""FederatedImputer equals scikit-learn's SimpleImputer of the pooled records, whoever holds what."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit import FederatedImputer, Federation, LocalError, PanSVC

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


@parametrize_with_checks(
    [
        FederatedImputer(),
        FederatedImputer("median", add_indicator=True),
        FederatedImputer("constant", partition="arbitrary"),
        FederatedImputer("most_frequent", partition="vertical"),
    ]
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # checks that are skipped
def test_the_imputer_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


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
    assert (np.abs(mine.statistics_ - theirs.statistics_) <= mine.bin_error_ + 1e-9 * np.abs(theirs.statistics_)).all()
    assert (mine.bin_error_ > 0).any() == (strategy == "median" and partition != "vertical")
    moved, expected = mine.transform(FRAME), theirs.transform(FRAME)
    allowed = np.concatenate([mine.bin_error_, np.zeros(moved.shape[1] - 4)]) + 1e-9 * np.abs(expected)
    assert (np.abs(moved - expected) <= allowed).all()
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
    assert imputer.statistics_[1] == pytest.approx(np.nanmean(X[:, 1]))
    assert abs(imputer.statistics_[0] - np.nanmedian(X[:, 0])) <= imputer.bin_error_[0]
    report = imputer.report_
    assert {o.protocol for o in report.opens} >= {"fill_values", "column_modes", "column_quantiles", "joint_means"}


def test_a_mean_opens_no_variance():
    kinds = {row.message for row in FederatedImputer().fit(federation()).report_.learnt}
    assert "Means" in kinds
    assert "Variances" not in kinds


def test_declared_ranges_of_medians_open_no_mean():
    ranges = {"age": (0, 120), "dose": (0, 1), "grade": (0, 10), "mass": (-1e8, 1e8)}
    imputer = FederatedImputer("median", ranges=ranges, bins=64).fit(federation())
    assert "Means" not in {row.message for row in imputer.report_.learnt}
    assert (np.abs(imputer.statistics_ - np.nanmedian(X, axis=0)) <= imputer.bin_error_).all()


def test_a_site_may_lack_all_values_of_a_column():
    frame = FRAME.copy()
    site = np.repeat(["a", "b", "c"], 80)
    frame.loc[site == "b", "age"] = np.nan
    fed = Federation.simulate(frame, split="column", by=site, allow_missing=True)
    imputer = FederatedImputer().fit(fed)
    assert imputer.statistics_[0] == pytest.approx(frame["age"].mean())
    assert (imputer.transform(fed).parts["b"].X[:, 0] == imputer.statistics_[0]).all()


def test_a_constant_stands_for_a_column_that_nobody_has_but_not_beside_a_few_values():
    """Beside a constant, a few values would be alone in every later sum."""
    frame = FRAME.copy()
    frame["age"] = np.nan
    assert FederatedImputer("constant").fit(federation(frame=frame)).statistics_[0] == 0
    frame.loc[:2, "age"] = 4.0
    with pytest.raises(
        LocalError, match="column 'age' has 3 present values over all parties, fewer than min_count=5: nothing of it is"
    ):
        FederatedImputer("constant").fit(federation(frame=frame))


@pytest.mark.parametrize(
    ("imputer", "words"),
    [
        (FederatedImputer("mode"), r"The 'strategy' parameter of FederatedImputer must be among .* Got 'mode' instead"),
        (FederatedImputer({"age": "mean", "sex": "mean"}),
         r"names a column 'sex' that does not exist \(columns: age, dose, grade, mass\)"),
        (FederatedImputer("most_frequent"),
         r"strategy='most_frequent'\) needs the values that column 'age' may have: declare them"),
        (FederatedImputer({"grade": "most_frequent"}, categories={"grade": [1, 2]}),
         r"party-\d has \d+ values of column 'grade' that nobody declared \(first in row \d+\)"),
        (FederatedImputer("median", ranges={"age": (0, 120)}), r"needs a range of column 'dose' for its median"),
        (FederatedImputer({"age": "median"}, ranges={"age": (0, 50)}),
         r"values of column 'age' outside its declared range \[0, 50\]"),
        (FederatedImputer(min_rows=61), r"party-1 has 60 records, fewer than min_rows=61"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(imputer, words):
    with pytest.raises(LocalError, match=words) as caught:
        imputer.fit(federation())
    assert "\n" not in str(caught.value)


def test_a_column_without_any_value_at_its_owner_is_refused():
    frame = FRAME.assign(age=np.nan)
    with pytest.raises(LocalError, match=r"column 'age' of party-\d has no present value"):
        FederatedImputer().fit(federation("vertical", frame))


def test_estimators_refuse_missing_values_and_name_the_remedy():
    fed = Federation.simulate(FRAME, RNG.integers(0, 2, 240), parties=3, allow_missing=True)
    with pytest.raises(
        LocalError,
        match=r"Input X contains NaN: column '\w+' of party 'party-1' has \d+ missing values: fit a FederatedImpu",
    ):
        PanSVC().fit(fed)
    filled = FederatedImputer().fit(fed).transform(fed)
    scaler = tacit.FederatedScaler().fit(filled)
    model = PanSVC(kernel="linear", tol=0.1).fit(scaler.transform(filled))
    with pytest.raises(LocalError, match="Input X contains NaN"):
        model.predict(fed)


def test_it_comes_back_from_a_file(tmp_path):
    imputer = FederatedImputer({"grade": "most_frequent"}, categories=CATEGORIES, add_indicator=True).fit(federation())
    again = tacit.load(imputer.save(tmp_path / "imputer.tacit"))
    np.testing.assert_array_equal(again.transform(FRAME), imputer.transform(FRAME))
    np.testing.assert_array_equal(again.indicator_.features_, imputer.indicator_.features_)
    assert again.feature_names_in_.tolist() == list(FRAME)
