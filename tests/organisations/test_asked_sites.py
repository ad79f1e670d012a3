"""From fit to answers, for every kind of model over connect: real processes, a real server, everybody's consent."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from typer.testing import CliRunner

import tacit
from organisations.row_sites import check_alike, dealt
from tacit.cli.app import app
from tacit.cli.one_machine import one_machine

pytest.importorskip("nats")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

NAMES, OLD, NEW = ("h1", "h2", "h3"), 240, 180
COLUMNS = tuple(f"x{j}" for j in range(5))
MODELS = {
    "rbf": lambda: tacit.SVC(probability=True),
    "elm": lambda: tacit.ELMClassifier(n_hidden=50, alpha=0.1),
    "hinge": lambda: tacit.SVC(kernel="linear", loss="hinge", C=1.0),
    "search": lambda: tacit.FederatedGridSearch(tacit.SVC(), {"alpha": [0.1, 1.0]}),
}
EXACT = {"loss": "hinge", "features": "exact", "C": 1.0}


@pytest.fixture(scope="module")
def table():
    X, y = make_classification(OLD + NEW, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
    X = X * (1, 10, 100, 1, 0.1)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    return X, y


def rows_of(table, rows):
    return {name: (table[0][rows][i::3], table[1][rows][i::3]) for i, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def sites(table, tmp_path_factory):
    """Hospitals, each with new patients in a dataset of its own, whose columns stand in another order."""
    old = rows_of(table, slice(0, OLD))
    records, labels = ({name: part[i] for name, part in old.items()} for i in (0, 1))
    with one_machine(tmp_path_factory.mktemp("asking"), records, labels, keep=True) as made:
        for name, (X, y) in rows_of(table, slice(OLD, None)).items():
            lines = [
                [1000 + k, *("" if np.isnan(v) else repr(float(v)) for v in row[::-1]), y[k]] for k, row in enumerate(X)
            ]
            with (made.folder(name) / "new.csv").open("w") as file:
                csv.writer(file).writerows([["patient", *COLUMNS[::-1], "label"], *lines])
            with made.config(name).open("a") as config:
                config.write('\n[datasets.new]\npath = "new.csv"\nlabel = "label"\nid = "patient"\n')
            policy = made.folder(name) / "policy.toml"
            text = policy.read_text().replace("[columns]\n", '[columns]\nnew = "all"\n')
            rules = {"preflights_per_day": "1000", "predictions": "1000"}
            for rule, value in rules.items():
                text = re.sub(rf"^{rule} = .*$", f"{rule} = {value}", text, count=1, flags=re.MULTILINE)
            policy.write_text(text)
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made


def here(table, rows):
    parts = list(rows_of(table, rows).values())
    made = tacit.from_parts(parts, names=NAMES, partition="horizontal", coordinator="clearing", allow_missing=True)
    return made.rename_features(COLUMNS)


def pipeline(last):
    return tacit.Pipeline([("gaps", tacit.FederatedImputer()), ("scale", tacit.FederatedScaler()), ("model", last)])


def answers(sites, job):
    """Decision values as every hospital reads them."""
    found = {}
    for name in NAMES:
        done = CliRunner().invoke(app, ["party", "answers", job[:8], "--config", str(sites.config(name))])
        assert done.exit_code == 0, done.output
        found[name] = [float(line["decision for 1"]) for line in csv.DictReader(done.stdout.splitlines())]
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_public_model_is_fitted_kept_and_asked_bit_for_bit_and_judged(table, sites, tmp_path, kind):
    new = here(table, slice(OLD, None))
    there = pipeline(MODELS[kind]()).fit(tacit.connect(sites.config("analyst")))
    alone = pipeline(MODELS[kind]()).fit(dealt(sites))
    check_alike(alone, there, new.pooled()[0], least=0.85)
    model = there.save(tmp_path / "model.tacit")
    expected = there.decision_function(new)
    asked = CliRunner().invoke(
        app, ["predict", str(model), "--on", "new", "--json", "--config", str(sites.config("analyst"))]
    )
    assert asked.exit_code == 0, asked.output
    job = re.search(r'"job": "([0-9a-f]{32})"', asked.stdout)[1]
    for name, told in answers(sites, job).items():
        np.testing.assert_array_equal(told, expected[new.rows[name]])
    found = tacit.evaluate(there, tacit.connect(sites.config("analyst")).on("new"))
    judged = dealt(sites, held_out=True)
    X, y, _ = judged.pooled()
    assert found.confusion_matrix.sum() == len(y) < NEW  # the others are there to learn from
    own = [int(np.sum((there.predict(X) == said) & (y == label))) for label in (0, 1) for said in (0, 1)]
    np.testing.assert_array_equal(np.ravel(found.confusion_matrix), own)
    lines = [[*("" if np.isnan(v) else repr(float(v)) for v in row)] for row in table[0][OLD : OLD + 20]]
    with (tmp_path / "new.csv").open("w") as file:
        csv.writer(file).writerows([COLUMNS, *lines])
    local = CliRunner().invoke(
        app, ["predict", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "out.csv")]
    )
    assert local.exit_code == 0, local.output
    told = [int(line["label"]) for line in csv.DictReader((tmp_path / "out.csv").read_text().splitlines())]
    assert told == there.predict(table[0][OLD : OLD + 20]).tolist()


def test_a_study_in_shares_leaves_a_handle_by_which_its_sites_are_asked_twice(table, sites, tmp_path):
    made = pipeline(tacit.SVC(gamma=0.1, **EXACT))
    new = here(table, slice(OLD, None))
    there = clone(made).fit(tacit.connect(sites.config("analyst")))
    expected = clone(made).fit(dealt(sites)).decision_function(new.pooled()[0])
    model = there.save(tmp_path / "model.tacit")
    assert "in shares: h1, h2, h3, clearing each keep a share" in str(tacit.load(model).handle_)
    rows = [f"--rows={name}={len(new.rows[name])}" for name in NAMES]
    for _ in range(2):
        command = ["predict", str(model), "--on", "new", *rows, "--config", str(sites.config("analyst"))]
        asked = CliRunner().invoke(app, command)
        assert asked.exit_code == 0, asked.output
        job = re.search(r"tacit party answers ([0-9a-f]{8})", asked.stdout)[1]
        for name, told in answers(sites, job).items():
            np.testing.assert_allclose(told, expected[new.rows[name]], atol=1e-3)
