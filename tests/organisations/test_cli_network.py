"""The command line between organisations: real processes, real TLS, a real nats-server."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from job_files import example_job
from tacit.cli.one_machine import one_machine
from tacit.consortium.broker.server import find_server
from tacit.consortium.site.example_files import example_policy
from tacit.errors import MissingExtraError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

TACIT = [sys.executable, "-m", "tacit.cli"]
UNKNOWN = '[columns]\nsouth = ["south_0", "age"]\n\n[rows] '
ENV = {**os.environ, "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1"}


def processes_about(words):
    """Processes whose command line has these words."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if words.encode() in file.read_bytes():
                found.append(file.parent.name)
    return found


def gone(words, seconds=10.0):
    end = time.monotonic() + seconds
    while processes_about(words) and time.monotonic() < end:
        time.sleep(0.2)
    return not processes_about(words)


def test_the_demonstration_survives_a_kill_and_leaves_nothing_behind(tmp_path):
    done = subprocess.run(  # noqa: S603 - ourselves
        [*TACIT, "demo", "--network", "--out", tmp_path / "report.html", "--keep", tmp_path / "kept"],
        capture_output=True, text=True, check=False, env=ENV, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"killed +south \(process \d+\) with kill -9 after round \d+ of \d+; started again", done.stdout)
    assert re.search(r"in one process +0\.9\d+ of the same patients", done.stdout)
    assert "went on by itself and ended" in done.stdout
    said = " ".join(done.stdout.split())
    assert "30 measurements of 569 patients at north, south, east; 5% of them missing" in said
    assert "gaps filled, one scale, 4 candidates in 5 folds" in said
    assert float(re.search(r"accuracy +([\d.]+) on 1\d\d patients", said)[1]) > 0.9
    assert "the 4 sites' signed ledgers agree" in done.stdout
    assert "All private keys were in one folder, as only a demonstration may have them" in done.stdout
    assert max(map(len, done.stdout.replace(str(tmp_path), "").splitlines())) <= 100
    assert "<html" in (tmp_path / "report.html").read_text().lower()
    assert (tmp_path / "kept" / "north" / "north.toml").exists()
    assert 'use = "FederatedGridSearch"' in (tmp_path / "kept" / "analyst" / "study.toml").read_text()
    assert gone(str(tmp_path))


@pytest.mark.timeout(60)
def test_an_interrupted_demonstration_leaves_nothing_behind(tmp_path):
    env = {**ENV, "TMPDIR": str(tmp_path)}
    child = subprocess.Popen(  # noqa: S603 - ourselves
        [*TACIT, "demo", "--network", "--out", tmp_path / "r.html"],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    end = time.monotonic() + 30
    while len(processes_about(f"{tmp_path}/tacit-demo-")) < 4 and time.monotonic() < end:
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=25)
    assert err == b"tacit: stopped\n"
    # CPython ends by the signal itself if the interrupt met an exec of text, as of a dataclass; shells show both as 130
    assert child.returncode in (130, -signal.SIGINT)
    assert gone(str(tmp_path))
    assert not list(tmp_path.glob("tacit-demo-*"))


