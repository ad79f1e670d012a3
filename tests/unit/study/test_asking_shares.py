"""A model in shares that was fitted over connect, without a pipeline around it: judged and asked again and again."""

from __future__ import annotations

import numpy as np
import pytest
from in_house import Sites, write_table
from sklearn.base import clone
from sklearn.datasets import make_classification

import tacit
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.record_answers import read_answers
from tacit.study.replay import pipeline_of

NAMES, OLD, NEW = ("north", "south", "east"), 60, 40
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
MODELS = {
    "rbf": lambda: tacit.GramSVC(C=2.0, gamma=0.2, tol=1e-8),
    "linear": lambda: tacit.GramSVC(C=2.0, kernel="linear", tol=1e-8),
    "regressor": lambda: tacit.GramSVR(C=2.0, gamma=0.2, tol=1e-8),
    "search": lambda: tacit.FederatedGridSearch(tacit.GramSVC(tol=1e-8, random_state=1), {"C": [0.5, 2.0]}, cv=2),
}
SLOW = ("linear", "search")
KINDS = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MODELS]


class Columns:
    """Sites that hold two columns each of the same records, one of them the labels; and the same in one process."""

    def __init__(self, folder) -> None:
        self.X, self.y = make_classification(OLD + NEW, 6, n_informative=4, flip_y=0.1, random_state=3)
        files = {name: {when: folder / name / f"{when}.csv" for when in ("cohort", "new")} for name in NAMES}
        for i, name in enumerate(NAMES):
            (folder / name).mkdir()
            for when, rows in (("cohort", slice(OLD)), ("new", slice(OLD, None))):
                held = self.X[rows, 2 * i : 2 * i + 2]
                write_table(files[name][when], self._names(i), held, self.y[rows] if i == 0 else None)
        rules = {"protocols": '"any"', "minimum_rows": "15", "predictions": "1000"}
        self.sites = Sites(folder, files, **rules)

    def _names(self, i):
        return [f"{NAMES[i]}_{j}" for j in range(2)]

    def connect(self):
        return self.sites.connect("vertical", labeller="north", aligned=True)

    def here(self, rows):
        parts = [self.X[rows, 2 * i : 2 * i + 2] for i in range(3)]
        made = tacit.from_parts(parts, names=NAMES, y=self.y[rows], partition="vertical", coordinator="clearing")
        return made.rename_features([name for i in range(3) for name in self._names(i)])

    def answers(self, found):
        lines = read_answers("north", self.sites.answers("north", found.job))
        return [float(line[lines[0].index("value" if "value" in lines[0] else "decision for 1")]) for line in lines[1:]]


@pytest.fixture
def columns(tmp_path):
    return Columns(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_model_in_shares_is_judged_and_asked_again_and_again_as_in_one_process(columns, kind):
    old, new = columns.here(slice(OLD)), columns.here(slice(OLD, None))
    alone, there = clone(MODELS[kind]()).fit(old), clone(MODELS[kind]()).fit(columns.connect())
    judged, asked = alone.score(new), getattr(alone, "decision_function", alone.predict)(new)
    for _ in range(2):
        assert there.score(columns.connect().on("new")) == pytest.approx(judged, abs=1e-9)
        np.testing.assert_allclose(columns.answers(there.predict(columns.connect().on("new"))), asked, atol=1e-5)
    found = tacit.evaluate(there, columns.connect().on("new"), name="later")
    assert found.score == pytest.approx(judged, abs=1e-9)
    assert there.report_.evaluations["later"] is found
    if kind == "rbf":
        with pytest.raises(tacit.LocalError, match=f"kept in shares by .*, under job {there.handle_.job}, and"):
            there.predict(columns.X)


@pytest.mark.parametrize("kind", ["rbf", "regressor"])
def test_what_fit_proposes_opens_what_its_rehearsal_said(columns, kind):
    said = columns.connect().rehearse(MODELS[kind]())
    MODELS[kind]().fit(columns.connect())
    assert said.disclosure == columns.sites.jobs[-1].disclosure


@pytest.mark.slow
def test_a_linear_model_that_was_judged_within_its_study_is_judged_again(columns):
    file = columns.sites.root / "study.toml"
    file.write_text(
        'estimator = "GramSVC"\ndataset = "cohort"\npurpose = "a test"\nlegal_basis = "none"\npartition = "vertical"\n'
        'parties = ["north", "south", "east"]\ncoordinator = "clearing"\nlabeller = "north"\naligned = true\n'
        'holdout = 0.4\n[params]\nkernel = "linear"\n[evaluate]\nmin_count = 5\n'
    )
    job = job_of_file(file, submitter="analyst")
    assert job.protocol == "study"
    there = pipeline_of(job.arguments, job.roster, columns.sites.play(job))
    assert there.report_.evaluations["held-out records"].n_records == 24
    judged = [there.score(columns.connect().on("new")) for _ in range(2)]
    answered = np.array(columns.answers(there.predict(columns.connect().on("new"))))
    assert judged == [np.mean((answered > 0) == columns.y[OLD:])] * 2


def test_a_file_of_four_lines_asks_a_study_over_columns_in_another_partys_name(columns):
    old, new = columns.here(slice(OLD)), columns.here(slice(OLD, None))
    there = MODELS["rbf"]().fit(columns.connect())
    file = columns.sites.root / "ask.toml"
    file.write_text(
        f'builds_on = "{there.handle_.job[:8]}"\ndataset = "new"\npurpose = "a test"\nlegal_basis = "none"\n'
        'asker = "east"\n'
    )
    asked = job_of_file(file, submitter="analyst", state=columns.sites.state("analyst"))
    assert (asked.roles.labeller, asked.roles.asker) == ("north", "east")
    lines = read_answers("east", columns.sites.answers("east", columns.sites.play(asked).job))
    told = [float(line[lines[0].index("decision for 1")]) for line in lines[1:]]
    np.testing.assert_allclose(told, MODELS["rbf"]().fit(old).decision_function(new), atol=1e-9)
    file.write_text(f"{file.read_text()}[evaluate]\nmin_count = 5\n")
    with pytest.raises(tacit.LocalError, match="only the labeller gets the answers of a model: leave asker out"):
        job_of_file(file, submitter="analyst", state=columns.sites.state("analyst"))
