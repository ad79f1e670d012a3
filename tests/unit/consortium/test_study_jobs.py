"""What a policy says of a study: every request of every step is judged, before anything is opened."""

import re
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from earlier_jobs import NOW
from editions_of import OWN, edition_of

from tacit.choreo import Holder
from tacit.choreo.declaration import plain
from tacit.choreo.fact import known_facts
from tacit.consortium.consent.decision import Case, Holdings, decide
from tacit.consortium.consent.people import Brought, Pending
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.proposals import brief, in_sections
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs import rehearsal, requests
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.rehearsal import takes
from tacit.consortium.jobs.requests import facts_by_role, list_told, protocols_of, requests_of, values_of
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError
from tacit.registry import PROTOCOLS
from tacit.report.decision import UNREVIEWED
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
SCALE, PAN = {"use": "FederatedScaler"}, {"use": "SVC"}


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
        X = np.random.default_rng(0).normal(size=(80, 2))
        held = Holdings(OWN, edition_of(register, X=X, y=np.arange(80) % 2))
        return decide(Case(job, Policy.from_toml(tmp_path / "policy.toml"), held, register, "north", NOW))

    return judge


def test_the_shipped_policy_takes_a_study_that_is_prepared_searched_and_judged(judged):
    search = {"use": "FederatedGridSearch", "estimator": "SVC", "grid": {"alpha": (1.0, 3.0)}}
    job = study({"use": "FederatedImputer"}, SCALE, search, evaluate={})
    assert protocols_of(job) == ("prepare_columns", "search_machine", "train_svm", "judge_model")
    assert judged(job).verdict == "accept"


COLUMNS = {"partition": "vertical", "labeller": "north"}
GAPS = {"use": "FederatedImputer", "add_indicator": True}
GRAM = {"use": "SVC", "features": "exact", "loss": "hinge"}


ROWS = dict.fromkeys(GIVEN["parties"], 80)


def test_the_shipped_policy_takes_a_study_in_shares_and_counts_the_records_that_its_model_is_asked_about(judged):
    job = study(GAPS, SCALE, GRAM, evaluate={}, terms={"rows": ROWS})
    assert protocols_of(job) == ("prepare_columns", "gram_blind", "blind_predict", "judge_model")
    assert judged(job).verdict == "accept"
    few = judged(job, ("predictions = 100", "predictions = 40"))  # a fifth of 240 records is more
    assert few.verdict == "refuse"
    assert "predictions = 40, of which 40 are left under models of 'cohort'" in few.problems[0].reason
    refused = judged(job, ('"blind_predict", ', ""))
    assert refused.reason.endswith("the job has 'blind_predict': propose one of those, or ask that party")


@pytest.mark.parametrize("learner", ["SVC", "SVR"])
def test_the_shipped_policy_takes_a_blind_study_of_classes_or_numbers_and_says_who_could_undo_it(judged, learner):
    job = study(SCALE, {"use": learner, "features": "exact", "loss": "hinge"}, terms=COLUMNS)
    assert protocols_of(job) == ("prepare_columns", "gram_blind")
    assert judged(job).verdict == "accept"
    assert "gram.matrix" not in job.disclosure
    assert ("/agree_on_numbers/TargetRange: " in job.disclosure) == (learner == "SVR")
    (said,) = concerns(job)
    assert said.startswith("nobody can work out records of others without clearing, which deals the random numbers,")


@pytest.mark.parametrize(("learner", "instead"), [("SVC", "SVC()"), ("SVR", "SVR()")])
def test_who_proposes_or_agrees_to_a_blind_study_of_many_records_reads_what_it_costs_and_a_way_out(learner, instead):
    def said_of(rows):
        terms = {**COLUMNS, "rows": dict.fromkeys(GIVEN["parties"], rows)}
        return concerns(study({"use": learner, "features": "exact", "loss": "hinge"}, terms=terms))[1:]

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
    job = study({**SCALE, "method": "minmax", "ranges": ranges}, {"use": "SVC"}, terms=terms)
    assert protocols_of(job)[0] == "prepare_columns"


def test_answers_of_a_study_over_columns_are_the_labellers():
    with pytest.raises(LocalError, match="only the labeller gets the answers of a model: leave asker out"):
        study(SCALE, GRAM, terms={**COLUMNS, "asker": "south"})


def test_a_step_is_judged_by_the_rules_of_its_own_protocol(judged):
    refused = judged(study(SCALE, {**PAN, "features": 60}))
    assert (refused.verdict, refused.rule) == ("refuse", "parameters")
    assert "parameters.features = auto or 50 or 100" in refused.reason
    refused = judged(study(SCALE, PAN), ('"prepare_columns", ', ""))
    assert refused.reason.endswith("the job has 'prepare_columns': propose one of those, or ask that party")


