"""Protocols that another package brings by an entry point.

As good as ours in jobs, and never in the place of one of ours.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.choreo import ChoreographyError, Holder
from tacit.choreo.protocol import Brought, Declaration
from tacit.errors import LocalError
from tacit.protocols import template
from tacit.protocols.learners.svm import train_svm
from tacit.protocols.parameters import PARAMETERS
from tacit.registry import Catalogue, job_protocols, makers_of

TEXT = Path(template.__file__).read_text()
SRC = Path(template.__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
import numpy as np
from tacit import Federation
from tacit.consortium.jobs.job import Job, source_hash
from tacit.consortium.site.example_files import example_policy
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.consent.unusual import unusual
from tacit.errors import TacitError
from tacit.request import Records

def proposed(**params):
    sites = {"parties": ("north", "south", "east"), "coordinator": "clearing", "submitter": "analyst"}
    terms = {"dataset": "cohort", "purpose": "a test", "legal_basis": "consent"}
    rows = {"north": 50, "south": 60, "east": 70}
    return propose("column_means", params, partition="horizontal", rows=rows, **sites, **terms)

def make():
    job = proposed(bits=24)
    X, y = np.arange(60.0).reshape(20, 3), np.arange(20) % 2
    federation = Federation.simulate(X, y, parties=job.parties, partition="horizontal", coordinator="clearing")
    outcome = federation.run(job.protocol, {"data": Records()}, **job.arguments)
    same = outcome.ledger.template() == job.disclosure
    return {"job": job.canonical().decode(), "same": same, "rounds": job.cost.rounds, "means": list(outcome.result)}

def read(text):
    job = Job.from_bytes(text.encode())
    return {"unusual": unusual(job), "alike": source_hash(job.protocol) == job.source, "ours": source_hash("study")}

def error_of(act):
    try:
        act()
    except TacitError as error:
        return str(error)

def bound(folder):
    path = Path(folder) / "site.toml"
    path.write_text(example_policy().replace("\\n[parameters]", "\\n[parameters]\\nspare = [99] "))
    return {"refused": error_of(lambda: proposed(spare=10)), "unusual": unusual(proposed(spare=3)),
        "policy": error_of(lambda: Policy.from_toml(path))}

try:
    acts = {"make": make, "read": lambda: read(sys.stdin.read()), "bound": lambda: bound(sys.stdin.read())}
    told = acts[sys.argv[1]]()
except TacitError as error:
    told = {"error": str(error)}
print(json.dumps(told))
"""


