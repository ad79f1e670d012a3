"""The organisations' commands at one site: what they show, change and refuse.

Nothing here uses a network that answers.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import socket
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

from job_files import example_job, one_step
from tacit.choreo import Holder
from tacit.cli import site
from tacit.cli.one_machine import one_machine
from tacit.cli.organisations import submit
from tacit.consortium.audit.chain import Begin, canonical, write_audit
from tacit.consortium.broker import server
from tacit.consortium.consent.people import Brought, Consent, Record
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Limits, Register
from tacit.consortium.editions.edition import Fixed, make_edition
from tacit.consortium.jobs.answers import Answer, Cleared, Proposal, Start
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import combine, render, report_of
from tacit.consortium.jobs.proposal import job_of_file, propose
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.journal.store import Store
from tacit.consortium.membership.certificate_request import Request, create
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.registrar import Registrar
from tacit.consortium.site import analyst, daemon
from tacit.consortium.site.analyst import Fetched
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.example_files import example_policy
from tacit.errors import install_command
from tacit.federation.part import part_of
from tacit.federation.table import as_table
from tacit.registry import execute_together

NOW = datetime.now(UTC).replace(microsecond=0)
HOSPITALS = ("north", "south", "east")
OF_ROWS = {
    "partition": "horizontal",
    "parties": HOSPITALS,
    "coordinator": "clearing",
    "dataset": "cohort",
    "submitter": "analyst",
    "purpose": "readmission",
    "legal_basis": "consent",
}


@pytest.fixture(autouse=True)
def own_log(monkeypatch):
    """The suite's log is not for a daemon to take over."""
    monkeypatch.setattr(site, "setup_logging", lambda *_, **__: None)


@pytest.fixture
def machine(folder):
    """Folders, keys and configurations of three hospitals, a clearing house and an analyst; no process."""
    tables = {name: np.arange(120.0).reshape(60, 2) + i for i, name in enumerate(HOSPITALS)}
    (folder / "net").mkdir()
    with one_machine(folder / "net", tables, np.arange(60) % 2, keep=True) as made:
        (made.folder("north") / "policy.toml").write_text(example_policy(approvers=("dr-lee", "dpo")))
        (made.folder("analyst") / "job.toml").write_text(example_job(rows=60, aligned=True))
        yield made


@pytest.fixture
def job(machine):
    return job_of_file(machine.folder("analyst") / "job.toml", submitter="analyst")


@pytest.fixture
def north(machine):
    return machine.config("north")


def identity(machine, name):
    return Identity.load(machine.folder(name) / f"{name}.key")


@pytest.fixture
def waiting(machine, job):
    """A job that waits for people at north."""
    state = machine.folder("north") / "state"
    folder = folder_of(state, job.id)
    folder.propose(Proposal.of(job, identity(machine, "analyst")))
    folder.cleared = Cleared(job=job.id, checked=())
    consent = Consent(state / "consent", Policy.from_toml(machine.folder("north") / "policy.toml"), "north")
    consent.submit(job, Brought(columns=("age", "dose"), rows=60))
    return job


@pytest.fixture
def told(monkeypatch):
    """An analyst whose coordinator says this."""

    def say(*all_news):
        class Fake:
            def __init__(self, settings) -> None:
                self.settings = settings

            def submit(self, job):
                assert job.submitter == self.settings.name

            def follow(self, job, *, after):
                assert after == 0
                return (say(job) for say in all_news)

            def result(self, job):
                del job
                return Fetched(PublicResult.of({"classes": (0, 1), "support": np.array([1, 2, 3])}))

        monkeypatch.setattr(submit, "Analyst", lambda settings: contextlib.nullcontext(Fake(settings)))

    return say


def news(state, **figures):
    return lambda job: msgspec.convert({"job": job.id, "state": state, **figures}, News)


