"""An analyst: its configuration, its federation, and what comes back of a job that others run."""

import time
from typing import Self

import msgspec
import pytest
from consortium_study import PARTIES, Study, altered

import tacit
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Opened, Row
from tacit.consortium.analyst import Analyst, Result, connect, outcome_of
from tacit.consortium.answers import Finished, Proposal, read
from tacit.consortium.audit import Chain, canonical
from tacit.consortium.clearing import Clearing, News
from tacit.consortium.example_files import example_analyst, example_coordinator
from tacit.consortium.folder import folder_of
from tacit.consortium.names import CONTROL_STREAM
from tacit.consortium.settings import AnalystSettings, CoordinatorSettings
from tacit.errors import LocalError, PeerError
from tacit.runtimes.nats import Broker

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
        content = example_analyst(servers=servers, ca_fingerprint=study.consortium.registrar.identity.fingerprint) + text
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
    assert not federation.simulated
    assert (tuple(federation.parts), federation.coordinator, federation.runtime) == (PARTIES, "clearing", "nats")
    assert federation.n_rows == 0
    assert not federation.named
    roster = federation.roster
    assert (roster[Holder], roster[Labeller], roster[Asker], roster[Coordinator]) == (PARTIES, ("north",), ("north",), ("clearing",))


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
        (STUDY, (('purpose = "a test"\n', ""),), r"analyst.toml: \[?study\]?: .*(missing required field purpose|'purpose' is missing)"),
        (STUDY, (('labeller = "north"', 'partition = "diagonal"'),), "study.partition: Invalid enum value 'diagonal'; correct the value"),
        (STUDY, (('"north", "south", "east"]', '"north", 3]'),), r"study.parties.*: Expected str, got int; correct the value"),
        (STUDY, (('labeller = "north"', 'retention_days = "long"'),), "study.retention_days: Expected int, got str; correct the value"),
        (STUDY, (("tls://clearing.example:4222", "clearing.example"),), "write it as tls://host:port or wss://host:port"),
        (STUDY, (("analyst.crt", "none.crt"),), r"certificate: there is no file .*none.crt; ask the registrar for it"),
        (STUDY, (("ca_fingerprint = ", 'proxy = "http://proxy.example:1"\nca_fingerprint = '),), "proxy carries websockets only"),
        (STUDY, (('name = "analyst"', 'name = "west"'),), "'west' is no member of Northern hospitals"),
        (STUDY, (('name = "analyst"', 'name = "north"'),), "the members list has another key for north than .*analyst.key"),
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


PUBLIC = {"classes": [0, 1], "support": [3, 5], "history": [{"t": 1}]}
ROWS = (
    Row("/gram_vertical/Size", "north", "clearing", "Holder", "Coordinator", "Size", "how many", ((2, 3), ()), 96, "ab"),
    Row("/gram_vertical/Seed", "north", "south", "Holder", "Holder", "Seed", "nothing", None, None, None),
)


def told(job, **changes):
    return msgspec.convert({"job": job.id, "state": "finished", "seconds": 1.5, "rounds": 2, "bytes": 96, **changes}, News)


def test_news_and_a_result_become_what_a_run_in_this_process_leaves_behind(study):
    job = msgspec.structs.replace(study.job, disclosure="opens gram_vertical: Coordinator: the gram matrix: all of it")
    outcome = outcome_of(job, read(told(job).dump(), News), Result(PUBLIC, ROWS))
    assert outcome.result == {"classes": (0, 1), "support": (3, 5), "stored": study.job.id}
    assert outcome.history == [{"t": 1}]
    assert (outcome.seconds, outcome.cpu) == (1.5, {})
    assert tuple(outcome.ledger.rows) == ROWS
    assert outcome.ledger.opens == [Opened("gram_vertical", "Coordinator", "the gram matrix: all of it")]
    assert (outcome.ledger.rounds, outcome.ledger.bytes) == (2, 96)


def test_nothing_public_gives_an_empty_result(study):
    outcome = outcome_of(study.job, told(study.job), Result())
    assert outcome.result == {"stored": study.job.id}
    assert (outcome.history, len(outcome.ledger)) == ([], 0)


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

    def follow(self, job):
        return (told(job, **changes) for changes in self._news)

    def result(self, job):
        del job
        return Result(PUBLIC, ROWS)


@pytest.fixture
def federation(write, study):
    def federation(*news):
        made = connect(write())
        made.analyst = Answering(study.sites["analyst"], *news)
        return made

    return federation


KERNEL = {"kernel": "linear", "gamma": "scale", "degree": 3, "coef0": 0.0, "C": 1.0}


def test_running_a_protocol_means_proposing_it_with_the_words_of_the_study(federation):
    made = federation({"state": "running", "done": 3, "total": 8}, {})
    seen = []
    made.progress = lambda *figures: seen.append(figures)
    outcome = made.execute("gram_vertical", {}, **KERNEL)
    (job,) = made.analyst.jobs
    assert (job.protocol, job.parties, job.submitter, job.purpose, job.legal_basis) == (
        "gram_vertical", PARTIES, "analyst", "a test", "consent"
    )  # fmt: skip
    assert job.disclosure
    assert outcome.result["stored"] == job.id
    assert seen[0] == ("gram_vertical", 3, 8)


