"""The form of a study writes the file that a person would, and everything about it is checked as that is."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest

from tacit import SVC
from tacit.consortium.advice import advise
from tacit.consortium.advice.advising import GRAVITY, invent, list_methods
from tacit.consortium.jobs.proposal import job_of_file
from tacit.errors import LocalError
from tacit.page.studies import Chosen, check_file_name, describe_split, list_estimators, write_params, write_study
from tacit.page.visit import make_environment

CHOSEN = Chosen(
    name="study", dataset="cohort", purpose='who "falls" ill', legal_basis="consent", parties=("a", "b", "c"),
    coordinator="clearing", partition="horizontal", labeller="", retention_days="30", seed="7",
    rows="a = 60\nb = 60\nc = 60",
    aligned=False, gaps="median", units=True, estimator="SVC", params='kernel = "linear"\n', grid="C = [1, 10]",
    judge=True,
)  # fmt: skip


def test_the_file_of_a_form_is_a_study_with_its_steps(tmp_path):
    text = write_study(CHOSEN)
    found = tomllib.loads(text)
    assert [step["use"] for step in found["step"]] == ["FederatedImputer", "FederatedScaler", "FederatedGridSearch"]
    assert found["step"][2]["estimator"] == {"use": "SVC", "kernel": "linear"}
    assert found["step"][2]["grid"] == {"C": [1, 10]}
    assert (found["purpose"], found["evaluate"]) == ('who "falls" ill', {})
    file = tmp_path / "study.toml"
    file.write_text(text)
    job = job_of_file(file, submitter="analyst")
    assert (job.protocol, job.rows, job.arguments["seed"]) == ("study", {"a": 60, "b": 60, "c": 60}, 7)


def test_a_method_without_steps_is_a_job_of_its_own():
    alone = dataclasses.replace(CHOSEN, gaps="", units=False, grid="", judge=False, params="C = 2.0")
    found = tomllib.loads(write_study(alone))
    assert (found["estimator"], found["params"]) == ("SVC", {"C": 2.0})
    assert "step" not in found


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("params", "C = ", r"parameters: .*write lines such as C = 10, texts in quotes"),
        ("grid", "kernel = rbf", r"the grid: .*texts in quotes"),
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
    assert {"SVC"} <= set(list_estimators())


def test_a_split_is_read_for_the_advisor_and_too_few_sites_are_refused():
    assert describe_split(CHOSEN) == ("horizontal", 3, 180)
    assert describe_split(dataclasses.replace(CHOSEN, partition="vertical")) == ("vertical", 3, 60)
    assert describe_split(dataclasses.replace(CHOSEN, rows="")) == ("horizontal", 3, None)
    with pytest.raises(LocalError, match="2 sites were chosen: tick at least 3 to be advised"):
        describe_split(dataclasses.replace(CHOSEN, parties=("a", "b")))


def test_what_the_advisor_proposes_can_be_written_into_the_form():
    for model in (*(model for _, model in list_methods()), SVC(kernel="linear", C=2.0)):
        params = write_params(model)
        found = tomllib.loads(write_study(dataclasses.replace(CHOSEN, params=params, grid="")))["step"][2]
        assert {name: found[name] for name in found if name not in ("name", "use")} == tomllib.loads(params)
    assert tomllib.loads(params) == {"kernel": "linear", "C": 2.0}


def test_the_advisor_s_part_of_the_page_ranks_methods_and_escapes_reasons():
    found = advise(invent("horizontal", 3, 20), records=180)
    first = dataclasses.replace(found.fits[0], model=SVC(kernel="linear"))
    found = dataclasses.replace(
        found, fits=(first, *found.fits[1:]), others={**found.others, "<b>Other</b>": "it <i>does</i> not fit"}
    )
    shown = (
        make_environment()
        .get_template("advice.html")
        .render(found=found, fault="", gravity=GRAVITY, write_params=write_params)
    )
    assert shown.index(">SVC<") < shown.index(">GramSVC<")
    assert 'data-use="SVC" data-params="kernel = &#34;linear&#34;"' in shown
    assert "<b>Other" not in shown
