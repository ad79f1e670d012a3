"""`tacit submit --model`: a public model goes to a file; of one in shares each site keeps its part, here a handle."""

import contextlib
import csv
from datetime import UTC, datetime, timedelta

import msgspec
import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit import Federation, load
from tacit.choreo import Holder, decode, encode
from tacit.cli.one_machine import one_machine
from tacit.cli.organisations import submit
from tacit.consortium.jobs.public_result import PublicResult, split
from tacit.consortium.site.analyst import Fetched
from tacit.consortium.site.coordinator import News
from tacit.crypto.pads.entropy import RootEntropy
from tacit.registry import play
from tacit.runtimes.together import Together

X, Y = make_classification(240, 6, n_informative=4, random_state=3)
ROWS = {name: (X[i::3], Y[i::3]) for i, name in enumerate(("north", "south", "east"))}
SINCE = datetime(2031, 3, 1, tzinfo=UTC)
JOB = """
parties = ["north", "south", "east"]
coordinator = "clearing"
dataset = "cohort"
purpose = "a test"
legal_basis = "consent"
"""
ESTIMATORS = {
    "balanced": 'features = 20\nalpha = 0.1\nprobability = true\nclass_weight = "balanced"',
    "hinge": 'features = 20\nloss = "hinge"\nC = "auto"',
    "linear": 'kernel = "linear"\nalpha = 0.1',
    "ELMClassifier": "n_hidden = 30\nalpha = 0.1",
    "exact": 'kernel = "linear"\nfeatures = "exact"\nloss = "hinge"',
}


@pytest.fixture
def analyst(folder):
    """The folder of an analyst whose hospitals hold rows; no process runs."""
    (folder / "net").mkdir()
    tables, labels = ({name: part[i] for name, part in ROWS.items()} for i in (0, 1))
    with one_machine(folder / "net", tables, labels, keep=True) as made:
        yield made.folder("analyst")


class Fake:
    """An analyst whose hospitals have done the job at once, in this process."""

    def __init__(self, settings) -> None:
        self.settings = settings

    def submit(self, job):
        assert job.submitter == self.settings.name

    def follow(self, job, *, after):
        del after
        yield msgspec.convert({"job": job.id, "state": "finished", "rounds": 9}, News)

    def result(self, job):
        rows = job.partition == "horizontal"
        columns = [X[:60, 2 * i : 2 * i + 2] for i in range(3)]
        labels = {} if rows else {"y": Y[:60], "labeller": "north"}
        parts = list(ROWS.values()) if rows else columns
        federation = Federation.from_parts(parts, names=list(ROWS), partition=job.partition, **labels)
        entropy = RootEntropy(job.roster.parties, bytes(16))
        with Together(job.roster, job=bytes(16), entropy=entropy) as run:
            held = {name: (Holder, dict(federation.parts)) for name in ("data", "judge")}
            held["rules"] = (Holder, {party: {} for party in federation.parts})
            result = play(run, job.protocol, held, job.arguments)
            public = split(result, "clearing")[1]
        return Fetched(decode(encode(PublicResult.of(public, run.history)).join()), tuple(run.ledger.rows), SINCE)