def test_a_site_that_shows_counts_of_its_own_has_to_allow_it(judged):
    shown = study(SCALE, PAN, evaluate={"by": "site"})
    refused = judged(shown, ("by_site = [false, true]", "by_site = [false]"))
    assert (refused.verdict, refused.rule) == ("refuse", "parameters")
    assert "by_site" in refused.reason


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
        ((SCALE, {"use": "SVR", "partition": "vertical"}), "SVR has no parameter 'partition'"),
        ((), "a list of 1 to 50 steps"),
    ],
)
def test_a_bad_study_is_refused_where_it_is_proposed(steps, says):
    with pytest.raises(LocalError, match=says):
        study(*steps)


def test_what_follows_from_a_model_that_is_asked_needs_no_rule(monkeypatch):
    """Nobody chooses how many nodes a network has that is asked: the training was judged by that."""
    asking = Request("blind_predict", {"share": Left(Holder, "earlier.0", "share")}, {"nodes": 7, "C": 1.0})
    training = Request("train_elm", {"data": Records()}, {"n_hidden": 600})
    job = study(SCALE, PAN)
    monkeypatch.setattr(requests, "plan_of", lambda *_: SimpleNamespace(requests=(asking,)))
    assert requests_of(job) == (("blind_predict", {"C": 1.0}),)
    assert "nodes" not in values_of(requests_of(job)[0])
    monkeypatch.setattr(requests, "plan_of", lambda *_: SimpleNamespace(requests=(training,)))
    assert requests_of(job) == (("train_elm", {"n_hidden": 600}),)


LAST = {
    "svc": {"use": "SVC"},
    "hinge": {"use": "SVC", "loss": "hinge", "C": "auto"},
    "balanced": {"use": "SVC", "class_weight": "balanced", "probability": True},
    "numbers": {"use": "SVR"},
    "layer": {"use": "ELMClassifier"},
    "layer of numbers": {"use": "ELMRegressor"},
    "search": {"use": "FederatedGridSearch", "estimator": {"use": "SVC"}, "grid": {"alpha": [0.1, 0.3]}},
    "search of layers": {
        "use": "FederatedGridSearch",
        "estimator": {"use": "ELMClassifier"},
        "grid": {"n_hidden": [50, 100]},
    },
}


@pytest.mark.parametrize("evaluate", [{"by": "site"}, {"against": "alone"}, {"by": {"sex": ["f", "m"]}}])
def test_the_shipped_policy_takes_figures_of_sites_and_groups(judged, evaluate):
    assert judged(study({"use": "TableVectorizer"}, {"use": "SVC"}, evaluate=evaluate)).verdict == "accept"


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ({"use": "SVC", "gamma": 0.0101}, "train_svm is a step of the study, whose parameter 'gamma' is 0.0101"),
        ({"use": "SVC", "alpha": 0.1001}, "parameter 'alpha' is 0.1001"),
        ({"use": "SVC", "loss": "hinge", "C": 1.001}, "parameter 'C' is 1.001"),
        (
            {**LAST["search"], "grid": {"alpha": [0.1, 0.1001]}},
            "search_machine is a step .* parameter 'settings",
        ),
        (
            {**LAST["search"], "grid": {"gamma": [0.1, 0.1001]}},
            "search_machine is a step .* parameter 'settings",
        ),
    ],
)
def test_models_that_hardly_differ_are_on_no_menu_and_no_search_goes_around_it(judged, last, said):
    """Neither where a study is proposed, nor at a site that hears one from somebody who does not check."""
    with pytest.raises(LocalError, match=said):
        study(SCALE, last)
    allowed = study(SCALE, {"use": "SVC"})
    steps = plain("steps", (SCALE, last))
    heard = msgspec.structs.replace(allowed, params={**allowed.params, "steps": steps})
    refused = judged(heard)
    assert (refused.verdict, refused.rule) == ("refuse", "disclosure")
    assert re.search(f"cannot be rehearsed here: .*{said}", refused.reason)


CORE = {f"core.{name}" for name in (
    "balance", "classes", "columns", "description", "judgement", "landmarks", "model", "names", "scores", "sizes",
    "unlike",
)}  # fmt: skip
OF_STUDIES = {"run.present", "study.steps"}  # who is there, and what each step is


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
@pytest.mark.parametrize("last", LAST)
def test_the_shipped_policy_takes_every_study_of_the_core_all_of_which_reveal_fifteen_facts(judged, last, partition):
    terms = {"partition": partition} | ({} if partition == "horizontal" else {"labeller": "north", "aligned": True})
    job = study({"use": "TableVectorizer"}, LAST[last], evaluate={}, describe={}, terms=terms)
    assert judged(job).verdict == "accept"
    told = {name for facts in facts_by_role(job.disclosure).values() for name in list_told(facts)}
    assert told <= CORE | OF_STUDIES
    assert len(told) <= 15


@pytest.mark.parametrize(
    "change", [{"purpose": "marketing"}, {"coordinator": "another"}, {"dataset": "elsewhere"}, {"retention_days": 3000}]
)
def test_what_the_letter_of_a_job_says_is_judged_before_anything_is_rehearsed(judged, monkeypatch, change):
    job = study(SCALE, LAST["search"], terms=change)
    monkeypatch.setattr(rehearsal, "_plan", pytest.fail)
    narrow = 'coordinators = ["clearing"]\npurposes = ["readmission"]\nmaximum_retention_days'
    decision = judged(job, ("maximum_retention_days", narrow))
    assert (decision.verdict, decision.rehearsed) == ("refuse", False)


