"""The budget of differential privacy that a site enforces, over jobs, steps, restarts and names of datasets."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from editions_of import OWN, edition_of

from job_files import one_step
from tacit.consortium.consent import decision as rules
from tacit.consortium.consent.budget import price
from tacit.consortium.consent.decision import UNFIT, Holdings
from tacit.consortium.consent.people import Pending
from tacit.consortium.consent.policy import Allowance, Policy
from tacit.consortium.consent.proposals import in_sections
from tacit.consortium.consent.register import Limits, Register
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError
from tacit.numeric.privacy.accountant import epsilon_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KERNEL = {"kernel": "linear"}
BUDGET = "[budget.cohort]\nepsilon = 1.2\ndelta = 1e-5\n"


@lru_cache
def proposed(epsilon=1.0):
    own = {} if epsilon is None else {"epsilon": epsilon, "delta": 1e-5, "classes": [0, 1]}
    return propose(
        "study",
        one_step(**KERNEL, **own),
        partition="horizontal",
        parties=("north", "south", "east"),
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        now=NOW,
    )


def job(number=0, epsilon=1.0, dataset="cohort"):
    given = proposed(epsilon)
    return msgspec.structs.replace(given, id=f"{number:032x}", dataset=dataset, expires=NOW + timedelta(days=400))


@pytest.fixture
def register(tmp_path):
    return Register(tmp_path / "state")


@pytest.fixture
def site(tmp_path, register):
    """Judge a job by a policy with a budget, and admit it if it is accepted."""

    def site(proposal, budget=BUDGET, now=NOW, first=0):
        path = tmp_path / "north.toml"
        kept = [line for line in example_policy(automatic=True).splitlines() if not line.startswith("protocols = ")]
        top, _, rest = "\n".join(kept).partition("\n[")
        text = f'protocols = "any"\n{top}\n\n{budget}\n[{rest}'.replace("[columns]", '[columns]\ncopy = "all"')
        path.write_text(text)
        policy = Policy.from_toml(path)
        edition = edition_of(register, first=first)
        case = rules.Case(proposal, policy, Holdings(OWN, edition), register, party="north", now=now)
        decision = rules.decide(case)
        if decision.verdict == "accept":
            register.admit(proposal, OWN, "north", edition, case.limits, now)
        return decision

    return site


def test_jobs_add_up_until_the_budget_is_spent_and_the_refusal_says_what_is_left(site):
    assert site(job(1)).verdict == "accept"
    refused = site(job(2))
    assert (refused.verdict, refused.rule) == ("refuse", "budget")
    left = epsilon_of(np.sqrt(price(job(0, 1.2)) - price(job(0))), 1e-5)
    assert f"epsilon = 1.2 at delta = 1e-05, of which {left:.3g} is left, and the job asks for 1:" in refused.reason
    assert site(job(3, round(left - 0.005, 2))).verdict == "accept"  # the remedy: ask for less


def test_a_job_that_starts_again_is_paid_for_once(site, register):
    for _ in range(3):
        assert site(job(1)).verdict == "accept"
    assert [entry.cost for entry in register.entries()] == [price(job(1))]


def test_the_budget_follows_records_into_a_dataset_of_another_name(site):
    assert site(job(1)).verdict == "accept"
    refused = site(job(2, dataset="copy"))
    assert (refused.verdict, refused.reason) == ("refuse", UNFIT)  # that the records are the same is told to nobody
    assert "budget.cohort" in refused.problems[0].detail


def test_other_records_of_the_dataset_have_a_budget_of_their_own(site):
    assert site(job(1)).verdict == "accept"
    assert site(job(2), first=1000).verdict == "accept"


def test_a_budget_is_whole_again_after_its_days(site):
    budget = BUDGET + "days = 30\n"
    assert site(job(1), budget).verdict == "accept"
    assert site(job(2), budget, NOW + timedelta(days=29)).rule == "budget"
    assert site(job(3), budget, NOW + timedelta(days=31)).verdict == "accept"


def test_a_person_with_several_records_costs_more(site):
    assert site(job(1), BUDGET + "records_per_person = 2\n").rule == "budget"
    assert site(job(2), BUDGET + "records_per_person = 1\n").verdict == "accept"


def test_jobs_without_noise_cost_nothing_and_stand_in_the_register(site, register):
    assert site(job(1, epsilon=None)).verdict == "accept"
    assert site(job(2)).verdict == "accept"
    assert [e.cost > 0 for e in register.entries()] == [False, True]


def test_two_jobs_that_were_accepted_at_the_same_time_cannot_both_begin(site, register):
    assert site(job(1)).verdict == "accept"
    allowed = Limits(20, {"cohort": Allowance(epsilon=1.2)})
    with pytest.raises(LocalError, match="is left, and the job asks for"):
        register.admit(job(2), OWN, "north", edition_of(register), allowed, NOW)


def test_people_read_what_a_person_is_promised():
    sections = dict(in_sections(Pending(job(1), (), (), 1, "waiting"), "north"))
    ((_, said),) = sections["what a person is promised"]
    assert said == (
        "private_svm: a person's presence changes the odds of any outcome by a factor of at most 2.72, but for events"
        " of probability 1e-05"
    )


@pytest.mark.parametrize("wrong", ["epsilon = 0", "epsilon = 101", "epsilon = 1\ndelta = 0.5", "epsilon = 1\ndays = 0"])
def test_a_budget_that_is_none_is_refused(site, wrong):
    with pytest.raises(LocalError, match="budget"):
        site(job(1), f"[budget.cohort]\n{wrong}\n")
