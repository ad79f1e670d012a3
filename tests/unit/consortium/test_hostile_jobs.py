"""Jobs that an analyst may write to hurt a site, or to get at a record.

Each is refused in one line, soon, wherever it comes from.
"""

import contextlib
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calls import count_calls
from job_files import one_step, with_step
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster
from tacit.consortium.jobs import rehearsal
from tacit.consortium.jobs.job import LARGEST, Job
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.rehearsal import cost_of, disclosure_of
from tacit.consortium.jobs.requests import requests_of
from tacit.errors import LocalError, PeerError

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PARTIES = ("north", "south", "east")
KERNEL = {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "alpha": 0.1, "features": 50}
GIVEN = {
    "partition": "vertical",
    "parties": PARTIES,
    "coordinator": "clearing",
    "dataset": "cohort",
    "submitter": "analyst",
    "purpose": "a test",
    "legal_basis": "consent",
    "labeller": "north",
    "now": NOW,
}
HONEST = propose("study", one_step("SVC", **KERNEL), rows=dict.fromkeys(PARTIES, 100), classes=(0, 1), **GIVEN)


def letter(**changes):
    """The canonical bytes of the honest job with other fields, as somebody without this package writes them."""
    return msgspec.json.encode({**msgspec.to_builtins(HONEST), **changes}, order="sorted")


def params(**changes):
    return {"params": {**HONEST.params, **changes}}


@pytest.mark.parametrize("columns", [{"north": ("x",), "south": (), "east": ()}, {"north": ("x", "x")}])
def test_a_job_in_which_a_party_brings_no_column_or_one_twice_is_refused(columns):
    with pytest.raises(LocalError, match=r"columns of (south|north) are .*: name at least one, each once"):
        propose("study", one_step("SVC", **KERNEL), columns=columns, **GIVEN)
    given = {**dict.fromkeys(PARTIES, "all"), **columns}
    with pytest.raises(PeerError, match=r"not a job of this version"):
        Job.from_bytes(letter(columns=given))


def test_an_attacked_protocol_needs_the_jobs_word():
    split = {**GIVEN, "partition": "horizontal", "labeller": None}
    asked = {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0}
    with pytest.raises(LocalError, match=r"PAN-SVM shows everyone landmarks.*or say accept_risk = true"):
        propose("study", one_step("PanSVC", accept_risk=True, **asked), **split)
    known = {"accept_risk": True, "rows": dict.fromkeys(PARTIES, 100), **split}
    job = propose("study", one_step("PanSVC", accept_risk=True, **asked), **known)
    assert Job.from_bytes(job.canonical()) == job


def test_the_coordinator_is_no_data_holder_whatever_made_the_job():
    with pytest.raises(PeerError, match="'east' is both coordinator and a data holder"):
        Job.from_bytes(letter(coordinator="east", cost=None))


