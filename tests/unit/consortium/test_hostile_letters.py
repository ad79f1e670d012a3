"""Hostile letters, a few hundred of a grammar and some by hand.

No site stumbles over them, grows by them, or keeps what they bring.
"""

import logging
import secrets
import time

import msgspec
import pytest
from hostile_letters import CLEARING, MALLORY, Hostile, HostileHouse, draw, dumped

from tacit.consortium.broker import control as control_module
from tacit.consortium.broker.asking import parse
from tacit.consortium.broker.letters import cut
from tacit.consortium.jobs.answers import PROPOSAL, Ended, Finished, Withdrawal
from tacit.consortium.site import common as site_module
from tacit.consortium.site.coordinator import TURNED_AWAY


@pytest.fixture
def house(tmp_path):
    with HostileHouse(tmp_path) as house:
        yield house


@pytest.fixture
def hostile(house):
    with Hostile(house) as hostile:
        house.until(lambda: house.state("north", hostile.open) == "accepted")
        yield hostile


def proposed(house, hostile, *, job=None, **changes):
    """A proposal of mallory's, signed, of a new job with other fields."""
    job = job or house.new(submitter=MALLORY)
    data = msgspec.json.encode({**msgspec.to_builtins(job), **changes}, order="sorted")
    body = dumped(
        {"job": data.decode(), "submitter": MALLORY, "signature": hostile.by[MALLORY].sign(PROPOSAL, data).hex()}
    )
    hostile.deliver(MALLORY, CLEARING, list(cut("propose", body)))
    return job


def run_honestly(house):
    """A job of the honest analyst, from the proposal to its end at every site."""
    job = house.new()
    house.site("clearing").hear("analyst", "propose", house.proposal(job).dump())
    house.everywhere(job, "finished", 60)


@pytest.mark.slow
def test_sites_hear_hundreds_of_hostile_letters_and_an_honest_job_runs_between_them(house, hostile, caplog):
    refused = {name: house.site(name).control.notices for name in ("clearing", "north")}
    for i, recipe in enumerate(draw(300)):
        hostile.send(recipe, server=i % 10 == 0)
        if i % 30 == 0:
            house.tick()
        if i == 150:
            run_honestly(house)
    run_honestly(house)
    assert not [record for record in caplog.records if record.exc_info]
    assert not [line for notices in refused.values() for line in notices.take() if " in a letter of " in line]
    assert all(notices.refused for notices in refused.values())
    assert not list(house.folder.rglob("aside"))


def test_what_a_coordinator_remembers_of_a_refusal_is_short(house, hostile):
    for _ in range(3):
        proposed(house, hostile, **{"x" * 900_000: 1})
    kept = house.site("clearing")._turned_away
    assert 3 == len(kept) <= TURNED_AWAY
    assert all(len(reason) <= 2000 for news in kept.values() for reason in news.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["clearing", "north"])
def test_replies_to_a_member_that_takes_none_do_not_pile_up(house, hostile, victim, monkeypatch):
    monkeypatch.setattr(control_module, "LETTERS_WAITING", 50)
    control = house.site(victim).control

    async def never(*_):
        await control_module.asyncio.sleep(3600)

    monkeypatch.setattr(control, "_publish", never)
    for _ in range(200):
        if victim == "clearing":
            lie = Finished(job=secrets.token_hex(16), site="south", attempt=1, ok=True)
            hostile.deliver("south", "clearing", list(cut("finished", lie.dump())))
        else:
            hostile.deliver(
                "clearing", "north", list(cut("ended", Ended.of(secrets.token_hex(16), "refused", "clearing").dump()))
            )
    assert len(control._sending) <= 51
    for sending, _ in list(control._sending.values()):
        sending.cancel()


@pytest.mark.parametrize("kind", ["finished", "checked", "answer"])
def test_of_a_padded_letter_only_what_it_says_is_kept(house, hostile, kind):
    whole = {"path": ("south", "clearing"), "changes": [], "pick": 0, "text": "", "signed": "rightly", "about": "open"}
    body = hostile.body(kind, "south", whole)
    hostile.deliver("south", "clearing", list(cut(kind, body + b" " * 3_000_000)))
    kept = [
        file
        for file in house.folder_at("clearing", hostile.open).path.rglob("south.json")
        if file.stat().st_size > 10_000
    ]
    assert kept == []


@pytest.mark.slow
def test_a_site_that_stops_says_so_in_few_words(house, hostile):
    said = Finished(job=hostile.open.id, site="south", attempt=1, ok=False, place="x" * 100_000)
    hostile.deliver("south", "clearing", list(cut("finished", said.dump())))
    assert not (house.folder_at("clearing", hostile.open).path / "finished" / "south.json").exists()


