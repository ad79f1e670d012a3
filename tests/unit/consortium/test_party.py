"""A party that cannot judge a job says so, and says no more than that; real files, a real server."""

import errno
import os

import pytest

from tacit.consortium.example_files import example_party, example_policy
from tacit.consortium.folder import folder_of
from tacit.consortium.server import find_server
from tacit.consortium.settings import PartySettings
from tacit.errors import MissingExtraError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from control_network import ControlNetwork  # needs the extra

from tacit.consortium.party import Party

WHOLE = "age,dose,label\n" + "".join(f"{i},{i % 7}.5,{i % 2}\n" for i in range(60))


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    with ControlNetwork(tmp_path_factory.mktemp("party")).serving() as made:
        yield made


@pytest.fixture
def north(network, tmp_path):
    """North's daemon without its loop, and the folder of a job that was proposed to it."""
    with network.site("north") as listener:

        def made(table):
            identity = network.sites["north"]
            fingerprint = network.consortium.registrar.identity.fingerprint
            (tmp_path / "cohort.csv").write_text(table)
            (tmp_path / "policy.toml").write_text(example_policy(automatic=True))
            (tmp_path / "north.toml").write_text(example_party(label="label", ca_fingerprint=fingerprint))
            party = Party(PartySettings.from_toml(tmp_path / "north.toml", files=False), identity, network.members, listener.broker)
            folder = folder_of(party.state, network.job.id)
            folder.propose(network.proposal())
            return party, folder

        yield made


def test_a_dataset_that_can_be_read_is_accepted(north):
    party, folder = north(WHOLE)
    party.tick()
    assert folder.answer.accepts


@pytest.mark.parametrize("table", [WHOLE.replace("17,", "seventeen,"), WHOLE.replace("label", "outcome"), "", "\0\xff"])
def test_a_dataset_that_cannot_be_read_is_a_refusal_without_a_word_of_it(north, caplog, table):
    party, folder = north(table)
    for _ in range(3):
        party.tick()
    answer = folder.answer
    assert not answer.accepts
    assert answer.record.rule == "site"
    assert answer.record.reason.startswith(
        "this site cannot read its dataset and register (LocalError), and its log says why: submit the job again"
    )
    assert not [word for word in ("seventeen", "age", "dose", "cohort.csv") if word in answer.record.reason]
    assert [line.levelname for line in caplog.records] == ["ERROR"]
    answer.check(folder.job, party.members)


def test_what_nobody_foresaw_is_a_refusal_too(north, caplog, monkeypatch):
    party, folder = north(WHOLE)
    monkeypatch.setattr(party, "_facts", lambda _: 1 / 0)
    party.tick()
    assert "this site cannot read its dataset and register (ZeroDivisionError)" in folder.answer.record.reason
    assert "Traceback" in caplog.text


def test_while_its_disk_is_full_a_site_says_nothing_complains_once_and_then_answers(north, caplog, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    party, folder = north(WHOLE)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for _ in range(5):
            party.tick()
        assert folder.answer is None
    complaints = [line.getMessage() for line in caplog.records if line.levelname == "ERROR"]
    assert any("No space left" in line or "no room left" in line for line in complaints)
    assert len(complaints) == len(set(complaints))
    party.tick()
    assert folder.answer.accepts