def install(
    folder: Path, text: str = TEXT, entry: str = "column_means = tiny.means:COLUMN_MEANS", package: str = "tiny"
) -> Path:
    """The files that an installer writes for a package of one protocol."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text('"""A package of another house."""\n')
    (folder / package / "means.py").write_text(text)
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[tacit.protocols]\n{entry}\n")
    return folder


def at_a_site(what: str, *paths: Path, given: str = "") -> dict:
    """What a process says that has these folders installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SRC, *paths))), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(  # noqa: S603 - the text above
        [sys.executable, "-c", SCRIPT, what],
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_copied_template_in_another_package_is_proposed_rehearsed_played_and_its_text_compared(tmp_path):
    changed = TEXT.replace("total[:-1] / total[-1]", "total[:-1] / total[-1] + 1")
    house, other = install(tmp_path / "house"), install(tmp_path / "other", changed)
    made = at_a_site("make", house)
    assert made["same"]
    assert made["rounds"] > 0
    assert made["means"] == pytest.approx([28.5, 29.5, 30.5])
    same, another, none = (at_a_site("read", *paths, given=made["job"]) for paths in ((house,), (other,), ()))
    assert same["alike"]
    assert ["parameter", "bits = 24, usually 32: how many binary digits stand after the point"] in same["unusual"]
    assert not another["alike"]
    assert same["ours"] == another["ours"]  # a package does not change what our own protocols are
    assert "no job may name the protocol 'column_means'" in none["error"]


@pytest.mark.parametrize(
    ("name", "text", "entry", "words"),
    [
        ("column_means", TEXT, "column_means = {}.means:column_means", "is no declaration of that name"),
        ("averages", TEXT, "averages = {}.means:COLUMN_MEANS", "is no declaration of that name"),
        ("column_means", TEXT, "column_means = {}.means:OTHER", "cannot be loaded"),
        ("column_means", TEXT, "column_means = {}.nowhere:OTHER", "cannot be loaded"),
        ("column_means", TEXT + "raise RuntimeError", "column_means = {}.means:COLUMN_MEANS", "cannot be loaded"),
        ("column_means", TEXT + "not python", "column_means = {}.means:COLUMN_MEANS", "cannot be loaded"),
        (
            "column_means",
            TEXT.replace("bits: int = 32)", "bits: int = 32, spare: int = 0)"),
            "column_means = {}.means:COLUMN_MEANS",
            r"must declare the parameters that it alone has, and no others \(missing: \['spare'\]",
        ),
        (
            "column_means",
            TEXT.replace("parameters=(BITS,)", "parameters=(BITS, PARAMETERS['C'])").replace(
                "from tacit.protocols.part",
                "from tacit.protocols.parameters import PARAMETERS\nfrom tacit.protocols.part",
            ),
            "column_means = {}.means:COLUMN_MEANS",
            r"known already: \['C'\]",
        ),
    ],
)
def test_a_package_that_declares_nothing_whole_is_refused_in_one_line(
    name, text, entry, words, tmp_path, monkeypatch, request
):
    package = f"tiny{abs(hash(request.node.name)) % 10**9}"  # modules stay loaded from test to test
    monkeypatch.syspath_prepend(install(tmp_path, text, entry.format(package), package))
    with pytest.raises(LocalError, match=f"package {package} .*{words}"):
        Catalogue()[name]


def test_a_package_cannot_stand_in_for_a_protocol_of_ours(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(install(tmp_path, entry="train_svm = tiny.means:COLUMN_MEANS"))
    catalogue = Catalogue()
    assert catalogue["train_svm"].play is train_svm
    with pytest.raises(
        LocalError,
        match="package tiny brings a protocol 'train_svm', and there is another of this name",
    ):
        list(catalogue)
    assert catalogue["train_svm"].play is train_svm


@pytest.mark.slow
def test_a_parameter_that_a_package_declares_is_checked_in_jobs_and_bounded_by_policies(tmp_path):
    own = 'parameters=(BITS, Parameter("spare", Number(0, 9, whole=True), "how much is spared", opens=True))'
    text = TEXT.replace("bits: int = 32)", "bits: int = 32, spare: int = 0)")
    text = text.replace("parameters=(BITS,)", own)
    house = install(tmp_path, text)
    with_it, without = (at_a_site("bound", *paths, given=str(tmp_path)) for paths in ((house,), ()))
    assert (
        "the job's parameter 'spare' is 10, and it takes a whole number from 0 to 9: correct it" in with_it["refused"]
    )
    assert with_it["unusual"] == [["parameter", "spare = 3, usually 0: how much is spared"]]
    assert with_it["policy"].endswith("parameters.spare lists 99, and it is a whole number from 0 to 9: correct it")
    assert "unknown protocol 'column_means'" in without["error"]


def test_what_a_job_may_name_is_declared_whole():
    for name, known in job_protocols().items():
        assert name == known.name
        assert known.rehearsal is not None
        assert set(known.takes) <= {*PARAMETERS, *(own.name for own in known.own)}
        assert bool(known.builds_on) == bool(makers_of(name))


def test_a_declaration_without_rehearsal_or_of_other_inputs_does_not_import():
    with pytest.raises(ChoreographyError, match=r"declaration of column_means: .* unknown inputs: \['rows'\]"):
        Declaration(template.column_means, {"rows": Brought(Holder)}, template.COLUMN_MEANS.rehearsal)
    with pytest.raises(ChoreographyError, match="says what its own inputs are, how it is rehearsed"):
        Declaration(template.column_means, {"data": Brought(Holder)})
    with pytest.raises(ChoreographyError, match="what it builds on if an input is of an earlier job"):
        Declaration(template.column_means, {"data": Brought(Holder, "earlier")}, template.COLUMN_MEANS.rehearsal)
