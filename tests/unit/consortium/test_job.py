from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from job_files import example_job, one_step, with_step
from tacit import SVC, Federation
from tacit.choreo import Asker, Coordinator, Labeller
from tacit.choreo.declaration import plain
from tacit.choreo.ledger import read_template
from tacit.consortium.jobs.job import Job, restore, source_files, source_hash
from tacit.consortium.jobs.proposal import job_of_file, propose
from tacit.consortium.jobs.rehearsal import cost_of
from tacit.consortium.jobs.requests import protocols_of
from tacit.errors import LocalError, PeerError
from tacit.federation.backend import Described
from tacit.request import Records

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KERNEL = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0, "alpha": 0.1, "features": 10}
GIVEN = {
    "partition": "vertical",
    "parties": ("north", "south", "east"),
    "coordinator": "clearing",
    "dataset": "cohort",
    "submitter": "analyst",
    "purpose": "a test",
    "legal_basis": "consent",
    "labeller": "north",
    "aligned": True,
    "now": NOW,
}


def made(step=None, **changes):
    return propose("study", one_step(**{**KERNEL, **(step or {})}), **{**GIVEN, **changes})


@pytest.fixture
def read(tmp_path):
    def read(*changes, text=None):
        content = text or example_job()
        for old, new in changes:
            assert old in content
            content = content.replace(old, new)
        path = tmp_path / "job.toml"
        path.write_text(content)
        return job_of_file(path, submitter="analyst", now=NOW)

    return read


@pytest.fixture(scope="module")
def federation():
    X = np.random.default_rng(0).normal(size=(150, 6))
    y = (X[:, 0] > 0).astype(int)
    return Federation.simulate(X, y, parties=("north", "south", "east"), partition="vertical", coordinator="clearing")


def test_a_job_file_names_an_estimator_and_becomes_a_study_of_it(read, federation):
    job = read(("aligned = false", "aligned = true"))
    assert (job.protocol, protocols_of(job)) == ("study", ("train_svm",))
    assert job.arguments["steps"] == ({"use": "SVC", "alpha": 0.1, "kernel": "rbf"},)
    outcome = federation.run(job.protocol, {"data": Records(), "judge": Records()}, **job.arguments)
    assert outcome.ledger.template() == job.disclosure
    assert job.roster[Labeller] == job.roster[Asker] == ("north",)
    assert job.roster[Coordinator] == ("clearing",)


def test_the_disclosure_of_a_job_is_the_ledger_of_a_fitted_estimator(federation):
    fitted = SVC(kernel="linear", alpha=0.1).fit(federation)
    job = made({"kernel": "linear", "features": "auto"})
    told = {fact for line in read_template(job.disclosure) if not line.opens for fact in line.facts}
    public = {"core.classes", "shares.uniform", "core.names"}  # a simulation has classes, names, points from its seed
    found = {each.fact for each in fitted.report_.facts}
    assert {fact for fact in told ^ found if fact.identifier not in public} == set()


def test_a_round_trip_through_canonical_bytes_keeps_job_and_digest():
    job = made({"kernel": "linear"}, rows={"north": 100}, classes=(0, 1))
    again = Job.from_bytes(job.canonical())
    assert again == job
    assert again.digest == job.digest
    assert again.arguments["steps"][0]["kernel"] == "linear"


def test_every_field_is_in_the_digest():
    job = made()
    other = {
        "purpose": "another",
        "retention_days": 31,
        "expires": NOW + timedelta(days=3),
        "params": with_step(job, alpha=0.3),
        "disclosure": "",
        "source": "0",
        "accept_risk": True,
    }
    assert (
        len({job.digest, *(msgspec.structs.replace(job, **{k: v}).digest for k, v in other.items())}) == len(other) + 1
    )


