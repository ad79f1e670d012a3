"""A page answers at once, however many jobs there are; and a run is not slowed by who looks at it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from calls import count_calls
from tacit.choreo.fact import Fact
from tacit.choreo.ledger import Ledger, Row
from tacit.consortium.jobs.answers import Ended, Proposal
from tacit.consortium.jobs.folder import folder_of
from tacit.page.events import SoFar, describe_live
from unit.page.page_sites import proposed

JOBS = 1000
TOLD = (Fact("example.told", "holders", "aggregate", "all", "a sum"),)


def age(folder):
    """Let a folder be of a time that no further change shares."""
    os.utime(folder.path, (time.time() - 60, time.time() - 60))


@pytest.mark.slow
def test_a_page_reads_few_files_with_a_thousand_jobs(hospital, browser, monkeypatch):
    for number in range(JOBS):
        job = msgspec.structs.replace(proposed(), id=f"{number:032x}")
        folder = folder_of(hospital.settings.state, job.id)
        folder.path.mkdir(parents=True)  # as the daemon writes them, without a wait for the disk
        proposal = Proposal.of(job, hospital.identities["analyst"])
        ended = Ended.of(job.id, "refused", "south", "no legal basis")
        for name, content in {"proposal": proposal, "ended": ended}.items():
            (folder.path / f"{name}.json").write_bytes(content.dump())
        age(folder)
    job = proposed(purpose="the one that waits")
    age(hospital.propose(job))
    paths = ("/proposals", "/runs", "/runs?page=20", "/results", f"/proposals/{job.id}", f"/runs/{job.id}", "/site")
    browser.get("/runs")  # the first look reads every folder
    opened, read = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read(path))
    for path in paths:
        opened.clear()
        assert browser.get(path).status_code == 200
        assert len(opened) < 100, path


def test_a_look_at_a_run_counts_only_the_rows_that_are_new():
    ledger, so_far = Ledger(), SoFar()
    row = Row("/p/Masked", "north", "clearing", "holder", "coordinator", "Masked", TOLD, ((3,),), 24)
    for _ in range(3):
        ledger.rows.extend([row] * 1000)
        so_far.advance(ledger.rows)
    assert so_far.flows["north", "clearing"] == 3000
    assert so_far.sent["north"] == 72_000
    assert so_far.told["clearing", "example.told"] == 3000
    assert count_calls(lambda: so_far.advance(ledger.rows)) < 20  # nothing is new


def test_who_looks_at_a_run_of_300_rounds_does_not_look_at_each_of_them_again():
    """The most that a live view can add to a run: it looks once a second, in the process of the site."""
    job, so_far = proposed(), SoFar()
    rows = [
        Row(f"/p/round[{k}]/Masked", party, "clearing", "holder", "coordinator", "Masked", TOLD, ((3,),), 24)
        for k in range(300) for party in job.parties for _ in range(10)
    ]  # fmt: skip
    run = SimpleNamespace(ledger=Ledger(rows), history=[{"round": k, "gap": 1 / (k + 1)} for k in range(300)])
    courier = SimpleNamespace(silence=lambda _: 0.0, places=dict.fromkeys(job.parties, rows[-1].place))
    live = {"run": run, "courier": courier, "planned": 300, "began": time.time()}
    describe_live(job, live, so_far, "north")
    assert count_calls(lambda: json.dumps(describe_live(job, live, so_far, "north"))) < 40_000


def test_a_run_that_waits_for_a_site_says_so_and_guesses_no_time():
    job = proposed()
    courier = SimpleNamespace(silence=lambda party: 60.0 if party == "south" else 0.0, places={})
    run = SimpleNamespace(ledger=Ledger(), history=[])
    live = {"run": run, "courier": courier, "planned": 300, "began": time.time()}
    assert describe_live(job, live, SoFar(), "north")["says"] == "waits for south"


def test_a_job_that_changed_is_read_again(hospital, browser):
    job = proposed()
    folder = hospital.propose(job)
    age(folder)
    assert "proposed" in browser.get("/runs").text
    folder.ended = Ended.of(job.id, "withdrawn", "analyst", "wrong cohort")
    assert "wrong cohort" in browser.get("/runs").text