def test_pending_shows_what_people_need_to_decide(tacit, north, waiting):
    brief = tacit("party", "pending", "--config", north).out
    assert len(brief.splitlines()) <= 50
    for words in (
        waiting.id,
        "risk of readmission",
        "ethics vote 2024-117",
        "synthetic points",
        "Can a person be identified?",
        "no, unless clearing, which deals the random numbers, and any one party work together",
        "alpha, not reviewed by anyone outside the project",
    ):
        assert words in " ".join(brief.split())
    assert len(brief.split()) <= 350 + 40  # and how to decide
    shown = tacit("party", "pending", "--details", "--config", north).out
    for words in (waiting.id, "analyst", "study", "north, south, east", "risk of readmission",
                  "ethics vote 2024-117", "30 days",
                  "to everyone", "the weights of the model", "nobody (0 of 2)", "alpha ", "0.1: how much",
                  "age, dose of cohort", "our records", "asker", "columns of south", "C 1.0",
                  "north 60, south 60, east 60"):  # fmt: skip
        assert words in " ".join(shown.split())  # wherever a line breaks
    assert shown.index("look at this first") < shown.index("submitter")
    assert max(map(len, shown.splitlines())) <= 100
    (as_json,) = tacit("party", "pending", "--config", north, "--json").json["pending"]
    assert as_json["purpose"].startswith("risk")
    assert msgspec.convert(as_json["job"], Job) == waiting
    (warning,) = as_json["warnings"]
    assert warning.startswith("nobody can work out records of others without clearing, which deals the random numbers")
    assert warning.replace(" ", "") in "".join(shown.replace("warning", "").split())


PASS = {"dr-lee": "a bird in the hand", "dpo": "two in the bush"}


@pytest.fixture
def people(tacit, north):
    """Both approvers have chosen a passphrase."""
    for name, words in PASS.items():
        said = tacit("party", "approver", name, "--config", north, said=f"{words}\n{words}\n")
        assert said.out.strip() == f"{name} decides at north with this passphrase from now on"


@pytest.fixture
def secret(people, folder):
    """A file with the passphrase of one of them."""
    del people
    file = folder / "dpo.secret"
    file.write_text(PASS["dpo"])
    file.chmod(0o600)
    return file


def test_two_people_approve_one_after_the_other(tacit, north, waiting, people):
    del people
    by = {name: {"said": words} for name, words in PASS.items()}
    first = tacit("party", "approve", waiting.id[:6], "--as", "dr-lee", "--config", north, **by["dr-lee"])
    assert first.out.strip() == f"job {waiting.id} is waiting at north: 1 more approver must agree"
    assert "dr-lee (1 of 2)" in tacit("party", "--config", north, "pending").out
    second = tacit("party", "approve", waiting.id, "--as", "dpo", "--config", north, **by["dpo"])
    assert "is approved at north" in second.out
    assert tacit("party", "pending", "--config", north).out == "north: no job waits for people\n"


def test_one_person_refuses(tacit, north, waiting, secret):
    who = ("--as", "dpo", "--passphrase-file", secret)
    said = tacit("party", "refuse", waiting.id, *who, "--reason", "no legal basis", "--config", north)
    assert "is refused at north" in said.out


def test_one_shell_cannot_approve_as_two_people(refused, tacit, north, waiting, secret):
    as_another = ("party", "approve", waiting.id, "--as", "dr-lee", "--config", north)
    assert "this is not the passphrase of dr-lee: let dr-lee type it" in refused(
        *as_another, "--passphrase-file", secret
    )
    assert "nobody typed the passphrase of dr-lee: type it, or give --passphrase-file" in tacit(*as_another).err
    secret.chmod(0o644)
    assert "is not a file that only its owner can read: create it, and chmod 600" in refused(
        *as_another, "--passphrase-file", secret
    )


def test_nobody_decides_before_choosing_a_passphrase_and_it_is_chosen_once(refused, north, waiting, secret):
    secret.write_text("short")
    chosen = ("--passphrase-file", secret, "--config", north)
    assert "dpo has a passphrase already: remove" in refused("party", "approver", "dpo", *chosen)
    (north.parent / "state" / "approvers" / "dpo.approver").unlink()
    assert "fewer than 8 characters: choose a longer one" in refused("party", "approver", "dpo", *chosen)
    said = refused("party", "approve", waiting.id, "--as", "dpo", *chosen)
    assert "dpo has no passphrase at this site yet: choose one with tacit party approver dpo" in said
    assert "'eve' is not one of its approvers" in refused("party", "approver", "eve", *chosen)


