"""Jobs that build on earlier ones, through real processes, a real server and everybody's consent.

Answers, alignment, rows and cells.
"""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC as LIBSVM
from typer.testing import CliRunner

import tacit
from organisations.row_sites import dealt
from tacit.cli.app import app
from tacit.cli.one_machine import one_machine

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some
SITES = ("north", "south", "east")
OLD, NEW = 60, 7
SETTING = {"C": 3.0, "gamma": 0.1, "loss": "hinge", "features": "exact"}  # nobody has the model


class Data:
    """One table, and how it is split: by columns (of overlapping patients too), by rows, and cell by cell."""

    def __init__(self, seed: int = 3) -> None:
        self.X, self.y = make_classification(OLD + NEW, 6, n_informative=4, flip_y=0.1, random_state=seed)
        rng = np.random.default_rng(1)
        self.owner = rng.integers(0, 3, self.X.shape)
        self.order = {site: rng.permutation(OLD)[: OLD - 2 * i] for i, site in enumerate(SITES)}

    def columns(self, i, rows):
        return self.X[rows, 2 * i : 2 * i + 2]

    def cells(self, i, rows):
        return np.where(self.owner[rows] == i, self.X[rows], np.nan)


def offer(made, site, dataset, names, X, *, y=None, ids=None):
    """One more dataset of a site, which its policy allows."""
    head = [*(["patient"] if ids is not None else []), *names, *(["label"] if y is not None else [])]
    rows = [[*([f"p{ids[k]}"] if ids is not None else []), *("" if np.isnan(v) else repr(float(v)) for v in row),
             *([str(y[k])] if y is not None else [])] for k, row in enumerate(X)]  # fmt: skip
    with (made.folder(site) / f"{dataset}.csv").open("w") as file:
        csv.writer(file).writerows([head, *rows])
    extra = [*(['id = "patient"'] if ids is not None else []), *(['label = "label"'] if y is not None else [])]
    with made.config(site).open("a") as config:
        config.write("\n".join([f"\n[datasets.{dataset}]", f'path = "{dataset}.csv"', *extra, ""]))
    policy = made.folder(site) / "policy.toml"
    policy.write_text(policy.read_text().replace("[columns]\n", f'[columns]\n{dataset} = "all"\n'))


def connected(made, name, **changes):
    """The analyst's federation under another study."""
    text = made.config("analyst").read_text()
    for key, value in changes.items():
        text = "\n".join(
            [*(line for line in text.splitlines() if not line.startswith(f"{key} =")), *([value] if value else []), ""]
        )
    file = made.folder("analyst") / f"{name}.toml"
    file.write_text(text)
    return tacit.Federation.connect(file)


def tacit_(made, site, *args):
    return CliRunner().invoke(app, [*map(str, args), "--config", str(made.config(site))])


def answers(made, site, job):
    done = tacit_(made, site, "party", "answers", job[:8])
    assert done.exit_code == 0, done.output
    return list(csv.DictReader(done.stdout.splitlines()))


def decisions(lines):
    return [float(line["decision for 1"]) for line in lines]


@pytest.fixture(scope="module")
def data():
    return Data()


@pytest.fixture(scope="module")
def patients():
    """Those of the dataset `clinic`: the same records under two names would be refused by the register."""
    return Data(seed=4)


@pytest.fixture(scope="module")
def made(data, patients, tmp_path_factory):
    old, new, names = slice(0, OLD), slice(OLD, None), [f"x{j}" for j in range(6)]
    folder = tmp_path_factory.mktemp("asked")
    with one_machine(folder, {s: data.columns(i, old) for i, s in enumerate(SITES)}, data.y[:OLD], keep=True) as made:
        for i, site in enumerate(SITES):
            policy = made.folder(site) / "policy.toml"
            text = (
                policy.read_text()
                .replace("predictions = 100", "predictions = 20")
                .replace("minimum_rows = 50", "minimum_rows = 3")
                .replace("minimum_change = 5", "minimum_change = 1")
            )
            text = text.replace("min_records = {least = 10}", "min_records = {least = 3}")
            policy.write_text(re.sub(r"^studies = 20", "studies = 30", text, flags=re.MULTILINE))
            seen = np.arange(1000, 1000 + OLD + NEW)[i::3]  # nobody of the clinic
            cells = np.arange(5000, 5000 + OLD + NEW)
            offer(made, site, "new", [f"{site}_0", f"{site}_1"], data.columns(i, new))
            mine = patients.order[site]
            labels = patients.y[mine] if i == 0 else None
            offer(made, site, "clinic", [f"{site}_a", f"{site}_b"], patients.columns(i, mine), y=labels, ids=mine)
            mine = np.roll(np.arange(OLD + i, OLD + NEW), i)
            offer(made, site, "clinic-new", [f"{site}_b", f"{site}_a"], patients.columns(i, mine)[:, ::-1], ids=mine)
            offer(made, site, "cells", names, data.cells(i, old), y=data.y[:OLD] if i == 0 else None, ids=cells[:OLD])
            offer(made, site, "cells-new", names, data.cells(i, new), ids=cells[OLD:])
            offer(made, site, "rows", names, data.X[:OLD][i::3], y=data.y[:OLD][i::3], ids=seen[:20])
            offer(made, site, "rows-new", names, data.X[OLD:][i::3], ids=seen[20:])
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made


