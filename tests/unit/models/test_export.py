"""Export: pipelines and files say what the model says, to programs that do not know tacit."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from itertools import combinations

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from tacit import LocalError, PanSVC
from tacit.errors import MissingExtraError, install_command
from tacit.models.export import export, to_sklearn
from tacit.models.pan import PanModel
from tacit.numeric.features.feature_map import basis_of
from tacit.numeric.scores.platt import probabilities
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.feature_map import FeatureMap
from tacit.protocols.planes.problems import problems

COLUMNS = 5
MAPS = [
    ("linear", "identity"), ("rbf", "fourier"), ("rbf", "local"), ("rbf", "joint"),
    ("poly", "local"), ("poly", "joint"), ("sigmoid", "local"), ("sigmoid", "joint"),
]  # fmt: skip
PROBLEMS = [(2, "ovr"), (4, "ovr"), (4, "ovo")]
NONE = np.empty((0, 0))


def map_of(kernel: str, source: str, *, degree: int = 3, centres=None) -> FeatureMap:
    shape = Kernel(kernel, gamma=0.3, degree=degree, coef0=0.5)
    numbers = (kernel, shape.gamma, shape.degree, shape.coef0)
    if source in ("identity", "fourier"):
        return FeatureMap(source, *numbers, NONE, NONE, 7, COLUMNS if source == "identity" else 40)
    centres = np.random.default_rng(1).normal(size=(12, COLUMNS)) if centres is None else centres
    basis = basis_of(centres, shape)
    return FeatureMap(source, *numbers, centres, basis, 7, basis.shape[1])


def model_on(the_map: FeatureMap, classes: int, multi_class: str) -> PanModel:
    pairs = problems(classes, multi_class)
    rng = np.random.default_rng(2)
    return PanModel(
        the_map, rng.normal(size=(len(pairs), the_map.size)), rng.normal(size=len(pairs)), classes, pairs, 5
    )


def records(n: int = 60):
    return np.random.default_rng(3).normal(size=(n, COLUMNS))


def asked(path, X):
    """Label and scores, by onnxruntime."""
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": X})


def answers(model: PanModel, names, X):
    """Label and scores, by the model itself."""
    values = model.decide(X)
    chosen = (values[:, 0] > 0).astype(int) if values.shape[1] == 1 else values.argmax(axis=1)
    return names[chosen], values[:, 0] if values.shape[1] == 1 else values


@pytest.mark.parametrize(("kernel", "source"), MAPS)
@pytest.mark.parametrize(("classes", "multi_class"), PROBLEMS)
def test_pipeline_and_files_say_what_the_model_says(kernel, source, classes, multi_class, tmp_path):
    model, names, X = (
        model_on(map_of(kernel, source), classes, multi_class),
        np.array(["a", "bb", "c", "d"][:classes]),
        records(),
    )
    labels, scores = answers(model, names, X)
    assert len(set(labels)) > 1

    pipeline = to_sklearn(model, names, COLUMNS)
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
    "names", [np.array([3, 11, 12]), np.array([0.5, 1.5, 2.5]), np.array(["ä", "b", "c"]), np.array([False, True])]
)
def test_labels_keep_their_kind(names, tmp_path):
    model, X = model_on(map_of("rbf", "local"), len(names), "ovr"), records()
    labels, _ = answers(model, names, X)
    told, _ = asked(export(model, names, COLUMNS, tmp_path / "model.onnx"), X)
    loaded = skops.io.load(export(model, names, COLUMNS, tmp_path / "model.skops"), trusted=[])
    np.testing.assert_array_equal(told, labels)
    np.testing.assert_array_equal(loaded.predict(X), labels)
    assert told.dtype.kind == ("O" if names.dtype.kind == "U" else names.dtype.kind)


@pytest.mark.parametrize("source", ["local", "joint", "fourier"])
def test_a_fitted_estimator_exports_itself(source, tmp_path):
    X, y = load_iris(return_X_y=True)
    fitted = PanSVC(
        landmark_source=source, landmarks=12, multi_class="ovo", random_state=4, min_count=1, accept_risk=True
    ).fit(X[::2], y[::2])
    scores = fitted.decision_function(X[1::2])
    np.testing.assert_allclose(fitted.to_sklearn().decision_function(X[1::2]), scores, rtol=0, atol=1e-9)
    label, told = asked(fitted.export(tmp_path / "iris.onnx"), X[1::2])
    np.testing.assert_array_equal(label, fitted.predict(X[1::2]))
    np.testing.assert_allclose(told, scores, rtol=0, atol=1e-9)
    loaded = skops.io.load(fitted.export(tmp_path / "iris.skops"), trusted=[])
    np.testing.assert_array_equal(loaded.predict(X[1::2]), label)


def test_an_estimator_that_is_not_fitted_exports_nothing(tmp_path):
    with pytest.raises(NotFittedError):
        PanSVC().export(tmp_path / "model.onnx")


def test_the_files_need_no_tacit(tmp_path):
    model, names, X = model_on(map_of("rbf", "local"), 4, "ovo"), np.arange(4), records()
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


@pytest.mark.parametrize(("classes", "multi_class"), PROBLEMS)
def test_a_kernel_of_zeros_and_one_of_ones_are_exported_too(classes, multi_class, tmp_path):
    names, X = np.arange(classes), records(9)
    nothing = FeatureMap("local", "sigmoid", 0.3, 3, 0.0, np.zeros((4, COLUMNS)), np.empty((4, 0)), 7, 0)
    for the_map in (nothing, map_of("poly", "local", degree=0)):
        model = model_on(the_map, classes, multi_class)
        labels, scores = answers(model, names, X)
        pipeline = to_sklearn(model, names, COLUMNS)
        told = asked(export(model, names, COLUMNS, tmp_path / "model.onnx"), X)
        np.testing.assert_allclose(pipeline.decision_function(X), scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(pipeline.predict(X), labels)
        np.testing.assert_allclose(told[1], scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(told[0], labels)


def test_a_duel_that_ends_at_zero_goes_to_the_same_class_in_every_form(tmp_path):
    pairs = tuple(combinations(range(3), 2))
    model = PanModel(map_of("linear", "identity"), np.zeros((3, COLUMNS)), np.zeros(3), 3, pairs, 5)
    label, scores = asked(export(model, np.arange(3), COLUMNS, tmp_path / "model.onnx"), records(2))
    pipeline = to_sklearn(model, np.arange(3), COLUMNS)
    np.testing.assert_array_equal(scores, pipeline.decision_function(records(2)))
    np.testing.assert_array_equal(label, pipeline.predict(records(2)))


@pytest.mark.parametrize(("classes", "multi_class"), PROBLEMS)
def test_the_graph_takes_no_records_as_well(classes, multi_class, tmp_path):
    model = model_on(map_of("rbf", "local"), classes, multi_class)
    label, scores = asked(export(model, np.arange(classes), COLUMNS, tmp_path / "model.onnx"), records(0))
    assert label.shape == (0,)
    assert len(scores) == 0


@pytest.mark.parametrize(("kernel", "source"), MAPS)
def test_names_of_the_columns_travel_along(kernel, source, tmp_path):
    model, features = model_on(map_of(kernel, source), 4, "ovo"), ["age", "bmi", "hb", "crp", "ph"]
    frame = pd.DataFrame(records(), columns=features)
    pipeline = to_sklearn(model, np.arange(4), COLUMNS, features)
    np.testing.assert_allclose(pipeline.decision_function(frame), model.decide(records()), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(pipeline.feature_names_in_, features)
    with pytest.raises(ValueError, match="feature names should match"):
        pipeline.predict(frame[features[::-1]])
    written = onnx.load(export(model, np.arange(4), COLUMNS, tmp_path / "model.onnx", features))
    assert json.loads({p.key: p.value for p in written.metadata_props}["features"]) == features


def test_a_pipeline_shares_no_memory_with_the_model():
    model = model_on(map_of("rbf", "local"), 2, "ovr")
    pipeline = to_sklearn(model, np.arange(2), COLUMNS)
    for mine, its in (
        (model.w, pipeline[-1].coef_),
        (model.map.basis, pipeline[0].normalization_),
        (model.map.centres, pipeline[0].components_),
    ):
        assert not np.shares_memory(mine, its)


@pytest.mark.parametrize("name", ["model", "model.pkl", "model.onnx.gz"])
def test_another_suffix_is_refused(name, tmp_path):
    model = model_on(map_of("rbf", "local"), 2, "ovr")
    with pytest.raises(
        LocalError, match=r"has the unknown suffix .*: export to a file that ends in one of \.onnx, \.skops$"
    ):
        export(model, np.arange(2), COLUMNS, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "module"), [("model.onnx", "onnx"), ("model.skops", "skops.io")])
def test_a_missing_package_names_the_extra(name, module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "tacit.models.onnx_graph", raising=False)
    model = model_on(map_of("rbf", "local"), 2, "ovr")
    with pytest.raises(
        MissingExtraError, match=rf"^an? \.\w+ file needs the extra 'export': {re.escape(install_command('export'))}$"
    ):
        export(model, np.arange(2), COLUMNS, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_not_there_is_said_in_one_line(tmp_path):
    model = model_on(map_of("rbf", "local"), 2, "ovr")
    with pytest.raises(LocalError, match=r"the exported model cannot be written to .*: No such file or directory"):
        export(model, np.arange(2), COLUMNS, tmp_path / "none" / "model.onnx")


@pytest.mark.parametrize(("classes", "multi_class"), PROBLEMS)
def test_probabilities_go_with_the_onnx_file(classes, multi_class, tmp_path):
    plain, names, X = (
        model_on(map_of("rbf", "fourier"), classes, multi_class),
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
