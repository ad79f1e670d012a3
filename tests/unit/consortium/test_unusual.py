"""What people read first about a job."""

from datetime import UTC, datetime
from functools import lru_cache

import msgspec
import pytest

from tacit.consortium.consent.risks import refuse_risky
from tacit.consortium.consent.unusual import show_value, unusual
from tacit.consortium.jobs.job import Protection
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.proposal import propose

PARTIES = ("north", "south", "east")
TWO = PARTIES[:2]
KERNEL = {"kernel": "rbf", "gamma": 0.1, "degree": 3, "coef0": 0.0, "C": 1.0}


@lru_cache
def proposed():
    return propose(
        "pan_svm",
        KERNEL,
        partition="horizontal",
        parties=PARTIES,
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        now=datetime(2030, 1, 1, tzinfo=UTC),
    )


def test_an_ordinary_job_has_nothing_unusual():
    assert unusual(proposed()) == []


def test_no_seed_is_more_usual_than_another():
    assert unusual(msgspec.structs.replace(proposed(), params={**KERNEL, "seed": 2006870358})) == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"accept_risk": True},
            ("risk", "accept_risk = true: the job may open what one site alone can work out records from"),
        ),
        (
            {"params": {**KERNEL, "min_count": 7}},
            ("parameter", "min_count = 7, usually auto: how many rows every sum is over, at least"),
        ),
        (
            {"params": {**KERNEL, "accept_risk": True}},
            (
                "parameter",
                "accept_risk = true, usually false: whether the run may open what a known attack makes use of",
            ),
        ),
        (
            {"protection": Protection(method="ring")},
            ("parameter", "method = ring, usually pairwise: how sums are protected"),
        ),
        ({"columns": {**dict.fromkeys(PARTIES, "all"), "south": ("age",)}}, ("one column", "south brings age only")),
        ({"rows": {"north": 60, "south": 49, "east": None}}, ("few rows", "south brings 49 only")),
        (
            {
                "parties": TWO,
                "columns": dict.fromkeys(TWO, "all"),
                "rows": dict.fromkeys(TWO),
                "allow_two_parties": True,
            },
            ("two parties", "2 data holders: a sum minus one's own part is the other's"),
        ),
    ],
)
def test_each_has_its_line(changes, line):
    assert unusual(msgspec.structs.replace(proposed(), **changes)) == [line]


def test_values_are_written_for_people():
    assert show_value({"pairs": [[0, 1.0], ["ill", 5.0]]}) == "0: 1.0, ill: 5.0"
    assert (
        show_value([{"pairs": [["C", 1.0], ["gamma", "scale"]]}, {"pairs": [["C", 10.0], ["gamma", "scale"]]}])
        == "2 of C 1.0, 10.0; gamma scale"
    )
    assert show_value([None, True, "a"]) == "none, true, a"


def blind(parties):
    return propose(
        "gram_blind",
        {"kernel": "rbf", "gamma": 0.1, "degree": 3, "coef0": 0.0, "C": 1.0},
        partition="vertical",
        parties=parties,
        coordinator="clearing",
        labeller="north",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        allow_two_parties=len(parties) == 2,
    )


def test_of_a_blind_job_people_read_that_it_takes_the_dealer_and_a_holder_together():
    said = (
        "nobody can work out records of others without clearing, which deals the random numbers, and any one of north,"
        " south, east together: forbid it by agreement"
    )
    assert unusual(blind(PARTIES)) == [("warning", said)]
    assert concerns(blind(PARTIES)) == [said]
    refuse_risky(blind(PARTIES))


def test_two_holders_of_a_blind_job_are_nothing_unusual_since_nothing_is_summed_in_the_clear():
    assert [word for word, _ in unusual(blind(TWO))] == ["warning"]