@pytest.mark.parametrize(
    ("news", "words"),
    [
        ({"state": "refused", "reasons": ["south refuses: minimum_rows"]}, r"job \w+ was refused: south refuses: minimum_rows"),
        ({"state": "stopped", "reasons": ["east stopped at /x", "north too"]}, r"job \w+ was stopped: east stopped at /x; north too"),
    ],
)
def test_a_job_that_others_refused_or_stopped_is_their_error_with_their_words(federation, news, words):
    with pytest.raises(PeerError, match=words):
        federation({"state": "waiting"}, news).execute("gram_vertical", {}, **KERNEL)


def test_a_study_that_makes_no_job_is_refused_before_anything_is_sent(write, study):
    made = connect(write(STUDY.replace('labeller = "north"', 'labeller = "west"')))
    made.analyst = Answering(study.sites["analyst"])
    with pytest.raises(LocalError, match="labeller 'west' is none of its parties"):
        made.execute("gram_vertical", {}, **KERNEL)
    assert made.analyst.jobs == []


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
            folder.keep_public(public)
            with Chain.open(folder.path / "audit.jsonl", run=job.id, party="clearing", about={}) as chain:
                for row in ROWS:
                    chain.append(canonical(row, row.digest))
                chain.sign(self.network.sites["clearing"].private.sign)
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
        broker = Broker([network.server.url], network.sites["clearing"].tls(network.members.authority), network.tokens["clearing"])
        (tmp_path / "clearing.toml").write_text(example_coordinator())
        own = CoordinatorSettings.from_toml(tmp_path / "clearing.toml", files=False)
        with broker:
            yield Coordinating(network, broker, Clearing(own, network.sites["clearing"], network.members, broker), settings)


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
                assert folder.proposal.checked(coordinating.network.members) == job
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
    coordinating.put(job, history=["x" * 1000] * 50_000)
    with coordinating.clearing.control, Analyst(coordinating.settings) as analyst:
        assert [news.state for news in analyst.follow(job)] == ["finished"]
        before = coordinating.stored()
        result = analyst.result(job)
        assert coordinating.stored() == before
    assert result.ledger == ROWS
    assert len(result.public["history"]) == 50_000
    assert folder_of(coordinating.settings.state, job.id).public == result.public


def test_the_result_of_a_job_that_is_not_finished_or_of_another_is_not_told(coordinating, monkeypatch):
    monkeypatch.setattr("tacit.consortium.analyst.REACH", 0.5)
    monkeypatch.setattr("tacit.consortium.analyst.UNKNOWN", 0.2)
    job = coordinating.network.job
    coordinating.put(job)
    with coordinating.clearing.control as control, Analyst(coordinating.settings) as analyst:
        with pytest.raises(PeerError, match=f"clearing does not send the result of job {job.id}: see its log, then tacit resume"):
            analyst.result(job)
        for wanted in ((job.id, "result.bin", 0), (job.id, "../proposal.json", 0), ("../x", "public.json", 0), 7):
            assert analyst._asking.ask("clearing", "read", msgspec.msgpack.encode(wanted), 0.3) is None
        until(lambda: control.notices.refused >= 5)


def test_a_ledger_that_was_altered_is_an_error(coordinating):
    job = coordinating.network.job
    file = coordinating.put(job, support=[3, 5]).path / "audit.jsonl"
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
            monkeypatch.setattr("tacit.consortium.analyst.UNKNOWN", 0.5)
            with pytest.raises(PeerError, match=f"clearing knows nothing of job {job.id}: it refused or purged it"):
                list(analyst.follow(job))
        assert analyst.ask("clearing", patience=0.2) == []
        assert analyst.silent == {"clearing"}
        coordinating.network.server.stop()
        with pytest.raises(LocalError, match=r"127\.0\.0\.1.* cannot be reached.*: is the coordinator running"):
            analyst.ask("clearing", patience=1.0)


def test_two_processes_of_one_analyst_hear_their_own_answers(coordinating):
    job = coordinating.network.job
    coordinating.put(job, support=[3, 5])
    with coordinating.clearing.control, Analyst(coordinating.settings) as one, Analyst(coordinating.settings) as other:
        for _ in range(5):
            assert [news.job for news in one.ask("clearing")] == [news.job for news in other.ask("clearing")] == [job.id]
            assert one.result(job) == other.result(job)


def test_a_server_that_is_not_there_is_named(tmp_path, write, monkeypatch):
    pytest.importorskip("nats", reason="needs the extra 'nats'")
    del tmp_path
    monkeypatch.setattr("tacit.consortium.analyst.REACH", 0.5)
    settings = AnalystSettings.from_toml(write(servers=["tls://127.0.0.1:9"]))
    with pytest.raises(LocalError, match=r"127\.0\.0\.1:9.*coordinator"), Analyst(settings):
        pytest.fail("connected")
