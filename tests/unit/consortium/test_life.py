"""The life of a job at all its sites.

One bad job stops nobody, and checks come before people.
"""

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from consortium_study import PARTIES, altered

from tacit.consortium.audit.comparison import compare
from tacit.consortium.broker.server import find_server
from tacit.consortium.consent.people import Consent
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.answers import Ended, Proposal, Withdrawal
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.site import coordinator as coordinating
from tacit.errors import MissingExtraError, PeerError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)


# A job that goes well


def test_checks_come_first_then_answers_then_the_run_and_every_audit_agrees(house):
    job = house.new()
    with house.analyst() as analyst:
        analyst.submit(job)
        house.everywhere(job, "finished")
        assert next(iter(analyst.follow(job))).state == "finished"
    files = {name: house.folder_at(name, job).path / "audit.jsonl" for name in ("clearing", *PARTIES)}
    keys = {name: [house.members.member(name).key] for name in files}
    assert compare(list(files.values()), keys) == []


# One bad job stops nobody


def test_a_job_that_makes_the_coordinator_stumble_ends_with_one_line_and_the_others_go_on(house, monkeypatch):
    bad, good = house.new(), house.new()
    clearing = house.site("clearing")
    real = coordinating.local_checks

    def stumble(job, *args, **kwargs):
        if job.id == bad.id:
            raise TypeError("record 17 is ill")
        return real(job, *args, **kwargs)

    monkeypatch.setattr(coordinating, "local_checks", stumble)
    house.propose(bad)
    house.propose(good)
    house.until(lambda: house.state("clearing", bad) == "refused")
    house.everywhere(good, "finished")
    (reason,) = house.folder_at("clearing", bad).ended.reasons
    assert reason == "clearing cannot go on with the job (TypeError), and its log says why"
    assert clearing.news(house.folder_at("clearing", bad)).state == "refused"


@pytest.mark.slow
@pytest.mark.parametrize("state", ["checked", "pending", "accepted"])
def test_whatever_raises_at_any_step_ends_that_job_alone(house, monkeypatch, state):
    """Also after a restart, which finds the same files."""
    step = {"checked": "_clear", "pending": "_answer", "accepted": "_begin"}[state]
    bad, good, clearing = house.new(), house.new(), house.site("clearing")
    real = getattr(clearing, step)

    def stumble(folder, job):
        if job.id == bad.id:
            raise ValueError("record 17 is ill")
        return real(folder, job)

    monkeypatch.setattr(clearing, step, stumble)
    house.propose(bad)
    house.propose(good)
    house.everywhere(good, "finished")
    house.until(lambda: house.state("clearing", bad) == "refused")
    assert "record 17" not in "".join(house.folder_at("clearing", bad).ended.reasons)


def test_a_job_whose_files_cannot_be_read_is_set_aside_with_one_line(house, caplog):
    caplog.set_level(logging.ERROR, logger="tacit")
    state, good = house.home("clearing") / "state", house.new()
    broken = folder_of(state, "f" * 32)
    broken.path.mkdir(parents=True)
    (broken.path / "proposal.json").write_bytes(b'{"job": 5')
    house.propose(good)
    house.everywhere(good, "finished")
    assert not broken.path.exists()
    assert (state / "aside" / broken.id / "proposal.json").exists()
    (line,) = [r.getMessage() for r in caplog.records if "set aside" in r.getMessage()]
    assert line.startswith("job ffffffff cannot be read (PeerError) and is set aside: see ")


def test_a_report_whose_clock_has_no_timezone_is_not_heard(house):
    job = house.new()
    house.propose(job)
    house.until(lambda: house.state("clearing", job) == "checked")
    letter = house.checked("north", job, clock=datetime(2030, 1, 1))  # noqa: DTZ001 - what a hostile party sends
    with pytest.raises(PeerError, match="malformed Checked"):
        house.site("clearing").hear("north", "checked", letter.dump())
    house.everywhere(job, "finished")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clearing", "north"])
