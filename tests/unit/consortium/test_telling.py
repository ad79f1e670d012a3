"""What a site tells again and again: soon at first, then ever more rarely, and not at all once the job has ended."""

import itertools
import types

import pytest
from consortium_study import Study

from tacit.consortium.broker.asking import TOLD, Asking, parse, reply
from tacit.consortium.site import common as site_module
from tacit.consortium.site.common import Site
from tacit.consortium.site.settings import DaemonSettings

DAY = 24 * 3600
JOB = "a" * 32


@pytest.fixture
def clock(monkeypatch):
    clock = types.SimpleNamespace(now=1000.0)
    monkeypatch.setattr(site_module, "time", types.SimpleNamespace(monotonic=lambda: clock.now, time=lambda: clock.now))
    return clock


@pytest.fixture
def site(tmp_path, clock):
    """A site that writes down when it sends."""
    study = Study(tmp_path)
    papers = dict.fromkeys(("key", "certificate", "members"), tmp_path)
    settings = DaemonSettings(name="north", ca_fingerprint="", state=tmp_path, party_timeout=1.0, **papers)
    made = Site(settings, study.sites["north"], study.members, None)
    made.sent = []
    made.control.send = lambda *letter: made.sent.append((clock.now, *letter))
    return made


def test_a_letter_that_nobody_answers_is_sent_again_after_5_s_and_then_ever_more_rarely(site, clock):
    for _ in range(DAY * 4):
        site.tell("clearing", "answer", b"no", JOB)
        clock.now += 0.25
    times = [when - 1000.0 for when, *_ in site.sent]
    assert times[:8] == [0, 5, 15, 35, 75, 155, 315, 615]
    assert {later - sooner for sooner, later in itertools.pairwise(times[7:])} == {300}
    assert len(times) < 300


def test_a_letter_in_a_hurry_goes_at_once_and_soon_again(site, clock):
    for _ in range(4000):
        site.tell("clearing", "answer", b"yes", JOB)
        clock.now += 0.25
    site.sent.clear()
    site.hurry("clearing", "answer", JOB)
    for _ in range(30):
        site.tell("clearing", "answer", b"yes", JOB)
        clock.now += 0.25
    assert len(site.sent) == 2


def test_of_a_job_that_has_ended_nothing_is_kept(site):
    for party in ("south", "east"):
        site.tell(party, "start", b"", JOB, "1")
    site.tell("south", "start", b"", "b" * 32, "1")
    site.forget(JOB)
    site.forget("c" * 32)
    assert list(site._sent) == ["b" * 32]


def test_a_reply_counts_only_for_its_question_and_from_who_was_asked():
    said = []

    def say(who, kind, question):
        said.append((who, kind))
        number, content = parse(question)
        reply(lambda _who, _kind, body: asking.hear("mallory", body), who, number, b"a lie")
        reply(lambda _who, _kind, body: asking.hear("clearing", body), who, bytes(16), b"to another question")
        if len(said) == 2:  # the first one was lost
            reply(heard, who, number, b"news of " + content)

    def heard(who, kind, body):
        assert (who, kind) == ("clearing", TOLD)
        asking.hear("clearing", body)

    asking = Asking(say)
    assert asking.ask("clearing", "ask", b"all", 10.0) == b"news of all"
    assert said == [("clearing", "ask")] * 2
    assert asking.ask("clearing", "ask", b"all", 0.1) is None
    assert (asking._open, asking._told) == ({}, {})
