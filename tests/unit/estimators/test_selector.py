"""FederatedSelector keeps the columns that matter, and reveals nothing but which these are."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE
from sklearn.linear_model import Ridge

import tacit
from tacit.errors import LocalError
from tacit.protocols.learners.selection import WIDEST

SPLITS = ("horizontal", "vertical", "arbitrary")


def make_table(columns: int = 16, rows: int = 300):
    return make_classification(
        rows, columns, n_informative=3, n_redundant=0, n_clusters_per_class=1, class_sep=1.5, random_state=1
    )


def select(X, y, **params):
    return tacit.FederatedSelector(**{"random_state": 0, "verbose": False, **params}).fit(X, y)


@pytest.mark.parametrize("split", SPLITS)
def test_it_keeps_what_scikit_learn_keeps_of_the_pooled_records(split):
    X, y = make_table()
    made = select(X, y, n_features_to_select=3, partition=split)
    pooled = RFE(Ridge(alpha=0.1), n_features_to_select=3, step=0.5).fit((X - X.mean(0)) / X.std(0), 2.0 * y - 1)
    assert made.support_.tolist() == pooled.support_.tolist()
    assert made.transform(X).tolist() == X[:, pooled.support_].tolist()
    assert made.ranking_[made.support_].tolist() == [1, 1, 1]
    assert made.get_support(indices=True).tolist() == np.flatnonzero(pooled.support_).tolist()


def test_by_itself_it_finds_how_many_columns_matter():
    X, y = make_table()
    made = select(X, y)
    strongest = select(X, y, n_features_to_select=2).support_
    assert made.n_features_ in {1, 2, 4, 8, 16}
    assert made.n_features_ < 16
    assert made.support_[strongest].all() or made.n_features_ == 1


def test_numbers_and_several_classes_select_too():
    X = np.random.default_rng(0).normal(size=(300, 8))
    y = 3.0 * X[:, 1] - 2.0 * X[:, 6] + 0.3 * X[:, 4]
    made = select(X, y, estimator=tacit.SVR(), n_features_to_select=2)
    assert np.flatnonzero(made.support_).tolist() == [1, 6]
    X, y = make_classification(
        400, 10, n_informative=3, n_redundant=0, n_classes=6, n_clusters_per_class=1, random_state=0, shuffle=False
    )
    assert set(np.flatnonzero(select(X, y, n_features_to_select=3).support_)) == {0, 1, 2}


def test_of_very_many_columns_those_are_weighed_that_go_along_with_the_targets():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2 * WIDEST + 3))
    X[:, [5, 400]] += 3.0 * (2.0 * y - 1)[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    made = select(X, y, n_features_to_select=2)
    assert np.flatnonzero(made.support_).tolist() == [5, 400]
    assert (made.model_.rounds == 0).sum() == X.shape[1] - WIDEST
    with pytest.raises(LocalError, match="down to 256, or select over rows"):
        select(X, y, partition="vertical")


def test_names_go_along_through_a_pipeline_a_file_and_exports(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = make_table()
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = pandas.DataFrame(X * np.arange(1, 17), columns=names)
    fed = tacit.simulate(frame, y, parties=3, seed=0)
    steps = [
        ("scale", tacit.FederatedScaler()),
        ("select", tacit.FederatedSelector(n_features_to_select=3, random_state=0)),
        ("svm", tacit.SVC(features=20, random_state=0)),
    ]
    model = tacit.Pipeline(steps).fit(fed)
    kept = list(model.named_steps["select"].get_feature_names_out(names))
    assert len(kept) == 3
    assert model.named_steps["svm"].n_features_in_ == 3
    said = model.predict(frame)
    assert (said == y).mean() > 0.8
    model.save(tmp_path / "m.tacit")
    np.testing.assert_array_equal(tacit.load(tmp_path / "m.tacit").predict(frame), said)
    np.testing.assert_array_equal(model.to_sklearn().predict(frame), said)


def test_what_does_not_go_is_refused_in_one_line():
    X, y = make_table(4, 40)
    with pytest.raises(LocalError, match=r"'estimator' parameter .* must be an SVC or an SVR"):
        select(X, y, estimator=Ridge())
    with pytest.raises(LocalError, match="n_features_to_select"):
        select(X, y, n_features_to_select=0)
    assert select(X, y, n_features_to_select=9).n_features_ == 4


def test_a_table_of_more_columns_than_landmarks_is_warned_of_and_selecting_is_the_remedy():
    X, y = make_table(80, 40)
    model = tacit.SVC(random_state=0, verbose=False).fit(X, y)
    assert any("80 columns are more than 40 landmarks can stand for" in said for said in model.report_.warnings)
    made = select(X, y, n_features_to_select=8)
    model = tacit.SVC(random_state=0, verbose=False).fit(made.transform(X), y)
    assert not any("landmarks can stand for" in said for said in model.report_.warnings)
