"""A line that is cut, a broker that lost everything, a party that is away, fails, or comes back with an old journal."""

from __future__ import annotations

import shutil
import threading
import time

import numpy as np

from organisations.sites import CLEARING, SILENCE
from tacit.consortium.jobs.folder import folder_of


def started(sites, analyst, after, name="h1"):
    """A job that is under way."""
    job = sites.job()
    analyst.submit(job)
    sites.await_(lambda: sites.messages(job, name) >= after)
    return job


def nothing_to_read(sites, job):
    """What the broker's operator finds on its disk while letters pile up there."""
    store = sites.home(CLEARING) / "jetstream" / "jetstream"
    stored = b"".join(file.read_bytes() for file in store.rglob("*") if file.is_file())
    assert f"R{job.id}".encode() in stored, "what is searched holds the run"
    values = [*sites.X.ravel(), *np.einsum("ij,ij->i", sites.X, sites.X)]
    words = [b"gram_vertical", b"-column", b"cohort", b"Masked", CLEARING.encode(), b"secure_sum", b"a test", b"record"]
    return not any(
        clue in stored for clue in [*words, *(x.tobytes() for x in values), *(f"{x:.10g}".encode() for x in values)]
    )


def test_a_cut_line_changes_nothing_and_leaves_nothing_to_read_at_the_broker(sites, analyst, undisturbed, line):
    job = started(sites, analyst, 10)
    line.cut()
    time.sleep(3)
    assert nothing_to_read(sites, job)
    line.mend()
    sites.ends_well(analyst, job)
    assert sites.model(job) == undisturbed


def test_a_broker_that_lost_all_its_streams_changes_nothing(sites, analyst, undisturbed):
    job = started(sites, analyst, 10)
    sites.kill(CLEARING)
    sites.kill_server()
    shutil.rmtree(sites.home(CLEARING) / "jetstream" / "jetstream")
    sites.start(CLEARING)
    sites.ends_well(analyst, job)
    assert sites.model(job) == undisturbed


def test_who_follows_a_job_waits_for_a_server_that_is_away_for_longer_than_one_question_waits(
    sites, analyst, undisturbed, monkeypatch
):
    monkeypatch.setattr("tacit.consortium.site.analyst.REACH", 0.3)
    job = started(sites, analyst, 10)
    sites.kill(CLEARING)
    sites.kill_server()
    later = threading.Timer(2.0, sites.start, [CLEARING])
    later.start()
    *_, news = analyst.follow(job)
    later.join()
    assert news.state == "finished"
    assert sites.model(job) == undisturbed


def test_a_site_told_to_stop_ends_at_once_and_goes_on_at_its_next_start(sites, analyst, undisturbed):
    job = started(sites, analyst, 10)
    start = time.monotonic()
    assert sites.stop("h2", CLEARING) == [0, 0]
    assert time.monotonic() - start < 30  # seconds, where patience would be longer
    for name in ("h2", CLEARING):
        assert sites.outcome(job, name) is None
        sites.start(name)
    sites.ends_well(analyst, job)
    assert sites.model(job) == undisturbed
    assert "Traceback" not in sites.log("h2") + sites.log(CLEARING)


def test_a_party_that_stays_away_stops_the_run_which_can_be_resumed(sites, analyst, undisturbed):
    job = started(sites, analyst, 10)
    sites.kill("h3")
    news = sites.follow(analyst, job, 4 * SILENCE)
    assert news.state == "stopped"
    assert len(news.reasons) == 1
    assert "h3 stopped at /study/gram_vertical/round[" in news.reasons[0]
    assert f"silent for over {SILENCE:.0f} s" in news.reasons[0]
    sites.await_(lambda: all(sites.outcome(job, name) for name in ("h1", "h2", CLEARING)))
    for name in ("h1", "h2", CLEARING):
        told = sites.outcome(job, name)
        assert (told.ok, told.party, told.kind) == (False, "h3", f"silent for over {SILENCE:.0f} s")
        assert "h3" in [line for line in sites.log(name).splitlines() if " stopped: " in line][-1]
    analyst.resume(job.id, CLEARING)
    sites.start("h3")
    sites.ends_well(analyst, job, after=1)
    assert sites.model(job) == undisturbed


def test_everybody_hears_who_failed_and_nobody_where_or_why(sites, analyst, undisturbed):
    sites.stop("h2")
    sites.start("h2", "--fails")
    job = sites.job()
    analyst.submit(job)
    news = sites.follow(analyst, job, 30)
    assert news.state == "stopped"
    assert news.reasons == ("h2 stopped at its own part (data): see its log",)
    sites.await_(lambda: all(sites.outcome(job, name) for name in sites.names))
    for name in sites.names:
        told = sites.outcome(job, name)
        assert (told.ok, told.party, told.place, told.kind) == (False, "h2", "its own part", "data")
        assert ("record 17" in sites.log(name)) == (name == "h2")
    sites.stop("h2")
    sites.start("h2")
    analyst.resume(job.id, CLEARING)
    sites.ends_well(analyst, job, after=1)
    assert sites.model(job) == undisturbed


def test_an_old_journal_is_refused_before_anything_new_is_said(sites, analyst, undisturbed, tmp_path):
    job = started(sites, analyst, 10, "h3")
    journal = folder_of(sites.home("h3") / "state", job.id).path / "journal"
    sites.kill("h3")
    shutil.copytree(journal, tmp_path / "old")
    sites.start("h3")
    before = sites.messages(job, "h3")
    sites.await_(lambda: sites.messages(job, "h3") > before + 3)
    sites.kill("h3")
    newest = journal.rename(tmp_path / "newest")
    shutil.copytree(tmp_path / "old", journal)
    before = sites.messages(job, "h3")
    sites.start("h3")
    assert sites.follow(analyst, job, 30).state == "stopped"
    assert "this journal is older than what" in sites.log("h3")
    assert sites.messages(job, "h3") <= before + 1, "only stored bytes leave"
    assert sites.check_masks()
    sites.kill("h3")
    shutil.rmtree(journal)
    newest.rename(journal)
    sites.start("h3")
    analyst.resume(job.id, CLEARING)
    sites.ends_well(analyst, job, after=1)
    assert sites.model(job) == undisturbed


def test_two_jobs_at_once(sites, analyst, undisturbed):
    jobs = [sites.job(), sites.job()]
    for job in jobs:
        analyst.submit(job)
    for job in jobs:
        sites.ends_well(analyst, job)
        assert sites.model(job) == undisturbed


def test_no_run_left_a_stream_a_journal_or_a_second_form_of_a_message(sites, undisturbed):
    del undisturbed
    assert sites.check_masks()
    sites.await_(lambda: not list(sites.folder.glob("c/*/first/state/jobs/*/journal")))
    streams = sites.home(CLEARING) / "jetstream" / "jetstream"
    assert [s.name for s in streams.glob("*/streams/*")] == ["CONTROL"]
