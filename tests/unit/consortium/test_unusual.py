"""What people read first about a job."""

from datetime import UTC, datetime
from functools import lru_cache

import msgspec
import pytest

from job_files import one_step, with_step
from tacit.consortium.consent.decision import count_too_few
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.risks import refuse_risky
from tacit.consortium.consent.unusual import show_value, unusual
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError

PARTIES = ("north", "south", "east")
TWO = PARTIES[:2]
KERNEL = {"kernel": "rbf", "gamma": 0.1, "degree": 3, "coef0": 0.0}


def dealer(parties):
    """What people read of every job of the core: who could work out records together."""
    both = f"clearing, which deals the random numbers, and any one of {', '.join(parties)} together"
    return "warning", f"nobody can work out records of others without {both}: forbid it by agreement"


DEALER = dealer(PARTIES)


@lru_cache
def proposed():
    return propose(
        "study",
        one_step("SVC", **KERNEL),
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
    assert unusual(proposed()) == [DEALER]


def test_no_seed_is_more_usual_than_another():
    assert unusual(msgspec.structs.replace(proposed(), params={**proposed().params, "seed": 7})) == [DEALER]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"accept_risk": True},
            ("risk", "accept_risk = true: the job may open what one site alone can work out records from"),
        ),
        (
            {"params": with_step(proposed(), features=50)},
            ("parameter", "features of train_svm = 50, usually auto: how many landmarks there are"),
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
            ("two parties", "2 data holders: a sum or a model, less one's own part, is the other's"),
        ),
    ],
)
def test_each_has_its_line(changes, line):
    assert unusual(msgspec.structs.replace(proposed(), **changes)) == [line, dealer(changes.get("parties", PARTIES))]


def test_values_are_written_for_people():
    assert show_value({"pairs": [[0, 1.0], ["ill", 5.0]]}) == "0: 1.0, ill: 5.0"
    assert (
        show_value([{"pairs": [["C", 1.0], ["gamma", "scale"]]}, {"pairs": [["C", 10.0], ["gamma", "scale"]]}])
        == "2 of C 1.0, 10.0; gamma scale"
    )
    assert show_value([None, True, "a"]) == "none, true, a"


def blind(parties):
    return propose(
        "study",
        one_step(
            "SVC",
            features="exact",
            loss="hinge",
            kernel="rbf",
            gamma=0.1,
            degree=3,
            coef0=0.0,
            C=1.0,
        ),
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


MACHINES = {"SVC": {"kernel": "rbf", "gamma": 0.1}, "ELMClassifier": {}}
FIVE = ("north", "south", "east", "west", "centre")


def machine(use, parties, **more):
    known = {"partition": "horizontal", "parties": parties, "coordinator": "clearing", "dataset": "cohort"}
    about = {"submitter": "analyst", "purpose": "readmission", "legal_basis": "consent"}
    asked = one_step(use, **MACHINES[use] | more.pop("params", {}))
    return propose("study", asked, **known, **about, **more)


@pytest.mark.parametrize("use", MACHINES)
def test_a_model_of_two_holders_is_refused_unless_job_and_both_policies_say_so(use, tmp_path):
    with pytest.raises(LocalError, match=r"2 data holders.*accept it with allow_two_parties = true"):
        machine(use, TWO)
    job = machine(use, TWO, allow_two_parties=True)
    for least, few in ((3, "minimum_parties"), (2, None)):
        path = tmp_path / "policy.toml"
        path.write_text(example_policy(automatic=True, minimum_parties=least))
        found = count_too_few(job, Policy.from_toml(path))
        assert (found and found.rule) == few
    said = "2 data holders: a sum or a model, less one's own part, is the other's"
    assert ("two parties", said) in unusual(job)


@pytest.mark.parametrize("use", MACHINES)
def test_of_five_parties_people_read_who_computes_for_all(use):
    told = (
        "north, south and east compute for all, and together can work out what each other party gave them: exact sums"
        " over its records, or with loss='hinge' its rows: forbid it by agreement, name others, or say committee ="
        " 'all'"
    )
    assert told in concerns(machine(use, FIVE))
    named = machine(use, FIVE, params={"committee": ["south", "west", "centre"]})
    assert any(each.startswith("south, west and centre compute for all") for each in concerns(named))
    changed = [line for word, line in unusual(named) if word == "parameter"]
    assert [line for line in changed if " = south, west, centre, usually auto: " in line]
    everybody = machine(use, FIVE, params={"committee": "all"})
    assert not any("compute for all" in each for each in concerns(everybody))
    assert not any("compute for all" in each for each in concerns(machine(use, FIVE[:4])))


def test_a_committee_of_others_than_the_parties_is_refused_before_anybody_is_asked():
    with pytest.raises(LocalError, match=r"the committee is north, south, nobody, and the parties are .*: name three"):
        machine("SVC", FIVE, params={"committee": ["north", "south", "nobody"]})


def test_two_holders_of_a_blind_job_are_nothing_unusual_since_nothing_is_summed_in_the_clear():
    assert [word for word, _ in unusual(blind(TWO))] == ["warning"]
