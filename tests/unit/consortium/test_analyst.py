"""An analyst: its configuration, its federation, and what comes back of a job that others run."""

import dataclasses
import time
from typing import Self

import msgspec
import numpy as np
import pytest
from consortium_study import PARTIES, Study, altered

import tacit
from job_files import one_step
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Opened, Row, encode
from tacit.choreo.fact import fact_called
from tacit.choreo.progress import Progress
from tacit.consortium.audit.chain import Begin, canonical, write_audit
from tacit.consortium.jobs.answers import Finished, Proposal, read
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.public_result import PublicResult
from tacit.consortium.membership.names import CONTROL_STREAM
from tacit.consortium.site.analyst import Analyst, Fetched, connect, outcome_of
from tacit.consortium.site.coordinator import Clearing, News
from tacit.consortium.site.example_files import example_analyst, example_coordinator
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings
from tacit.errors import LocalError, PeerError
from tacit.protocols.facts import MODEL
from tacit.request import Ids, Records
from tacit.runtimes.nats.network import Broker

STUDY = """
[study]
parties = ["north", "south", "east"]
coordinator = "clearing"
labeller = "north"
dataset = "cohort"
purpose = "a test"
legal_basis = "consent"
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def write(tmp_path, study):
    """A configuration beside the analyst's papers."""

    def write(text=STUDY, *changes, servers=("tls://clearing.example:4222",)):
        identity = study.sites["analyst"]
        files = {"analyst.key": identity.key_file, "analyst.crt": identity.certificate_file}
        for name, source in files.items():
            (tmp_path / name).write_bytes(source.read_bytes())
            (tmp_path / name).chmod(0o600)
        (tmp_path / "consortium.members").write_bytes(study.members.signed)
        content = (
            example_analyst(servers=servers, ca_fingerprint=study.consortium.registrar.identity.fingerprint) + text
        )
        for old, new in changes:
            assert old in content
            content = content.replace(old, new)
        path = tmp_path / "analyst.toml"
        path.write_text(content)
        return path

    return write


# the configuration


def test_a_study_becomes_a_federation_without_a_record_and_without_dialling(write):
    federation = tacit.Federation.connect(write())
    assert not federation.holds_records
    assert (tuple(federation.parts), federation.coordinator, federation.runtime) == (PARTIES, "clearing", "nats")
    assert federation.n_rows == 0
    assert not federation.named
    roster = federation.roster
    assert (roster[Holder], roster[Labeller], roster[Asker], roster[Coordinator]) == (
        PARTIES,
        ("north",),
        ("north",),
        ("clearing",),
    )


def test_columns_that_were_agreed_are_its_features(write):
    federation = connect(write(STUDY + '[study.columns]\nnorth = ["age", "sex"]\nsouth = ["dose"]\neast = ["stay"]\n'))
    assert federation.named
    assert federation.features == ("age", "sex", "dose", "stay")
    assert [federation.columns[p].tolist() for p in PARTIES] == [[0, 1], [2], [3]]


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        ("", (), r"\[study\] is missing: say there between whom to train, on which dataset, and why"),
        (STUDY, (("purpose =", "reason ="),), r"analyst.toml: \[?study\]?: .*unknown (field|key) '?reason"),
        (
            STUDY,
            (('purpose = "a test"\n', ""),),
            r"analyst.toml: \[?study\]?: .*(missing required field purpose|'purpose' is missing)",
        ),
        (
            STUDY,
            (('labeller = "north"', 'partition = "diagonal"'),),
            "study.partition: Invalid enum value 'diagonal'; correct the value",
        ),
        (
            STUDY,
            (('"north", "south", "east"]', '"north", 3]'),),
            r"study.parties.*: Expected str, got int; correct the value",
        ),
        (
            STUDY,
            (('labeller = "north"', 'retention_days = "long"'),),
            "study.retention_days: Expected int, got str; correct the value",
        ),
        (
            STUDY,
            (("tls://clearing.example:4222", "clearing.example"),),
            "write it as tls://host:port or wss://host:port",
        ),
        (STUDY, (("analyst.crt", "none.crt"),), r"certificate: there is no file .*none.crt; ask the registrar for it"),
        (
            STUDY,
            (("ca_fingerprint = ", 'proxy = "http://proxy.example:1"\nca_fingerprint = '),),
            "proxy carries websockets only",
        ),
        (STUDY, (('name = "analyst"', 'name = "west"'),), "'west' is not a member of Northern hospitals"),
        (
            STUDY,
            (('name = "analyst"', 'name = "north"'),),
            "the members list has another key for north than .*analyst.key",
        ),
        (STUDY, (("[study]", "[study"),), "is not TOML: .*correct that line"),
    ],
)
def test_a_bad_configuration_is_refused_in_one_line(write, text, changes, words):
    with pytest.raises(LocalError, match=words) as error:
        connect(write(text, *changes))
    assert "\n" not in str(error.value)


