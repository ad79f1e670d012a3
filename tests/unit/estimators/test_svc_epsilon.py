"""SVC, SVR and the ELMs with epsilon, as a person meets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import tacit
from tacit import SVC, SVR, ELMClassifier, ELMRegressor, FederatedScaler, Federation, Pipeline
from tacit.errors import LocalError

X, Y = load_breast_cancer(return_X_y=True)
IRIS = (scale(load_iris().data), load_iris().target)
CLASSIFIERS, REGRESSORS = (SVC, ELMClassifier), (SVR, ELMRegressor)


def cancer() -> Any:
    return train_test_split(scale(X), Y, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_model_with_epsilon_is_nearly_as_good_as_one_without(kind: Any) -> None:
    train, test, y, z = cancer()
    scores = [kind(epsilon=4, n_parties=5).fit(train, y).score(test, z) for _ in range(4)]
    assert np.mean(scores) > 0.92


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_other_kernels_have_epsilon_too(kernel: str) -> None:
    train, test, y, z = cancer()
    assert SVC(kernel=kernel, epsilon=20, n_parties=5).fit(train, y).score(test, z) > 0.88


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_several_classes_are_one_problem(kind: Any) -> None:
    fitted = kind(epsilon=50, delta=1e-4).fit(*IRIS)
    assert fitted.score(*IRIS) > 0.85
    assert list(fitted.classes_) == [0, 1, 2]


@pytest.mark.parametrize("kind", REGRESSORS)
def test_numbers_are_learnt_within_a_declared_range(kind: Any) -> None:
    Z = np.random.default_rng(0).normal(size=(3000, 3))
    y = Z[:, 0] - Z[:, 1] + 3.0
    assert kind(epsilon=8, target_range=(-2.0, 8.0)).fit(Z, y).score(Z, y) > 0.8


@pytest.mark.slow
def test_more_epsilon_means_less_noise() -> None:
    train, test, y, z = cancer()
    means = [np.mean([SVC(epsilon=e).fit(train, y).score(test, z) for _ in range(4)]) for e in (0.02, 50)]
    assert means[0] + 0.05 < means[1]


def test_noise_never_comes_from_random_state() -> None:
    federation = Federation.simulate(*IRIS, parties=3, partition="horizontal", seed=0)
    asked = SVC(epsilon=1, delta=1e-4, random_state=0).request(federation).with_params(repeat=5)
    one, other = (federation.run(asked).result for _ in range(2))
    np.testing.assert_array_equal(one.map.centres, other.map.centres)
    assert (one.weights != other.weights).all()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_report_has_the_bill(kind: Any) -> None:
    fitted = kind(epsilon=1, delta=1e-4, n_parties=5, classes=(0, 1, 2)).fit(*IRIS)
    figures = fitted.report_.figures
    assert figures["epsilon that was spent"] == pytest.approx(1.0, abs=0.001)
    assert "a factor of at most 2.72" in figures["what that means"]
    assert figures["holders that must keep their noise to themselves"] == "3 of 5"
    assert figures["what it was spent on"] == "products 12%, slopes 88%"
    assert not any("classes" in line for line in fitted.report_.warnings)
    assert any("several records" in line for line in fitted.report_.not_protected)


def test_the_report_says_that_epsilon_does_not_cover_classes_that_were_read_from_labels() -> None:
    fitted = SVC(epsilon=1, delta=1e-4).fit(*IRIS)
    assert any("classes were read from the labels" in line for line in fitted.report_.warnings)


def test_probabilities_of_two_classes_agree_with_predictions() -> None:
    train, _, y, _ = cancer()
    fitted = SVC(epsilon=20, probability=True).fit(train, y)
    chances = fitted.predict_proba(train)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(chances.argmax(axis=1), fitted.predict(train))


def test_records_with_gaps_are_blank_and_not_refused() -> None:
    gaps = IRIS[0].copy()
    gaps[::10, 0] = np.nan
    federation = Federation.simulate(gaps, IRIS[1], parties=3, partition="horizontal", allow_missing=True)
    assert SVC(epsilon=50, delta=1e-4).fit(federation).score(*IRIS) > 0.8


def test_a_pipeline_pays_for_scaling_from_the_same_budget() -> None:
    train, test, y, z = train_test_split(X, Y, random_state=0)
    steps = [("scale", FederatedScaler()), ("svc", SVC(classes=(0, 1)))]
    model = Pipeline(steps, epsilon=8, delta=1e-5, shares={"scale": 0.3, "svc": 0.7}).fit(train, y)
    assert model.score(test, z) > 0.85


def test_a_model_file_predicts_the_same(tmp_path: Any) -> None:
    fitted = SVC(epsilon=10, delta=1e-4).fit(*IRIS)
    again = tacit.load(fitted.save(tmp_path / "m.tacit"))
    np.testing.assert_array_equal(again.predict(IRIS[0]), fitted.predict(IRIS[0]))
    assert again.epsilon == 10


BAD = (
    ({"epsilon": 0}, "The 'epsilon' parameter of SVC must be"),
    ({"epsilon": 1e6}, "in the range \\(0, 100\\]"),
    ({"delta": 0.01}, "delta=0.01 is more than one in 150 records.*use 0.001"),
    ({"honest": 4}, "honest=4 of 3 data holders.*from 1 to 3"),
    ({"class_weight": "balanced"}, "class_weight='balanced' needs exact counts.*give a weight for each class"),
    ({"classes": [0]}, "two or more, each once"),
    ({"loss": "hinge"}, "the loss is a rounded hinge.*leave loss out"),
    ({"loss": "hinge", "features": "exact"}, "features='exact' has no noise"),
    ({"device": "cuda"}, "only the CPU does: leave device out"),
    ({"probability": True}, "probabilities are of two classes"),
    ({"partition": "vertical"}, "epsilon protects whole records.*leave epsilon out"),
)


@pytest.mark.parametrize(("wrong", "match"), BAD)
def test_what_does_not_go_with_epsilon_is_refused(wrong: dict[str, Any], match: str) -> None:
    with pytest.raises(LocalError, match=match):
        SVC(**{"epsilon": 1.0, "delta": 1e-4, **wrong}).fit(*IRIS)


def test_exact_figures_do_not_go_with_epsilon() -> None:
    with pytest.raises(LocalError, match="does not cover compare=True"):
        SVC(epsilon=1, delta=1e-4).fit(*IRIS, compare=True)
    with pytest.raises(LocalError, match="does not cover partial_fit"):
        ELMClassifier(epsilon=1, delta=1e-4).partial_fit(*IRIS)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_range_of_targets_has_to_be_declared(kind: Any) -> None:
    with pytest.raises(LocalError, match="target_range=\\(low, high\\)"):
        kind(epsilon=1, delta=1e-4).fit(IRIS[0], IRIS[0][:, 0])