def test_an_approval_can_be_taken_back_before_the_start(refused, tacit, north, machine, waiting, secret):
    who = ("--as", "dpo", "--passphrase-file", secret, "--config", north)
    assert "dpo has not approved job" in refused("party", "withdraw", waiting.id, *who)
    tacit("party", "approve", waiting.id, *who)
    assert "2 more approvers must agree" in tacit("party", "withdraw", waiting.id[:6], *who).out
    folder_of(machine.folder("north") / "state", waiting.id).start = Start(job=waiting.id, attempt=1, answers=())
    said = refused("party", "withdraw", waiting.id, *who)
    assert f"job {waiting.id} has started: ask analyst to withdraw it (tacit withdraw)" in said


def test_a_stranger_cannot_approve(refused, north, waiting):
    assert "'eve' is not one of its approvers (dr-lee, dpo)" in refused(
        "party", "approve", waiting.id, "--as", "eve", "--config", north
    )


def test_a_job_that_does_not_wait_cannot_be_approved(refused, north, waiting):
    del waiting
    assert "0 jobs that wait begin with 'zz'" in refused("party", "approve", "zz", "--as", "dpo", "--config", north)


def test_a_full_disk_is_one_line(refused, north, waiting, secret, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    said = refused("party", "approve", waiting.id, "--as", "dpo", "--passphrase-file", secret, "--config", north)
    assert "the vote cannot be written to" in said
    assert "No space left on device; free some space" in said


@pytest.mark.parametrize(
    ("words", "example"), [(["party"], "party.toml"), (["page"], "analyst.toml"), (["status"], "")]
)
def test_without_a_configuration_an_example_of_one_is_named(refused, folder, monkeypatch, words, example):
    monkeypatch.chdir(folder)
    named = Path(re.search(r"or write one \(an example: (.*)\)", refused(*words))[1])
    assert "ca_fingerprint" in (named if example else named / "party.toml").read_text(encoding="utf-8")
    assert named.name == (example or "examples")


def test_the_only_fitting_configuration_of_the_folder_is_the_default(tacit, refused, machine, monkeypatch, folder):
    monkeypatch.chdir(machine.folder("north"))
    assert tacit("party", "pending").code == 0
    assert "no configuration of a coordinator: name one with --config" in tacit("coordinator").err
    shutil.copy("north.toml", "other.toml")
    assert "several configurations (north.toml, other.toml): name one with --config" in tacit("party", "pending").err
    monkeypatch.chdir(folder)
    assert "is the configuration of a party: this command needs that of a coordinator" in refused(
        "coordinator", "--config", machine.config("north")
    )
    assert "cannot be read: No such file" in refused("status", "--config", "nowhere.toml")


def test_a_taken_port_is_one_line(tacit, machine, monkeypatch):
    monkeypatch.setattr(daemon, "stop_on_signals", threading.Event)
    with socket.socket() as door:
        door.bind(("127.0.0.1", int(machine.url.rpartition(":")[2])))
        door.listen()
        result = tacit("coordinator", "--config", machine.config("clearing"))
    assert result.code == 2
    assert "is taken by another program: stop it, or choose another port in listen" in result.err
    assert result.err.count("\n") == 1


def test_a_missing_server_is_one_line(tacit, machine, monkeypatch):
    monkeypatch.setattr(daemon, "stop_on_signals", threading.Event)
    monkeypatch.setattr(server.shutil, "which", lambda *_, **__: None)
    for command in (["coordinator", "--config", machine.config("clearing")], ["demo", "--network"]):
        result = tacit(*command)
        assert result.code == 2
        assert "needs the extra 'nats': " + install_command("nats") in result.err
        assert result.err.count("\n") == 1


def test_a_missing_client_is_one_line(tacit, machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "nats.aio.client", None)
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.code == 2
    assert "needs the extra 'nats': " + install_command("nats") in result.err


def test_a_certificate_of_another_registrar_is_one_line(refused, machine, north, folder):
    (folder / "others").mkdir()
    others = Registrar.init(folder / "others", "Others")
    others.sign(Request.load(machine.folder("north") / "north.request"), "party")
    shutil.copy(folder / "others" / "north.crt", machine.folder("north"))
    assert (
        "north.crt was not signed by the registrar of Demonstration: ask the registrar for the certificate again"
        in refused("party", "--config", north)
    )


def test_another_pinned_registrar_is_one_line(refused, machine, north):
    north.write_text(north.read_text().replace(machine.fingerprint, "0" * 32))
    assert "compare the fingerprint with the registrar by phone" in refused("party", "--config", north)


def test_a_key_of_somebody_else_is_one_line(refused, north):
    north.write_text(north.read_text().replace('name = "north"', 'name = "south"'))
    assert "the members list has another key for south" in refused("party", "--config", north)


def test_a_second_process_of_the_same_name_is_one_line(tacit, north, monkeypatch):
    monkeypatch.setattr(daemon, "stop_on_signals", threading.Event)
    with daemon.lock_state(daemon.PartySettings.from_toml(north)):
        result = tacit("party", "--config", north)
    assert result.code == 2
    assert "another process is north already" in result.err


def test_a_name_is_signed_once(tacit, refused, machine):
    again = machine.root / "again"
    again.mkdir()
    assert tacit("keys", "new", "--name", "north", "--folder", again).code == 0
    said = refused("keys", "sign", again / "north.request", "--yes", "--folder", machine.root / "registrar")
    assert "north" in said
    assert "tacit keys rotate" in said


def test_a_job_that_names_a_party_twice_is_one_line(refused, machine):
    file = machine.folder("analyst") / "job.toml"
    file.write_text(example_job(parties=("north", "south", "south"), rows=None))
    assert "name each data holder once" in refused("submit", file, "--config", machine.config("analyst"))


def test_a_server_out_of_reach_is_one_line(tacit, machine, monkeypatch):
    assert analyst.REACH <= 15
    monkeypatch.setattr(analyst, "REACH", 0.1)
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.code == 2
    assert result.err.startswith(f"tacit: error: {machine.url} cannot be reached")
    assert result.err.count("\n") == 1


def test_a_party_told_to_stop_ends_though_it_never_reached_the_server(tacit, north, monkeypatch):
    def soon():
        stop = threading.Event()
        threading.Timer(0.5, stop.set).start()
        return stop

    monkeypatch.setattr(daemon, "stop_on_signals", soon)
    assert tacit("party", "--config", north).code == 0


def test_a_finished_job_is_told_with_its_figures(tacit, machine, told):
    running = news("running", rounds=3, total=9, bytes=2000, gap=0.5)
    told(news("waiting", answers={"north": "accepts", "south": "has not answered"}),
         news("waiting", answers={"north": "accepts", "south": "accepts"}), running,
         news("finished", rounds=15, bytes=4000, seconds=2.5))  # fmt: skip
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.code == 0
    for words in (
        "study between north, south, east",
        "opens to holder",
        "15 rounds, 4.0 kB, 2.5 s",
        "support vectors   3",
    ):
        assert words in result.out
    assert result.err.splitlines() == ["waiting for south", "everybody accepts: about to start", "running"]


def test_a_log_has_a_line_for_every_step_of_a_study(tacit, machine, told):
    first, second = ({"number": k, "of": 2, "name": name} for k, name in enumerate(("scale", "svm"), 1))
    told(news("running", step=first), news("running", step=first, rounds=3, total=9), news("running", step=second),
         news("finished", rounds=15))  # fmt: skip
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.err.splitlines() == ["running: step 1 of 2 (scale)", "running: step 2 of 2 (svm)"]


def test_a_log_gets_nothing_of_a_bar_that_is_not_shown(tacit, machine, told, monkeypatch):
    monkeypatch.setattr("rich.progress.Progress.stop", lambda bar: bar.console.print())  # as rich before 14.3 did
    told(news("running"), news("finished", rounds=15))
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.err == "running\n"


def test_who_stops_waiting_is_told_that_the_job_goes_on_and_how_to_come_back(tacit, machine, told):
    def leave(job):
        raise KeyboardInterrupt(job.id)

    told(news("waiting", answers={"north": "accepts", "south": "has not answered"}), leave)
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.code == 130
    said = result.err.splitlines()
    assert said[0] == "waiting for south"
    assert re.fullmatch(
        r"tacit: job (\w{8}) goes on at its sites; to have its result: tacit resume \1; to end it: tacit withdraw \1",
        said[1],
    )


def test_a_job_in_json(tacit, machine, told):
    told(news("finished", rounds=15))
    found = tacit(
        "submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"), "--json"
    ).json
    assert (found["state"], found["rounds"], found["public"]["support"]) == ("finished", 15, [1, 2, 3])
    assert ["work out records of others" in line for line in found["warnings"]] == [True]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"clock": NOW + timedelta(minutes=5)}, "south has a clock more than 60 s off: set it by network time (NTP)"),
        (
            {"version": "0.0.9"},
            "south runs another version of tacit than the job: install the job's version at every party",
        ),
        ({"codes": ("features",)}, "south lacks columns that the job names: correct [columns] of the job"),
        ({"codes": ("disk",)}, "south has too little free disk for the run: free three times the estimated bytes"),
    ],
)
def test_a_preflight_that_fails_is_one_line(tacit, machine, job, told, changed, words):
    reports = {p: report_of(job, p, None, NOW, []) for p in job.roster.parties}
    reports["south"] = msgspec.structs.replace(reports["south"], **changed)
    told(news("refused", reasons=render(combine(job, reports)).splitlines()))
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.code == 2
    assert words in result.err
    assert result.err.count("\n") == 1