def test_a_question_has_a_short_number():
    with pytest.raises(msgspec.ValidationError):
        parse(msgspec.msgpack.encode((bytes(1_000_000), b"")))


@pytest.mark.slow
def test_a_party_whose_submitter_is_not_welcome_writes_few_lines_about_it(house, hostile, caplog):
    file = house.home("north") / "policy.toml"
    file.write_text(file.read_text().replace('submitters = "any"', 'submitters = ["analyst"]'))
    caplog.set_level(logging.INFO)
    for _ in range(50):
        job = house.new(submitter=MALLORY)
        body = hostile.proposal(job.canonical(), "rightly")
        hostile.deliver("clearing", "north", list(cut("proposed", body)))
    lines = [*(record.message for record in caplog.records), *house.site("north").control.notices.take()]
    assert 1 <= len([line for line in lines if "submitters" in line]) <= 6


def test_a_proposal_that_is_repeated_is_one_line_of_the_log(house, hostile, caplog):
    caplog.set_level(logging.INFO)
    for _ in range(20):
        proposed(house, hostile, job=hostile.open)
    assert not [record for record in caplog.records if "of mallory" in record.message]


@pytest.mark.slow
def test_a_tick_leaves_what_it_has_no_time_for_to_the_next_and_begins_with_what_was_heard(house, hostile, monkeypatch):
    jobs = [proposed(house, hostile).id for _ in range(5)]
    clearing, looked = house.site("clearing"), []
    monkeypatch.setattr(site_module, "LONGEST_TICK", 0.0)
    monkeypatch.setattr(clearing, "_look", lambda folder: (time.sleep(0.01), looked.append(folder.id)))
    clearing._rests.update(dict.fromkeys(jobs, 0.0))
    clearing.wake(jobs[3])
    clearing.control.due.clear()
    clearing.tick()
    assert looked == [jobs[3]]
    assert clearing.control.due.is_set()


# Jobs that ended


@pytest.fixture
def few(house):
    """Sites that keep three jobs of a submitter that ended before they started."""
    for name in ("clearing", "north"):
        house.site(name).ended_jobs = 3


def jobs_at(house, name):
    return {path.name for path in (house.home(name) / "state" / "jobs").iterdir()}


@pytest.mark.usefixtures("few")
@pytest.mark.slow
def test_a_submitter_cannot_fill_a_disk_with_jobs_that_are_refused(house, hostile):
    run_honestly(house)
    honest = jobs_at(house, "clearing") - {hostile.open.id, hostile.ended.id}
    made = []
    for _ in range(8):
        made.append(proposed(house, hostile, job=house.new(submitter=MALLORY, retention_days=400)).id)
        house.until(lambda: house.folder_at("north", made[-1]).ended is not None)
        house.until(lambda: house.folder_at("clearing", made[-1]).ended is not None)
    house.until(
        lambda: all(jobs_at(house, name) == {*honest, hostile.open.id, *made[-3:]} for name in ("clearing", "north"))
    )


@pytest.mark.usefixtures("few")
@pytest.mark.slow
def test_a_job_that_ran_is_never_removed_to_make_room(house):
    ran = []
    for _ in range(4):
        job = house.new()
        house.site("clearing").hear("analyst", "propose", house.proposal(job).dump())
        for name in ("clearing", "north"):  # what has started leaves an audit, however it ends
            house.until(lambda job=job, name=name: house.folder_at(name, job).start is not None, 60)
        house.site("clearing").hear("analyst", "withdraw", Withdrawal(job=job.id).dump())
        for name in ("clearing", "north"):
            house.until(lambda job=job, name=name: house.folder_at(name, job).audits, 60)
        house.until(lambda job=job: house.state("north", job) in {"withdrawn", "finished"}, 60)
        ran.append(job)
    house.tick()
    assert all(house.folder_at(name, job).audits for name in ("clearing", "north") for job in ran)


@pytest.mark.slow
def test_what_is_kept_of_ended_jobs_holds_after_a_restart(house, hostile):
    for _ in range(6):
        job = proposed(house, hostile, job=house.new(submitter=MALLORY, retention_days=400))
        house.until(lambda job=job: house.folder_at("north", job).ended is not None)
    house.close_site("north")
    config = house.home("north") / "site.toml"
    config.write_text("ended_jobs = 2\n" + config.read_text())
    house.open_site("north")
    house.until(lambda: len(jobs_at(house, "north")) == 3)
    assert {job.id, hostile.open.id} <= jobs_at(house, "north")
