"""Export: pipelines and files say what the model says, to programs that do not know tacit."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tacit import SVC, LocalError
from tacit.errors import MissingExtraError, install_command
from tacit.models.export import export, to_sklearn
from tacit.models.mapped import MappedModel
from tacit.numeric.scores.platt import probabilities
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.features.maps import FOURIER, LAYER, PublicMap, map_columns, map_kernel, map_layer

COLUMNS = 5
MAPS = [("linear", ""), ("rbf", ""), ("poly", ""), *((LAYER, each) for each in (FOURIER, "sigmoid", "sign", "relu"))]
CLASSES = (2, 4)


def map_of(kernel: str, activation: str = "") -> PublicMap:
    draw = np.random.default_rng(1)
    if kernel == LAYER:
        return map_layer(activation, 20, 1.0, 7, COLUMNS)
    if kernel == "linear":
        return map_columns(draw.normal(size=COLUMNS), np.arange(COLUMNS) != 1, 2.0)
    return map_kernel(Kernel(kernel, gamma=0.3, degree=3, coef0=0.5), draw.normal(size=(12, COLUMNS)))


def model_on(the_map: PublicMap, classes: int) -> MappedModel:
    decisions = 1 if classes == 2 else classes
    weights = np.random.default_rng(2).normal(size=(the_map.size, decisions))
    weights[-1] /= 10.0  # so that no class is everybody's
    return MappedModel(the_map, weights, 2.0**-16)


def records(n: int = 60):
    return np.random.default_rng(3).normal(size=(n, COLUMNS))


def asked(path, X):
    """Label and scores, by onnxruntime."""
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": X})


def answers(model: MappedModel, names, X):
    """Label and scores, by the model itself."""
    values = model.decide(X)
    chosen = (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
    return names[chosen], values[:, 0] if values.shape[1] == 1 else values


@pytest.mark.parametrize(("kernel", "activation"), MAPS)
@pytest.mark.parametrize("classes", CLASSES)
def test_pipeline_and_files_say_what_the_model_says(kernel, activation, classes, tmp_path):
    model, names, X = (
        model_on(map_of(kernel, activation), classes),
        np.array(["a", "bb", "c", "d"][:classes]),
        records(),
    )
    labels, scores = answers(model, names, X)
    assert len(set(labels)) > 1

    pipeline = to_sklearn(model, names)
    loaded = skops.io.load(export(model, names, COLUMNS, tmp_path / "model.skops"), trusted=[])
    for made in (pipeline, loaded):
        check_is_fitted(made)
        np.testing.assert_allclose(made.decision_function(X), scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(made.predict(X), labels)
        np.testing.assert_array_equal(made.classes_, names)
        assert made.score(X, labels) == 1.0
        assert made.n_features_in_ == COLUMNS

    told = asked(export(model, names, COLUMNS, tmp_path / "model.onnx"), X)
    np.testing.assert_array_equal(told[0], labels)
    np.testing.assert_allclose(told[1], scores, rtol=0, atol=1e-9)
    assert told[1].dtype == np.float64
    assert told[1].shape == scores.shape


@pytest.mark.parametrize(
    "names", [np.array([3, 11, 12]), np.array([1.0, 2.0, 3.0]), np.array(["ä", "b", "c"]), np.array([False, True])]
)
def test_labels_keep_their_kind(names, tmp_path):
    model, X = model_on(map_of("rbf"), len(names)), records()
    labels, _ = answers(model, names, X)
    told, _ = asked(export(model, names, COLUMNS, tmp_path / "model.onnx"), X)
    loaded = skops.io.load(export(model, names, COLUMNS, tmp_path / "model.skops"), trusted=[])
    np.testing.assert_array_equal(told, labels)
    np.testing.assert_array_equal(loaded.predict(X), labels)
    assert told.dtype.kind == ("O" if names.dtype.kind == "U" else names.dtype.kind)


def test_a_fitted_estimator_exports_itself(tmp_path):
    X, y = load_iris(return_X_y=True)
    fitted = SVC(random_state=4).fit(X[::2], y[::2])
    scores = fitted.decision_function(X[1::2])
    np.testing.assert_allclose(fitted.to_sklearn().decision_function(X[1::2]), scores, rtol=0, atol=1e-9)
    label, told = asked(fitted.export(tmp_path / "iris.onnx"), X[1::2])
    np.testing.assert_array_equal(label, fitted.predict(X[1::2]))
    np.testing.assert_allclose(told, scores, rtol=0, atol=1e-9)
    loaded = skops.io.load(fitted.export(tmp_path / "iris.skops"), trusted=[])
    np.testing.assert_array_equal(loaded.predict(X[1::2]), label)


def test_an_estimator_that_is_not_fitted_exports_nothing(tmp_path):
    with pytest.raises(NotFittedError):
        SVC().export(tmp_path / "model.onnx")


@pytest.mark.slow
def test_the_files_need_no_tacit(tmp_path):
    model, names, X = model_on(map_of("rbf"), 4), np.arange(4), records()
    path = export(model, names, COLUMNS, tmp_path / "model.skops")
    np.save(tmp_path / "X.npy", X)
    program = (
        "import sys, numpy, skops.io\n"
        "sys.modules['tacit'] = None\n"
        "assert skops.io.get_untrusted_types(file=sys.argv[1]) == []\n"
        "print(*skops.io.load(sys.argv[1]).predict(numpy.load(sys.argv[2])))"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, path, tmp_path / "X.npy"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(label) for label in answers(model, names, X)[0]]


@pytest.mark.parametrize("classes", CLASSES)
def test_the_graph_takes_no_records_as_well(classes, tmp_path):
    model = model_on(map_of("rbf"), classes)
    label, scores = asked(export(model, np.arange(classes), COLUMNS, tmp_path / "model.onnx"), records(0))
    assert label.shape == (0,)
    assert len(scores) == 0


@pytest.mark.parametrize(("kernel", "activation"), MAPS)
def test_names_of_the_columns_travel_along(kernel, activation, tmp_path):
    model, features = model_on(map_of(kernel, activation), 4), ["age", "bmi", "hb", "crp", "ph"]
    frame = pd.DataFrame(records(), columns=features)
    pipeline = to_sklearn(model, np.arange(4), features)
    np.testing.assert_allclose(pipeline.decision_function(frame), model.decide(records()), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(pipeline.feature_names_in_, features)
    with pytest.raises(ValueError, match="feature names should match"):
        pipeline.predict(frame[features[::-1]])
    written = onnx.load(export(model, np.arange(4), COLUMNS, tmp_path / "model.onnx", features))
    assert json.loads({p.key: p.value for p in written.metadata_props}["features"]) == features


def test_a_pipeline_shares_no_memory_with_the_model():
    model = model_on(map_of("rbf"), 2)
    pipeline = to_sklearn(model, np.arange(2))
    for mine, its in ((model.weights, pipeline[-1].coef_), (model.map.centres, pipeline[0].components_)):
        assert not np.shares_memory(mine, its)


@pytest.mark.parametrize("name", ["model", "model.pkl", "model.onnx.gz"])
def test_another_suffix_is_refused(name, tmp_path):
    model = model_on(map_of("rbf"), 2)
    with pytest.raises(
        LocalError, match=r"has the unknown suffix .*: export to a file that ends in one of \.onnx, \.skops$"
    ):
        export(model, np.arange(2), COLUMNS, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "module"), [("model.onnx", "onnx"), ("model.skops", "skops.io")])
def test_a_missing_package_names_the_extra(name, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "tacit.models.onnx_graph", raising=False)
    model = model_on(map_of("rbf"), 2)
    with pytest.raises(
        MissingExtraError, match=rf"^an? \.\w+ file needs the extra 'export': {re.escape(install_command('export'))}$"
    ):
        export(model, np.arange(2), COLUMNS, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_said_in_one_line(tmp_path):
    model = model_on(map_of("rbf"), 2)
    with pytest.raises(LocalError, match=r"the exported model cannot be written to .*: No such file or directory"):
        export(model, np.arange(2), COLUMNS, tmp_path / "none" / "model.onnx")


@pytest.mark.parametrize("classes", CLASSES)
def test_probabilities_go_with_the_onnx_file(classes, tmp_path):
    plain, names, X = (
        model_on(map_of("rbf"), classes),
        np.array(["a", "bb", "c", "d"][:classes]),
        records(),
    )
    AB = np.random.default_rng(4).normal(size=(1 if classes == 2 else classes, 2))
    model = dataclasses.replace(plain, sigmoids=AB)
    session = onnxruntime.InferenceSession(
        export(model, names, COLUMNS, tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    onnx.checker.check_model(onnx.load(tmp_path / "model.onnx"), full_check=True)
    (found,) = session.run(["probabilities"], {"X": X})
    np.testing.assert_allclose(found, probabilities(model.decide(X), AB), atol=1e-9)
