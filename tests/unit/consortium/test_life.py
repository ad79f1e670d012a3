"""The life of a job at all its sites: one bad job stops nobody, checks come before people, and an end is an end everywhere."""

import logging
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from consortium_study import PARTIES, altered

from tacit.consortium import clearing as coordinating
from tacit.consortium.answers import Ended, Proposal, Start, Withdrawal
from tacit.consortium.comparison import compare, verify
from tacit.consortium.consent import Consent
from tacit.consortium.folder import folder_of
from tacit.consortium.policy import Policy
from tacit.consortium.server import find_server
from tacit.errors import MissingExtraError, PeerError
from tacit.protocols import gram_model, gram_vertical

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from living_sites import House, table  # needs the extra


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with House(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture
def house(shared):
    """The consortium as it was founded, whatever the test before did to its files."""
    for name in PARTIES:
        shared.set_policy(name, automatic=True)
        (shared.home(name) / "cohort.csv").write_text(table(label=name == "north"))
        (shared.home(name) / "state" / "registers" / "asked.jsonl").unlink(missing_ok=True)  # all tests are one day of one submitter
    return shared


@pytest.fixture
def lying(house):
    """The consortium while somebody else holds the coordinator's key: the test writes its letters."""
    house.close_site("clearing")
    yield house
    house.open_site("clearing")


def propose(house, job):
    house.site("clearing").hear("analyst", "propose", house.proposal(job).dump())


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
    propose(house, bad)
    propose(house, good)
    house.until(lambda: house.state("clearing", bad) == "refused")
    house.everywhere(good, "finished")
    (reason,) = house.folder_at("clearing", bad).ended.reasons
    assert reason == "clearing cannot go on with the job (TypeError), and its log says why"
    assert clearing.news(house.folder_at("clearing", bad)).state == "refused"


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
    propose(house, bad)
    propose(house, good)
    house.everywhere(good, "finished")
    house.until(lambda: house.state("clearing", bad) == "refused")
    assert "record 17" not in "".join(house.folder_at("clearing", bad).ended.reasons)


def test_a_job_whose_files_cannot_be_read_is_set_aside_with_one_line(house, caplog):
    caplog.set_level(logging.ERROR, logger="tacit")
    state, good = house.home("clearing") / "state", house.new()
    broken = folder_of(state, "f" * 32)
    broken.path.mkdir(parents=True)
    (broken.path / "proposal.json").write_bytes(b'{"job": 5')
    propose(house, good)
    house.everywhere(good, "finished")
    assert not broken.path.exists()
    assert (state / "aside" / broken.id / "proposal.json").exists()
    (line,) = [r.getMessage() for r in caplog.records if "set aside" in r.getMessage()]
    assert line.startswith("job ffffffff cannot be read (PeerError) and is set aside: see ")


def test_a_report_whose_clock_has_no_timezone_is_not_heard(house):
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("clearing", job) == "checked")
    letter = house.checked("north", job, clock=datetime(2030, 1, 1))  # noqa: DTZ001 - what a hostile party sends
    with pytest.raises(PeerError, match="malformed Checked"):
        house.site("clearing").hear("north", "checked", letter.dump())
    house.everywhere(job, "finished")


@pytest.mark.parametrize("name", ["clearing", "north"])
def test_two_thousand_jobs_that_are_over_cost_a_look_next_to_nothing(tmp_path, house, name):
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
        began = time.monotonic()
        site.tick()
        assert time.monotonic() - began < 0.05
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
    signed = Proposal(job=text, submitter="analyst", signature=house.sites["analyst"].sign("proposal", text.encode()).hex())
    assert "clearing refuses: the proposal is no job of this version" in refusal_of(house, job, signed)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parties": ("north", "south", "west")}, "names west, and 'west' is no member of Northern hospitals"),
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
    propose(house, waiting)
    house.until(lambda: house.state("north", waiting) == "pending")
    monkeypatch.setattr(clearing, "settings", altered(clearing.settings, open_jobs=1))
    assert "1 jobs of analyst are under way, and open_jobs allows no more" in refusal_of(house, house.new())
    north = house.site("north")
    monkeypatch.setattr(clearing, "settings", altered(clearing.settings, open_jobs=100))
    monkeypatch.setattr(north, "settings", altered(north.settings, open_jobs=1))
    more = house.new()
    propose(house, more)
    house.until(lambda: house.state("clearing", more) == "refused")
    assert "open_jobs allows no more" in house.folder_at("clearing", more).ended.reasons[0]
    assert house.state("north", more) is None
    clearing.hear("analyst", "withdraw", Withdrawal(job=waiting.id).dump())
    house.everywhere(waiting, "withdrawn")


