"""Hospitals with columns train on the same patients or not at all; and a run tells nothing that nobody agreed to."""

from typing import Any

import pytest
from consortium_study import PARTIES

from tacit.choreo import At, Coordinator, Fact, Holder, Message, Run, choreography
from tacit.consortium.broker.server import find_server
from tacit.consortium.consent.register import Register
from tacit.errors import MissingExtraError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

from living_sites import House  # needs the extra

from tacit.consortium.site import runs
from tacit.consortium.site.example_files import example_party


def patients(name, shift=0):
    """Sixty patients, whose list begins with another one."""
    label = name == "north"
    rows = [f"p{(i + shift) % 60},{i},{i % 7}.5{f',{i % 2}' * label}" for i in range(60)]
    return "\n".join([f"patient,age_{name},dose_{name}{',label' * label}", *rows]) + "\n"


class Clinics(House):
    """Sites whose records have ids."""

    def prepare(self, name):
        super().prepare(name)
        if name == "clearing":
            return
        named = {"label": "label"} if name == "north" else {}
        (self.home(name) / "site.toml").write_text(
            example_party(name, ca_fingerprint=self.fingerprint, party_timeout=60.0, id="patient", **named)
        )
        self.write(name)

    def write(self, name, shift=0):
        (self.home(name) / "cohort.csv").write_text(patients(name, shift))

    def news(self, job):
        return self.site("clearing").news(self.folder_at("clearing", job))

    def end(self, **changes):
        """Propose a job, and return its news once its run is over."""
        job = self.new(aligned=False, **changes)
        self.propose(job)
        self.until(lambda: self.news_or_none(job) in {"finished", "stopped", "refused"})
        return job, self.news(job)

    def news_or_none(self, job):
        folder = self.folder_at("clearing", job)
        return None if folder.proposal is None else self.news(job).state


@pytest.fixture(scope="module")
def clinics(tmp_path_factory):
    with Clinics(tmp_path_factory.mktemp("clinics")) as made:
        yield made


def test_the_same_patients_in_the_same_order_are_found_out_blindly_and_train(clinics):
    job, news = clinics.end()
    assert (news.state, news.reasons) == ("finished", ())
    assert "/compare_records/Differs: holder > everyone: align.differs" in job.disclosure


def test_other_patients_end_the_run_before_anything_is_opened_and_the_analyst_reads_why(clinics):
    clinics.write("south", shift=1)
    before = len(Register(clinics.home("north") / "state" / "registers").entries())
    try:
        job, news = clinics.end()
    finally:
        clinics.write("south")  # for whoever comes next
    assert news.state == "stopped"
    why = "north and south hold other records, or the same ones in another order"
    assert news.reasons == (f"{why}: align them first (protocol = 'align') and build on that job",)
    assert len(Register(clinics.home("north") / "state" / "registers").entries()) == before  # it blocks no later job
    told = {row.type for row in clinics.site("north").live[job.id]["run"].ledger}
    assert told <= {"Hidden", "HiddenTwice", "Differs"}  # another site may have said so first


class Row(Message, tells=Fact("test.leak", "holder", "record", "record", "a record")):
    """What nobody agreed to."""

    cells: tuple[float, ...]


@choreography(opens={Coordinator: Fact("test.leak", "holder", "record", "record", "a record")})
def leak(run: Run, data: At[Any]) -> None:
    """Send the coordinator the first record of everybody."""
    run.send(Row, Holder >> Coordinator, run.local(Holder, lambda part: Row(tuple(part.X[0].tolist())), data))


@pytest.fixture
def house(tmp_path):
    """Sites whose records have no ids."""
    with House(tmp_path) as made:
        yield made


def test_a_site_without_ids_refuses_unless_the_author_vouches_for_the_order(house):
    job = house.new(aligned=False)
    house.propose(job)
    house.until(lambda: house.state("clearing", job) == "refused")
    assert "or say aligned = true in the job if it is" in house.folder_at("clearing", job).ended.reasons[0]


def test_a_version_that_tells_more_than_was_agreed_to_is_stopped_before_it_sends_that(house, monkeypatch):
    """The sites' own programs are other ones than those that rehearsed the job, as after a hasty update."""
    played = runs.play

    def play(run, protocol, inputs, params):
        role, own = inputs["data"]
        leak.__wrapped__(run, run.hold(role, own))
        return played(run, protocol, inputs, params)

    monkeypatch.setattr(runs, "play", play)
    job = house.new()
    house.propose(job)
    house.everywhere(job, "stopped")
    kinds = {house.folder_at(name, job).finished.kind for name in PARTIES}
    assert kinds <= {"UndisclosedError"}
    assert not len(house.site("north").live[job.id]["run"].ledger)