class Site:
    """A consortium whose daemons run; north asks two people, the others nobody."""

    def __init__(self, machine) -> None:
        self.machine, self.alphas = machine, iter((0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0))

    def tacit(self, site, *args):
        command = [*TACIT, *map(str, args), *(["--config", str(self.machine.config(site))] if site else [])]
        return subprocess.run(  # noqa: S603 - ourselves
            command, capture_output=True, text=True, check=False, env=ENV, timeout=60, cwd=self.machine.root
        )

    def decide(self, what, job, person, *more):
        """An approver of north types a passphrase, which is chosen at the first time."""
        file = self.machine.folder("north") / f"{person}.secret"
        if not file.exists():
            file.touch(0o600)
            file.write_text(f"what {person} knows")
            self.tacit("north", "party", "approver", person, "--passphrase-file", file)
        return self.tacit("north", "party", what, job, "--as", person, "--passphrase-file", file, *more)

    def job(self, name="job", **changes):
        """A job, and another one each time: sites do none twice."""
        text = example_job(rows=60, aligned=True).replace("alpha = 0.1", f"alpha = {next(self.alphas)}")
        for old, new in changes.values():
            text = text.replace(old, new)
        file = self.machine.folder("analyst") / f"{name}.toml"
        file.write_text(text)
        return file

    def pending(self, job):
        def listed():
            found = json.loads(self.tacit("north", "party", "pending", "--json").stdout)["pending"]
            return any(one["id"] == job for one in found)

        return self.becomes(listed)

    def status(self, name, job):
        """What a site shows of a job."""
        found = json.loads(self.tacit(name, "status", "--json").stdout)["jobs"]
        return next(one for one in found if one["job"] == job)

    def becomes(self, true):
        """Whether something becomes true within a while."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if true():
                return True
            time.sleep(0.3)
        return False


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    draw = np.random.default_rng(0)
    tables = {name: draw.normal(size=(60, 2)) for name in ("north", "south", "east")}
    with one_machine(tmp_path_factory.mktemp("net"), tables, np.arange(60) % 2, keep=True) as machine:
        (machine.folder("north") / "policy.toml").write_text(example_policy(approvers=("dr-lee", "dpo")))
        for name in machine.sites:
            machine.start(name)
        machine.wait()
        yield Site(machine)


def submitted(site, file):
    return json.loads(site.tacit("analyst", "submit", file, "--no-wait", "--json").stdout)["job"]


def test_from_a_proposal_over_two_approvals_to_a_purge(site):
    job = submitted(site, site.job())
    assert site.pending(job)
    assert "waiting for north" in site.tacit("analyst", "status").stdout
    assert "1 more approver must agree" in site.decide("approve", job, "dr-lee").stdout
    assert "is approved at north" in site.decide("approve", job, "dpo").stdout
    followed = site.tacit("analyst", "resume", job[:8])
    assert followed.returncode == 0, followed.stderr
    assert "model public" in " ".join(followed.stdout.split())
    assert "finished" in site.tacit("analyst", "status").stdout
    assert "north (party, running, policy policy.toml " in site.tacit("north", "status").stdout
    assert "clearing (coordinator, running)" in site.tacit("clearing", "status").stdout
    files = [site.machine.job_folder(name, job) / "audit.jsonl" for name in site.machine.sites]
    members = site.machine.folder("north") / "consortium.members"
    verified = site.tacit(None, "audit", "verify", *files, "--members", members, "--ca", site.machine.fingerprint)
    assert (verified.returncode, verified.stdout.splitlines()[-1]) == (0, "whole, signed, and they agree")
    assert site.tacit("north", "purge", job, "--yes").returncode == 0
    assert not site.machine.job_folder("north", job).exists()


def test_a_withdrawn_job_is_over_at_every_site_and_can_be_purged(site):
    job = submitted(site, site.job())
    assert site.pending(job)
    assert "is not over at south" in site.tacit("south", "purge", job, "--yes").stderr
    done = site.tacit("analyst", "withdraw", job[:8], "--reason", "wrong cohort")
    assert (done.returncode, done.stdout) == (0, f"job {job} is withdrawn, and every site is told\n")
    shown = {"state": "withdrawn", "says": "analyst withdrew it: wrong cohort"}
    assert site.becomes(lambda: shown.items() <= site.status("south", job).items())
    assert site.becomes(lambda: "no job waits for people" in site.tacit("north", "party", "pending").stdout)
    assert site.tacit("south", "purge", job, "--yes").returncode == 0
    again = site.tacit("analyst", "withdraw", job)
    assert "is withdrawn, and every site is told" in again.stdout


@pytest.mark.timeout(60)
def test_a_refusal_of_people_reaches_the_analyst_with_its_reason(site):
    job = submitted(site, site.job())
    assert site.pending(job)
    site.decide("refuse", job, "dpo", "--reason", "no vote of the ethics board")
    followed = site.tacit("analyst", "resume", job)
    assert followed.returncode == 2
    assert (
        followed.stderr.splitlines()[-1]
        == f"tacit: error: job {job} was refused: north refuses: no vote of the ethics board"
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[rows] ", UNKNOWN, "south refuses: policy policy.toml: columns does not offer 'age' of 'cohort'"),
        ("retention_days = 30", "retention_days = 999",
         "policy policy.toml: maximum_retention_days = 365, the job has 999"),
        ("south = 60", "south = 61", "south has data that does not fit the job"),
    ],
)  # fmt: skip
@pytest.mark.timeout(60)
def test_a_refusal_of_a_policy_or_a_check_is_one_line_that_names_the_rule(site, old, new, words):
    file = site.job(change=(old, new))
    job = submitted(site, file)
    done = site.tacit("analyst", "resume", job)
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.timeout(60)
def test_a_second_party_of_the_same_name_and_a_second_coordinator_are_refused(site):
    second = site.tacit("south", "party")
    assert (second.returncode, second.stderr.count("\n")) == (2, 1)
    assert "another process is south already" in second.stderr
    assert site.tacit("clearing", "coordinator").returncode == 2
