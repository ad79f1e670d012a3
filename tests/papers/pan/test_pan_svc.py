"""PanSVC of paper 004: as good as the pooled SVM on the same map; refusals; files; scikit-learn's contract."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

import tacit
from papers.pan import reference
from tacit.errors import LocalError
from tacit.papers.pan import FilterWrapperSelector, PanSVC, VotedWrapperSelector
from tacit.protocols.features.maps import features_of

X, Y = reference.table()


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.fixture(scope="module")
def iris():
    found = load_iris()
    return found.data, found.target_names[found.target]


def own_features(model: PanSVC, X: object) -> object:
    return features_of(model.model_.mapped.map, X, shorten=False)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("parties", [1, 2, 5])
def test_it_is_the_pooled_svm_on_the_same_map(kernel, parties):
    model = PanSVC(kernel=kernel, landmarks=0.5, tol=1e-4, n_parties=parties, random_state=0).fit(X, Y)
    F, sign = own_features(model, X), 2 * Y - 1
    found = reference.objective(F, sign, model.model_.mapped.weights[:, 0], 1.0)
    best = reference.optimum(F[:, :-1], sign, 1.0)
    assert best * (1 - 1e-6) <= found <= best * (1 + 1.1e-4)


def test_weights_of_records_and_classes_are_those_of_libsvm():
    weight = np.random.default_rng(3).uniform(0, 2, len(X)) * (np.arange(len(X)) % 7 > 0)
    model = PanSVC(kernel="linear", tol=1e-5, class_weight={0: 3.0, 1: 0.5}).fit(X, Y, weight)
    pooled = SVC(kernel="linear", class_weight={0: 3.0, 1: 0.5}, tol=1e-6).fit(X, Y, weight)
    np.testing.assert_allclose(model.coef_, pooled.coef_, atol=5e-3)
    np.testing.assert_allclose(model.intercept_, pooled.intercept_, atol=2e-2)


def test_balanced_classes_weigh_by_their_sizes_over_all_parties():
    few = np.r_[np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)[:8]]
    model = PanSVC(kernel="linear", tol=1e-5, class_weight="balanced").fit(X[few], Y[few])
    pooled = SVC(kernel="linear", class_weight="balanced", tol=1e-6).fit(X[few], Y[few])
    np.testing.assert_allclose(model.coef_, pooled.coef_, atol=5e-3)


def test_it_does_as_well_as_the_whole_kernel_at_its_defaults(cancer):
    X, y = cancer
    model = PanSVC(random_state=1).fit(X[:400], y[:400], compare=True)
    pooled = SVC().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) >= pooled.score(X[400:], y[400:]) - 0.02
    assert model.report_.comparison["accuracy of the reference on them"] == pytest.approx(
        pooled.score(X[:400], y[:400])
    )
    assert model.report_.figures["landmarks"] == pytest.approx(100, abs=3)
    assert model.report_.figures["relative gap to the optimum, at most"] <= 1e-3


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_are_told_apart(iris, multi_class):
    X, y = iris
    model = PanSVC(multi_class=multi_class, random_state=0).fit(X[::2], y[::2])
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X[1::2], y[1::2]) > 0.93


def test_a_class_of_one_record_is_no_obstacle(iris):
    X, y = iris
    rows = np.r_[0:50, 50:100, 100]
    assert PanSVC(kernel="linear").fit(X[rows], y[rows]).classes_.tolist() == ["setosa", "versicolor", "virginica"]


def test_a_site_judges_it_in_shares(iris):
    X, y = iris
    federation = tacit.simulate(X, y, parties=3)
    model = PanSVC(random_state=0).fit(federation)
    assert tacit.evaluate(model, federation).accuracy == pytest.approx(model.score(X, y))


def test_the_same_random_state_trains_the_same_model():
    first, second = (PanSVC(random_state=4).fit(X, Y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# What is refused, and what it warns of


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "sigmoid"}, r"The 'kernel' parameter of PanSVC must be among .*'linear'.*Got 'sigmoid'"),
        ({"landmarks": 0}, "The 'landmarks' parameter of PanSVC must be"),
        ({"landmarks": 2.5}, "The 'landmarks' parameter of PanSVC must be"),
        ({"landmarks": 1000}, "landmarks=1000 of 60 records: ask for as many as there are records, or fewer"),
        ({"class_weight": {5: 1.0}}, r"The classes, \[0, 1\], are not in class_weight"),
        ({"partition": "vertical"}, "partition"),
    ],
)
def test_it_refuses_parameters_in_one_line(settings, words):
    with pytest.raises(LocalError, match=words) as raised:
        PanSVC(**settings).fit(X, Y)
    assert "\n" not in str(raised.value)


def test_it_refuses_one_class_and_parties_with_other_columns():
    with pytest.raises(LocalError, match="at least 2 classes"):
        PanSVC().fit(X, np.zeros(len(X)))
    with pytest.raises(LocalError, match="PanSVC trains on records split horizontally, and these are split vertically"):
        PanSVC().fit(tacit.simulate(X, Y, parties=2, partition="vertical"))


def test_a_data_holder_coordinates_only_if_the_risk_is_accepted():
    federation = tacit.simulate(X, Y, parties=("a", "b", "c"), coordinator="a")
    with pytest.raises(LocalError, match=r"would coordinate and learn .*accept_risk=True"):
        PanSVC().fit(federation)
    assert PanSVC(accept_risk=True).fit(federation).score(X, Y) > 0.8


def test_it_warns_where_rounds_or_landmarks_are_fewer_than_asked():
    with pytest.warns(ConvergenceWarning, match=r"after 2 rounds the relative gap is .*: raise max_rounds"):
        PanSVC(max_rounds=2).fit(X, Y)
    alike = np.repeat(X[:6], 10, axis=0)
    with pytest.warns(UserWarning, match=r"there are \d+ landmarks, and landmarks=0.5 asks for 30"):
        model = PanSVC(landmarks=0.5).fit(alike, np.repeat(Y[:6], 10))
    assert "landmarks=0.5 asks for 30" in model.report_.warnings[0]


# Files


@pytest.mark.parametrize("settings", [{}, {"kernel": "poly", "multi_class": "ovr"}, {"kernel": "linear"}])
def test_a_model_file_gives_the_same_answers(iris, tmp_path, settings):
    X, y = iris
    model = PanSVC(**settings).fit(X, y)
    again = tacit.load(model.save(tmp_path / "model.tacit"))
    assert type(again) is PanSVC
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.get_params() == model.get_params()
    assert again.report_.to_dict() == model.report_.to_dict()
    header = (tmp_path / "model.tacit").read_bytes().splitlines()[1]
    assert (b"some of which may be records" in header) == (model.kernel != "linear")


def test_it_becomes_a_pipeline_of_scikit_learn_where_it_has_no_votes(iris, tmp_path):
    X, y = iris
    model = PanSVC(multi_class="ovr").fit(X, y)
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))
    with pytest.raises(LocalError, match="no votes between pairs of classes: train with multi_class='ovr'"):
        PanSVC().fit(X, y).to_sklearn()
    with pytest.raises(LocalError, match="the model is not released, stored records"):
        model.export(tmp_path / "model.onnx")


def test_a_linear_model_is_exported(iris, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = iris
    model = PanSVC(kernel="linear", multi_class="ovr").fit(X, y)
    session = runtime.InferenceSession(model.export(tmp_path / "model.onnx"))
    np.testing.assert_array_equal(session.run(["label"], {"X": X})[0].ravel(), model.predict(X))


def failed(estimator: object) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(estimator, on_fail=None, on_skip=None)
    return [each["check_name"] for each in done if each["status"] == "failed"]


@pytest.mark.parametrize(
    "estimator",
    [
        PanSVC(),
        pytest.param(VotedWrapperSelector(PanSVC(random_state=0)), marks=pytest.mark.slow),
        pytest.param(FilterWrapperSelector(PanSVC(random_state=0)), marks=pytest.mark.slow),
    ],
    ids=lambda each: type(each).__name__,
)
def test_it_fails_no_check_of_scikit_learn_that_svc_passes(estimator):
    assert set(failed(estimator)) <= set(failed(SVC()))
