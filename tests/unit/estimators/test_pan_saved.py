"""Model files of PanSVC: the same answers, and no record inside."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import tacit
from tacit import GramSVC, LocalError, PanSVC

EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own
SETTINGS = [
    {"landmark_source": "fourier", "landmarks": 30},
    {"landmark_source": "local", "landmarks": 12},
    {"landmark_source": "local", "landmarks": 12, "kernel": "poly", "degree": 2, "coef0": 1.0, "multi_class": "ovo"},
    {"kernel": "linear", "class_weight": {"setosa": 2.0}},
]


@pytest.fixture(scope="module")
def iris():
    found = load_iris()
    return found.data, found.target_names[found.target]


@pytest.mark.parametrize(
    "settings", SETTINGS, ids=lambda s: f"{s.get('kernel', 'rbf')}-{s.get('landmark_source', 'local')}"
)
def test_a_pan_model_comes_back_as_it_was(settings, iris, tmp_path):
    X, y = iris
    model = PanSVC(**EXACT, **settings).fit(X[::2], y[::2])
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    assert isinstance(again, PanSVC)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.n_iter_ == model.n_iter_
    assert again.n_features_in_ == model.n_features_in_
    assert again.classes_.dtype == model.classes_.dtype
    assert again.report_.to_dict() == model.report_.to_dict()
    np.testing.assert_array_equal(again.to_sklearn().predict(X), model.predict(X))


def test_two_classes_and_names_of_columns_come_back(iris, tmp_path):
    X, y = iris
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    model = PanSVC(landmark_source="fourier", landmarks=30, **EXACT).fit(frame, y == "setosa")
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    np.testing.assert_array_equal(again.feature_names_in_, model.feature_names_in_)
    assert again.classes_.tolist() == [False, True]


def test_the_seed_stays_in_the_map_and_random_state_at_home(iris, tmp_path):
    X, y = iris
    model = PanSVC(landmark_source="fourier", landmarks=30, random_state=np.random.RandomState(5), **EXACT).fit(X, y)
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.random_state is None


def test_the_header_says_that_there_are_no_records_inside(iris, tmp_path):
    X, y = iris
    model = PanSVC(landmark_source="fourier", landmarks=30, **EXACT).fit(X, y)
    _, line, _ = model.save(tmp_path / "model.tacit").read_bytes().split(b"\n", 2)
    header = json.loads(line)
    assert header["estimator"] == "PanSVC"
    assert header["contains_records_of"] == {}
    assert header["classes"] == ["setosa", "versicolor", "virginica"]


def test_a_class_that_no_version_knows_is_not_written(iris, tmp_path):
    class Mine(GramSVC):
        pass

    X, y = iris
    model = Mine().fit(X[::5], y[::5])
    with pytest.raises(LocalError, match="a Mine has no model file: use one of ConsensusSVC, FederatedEncoder"):
        model.save(tmp_path / "model.tacit")
    assert list(tmp_path.iterdir()) == []
