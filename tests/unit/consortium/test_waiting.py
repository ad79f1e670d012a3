"""Who waits for a job of Python's: the line meanwhile, leaving it, coming back."""

import dataclasses
from typing import Self

import msgspec
import pytest
from sklearn.datasets import make_classification

import tacit
from tacit.choreo import Holder
from tacit.cli.one_machine import one_machine
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.site.analyst import Analyst, Fetched
from tacit.consortium.site.coordinator import News
from tacit.errors import LocalError, PeerError
from tacit.registry import declared, execute_together

X, Y = make_classification(120, 4, random_state=0)
ROWS = {name: (X[i::3], Y[i::3]) for i, name in enumerate(("north", "south", "east"))}


def model(**named):
    steps = [("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(features=20, alpha=0.1))]
    return tacit.Pipeline(steps, **named)


class Told(Analyst):
    """An analyst whose coordinator says what a test wants, and plays the job in this process once it is read."""

    def __init__(self, settings, *said) -> None:
        super().__init__(settings)
        self.said, self.taken_up = said, []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        pass

    def _tell(self, coordinator, kind, body):
        assert coordinator == "clearing"
        if kind == "resume":
            self.taken_up.append(body.decode())

    def ask(self, coordinator, job="", patience=5.0):
        del coordinator, patience
        return [msgspec.convert({"job": job, "state": "stopped", "attempt": 1}, News)]

    def follow(self, job, *, after=0):
        for each in self.said:
            if each is KeyboardInterrupt:
                raise each
            yield msgspec.convert({"job": job.id, "attempt": after + 1, **each}, News)

    def result(self, job):
        here = tacit.from_parts(list(ROWS.values()), names=list(ROWS), partition="horizontal", coordinator="clearing")
        bare: dict = {party: {} for party in here.parts}
        held = {
            name: (Holder, bare if brought.source == "policy" else dict(here.parts))
            for name, brought in declared(job.protocol).brings.items()
        }
        done = execute_together(here.roster, job.protocol, held, job.arguments)
        found = {name: value for name, value in done.result.items() if not isinstance(value, dict) or name == "told"}
        return Fetched(PublicResult.of(found, done.history), tuple(done.ledger.rows))


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """The papers of a consortium; none of its sites runs."""
    tables = ({name: part[i] for name, part in ROWS.items()} for i in (0, 1))
    with one_machine(tmp_path_factory.mktemp("waiting"), *tables, keep=True) as made:
        yield made


@pytest.fixture
def connected(machine):
    def connect(*said):
        federation = tacit.connect(machine.config("analyst"))
        analyst = Told(federation.backend.analyst.settings, *said)
        return dataclasses.replace(federation, backend=dataclasses.replace(federation.backend, analyst=analyst))

    return connect


RUNNING = {"state": "running", "step": {"number": 2, "of": 2, "name": "svm"}, "rounds": 3, "total": 8,
           "gap": 0.03, "bytes": 1200, "seconds": 6.0}  # fmt: skip
WAITING = {"state": "waiting", "answers": {"north": "accepts", "south": "has not answered", "east": "has not answered"}}
DONE = {"state": "finished", "rounds": 9}


def test_one_line_says_whose_consent_is_missing_and_then_step_round_gap_and_bytes(connected, capfd):
    refused = {"state": "refused", "reasons": ["east refuses: policy policy.toml: submitters does not list you: ask"]}
    with pytest.raises(PeerError, match=r"job \w+ was refused: east refuses: policy policy.toml: submitters"):
        model(verbose=True).fit(connected(WAITING, RUNNING, refused))
    said = capfd.readouterr().err.splitlines()
    assert "Pipeline: waiting for south, east" in said
    assert "Pipeline: step 2 of 2 (svm), round 3 of 8, gap 0.03, 1.2 kB" in said


def test_ctrl_c_says_how_to_come_back_and_the_job_is_known_by_the_beginning_of_its_id(connected):
    with pytest.raises(KeyboardInterrupt, match="goes on at its sites") as left:
        model().fit(connected(WAITING, KeyboardInterrupt))
    short = str(left.value).split()[1]
    assert f"tacit.connect(...).resume('{short}')" in str(left.value)
    federation = connected(RUNNING, DONE)
    found = federation.resume(short[:6])
    assert [job[:8] for job in federation.backend.analyst.taken_up] == [short]
    assert [name for name, _ in found.steps] == ["scale", "svm"]
    assert found["svm"].get_params() == model()["svm"].get_params(), "parameters are those that were given"
    assert found.federation_.n_features == 4
    assert found.report_.rounds > 9


def test_a_run_that_stopped_says_how_it_is_taken_up(connected):
    stopped = {"state": "stopped", "reasons": ["east stopped at /study (OSError): see its log"]}
    again = r"once that is settled: tacit.connect\(...\).resume\('\w+'\); if records .* propose it again"
    with pytest.raises(PeerError, match=rf"was stopped: east .*; {again}"):
        model().fit(connected(RUNNING, stopped))


def test_an_id_that_nobody_knows_is_refused(connected):
    with pytest.raises(LocalError, match="zz"):
        connected().resume("zz")
