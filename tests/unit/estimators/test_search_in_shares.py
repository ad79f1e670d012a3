"""Searches over machines of the core: candidates are compared in shares, and the best is trained anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.svm import SVC

import tacit
from tacit import LocalError
from tacit.protocols.learners.scoring import step_of

GRID = {"gamma": [0.01, 0.1], "alpha": [0.03, 1.0, 30.0]}


def table(n: int = 500, numbers: bool = False) -> tuple[Any, Any]:  # noqa: FBT001, FBT002 - of a test
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, 10 * score if numbers else (score > 0).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("partition", ["horizontal", "vertical", "arbitrary"])
def test_it_finds_parameters_nearly_as_good_as_the_best_and_trains_them_on_all_records(partition):
    X, y = table()
    fed = tacit.simulate(X, y, parties=3, partition=partition)
    found = tacit.FederatedGridSearch(tacit.SVC(random_state=0, features=60), GRID).fit(fed)
    scores = found.cv_results_["mean_test_score"]
    assert len(scores) == 6
    assert found.best_score_ == scores.max()
    assert found.step_ == step_of(500)
    np.testing.assert_allclose(scores / found.step_, np.round(scores / found.step_))
    assert found.best_estimator_.get_params()["alpha"] == found.best_params_["alpha"]
    assert found.score(fed) > 0.75
    central = [score_kernel(X, y, **params) for params in found.cv_results_["params"]]
    assert np.abs(np.array(central) - scores).max() < 0.05 + found.step_ / 2  # other folds, and rounding
    assert max(central) - central[found.best_index_] < 0.03


def score_kernel(X: Any, y: Any, *, gamma: float, alpha: float) -> float:
    """Return the accuracy of least squares with the whole kernel on the pooled records, over folds."""
    values = cross_val_predict(KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma), X, 2.0 * y - 1)
    return float(((values > 0) == y).mean())


@pytest.mark.slow
def test_c_of_the_hinge_is_found_as_grid_search_finds_it_on_the_pooled_records():
    X, y = table()
    fed = tacit.simulate(X, y, parties=3)
    grid = {"C": [0.3, 1.0, 30.0]}
    found = tacit.FederatedGridSearch(tacit.SVC(loss="hinge", gamma=0.1, random_state=0), grid).fit(fed)
    central = GridSearchCV(SVC(gamma=0.1), grid).fit(X, y)
    assert np.abs(found.cv_results_["mean_test_score"] - central.cv_results_["mean_test_score"]).max() < 0.1
    assert found.best_params_["C"] == found.best_estimator_.C_


def test_numbers_are_compared_by_r2():
    X, y = table(numbers=True)
    fed = tacit.simulate(X, y, parties=3)
    found = tacit.FederatedGridSearch(tacit.SVR(random_state=0), {"gamma": [0.003, 0.1], "alpha": [0.1]}).fit(fed)
    assert found.report_.metric == "r2"
    assert found.best_params_ == {"alpha": 0.1, "gamma": 0.1}
    assert 0.4 < found.best_score_ < 1.0


def test_layers_and_an_open_alpha_can_be_compared():
    X, y = table()
    fed = tacit.simulate(X, y, parties=3)
    found = tacit.FederatedGridSearch(tacit.ELMClassifier(random_state=0), {"n_hidden": [5, 150]}).fit(fed)
    assert found.best_params_ == {"n_hidden": 150}
    assert found.best_estimator_.n_hidden_ == 150


def test_candidates_may_be_drawn_and_halving_compares_all_at_once():
    X, y = table(300)
    fed = tacit.simulate(X, y, parties=3)
    drawn = tacit.FederatedRandomizedSearch(
        tacit.SVC(random_state=0), {"alpha": [0.1, 1.0, 10.0]}, n_iter=2, random_state=0, refit=False
    ).fit(fed)
    assert len(drawn.cv_results_["params"]) == 2
    halved = tacit.FederatedGridSearch(tacit.SVC(random_state=0), {"alpha": [0.1, 10.0]}, refit=False).fit(fed)
    assert len(halved.cv_results_["params"]) == 2
    with pytest.raises(AttributeError, match="no attribute 'predict'"):
        halved.predict(X)


def test_the_last_step_of_a_pipeline_may_be_a_search_and_it_is_judged_as_its_model():
    X, y = load_breast_cancer(return_X_y=True)
    fed = tacit.simulate(X, y, parties=4)
    learn, held = tacit.train_test_split(fed, test_size=0.3, random_state=0)
    search = tacit.FederatedGridSearch(tacit.SVC(random_state=0), {"alpha": [0.1, 1.0]})
    model = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("search", search)]).fit(learn)
    found = tacit.evaluate(model, held)
    assert found.accuracy > 0.9
    told = {fact.identifier for row in model.report_.learnt for fact in row.facts}
    facts = {"sizes", "columns", "landmarks", "model", "scores", "judgement"}
    assert {fact for fact in told if fact.startswith("core.")} == {f"core.{fact}" for fact in facts}


def test_a_simulation_with_a_number_finds_the_same_again():
    X, y = table(300)
    found = [
        tacit.FederatedGridSearch(tacit.SVC(random_state=3), GRID, refit=False).fit(tacit.simulate(X, y, parties=3))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*(each.cv_results_["mean_test_score"] for each in found))


@pytest.mark.parametrize(
    ("estimator", "grid", "words"),
    [
        (tacit.SVC(), {"probability": [True]}, "does not vary 'probability' of SVC: it varies alpha, C"),
        (tacit.SVC(epsilon=1.0), {"alpha": [1.0]}, "epsilon=1 does not cover a search"),
        (tacit.SVC(features="exact", loss="hinge"), {"C": [1.0]}, "use landmarks"),
        (tacit.SVC(), {"alpha": [-1.0]}, "alpha"),
    ],
)
def test_what_a_search_in_shares_does_not_take_is_refused(estimator, grid, words):
    X, y = table(200)
    with pytest.raises(LocalError, match=words):
        tacit.FederatedGridSearch(estimator, grid).fit(tacit.simulate(X, y, parties=3))


# In simulation: other scores, other folds


def test_a_search_goes_by_any_figure_in_simulation():
    X, y = table(400)
    rare = np.where(np.arange(400) % 4, 0, y)
    fed = tacit.simulate(X, rare, parties=3)
    grid = {"class_weight": [None, "balanced"]}
    svm = tacit.SVC(random_state=0, features=40, probability=True)
    found = tacit.FederatedGridSearch(svm, grid, scoring="balanced_accuracy", cv=3).fit(fed)
    assert found.best_params_ == {"class_weight": "balanced"}
    assert (found.report_.metric, found.n_splits_, found.step_) == ("balanced_accuracy", 3, 0.0)
    by_hand = tacit.cross_val_score(
        tacit.SVC(random_state=0, features=40, probability=True), fed, cv=3, scoring="balanced_accuracy", random_state=0
    )
    assert found.cv_results_["mean_test_score"][0] == by_hand.mean()
    assert found.cv_results_["std_test_score"][0] == by_hand.std()
    assert found.predict(X).shape == (400,)
    assert "balanced_accuracy" in found.report_.to_text()


def test_less_is_better_where_it_is():
    X, y = table(300)
    fed = tacit.simulate(X, y, parties=3)
    svm = tacit.SVC(random_state=0, features=40, probability=True)
    grid = {"gamma": [0.1, 30.0]}
    loss = tacit.FederatedGridSearch(svm, grid, scoring="brier_score", cv=2).fit(fed)
    same = tacit.FederatedGridSearch(svm, grid, scoring="neg_log_loss", cv=2).fit(fed)
    assert loss.best_params_ == same.best_params_ == {"gamma": 0.1}
    assert loss.best_score_ == loss.cv_results_["mean_test_score"].min()
    with pytest.raises(LocalError, match="says not which model is better"):
        tacit.FederatedGridSearch(tacit.SVR(), {"gamma": [0.1]}, scoring="mean_error").fit(fed)


def test_other_scores_and_folds_are_of_simulations():
    X, y = table(300)
    fed = tacit.simulate(X, y, parties=3)
    search = tacit.FederatedGridSearch(tacit.SVC(random_state=0, features=40), {"gamma": [0.1]}, cv="site").fit(fed)
    assert search.n_splits_ == 3
    for asked in ({"scoring": "roc_auc"}, {"cv": 3}, {"n_repeats": 2}):
        with pytest.raises(LocalError, match="five fixed folds: leave scoring, cv, n_repeats and groups out"):
            tacit.FederatedGridSearch(tacit.SVC(), {"gamma": [0.1]}, **asked).request(fed)