def test_a_submitter_that_a_policy_does_not_list_leaves_nothing_at_the_party(house):
    text = (house.home("south") / "policy.toml").read_text().replace('submitters = "any"', 'submitters = ["somebody"]')
    (house.home("south") / "policy.toml").write_text(text)
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("north", job) == "refused" and house.state("east", job) == "refused")
    assert house.state("south", job) is None
    assert house.folder_at("clearing", job).ended.reasons == (
        "south refuses: policy policy.toml: submitters does not list analyst: ask that party",
    )


# Checks before people


def test_nobody_is_asked_about_a_job_whose_checks_fail_anywhere(house):
    house.set_policy("north", automatic=False)
    job = house.new(rows={"north": 60, "south": 59, "east": 60})
    propose(house, job)
    house.everywhere(job, "refused")
    assert "south has data that does not fit the job" in "".join(house.folder_at("north", job).ended.reasons)
    assert not list((house.home("north") / "state" / "consent").glob(f"{job.id}*"))


def test_people_see_a_job_only_when_every_check_has_passed(house):
    house.set_policy("north", automatic=False)
    house.close_site("east")
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("north", job) == house.state("south", job) == "checked")
    consent = Consent(house.home("north") / "state" / "consent", Policy.from_toml(house.home("north") / "policy.toml"), "north")
    assert job.id not in {one.job.id for one in consent.pending(datetime.now(UTC))}
    house.open_site("east")
    house.until(lambda: house.state("north", job) == "pending")
    house.until(lambda: job.id in {one.job.id for one in consent.pending(datetime.now(UTC))})
    for person in ("dr-lee", "dpo"):
        consent.approve(job.id, person, datetime.now(UTC))
    house.everywhere(job, "finished")


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


# Ends


def test_one_refusal_ends_the_job_everywhere_with_its_reason(house):
    house.set_policy("north", automatic=False)
    job = house.new()
    with house.analyst() as analyst:
        analyst.submit(job)
        house.until(lambda: house.state("north", job) == "pending" and house.state("east", job) == "accepted")
        consent = Consent(house.home("north") / "state" / "consent", Policy.from_toml(house.home("north") / "policy.toml"), "north")
        house.until(lambda: job.id in {one.job.id for one in consent.pending(datetime.now(UTC))})
        consent.refuse(job.id, "dpo", "no legal basis", datetime.now(UTC))
        house.everywhere(job, "refused")
        (news,) = analyst.follow(job)
    for name in ("clearing", *PARTIES):
        house.until(lambda name=name: house.folder_at(name, job).ended is not None)
        assert house.folder_at(name, job).ended.reasons == ("north refuses: no legal basis",)
        house.until(lambda name=name: not (house.folder_at(name, job).path / "journal" / "journal.sqlite").exists())
    assert (news.state, news.reasons) == ("refused", ("north refuses: no legal basis",))
    assert consent.pending(datetime.now(UTC)) == []


def test_a_withdrawal_ends_a_waiting_job_and_only_its_submitter_may(house):
    house.set_policy("east", automatic=False)
    job = house.new()
    with house.analyst() as analyst:
        analyst.submit(job)
        house.until(lambda: house.state("east", job) == "pending")
        with pytest.raises(PeerError, match="which it did not submit"):
            house.site("clearing").hear("south", "withdraw", Withdrawal(job=job.id).dump())
        analyst.withdraw(job, "wrong cohort")
        house.everywhere(job, "withdrawn")
        (news,) = [one for one in analyst.follow(job) if one.state != "waiting"]
    assert news.reasons == ("analyst withdrew it: wrong cohort",)


def test_a_site_that_was_away_hears_of_the_end_when_it_comes_back(house):
    house.set_policy("north", automatic=False)
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("east", job) == "accepted")
    house.close_site("east")
    house.site("clearing").hear("analyst", "withdraw", Withdrawal(job=job.id).dump())
    house.until(lambda: house.state("south", job) == "withdrawn")
    assert house.state("east", job) == "accepted"
    house.open_site("east")
    house.everywhere(job, "withdrawn")
    house.until(lambda: set(house.folder_at("clearing", job).heard("over", Ended)) == set(PARTIES))


def test_a_stale_letter_about_a_job_that_is_over_or_unknown_is_answered_by_its_end(house):
    job, lost = house.new(), house.new()
    propose(house, job)
    house.everywhere(job, "finished")
    south = house.site("south")
    folder = folder_of(house.home("south") / "state", lost.id)
    folder.propose(house.proposal(lost))
    house.until(lambda: house.state("south", lost) == "refused")
    assert house.folder_at("south", lost).ended.reasons == ("clearing has no such job, or not any more: submit it again",)
    assert south.open_of("analyst") == 0