def test_a_stopped_job_says_how_to_go_on(tacit, machine, told):
    told(news("stopped", reasons=["east stopped at /train (PeerError): see its log"]))
    result = tacit("submit", machine.folder("analyst") / "job.toml", "--config", machine.config("analyst"))
    assert result.code == 2
    assert "east stopped at /train" in result.err
    assert "tacit resume" in result.err


def test_resuming_an_unknown_job_is_one_line(refused, machine):
    assert "0 jobs here begin with '3fa2'" in refused("resume", "3fa2", "--config", machine.config("analyst"))


def test_status_of_a_party_that_does_not_run(tacit, north, waiting):
    shown = tacit("status", "--config", north).out
    assert "north (party, not running)" in shown
    assert f"{waiting.id[:8]}   pending   waits for people here" in shown
    assert tacit("status", "--config", north, "--json").json["jobs"][0]["state"] == "pending"
    broken = north.parent / "state" / "jobs" / ("f" * 32)
    broken.mkdir()
    (broken / "proposal.json").write_text("{")
    assert f"job {broken.name} of north cannot be read" in " ".join(tacit("status", "--config", north).out.split())


def ended(machine, job, days=0):
    """The job as refused at north, so many days ago."""
    policy = Policy.from_toml(machine.folder("north") / "policy.toml")
    folder = folder_of(machine.folder("north") / "state", job.id)
    record = Record.of(job, "north", "refuse", rule="purposes", reason="no", policy=policy.digest, at=NOW)
    folder.answer = Answer.of(job, record, identity(machine, "north"))
    (folder.path / "audit.jsonl").write_text("kept\n")
    then = (NOW - timedelta(days=days)).timestamp()
    os.utime(folder.path / "answer.json", (then, then))
    return folder.path