def test_new_records_are_answered_at_the_asker_only_until_the_quota_is_used_up(data, made):
    federation = connected(made, "columns")
    model = tacit.SVC(**SETTING).fit(federation)
    one = tacit.SVC(**SETTING).fit(dealt(made))
    found = model.predict(federation.on("new"))
    assert str(found) == f"the answers are at north only, and read there: tacit party answers {found.job[:8]}"

    told = answers(made, "north", found.job)
    np.testing.assert_allclose(decisions(told), one.decision_function(data.X[OLD:]), atol=1e-3)
    assert [int(line["class"]) for line in told] == one.predict(data.X[OLD:]).tolist()
    assert [line["record"] for line in told] == [str(k + 1) for k in range(NEW)]
    for site in ("south", "east", "clearing"):
        assert len((made.job_folder(site, found.job) / "result.bin").read_bytes()) < 40
    elsewhere = tacit_(made, "south", "party", "answers", found.job)
    assert (
        elsewhere.exit_code,
        f"the answers of job {found.job} are at north only: ask there" in elsewhere.output,
    ) == (2, True)

    file = made.folder("analyst") / "ask.toml"
    file.write_text(
        f'builds_on = "{model.handle_.job[:8]}"\ndataset = "new"\npurpose = "again"\nlegal_basis = "none"\nasker ='
        ' "east"\n'
    )
    asked = tacit_(made, "analyst", "submit", file)
    assert asked.exit_code == 0, asked.output
    assert "at east only: tacit party answers" in " ".join(asked.output.split())
    more = tacit_(made, "analyst", "submit", file)
    assert more.exit_code == 2
    assert "the data of this site does not fit the job" in " ".join(more.output.split())
    noted = tacit_(made, "north", "party", "asked", "--json")
    assert "predictions = 20, of which 6 are left under models of 'cohort'" in noted.output


def test_records_of_overlapping_patients_are_aligned_trained_on_and_named_in_the_answers(patients, made):
    federation = connected(made, "clinic", dataset='dataset = "clinic"')
    model = tacit.SVC(**SETTING).fit(federation.aligned(min_records=20))
    central = LIBSVM(C=3.0, gamma=0.1, tol=1e-8).fit(*dealt(made).pooled()[:2])

    found = model.predict(federation.on("clinic-new").aligned(min_records=3))
    lines = answers(made, "north", found.job)
    asked = [int(line["record"].removeprefix("p")) for line in lines]
    assert sorted(asked) == list(range(OLD + 2, OLD + NEW))
    np.testing.assert_allclose(decisions(lines), central.decision_function(patients.X[asked]), atol=1e-2)


def test_rows_are_trained_on_and_every_hospital_is_answered_about_its_own(data, made):
    horizontal = {"partition": 'partition = "horizontal"', "labeller": ""}
    federation = connected(made, "rows", dataset='dataset = "rows"', **horizontal)
    model = tacit.SVC(**SETTING, partition="horizontal").fit(federation)
    one = tacit.SVC(**SETTING, partition="horizontal").fit(dealt(made))
    with pytest.raises(tacit.PeerError, match="does not say how many new records each party has: declare them in"):
        model.predict(federation.on("rows-new"))
    found = model.predict(federation.on("rows-new", rows={"north": 3, "south": 2, "east": 2}))
    assert found.at == SITES
    for i, site in enumerate(SITES):
        np.testing.assert_allclose(
            decisions(answers(made, site, found.job)), one.decision_function(data.X[OLD:][i::3]), atol=1e-3
        )
    assert tacit_(made, "clearing", "purge", model.handle_.job, "--yes").exit_code == 0
    with pytest.raises(tacit.PeerError, match=f"clearing refuses: job {model.handle_.job} is not here: it was purged"):
        model.predict(federation.on("rows-new", rows={"north": 3, "south": 2, "east": 2}))
    assert decisions(answers(made, "east", found.job))  # what was answered stays as long as its own job says


def test_cells_are_trained_on_and_a_linear_model_is_asked_through_shares_of_its_weights_twice(data, made):
    federation = connected(made, "cells", dataset='dataset = "cells"', partition='partition = "arbitrary"')
    model = tacit.SVC(**{**SETTING, "kernel": "linear"}, partition="arbitrary").fit(federation)
    whole = dealt(made)
    central = LIBSVM(C=3.0, kernel="linear", tol=1e-8).fit(
        sum(part.X for part in whole.parts.values()), whole.pooled()[1]
    )
    for _ in range(2):
        found = model.predict(federation.on("cells-new"))
        np.testing.assert_allclose(
            decisions(answers(made, "north", found.job)), central.decision_function(data.X[OLD:]), atol=0.05
        )
    assert not (made.job_folder("clearing", found.job) / "used.json").exists()
