"""Every public model: the attributes that people look for, and files for programs that do not know tacit."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

import tacit
from tacit import (
    SVC,
    ELMClassifier,
    ELMRegressor,
    FederatedGridSearch,
    FederatedScaler,
    Federation,
    LocalError,
    Pipeline,
)
from tacit.numeric.features.elm import ACTIVATIONS

RAW, KIND = load_iris(return_X_y=True)
FLOWERS = scale(RAW)
NAMES = np.array(["setosa", "versicolor", "virginica"])[KIND]


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
def test_a_linear_machine_has_coefficients_and_files(kinds, tmp_path):
    use = kinds > KIND
    fitted = SVC(kernel="linear", alpha=0.1).fit(FLOWERS[use], NAMES[use])
    check_classifier(fitted, FLOWERS[use], tmp_path)
    values = FLOWERS[use] @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(values.squeeze(), fitted.decision_function(FLOWERS[use]), atol=1e-12)
    assert fitted.coef_.shape == LinearSVC().fit(FLOWERS[use], NAMES[use]).coef_.shape


@pytest.mark.slow
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("kinds", [2, 3])
def test_an_extreme_learning_machine_has_files(activation, kinds, tmp_path):
    use = kinds > KIND
    fitted = ELMClassifier(n_hidden=12, activation=activation).fit(FLOWERS[use], NAMES[use])
    check_classifier(fitted, FLOWERS[use], tmp_path)
    assert not hasattr(fitted, "coef_")  # it is linear in no column


@pytest.mark.slow
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_regression_exports_its_value(activation, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X = X * 20
    fitted = ELMRegressor(n_hidden=15, activation=activation, random_state=3).fit(X, y)
    values = fitted.predict(X)
    (told,) = asked(fitted.export(tmp_path / "model.onnx"), X, "value")
    np.testing.assert_allclose(told, values, rtol=0, atol=1e-7)
    for made in (fitted.to_sklearn(), loaded(fitted.export(tmp_path / "model.skops"))):
        np.testing.assert_allclose(made.predict(X), values, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(tacit.load(fitted.save(tmp_path / "model.tacit")).predict(X), values)


def test_a_search_has_files_of_the_model_that_it_found(tmp_path):
    search = FederatedGridSearch(SVC(kernel="linear"), {"alpha": [0.1, 1.0]})
    search.fit(pd.DataFrame(FLOWERS, columns=list("abcd")), NAMES)
    frame = pd.DataFrame(FLOWERS, columns=list("abcd"))
    path = search.save(tmp_path / "model.tacit")
    again = tacit.load(path)
    assert isinstance(again, SVC)
    assert search.best_params_["alpha"] == again.alpha
    np.testing.assert_array_equal(again.decision_function(frame), search.decision_function(frame))
    assert again.report_.to_dict() == search.report_.to_dict()
    assert search.feature_names_in_.tolist() == list("abcd")
    told = asked(search.export(tmp_path / "model.onnx"), FLOWERS, "label")
    np.testing.assert_array_equal(told[0], search.predict(frame))
    np.testing.assert_array_equal(search.to_sklearn().predict(frame), search.predict(frame))


def test_a_search_has_probabilities_only_if_its_estimator_has():
    grid = {"alpha": [0.1, 1.0]}
    assert not hasattr(FederatedGridSearch(SVC(), grid), "predict_proba")
    assert not hasattr(FederatedGridSearch(SVC(), grid), "predict_log_proba")
    assert hasattr(FederatedGridSearch(SVC(probability=True), grid), "predict_proba")
    assert hasattr(FederatedGridSearch(SVC(), grid), "save")
    assert not hasattr(FederatedGridSearch(SVC(), grid, refit=False), "save")
    plain = FederatedGridSearch(SVC(kernel="linear"), grid).fit(FLOWERS, KIND)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.parametrize(
    ("made", "partition"),
    [
        (SVC(features="exact", loss="hinge"), "vertical"),
        (SVC(kernel="linear", features="exact", loss="hinge"), "vertical"),
        (SVC(features="exact", loss="hinge"), "horizontal"),
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
    assert not hasattr(SVC(kernel="linear"), "coef_")  # before fit
    fitted = SVC(kernel="linear").fit(FLOWERS, KIND)
    assert fitted.coef_.shape == (3, 4)
    assert fitted.intercept_.shape == (3,)
    fitted.coef_[:] = 0.0  # a copy
    assert np.abs(fitted.coef_).sum() > 0
    assert not hasattr(SVC(features=12, alpha=0.1).fit(FLOWERS, KIND), "coef_")


def test_the_pipeline_of_a_public_machine_is_exported_whole(tmp_path):
    for last in (ELMClassifier(n_hidden=12, alpha=0.1), SVC(features=12, alpha=0.1)):
        pipeline = Pipeline([("scale", FederatedScaler()), ("learn", last)]).fit(
            Federation.simulate(FLOWERS, NAMES, parties=3)
        )
        check_classifier(pipeline, FLOWERS, tmp_path)