def test_an_end_that_hides_something_in_a_terminal_is_not_kept(house):
    job, north = house.new(), house.site("north")
    north.hear("clearing", "proposed", house.proposal(job).dump())
    hostile = Ended(job=job.id, kind="refused", by="south", reasons=("\x1b[2Jall is well",), at=datetime.now(UTC))
    with pytest.raises(PeerError, match="no single lines of text"):
        north.hear("clearing", "ended", hostile.dump())
    with pytest.raises(PeerError, match="which it did not propose here"):
        north.hear("south", "ended", Ended.of(job.id, "refused", "south", "me").dump())
    assert house.folder_at("north", job).ended is None
    north.hear("clearing", "ended", Ended.of(job.id, "refused", "south", "me").dump())


# Time


def test_a_job_that_expires_ends_everywhere(house):
    house.set_policy("north", automatic=False)
    job = house.new(expires=datetime.now(UTC) + timedelta(seconds=4))
    propose(house, job)
    house.until(lambda: house.state("north", job) == "pending")
    house.everywhere(job, "expired")
    for name in ("clearing", *PARTIES):
        house.until(lambda name=name: house.folder_at(name, job).ended is not None)
        assert "the job expired at" in house.folder_at(name, job).ended.reasons[0]
    assert house.site("clearing").news(house.folder_at("clearing", job)).state == "expired"


def test_a_coordinator_cannot_start_a_job_whose_time_is_over(lying):
    """With everybody's consent in its hand, which was given in time."""
    job = lying.new(expires=datetime.now(UTC) + timedelta(seconds=3))
    north = lying.site("north")
    north.hear("clearing", "proposed", lying.proposal(job).dump())
    lying.until(lambda: lying.state("north", job) == "checked")
    folder = lying.folder_at("north", job)
    clock = folder.checked.report.clock
    others = {name: lying.checked(name, job, clock=clock) for name in job.roster.parties}
    north.hear("clearing", "cleared", lying.cleared(job, **{**others, "north": folder.checked}).dump())
    lying.until(lambda: folder.answer is not None)
    assert folder.answer.accepts
    answers = {name: lying.answer(name, job=job) for name in job.roster.parties} | {"north": folder.answer}
    start = Start(job=job.id, attempt=1, answers=tuple(answers.values()))
    lying.until(lambda: datetime.now(UTC) > job.expires)
    north.hear("clearing", "start", start.dump())
    assert folder.start is None
    assert lying.state("north", job) == "expired"


# Members


def test_a_job_that_waits_for_a_member_that_was_revoked_ends_with_that_reason(tmp_path):
    with House(tmp_path) as house:
        house.set_policy("east", automatic=False)
        job = house.new()
        propose(house, job)
        house.until(lambda: house.state("east", job) == "pending")
        house.consortium.registrar.revoke("east")
        for name in ("clearing", "north", "south"):
            site = house.site(name)
            site.members = house.members
            site.control.renew(house.members)
        house.until(lambda: {house.state(name, job) for name in ("clearing", "north", "south")} == {"refused"})
        assert "the key of east was revoked" in house.folder_at("clearing", job).ended.reasons[0]


# Files that change


def test_a_policy_that_was_changed_is_in_force_at_the_next_job(house, caplog):
    caplog.set_level(logging.INFO, logger="tacit")
    house.set_policy("south", automatic=False)
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("south", job) == "pending" and house.state("north", job) == "accepted")
    assert house.folder_at("south", job).answer is None
    digest = Policy.from_toml(house.home("south") / "policy.toml").digest
    assert house.site("south").in_force() == {"policy": "policy.toml", "digest": digest}
    assert f"policy policy.toml is in force ({digest[:16]})" in caplog.text
    house.site("clearing").hear("analyst", "withdraw", Withdrawal(job=job.id).dump())
    house.everywhere(job, "withdrawn")


def test_a_policy_that_cannot_be_read_any_more_refuses(house):
    (house.home("south") / "policy.toml").write_text("automatic = ")
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("clearing", job) == "refused")
    assert "south refuses: this site cannot read its policy (LocalError)" in house.folder_at("clearing", job).ended.reasons[0]
    assert house.site("south").in_force()["policy"].startswith("cannot be read, so every job is refused")


