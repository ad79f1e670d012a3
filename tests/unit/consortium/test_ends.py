"""The end of a job: it is one everywhere, whoever ends it, and what had moved until then is signed."""

import logging
import threading
from datetime import UTC, datetime, timedelta

import pytest
from consortium_study import PARTIES

from tacit.consortium.audit.comparison import compare
from tacit.consortium.broker.server import find_server
from tacit.consortium.consent.people import Consent
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs.answers import Ended, Start, Withdrawal
from tacit.consortium.jobs.folder import folder_of
from tacit.errors import MissingExtraError, PeerError
from tacit.protocols.learners import least_squares

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from living_sites import House, table  # needs the extra

# Ends


def test_one_refusal_ends_the_job_everywhere_with_its_reason(house):
    house.set_policy("north", automatic=False)
    job = house.new()
    with house.analyst() as analyst:
        analyst.submit(job)
        house.until(lambda: house.state("north", job) == "pending" and house.state("east", job) == "accepted")
        consent = Consent(
            house.home("north") / "state" / "consent", Policy.from_toml(house.home("north") / "policy.toml"), "north"
        )
        house.until(lambda: job.id in {one.job.id for one in consent.list_pending(datetime.now(UTC))[0]})
        consent.approvers.add("dpo", "what the dpo knows")
        consent.refuse(job.id, "dpo", "no legal basis", datetime.now(UTC), "what the dpo knows")
        house.everywhere(job, "refused")
        (news,) = analyst.follow(job)
    for name in ("clearing", *PARTIES):
        house.until(lambda name=name: house.folder_at(name, job).ended is not None)
        assert house.folder_at(name, job).ended.reasons == ("north refuses: no legal basis",)
        house.until(lambda name=name: not (house.folder_at(name, job).path / "journal" / "journal.sqlite").exists())
    assert (news.state, news.reasons) == ("refused", ("north refuses: no legal basis",))
    assert consent.list_pending(datetime.now(UTC))[0] == []


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
    house.propose(job)
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
    house.propose(job)
    house.everywhere(job, "finished")
    south = house.site("south")
    folder = folder_of(house.home("south") / "state", lost.id)
    folder.propose(house.proposal(lost))
    house.until(lambda: house.state("south", lost) == "refused")
    assert house.folder_at("south", lost).ended.reasons == (
        "clearing has no such job, or not any more: submit it again",
    )
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


@pytest.mark.slow
def test_a_job_that_expires_ends_everywhere(house):
    house.set_policy("north", automatic=False)
    job = house.new(expires=datetime.now(UTC) + timedelta(seconds=4))
    house.propose(job)
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
    north.hear("clearing", "cleared", lying.cleared(job, north=folder.checked).dump())
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
        house.propose(job)
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
    house.propose(job)
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
    house.propose(job)
    house.until(lambda: house.state("clearing", job) == "refused")
    assert (
        "south refuses: this site cannot read its policy (LocalError)"
        in house.folder_at("clearing", job).ended.reasons[0]
    )
    assert house.site("south").in_force()["policy"].startswith("cannot be read, so every job is refused")


def everyone(site, job):
    """How many records a site has for a job, to learn from and to judge by."""
    return sum(len(site.tables.part(job, held_out=held_out).X) for held_out in (False, True))


def test_a_dataset_that_was_replaced_is_what_the_next_job_sees(house):
    job = house.new(rows={"north": 60, "south": 60, "east": 60})
    house.propose(job)
    house.everywhere(job, "finished")
    east = house.site("east")
    assert everyone(east, job) == 60
    (house.home("east") / "cohort.csv").write_text("age,dose\n" + "".join(f"{i},1.5\n" for i in range(70)))
    assert everyone(east, job) == 70
    again = house.new(rows={"north": 60, "south": 60, "east": 60})
    house.propose(again)
    house.everywhere(again, "refused")


def test_a_dataset_that_changes_after_the_yes_stops_the_run_at_its_start(house):
    """What people agreed to, and what the checks saw, is what is used."""
    house.set_policy("north", automatic=False)
    job = house.new()
    house.propose(job)
    house.until(lambda: house.state("east", job) == "accepted" and house.state("north", job) == "pending")
    (house.home("east") / "cohort.csv").write_text(table("east").replace("17,", "18,"))
    house.set_policy("north", automatic=True)
    house.until(lambda: house.state("clearing", job) == "stopped")
    finished = house.folder_at("east", job).finished
    assert (finished.party, finished.kind) == ("east", "data")
    register = Register(house.home("east") / "state" / "registers")
    assert job.digest not in {entry.job for entry in register.entries()}  # nothing of that table was opened
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


def test_a_step_that_raises_in_the_middle_of_a_run_leaves_a_signed_audit_at_every_site(house, monkeypatch):
    job = house.new()

    def stumble():
        raise ValueError("record 17 is ill")

    with monkeypatch.context() as patch:
        patch.setattr(least_squares, "trace_each", in_run(job, stumble, least_squares.trace_each))
        house.propose(job)
        house.everywhere(job, "stopped")
    files = stopped_audits(house, job)
    for file in files.values():
        assert compare([file], house.members.keys()) == []
    assert compare(list(files.values()), {name: [house.members.member(name).key] for name in files}) == []
    assert "Opening" in files["north"].read_text()  # what was taken stands in it
    assert "record 17" not in "".join(file.read_text() for file in files.values())
    house.until(lambda: house.site("clearing").news(house.folder_at("clearing", job)).state == "stopped")
    house.site("clearing").hear("analyst", "resume", job.id.encode())
    house.everywhere(job, "finished")
    assert compare([house.folder_at("north", job).path / "audit.jsonl"], house.members.keys()) == []
    assert files["north"].exists()


def test_a_withdrawal_in_the_middle_of_a_run_stops_it_everywhere_and_leaves_signed_audits(house, monkeypatch):
    held, job = threading.Event(), house.new()
    monkeypatch.setattr(least_squares, "trace_each", in_run(job, lambda: held.wait(20), least_squares.trace_each))
    with house.analyst() as analyst:
        analyst.submit(job)
        house.until(lambda: set(house.states(job).values()) == {"running"})
        analyst.withdraw(job)
        house.until(lambda: house.state("clearing", job) == "withdrawn")
        held.set()
        house.everywhere(job, "withdrawn")
    files = stopped_audits(house, job)
    house.until(lambda: all(file.exists() for file in files.values()))
    for file in files.values():
        assert compare([file], house.members.keys()) == []
    house.until(lambda: not any((file.parent / "journal").exists() for file in files.values()))
    assert house.folder_at("north", job).path.joinpath("result.bin").exists() is False


def test_a_process_that_was_killed_in_a_run_signs_its_audit_from_its_journal_when_it_is_back(house, monkeypatch):
    held, job = threading.Event(), house.new()
    monkeypatch.setattr(least_squares, "trace_each", in_run(job, lambda: held.wait(20), least_squares.trace_each))
    house.propose(job)
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
    assert compare([file], house.members.keys()) == []