def test_a_list_of_another_registrar_is_refused(write, tmp_path):
    other = Study(tmp_path / "other").consortium.registrar.identity.fingerprint
    path = write()
    pinned = AnalystSettings.from_toml(path).ca_fingerprint
    path.write_text(path.read_text().replace(pinned, other))
    with pytest.raises(LocalError, match=r"is signed by the registrar .*, and the pinned one is another"):
        connect(path)


# news


PUBLIC = PublicResult.of({"count": 60}, [{"t": 1}])
ROWS = (
    Row(
        "/align/Size",
        "north",
        "clearing",
        "Holder",
        "Coordinator",
        "Size",
        (fact_called("how many"),),
        ((2, 3), ()),
        96,
        "ab",
    ),
    Row("/align/Seed", "north", "south", "Holder", "Holder", "Seed", (fact_called("nothing"),), None, None, None),
)


def aligning(job):
    """A job between the same sites whose result is a record of typed fields."""
    return msgspec.structs.replace(job, protocol="align", params={})


def told(job, **changes):
    return msgspec.convert(
        {"job": job.id, "state": "finished", "seconds": 1.5, "rounds": 2, "bytes": 96, **changes}, News
    )


def test_news_and_a_result_become_what_a_run_in_this_process_leaves_behind(study):
    job = msgspec.structs.replace(aligning(study.job), disclosure="opens align: Coordinator: core.model, later.fact")
    outcome = outcome_of(job, read(told(job).dump(), News), Fetched(PUBLIC, ROWS))
    found = outcome.result
    assert (found.count, found.rows) == (60, None)
    assert (outcome.job, outcome.told) == (job.id, ())
    assert outcome.history == [{"t": 1}]
    assert (outcome.seconds, outcome.cpu) == (1.5, {})
    assert tuple(outcome.ledger.rows) == ROWS
    assert outcome.ledger.opens == [Opened("align", "Coordinator", (MODEL, fact_called("later.fact")))]
    assert (outcome.ledger.rounds, outcome.ledger.bytes) == (2, 96)


@pytest.mark.parametrize("changed", [{"count": None}, {"count": ["a"]}, {"count": "wide"}])
def test_a_result_that_is_not_what_the_protocol_leaves_is_refused(study, changed):
    for values in ({}, {**PUBLIC.values, **changed}):
        with pytest.raises(PeerError, match="clearing gave an answer that cannot be read"):
            outcome_of(aligning(study.job), told(study.job), Fetched(PublicResult(values)))


class Answering:
    """An analyst whose coordinator says what the test wants."""

    def __init__(self, identity, *news) -> None:
        self.identity, self.jobs, self._news = identity, [], news

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        pass

    def submit(self, job):
        self.jobs.append(job)

    def follow(self, job, *, after=0):
        assert after == 0
        return (told(job, **changes) for changes in self._news)

    def result(self, job):
        del job
        return Fetched(PUBLIC, ROWS)


def answering(federation, analyst):
    return dataclasses.replace(federation, backend=dataclasses.replace(federation.backend, analyst=analyst))


@pytest.fixture
def federation(write, study):
    def federation(*news):
        return answering(connect(write()), Answering(study.sites["analyst"], *news))

    return federation


def test_running_a_protocol_means_proposing_it_with_the_words_of_the_study(federation):
    made = federation({"state": "running", "rounds": 3, "total": 8, "seconds": 6.0}, {})
    seen = []
    made = dataclasses.replace(made, progress=seen.append)
    outcome = made.run("align", {"ids": Ids()})
    (job,) = made.backend.analyst.jobs
    assert (job.protocol, job.parties, job.submitter, job.purpose, job.legal_basis) == (
        "align", PARTIES, "analyst", "a test", "consent"
    )  # fmt: skip
    assert job.disclosure
    assert outcome.job == job.id
    assert seen[0] == Progress(round=3, rounds=8, moved="96 B")


@pytest.mark.parametrize(
    ("news", "words"),
    [
        (
            {"state": "refused", "reasons": ["south refuses: minimum_rows"]},
            r"job \w+ was refused: south refuses: minimum_rows",
        ),
        (
            {"state": "stopped", "reasons": ["east stopped at /x", "north too"]},
            r"job \w+ was stopped: east stopped at /x; north too",
        ),
    ],
)
def test_a_job_that_others_refused_or_stopped_is_their_error_with_their_words(federation, news, words):
    with pytest.raises(PeerError, match=words):
        federation({"state": "waiting"}, news).run("study", {"data": Records()}, **one_step())


