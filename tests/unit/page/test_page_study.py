"""The form of a study writes the file that a person would, and everything about it is checked as that is."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest

from tacit.consortium.advice import advise
from tacit.consortium.advice.advising import GRAVITY, list_methods
from tacit.consortium.advice.federations import invent
from tacit.consortium.jobs.proposal import job_of_file
from tacit.errors import LocalError
from tacit.page.rendering import make_environment
from tacit.page.study_form import Chosen, check_file_name, describe_split, list_estimators, write_params, write_study

CHOSEN = Chosen(
    name="study", dataset="cohort", purpose='who "falls" ill', legal_basis="consent", parties=("a", "b", "c"),
    coordinator="clearing", partition="horizontal", labeller="", retention_days="30", seed="7",
    rows="a = 60\nb = 60\nc = 60",
    aligned=False, gaps="median", units=True, estimator="PanSVC", params='kernel = "linear"\n', grid="C = [1, 10]",
    cv="3", holdout="0.25", judge=True,
)  # fmt: skip


def test_the_file_of_a_form_is_a_study_with_its_steps(tmp_path):
    text = write_study(CHOSEN)
    found = tomllib.loads(text)
    assert [step["use"] for step in found["step"]] == ["FederatedImputer", "FederatedScaler", "FederatedGridSearch"]
    assert found["step"][2]["estimator"] == {"use": "PanSVC", "kernel": "linear"}
    assert found["step"][2]["grid"] == {"C": [1, 10]}
    assert (found["purpose"], found["holdout"], found["evaluate"]) == ('who "falls" ill', 0.25, {})
    file = tmp_path / "study.toml"
    file.write_text(text)
    job = job_of_file(file, submitter="analyst")
    assert (job.protocol, job.rows, job.arguments["seed"]) == ("study", {"a": 60, "b": 60, "c": 60}, 7)


def test_a_method_without_steps_is_a_job_of_its_own():
    alone = dataclasses.replace(CHOSEN, gaps="", units=False, grid="", holdout="", judge=False, params="C = 2.0")
    found = tomllib.loads(write_study(alone))
    assert (found["estimator"], found["params"]) == ("PanSVC", {"C": 2.0})
    assert "step" not in found


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("params", "C = ", r"parameters: .*write lines such as C = 10, texts in quotes"),
        ("grid", "kernel = rbf", r"the grid: .*texts in quotes"),
        ("cv", "three", r"folds: 'three' is not a number: write one such as 5"),
        ("seed", "1\npurpose = 'another'", r"the seed: .* is not a number"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(field, typed, words):
    with pytest.raises(LocalError, match=words):
        write_study(dataclasses.replace(CHOSEN, **{field: typed}))


def test_nothing_that_is_typed_can_write_another_line():
    hostile = 'x"\nparties = ["a"]\n[[step]]\nuse = "Other'
    text = write_study(dataclasses.replace(CHOSEN, purpose=hostile, dataset=hostile))
    found = tomllib.loads(text)
    assert (found["purpose"], found["parties"]) == (hostile, ["a", "b", "c"])
    assert len(found["step"]) == 3


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "x" * 200])
def test_a_study_is_written_to_no_other_folder(name):
    with pytest.raises(LocalError, match="cannot name a file: use letters"):
        check_file_name(name)


def test_every_learner_is_offered():
    assert {"PanSVC", "GramSVC", "ConsensusSVC"} <= set(list_estimators())


def test_a_split_is_read_for_the_advisor_and_too_few_sites_are_refused():
    assert describe_split(CHOSEN) == ("horizontal", 3, 180)
    assert describe_split(dataclasses.replace(CHOSEN, partition="vertical")) == ("vertical", 3, 60)
    assert describe_split(dataclasses.replace(CHOSEN, rows="")) == ("horizontal", 3, None)
    with pytest.raises(LocalError, match="2 sites were chosen: tick at least 3 to be advised"):
        describe_split(dataclasses.replace(CHOSEN, parties=("a", "b")))


def test_what_the_advisor_proposes_can_be_written_into_the_form():
    for name, model in list_methods():
        params = write_params(model)
        found = tomllib.loads(write_study(dataclasses.replace(CHOSEN, params=params, grid="")))["step"][2]
        assert ("view" in found) == ("blind" in name)
        if "blind" in name:
            assert found["view"] == "blind"


def test_the_advisor_s_part_of_the_page_ranks_methods_and_escapes_reasons():
    found = advise(invent("horizontal", 3, 20), records=180)
    found = dataclasses.replace(found, others={**found.others, "<b>Other</b>": "it <i>does</i> not fit"})
    shown = (
        make_environment()
        .get_template("advice.html")
        .render(found=found, fault="", gravity=GRAVITY, write_params=write_params)
    )
    assert shown.index("GramSVC(view=") < shown.index(">PanSVC<")
    assert 'data-use="GramSVC" data-params="view = &#34;blind&#34;"' in shown
    assert "<b>Other" not in shown