@pytest.fixture
def propose(analyst, tacit, monkeypatch):
    """Submits a job that trains this estimator, with these further lines and options."""
    monkeypatch.setattr(submit, "Analyst", lambda settings: contextlib.nullcontext(Fake(settings)))

    def call(estimator, *options, more=""):
        name = "SVC" if estimator != "ELMClassifier" else estimator
        lines = f'estimator = "{name}"\npartition = "horizontal"\n{JOB}'
        text = f"{lines}\n[params]\n{ESTIMATORS[estimator]}\n{more}"
        (analyst / "job.toml").write_text(text)
        return tacit("submit", analyst / "job.toml", *options, "--config", analyst / "analyst.toml")

    return call


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", [name for name in ESTIMATORS if name != "exact"])
def test_a_public_model_goes_to_a_file_that_predict_reads(propose, tacit, folder, estimator):
    done = propose(estimator, "--model", "model.tacit")
    assert done.code == 0, done.err
    assert "public: written to model.tacit" in done.out
    model = load(folder / "model.tacit")
    assert type(model[-1]).__name__ == ("SVC" if estimator != "ELMClassifier" else estimator)
    assert model.score(X, Y) > 0.7
    np.savetxt(folder / "new.csv", X, delimiter=",", header="x0,x1,x2,x3,x4,x5", comments="", fmt="%.17g")
    predicted = csv.DictReader(tacit("predict", "model.tacit", "new.csv").out.splitlines())
    assert [int(row["label"]) for row in predicted] == model.predict(X).tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_knows_the_columns_that_its_job_names(propose, tacit, folder):
    columns = "\n".join(f'{name} = ["x0", "x1", "x2", "x3", "x4", "x5"]' for name in ROWS)
    assert propose("linear", "--model", "model.tacit", more=f"[columns]\n{columns}\n").code == 0
    np.savetxt(folder / "new.csv", X[:, ::-1], delimiter=",", header="x5,x4,x3,x2,x1,x0", comments="", fmt="%.17g")
    predicted = csv.DictReader(tacit("predict", "model.tacit", "new.csv").out.splitlines())
    assert [int(row["label"]) for row in predicted] == load(folder / "model.tacit").predict(X).tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_without_a_file_it_says_how_to_get_the_model(propose, folder):
    shown = " ".join(propose("linear").out.split())
    assert "model public: tacit resume" in shown
    assert "--model FILE writes it to a file" in shown
    assert propose("linear", "--json", "--model", "model.tacit").json["model"] == "model.tacit"
    assert (folder / "model.tacit").is_file()


def test_a_shared_model_leaves_a_handle_that_says_who_holds_it_and_until_when(propose, tacit, folder):
    done = propose("exact", "--model", "model.tacit", "--report", "report.html")
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "in shares: north, south, east, clearing each keep their own, under this job's id, for 30 days" in shown
    assert "ask it with: tacit predict model.tacit --on DATASET" in shown
    handle = load(folder / "model.tacit").handle_
    assert (handle.estimator, handle.parties) == ("SVC", ("north", "south", "east", "clearing"))
    assert handle.until == f"{SINCE + timedelta(days=30):%Y-%m-%d}"
    said = f"in shares: north, south, east, clearing each keep a share of it under job {handle.job[:8]}, at least until"
    assert said in str(handle)
    assert "(SVC) between 3 parties" in (folder / "report.html").read_text()
    np.savetxt(folder / "new.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.17g")
    refused = tacit("predict", "model.tacit", "new.csv")
    assert refused.code == 2
    assert "ask these sites about their own records, tacit predict model.tacit --on DATASET" in refused.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "give files of records, or --on DATASET for records of the sites that trained the model"),
        (("new.csv", "--on", "new"), "give files of records, or --on DATASET"),
        (("--on", "new", "--out", "p.csv"), "with --on the answers stay at the sites, and are read there"),
        (("--on", "new", "--rows", "north"), "--rows north is not SITE=N: write it as --rows north=12"),
    ],
)
def test_records_are_in_files_or_at_the_sites(tacit, options, words):
    done = tacit("predict", "model.tacit", *options)
    assert done.code == 2
    assert words in done.err


def test_a_model_that_cannot_be_read_is_one_line_about_the_coordinator(propose, folder, monkeypatch):
    for public in ({}, {"columns": "many"}, {"columns": 10**15}):
        monkeypatch.setattr(Fake, "result", lambda _, job, public=public: (job, Fetched(PublicResult(public)))[1])
        done = propose("linear", "--model", "model.tacit")
        assert done.code == 2
        assert done.err.splitlines()[-1].startswith("tacit: error: clearing sent a model that cannot be read")
        assert not (folder / "model.tacit").exists()


def test_a_file_that_nobody_waits_for_is_refused(propose):
    assert "--no-wait does not wait for it: leave one of them out" in propose("linear", "--model", "m", "--no-wait").err
    assert "--model no/m cannot be written" in propose("linear", "--model", "no/m").err
