"""Hospitals describe their tables to an analyst, by a job; and find out before it where they differ."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tacit
from organisations.row_sites import dealt
from tacit.cli.app import app
from tacit.cli.one_machine import one_machine

pytest.importorskip("nats")

NAMES = ("h1", "h2", "h3")
DATASETS = """
[datasets.units]
path = "cohort.csv"
label = "diagnosis"
id = "patient"
[datasets.units.units]
chol = "{unit}"

[datasets.apart]
path = "apart.csv"
label = "diagnosis"
id = "patient"
"""


def tables():
    """Raw records by hospital."""
    draw, n = np.random.default_rng(2), 300
    table = pd.DataFrame(
        {
            "chol": draw.gamma(4, 50, n),
            "sex": draw.choice(["f", "m"], n),
            "seen": (np.datetime64("2024-01-01") + draw.integers(0, 300, n)).astype(str),
            "diagnosis": draw.choice(["ill", "well"], n),
        }
    )
    table.loc[draw.random(n) < 0.1, "chol"] = np.nan
    return {name: table[i::3] for i, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def rows():
    return tables()


@pytest.fixture(scope="module")
def sites(rows, tmp_path_factory):
    """All sites: with the tables, with another unit at h2, and with another way to write classes there."""
    X, y = dict.fromkeys(NAMES, np.zeros((1, 1))), dict.fromkeys(NAMES, np.zeros(1, dtype=np.int64))
    with one_machine(tmp_path_factory.mktemp("describe"), X, y, keep=True) as made:
        for name, table in rows.items():
            folder, other = made.folder(name), name == "h2"
            table.assign(patient=table.index).to_csv(folder / "cohort.csv", index=False)  # whose id site.toml names
            words = {"ill": "Ill", "well": "well"} if other else {"ill": "ill", "well": "well"}
            table.assign(patient=table.index, diagnosis=table.diagnosis.map(words)).to_csv(
                folder / "apart.csv", index=False
            )
            config, policy = made.config(name), folder / "policy.toml"
            config.write_text(config.read_text() + DATASETS.format(unit="mmol/l" if other else "mg/dl"))
            offered = 'cohort = "all"\nunits = "all"\napart = "all"\n#'
            policy.write_text(policy.read_text().replace('cohort = "all"', offered, 1))
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made


def test_the_analyst_is_told_what_a_simulation_of_the_same_records_tells(sites):
    found = tacit.connect(sites.config("analyst")).describe()
    here = dealt(sites)
    assert 200 < here.n_rows < 300  # others are kept to judge by
    alone = here.describe()
    for name in ("chol", "(labels)"):
        assert dataclasses.asdict(found[name]) == dataclasses.asdict(alone[name])
    assert found.description.records == alone.description.records
    assert [found[name].kind for name in ("chol", "sex", "seen")] == ["number", "text", "date"]
    assert found["(labels)"].categories.keys() == {"ill", "well"}
    opened = {fact.identifier for row in found.report.opens for fact in row.facts}
    assert "core.description" in opened


def test_on_the_command_line_it_is_a_table_and_a_page(tmp_path, sites):
    page = tmp_path / "look.html"
    done = CliRunner().invoke(app, ["describe", "--config", str(sites.config("analyst")), "--report", str(page)])
    assert done.exit_code == 0, done.stderr
    assert "chol" in done.stdout
    assert "<h2>The table</h2>" in page.read_text()


def test_a_comparison_of_schemas_opens_names_and_kinds_and_nothing_else(sites):
    found = tacit.connect(sites.config("analyst")).describe(statistics=False)
    kinds = {name: told.kind for name, told in found.description.columns.items()}
    assert kinds == {"chol": "number", "sex": "text", "seen": "date"}
    assert {row.message for row in found.report.learnt} <= {"Columns"}


def test_sites_that_declare_another_unit_are_named_before_anything_runs(sites):
    with pytest.raises(
        tacit.PeerError, match=r"h2 declares its table otherwise \(column 'chol': mmol/l here, mg/dl at"
    ):
        tacit.connect(sites.config("analyst")).on("units").describe()
    assert not any((folder / "journal").exists() for folder in newest(sites))


def test_a_study_of_classes_that_are_written_otherwise_stops_before_a_step_opens_anything(sites):
    study = tacit.Pipeline([("table", tacit.TableVectorizer()), ("svm", tacit.SVC())])
    with pytest.raises(tacit.PeerError, match="stopped"):
        study.fit(tacit.connect(sites.config("analyst")).on("apart"))
    log = (sites.folder("h1") / "log").read_text()
    assert "h1 has a class 'ill' and h2 a class 'Ill': write classes alike at every site" in log


def newest(sites):
    """The folder of the job that each hospital met last."""
    return [max((sites.folder(name) / "state" / "jobs").iterdir(), key=lambda f: f.stat().st_ctime) for name in NAMES]