def test_two_thousand_jobs_that_are_over_cost_a_look_next_to_nothing(tmp_path, house, name, monkeypatch):
    site = house.site(name)
    job, over = house.new(), Ended.of("0" * 32, "refused", "south", "south refuses: no")
    site.state = tmp_path
    try:
        for i in range(2000):
            one = altered(job, id=f"{i:032x}")
            folder = folder_of(tmp_path, one.id)
            folder.path.mkdir(parents=True)
            (folder.path / "proposal.json").write_bytes(house.proposal(one).dump())
            (folder.path / "ended.json").write_bytes(altered(over, job=one.id).dump())
            (folder.path / "over").mkdir()
            for party in PARTIES:
                (folder.path / "over" / f"{party}.json").write_bytes(altered(over, job=one.id).dump())
        site.tick()
        opened, read = [], Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read(path))
        site.tick()
        assert len(opened) < 1000  # those are read again that changed within a tick of the clock
        assert site.open_of("analyst") == 0
    finally:
        site.state = house.home(name) / "state"


# What a coordinator cannot accept


def refusal_of(house, job, proposal=None):
    """What the analyst hears of a proposal, at once."""
    with house.analyst() as analyst:
        folder_of(analyst.settings.state, job.id).propose(house.proposal(job))
        analyst._tell("clearing", "propose", (proposal or house.proposal(job)).dump())
        (news,) = analyst.follow(job)
    assert house.state("clearing", job) is None
    assert news.state == "refused"
    return news.reasons[0]


def test_a_proposal_with_bad_fields_is_refused_at_once_to_its_submitter(house):
    job = house.new()
    text = job.canonical().decode().replace('"partition":"vertical"', '"partition":"diagonal"')
    signed = Proposal(
        job=text, submitter="analyst", signature=house.sites["analyst"].sign("proposal", text.encode()).hex()
    )
    assert "clearing refuses: the proposal is not a job of this version" in refusal_of(house, job, signed)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parties": ("north", "south", "west")}, "names west, and 'west' is not a member of Northern hospitals"),
        ({"parties": ("north", "south", "analyst")}, "names analyst as a party, and the list of members has a analyst"),
    ],
)
def test_a_job_between_sites_that_are_no_parties_is_refused_by_analyst_and_coordinator(house, changes, words):
    job = house.new(**changes)
    with house.analyst() as analyst, pytest.raises(PeerError, match=words):
        analyst.submit(job)
    assert not folder_of(house.home("analyst") / "state", job.id).path.exists()
    assert words in refusal_of(house, job)


def test_who_is_not_among_a_coordinators_submitters_is_refused_and_nothing_is_kept(house, monkeypatch):
    clearing = house.site("clearing")
    monkeypatch.setattr(clearing, "settings", altered(clearing.settings, submitters=("somebody",)))
    assert "clearing passes on no jobs of analyst" in refusal_of(house, house.new())


def test_beyond_the_quota_a_proposal_is_refused_and_not_kept(house, monkeypatch):
    clearing = house.site("clearing")
    house.set_policy("north", automatic=False)
    waiting = house.new()
    house.propose(waiting)
    house.until(lambda: house.state("north", waiting) == "pending")
    monkeypatch.setattr(clearing, "settings", altered(clearing.settings, open_jobs=1))
    assert "1 jobs of analyst are under way, and open_jobs allows no more" in refusal_of(house, house.new())
    north = house.site("north")
    monkeypatch.setattr(clearing, "settings", altered(clearing.settings, open_jobs=100))
    monkeypatch.setattr(north, "settings", altered(north.settings, open_jobs=1))
    more = house.new()
    house.propose(more)
    house.until(lambda: house.state("clearing", more) == "refused")
    assert "open_jobs allows no more" in house.folder_at("clearing", more).ended.reasons[0]
    assert house.state("north", more) is None
    clearing.hear("analyst", "withdraw", Withdrawal(job=waiting.id).dump())
    house.everywhere(waiting, "withdrawn")