def test_two_jobs_never_share_an_id():
    assert made().id != made().id


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda b: b.replace(b'"retention_days":30', b'"retention_days":"long"'),
            "not a job of this version: Expected `int`",
        ),
        (lambda b: b.replace(b'{"accept', b'{"extra":1,"accept'), "unknown field `extra`"),
        (lambda b: b.replace(b'{"accept', b'{ "accept'), "not in canonical form"),
        (
            lambda b: b.replace(b'"labeller":"north"', b'"labeller":"nobody"'),
            "labeller 'nobody' is not one of its parties",
        ),
        (lambda b: b[:-5], "not a job of this version"),
    ],
)
def test_bytes_that_are_no_job_are_the_peers_fault(change, words):
    data = made().canonical()
    assert change(data) != data
    with pytest.raises(PeerError, match=words):
        Job.from_bytes(change(data))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"SVC"', '"GramSVM"', r"job.toml: step 1 has use = 'GramSVM': name one of .*SVC, SVR, ELMClassifier"),
        (
            "alpha = 0.1",
            "alpha = -1",
            r"The 'alpha' parameter of SVC must be .*a float in the range \(0, 1000000.*Got -1 instead",
        ),
        ("alpha = 0.1", "alpha = 0.1001", r"parameter 'alpha' is 0.1001, and it takes .*1 or 3 times a power of ten"),
        ("alpha = 0.1", "D = 8.0", r"SVC has no parameter 'D': it takes .*alpha, .*kernel"),
        ("retention_days", "retention", r"unknown key 'retention': known are .*retention_days.*; correct or remove it"),
        ('purpose = "risk', '# purpose = "risk', "'purpose' is missing: add it"),
        ("retention_days = 30", "retention_days = 'x'", "retention_days: Expected int, got str; correct the value"),
        (
            "retention_days = 30",
            "expires = 2029-12-31T00:00:00Z",
            "expired at 2029-12-31 00:00 UTC: set expires to a time",
        ),
        ("retention_days = 30", "expires = 2029-12-31T00:00:00", "expires: Expected datetime with a timezone"),
        ('"south", "east"]', '"south"]', "2 data holders.*allow_two_parties = true"),
        ('labeller = "north"', 'labeller = "west"', "labeller = 'west' is not one of the parties"),
        ('coordinator = "clearing"', 'coordinator = "south"', "'south' would coordinate.*accept_risk"),
        ("north = 200", "west = 200", r"rows do not fit its parties \(north, south, east\), unknown: \['west'\]"),
        ('"cohort"', '"../cohort"', "cannot name a file"),
        ("estimator =", 'protocol = "align"\nestimator =', "name an estimator, a protocol or steps"),
        ("[params]", "[params", "is not TOML: .*correct that line"),
        ("risk of", "risk\\u001b[2K of", "write one line of text"),
    ],
)
def test_a_bad_job_file_is_refused_in_one_line(read, old, new, words):
    with pytest.raises(LocalError, match=words) as error:
        read((old, new))
    assert "\n" not in str(error.value)


BARE = """
parties = ["north", "south", "east"]
coordinator = "clearing"
dataset = "cohort"
purpose = "readmission"
legal_basis = "consent"
"""


@pytest.mark.parametrize(
    ("given", "protocols"),
    [
        ('estimator = "SVR"\npartition = "vertical"\nlabeller = "north"', ("train_svm",)),
        ('estimator = "ELMRegressor"\npartition = "horizontal"', ("train_elm", "release_limits", "release_figures")),
        ('estimator = "SVC"\npartition = "vertical"\nlabeller = "north"', ("train_svm",)),
        ('estimator = "FederatedScaler"\npartition = "vertical"\nlabeller = "north"', ("prepare_columns",)),
    ],
)
def test_every_estimator_is_the_one_step_of_a_study(read, given, protocols):
    job = read(text=f"{given}\n{BARE}")
    assert (job.protocol, protocols_of(job)) == ("study", protocols)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"features": "exact", "class_weight": "balanced", "probability": True}, "probability"),
        ({"features": "exact", "loss": "least_squares"}, "features='exact'"),
        ({"epsilon": 1.0, "kernel": "linear"}, "epsilon"),
    ],
)
def test_a_job_file_is_refused_in_the_words_that_a_connected_federation_is_refused_in(read, settings, words):
    there = Federation.described(
        ("north", "south", "east"), partition="vertical", coordinator="clearing", labeller="north", backend=Described()
    )
    with pytest.raises(LocalError, match=words) as connected:
        SVC(**settings, partition="vertical").fit(there)
    given = "\n".join(f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
                      for key, value in settings.items())  # fmt: skip
    with pytest.raises(LocalError) as proposed:
        read(('kernel = "rbf"', given), ("alpha = 0.1", ""))
    assert str(proposed.value) == f"job.toml: {connected.value}"


