"""FederatedScaler is scikit-learn's scaler of the pooled records but for rounding, whoever holds what.

What it cannot do it refuses.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import SVC

import tacit
from tacit import FederatedScaler, Federation, LocalError

WDBC = load_breast_cancer().data
GAPPY = np.where(np.random.default_rng(0).random(WDBC.shape) < 0.1, np.nan, WDBC)
PARTITIONS = pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])


def federation(X, partition="horizontal", **how):
    return Federation.simulate(X, parties=4, partition=partition, allow_missing=True, seed=3, **how)


@PARTITIONS
def test_standard_is_scikit_learns_but_for_rounding(partition):
    mine, theirs = FederatedScaler().fit(federation(GAPPY, partition)), StandardScaler().fit(GAPPY)
    assert (np.abs(np.log2(mine.scale_ / theirs.scale_)) <= 0.27).all()
    assert (np.abs(mine.mean_ - theirs.mean_) <= mine.scale_ / 16).all()
    np.testing.assert_array_equal(mine.var_, mine.scale_**2)
    check_ways(mine, partition)


@PARTITIONS
def test_minmax_scales_by_outer_quantiles(partition):
    mine = FederatedScaler("minmax").fit(federation(GAPPY, partition))
    low, high = np.nanquantile(GAPPY, [10 / 569, 1 - 10 / 569], axis=0)  # 1 % are fewer than 10 records
    step = np.nanstd(GAPPY, axis=0) / 16
    assert (np.abs(mine.data_min_ - low) <= step).all()
    assert (np.abs(mine.data_max_ - high) <= 4 * step).all()  # where values are rare, the next one is far
    np.testing.assert_allclose(mine.data_range_, mine.data_max_ - mine.data_min_)
    check_ways(mine, partition)


@PARTITIONS
def test_robust_is_scikit_learns_within_the_stated_error(partition):
    mine, theirs = FederatedScaler("robust").fit(federation(GAPPY, partition)), RobustScaler().fit(GAPPY)
    slack = mine.bin_error_ * (1 + 1e-9) + 2e-2 * theirs.scale_  # numpy's quantiles lie between two values
    assert (np.abs(mine.center_ - theirs.center_) <= slack).all()
    assert (np.abs(mine.scale_ - theirs.scale_) <= 2 * slack).all()
    assert (mine.bin_error_ <= np.nanstd(GAPPY, axis=0) / 24).all()
    check_ways(mine, partition)


def check_ways(mine, partition):
    """What is transformed where it is, whole or by scikit-learn, is the same."""
    moved, _, _ = mine.transform(federation(GAPPY, partition)).pooled()
    np.testing.assert_allclose(moved, mine.transform(GAPPY), atol=1e-9)
    np.testing.assert_allclose(mine.inverse_transform(mine.transform(GAPPY)), GAPPY, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mine.to_sklearn().transform(GAPPY), mine.transform(GAPPY), atol=1e-9)


def test_declared_ranges_tell_nothing_of_columns_and_clip():
    ranges = {f"x{j}": (0.0, float(WDBC[:, j].max()) / 2) for j in range(30)}
    fed = federation(WDBC)
    scaler = FederatedScaler("minmax", ranges=ranges).fit(fed)
    assert {row.message for row in scaler.report_.learnt} <= {"Size", "PublicKey"}
    np.testing.assert_array_equal(scaler.data_max_, [high for _, high in ranges.values()])
    assert np.abs(scaler.transform(WDBC)).max() == 1
    assert np.abs(scaler.transform(fed).pooled()[0]).max() == 1
    np.testing.assert_allclose(scaler.to_sklearn().transform(WDBC), scaler.transform(WDBC))


@PARTITIONS
def test_it_does_not_matter_who_holds_what(partition):
    mine, rows = (FederatedScaler("robust").fit(federation(GAPPY, p)) for p in (partition, "horizontal"))
    np.testing.assert_array_equal(mine.center_, rows.center_)
    np.testing.assert_array_equal(mine.scale_, rows.scale_)


def test_the_report_says_what_was_opened():
    text = FederatedScaler().fit(federation(WDBC)).report_.to_text(300)
    assert "of each column a median and a mean, rounded to a sixteenth of its scale" in text
    assert "the coordinator together with any one party" in text


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_a_constant_column_is_left_at_scale_one(method):
    X = np.column_stack([np.full(60, 0.1), np.arange(60.0)])
    moved = FederatedScaler(method).fit(federation(X)).transform(X)
    np.testing.assert_allclose(moved[:, 0], -1.0 if method == "minmax" else 0.0, atol=1e-5)


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_a_site_may_lack_all_values_of_a_column(method):
    X = WDBC[:200, :3].copy()
    parts = np.array_split(X, 4)
    parts[2][:, 1] = np.nan
    fed = Federation.from_parts(parts, partition="horizontal", allow_missing=True)
    moved = FederatedScaler(method).fit(fed).transform(fed)
    assert np.isnan(moved.parts["party-3"].X[:, 1]).all()
    assert not np.isnan(moved.parts["party-2"].X).any()


def test_a_column_of_few_values_stays_as_it_is():
    X = WDBC[:, :3].copy()
    X[9:, 1] = np.nan
    with pytest.warns(UserWarning, match="column 'x1' has too few values over all parties"):
        scaler = FederatedScaler().fit(federation(X))
    assert (scaler.mean_[1], scaler.scale_[1]) == (0.0, 1.0)
    X[:40, 1] = WDBC[:40, 1]
    two = Federation.from_parts([X[:200], X[200:]], partition="horizontal", allow_missing=True, allow_two_parties=True)
    mean = FederatedScaler().fit(two).mean_[1]
    assert abs(mean - X[:40, 1].mean()) < 1


@pytest.mark.parametrize(
    ("scaler", "words"),
    [
        (
            FederatedScaler("max"),
            r"The 'method' parameter of FederatedScaler must be among \{'standard', 'minmax', 'robust'\}\. Got 'max'",
        ),
        (FederatedScaler("minmax", feature_range=(1, -1)), r"The 'feature_range' parameter .* Got \(1, -1\) instead"),
        (FederatedScaler("robust", quantile_range=(75, 125)), r"The 'quantile_range' parameter"),
        (FederatedScaler("robust", quantile_range=(20, 80)), r"two of 1, 5, 10, 25, 50, 75, 90, 95, 99"),
        (FederatedScaler("robust", ranges=(0, 1)), r"FederatedScaler\(method='robust'\) does not use ranges"),
        (FederatedScaler(ranges=(0, 1)), r"FederatedScaler\(method='standard'\) does not use ranges"),
        (
            FederatedScaler("minmax", ranges={"x9": (0, 1)}),
            r"'ranges' parameter of FederatedScaler names a column 'x9' that does not exist",
        ),
        (
            FederatedScaler("minmax", ranges={"x0": (0, 100)}),
            r"needs a range of column 'x1', a smaller and a larger number",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(scaler, words):
    fed = federation(WDBC[:120, :3])
    with pytest.raises(LocalError, match=words) as caught:
        scaler.fit(fed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_who_coordinates_must_hold_no_records(method):
    fed = Federation.simulate(WDBC[:, :3], parties=["a", "b", "c"], coordinator="a")
    with pytest.raises(LocalError, match="party 'a' would coordinate and learn all records"):
        FederatedScaler(method).fit(fed)


def test_another_federation_is_not_transformed():
    scaler = FederatedScaler().fit(federation(WDBC[:, :3]))
    with pytest.raises(LocalError, match="FederatedScaler was fitted on the features x0, x1, x2"):
        scaler.transform(federation(WDBC[:, :4]))


def test_it_works_in_scikit_learns_own_pipeline_and_comes_back_from_a_file(tmp_path):
    y = load_breast_cancer().target
    pipeline = make_pipeline(FederatedScaler("robust"), SVC()).fit(WDBC, y)
    assert pipeline.score(WDBC, y) > 0.95
    scaler = FederatedScaler("minmax", ranges={f"x{j}": [0, 5000] for j in range(30)}).fit(federation(WDBC))
    again = tacit.load(scaler.save(tmp_path / "scaler.tacit"))
    np.testing.assert_array_equal(again.transform(WDBC), scaler.transform(WDBC))
    np.testing.assert_array_equal(again.data_max_, scaler.data_max_)
    assert again.report_.to_dict() == scaler.report_.to_dict()
