"""A model in shares that was fitted over connect, without a pipeline around it: asked again and again."""

from __future__ import annotations

import numpy as np
import pytest
from in_house import Sites, write_table
from sklearn.base import clone
from sklearn.datasets import make_classification

import tacit
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.jobs.record_answers import read_answers

NAMES, OLD, NEW = ("north", "south", "east"), 60, 40
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
WHOLE = {"C": 3.0, "loss": "hinge", "features": "exact"}  # the kernel that leaves a model in shares
MODELS = {
    "rbf": lambda: tacit.SVC(gamma=0.3, **WHOLE),
    "linear": lambda: tacit.SVC(kernel="linear", **WHOLE),
    "regressor": lambda: tacit.SVR(gamma=0.3, target_range=(-1.0, 1.0), **WHOLE),
}
KINDS = [pytest.param(name, marks=pytest.mark.slow) if name == "linear" else name for name in MODELS]
ROUNDED = 2.0**-10  # answers of a model in shares are rounded, of a linear one the most


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

    def judged_by(self):
        """The records by which sites judged a model last; asked the same again, they return what they found then."""
        return self.sites.used(next(job for job in self.sites.jobs[::-1] if job.protocol == "study_scores"))

    def answers(self, found):
        lines = read_answers("north", self.sites.answers("north", found.job))
        return [float(line[lines[0].index("value" if "value" in lines[0] else "decision for 1")]) for line in lines[1:]]


@pytest.fixture
def columns(tmp_path):
    return Columns(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_bare_model_in_shares_is_asked_again_and_again_as_in_one_process_and_not_judged(columns, kind):
    new, there = columns.here(slice(OLD, None)), clone(MODELS[kind]()).fit(columns.connect())
    alone = clone(MODELS[kind]()).fit(columns.sites.used())
    asked = getattr(alone, "decision_function", alone.predict)(new)
    for _ in range(2):
        np.testing.assert_allclose(columns.answers(there.predict(columns.connect().on("new"))), asked, atol=ROUNDED)
    with pytest.raises(tacit.LocalError, match="the answers of a model in shares are told to who asks: compare its"):
        there.score(columns.connect().on("new"))
    with pytest.raises(tacit.LocalError, match="cannot be run between north, south, east: connect to them"):
        there.predict(columns.X)


def test_a_public_model_over_columns_is_judged_again_and_again(columns):
    there = tacit.SVC(random_state=1).fit(columns.connect())
    judged = [there.score(columns.connect().on("new")) for _ in range(2)]
    found = tacit.evaluate(there, columns.connect().on("new"), name="later")
    assert judged == [tacit.evaluate(there, columns.judged_by()).score] * 2 == [found.score] * 2
    assert there.report_.evaluations["later"] is found


@pytest.mark.parametrize("kind", ["rbf", "regressor"])
def test_what_fit_proposes_opens_what_its_rehearsal_said(columns, kind):
    said = columns.connect().rehearse(MODELS[kind]())
    MODELS[kind]().fit(columns.connect())
    assert said.disclosure == columns.sites.jobs[-1].disclosure


@pytest.mark.slow
def test_a_file_of_four_lines_asks_a_study_over_columns_in_another_partys_name(columns):
    new, there = columns.here(slice(OLD, None)), MODELS["rbf"]().fit(columns.connect())
    old = columns.sites.used()
    file = columns.sites.root / "ask.toml"
    file.write_text(
        f'builds_on = "{there.handle_.job[:8]}"\ndataset = "new"\npurpose = "a test"\nlegal_basis = "none"\n'
        'asker = "east"\n'
    )
    asked = job_of_file(file, submitter="analyst", state=columns.sites.state("analyst"))
    assert (asked.labeller, asked.asker) == ("north", "east")
    lines = read_answers("east", columns.sites.answers("east", columns.sites.play(asked).job))
    told = [float(line[lines[0].index("decision for 1")]) for line in lines[1:]]
    np.testing.assert_allclose(told, MODELS["rbf"]().fit(old).decision_function(new), atol=ROUNDED)
    file.write_text(f"{file.read_text()}[evaluate]\n")
    with pytest.raises(tacit.LocalError, match="only the labeller gets the answers of a model: leave asker out"):
        job_of_file(file, submitter="analyst", state=columns.sites.state("analyst"))
