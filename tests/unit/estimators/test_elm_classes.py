"""SecureELMClassifier: classes that count more than others, and probabilities."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.linear_model import Ridge
from sklearn.metrics import brier_score_loss, recall_score
from sklearn.preprocessing import scale
from sklearn.utils.class_weight import compute_sample_weight

from tacit import Federation, LocalError, SecureELMClassifier, evaluate, load
from tacit.numeric.features.elm import hidden, targets_of
from tacit.request import Records

FLOWERS, KIND = load_iris(return_X_y=True)
FLOWERS = scale(FLOWERS)
NAMES = np.array(["setosa", "versicolor", "virginica"])[KIND]
RARE, SICK = make_classification(600, 6, n_informative=4, weights=[0.9], flip_y=0.05, random_state=1)
CANCER, BENIGN = load_breast_cancer(return_X_y=True)
CANCER = scale(CANCER)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("class_weight", ["balanced", {"virginica": 4.0}, {"setosa": 0.5, "versicolor": 3}])
@pytest.mark.parametrize("kinds", [2, 3])
def test_class_weights_give_the_ridge_regression_of_weighted_records(partition, class_weight, kinds):
    use = 3 - kinds <= KIND
    X, y = FLOWERS[use], NAMES[use]
    if isinstance(class_weight, dict):
        class_weight = {name: weight for name, weight in class_weight.items() if name in y}
    model = SecureELMClassifier(
        n_hidden=20, ridge=0.5, class_weight=class_weight, partition=partition, accept_risk=partition == "vertical"
    ).fit(X, y, compare=True)
    H = hidden(X, *model.layer_weights(), "sigmoid")
    T = targets_of(np.searchsorted(model.classes_, y), kinds)
    central = Ridge(alpha=0.5, fit_intercept=False, solver="cholesky")
    central.fit(H, T, sample_weight=compute_sample_weight(class_weight, y))
    values = central.predict(H).reshape(len(H), -1)
    np.testing.assert_allclose(model.decision_function(X), values.squeeze(), atol=1e-7)
    assert model.report_.comparison["largest difference of predicted values"] < 1e-7


def test_a_rare_class_is_found_more_often_when_it_counts_more():
    plain = SecureELMClassifier(n_hidden=40).fit(RARE, SICK)
    balanced = SecureELMClassifier(n_hidden=40, class_weight="balanced").fit(RARE, SICK)
    assert recall_score(SICK, balanced.predict(RARE)) > recall_score(SICK, plain.predict(RARE)) + 0.1
    assert "The sums of each class at the coordinator" in balanced.report_.to_text(200)
    assert "The sums of each class" not in plain.report_.to_text(200)


def test_new_rows_are_weighted_like_the_old():
    weights, first = {0: 1.0, 1: 5.0}, slice(0, 300)
    same = {"n_hidden": 20, "ridge": 1.0, "class_weight": weights, "random_state": 0}
    whole, steps = SecureELMClassifier(**same).fit(RARE, SICK), SecureELMClassifier(**same)
    steps.partial_fit(RARE[first], SICK[first], classes=[0, 1])
    for kind in (0, 1):  # also rows of one class alone
        use = np.flatnonzero(SICK[300:] == kind) + 300
        steps.partial_fit(RARE[use], SICK[use])
    np.testing.assert_allclose(steps.decision_function(RARE), whole.decision_function(RARE), atol=1e-8)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_probabilities_are_calibrated_on_values_of_models_that_did_not_see_the_record(partition):
    columns = {"partition": "vertical", "accept_risk": True} if partition == "vertical" else {}
    model = SecureELMClassifier(n_hidden=30, probability=True, **columns).fit(CANCER[::2], BENIGN[::2])
    chance = model.predict_proba(CANCER[1::2])
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert brier_score_loss(BENIGN[1::2], chance[:, 1]) < 0.06
    np.testing.assert_allclose(model.predict_log_proba(CANCER[1::2]), np.log(chance))
    assert ("The sums of each fold" in model.report_.to_text(200)) == (partition == "horizontal")


def test_probabilities_of_three_classes_come_back_from_every_file(tmp_path):
    fed = Federation.simulate(FLOWERS, NAMES, parties=3)
    model = SecureELMClassifier(probability=True, n_hidden=8).fit(fed)
    chance = model.predict_proba(FLOWERS)
    assert chance.shape == (150, 3)
    assert np.mean(model.classes_[chance.argmax(axis=1)] == NAMES) > 0.75
    again = load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.predict_proba(FLOWERS), chance)
    session = onnxruntime.InferenceSession(model.export(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["probabilities"], {"X": FLOWERS})[0], chance, atol=1e-9)
    np.testing.assert_array_equal(model.predict_proba(fed), chance)
    assert evaluate(model, fed).brier_score is not None


def test_without_probability_there_is_no_predict_proba():
    assert not hasattr(SecureELMClassifier(), "predict_proba")
    assert hasattr(SecureELMClassifier(probability=True), "predict_proba")


def test_what_could_be_taken_apart_into_too_few_rows_is_refused_and_the_remedy_works():
    rare = int(SICK.sum())
    with pytest.raises(LocalError, match=rf"n_hidden=100 nodes are more than the {rare} rows of the smallest class"):
        SecureELMClassifier(n_hidden=100, class_weight="balanced").fit(RARE, SICK)
    SecureELMClassifier(n_hidden=rare, class_weight="balanced").fit(RARE, SICK)
    with pytest.raises(LocalError, match=r"probability=True opens sums of each of two folds .* the 400 nodes: bring"):
        SecureELMClassifier(n_hidden=400, probability=True).fit(RARE, SICK)
    SecureELMClassifier(n_hidden=100, probability=True).fit(RARE, SICK)
    few = np.r_[np.flatnonzero(SICK == 0)[:100], np.flatnonzero(SICK == 1)[:8]]
    with pytest.raises(LocalError, match="fewer than min_rows=5 records of a class"):
        SecureELMClassifier(probability=True).fit(RARE[few], SICK[few])
    with pytest.raises(LocalError, match="class_weight leaves too few classes that count"):
        SecureELMClassifier(class_weight={1: 0.0}).fit(RARE, SICK)


def test_without_a_number_of_nodes_there_are_half_as_many_as_rows_in_the_smallest_sum():
    rare = int(SICK.sum())
    assert SecureELMClassifier().fit(RARE, SICK).n_hidden_ == 200
    assert SecureELMClassifier(class_weight="balanced").fit(RARE, SICK).n_hidden_ == rare // 2
    folded = SecureELMClassifier(probability=True).fit(RARE, SICK).n_hidden_
    assert 50 < folded <= 60  # five folds of 600 rows between three parties


def test_parts_of_a_fit_that_need_all_rows_are_refused_in_steps():
    with pytest.raises(LocalError, match="probability=True needs all rows at once: fit again, or leave that out"):
        SecureELMClassifier(probability=True).partial_fit(RARE, SICK)
    with pytest.raises(LocalError, match="class_weight 'balanced' is not supported for partial_fit"):
        SecureELMClassifier(class_weight="balanced").partial_fit(RARE, SICK)


def test_a_regression_has_neither():
    fed = Federation.simulate(RARE, RARE[:, 0], parties=3)
    asked = {"classify": False, "activation": "tanh", "n_hidden": 20, "scale": 1.0, "ridge": 1.0, "min_rows": 5}
    for more in ({"probability": True}, {"class_weight": "balanced"}):
        with pytest.raises(LocalError, match="are of classes, and these targets are numbers: leave them out"):
            fed.run("elm_horizontal", {"data": Records()}, **asked, **more)
    fed.run("elm_horizontal", {"data": Records()}, **asked)
