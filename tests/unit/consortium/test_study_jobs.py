"""What a policy says of a study: every request of every step is judged, before anything is opened."""

from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from earlier_jobs import NOW

from tacit.choreo import Coordinator
from tacit.consortium.consent.decision import Case, Holdings, decide
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs import requests
from tacit.consortium.jobs.job import plain
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.requests import protocols_of, requests_of
from tacit.consortium.jobs.values import values_of
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError
from tacit.federation.part import part_of
from tacit.request import Left, Records, Request

GIVEN = {
    "partition": "horizontal",
    "parties": ("north", "south", "east"),
    "coordinator": "clearing",
    "dataset": "cohort",
    "submitter": "analyst",
    "purpose": "readmission",
    "legal_basis": "consent",
    "now": NOW,
}
SCALE, PAN = {"use": "FederatedScaler"}, {"use": "PanSVC"}


def study(*steps, terms=None, **more):
    return propose("study", {"steps": steps, "seed": 3, **more}, **{**GIVEN, **(terms or {})})


@pytest.fixture
def judged(tmp_path):
    """What becomes of a job under the policy that is shipped, with some lines changed."""

    def judge(job, *changes):
        text = example_policy(automatic=True)
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        (tmp_path / "policy.toml").write_text(text)
        register = Register(tmp_path / "state")
        part = part_of(np.random.default_rng(0).normal(size=(80, 2)), np.arange(80) % 2, None, ("age", "bmi"))
        held = Holdings(part.features, register.rows_of(part))
        return decide(Case(job, Policy.from_toml(tmp_path / "policy.toml"), held, register, "north", NOW))

    return judge


def test_the_shipped_policy_takes_a_study_that_is_prepared_searched_and_judged(judged):
    search = {"use": "FederatedGridSearch", "estimator": "PanSVC", "grid": {"C": (1.0, 3.0)}}
    job = study({"use": "FederatedImputer"}, SCALE, search, holdout=0.25, evaluate={})
    assert protocols_of(job) == ("fill_values", "column_moments", "pan_search", "score_counts")
    assert judged(job).verdict == "accept"


COLUMNS = {"partition": "vertical", "labeller": "north"}
GAPS, GRAM = {"use": "FederatedImputer", "add_indicator": True}, {"use": "GramSVC"}


def test_the_shipped_policy_takes_a_study_over_columns_and_counts_the_records_that_its_model_is_asked_about(judged):
    job = study(GAPS, SCALE, GRAM, holdout=0.25, evaluate={}, terms=COLUMNS)
    assert protocols_of(job) == ("own_columns", "gram_vertical", "gram_predict", "labeller_counts")
    assert judged(job).verdict == "accept"
    few = judged(job, ("predictions = 100", "predictions = 19"))  # a quarter of 80 records is more
    assert few.verdict == "refuse"
    assert "predictions = 19, of which 19 are left under models of 'cohort'" in few.problems[0].detail
    refused = judged(job, ('"gram_predict", ', ""))
    assert refused.reason.endswith("the job has 'gram_predict': propose one of those, or ask that party")


@pytest.mark.parametrize("learner", ["GramSVC", "GramSVR"])
def test_the_shipped_policy_takes_a_blind_study_of_classes_or_numbers_and_says_who_could_undo_it(judged, learner):
    job = study(SCALE, {"use": learner, "view": "blind"}, holdout=0.25, evaluate={}, terms=COLUMNS)
    counts = {"GramSVC": "labeller_counts", "GramSVR": "labeller_errors"}[learner]
    assert protocols_of(job) == ("own_columns", "gram_blind", "blind_predict", counts)
    assert judged(job).verdict == "accept"
    assert "gram.matrix" not in job.disclosure
    assert ("/agree_on_numbers/TargetRange: " in job.disclosure) == (learner == "GramSVR")
    (said,) = concerns(job)
    assert said.startswith("nobody can work out records of others without clearing, which deals the random numbers,")


@pytest.mark.parametrize(("learner", "instead"), [("GramSVC", "PanSVC"), ("GramSVR", "SecureELMRegressor")])
def test_who_proposes_or_agrees_to_a_blind_study_of_many_records_reads_what_it_costs_and_a_way_out(learner, instead):
    def said_of(rows):
        terms = {**COLUMNS, "rows": dict.fromkeys(GIVEN["parties"], rows)}
        return concerns(study({"use": learner, "view": "blind"}, terms=terms))[1:]

    (said,) = said_of(4000)
    assert said.startswith("4000 records in shares take about ")
    assert said.endswith(f"1.5 GB at every party: train on a sample of 3000, or by rows use {instead}")
    assert said_of(3000) == []
    with pytest.raises(LocalError, match=r"(too many|too large with 100000 records).*: .*take"):
        said_of(100_000)


