"""SVC with epsilon at sites with their own rules: as a job of its own, and as the step of a study."""

from __future__ import annotations

import numpy as np
import pytest
from in_house import Sites, write_table
from sklearn.datasets import make_classification

import tacit
from tacit.consortium.consent.budget import price
from tacit.errors import LocalError
from tacit.numeric.privacy.accountant import mu_of
from tacit.study.steps import write_steps

NAMES = ("north", "south", "east")


@pytest.fixture
def sites(tmp_path):
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, class_sep=2.0, random_state=3)
    files = {name: {"cohort": tmp_path / f"{name}.csv"} for name in NAMES}
    for i, name in enumerate(NAMES):
        write_table(files[name]["cohort"], ("a", "b", "c", "d"), X[i::3], y[i::3])
    return Sites(tmp_path, files), X, y


def noisy(**more):
    return tacit.SVC(kernel="linear", epsilon=4.0, delta=1e-4, **more)


def test_sites_train_with_epsilon_and_classes_have_to_be_declared(sites):
    made, X, y = sites
    with pytest.raises(LocalError, match=r"say classes=\[\.\.\.\]"):
        noisy().fit(made.connect().ungated())
    alone = noisy(classes=[0, 1]).fit(made.connect().ungated())
    study = tacit.Pipeline([("svm", noisy(classes=[0, 1]))]).fit(made.connect().ungated())
    for model in (alone, study[-1]):
        assert model.report_.figures["epsilon that was spent"] == pytest.approx(4.0, abs=0.01)
        assert np.mean(model.model_.decide(X)[:, 0] > 0) > 0
        assert np.mean((model.model_.decide(X)[:, 0] > 0) == y) > 0.8
    assert (alone.model_.weights != study[-1].model_.weights).any()  # the noise of another run is another


def test_a_study_divides_one_budget_over_its_steps_and_sites_read_what_they_cost_together(sites):
    made, X, y = sites
    steps = [("scale", tacit.FederatedScaler()), ("elm", tacit.ELMClassifier(classes=(0, 1), n_hidden=10))]
    pipeline = tacit.Pipeline(steps, epsilon=4.0, delta=1e-4, shares={"scale": 0.3, "elm": 0.7})
    study = pipeline.fit(made.connect().ungated())
    assert study.report_.figures["epsilon of all steps"] == pytest.approx(4.0, abs=0.01)
    written = write_steps(pipeline)
    assert sum(mu_of(step["epsilon"], step["delta"]) ** 2 for step in written) == pytest.approx(mu_of(4.0, 1e-4) ** 2)
    assert [price(job) for job in made.jobs] == pytest.approx([mu_of(4.0, 1e-4) ** 2])
    scaled = (X - study[0].mean_) / study[0].scale_
    assert np.mean((study[-1].model_.decide(scaled)[:, 0] > 0) == y) > 0.6


def test_a_study_is_judged_with_epsilon_and_sites_count_what_that_costs(sites):
    made, _, _ = sites
    federation = made.connect().ungated()
    model = tacit.Pipeline([("svm", noisy(classes=[0, 1]))]).fit(federation)
    found = tacit.evaluate(model, federation, epsilon=2.0, delta=1e-4, name="all")
    assert found.n_records == pytest.approx(60, abs=20)
    assert found.accuracy > 0.6
    assert model.report_.figures["epsilon that was spent on judging all"] == pytest.approx(2.0, abs=0.01)
    assert [price(job) for job in made.jobs] == pytest.approx([mu_of(4.0, 1e-4) ** 2, mu_of(2.0, 1e-4) ** 2])
