"""What a step may choose of a machine of the core: what a job may, and no value between."""

import pytest

from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.requests import requests_of
from tacit.errors import LocalError

GIVEN = {
    "partition": "horizontal",
    "parties": ("north", "south", "east"),
    "coordinator": "clearing",
    "dataset": "cohort",
    "submitter": "analyst",
    "purpose": "readmission",
    "legal_basis": "consent",
}
BETWEEN = {"alpha": 0.02, "C": 1.5, "gamma": 0.0123, "coef0": 0.7, "features": 123}
ON_IT = {"alpha": 0.03, "C": 30.0, "gamma": 1e-3, "coef0": 1.0}


def study(**step):
    return propose("study", {"steps": [step], "seed": 3}, **GIVEN)


@pytest.mark.parametrize("name", BETWEEN)
def test_a_step_chooses_from_a_menu(name):
    given = {"loss": "hinge"} if name == "C" else {}
    chosen = {**given, name: 100 if name == "features" else ON_IT[name]}
    assert [asked.params[name] for asked in requests_of(study(use="SVC", **chosen))] == [chosen[name]]
    says = f"parameter {name!r} is .* (times a power of ten|of one digit and zeros)"
    with pytest.raises(LocalError, match=f"train_svm is a step of the study, whose {says}: correct the step"):
        study(use="SVC", **given, **{name: BETWEEN[name]})


def test_a_search_chooses_from_it_too():
    search = {"use": "FederatedGridSearch", "estimator": {"use": "SVC"}}
    study(**search, grid={"gamma": (0.01, 0.03), "alpha": (0.1, 1.0)})
    with pytest.raises(LocalError, match="search_machine is a step of the study, whose parameter 'settings: gamma' is"):
        study(**search, grid={"gamma": (0.01, 0.0123)})


@pytest.mark.parametrize("use", ["SVC", "ELMClassifier"])
def test_no_step_weighs_classes(use):
    with pytest.raises(LocalError, match=r"parameter 'class_prices' is .* each no number: correct the step"):
        study(use=use, class_weight={0: 1.0, 1: 1e6})


def test_layers_have_round_sizes():
    study(use="ELMClassifier", n_hidden=400, scale=0.3)
    for odd in ({"n_hidden": 401}, {"scale": 0.31}):
        with pytest.raises(LocalError, match=r"(times a power of ten|of one digit and zeros): correct the step"):
            study(use="ELMClassifier", **odd)
