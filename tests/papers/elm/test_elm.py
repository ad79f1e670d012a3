"""SecureELMClassifier and SecureELMRegressor: the pooled ELM's answers, files, jobs, and what they refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from tacit import Federation, LocalError, load
from tacit.choreo import Asker, Coordinator, Holder, Roster
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of
from tacit.numeric.features.elm import ACTIVATIONS, hidden
from tacit.papers.elm import SecureELMClassifier, SecureELMRegressor
from tacit.registry import declared
from tacit.request import Records

GAP = "largest difference of predicted values"
WEIGHTS = ("master", "private")
KINDS = {
    "cancer": (SecureELMClassifier, load_breast_cancer, 0.93),
    "iris": (SecureELMClassifier, load_iris, 0.88),
    "sugar": (SecureELMRegressor, load_diabetes, 0.35),
}


def table(name: str) -> tuple[Any, Any]:
    X, y = KINDS[name][1](return_X_y=True)
    y = (y - y.mean()) / y.std() if name == "sugar" else np.array(["no", "yes", "so"])[y]
    return StandardScaler().fit_transform(X), y


def made(name: str, **params: Any) -> Any:
    return KINDS[name][0](accept_risk=True, **params)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["iris", "sugar"])
def test_check_estimator_passes(name):
    for estimator, check in estimator_checks_generator(made(name, n_hidden=10, ridge=1.0, random_state=0), mark="skip"):
        try:
            check(estimator)
        except Exception as error:
            if type(error).__name__ != "SkipTest":
                raise


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_it_equals_the_pooled_elm_and_learns(name, weights):
    X, y = table(name)
    for activation in ACTIVATIONS:
        model = made(name, activation=activation, weights=weights, n_parties=4, ridge=0.1)
        assert model.fit(X[::3], y[::3], compare=True).report_.comparison[GAP] < 1e-7
    assert made(name, weights=weights).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > KINDS[name][2]


@pytest.mark.parametrize("name", ["cancer", "iris"])
def test_decisions_are_the_hidden_layer_times_the_output_weights_and_choose_the_class(name):
    X, y = table(name)
    model = made(name, activation="tanh", weights="private", class_weight="balanced").fit(X, y)
    values = hidden(X, *model.layer_weights(), "tanh") @ model.model_.master.beta
    found = model.decision_function(X)
    np.testing.assert_allclose(found, values[:, 0] if name == "cancer" else values, atol=1e-6)
    chosen = (found > 0).astype(int) if name == "cancer" else values.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chosen])


def test_weights_of_records_are_those_of_the_pooled_elm():
    for name, more in (("cancer", {"class_weight": {"no": 3.0}}), ("sugar", {})):
        X, y = table(name)
        weight = np.arange(len(y)) % 3.0
        model = made(name, n_hidden=20, **more).fit(X, y, sample_weight=weight, compare=True)
        assert model.report_.comparison[GAP] < 1e-7


def test_a_simulation_with_a_number_can_be_repeated():
    X, y = table("iris")
    for weights in WEIGHTS:
        first, second, other, free = (
            made("iris", weights=weights, random_state=seed).fit(X, y).layer_weights()[0] for seed in (1, 1, 2, None)
        )
        np.testing.assert_array_equal(first, second)
        assert min(np.abs(first - other).max(), np.abs(first - free).max()) > 0.1


def test_a_model_file_answers_as_the_model(tmp_path):
    X, y = table("iris")
    model = made("iris").fit(X, y)
    for copy in (load(model.save(tmp_path / "m.tacit")), pickle.loads(pickle.dumps(model))):  # noqa: S301 - scikit-learn
        np.testing.assert_allclose(copy.decision_function(X), model.decision_function(X), atol=1e-8)
        assert (copy.ridge_, copy.rank_, copy.n_hidden_) == (model.ridge_, model.rank_, model.n_hidden_)
    assert model.model_.records_of() == {}


def test_new_records_stay_split_and_the_report_says_what_the_coordinator_could_do():
    X, y = table("iris")
    fed = Federation.simulate(X, y, parties=3, partition="vertical", seed=0)
    model = made("iris").fit(fed)
    np.testing.assert_allclose(model.decision_function(fed), model.decision_function(X), atol=1e-6)
    assert "it solves for X" in model.report_.not_protected[0]


def test_a_pseudo_inverse_of_too_few_directions_warns():
    X, y = table("iris")
    with pytest.warns(UserWarning, match=r"H'H of 200 nodes has only \d+ directions above rounding"):
        made("iris", n_hidden=200, ridge=0).fit(X[::3], y[::3])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"accept_risk": False}, r"SecureELMClassifier with weights='master' gives away.*Use ELMClassifier, or say"),
        ({"weights": "own"}, "The 'weights' parameter of SecureELMClassifier"),
        ({"activation": "cosine"}, "The 'activation' parameter of SecureELMClassifier"),
        ({"ridge": -1.0}, "The 'ridge' parameter of SecureELMClassifier"),
        ({"partition": "horizontal"}, "The 'partition' parameter of SecureELMClassifier|trains on records split"),
    ],
)
def test_a_bad_parameter_is_refused_in_one_line(params, words):
    with pytest.raises(LocalError, match=words) as caught:
        SecureELMClassifier(**{"accept_risk": True, **params}).fit(*table("iris"))
    assert "\n" not in str(caught.value)


def test_targets_that_are_no_numbers_and_cells_that_do_not_fit_are_refused():
    X, y = table("iris")
    with pytest.raises(LocalError, match="use a classifier for classes"):
        SecureELMRegressor(accept_risk=True).fit(Federation.simulate(X, y, parties=3, partition="vertical"))
    with pytest.raises(LocalError, match=r"hidden layer of party-1: a value of size .* does not fit"):
        made("iris").fit(X * 1e12, y)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_rehearsal_opens_what_a_run_opens_at_about_its_cost_and_a_job_has_to_accept_the_risk(weights):
    X, y = table("cancer")
    names = ("a", "b", "c", "d")
    fed = Federation.simulate(X[:400], y[:400], parties=list(names), partition="vertical", coordinator="site")
    roster = Roster({Holder: names, Asker: ("a",), **fed.roster.roles, Coordinator: ("site",)})
    settings = {"classify": True, "activation": "tanh", "n_hidden": 40, "scale": 1.0, "ridge": "gcv"}
    settings |= {"weights": weights, "band": 1000}
    ledger = fed.run("elm_vertical", {"data": Records()}, **settings).ledger
    assert disclosure_of("elm_vertical", settings, roster) == ledger.template()
    cost = cost_of("elm_vertical", settings, roster, 400)
    assert cost.rounds == ledger.rounds
    for p in roster.parties:
        moved = sum(row.bytes for row in ledger if p in (row.sender, row.receiver))
        assert cost.bytes[p] == pytest.approx(moved, rel=0.3, abs=2000)
    assert "from which the records follow" in declared("elm_vertical").attacked
