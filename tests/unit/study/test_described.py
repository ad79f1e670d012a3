"""A study that begins with a look at its table, or is nothing else."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.choreo import Holder
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.rehearsal import disclosure_of
from tacit.consortium.jobs.requests import protocols_of
from tacit.errors import LocalError
from tacit.registry import execute_together
from tacit.study.replay import Known, refit

STEPS = ({"use": "TableVectorizer"}, {"use": "SVC", "random_state": 0})
LOOK = {"categories": {"grade": (1, 2, 3)}}


def patients(n=240):
    draw = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": draw.normal(50, 9, n),
            "sex": draw.choice(["f", "m"], n),
            "seen": np.datetime64("2024-01-01") + draw.integers(0, 300, n),
            "grade": draw.integers(1, 4, n).astype(float),
        }
    )
    table.loc[draw.random(n) < 0.1, "age"] = np.nan
    return table, (table.age.fillna(50) > 50).astype(int).to_numpy()


def federation(partition):
    table, y = patients()
    return tacit.simulate(table, y, parties=3, partition=partition, raw=True)


def play(fed, **asked):
    """Play a study as sites do; return what an analyst makes of it, and its ledger."""
    held = {each: (Holder, dict(fed.parts)) for each in ("data", "judge")}
    asked = {"seed": 1, "partition": fed.partition, **asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = execute_together(fed.roster, "study", held, asked)
        known = Known(done.result["told"], done.result["ended"], done.ledger.rows, done.ledger.opens, done.history)
        return refit(asked, fed.roster, known), done.ledger


@pytest.mark.parametrize("partition", ["horizontal", "vertical", pytest.param("arbitrary", marks=pytest.mark.slow)])
def test_a_study_that_only_looks_tells_what_a_simulation_does(partition):
    fed = federation(partition)
    found, _ = play(fed, describe=LOOK)
    alone = fed.describe(**LOOK)
    assert dataclasses.asdict(found.overview_.description) == dataclasses.asdict(alone.description)


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_nothing_is_opened_that_the_rehearsal_does_not_tell(partition):
    fed, asked = federation(partition), {"describe": LOOK}
    _, ledger = play(fed, **asked)
    told = disclosure_of("study", {"seed": 1, "partition": partition, **asked}, fed.roster).splitlines()
    assert [line for line in ledger.template().splitlines() if line not in told] == []


@pytest.mark.slow
def test_the_report_of_a_study_that_began_with_a_look_has_a_section_about_the_table():
    found, _ = play(federation("horizontal"), steps=STEPS, describe=LOOK)
    report = found.report_
    assert report.description.columns["sex"].categories.keys() == {"f", "m"}
    opened = {fact.identifier for row in report.opens for fact in row.facts}
    assert {"core.description", "core.columns"} <= opened
    assert "The table" in report.to_text()


@pytest.mark.slow
def test_a_look_changes_nothing_of_the_model_but_its_noise():
    (one, _), (other, _) = (play(federation("horizontal"), steps=STEPS, **more) for more in ({"describe": LOOK}, {}))
    X = patients()[0]
    assert np.mean(one.predict(X) == other.predict(X)) > 0.9


def test_columns_that_no_step_can_use_are_refused_before_they_are_described():
    steps = ({"use": "FederatedImputer"}, STEPS[1])
    with pytest.raises(LocalError, match="column 'sex' holds texts, which FederatedImputer cannot use"):
        play(federation("horizontal"), steps=steps, describe={})


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({}, r"the study has no steps and describes nothing: add \[\[step\]\], or \[describe\]"),
        ({"describe": {}, "evaluate": {}}, "the study has no steps, so there is no model to evaluate: add"),
        ({"describe": {"bins": 7}}, "describe has no option 'bins': it takes categories"),
    ],
)
def test_a_study_that_asks_for_nothing_or_for_what_is_not_there_is_refused(asked, says):
    with pytest.raises(LocalError, match=says):
        play(federation("horizontal"), **asked)


FILE = """
dataset = "cohort"
purpose = "a look"
legal_basis = "none"
parties = ["a", "b", "c"]
coordinator = "clearing"
classes = ["ill", "well"]

[describe.categories]
grade = [1, 2]
"""


def test_a_file_may_ask_for_a_look_and_nothing_else(tmp_path):
    (tmp_path / "look.toml").write_text(FILE)
    job = job_of_file(tmp_path / "look.toml", submitter="analyst")
    assert protocols_of(job) == ("describe_table",)
    assert job.arguments["describe"] == {"categories": {"grade": (1, 2)}}
    assert job.arguments["class_names"] == ("ill", "well")
    assert "steps" not in job.params
