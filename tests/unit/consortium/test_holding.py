"""A result that a site holds back: its analyst gets nothing until people at that site have released it. Real sites."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from typer.testing import CliRunner

from tacit.cli.app import app
from tacit.consortium.broker.asking import Question
from tacit.consortium.broker.server import find_server
from tacit.consortium.consent.people import Approvers
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.folder import PUBLIC
from tacit.consortium.jobs.standing import HELD, standing
from tacit.consortium.site.telling import describe_progress
from tacit.errors import LocalError, MissingExtraError, PeerError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from living_sites import House  # needs the extra

PASS = "a bird in the hand"  # noqa: S105 - of nobody


@pytest.fixture
def house(tmp_path):
    with House(tmp_path) as made:
        made.set_policy("north", automatic=True, hold_results=True)
        for name in ("dr-lee", "dpo"):
            Approvers(made.home("north") / "state" / "approvers").add(name, PASS)
        yield made


def read_result(house, job):
    """What a coordinator does as the analyst asks for the result."""
    wanted = msgspec.msgpack.encode((job.id, PUBLIC, 0))
    house.site("clearing")._tell_result("analyst", Question("1" * 32, wanted))


def release(house, job, person, tmp_path):
    (tmp_path / "secret").write_text(PASS)
    (tmp_path / "secret").chmod(0o600)
    asked = ["party", "release", job.id[:8], "--as", person, "--passphrase-file", str(tmp_path / "secret")]
    home, identity = house.home("north"), house.sites["north"]
    text = (home / "site.toml").read_text().replace('"north.key"', f'"{identity.key_file}"')
    (home / "whole.toml").write_text(text.replace('"north.crt"', f'"{identity.certificate_file}"'))
    house.members.save(home / "consortium.members")
    return CliRunner().invoke(app, [*asked, "--config", str(home / "whole.toml")])


def test_an_analyst_gets_a_result_only_when_the_people_of_a_site_have_released_it(house, tmp_path):
    job = house.new()
    house.propose(job)
    held = house.folder_at("north", job)
    house.until(lambda: held.held and house.folder_at("clearing", job).finished is not None)
    house.until(lambda: "waits for north: a site may hold its result back" in say(house, job))
    assert standing(held).why == HELD
    assert held.id in house.site("north").waiting_for_people()
    for _ in range(5):
        house.tick()
    with pytest.raises(PeerError, match="is not finished"):
        read_result(house, job)
    first = release(house, job, "dr-lee", tmp_path)
    assert "others have to release it too" in first.output
    house.tick()
    assert house.state("north", job) == "through"
    assert "its analyst gets the result" in release(house, job, "dpo", tmp_path).output
    house.everywhere(job, "finished")
    assert not held.held
    assert held.id not in house.site("north").waiting_for_people()
    read_result(house, job)
    assert "there is nothing to release" in release(house, job, "dpo", tmp_path).output


def say(house, job):
    return describe_progress(house.site("clearing").news(house.folder_at("clearing", job)))


def test_a_release_that_nobody_signed_and_that_of_another_job_release_nothing(house):
    job, other = house.new(), house.new()
    consent = house.site("north").consent
    with pytest.raises(LocalError, match="is not one of its approvers"):
        consent.release(job, "somebody", datetime.now(UTC), PASS)
    for person in ("dr-lee", "dpo"):
        consent.release(other, person, datetime.now(UTC), PASS)
        signed = consent.folder / f"{other.id}.{person}.release"
        signed.rename(consent.folder / f"{job.id}.{person}.release")
    assert consent.list_released(job) == ()
    assert consent.holds(job)
    (consent.folder / f"{job.id}.dpo.vote").write_bytes((consent.folder / f"{job.id}.dpo.release").read_bytes())
    consent.submit(other)
    (consent.folder / f"{other.id}.dpo.vote").write_bytes((consent.folder / f"{job.id}.dpo.release").read_bytes())
    assert consent.look(other.id, datetime.now(UTC)).approved == ()  # nor does a release approve a job


def test_a_policy_that_holds_results_names_who_releases_them():
    none = Policy(protocols="any", columns={}, automatic=True, approvals_needed=0, hold_results=True)
    with pytest.raises(LocalError, match="hold_results = true with 0 approvers"):
        none.check()
