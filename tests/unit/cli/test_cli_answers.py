"""`tacit party answers`: what the person who asked gets to see, and nobody else."""

import csv
import stat

import msgspec
import numpy as np
import pytest

from job_files import one_step
from tacit.cli.one_machine import one_machine
from tacit.consortium.jobs.answers import Finished, Proposal, Start
from tacit.consortium.jobs.folder import Used, folder_of
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.jobs.record_answers import list_answers
from tacit.study.study import Told

KERNEL = {"kernel": "rbf", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0}
VALUES = np.array([[0.5], [-1.25]])


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    tables = dict.fromkeys(("north", "south", "east"), np.ones((60, 2)))
    with one_machine(tmp_path_factory.mktemp("net"), tables, np.arange(60) % 2, keep=True) as made:
        yield made


def over(machine, job, *, own, public, **known):
    """A job that has ended at everybody."""
    for site, result in {**{name: {} for name in machine.hospitals}, "north": own}.items():
        folder = folder_of(machine.folder(site) / "state", job.id)
        folder.propose(Proposal(job=job.canonical().decode(), submitter="analyst", signature=""))
        folder.start = Start(job=job.id, attempt=1, answers=())
        folder.keep_result(result, PublicResult.of(public), Used(features=("a", "b"), **(known if result else {})))
        folder.finished = Finished(job=job.id, site=site, attempt=1, ok=True)
    return job


@pytest.fixture(scope="module")
def jobs(machine):
    given = {
        "partition": "vertical", "parties": machine.hospitals, "coordinator": "clearing", "dataset": "cohort",
        "submitter": "analyst", "purpose": "a test", "legal_basis": "consent", "labeller": "north",
    }  # fmt: skip
    public = {"told": Told({"north": ("a", "b")}, {}), "ended": ()}
    exact = one_step("SVC", features="exact", loss="hinge", **KERNEL)
    trained = over(
        machine,
        propose("study", exact, **given),
        own={"share": np.ones(2)},
        public=public,
    )
    asked = propose("study_answers", exact, **given, builds_on=[trained.id])
    return trained, over(
        machine,
        asked,
        own={"result": VALUES},
        public={},
        records=("p7", "p9"),
        classes=("ill", "well"),
        sigmoids=((-1.0, 0.0),),
    )


def test_answers_have_records_classes_values_and_probabilities(machine, jobs, tacit, folder):
    done = tacit(
        "party", "answers", jobs[1].id[:8], "--config", machine.config("north"), "--out", folder / "answers.csv"
    )
    assert done.code == 0, done.err
    assert f"answers about 2 records written to {folder / 'answers.csv'}" in done.out
    assert stat.S_IMODE((folder / "answers.csv").stat().st_mode) == 0o600
    lines = list(csv.DictReader((folder / "answers.csv").read_text().splitlines()))
    assert [(line["record"], line["class"], float(line["decision for well"])) for line in lines] == [
        ("p7", "well", 0.5), ("p9", "ill", -1.25)
    ]  # fmt: skip
    assert float(lines[0]["probability of well"]) == pytest.approx(1 / (1 + np.exp(-0.5)))


@pytest.mark.parametrize(
    ("site", "which", "words"),
    [
        ("south", 1, "are at north only: ask there"),
        ("north", 0, "is a study and asks nothing: give the id of a prediction"),
    ],
)
def test_there_are_no_answers_elsewhere(machine, jobs, tacit, site, which, words):
    done = tacit("party", "answers", jobs[which].id, "--config", machine.config(site))
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_there_are_no_answers_before_the_end(machine, jobs, tacit):
    trained, asked = jobs
    later = msgspec.structs.replace(asked, id="b" * 32)
    folder = folder_of(machine.folder("north") / "state", later.id)
    folder.propose(Proposal(job=later.canonical().decode(), submitter="analyst", signature=""))
    done = tacit("party", "answers", later.id, "--config", machine.config("north"))
    assert f"job {later.id} has no answers yet: see tacit status" in done.err
    assert trained.id not in done.out


def test_several_classes_have_a_value_each_and_numbers_stand_alone():
    several = list_answers(
        np.array([[0.1, 0.9, -1.0], [0.3, 0.2, 0.1]]), Used(records=("1", "2"), classes=("a", "b", "c"))
    )
    assert several == [
        ["record", "class", "decision for a", "decision for b", "decision for c"], ["1", "b", 0.1, 0.9, -1.0],
        ["2", "a", 0.3, 0.2, 0.1],
    ]  # fmt: skip
    assert list_answers(np.array([[2.5]]), Used(records=("1",))) == [["record", "value"], ["1", 2.5]]