def test_a_job_that_is_over_is_purged_and_its_audit_kept(tacit, machine, north, waiting):
    path = ended(machine, waiting)
    assert tacit("purge", waiting.id[:5], "--config", north, "--yes").code == 0
    assert not path.exists()
    state = machine.folder("north") / "state"
    assert (state / "audits" / f"{waiting.id}.jsonl").read_text() == "kept\n"
    assert not list((state / "consent").iterdir())


def test_purging_all_of_a_job_takes_its_audit(tacit, machine, north, waiting):
    ended(machine, waiting)
    assert tacit("purge", waiting.id, "--config", north, "--yes", "--all").code == 0
    assert not (machine.folder("north") / "state" / "audits").exists()


def test_only_what_is_past_its_retention_expires(tacit, machine, north, waiting):
    path = ended(machine, waiting, days=29)
    assert tacit("purge", "--expired", "--config", north, "--yes").out == "north: nothing to remove\n"
    ended(machine, waiting, days=31)
    assert "removed 1 job" in tacit("purge", "--expired", "--config", north, "--yes").out
    assert not path.exists()


def test_one_job_that_cannot_be_removed_or_read_keeps_no_other_from_being_purged(tacit, machine, north, waiting, job):
    state = machine.folder("north") / "state"
    other = msgspec.structs.replace(job, id="a" * 32)
    folder_of(state, other.id).propose(Proposal.of(other, identity(machine, "analyst")))
    free, held = ended(machine, waiting, days=31), ended(machine, other, days=31)
    broken = state / "jobs" / ("0" * 32)
    broken.mkdir()
    (broken / "proposal.json").write_text("{")
    store = Store(held / "journal")  # as a daemon holds it whose run goes on
    try:
        result = tacit("purge", "--expired", "--config", north, "--yes")
    finally:
        store.close()
    assert not free.exists()
    assert "removed 1 job;" in result.out
    assert result.code == 2
    assert f"1 of 2 jobs were not removed: {other.id}: " in result.err
    assert f"job {broken.name} of north cannot be read" in result.err
    assert tacit("purge", waiting.id, "--config", north, "--yes").code == 2  # it is gone
    assert tacit("status", "--config", north).code == 0