GAMMAS = [10.0**k for k in range(-6, 7)]
COEFS = [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 0.1, 0.3, 1000.0]


def test_a_rehearsal_plays_as_many_steps_for_a_thousand_settings_as_for_two():
    played = []
    for n in (1, 10):
        grid = {"gamma": GAMMAS[:n], "alpha": GAMMAS[:n], "coef0": COEFS[:n]}
        job = study(SCALE, {**LAST["search"], "grid": grid})
        played.append(len(rehearsal.plan_of(job.protocol, job.arguments, job.roster).ledger))
    assert played[1] < 2 * played[0]


def test_a_study_is_rehearsed_once_whatever_the_order_of_its_parameters():
    rehearsal._plan.cache_clear()
    one = study({**PAN, "loss": "hinge"})
    other = study({"loss": "hinge", **PAN})
    assert rehearsal._plan.cache_info().misses == 1
    assert one.disclosure == other.disclosure


def test_a_proposal_of_a_whole_study_is_one_screen():
    kinds = {"pain": [1, 2, 3, 4], "ecg": [0, 1, 2], "thal": [3, 6, 7]}
    steps = (
        {"use": "FederatedImputer", "categories": kinds, "strategy": {"pain": "most_frequent"}},
        {"use": "FederatedEncoder", "categories": kinds},
        SCALE,
        {**LAST["search"], "estimator": {"use": "SVC", "probability": True}},
    )
    rows = dict.fromkeys(GIVEN["parties"], 300)
    job = study(*steps, evaluate={"by": "site"}, terms={"partition": "horizontal", "rows": rows})
    brought = Brought(columns=("age", "pain"), rows=240, studies=3, most=20)
    page = read(job, brought)
    assert len(page.split()) <= 350
    assert "17 of 20" in page
    assert "240 records of 2 columns of cohort" in page
    assert UNREVIEWED in page
    assert len(page.splitlines()) <= 50


def read(job, brought=None):
    """The first page of a proposal, as north reads it."""
    points = brief(Pending(job, (), (), 2, "waiting", brought), "north")
    return "\n".join(line for point in points for line in (point.heading, *point.lines))


def read_details(job):
    sections = in_sections(Pending(job, (), (), 2, "waiting"), "north")
    return "\n".join(f"{name}: {text}" for _, lines in sections for name, text in lines)


PRIVATE = {"use": "SVC", "epsilon": 2.0, "classes": (0, 1)}
CHECKED = {"evaluate": {}, "release": {}}


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ((SCALE, PAN), CHECKED),
        ((SCALE, {"use": "SVC", "probability": True, "class_weight": "balanced"}), {"describe": {}, **CHECKED}),
        ((PRIVATE,), {}),
        (({"use": "SVR"},), {"evaluate": {}}),
        ((GRAM,), {"evaluate": {}}),
    ],
)
def test_a_first_page_is_short_and_neither_it_nor_its_details_speak_in_conditions(steps, more):
    job = study(*steps, **more)
    page = read(job)
    assert len(page.split()) <= 350
    for text in (page, read_details(job)):
        assert not re.search(r"\bwith \w+=|\bif \w+ is\b|\bin a regression\b", text)


def test_words_about_parameters_are_those_of_the_proposal():
    plain, balanced = study(PAN), study({**PAN, "class_weight": "balanced", "probability": True, "alpha": 1.0})
    assert "which of a few alpha was the best" in read(plain)
    assert "which of a few alpha was the best" not in read(balanced)
    assert "rounded averages of decision values" in read(balanced)
    assert "the weight of each class" in read(balanced)
    assert "the weight of each class" not in read(plain)
    assert "middle and spread of the targets" in read(study({"use": "SVR"}))


def test_privacy_and_release_are_answered_with_yes_or_no():
    plain, private = (
        {point.heading: point.lines for point in brief(Pending(job, (), (), 2, "waiting"), "north")}
        for job in (study(SCALE, PAN, **CHECKED), study(PRIVATE))
    )
    assert plain["Differential privacy"] == ("No.",)
    assert plain["Release check"][0].startswith("Yes")
    assert plain["Can a person be identified?"][0].startswith("By the messages: no, unless clearing")
    assert private["Differential privacy"][0] == "Yes: epsilon 2 at delta 1e-05."
    assert private["Release check"] == ("No: analyst leaves it out.",)


def test_every_condition_of_a_fact_names_a_parameter_that_jobs_have():
    asked = {name for fact in known_facts("tacit") for name in re.findall(r"\bwith (\w+)=", fact.prose + fact.brief)}
    assert asked
    assert asked <= {"class_weight", *(name for protocol in PROTOCOLS for name in takes(protocol))}
