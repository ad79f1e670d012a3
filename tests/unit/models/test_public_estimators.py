"""Every public model: the attributes that people look for, and files for programs that do not know tacit."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC

import tacit
from tacit import (
    ConsensusSVC,
    FederatedGridSearch,
    FederatedScaler,
    Federation,
    GramSVC,
    LocalError,
    PanSVC,
    Pipeline,
    SecureELMClassifier,
    SecureELMRegressor,
    VotedWrapperSelector,
)
from tacit.models import elm_steps, onnx_graph
from tacit.models.elm import ElmModel
from tacit.models.export import export, to_sklearn
from tacit.numeric.features.elm import ACTIVATIONS
from tacit.protocols.elm.shape import Layer

RAW, KIND = load_iris(return_X_y=True)
FLOWERS = scale(RAW)
NAMES = np.array(["setosa", "versicolor", "virginica"])[KIND]
EXACT = {"min_count": 1, "accept_risk": True}


def asked(path, X, *outputs):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(list(outputs), {"X": X})


def loaded(path):
    return skops.io.load(path, trusted=[])  # scikit-learn's own classes need nobody's trust


def check_classifier(fitted, X, folder):
    """Files of a fitted classifier, or of a search or pipeline, say what it says."""
    labels, scores = fitted.predict(X), fitted.decision_function(X)
    assert len(set(labels)) > 1
    told = asked(fitted.export(folder / "model.onnx"), X, "label", "scores")
    np.testing.assert_array_equal(told[0], labels)
    np.testing.assert_allclose(told[1], scores, rtol=0, atol=1e-9)
    for made in (fitted.to_sklearn(), loaded(fitted.export(folder / "model.skops"))):
        np.testing.assert_array_equal(made.predict(X), labels)
        np.testing.assert_allclose(made.decision_function(X), scores, rtol=0, atol=1e-9)
    again = tacit.load(fitted.save(folder / "model.tacit"))
    np.testing.assert_array_equal(again.decision_function(X), scores)


@pytest.mark.parametrize("kinds", [2, 3])
def test_a_linear_consensus_has_coefficients_and_files(kinds, tmp_path):
    use = kinds > KIND
    fitted = ConsensusSVC(tol=0.05, C=1.0).fit(FLOWERS[use], NAMES[use])
    check_classifier(fitted, FLOWERS[use], tmp_path)
    values = FLOWERS[use] @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(values.squeeze(), fitted.decision_function(FLOWERS[use]), atol=1e-12)
    assert fitted.coef_.shape == LinearSVC().fit(FLOWERS[use], NAMES[use]).coef_.shape


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kinds", [2, 3])
def test_an_extreme_learning_machine_has_files(activation, kinds, tmp_path):
    use = kinds > KIND
    fitted = SecureELMClassifier(n_hidden=12, activation=activation).fit(FLOWERS[use], NAMES[use])
    check_classifier(fitted, FLOWERS[use], tmp_path)
    assert not hasattr(fitted, "coef_")  # it is linear in no column


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_regression_exports_its_value(activation, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X = X * 20
    fitted = SecureELMRegressor(n_hidden=15, activation=activation, random_state=3).fit(X, y)
    values = fitted.predict(X)
    (told,) = asked(fitted.export(tmp_path / "model.onnx"), X, "value")
    np.testing.assert_allclose(told, values, rtol=0, atol=1e-7)
    for made in (fitted.to_sklearn(), loaded(fitted.export(tmp_path / "model.skops"))):
        np.testing.assert_allclose(made.predict(X), values, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(tacit.load(fitted.save(tmp_path / "model.tacit")).predict(X), values)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_node_that_is_reached_by_exactly_nothing_is_on_in_every_form(activation, tmp_path):
    layer = Layer(activation, 2, 3, 1.0, 7)
    model = ElmModel(layer, np.array([[1.0], [2.0], [-4.0]]), 0.5, 3, ())
    fed = np.array([[0.0, 0.0], [1.0, -1.0]])

    def nowhere(_layer):
        return np.zeros((2, 3)), np.zeros(3)

    with pytest.MonkeyPatch.context() as patch:
        for module in (elm_steps, onnx_graph):
            patch.setattr(module, "layer_weights", nowhere)
        patch.setattr("tacit.models.elm.layer_weights", nowhere)
        values = model.decide(fed)[:, 0]
        np.testing.assert_allclose(to_sklearn(model, None, 2).predict(fed), values, atol=1e-12)
        (told,) = asked(export(model, None, 2, tmp_path / "model.onnx"), fed, "value")
    np.testing.assert_allclose(told, values, atol=1e-12)


def test_a_class_that_was_not_learnt_is_chosen_in_no_form(tmp_path):
    fitted = SecureELMClassifier(n_hidden=12).fit(FLOWERS, NAMES)
    model = dataclasses.replace(fitted.model_, absent=(1,))
    values = model.decide(FLOWERS)
    label, scores = asked(export(model, fitted.classes_, 4, tmp_path / "m.onnx"), FLOWERS, "label", "scores")
    np.testing.assert_allclose(scores, values, atol=1e-9)
    np.testing.assert_array_equal(label, fitted.classes_[values.argmax(axis=1)])
    np.testing.assert_array_equal(to_sklearn(model, fitted.classes_, 4).predict(FLOWERS), label)
    assert "versicolor" not in label


def test_a_search_has_files_of_the_model_that_it_found(tmp_path):
    search = FederatedGridSearch(PanSVC(kernel="linear", tol=0.05, **EXACT), {"C": [0.1, 1.0]}, cv=3)
    search.fit(pd.DataFrame(FLOWERS, columns=list("abcd")), NAMES)
    frame = pd.DataFrame(FLOWERS, columns=list("abcd"))
    path = search.save(tmp_path / "model.tacit")
    again = tacit.load(path)
    assert isinstance(again, PanSVC)
    assert search.best_params_["C"] == again.C
    np.testing.assert_array_equal(again.decision_function(frame), search.decision_function(frame))
    assert again.report_.to_dict() == search.report_.to_dict()
    assert search.feature_names_in_.tolist() == list("abcd")
    told = asked(search.export(tmp_path / "model.onnx"), FLOWERS, "label")
    np.testing.assert_array_equal(told[0], search.predict(frame))
    np.testing.assert_array_equal(search.to_sklearn().predict(frame), search.predict(frame))


def test_a_search_has_probabilities_only_if_its_estimator_has():
    grid = {"C": [0.1, 1.0]}
    assert not hasattr(FederatedGridSearch(PanSVC(), grid), "predict_proba")
    assert not hasattr(FederatedGridSearch(PanSVC(), grid), "predict_log_proba")
    assert hasattr(FederatedGridSearch(PanSVC(probability=True), grid), "predict_proba")
    assert hasattr(FederatedGridSearch(PanSVC(), grid), "save")
    assert not hasattr(FederatedGridSearch(PanSVC(), grid, refit=False), "save")
    plain = FederatedGridSearch(PanSVC(kernel="linear", tol=0.1, **EXACT), grid, cv=2).fit(FLOWERS, KIND)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.parametrize(
    ("made", "partition"),
    [
        (GramSVC(), "vertical"),
        (GramSVC(kernel="linear"), "vertical"),
        (ConsensusSVC(partition="vertical", accept_risk=True, tol=0.1), "vertical"),
        (ConsensusSVC(kernel="rbf", landmarks=6, tol=0.2), "horizontal"),
        (SecureELMClassifier(n_hidden=5, accept_risk=True), "vertical"),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_parties_keep_in_parts_is_not_shown(made, partition, tmp_path):
    use = KIND < 2
    made.fit(Federation.simulate(FLOWERS[use], KIND[use], parties=3, partition=partition))
    assert not hasattr(made, "coef_")
    assert not hasattr(made, "intercept_")
    for show in (lambda: made.export(tmp_path / "model.onnx"), made.to_sklearn):
        with pytest.raises(LocalError, match=r"is not public, its parties keep parts of it: .*save"):
            show()
    assert not list(tmp_path.iterdir())
    path = made.save(tmp_path / "model.tacit")  # the remedy
    np.testing.assert_array_equal(tacit.load(path).predict(FLOWERS[use]), made.predict(FLOWERS[use]))


def test_coefficients_are_those_of_public_linear_models_as_scikit_learn_has_them():
    assert not hasattr(PanSVC(kernel="linear"), "coef_")  # before fit
    for multi_class, problems in (("ovr", 3), ("ovo", 3)):
        fitted = PanSVC(kernel="linear", multi_class=multi_class, tol=0.05, **EXACT).fit(FLOWERS, KIND)
        assert fitted.coef_.shape == (problems, 4)
        assert fitted.intercept_.shape == (problems,)
    fitted.coef_[:] = 0.0  # a copy
    assert np.abs(fitted.coef_).sum() > 0
    assert not hasattr(PanSVC(landmarks=6, tol=0.1, **EXACT).fit(FLOWERS, KIND), "coef_")


def test_the_pipeline_of_a_public_elm_or_consensus_is_exported_whole(tmp_path):
    for last in (SecureELMClassifier(n_hidden=12), ConsensusSVC(tol=0.05)):
        pipeline = Pipeline([("scale", FederatedScaler()), ("learn", last)]).fit(
            Federation.simulate(FLOWERS, NAMES, parties=3)
        )
        check_classifier(pipeline, FLOWERS, tmp_path)


def test_a_selector_of_one_table_is_saved_too(tmp_path):
    frame = pd.DataFrame(FLOWERS, columns=list("abcd"))
    fitted = VotedWrapperSelector(SVC(C=3.0), criteria=("rfe",), n_features_to_select=2).fit(frame, KIND)
    again = tacit.load(fitted.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    assert again.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    assert again.estimator.C == 3.0
    assert not hasattr(again, "report_")
