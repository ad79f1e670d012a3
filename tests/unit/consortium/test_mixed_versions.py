"""Sites of different versions: who may still do what together, as docs/for/hospital-it.md says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest

from job_files import one_step
from tacit.choreo.codec import decode, encode
from tacit.consortium.jobs.preflight import combine, render, report_of
from tacit.consortium.jobs.proposal import propose
from tacit.errors import PeerError

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PARTIES = ("north", "south", "east")


@pytest.fixture(scope="module")
def job():
    return propose(
        "study",
        one_step("SVC", kernel="linear", gamma=1.0, degree=3, coef0=0.0, C=1.0),
        partition="vertical",
        parties=PARTIES,
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        labeller="north",
        rows=dict.fromkeys(PARTIES, 10),
        classes=("no", "yes"),
        now=NOW,
    )


def reports_of(job, **versions):
    made = {party: report_of(job, party, None, NOW, []) for party in job.roster.parties}
    return {p: msgspec.structs.replace(each, version=versions.get(p, each.version)) for p, each in made.items()}


def test_a_job_is_refused_before_it_starts_and_the_site_of_another_version_is_named(job):
    said = render(combine(job, reports_of(job, south="0.1.0")))
    assert re.findall(r"(\w+) runs another version of tacit than the job", said) == ["south"]


def test_sites_of_one_version_run_a_job_whatever_other_members_have(job):
    assert not [problem for problem in combine(job, reports_of(job)) if problem.code == "version"]
    assert job.version == version(
        "tacit"
    )  # a job names the version of who submits it, and those that take part need it


def test_a_message_of_another_wire_version_is_refused_unread():
    frame = bytearray(encode((1, 2, 3)).join())
    frame[4] = 1  # the wire of 0.1.0
    with pytest.raises(PeerError, match="all parties need the same version of tacit"):
        decode(bytes(frame))


def test_every_line_of_the_page_names_a_test_that_exists():
    page = (ROOT / "docs" / "for" / "hospital-it.md").read_text(encoding="utf-8")
    table = page.partition("## Sites of different versions")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)`", table)
    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).is_file()] == []