def test_purge_by_date(tacit, machine, north, waiting):
    ended(machine, waiting, days=3)
    assert (
        "nothing to remove"
        in tacit("purge", "--before", f"{NOW - timedelta(days=5):%Y-%m-%d}", "--config", north, "--yes").out
    )
    assert (
        "removed 1 job"
        in tacit("purge", "--before", f"{NOW - timedelta(days=1):%Y-%m-%d}", "--config", north, "--yes").out
    )


def test_nothing_is_purged_without_a_yes_or_while_it_waits(tacit, refused, machine, north, waiting):
    assert "is not over at north" in refused("purge", waiting.id, "--config", north, "--yes")
    assert "say what to remove: one JOB, --before DATE or --expired" in refused("purge", "--config", north)
    path = ended(machine, waiting)
    result = tacit("purge", waiting.id, "--config", north)
    assert result.code == 2
    assert "nothing was removed" in result.err
    assert path.exists()


@pytest.fixture
def audits(machine, job):
    """The signed ledgers of north and south of one run."""
    labels = {"north": np.arange(4) % 2}
    data = {p: part_of(np.eye(4), labels.get(p), None, tuple(f"{p}{j}" for j in range(4))) for p in HOSPITALS}
    inputs = {"data": (Holder, data), "judge": (Holder, data), "rules": (Holder, {p: {} for p in HOSPITALS})}
    ledger = execute_together(job.roster, job.protocol, inputs, job.arguments).ledger
    files = []
    for name in ("north", "south"):
        files.append(machine.root / f"{name}.jsonl")
        rows = [canonical(replace(row, digest=hashlib.sha256(row.place.encode()).hexdigest())) for row in ledger]
        write_audit(files[-1], Begin(job.id, name, {"job": job.digest}), rows, identity(machine, name).private.sign)
    return files


def verify(tacit, machine, *files):
    members = machine.root / "registrar" / "consortium.members"
    return tacit("audit", "verify", *files, "--members", members, "--ca", machine.fingerprint)


