"""SVC, SVR, ELMClassifier and ELMRegressor: as good as pooled, whatever the split, and only a model is left."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import tacit
from tacit.errors import LocalError
from tacit.protocols.features.maps import features_of

SPLITS = ("horizontal", "vertical", "arbitrary")
QUIET = {"verbose": False, "random_state": 0}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return StandardScaler().fit_transform(X)[order], y[order]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_it_is_nearly_as_good_as_the_pooled_svc_and_its_answers_stay_split(cancer, split, kernel):
    X, y = cancer
    fed = tacit.simulate(X, y, parties=3, partition=split, seed=0)
    learn, judge = tacit.train_test_split(fed, test_size=0.3, random_state=0)
    model = tacit.SVC(kernel=kernel, features=120, **QUIET).fit(learn, compare=True)
    assert model.score(judge) > 0.92
    told = model.report_.comparison
    assert told["accuracy on the training records"] > told["accuracy of the reference on them"] - 0.04
    pooled, _, _ = judge.pooled()
    np.testing.assert_allclose(model.decision_function(judge), model.decision_function(pooled), atol=0.02)
    assert model.model_.records_of() == {}


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_hinge_is_as_good_as_the_pooled_svc_whatever_the_split(cancer, split, kernel):
    X, y = cancer
    fed = tacit.simulate(X, y, parties=3, partition=split, seed=0)
    learn, judge = tacit.train_test_split(fed, test_size=0.3, random_state=0)
    model = tacit.SVC(kernel=kernel, loss="hinge", C=10.0, features=120, **QUIET).fit(learn)
    (Xl, yl, _), (Xj, yj, _) = learn.pooled(), judge.pooled()
    assert model.score(judge) > svm.SVC(kernel=kernel, C=10.0).fit(Xl, yl).score(Xj, yj) - 0.04
    np.testing.assert_allclose(model.decision_function(judge), model.decision_function(Xj), atol=0.02)
    assert model.model_.records_of() == {}
    assert model.C_ == 10.0


@pytest.mark.slow
@pytest.mark.parametrize("split", ["horizontal", "vertical"])
def test_the_c_that_is_chosen_in_shares_is_one_of_the_best_of_a_grid_search(split):
    X, y = make_classification(900, 10, n_informative=3, flip_y=0.2, class_sep=0.5, random_state=2)
    X = StandardScaler().fit_transform(X)
    model = tacit.SVC(loss="hinge", C="auto", features=60, partition=split, n_parties=3, **QUIET).fit(X, y)
    Z = features_of(model.model_.map, X, shorten=split == "horizontal")
    grid = {"C": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]}
    found = GridSearchCV(svm.LinearSVC(loss="hinge", fit_intercept=False, max_iter=10_000, tol=1e-2), grid, cv=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.fit(Z, y)
    scores = dict(zip(grid["C"], found.cv_results_["mean_test_score"], strict=True))
    assert scores[model.C_] > max(scores.values()) - 0.02  # other folds, and noise of some errors
    assert model.report_.figures["C"] == model.C_


def test_a_simulation_with_a_number_can_be_repeated_and_one_without_is_another(cancer):
    X, y = cancer
    once, again = (tacit.SVC(features=40, **QUIET).fit(X, y).model_.weights for _ in range(2))
    np.testing.assert_array_equal(once, again)
    other = tacit.SVC(features=40, verbose=False, random_state=1).fit(X, y).model_.weights
    assert not np.array_equal(once, other)


@pytest.mark.parametrize("loss", ["least_squares", "hinge"])
def test_several_classes_are_learnt_with_either_loss(loss):
    X, y = load_iris(return_X_y=True)
    model = tacit.SVC(loss=loss, features=60, **QUIET).fit(StandardScaler().fit_transform(X), y.astype(str))
    assert model.score(StandardScaler().fit_transform(X), y.astype(str)) > 0.93
    assert model.model_.weights.shape[1] == 3


def test_weights_of_classes_move_the_answers_as_in_scikit_learn(cancer):
    X, y = cancer
    plain, heavy = (
        tacit.SVC(features=60, class_weight=weight, **QUIET).fit(X, y).predict(X).mean()
        for weight in (None, {0: 1.0, 1: 20.0})
    )
    assert heavy > plain
    balanced = tacit.SVC(features=60, class_weight="balanced", **QUIET).fit(X, y)
    assert balanced.score(X, y) > 0.93
    with pytest.raises(LocalError, match="class_weight"):
        tacit.SVC(class_weight={5: 1.0}, **QUIET).fit(X, y)


def test_probabilities_never_fall_with_the_decision_value_and_add_up_to_one(cancer):
    X, y = cancer
    model = tacit.SVC(features=80, probability=True, **QUIET).fit(X[:400], y[:400])
    p = model.predict_proba(X[400:])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(X[400:]))
    assert (np.diff(p[order, 1]) >= 0).all()
    assert np.square(p[:, 1] - y[400:]).mean() < 0.06
    assert "rounded averages" in " ".join(fact.prose for opened in model.report_.opens for fact in opened.facts)
    with pytest.raises(LocalError, match="probability=True is of classes, with loss='least_squares'"):
        tacit.SVC(features=80, probability=True, loss="hinge", **QUIET).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("make", [tacit.SVC, tacit.ELMClassifier])
def test_sparse_rows_give_the_same_model(cancer, make):
    X, y = cancer
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    own = {"features": 60} if make is tacit.SVC else {"n_hidden": 60}
    dense = make(**own, **QUIET).fit(X, y).decision_function(X)
    sparse = make(**own, **QUIET).fit(sp.csr_matrix(X), y).decision_function(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse, dense, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        tacit.SVC(features=40, probability=True, **QUIET),
        tacit.SVC(kernel="poly", features=40, **QUIET),
        tacit.SVC(kernel="linear", **QUIET),
        tacit.ELMClassifier(n_hidden=40, **QUIET),
        tacit.ELMClassifier(n_hidden=40, activation="fourier", **QUIET),
    ],
    ids=lambda model: f"{type(model).__name__}-{getattr(model, 'kernel', '') or model.activation}",
)
def test_a_model_has_files_of_three_kinds(cancer, model, tmp_path):
    X, y = cancer
    model.fit(X, y)
    loaded = tacit.load(model.save(tmp_path / "model.tacit"))
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(model.to_sklearn().decision_function(X), model.decision_function(X), atol=1e-9)
    runtime = pytest.importorskip("onnxruntime")
    label, scores, *_ = runtime.InferenceSession(model.export(tmp_path / "model.onnx")).run(None, {"X": X})
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(scores, model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("split", SPLITS)
def test_an_elm_equals_the_pooled_one_with_the_same_layer(cancer, split):
    X, y = cancer
    fed = tacit.simulate(X, y, parties=3, partition=split, seed=0)
    model = tacit.ELMClassifier(n_hidden=60, **QUIET).fit(fed, compare=True)
    assert model.report_.comparison["training records labelled differently"] <= 0.02 * len(X)
    assert model.score(X, y) > 0.93


def test_an_elm_learns_from_new_rows_too(cancer):
    X, y = cancer
    model = tacit.ELMClassifier(n_hidden=40, alpha=0.1, **QUIET)
    model.partial_fit(X[:300], y[:300], classes=[0, 1]).partial_fit(X[300:], y[300:])
    assert model.report_.history[-1]["records"] == len(X)
    whole = tacit.ELMClassifier(n_hidden=40, alpha=0.1, **QUIET).fit(X, y)
    assert (model.predict(X) == whole.predict(X)).mean() > 0.98
    with pytest.raises(LocalError, match="partial_fit adds rows to those of each party"):
        tacit.ELMClassifier(**QUIET).partial_fit(tacit.simulate(X, y, parties=3, partition="vertical", seed=0))


@pytest.mark.parametrize("model", [tacit.SVR(**QUIET), tacit.ELMRegressor(**QUIET)])
def test_numbers_are_learnt(model):
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    assert model.fit(X[:350], y[:350]).score(X[350:], y[350:]) > 0.35


@pytest.mark.slow
@pytest.mark.parametrize(("C", "tube"), [(1.0, 0.1), (10.0, 0.5), (3.0, 0.0)])
def test_numbers_are_learnt_with_the_hinge_as_by_liblinear_on_the_same_features(C, tube):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = 10 + 5 * (np.sin(2 * X[:, 0]) + X[:, 1]) + 0.3 * rng.standard_t(2, size=600)
    model = tacit.SVR(loss="hinge", C=C, tube=tube, features=100, n_parties=3, **QUIET).fit(X[:400], y[:400])
    pooled = svm.SVR(C=C, epsilon=tube).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > pooled.score(X[400:], y[400:]) - 0.05
    made = model.public_model()
    Z, t = features_of(made.map, X[:400]), np.clip((y[:400] - made.middle) / made.reach, -1, 1)
    c, e = C / made.reach, tube / made.reach
    best = svm.LinearSVR(C=c, epsilon=e, fit_intercept=False, tol=1e-6, max_iter=10**6).fit(Z, t).coef_
    mine, least = (0.5 * w @ w + c * np.maximum(0, np.abs(t - Z @ w) - e).sum() for w in (made.weights[:, 0], best))
    assert least - 1e-6 <= mine < 1.05 * least
    assert pytest.approx(C) == model.C_


def test_a_search_does_not_count_errors_of_numbers():
    X = np.random.default_rng(0).normal(size=(90, 3))
    search = tacit.FederatedGridSearch(tacit.SVR(loss="hinge", **QUIET), {"C": [1.0, 3.0]})
    with pytest.raises(LocalError, match="a search with loss='hinge' counts errors of classes"):
        search.fit(tacit.simulate(X, X[:, 0], parties=3, partition="horizontal", seed=0))


@pytest.mark.slow
def test_the_exact_machine_equals_libsvm(cancer):
    X, y = cancer
    X, y = X[:120], y[:120]
    exact = {"loss": "hinge", "features": "exact", "verbose": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tacit.SVC(**exact).fit(X, y)
        numbers = tacit.SVR(tube=0.2, **exact).fit(X, X[:, 0])
    np.testing.assert_allclose(model.decision_function(X), svm.SVC().fit(X, y).decision_function(X), atol=0.01)
    theirs = svm.SVR(epsilon=0.2).fit(X, X[:, 0]).predict(X)
    np.testing.assert_allclose(numbers.predict(X), theirs, atol=0.05)
    assert model.public_model() is None


@pytest.mark.parametrize(
    ("model", "split", "says"),
    [
        (tacit.SVC(features="exact", **QUIET), "horizontal", "features='exact' is the SVM with the whole kernel"),
        (tacit.SVR(loss="hinge", **QUIET), "vertical", "with landmarks is for rows: over columns and cells take"),
        (tacit.SVR(loss="hinge", C="auto", **QUIET), "horizontal", "C='auto' counts errors of classes: name a number"),
        (tacit.SVC(C="auto", **QUIET), "vertical", "C='auto' is for loss='hinge' with landmarks"),
        (tacit.SVC(loss="hinge", features="exact", C="auto", **QUIET), "horizontal", "C='auto' is for loss='hinge'"),
        (tacit.SVC(alpha=1e8, **QUIET), "horizontal", "'alpha' parameter of SVC must be"),
        (tacit.ELMClassifier(activation="tanh", **QUIET), "vertical", "use 'fourier', or 'auto'"),
        (tacit.SVC(features=3000, **QUIET), "horizontal", "'features' parameter of SVC must be"),
        (tacit.SVC(loss="hinge", C=1e9, **QUIET), "horizontal", "take fewer rows, or a C nearer to 1"),
        (tacit.SVC(loss="hinge", C=1e9, **QUIET), "arbitrary", "take fewer rows, or a C nearer to 1"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(cancer, model, split, says):
    X, y = cancer
    target = y if not isinstance(model, tacit.SVR) else y.astype(float)
    with pytest.raises(LocalError, match=says) as refused:
        model.fit(tacit.simulate(X[:60], target[:60], parties=3, partition=split, seed=0))
    assert "\n" not in str(refused.value)


def test_a_party_without_rows_constant_columns_and_two_records_are_learnt_from():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    empty = [(X[:20], y[:20]), (X[20:], y[20:]), (X[:0], y[:0])]
    two = tacit.from_parts(empty, partition="horizontal", allow_two_parties=True)
    assert tacit.SVC(**QUIET).fit(two).model_.weights.size
    assert tacit.SVC(**QUIET).fit(np.ones_like(X), y).predict(X).shape == (40,)
    assert tacit.SVC(n_parties=2, **QUIET).fit(X[:2], y[:2]).predict(X[:2]).shape == (2,)
    apart = tacit.from_parts([(X[y == k], y[y == k]) for k in (0, 1)] * 2, partition="horizontal")
    assert tacit.SVC(**QUIET).fit(apart).score(X, y) > 0.5  # a class that only one party has


SMALL = np.random.default_rng(3).normal(size=(30, 3))


@pytest.mark.parametrize("split", [*SPLITS[:2], pytest.param(SPLITS[2], marks=pytest.mark.slow)])
@pytest.mark.parametrize("given", [{}, {"loss": "hinge"}, {"loss": "hinge", "C": "auto"}], ids=str)
@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (SMALL[:2], [0, 1], ""),
        (np.ones((30, 3)), np.arange(30) % 2, ""),
        (SMALL * 1e18, np.arange(30) % 2, ""),
        (SMALL * 1e100, np.arange(30) % 2, "which landmarks do not hold: take a larger unit"),
        (SMALL, np.arange(30) // 29, ""),  # a class of one record
        (SMALL[:1], [0], "there are too few records"),
        (SMALL, np.zeros(30), "hold one class only"),
        (np.where(np.arange(30)[:, None] == 3, np.nan, SMALL), np.arange(30) % 2, "NaN"),
    ],
    ids=["two records", "constant columns", "large", "huge", "lone record", "one record", "one class", "gaps"],
)
def test_bad_tables_are_learnt_from_or_refused_in_one_line_whatever_the_loss_and_the_split(split, given, X, y, says):
    model = tacit.SVC(features=10, kernel="linear" if len(X) > 2 else "rbf", **given, **QUIET)
    if not says:
        fed = tacit.simulate(X, np.array(y), parties=2, partition=split, seed=0)
        assert np.isfinite(model.fit(fed).decision_function(X)).all()
        return
    with pytest.raises(LocalError, match=says) as refused:
        model.fit(tacit.simulate(X, np.array(y), parties=2, partition=split, seed=0))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("split", SPLITS)
def test_the_report_says_which_columns_count_as_constant_and_that_alpha_was_raised(cancer, split):
    X, y = cancer
    times = np.column_stack([X[:, :3], np.ones(len(X)), 2000 + X[:, 3]])
    fed = tacit.simulate(times, y, parties=3, partition=split, seed=0)
    said = tacit.SVC(features=20, alpha=1e-9, **QUIET).fit(fed).report_.warnings
    assert said[0].startswith("columns that count as constant: x3, x4: ")
    assert said[1].startswith("alpha = 1e-09 leaves no room in 64 bits: 0.000")
    scaled = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("machine", tacit.SVC(features=20, **QUIET))]).fit(fed)
    told = [each for each in scaled["machine"].report_.warnings if "constant" in each]
    assert all("x4" not in each for each in told)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("rows", [60, 500])
def test_values_that_landmarks_do_not_hold_are_refused_and_the_remedy_works(cancer, split, rows):
    X, y = cancer[0][:rows] * 1e25, cancer[1][:rows]
    fed, smaller = (tacit.simulate(each, y, parties=3, partition=split, seed=0) for each in (X, X / 1e20))
    with pytest.raises(LocalError, match=r"has values of 5e\+18 or more, .*: take a larger unit"):
        tacit.SVC(features=20, **QUIET).fit(fed)
    tacit.SVC(features=20, **QUIET).fit(smaller)