def test_a_job_file_names_a_protocol_only_where_it_is_no_step_of_a_study(read):
    step = "no job may name the protocol 'train_svm': write estimator = 'SVC', or .* or name one of align, study"
    with pytest.raises(LocalError, match=step):
        read(('estimator = "SVC"  ', 'protocol = "train_svm"  '))
    with pytest.raises(LocalError, match="no job may name the protocol 'gram_diagonal'"):
        read(('estimator = "SVC"  ', 'protocol = "gram_diagonal"  '))
    with pytest.raises(LocalError, match=r"\[params\] are those of an estimator or a protocol"):
        read(('estimator = "SVC"  ', ""), ("[rows]", '[[step]]\nuse = "SVC"\n\n[rows]'))


def test_values_of_numbered_categories_are_written_as_pairs(read):
    given = 'categories = [["pain", [1, 2]], ["ecg", [0, 1]]]'
    job = read(('estimator = "SVC"', 'estimator = "FederatedEncoder"'), ('alpha = 0.1\nkernel = "rbf"', given))
    assert job.arguments["steps"][0]["categories"] == {"pain": (1, 2), "ecg": (0, 1)}


def test_a_missing_job_file_is_named(tmp_path):
    with pytest.raises(
        LocalError, match=r"the job .*none.toml cannot be read: No such file or directory; correct the path"
    ):
        job_of_file(tmp_path / "none.toml", submitter="analyst")


def test_two_holders_are_refused_unless_the_job_says_so():
    with pytest.raises(LocalError, match=r"2 data holders.*accept it with allow_two_parties = true"):
        made(parties=("north", "south"))
    assert made(parties=("north", "south"), allow_two_parties=True).allow_two_parties


def test_unknown_parameters_of_a_protocol_are_refused_with_those_it_takes():
    with pytest.raises(LocalError, match="protocol align has no parameter 'colour': it takes min_records"):
        propose("align", {"colour": 1}, **GIVEN)
    with pytest.raises(LocalError, match="parameter 'min_records' is 'x', and it takes"):
        propose("align", {"min_records": "x"}, **GIVEN)
    with pytest.raises(LocalError, match="parameter 'steps' is nan: a job holds finite numbers"):
        made({"coef0": float("nan")})


def test_the_cost_is_close_to_what_a_run_takes(federation):
    job = made(rows=dict.fromkeys(GIVEN["parties"], 150))
    ledger = federation.run(job.protocol, {"data": Records(), "judge": Records()}, **job.arguments).ledger
    assert job.cost.rounds == ledger.rounds - 1  # in which sites tell the names of their columns
    for party, estimate in job.cost.bytes.items():
        real = sum(row.bytes for row in ledger if party in {row.sender, row.receiver})
        assert real * 0.2 < estimate < real * 5
    assert cost_of(job.protocol, job.arguments, job.roster, 30_000).rounds >= job.cost.rounds
    assert made().cost is None


def test_a_prediction_is_rehearsed_and_proposed_on_the_job_of_its_model():
    asked = one_step(features="exact", loss="hinge", C=1.0, gamma=1.0)
    about = r"protocol 'study_answers' is about a model: name the job that made it, as builds_on = 'its id'"
    with pytest.raises(LocalError, match=about):
        propose("study_answers", asked, **GIVEN)
    few, many = (
        propose("study_answers", asked, builds_on=["a" * 32], rows={"north": rows}, **GIVEN) for rows in (1000, 50_000)
    )
    assert few.builds_on == ("a" * 32,)
    assert "opens blind_predict: asker: core.answers" in few.disclosure
    assert many.cost.rounds >= few.cost.rounds
    assert sum(many.cost.bytes.values()) > 10 * sum(few.cost.bytes.values())


def test_a_coordinator_that_holds_data_is_refused():
    with pytest.raises(LocalError, match="both coordinator and a data holder"):
        made(coordinator="north")


def test_the_source_hash_is_of_every_protocol_file():
    assert made().source == source_hash("study")
    package = Path(tacit.__file__).parent
    named = {
        "choreo/run.py",
        "errors.py",
        *(f.relative_to(package).as_posix() for f in package.glob("protocols/**/*.py")),
    }
    assert named - source_files("study").keys() == {"errors.py"}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.integers(0, 9) | st.text(max_size=5), inner),
)


@given(VALUES)
def test_a_parameter_survives_json(value):
    assert restore(msgspec.json.decode(msgspec.json.encode(plain("p", value)))) == value


def test_numpy_scalars_become_plain_numbers():
    assert plain("gamma", np.float64(0.5)) == 0.5
    assert type(plain("degree", np.int64(3))) is int
