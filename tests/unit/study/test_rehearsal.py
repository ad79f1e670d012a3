"""What a rehearsal of a study says is all that a study opens, whatever its tables hold."""

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.choreo import Holder
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of, steps_of
from tacit.errors import LocalError
from tacit.registry import execute_together
from tacit.study.study import agree_on_kinds

PAN = {"use": "SVC", "probability": True}
STUDIES = {
    "raw": ({"use": "TableVectorizer", "add_indicator": True}, PAN),
    "declared": ({"use": "TableVectorizer", "categories": {"sex": ("f", "m")}}, PAN),
    "filled": ({"use": "TableVectorizer"}, {"use": "ELMClassifier", "n_hidden": 5, "probability": True}),
    "searched": (
        {"use": "TableVectorizer"},
        {"use": "FederatedGridSearch", "estimator": PAN, "grid": {"alpha": (0.1, 1.0)}},
    ),
}


@pytest.fixture(scope="module")
def raw():
    """Patients with ids, dates, texts and gaps."""
    draw = np.random.default_rng(0)
    rows = 450
    table = pd.DataFrame(
        {
            "patient": np.arange(rows),
            "visit": (np.datetime64("2024-01-01") + draw.integers(0, 300, rows)).astype(str),
            "sex": draw.choice(["f", "m"], rows),
            "note": [f"note {k}" for k in range(rows)],
            "age": draw.normal(50, 9, rows).round(1),
        }
    )
    table.loc[draw.random(rows) < 0.1, "age"] = np.nan
    return tacit.simulate(table, (table.age.fillna(50) > 50).astype(int), parties=3, raw=True)


@pytest.mark.parametrize(
    "name", [name if name in ("raw", "searched") else pytest.param(name, marks=pytest.mark.slow) for name in STUDIES]
)
@pytest.mark.parametrize("evaluate", [pytest.param(None, marks=pytest.mark.slow), {}], ids=["fitted", "judged"])
def test_nothing_is_opened_that_the_rehearsal_does_not_tell(raw, name, evaluate):
    asked = {"steps": STUDIES[name], "seed": 1, "partition": "horizontal", "evaluate": evaluate}
    held = {each: (Holder, dict(raw.parts)) for each in ("data", "judge")}
    played = execute_together(raw.roster, "study", held, asked).ledger.template().splitlines()
    told = disclosure_of("study", asked, raw.roster).splitlines()
    assert [line for line in played if line not in told] == []


GRAM = {"use": "SVC", "probability": True}
MARKED = {"use": "FederatedImputer", "add_indicator": True}
OVER_COLUMNS = {
    "asked": (MARKED, {"use": "FederatedScaler"}, GRAM),
    "weighted": (MARKED, {"use": "FederatedScaler"}, {**GRAM, "kernel": "linear"}),
    "searched": (
        {"use": "TableVectorizer"},
        {"use": "FederatedGridSearch", "estimator": {"use": "SVC"}, "grid": {"alpha": (0.1, 1.0)}},
    ),
    "agreed": ({"use": "TableVectorizer"}, {"use": "SVC", "kernel": "rbf", "accept_risk": True}),
    "layered": ({"use": "TableVectorizer"}, {"use": "ELMClassifier", "n_hidden": 5, "accept_risk": True}),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "weighted" else name for name in OVER_COLUMNS]
)
def test_over_columns_nothing_is_opened_that_the_rehearsal_does_not_tell(name):
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.normal(size=(60, 5)), columns=list("abcde"))
    labels = (table.a > 0).astype(int)
    if name not in ("asked", "weighted"):
        table["sex"] = draw.choice(["f", "m"], 60)
    table.loc[draw.random(60) < 0.2, "a"] = np.nan
    held_by = tacit.simulate(table, labels, parties=3, partition="vertical", raw=True)
    asked = {"steps": OVER_COLUMNS[name], "seed": 1, "partition": "vertical", "evaluate": {}}
    held = {each: (Holder, dict(held_by.parts)) for each in ("data", "judge")}
    played = execute_together(held_by.roster, "study", held, asked).ledger.template().splitlines()
    told = disclosure_of("study", asked, held_by.roster).splitlines()
    assert [line for line in played if line not in told] == []


def test_a_study_costs_what_its_requests_cost(raw):
    asked = {"steps": STUDIES["raw"], "seed": 1, "partition": "horizontal"}
    cost = cost_of("study", asked, raw.roster, 300)
    assert cost.rounds > 60
    assert set(cost.bytes) == set(raw.roster.parties)


def test_a_study_costs_what_its_steps_cost(raw):
    asked = {"steps": STUDIES["searched"], "seed": 1, "partition": "horizontal", "evaluate": {}}
    steps, whole = steps_of("study", asked, raw.roster, 300), cost_of("study", asked, raw.roster, 300)
    assert list(steps) == ["step1", "step2", "evaluation"]
    assert sum(cost.rounds for cost in steps.values()) == whole.rounds
    assert steps["step2"].rounds > 3 * steps["step1"].rounds


def test_a_column_of_two_kinds_is_refused_and_one_without_values_is_of_any():
    known = {"north": {"a": "text", "b": "empty"}, "south": {"a": "empty", "b": "date"}}
    assert agree_on_kinds(known) == {"a": "text", "b": "date"}
    with pytest.raises(LocalError, match="column 'a' holds texts at north and numbers at south: write it alike"):
        agree_on_kinds({"north": {"a": "text"}, "south": {"a": "number"}})


def test_a_search_of_more_candidates_than_a_rehearsal_tries_can_be_proposed(raw):
    grid = {"alpha": (0.3, 1.0, 3.0, 10.0), "gamma": (0.01, 0.03, 0.1)}
    search = {"use": "FederatedGridSearch", "estimator": PAN, "grid": grid}
    asked = {"steps": (search,), "seed": 1, "partition": "horizontal"}
    assert "core.scores" in disclosure_of("study", asked, raw.roster)


def test_a_declared_column_keeps_its_values_in_a_rehearsal_whatever_it_is_called(raw):
    coded = {"use": "FederatedEncoder", "categories": {"x0": (1, 2, 3)}}
    asked = {"steps": (coded, {"use": "ELMClassifier", "n_hidden": 4}), "seed": 1, "partition": "horizontal"}
    assert "elm" in disclosure_of("study", asked, raw.roster)
