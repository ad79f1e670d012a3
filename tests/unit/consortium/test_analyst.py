"""An analyst: its configuration, its federation, and what comes back of a job that others run."""

import time
from contextlib import contextmanager
from typing import Self

import msgspec
import pytest
from consortium_study import PARTIES, Study

import tacit
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Opened, Row
from tacit.consortium.analyst import Analyst, connect, outcome_of
from tacit.consortium.answers import Proposal, read
from tacit.consortium.clearing import Clearing, News
from tacit.consortium.example_files import example_analyst, example_coordinator
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


def told(job, **changes):
    row = ["/gram_vertical/Size", "north", "clearing", "Holder", "Coordinator", "Size", "how many", [[2, 3], []], 96, "ab"]
    blind = ["/gram_vertical/Seed", "north", "south", "Holder", "Holder", "Seed", "nothing", None, None, None]
    given = {
        "job": job.id, "state": "finished", "seconds": 1.5, "rounds": 2, "bytes": 96, "ledger": [row, blind],
        "opens": [["gram_vertical", "Coordinator", "the gram matrix"]],
        "public": {"classes": [0, 1], "support": [3, 5], "history": [{"t": 1}]},
    }  # fmt: skip
    return msgspec.convert({**given, **changes}, News)


def test_news_become_what_a_run_in_this_process_leaves_behind(study):
    news = read(told(study.job).dump(), News)
    outcome = outcome_of(study.job, news)
    assert outcome.result == {"classes": (0, 1), "support": (3, 5), "stored": study.job.id}
    assert outcome.history == [{"t": 1}]
    assert (outcome.seconds, outcome.cpu) == (1.5, {})
    assert outcome.ledger.rows[0] == Row(
        "/gram_vertical/Size", "north", "clearing", "Holder", "Coordinator", "Size", "how many", ((2, 3), ()), 96, "ab"
    )
    assert (outcome.ledger.rows[1].shapes, outcome.ledger.rows[1].bytes) == (None, None)
    assert outcome.ledger.opens == [Opened("gram_vertical", "Coordinator", "the gram matrix")]
    assert (outcome.ledger.rounds, outcome.ledger.bytes) == (2, 96)


def test_news_without_a_result_give_an_empty_one(study):
    outcome = outcome_of(study.job, told(study.job, public=None, ledger=[], opens=[]))
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


@contextmanager
def serving(folder):
    pytest.importorskip("nats", reason="needs the extra 'nats'")
    from control_network import ControlNetwork  # noqa: PLC0415 - needs the extra

    with ControlNetwork(folder).serving() as network, network.site("clearing") as clearing:
        yield network, clearing


def test_a_job_reaches_its_coordinator_signed_and_its_news_come_back(tmp_path, write, study, monkeypatch):
    with serving(tmp_path / "network") as (network, clearing):
        monkeypatch.setattr(study, "sites", network.sites)
        monkeypatch.setattr(study, "consortium", network.consortium)
        settings = AnalystSettings.from_toml(write(servers=[network.server.url]))

        def coordinate(sender, kind, body):
            clearing.handle(sender, kind, body)
            if kind == "ask":
                told_of = [told(job) for job in (network.job, network.another()) if job.id.startswith(body.decode())]
                for news in told_of:
                    clearing.control.send(sender, "news", news.dump())

        clearing.control._handle = coordinate
        for attempt in range(2):  # an estimator may be fitted again
            with Analyst(settings) as analyst:
                analyst.submit(network.job)
                assert clearing.waits(lambda me, n=attempt + 1: sum(kind == "propose" for _, kind, _ in me.heard) == n)
                began = time.monotonic()
                assert [news.job for news in analyst.ask("clearing", network.job.id)] == [network.job.id]
                assert [news.state for news in analyst.follow(network.job)] == ["finished"]
                assert time.monotonic() - began < 5
        sender, _, body = next(letter for letter in clearing.heard if letter[1] == "propose")
        assert sender == "analyst"
        assert read(body, Proposal).checked(network.members) == network.job


def test_who_has_no_jobs_is_told_so_at_once_and_a_coordinator_that_says_nothing_is_named(tmp_path, write, study, monkeypatch):
    pytest.importorskip("nats", reason="needs the extra 'nats'")
    from control_network import ControlNetwork  # noqa: PLC0415 - needs the extra

    with ControlNetwork(tmp_path / "network").serving() as network:
        monkeypatch.setattr(study, "sites", network.sites)
        monkeypatch.setattr(study, "consortium", network.consortium)
        settings = AnalystSettings.from_toml(write(servers=[network.server.url]))
        broker = Broker([network.server.url], network.sites["clearing"].tls(network.members.authority), network.tokens["clearing"])
        (tmp_path / "clearing.toml").write_text(example_coordinator())
        own = CoordinatorSettings.from_toml(tmp_path / "clearing.toml", files=False)
        with broker, Analyst(settings) as analyst:
            with Clearing(own, network.sites["clearing"], network.members, broker).control:
                began = time.monotonic()
                assert analyst.ask("clearing", patience=60.0) == []
                assert analyst.ask("clearing", network.job.id, patience=60.0) == []
                assert time.monotonic() - began < 10
                assert analyst.silent == set()
                monkeypatch.setattr("tacit.consortium.analyst.UNKNOWN", 0.5)
                with pytest.raises(PeerError, match=f"clearing knows nothing of job {network.job.id}: it refused or purged it"):
                    list(analyst.follow(network.job))
            assert analyst.ask("clearing", patience=0.2) == []
            assert analyst.silent == {"clearing"}


def test_a_server_that_is_not_there_is_named(tmp_path, write, monkeypatch):
    pytest.importorskip("nats", reason="needs the extra 'nats'")
    del tmp_path
    monkeypatch.setattr("tacit.consortium.analyst.REACH", 0.5)
    settings = AnalystSettings.from_toml(write(servers=["tls://127.0.0.1:9"]))
    with pytest.raises(LocalError, match=r"127\.0\.0\.1:9.*coordinator"), Analyst(settings):
        pytest.fail("connected")