# A letter that stops a site


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (params(steps={"pairs": 5}), "parameter 'steps' is {'pairs': 5}, and it takes"),
        (params(steps=[]), "parameter 'steps' is .*a list of 1 to 50 steps"),
        (params(steps=[{"pairs": [["use", "SVC"]]}] * 51), "parameter 'steps' is .*a list of 1 to 50 steps"),
        (params(steps=[{"pairs": [["use", [0] * 20_001]]}]), "parameter 'steps' is .*a list of 1 to 50 steps"),
        (params(seed="x"), "parameter 'seed' is 'x'"),
        (params(colour=1), "study has no parameter 'colour'"),
        ({"params": {}}, "study needs a value for 'seed', 'partition'"),
        ({"protocol": "secure_or"}, "no job may name the protocol 'secure_or'"),
        ({"protocol": "train_svm"}, "no job may name the protocol 'train_svm': write estimator = 'SVC', or "),
        ({"protocol": "x" * 10**5}, "Expected `str` of length <= 100"),
        ({"rows": dict.fromkeys(PARTIES, 10**15)}, "Expected `int` <= 1000000000"),
        ({"rows": dict.fromkeys(PARTIES, 0)}, "Expected `int` >= 1"),
        ({"retention_days": 10**9}, "Expected `int` <= 3650"),
        ({"expires": "9999-12-31T23:59:59-12:00"}, "the job expires at 9999.*in UTC, of the years 2000 to 2999"),
        ({"expires": "2030-01-01T00:00:00"}, "Expected `datetime` with a timezone"),
        ({"protection": {"fraction_bits": 32}}, "unknown field `protection`"),
        ({"parties": [f"p{i}" for i in range(101)]}, "Expected `array` of length <= 100"),
        ({"columns": {**dict.fromkeys(PARTIES, "all"), "north": ["x" * 201]}}, "columns"),
        ({"columns": {**dict.fromkeys(PARTIES, "all"), "north": [f"x{i}" for i in range(10_001)]}}, "columns"),
        ({"classes": list(range(1001))}, "Expected `array` of length <= 1000"),
        ({"classes": [1, 1]}, "names a class twice"),
        ({"builds_on": ["a" * 32] * 11}, "Expected `array` of length <= 10"),
        ({"purpose": "x" * 1001}, "Expected `str` of length <= 1000"),
        ({"cost": {"rounds": 1, "bytes": {"north": 1}}}, "cost is not that of its sites"),
        ({"cost": {"rounds": 10**30, "bytes": {}}}, "not a job of this version"),
        ({"disclosure": "x" * LARGEST}, "a job has at most 1000000"),
    ],
)
def test_a_letter_with_a_hostile_field_is_one_short_line(changes, words):
    data = letter(**changes)

    def read():
        with pytest.raises(PeerError, match=words) as error:
            Job.from_bytes(data)
        said.append(error)

    said = []
    read()  # what is imported then is so once
    assert count_calls(read) < 200_000
    error = said[-1]
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1500


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kernel": {"pairs": 5}}, "The 'kernel' parameter of SVC must be"),
        ({"kernel": "rbf", "coef0": 1e300}, "The 'coef0' parameter of SVC must be|parameter 'coef0' is"),
        ({"alpha": 0.1001}, "parameter 'alpha' is 0.1001, and it takes .*1 or 3 times a power of ten"),
        ({"gamma": 1.0000001}, "parameter 'gamma' is 1.0000001, and it takes .*1 or 3 times a power of ten"),
        ({"features": 51}, "parameter 'features' is 51, and it takes"),
        ({"classes": [[]] * 1000}, "'classes'"),
        ({"colour": 1}, "SVC has no parameter 'colour'"),
        ({"use": "Nothing"}, "step 1 has use = 'Nothing': name one of"),
    ],
)
def test_a_hostile_step_is_one_short_line_when_it_is_rehearsed(given, words):
    with pytest.raises(LocalError, match=words) as error:
        requests_of(Job.from_bytes(letter(params=with_step(HONEST, **given))))
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 1500


def test_a_letter_of_any_depth_is_one_line():
    deep = b"[" * 10**5 + b"]" * 10**5
    data = letter(**params(class_names=0)).replace(b'"class_names":0', b'"class_names":' + deep)
    with pytest.raises(PeerError, match="nested too deeply"):
        Job.from_bytes(data)


def test_a_job_is_checked_when_it_is_made_too():
    for changes, words in (
        ({"rows": {"north": 10**15}}, "every party would refuse the job: .*<= 1000000000"),
        ({"retention_days": 4000}, "every party would refuse the job: .*<= 3650"),
        ({"purpose": "x" * 2000}, "every party would refuse the job: .*length <= 1000"),
        (
            {"columns": {p: [f"{p}{i:>150}" for i in range(9000)] for p in PARTIES}},
            "every party refuses more than 1000000: name fewer",
        ),
    ):
        with pytest.raises(LocalError, match=words):
            propose("study", one_step("SVC", **KERNEL), **{**GIVEN, **changes})