def test_a_dataset_that_was_replaced_is_what_the_next_job_sees(house):
    job = house.new(rows={"north": 60, "south": 60, "east": 60})
    propose(house, job)
    house.everywhere(job, "finished")
    east = house.site("east")
    assert len(east.part(job).X) == 60
    (house.home("east") / "cohort.csv").write_text("age,dose\n" + "".join(f"{i},1.5\n" for i in range(70)))
    assert len(east.part(job).X) == 70
    again = house.new(rows={"north": 60, "south": 60, "east": 60})
    propose(house, again)
    house.everywhere(again, "refused")


def test_a_dataset_that_changes_after_the_yes_stops_the_run_at_its_start(house):
    """What people agreed to, and what the checks saw, is what is used."""
    house.set_policy("north", automatic=False)
    job = house.new()
    propose(house, job)
    house.until(lambda: house.state("east", job) == "accepted" and house.state("north", job) == "pending")
    (house.home("east") / "cohort.csv").write_text(table().replace("17,", "18,"))
    house.set_policy("north", automatic=True)
    house.until(lambda: house.state("clearing", job) == "stopped")
    finished = house.folder_at("east", job).finished
    assert (finished.party, finished.kind) == ("east", "data")
    house.site("clearing").hear("analyst", "withdraw", Withdrawal(job=job.id).dump())
    house.everywhere(job, "withdrawn")


# Audits of runs that stopped


def in_run(job, first, step):
    """A step that does something first in the run of a job, and not where the job is rehearsed."""

    def done(*args, **kwargs):
        if threading.current_thread().name == f"run-{job.id[:8]}":
            first()
        return step(*args, **kwargs)

    done.__name__ = step.__name__
    return done


def stopped_audits(house, job, attempt=1):
    return {name: house.folder_at(name, job).path / f"audit-{attempt}.jsonl" for name in ("clearing", *PARTIES)}


def test_a_coordinator_that_takes_the_matrix_and_raises_leaves_a_signed_audit_at_every_site(house, monkeypatch):
    job = house.new()

    def stumble():
        raise ValueError("record 17 is ill")

    with monkeypatch.context() as patch:
        patch.setattr(gram_model, "fit", in_run(job, stumble, gram_model.fit))
        propose(house, job)
        house.everywhere(job, "stopped")
    files = stopped_audits(house, job)
    for name, file in files.items():
        assert verify(file, [house.members.member(name).key]) == []
    assert compare(list(files.values()), {name: [house.members.member(name).key] for name in files}) == []
    assert "Masked" in files["north"].read_text()  # what was taken stands in it
    assert "record 17" not in "".join(file.read_text() for file in files.values())
    house.until(lambda: house.site("clearing").news(house.folder_at("clearing", job)).state == "stopped")
    house.site("clearing").hear("analyst", "resume", job.id.encode())
    house.everywhere(job, "finished")
    assert verify(house.folder_at("north", job).path / "audit.jsonl", [house.members.member("north").key]) == []
    assert files["north"].exists()


def test_a_withdrawal_in_the_middle_of_a_run_stops_it_everywhere_and_leaves_signed_audits(house, monkeypatch):
    held, job = threading.Event(), house.new()
    monkeypatch.setattr(gram_vertical, "gram_band", in_run(job, lambda: held.wait(20), gram_vertical.gram_band))
    with house.analyst() as analyst:
        analyst.submit(job)
        house.until(lambda: set(house.states(job).values()) == {"running"})
        analyst.withdraw(job)
        house.until(lambda: house.state("clearing", job) == "withdrawn")
        held.set()
        house.everywhere(job, "withdrawn")
    files = stopped_audits(house, job)
    house.until(lambda: all(file.exists() for file in files.values()))
    for name, file in files.items():
        assert verify(file, [house.members.member(name).key]) == []
    house.until(lambda: not any((file.parent / "journal").exists() for file in files.values()))
    assert house.folder_at("north", job).path.joinpath("result.bin").exists() is False


def test_a_process_that_was_killed_in_a_run_signs_its_audit_from_its_journal_when_it_is_back(house, monkeypatch):
    held, job = threading.Event(), house.new()
    monkeypatch.setattr(gram_vertical, "gram_band", in_run(job, lambda: held.wait(20), gram_vertical.gram_band))
    propose(house, job)
    house.until(lambda: set(house.states(job).values()) == {"running"})
    house.until((house.folder_at("east", job).path / "journal").exists)
    held.set()
    house.close_site("east")  # its run does not end: it goes on at the next start
    assert house.folder_at("east", job).finished is None
    house.site("clearing").hear("analyst", "withdraw", Withdrawal(job=job.id).dump())
    house.until(lambda: house.state("clearing", job) == "withdrawn")
    house.open_site("east")
    house.everywhere(job, "withdrawn")
    file = stopped_audits(house, job)["east"]
    house.until(file.exists)
    assert verify(file, [house.members.member("east").key]) == []
