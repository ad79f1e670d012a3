"""FederatedScaler equals scikit-learn's scalers of the pooled records, whoever holds what.

What it cannot do it refuses.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit
from tacit import FederatedScaler, Federation, LocalError

WDBC = load_breast_cancer().data
GAPPY = np.where(np.random.default_rng(0).random(WDBC.shape) < 0.1, np.nan, WDBC)
PARTITIONS = pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])


def federation(X, partition="horizontal", **how):
    return Federation.simulate(X, parties=4, partition=partition, allow_missing=True, seed=3, **how)


@parametrize_with_checks(
    [
        FederatedScaler(),
        FederatedScaler("minmax", secure_sum="ring", accept_risk=True),
        FederatedScaler("robust"),
        FederatedScaler(partition="vertical"),
        FederatedScaler("minmax", partition="arbitrary", ranges=(-1e4, 1e4)),
    ]
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # checks that are skipped
def test_the_scaler_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@PARTITIONS
@pytest.mark.parametrize(("method", "theirs"), [("standard", StandardScaler()), ("minmax", MinMaxScaler((-1, 1)))])
def test_it_equals_scikit_learns_scaler_of_the_pooled_records(method, theirs, partition):
    fed = federation(GAPPY, partition)
    mine, theirs = FederatedScaler(method, accept_risk=method == "minmax").fit(fed), clone(theirs).fit(GAPPY)
    for name in ("mean_", "var_", "scale_", "data_min_", "data_max_", "data_range_", "min_", "n_samples_seen_"):
        assert hasattr(mine, name) == (name in vars(theirs)), name
        if hasattr(mine, name) and name != "n_samples_seen_":
            np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-10)
    np.testing.assert_allclose(mine.transform(GAPPY), theirs.transform(GAPPY), atol=1e-9)
    moved, _, _ = mine.transform(fed).pooled()
    np.testing.assert_allclose(moved, theirs.transform(GAPPY), atol=1e-9)
    np.testing.assert_allclose(mine.inverse_transform(mine.transform(GAPPY)), GAPPY, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(mine.to_sklearn().transform(GAPPY), mine.transform(GAPPY), atol=1e-9)


@PARTITIONS
@pytest.mark.parametrize("bins", [8, 64])
def test_robust_is_scikit_learns_within_the_stated_error(partition, bins):
    mine, theirs = FederatedScaler("robust", bins=bins).fit(federation(GAPPY, partition)), RobustScaler().fit(GAPPY)
    slack = mine.bin_error_ * (1 + 1e-9) + 1e-12
    assert (np.abs(mine.center_ - theirs.center_) <= slack).all()
    assert (np.abs(mine.scale_ - theirs.scale_) <= 2 * slack).all()
    assert (mine.bin_error_ == 0).all() == (partition == "vertical")
    assert (mine.bin_error_ <= np.nanstd(GAPPY, axis=0) * 2 / bins).all()


def test_declared_ranges_open_nothing_and_send_nothing():
    ranges = {f"x{j}": (0.0, float(WDBC[:, j].max()) * 2) for j in range(30)}
    scaler = FederatedScaler("minmax", ranges=ranges).fit(federation(WDBC))
    assert scaler.report_.rounds == scaler.report_.bytes == 0
    assert "nothing is sent" in scaler.report_.protection
    np.testing.assert_array_equal(scaler.data_max_, [high for _, high in ranges.values()])
    assert np.abs(scaler.transform(WDBC)).max() <= 1


def test_over_columns_nothing_is_sent():
    assert FederatedScaler().fit(federation(GAPPY, "vertical")).report_.bytes == 0


def test_the_report_says_what_was_opened():
    text = FederatedScaler("minmax", accept_risk=True).fit(federation(WDBC)).report_.to_text(300)
    assert "the smallest and the largest value of each column that has min_count values" in text
    assert "All but a few" not in text
    assert "A column in which all but a few records have the same value" in text


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_a_constant_column_is_left_at_scale_one(method):
    X = np.column_stack([np.full(60, 0.1), np.arange(60.0)])
    moved = FederatedScaler(method, accept_risk=method == "minmax").fit(federation(X)).transform(X)
    np.testing.assert_allclose(
        moved[:, 0], -1.0 if method == "minmax" else 0.0, atol=1e-2 if method == "robust" else 1e-12
    )


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_a_site_may_lack_all_values_of_a_column(method):
    X = WDBC[:200, :3].copy()
    parts = np.array_split(X, 4)
    parts[2][:, 1] = np.nan
    fed = Federation.from_parts(parts, partition="horizontal", allow_missing=True)
    moved = FederatedScaler(method, accept_risk=method == "minmax").fit(fed).transform(fed)
    assert np.isnan(moved.parts["party-3"].X[:, 1]).all()
    assert not np.isnan(moved.parts["party-2"].X).any()


@pytest.mark.parametrize("factor", [10.0, 0.1, 1000.0])
@pytest.mark.parametrize("method", ["standard", "robust"])
def test_another_unit_at_a_site_is_warned_about_with_site_and_column(method, factor):
    parts = [rows.copy() for rows in np.array_split(WDBC[:, :5], 4)]
    parts[1][:, 3] *= factor
    fed = Federation.from_parts(
        [pd.DataFrame(p, columns=list("abcde")) for p in parts], partition="horizontal", names=["n", "s", "e", "w"]
    )
    with pytest.warns(
        UserWarning, match="party 's': column 'd' is about .* times as large as at the other parties"
    ) as caught:
        scaler = FederatedScaler(method).fit(fed)
    assert scaler.report_.warnings == [str(w.message) for w in caught]
    assert len(caught) == 1


def test_another_unit_is_warned_about_by_extremes_too():
    parts = [rows.copy() for rows in np.array_split(WDBC[:, :5], 4)]
    parts[1][:, 3] /= 100
    fed = Federation.from_parts(parts, partition="horizontal", names=["n", "s", "e", "w"])
    with pytest.warns(
        UserWarning, match=r"party 's': column 'x3' reaches only 0\.0\d+ of the largest value of all parties"
    ):
        FederatedScaler("minmax", accept_risk=True).fit(fed)


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_extremes_are_values_of_records_and_need_a_word(partition):
    fed = federation(WDBC[:, :3], partition)
    words = (
        r"FederatedScaler\(method='minmax'\) without ranges opens the smallest and the largest value of every column,"
        r" .* accept_risk=True"
    )
    with pytest.raises(LocalError, match=words) as caught:
        FederatedScaler("minmax").fit(fed)
    assert "\n" not in str(caught.value)
    for remedy in (
        FederatedScaler("minmax", ranges=(0, 5000)),
        FederatedScaler(),
        FederatedScaler("minmax", accept_risk=True),
    ):
        remedy.fit(fed)
    FederatedScaler("minmax").fit(federation(WDBC[:, :3], "vertical"))


def test_sites_that_differ_in_how_rare_something_is_are_not_warned_about():
    rng = np.random.default_rng(2)
    parts = [(rng.random((200, 1)) < p).astype(float) for p in (0.5, 0.4, 0.02)]
    FederatedScaler().fit(Federation.from_parts(parts, partition="horizontal"))


@pytest.mark.parametrize(
    ("scaler", "words"),
    [
        (
            FederatedScaler("max"),
            r"The 'method' parameter of FederatedScaler must be among \{'standard', 'minmax', 'robust'\}\. Got 'max'",
        ),
        (FederatedScaler("minmax", feature_range=(1, -1)), r"The 'feature_range' parameter .* Got \(1, -1\) instead"),
        (FederatedScaler("robust", quantile_range=(75, 125)), r"The 'quantile_range' parameter"),
        (FederatedScaler(ranges=(0, 1)), r"FederatedScaler\(method='standard'\) does not use ranges"),
        (
            FederatedScaler("minmax", ranges={"x9": (0, 1)}),
            r"'ranges' parameter of FederatedScaler names a column 'x9' that does not exist",
        ),
        (
            FederatedScaler("minmax", ranges={"x0": (0, 100)}),
            r"needs a range of column 'x1', a smaller and a larger number",
        ),
        (
            FederatedScaler("minmax", ranges=(0, 10)),
            r"party-\d has \d+ values of column 'x0' outside its declared range \[0, 10\] \(first in",
        ),
        (FederatedScaler("robust", ranges=(0, 10)), r"outside its declared range"),
        (FederatedScaler(min_rows=40), r"party-\d has 30 records, fewer than min_rows=40"),
        (
            FederatedScaler(min_count=500),
            r"column 'x0' has 120 present values over all parties, fewer than min_count=500",
        ),
        (FederatedScaler(min_count=0), r"The 'min_count' parameter"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(scaler, words):
    fed = federation(WDBC[:120, :3])
    with pytest.raises(LocalError, match=words) as caught:
        scaler.fit(fed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["standard", "minmax", "robust"])
def test_a_party_that_coordinates_needs_a_word(method):
    fed = Federation.simulate(WDBC[:, :3], parties=["a", "b", "c"], coordinator="a")
    with pytest.raises(
        LocalError, match="party 'a' would coordinate and learn sums, from which it can subtract its own values"
    ):
        FederatedScaler(method).fit(fed)
    FederatedScaler(method, accept_risk=True).fit(fed)
    FederatedScaler("minmax", ranges=(0, 5000)).fit(fed)


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