def test_a_study_that_makes_no_job_is_refused_before_anything_is_sent(write, study):
    made = answering(
        connect(write(STUDY.replace('labeller = "north"', 'labeller = "west"'))), Answering(study.sites["analyst"])
    )
    with pytest.raises(LocalError, match="labeller 'west' is not one of its parties"):
        made.run("study", {"data": Records()}, **one_step())
    assert made.backend.analyst.jobs == []


# over a real server


class Coordinating:
    """A real server, a coordinator at it whose files a test may write, and an analyst's configuration."""

    def __init__(self, network, broker, clearing, settings) -> None:
        self.network, self.broker, self.clearing, self.settings = network, broker, clearing, settings

    def stored(self):
        """All bytes and letters that the server keeps."""
        state = self.broker.call(self.broker.client.jetstream().stream_info(CONTROL_STREAM)).state
        return state.bytes, state.last_seq

    def put(self, job, **public):
        """A job of the analyst; with something public it is finished."""
        folder = folder_of(self.clearing.state, job.id)
        folder.propose(Proposal.of(job, self.network.sites["analyst"]))
        if public:
            folder.start = self.network.start()
            folder.keep_public(PublicResult.of(public))
            begin, sign = Begin(job.id, "clearing", {}), self.network.sites["clearing"].private.sign
            write_audit(folder.path / "audit.jsonl", begin, map(canonical, ROWS), sign)
            folder.finished = Finished(job=job.id, site="clearing", attempt=1, ok=True, rounds=2, bytes=96, seconds=1.5)
            folder.hear("closed", "clearing", folder.finished.dump())
        return folder


@pytest.fixture
def coordinating(tmp_path, write, study, monkeypatch):
    pytest.importorskip("nats", reason="needs the extra 'nats'")
    from control_network import ControlNetwork  # noqa: PLC0415 - needs the extra

    with ControlNetwork(tmp_path / "network").serving() as network:
        monkeypatch.setattr(study, "sites", network.sites)
        monkeypatch.setattr(study, "consortium", network.consortium)
        settings = AnalystSettings.from_toml(write(servers=[network.server.url]))
        broker = Broker(
            [network.server.url], network.sites["clearing"].tls(network.members.authority), network.tokens["clearing"]
        )
        (tmp_path / "clearing.toml").write_text(example_coordinator())
        own = CoordinatorSettings.from_toml(tmp_path / "clearing.toml", files=False)
        with broker:
            yield Coordinating(
                network, broker, Clearing(own, network.sites["clearing"], network.members, broker), settings
            )


def until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_job_reaches_its_coordinator_signed_and_its_news_come_back(coordinating):
    job = coordinating.network.job
    with coordinating.clearing.control:
        folder = folder_of(coordinating.clearing.state, job.id)
        for _ in range(2):  # an estimator may be fitted again
            with Analyst(coordinating.settings) as analyst:
                analyst.submit(job)
                until(lambda: folder.proposal is not None)
                assert folder.proposal.verify(coordinating.network.members) == job
                assert [news.state for news in analyst.ask("clearing", job.id)] == ["waiting"]


def test_asking_leaves_nothing_at_the_broker_however_many_jobs_there_are(coordinating):
    jobs = [altered(coordinating.network.job, id=f"{i:032x}") for i in range(135)]
    for job in jobs:
        coordinating.put(job)
    with coordinating.clearing.control, Analyst(coordinating.settings) as analyst:
        assert len(analyst.ask("clearing", patience=30.0)) == 135  # the stream is there by now
        before = coordinating.stored()
        for _ in range(5):
            assert {news.job for news in analyst.ask("clearing", patience=30.0)} == {job.id for job in jobs}
            assert [news.job for news in analyst.ask("clearing", jobs[7].id)] == [jobs[7].id]
        assert coordinating.stored() == before


def test_a_result_of_50_mb_arrives_and_nothing_of_it_stays_at_the_broker(coordinating):
    job = coordinating.network.job
    coordinating.put(job, w=np.ones((2500, 2500)))
    with coordinating.clearing.control, Analyst(coordinating.settings) as analyst:
        assert [news.state for news in analyst.follow(job)] == ["finished"]
        before = coordinating.stored()
        result = analyst.result(job)
        assert coordinating.stored() == before
    assert result.ledger == ROWS
    assert result.public.values["w"].shape == (2500, 2500)
    kept = folder_of(coordinating.settings.state, job.id).public
    assert encode(kept).digest == encode(result.public).digest