FIELDS = tuple(msgspec.to_builtins(HONEST))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["pairs", "C", "north", "kernel"]) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1, max_size=3)
    | st.fixed_dictionaries(
        {
            "params": st.dictionaries(st.sampled_from(["steps", "evaluate", "release", "class_names"]), JSON).map(
                lambda p: {**HONEST.params, **p}
            )
        }
    )
)
def test_whatever_stands_in_its_fields_a_letter_is_a_job_or_the_peers_fault(changes):
    try:
        data = letter(**changes)
    except OverflowError:
        return
    with contextlib.suppress(PeerError):
        assert Job.from_bytes(data).arguments


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | st.tuples(st.integers(0, len(HONEST.canonical()) - 1), st.binary(max_size=4)))
def test_whatever_the_bytes_they_are_a_job_or_the_peers_fault(change):
    data = HONEST.canonical()
    data = change if isinstance(change, bytes) else data[: change[0]] + change[1] + data[change[0] + len(change[1]) :]
    with contextlib.suppress(PeerError):
        Job.from_bytes(data)


# What a site computes before anybody has agreed


def roster(n):
    names = tuple(f"p{i}" for i in range(n))
    return Roster({Holder: names, Labeller: names[:1], Asker: names[-1:], Coordinator: ("site",)})


MANY = tuple(
    {"alpha": (1.0, 3.0)[i % 2], "gamma": 10.0 ** (i // 2 % 12 - 6), "coef0": 10.0 ** (i // 24 % 4)}
    for i in range(1000)
)
MACHINE = {"kernel": "rbf", "gamma": 1e-6, "degree": 9, "coef0": 0.0, "partition": "vertical"}
WORST = {
    "train_svm": [
        {**MACHINE, "features": 2000, "probability": True},
        {**MACHINE, "features": 2000, "loss": "hinge", "choose_cost": True},
    ],
    "train_elm": [{"partition": "vertical", "activation": "fourier", "n_hidden": 2000, "scale": 1000.0}],
    "search_machine": [
        {**MACHINE, "settings": MANY},
        {**MACHINE, "loss": "hinge", "settings": tuple({"C": 3.0 * 10.0 ** (i % 4)} for i in range(1000))},
    ],
    "gram_blind": [{**MACHINE, "C": 1.0}],
    "blind_predict": [{**MACHINE, "gamma": 1.0, "C": 1.0, "problems": 1000, "trained_on": 10**9}],
    "private_svm": [{**{k: v for k, v in MACHINE.items() if k != "partition"}, "classes": (0, 1)}],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "asked"), [(protocol, asked) for protocol, all_asked in WORST.items() for asked in all_asked]
)
def test_the_largest_job_can_be_rehearsed(protocol, asked):
    disclosure_of(protocol, asked, roster(100))
    cost = cost_of(protocol, asked, roster(100), 10**4 if protocol == "gram_blind" else 5 * 10**8)
    assert set(cost.bytes) == {*roster(100).parties}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["train_svm", "train_elm", "search_machine", "align"])
def test_a_rehearsal_with_few_holders_says_what_one_with_all_says_and_its_cost_is_close(protocol, monkeypatch):
    asked = {} if protocol == "align" else WORST[protocol][0] | {"committee": "all"}
    """The words of five holders are those of twelve; three of them have no committee, and no tree of products."""
    few, estimate = disclosure_of(protocol, asked, roster(12)), cost_of(protocol, asked, roster(12), 600)
    monkeypatch.setattr(rehearsal, "CAST", 12)
    assert disclosure_of(protocol, asked, roster(12)) == few == disclosure_of(protocol, asked, roster(6))
    exact = cost_of(protocol, asked, roster(12), 600)
    assert all(estimate.bytes[p] == pytest.approx(exact.bytes[p], rel=0.5) for p in exact.bytes)