@pytest.mark.parametrize(
    "ranges", [{"age": (18, 99), "bmi": (10, 60), "dose": (2, 3)}, (10, 99)], ids=["by column", "for all"]
)
@pytest.mark.parametrize("terms", [None, COLUMNS], ids=["rows", "columns"])
def test_a_study_of_declared_ranges_is_rehearsed_within_them(ranges, terms):
    job = study({**SCALE, "method": "minmax", "ranges": ranges}, {"use": "GramSVC"}, terms=terms)
    assert protocols_of(job)[0] == "checked_columns"


def test_an_elm_over_columns_is_proposed_only_if_job_and_policy_accept_its_risk(judged):
    risky = {"use": "SecureELMClassifier", "accept_risk": True}
    with pytest.raises(LocalError, match="an ELM over columns shows the coordinator the inputs of its hidden layer"):
        study(SCALE, risky, terms=COLUMNS)
    job = study(SCALE, risky, terms={**COLUMNS, "accept_risk": True})
    assert judged(job, ('"align", ', '"align", "elm_vertical", ')).rule == "accept_risk"


def test_a_study_cannot_hold_a_shift_in_the_words_in_which_it_is_refused_by_itself():
    words = "ShiftSVC runs in simulation only, for studies, since it gives away"
    with pytest.raises(LocalError, match=words):
        study(SCALE, {"use": "ShiftSVC", "accept_risk": True}, terms=COLUMNS)


def test_answers_of_a_study_over_columns_are_the_labellers():
    with pytest.raises(LocalError, match="only the labeller gets the answers of a model: leave asker out"):
        study(SCALE, GRAM, terms={**COLUMNS, "asker": "south"})


def test_a_step_is_judged_by_the_rules_of_its_own_protocol(judged):
    refused = judged(study(SCALE, {**PAN, "min_cluster": 2}))
    assert (refused.verdict, refused.rule) == ("refuse", "parameters")
    assert "parameters.min_cluster = at least 5, the job has 2" in refused.reason
    refused = judged(study(SCALE, PAN), ('"column_moments", ', ""))
    assert refused.reason.endswith("the job has 'column_moments': propose one of those, or ask that party")


def test_a_risk_that_a_step_accepts_is_the_jobs(judged):
    """An estimator opens exact extremes only with accept_risk=True, which its protocol does not take."""
    extremes = study({**SCALE, "method": "minmax", "accept_risk": True}, PAN)
    refused = judged(extremes, ('"align", ', '"align", "column_extremes", '))
    assert (refused.verdict, refused.rule) == ("refuse", "accept_risk")


def test_a_site_that_shows_counts_of_its_own_has_to_allow_it(judged):
    shown = study(SCALE, PAN, holdout=0.25, evaluate={"per_site": ["north", "south", "east"]})
    assert judged(shown).rule == "parameters"


def test_steps_that_a_site_does_not_know_are_refused_in_one_line(judged):
    steps = plain("steps", ({"use": "FederatedWizard"}, PAN))
    refused = judged(
        msgspec.structs.replace(study(SCALE, PAN), params={"steps": steps, "seed": 3, "partition": "horizontal"})
    )
    assert (refused.verdict, refused.rule) == ("refuse", "disclosure")
    assert "cannot be rehearsed here: step 1 has use = 'FederatedWizard'" in refused.reason


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (({"use": "FederatedWizard"},), "step 1 has use = 'FederatedWizard'"),
        ((SCALE, {**PAN, "C": -1.0}), "C"),
        ((SCALE, {"use": "GramSVR", "partition": "vertical"}), "GramSVR has no parameter 'partition'"),
        ((), "a list of 1 to 50 steps"),
    ],
)
def test_a_bad_study_is_refused_where_it_is_proposed(steps, says):
    with pytest.raises(LocalError, match=says):
        study(*steps)


def test_what_follows_from_a_model_that_is_asked_needs_no_rule(monkeypatch):
    """Nobody chooses how many nodes a network has that is asked: the training was judged by that."""
    asking = Request("elm_predict", {"master": Left(Coordinator, "earlier.0", "master")}, {"nodes": 7, "segments": 1})
    training = Request("elm_vertical", {"data": Records()}, {"n_hidden": 600})
    job = study(SCALE, PAN)
    monkeypatch.setattr(requests, "plan_of", lambda *_: SimpleNamespace(requests=(asking,)))
    assert requests_of(job) == (("elm_predict", {"segments": 1}),)
    assert "nodes" not in values_of(requests_of(job)[0])
    monkeypatch.setattr(requests, "plan_of", lambda *_: SimpleNamespace(requests=(training,)))
    assert requests_of(job) == (("elm_vertical", {"n_hidden": 600}),)