def test_a_submitter_that_a_policy_does_not_list_leaves_nothing_at_the_party(house):
    text = (house.home("south") / "policy.toml").read_text().replace('submitters = "any"', 'submitters = ["somebody"]')
    (house.home("south") / "policy.toml").write_text(text)
    job = house.new()
    house.propose(job)
    house.until(lambda: house.state("north", job) == "refused" and house.state("east", job) == "refused")
    assert house.state("south", job) is None
    assert house.folder_at("clearing", job).ended.reasons == (
        "south refuses: policy policy.toml: submitters does not list analyst: ask that party",
    )


# Checks before people


def test_nobody_is_asked_about_a_job_whose_checks_fail_anywhere(house):
    house.set_policy("north", automatic=False)
    job = house.new(rows={"north": 60, "south": 59, "east": 60})
    house.propose(job)
    house.everywhere(job, "refused")
    assert "south has data that does not fit the job" in "".join(house.folder_at("north", job).ended.reasons)
    assert not list((house.home("north") / "state" / "consent").glob(f"{job.id}*"))


def test_people_see_a_job_only_when_every_check_has_passed(house):
    house.set_policy("north", automatic=False)
    house.close_site("east")
    job = house.new()
    house.propose(job)
    house.until(lambda: house.state("north", job) == house.state("south", job) == "checked")
    consent = Consent(
        house.home("north") / "state" / "consent", Policy.from_toml(house.home("north") / "policy.toml"), "north"
    )
    assert job.id not in {one.job.id for one in consent.list_pending(datetime.now(UTC))[0]}
    house.open_site("east")
    house.until(lambda: house.state("north", job) == "pending")
    house.until(lambda: job.id in {one.job.id for one in consent.list_pending(datetime.now(UTC))[0]})
    for person in ("dr-lee", "dpo"):
        consent.approvers.add(person, f"what {person} knows")
        consent.approve(job.id, person, datetime.now(UTC), f"what {person} knows")
    house.everywhere(job, "finished")


def test_an_approval_that_is_taken_back_before_the_start_ends_the_job(house):
    house.set_policy("north", automatic=False, approvers=("dr-may",))
    house.set_policy("south", automatic=False)
    job = house.new()
    house.propose(job)
    consent = Consent(
        house.home("north") / "state" / "consent", Policy.from_toml(house.home("north") / "policy.toml"), "north"
    )
    house.until(lambda: job.id in {one.job.id for one in consent.list_pending(datetime.now(UTC))[0]})
    consent.approvers.add("dr-may", "what dr-may knows")
    consent.approve(job.id, "dr-may", datetime.now(UTC), "what dr-may knows")
    house.until(lambda: house.state("north", job) == "accepted")
    consent.withdraw(job.id, "dr-may", datetime.now(UTC), "what dr-may knows")
    house.everywhere(job, "refused")
    (reason,) = house.folder_at("clearing", job).ended.reasons
    assert reason == "north refuses: an approval was taken back before the start: ask that party"
    for name in ("north", "south"):
        house.restore(name)


def test_a_coordinator_cannot_have_people_asked_about_a_job_whose_checks_failed_or_were_not_made(lying):
    lying.set_policy("north", automatic=False)
    job, north = lying.new(), lying.site("north")
    north.hear("clearing", "proposed", lying.proposal(job).dump())
    lying.until(lambda: lying.state("north", job) == "checked")
    for lie in (lying.cleared(job, south=None), lying.cleared(job, south=lying.checked("south", job, codes=("disk",)))):
        with pytest.raises(PeerError, match="is said to have passed its checks and has not"):
            north.hear("clearing", "cleared", lie.dump())
    forged = altered(lying.checked("south", job), signature=lying.checked("north", job).signature)
    with pytest.raises(PeerError, match="is not that of south"):
        north.hear("clearing", "cleared", lying.cleared(job, south=forged).dump())
    assert lying.state("north", job) == "checked"
    north.hear("clearing", "ended", Ended.of(job.id, "withdrawn", "analyst", "enough").dump())
