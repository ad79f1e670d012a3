"""`tacit.inspect`: which columns matter, where the boundary lies, whether more records would help."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.inspection import permutation_importance as sklearn_importance

import tacit
from tacit import LocalError
from tacit.inspect.importance import shuffle

NAMES = ["signal", "half", "noise"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    frame = pd.DataFrame(X * [10.0, 1.0, 5.0] + [100.0, 0.0, -3.0], columns=NAMES)
    return frame, (X[:, 0] + 0.4 * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def fitted(table):
    learn, judge = tacit.train_test_split(tacit.simulate(*table, parties=3), random_state=0)
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(kernel="linear", random_state=0))])
    return model.fit(learn), judge


def test_importances_are_about_those_of_scikit_learn_on_the_pooled_records(fitted, tmp_path):
    model, judge = fitted
    found = tacit.inspect.permutation_importance(model, judge, n_repeats=5, random_state=0)
    X, y, _ = judge.pooled()
    whole = pd.DataFrame(X, columns=NAMES)
    expected = sklearn_importance(model.to_sklearn(), whole, y, n_repeats=5, random_state=0).importances_mean
    np.testing.assert_allclose(found.importances_mean, expected, atol=0.05)
    assert found.features == tuple(NAMES)
    assert found.importances.shape == (3, 5)
    assert found.score == pytest.approx(model.score(whole, y))
    assert list(np.argsort(-found.importances_mean)) == [0, 1, 2]
    assert "signal" in found.save(tmp_path / "bars.svg").read_text()
    assert repr(found).startswith("<Importances: accuracy 0.9")


@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_every_party_shuffles_its_own_cells_among_its_own_records(table, partition):
    fed = tacit.simulate(*table, parties=3, partition=partition)
    other = shuffle(fed, 1, seed=0, repeat=0)
    for party, part in fed.parts.items():
        after = other.parts[party]
        np.testing.assert_array_equal(np.sort(after.X, axis=0), np.sort(part.X, axis=0))
        moved = (after.X != part.X).any(axis=0)
        assert moved.tolist() == [j == 1 for j in fed.columns[party]]
        if part.owned is not None:
            assert not after.X[~part.owned].any()


def test_a_decision_plot_needs_nothing_but_a_public_model(fitted, tmp_path):
    model, _ = fitted
    plane = tacit.inspect.decision_plot(model, ("signal", "half"), points=20)
    values, kept = plane.values, plane.at  # noqa: PD011 - no frame
    assert values.shape == (20, 20)
    assert kept == {"noise": pytest.approx(model[0].mean_[2])}
    assert plane.x[0] == pytest.approx(model[0].mean_[0] - 2 * model[0].scale_[0])
    point = pd.DataFrame([[plane.x[4], plane.y[7], kept["noise"]]], columns=NAMES)
    assert values[7, 4] == pytest.approx(model.decision_function(point)[0])
    assert "<svg" in plane.save(tmp_path / "plane.svg").read_text()
    assert plane._repr_svg_() == plane.to_svg()


def test_a_decision_plot_of_three_classes_shows_which_is_chosen():
    X, y = load_iris(return_X_y=True)
    model = tacit.ELMClassifier(n_hidden=12, random_state=0).fit(tacit.simulate(X, y, parties=3))
    at, ranges = {"x0": 5.8, "x1": 3.0}, {"x2": (1.0, 7.0), "x3": (0.0, 2.5)}
    plot = tacit.inspect.decision_plot(model, (2, 3), at=at, ranges=ranges, points=15)
    assert set(np.unique(plot.values)) <= {0.0, 1.0, 2.0}
    assert len(np.unique(plot.values)) > 1
    assert "<svg" in plot.to_svg()


def test_a_decision_plot_of_a_model_that_is_not_public_is_refused(table):
    model = tacit.SVC(features="exact", loss="hinge").fit(
        tacit.simulate(table[0] / table[0].std(), table[1], parties=3)[:90]
    )
    with pytest.raises(LocalError, match="needs a model that is public, and this SVC is not"):
        tacit.inspect.decision_plot(model, ("signal", "half"))


def test_a_learning_curve_rises_with_the_records_and_has_one_report(table, tmp_path):
    frame, y = table
    fed = tacit.simulate((frame - frame.mean()) / frame.std(), y, parties=3)
    curve = tacit.inspect.learning_curve(tacit.SVC(kernel="linear"), fed, train_sizes=(0.1, 0.5, 1.0), random_state=0)
    assert curve.sizes[-1] == pytest.approx(675, abs=3)
    assert np.all(np.diff(curve.sizes) > 0)
    assert curve.scores_mean[-1] > 0.93
    assert sum(opened.protocol == "train_svm" for opened in curve.report.opens) >= 1
    assert "<svg" in curve.save(tmp_path / "curve.svg").read_text()
    with pytest.raises(LocalError, match="The 'train_sizes' parameter of learning_curve must be rising numbers"):
        tacit.inspect.learning_curve(tacit.SVC(), fed, train_sizes=(0.5, 0.2))