def test_the_result_of_a_job_that_is_not_finished_or_of_another_is_not_told(coordinating, monkeypatch):
    monkeypatch.setattr("tacit.consortium.site.analyst.REACH", 0.5)
    monkeypatch.setattr("tacit.consortium.site.analyst.UNKNOWN", 0.2)
    job = coordinating.network.job
    coordinating.put(job)
    with coordinating.clearing.control as control, Analyst(coordinating.settings) as analyst:
        with pytest.raises(
            PeerError, match=f"clearing does not send the result of job {job.id}: see its log, then tacit resume"
        ):
            analyst.result(job)
        for wanted in ((job.id, "result.bin", 0), (job.id, "../proposal.json", 0), ("../x", "public.bin", 0), 7):
            assert analyst._asking.ask("clearing", "read", msgspec.msgpack.encode(wanted), 0.3) is None
        until(lambda: control.notices.refused >= 5)


def test_a_file_that_is_gone_is_one_line_in_the_coordinator_s_log(coordinating):
    folder = coordinating.put(coordinating.network.job, support=np.array([3, 5]))
    (folder.path / "public.bin").unlink()
    with pytest.raises(LocalError, match=f"job {folder.id} has no public.bin here any more: run it again"):
        coordinating.clearing._result(folder, "public.bin", 0)


def test_what_is_no_public_result_is_refused_in_one_line(coordinating):
    folder = coordinating.put(coordinating.network.job, support=np.array([3, 5]))
    (folder.path / "public.bin").write_bytes(b'{"support": [3, 5]}')
    with (
        coordinating.clearing.control,
        Analyst(coordinating.settings) as analyst,
        pytest.raises(PeerError, match="clearing gave an answer that cannot be read: do both sites run the same"),
    ):
        analyst.result(coordinating.network.job)


def test_a_ledger_that_was_altered_is_an_error(coordinating):
    job = coordinating.network.job
    file = coordinating.put(job, support=np.array([3, 5])).path / "audit.jsonl"
    file.write_bytes(file.read_bytes().replace(b"how many", b"how much"))
    with (
        coordinating.clearing.control,
        Analyst(coordinating.settings) as analyst,
        pytest.raises(PeerError, match=f"clearing sent a ledger that is not of job {job.id}, or was altered"),
    ):
        analyst.result(job)


def test_who_has_no_jobs_is_told_so_at_once_and_a_coordinator_that_says_nothing_is_named(coordinating, monkeypatch):
    job = coordinating.network.job
    with Analyst(coordinating.settings) as analyst:
        with coordinating.clearing.control:
            began = time.monotonic()
            assert analyst.ask("clearing", patience=60.0) == []
            assert analyst.ask("clearing", job.id, patience=60.0) == []
            assert time.monotonic() - began < 10
            assert analyst.silent == set()
            monkeypatch.setattr("tacit.consortium.site.analyst.UNKNOWN", 0.5)
            with pytest.raises(PeerError, match=f"clearing knows nothing of job {job.id}: it refused or purged it"):
                list(analyst.follow(job))
        assert analyst.ask("clearing", patience=0.2) == []
        assert analyst.silent == {"clearing"}
        coordinating.network.server.stop()
        with pytest.raises(LocalError, match=r"127\.0\.0\.1.* cannot be reached.*: is the coordinator running"):
            analyst.ask("clearing", patience=1.0)


def test_two_processes_of_one_analyst_hear_their_own_answers(coordinating):
    job = coordinating.network.job
    coordinating.put(job, support=np.array([3, 5]))
    with coordinating.clearing.control, Analyst(coordinating.settings) as one, Analyst(coordinating.settings) as other:
        for _ in range(5):
            assert (
                [news.job for news in one.ask("clearing")] == [news.job for news in other.ask("clearing")] == [job.id]
            )
            found = [each.result(job) for each in (one, other)]
            assert found[0].ledger == found[1].ledger
            assert encode(found[0].public).digest == encode(found[1].public).digest


def test_a_server_that_is_not_there_is_named(tmp_path, write, monkeypatch):
    pytest.importorskip("nats", reason="needs the extra 'nats'")
    del tmp_path
    monkeypatch.setattr("tacit.consortium.site.analyst.REACH", 0.5)
    settings = AnalystSettings.from_toml(write(servers=["tls://127.0.0.1:9"]))
    with pytest.raises(LocalError, match=r"127\.0\.0\.1:9.*coordinator"), Analyst(settings):
        pytest.fail("connected")
