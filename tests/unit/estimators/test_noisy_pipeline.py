"""One budget for all steps of a pipeline: declared shares, the bill in the report, and what it does not cover."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit import SVC, ELMClassifier, FederatedImputer, FederatedScaler, Federation, Pipeline, TableVectorizer, load
from tacit.errors import LocalError
from tacit.numeric.privacy.accountant import mu_of

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :5]


def pipeline(**given):
    steps = [("fill", FederatedImputer()), ("scale", FederatedScaler()), ("model", ELMClassifier(classes=(0, 1)))]
    return Pipeline(steps, **{"epsilon": 3.0, "delta": 1e-4, **given})


def costs(made):
    return np.array([mu_of(step.epsilon, step.delta) ** 2 for _, step in made.steps]) / mu_of(3.0, 1e-4) ** 2


def test_steps_spend_their_shares_and_together_the_budget() -> None:
    federation = Federation.simulate(X, y, parties=3, partition="horizontal", seed=0)
    fitted = pipeline(shares={"fill": 0.1, "scale": 0.2, "model": 0.7}, honest=3).fit(federation)
    np.testing.assert_allclose(costs(fitted), [0.1, 0.2, 0.7], rtol=1e-9)
    assert fitted[-1].honest == 3
    figures = fitted.report_.figures
    assert figures["epsilon of all steps"] == pytest.approx(3.0, abs=1e-3)
    assert figures["what the epsilon of all steps was spent on"] == "fill 10%, scale 20%, model 70%"
    assert "by a factor of at most 20.1" in figures["what the epsilon of all steps means"]
    assert figures["epsilon that was spent, scale"] == pytest.approx(fitted[1].epsilon, abs=0.01)
    assert fitted.score(X, y) > 0.5


def test_without_shares_the_last_step_has_half_and_plain_records_do_as_well(tmp_path) -> None:
    fitted = pipeline().fit(X, y)
    np.testing.assert_allclose(costs(fitted), [0.25, 0.25, 0.5], rtol=1e-9)
    assert load(fitted.save(tmp_path / "all.tacit"))[-1].epsilon == fitted[-1].epsilon
    alone = Pipeline([("svm", SVC(kernel="linear"))], epsilon=3.0, delta=1e-4).fit(X, y)
    assert alone[-1].epsilon == pytest.approx(3.0)


def test_a_pipeline_without_epsilon_leaves_its_steps_alone() -> None:
    steps = [("scale", FederatedScaler(epsilon=2.0, delta=1e-4)), ("model", ELMClassifier(random_state=0))]
    fitted = Pipeline(steps).fit(X, y)
    assert fitted[0].epsilon == 2.0
    assert fitted[1].epsilon is None
    assert "epsilon of all steps" not in fitted.report_.figures


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0}, "The 'epsilon' parameter of Pipeline must be"),
        ({"delta": 1.0}, "The 'delta' parameter of Pipeline must be"),
        ({"shares": {"fill": 0.5, "model": 0.5}}, "give them for fill, scale, model"),
        ({"shares": {"fill": 0.5, "scale": 0.5, "model": 0.5}}, "at most 1 together"),
        ({"shares": {"fill": 0.0, "scale": 0.5, "model": 0.5}}, "each above 0"),
        (
            {"steps": [("code", TableVectorizer()), ("svm", SVC())]},
            "step 'code' is a TableVectorizer",
        ),
    ],
)
def test_what_a_budget_does_not_cover_is_refused_in_one_line(given, words) -> None:
    made = pipeline(**{name: value for name, value in given.items() if name != "steps"})
    if "steps" in given:
        made.steps = given["steps"]
    with pytest.raises(LocalError, match=words):
        made.fit(X, y)