def test_audits_that_agree(tacit, machine, audits):
    result = verify(tacit, machine, *audits)
    assert result.code == 0
    assert result.out.endswith("whole, signed, and they agree\n")


def test_audits_that_differ_are_shown_where(tacit, machine, audits):
    lines = audits[1].read_bytes().splitlines(keepends=True)
    audits[1].write_bytes(b"".join(lines[:5] + lines[6:]))
    result = verify(tacit, machine, *audits)
    assert result.code == 1
    assert "row 5 does not follow from the one before" in result.out
    assert "from here on the parties tell of different runs" in result.out


def test_a_name_in_an_audit_cannot_redraw_the_terminal(tacit, machine, audits):
    forged = audits[1]
    name = "south\x1b[2J\u202e\r" + "x" * 500
    begin = Begin("r", name, {"job": "\x1b[31m"})
    write_audit(forged.with_name("forged.jsonl"), begin, [], identity(machine, "south").private.sign)
    result = verify(tacit, machine, audits[0], forged.with_name("forged.jsonl"))
    assert result.code == 1
    assert all(line.isprintable() for line in result.out.splitlines())
    assert max(len(line) for line in result.out.splitlines()) < 1000


def test_audits_that_an_old_key_signed_still_hold_and_the_key_is_said(tacit, machine, audits, tmp_path):
    old = identity(machine, "north").fingerprint
    _, request = create(tmp_path, "north", "party", ())
    shutil.copytree(machine.root / "registrar", tmp_path / "registrar")
    Registrar.load(tmp_path / "registrar").rotate(Request.load(request))
    result = tacit(
        "audit",
        "verify",
        *audits,
        "--members",
        tmp_path / "registrar" / "consortium.members",
        "--ca",
        machine.fingerprint,
    )
    assert result.code == 0
    assert result.out.count("revoked since") == 1
    assert (
        f" rows, signed by key {old}, which was revoked since: ask north whether this file is from before that"
        in result.out
    )
    assert result.out.endswith("whole, signed, and they agree\n")


def test_audits_that_are_not_there_are_one_line(refused, machine):
    assert "there is no file nowhere.jsonl" in refused("audit", "verify", "nowhere.jsonl", "--ca", machine.fingerprint)


@pytest.mark.parametrize("command", ["coordinator", "party", "party pending", "party approve", "party refuse", "submit",
                                     "resume", "withdraw", "status", "audit verify", "purge", "demo"])  # fmt: skip
def test_every_help_has_an_example(tacit, command):
    shown = tacit(*command.split(), "--help").out
    assert "Example" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_a_demonstration_over_a_network_needs_three_hospitals_and_a_new_folder(refused, folder):
    assert "--parties 2 is too few for --network" in refused("demo", "--network", "--parties", "2")
    assert "File exists; name a folder that does not exist yet" in refused("demo", "--network", "--keep", folder)
    assert "--keep needs --network" in refused("demo", "--keep", folder / "new")


def test_the_register_is_shown_in_words(tacit, north, machine):
    assert "entries   0, the last one under" in tacit("party", "register", "--config", north).out
    register = Register(machine.folder("north") / "state" / "registers")
    cells = np.random.default_rng(0).normal(size=(60, 2))
    edition = make_edition(register.memory, as_table(cells, None), np.arange(60), None, Fixed())
    job = propose("study", one_step("SVC", kernel="rbf", gamma=0.1, degree=3, coef0=0.0), **OF_ROWS)
    register.admit(job, ("age", "dose"), "north", edition, Limits(20, {}), datetime.now(UTC))
    shown = tacit("party", "register", "--config", north).out
    for words in (
        "cohort, 60 records since",
        "1 of 20: 19 left",
        f"job {job.id[:8]} with north, south, east: train_svm",
        "about 61, beside 120 cells of our records",
        "0 of 100, under all models of cohort",
        "entries   1",
    ):
        assert words in shown
    told = tacit("party", "register", "--config", north, "--json").json
    assert [entry["id"] for entry in told["entries"]] == [job.id]
    assert told["head"]["lines"] == 1
