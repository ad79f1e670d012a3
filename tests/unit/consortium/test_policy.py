from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec
import pytest
from editions_of import OWN, edition_of

from job_files import one_step, with_step
from tacit.choreo import fact
from tacit.choreo.declaration import plain
from tacit.choreo.ledger import read_template
from tacit.consortium.consent import decision as rules
from tacit.consortium.consent.decision import Holdings, disclosure_digest, told_to
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Limits, Register
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError
from tacit.page.this_site import TOGETHER, describe_policy
from tacit.protocols.facts import CLASSES, MODEL, SIZES

NOW = datetime(2030, 1, 1, tzinfo=UTC)
KERNEL = {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "alpha": 0.1, "features": 50}


@lru_cache
def proposed():
    return propose(
        "study",
        one_step("SVC", **KERNEL),
        partition="vertical",
        parties=("north", "south", "east"),
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose="readmission",
        legal_basis="consent",
        labeller="north",
        now=NOW,
    )


SEARCH = {"use": "FederatedGridSearch", "estimator": {"use": "SVC", "kernel": "linear"}}


def decide(*known, **more):
    return rules.decide(rules.Case(*known, **more))


def job(**changes):
    return msgspec.structs.replace(proposed(), **changes)


@pytest.fixture
def register(tmp_path):
    return Register(tmp_path / "state")


def facts_of(register, n=60):
    return Holdings(OWN, edition_of(register, n))


@pytest.fixture
def judge(tmp_path, register):
    def judge(proposal=None, extra="", n=60, facts=None, now=NOW, *, automatic=True, party="north"):
        path = tmp_path / "north.toml"
        text = example_policy(automatic=automatic)
        keys = {line.split(" = ")[0] for line in extra.splitlines() if " = " in line}
        start = "\n".join(line for line in text.splitlines() if line.split(" = ")[0] not in keys)
        path.write_text(extra + "\n" + start)
        facts = facts_of(register, n) if facts is None else facts
        return decide(proposal or job(), Policy.from_toml(path), facts or None, register, party=party, now=now)

    return judge


def test_a_job_that_meets_every_rule_is_accepted(judge):
    decision = judge()
    assert decision.verdict == "accept"
    assert decision.reason == "policy north.toml: automatic = true, and the job meets every rule"


def test_without_automatic_it_waits_for_the_named_people(judge):
    decision = judge(automatic=False)
    assert (decision.verdict, decision.rule) == ("wait", "automatic")
    assert decision.reason.endswith("2 of dr-lee, dpo must approve the job")


def test_a_disclosure_that_nobody_read_waits_and_an_approved_one_does_not(judge):
    waiting = judge(extra="disclosures = []")
    assert (waiting.verdict, waiting.rule) == ("wait", "disclosures")
    digest = disclosure_digest(job())
    assert digest in waiting.reason
    assert judge(extra=f'disclosures = ["{digest}"]').verdict == "accept"


def test_what_must_wait_where_nobody_may_approve_is_refused(judge):
    decision = judge(extra="disclosures = []\napprovers = []")
    assert (decision.verdict, decision.rule) == ("refuse", "disclosures")
    assert "names nobody who could approve" in decision.reason


@pytest.mark.parametrize(
    ("change", "extra", "rule", "words"),
    [
        (
            {},
            "minimum_parties = 4",
            "minimum_parties",
            (
                "policy north.toml: minimum_parties = 4, the job has 3: propose it with more parties that bring as many"
                " rows"
            ),
        ),
        (
            {"rows": {"north": 60, "south": 60, "east": 60}},
            "minimum_rows = 61",
            "minimum_rows",
            "minimum_rows = 61, the job has 60",
        ),
        (
            {},
            "minimum_rows = 61",
            "data",
            "the data of this site does not fit the job, or an earlier one on the same records",
        ),
        ({"retention_days": 366}, "", "maximum_retention_days", "maximum_retention_days = 365, the job has 366"),
        ({}, 'protocols = ["align"]', "protocols", "protocols = align; the job has 'train_svm'"),
        ({}, 'submitters = ["dr-who"]', "submitters", "submitters = dr-who; the job has 'analyst'"),
        ({}, 'coordinators = ["other"]', "coordinators", "coordinators = other; the job has 'clearing'"),
        ({}, 'purposes = ["billing"]', "purposes", "purposes = billing; the job has 'readmission'"),
        ({}, "legal_bases = []", "legal_bases", "legal_bases = nothing; the job has 'consent'"),
        (
            {"dataset": "payroll"},
            "",
            "columns",
            "columns offers cohort, the job wants the dataset 'payroll': correct its name",
        ),
        (
            {"columns": {"north": ("age", "salary"), "south": "all", "east": "all"}},
            "",
            "columns",
            "does not offer 'salary' of 'cohort'",
        ),
        ({"expires": NOW}, "", "expires", "the job expired at 2030-01-01 00:00 UTC: submit it again"),
        (
            {"disclosure": "opens nothing: everyone: nothing\n"},
            "",
            "disclosure",
            "the job's disclosure is not what its protocol opens here",
        ),
    ],
)
def test_a_refusal_names_the_rule(judge, change, extra, rule, words):
    decision = judge(job(**change), extra)
    assert (decision.verdict, decision.rule) == ("refuse", rule)
    assert words in decision.reason
    assert "\n" not in decision.reason


def test_a_dataset_that_the_policy_offers_and_the_site_has_not_is_named(judge):
    decision = judge(facts=False)
    assert (decision.verdict, decision.rule) == ("refuse", "columns")
    assert "this site runs without it: have it add [datasets.cohort], and start again" in decision.reason


@pytest.mark.parametrize(
    ("changes", "listed", "words"),
    [
        (
            {"loss": "hinge", "C": 1e4},
            "C = {most = 100}",
            "parameters.C = at most 100, the job has 10000.0: propose it within that",
        ),
        ({"kernel": "poly"}, 'kernel = ["linear", "rbf"]', "parameters.kernel = linear or rbf, the job has 'poly'"),
        ({"alpha": 30.0}, "", "parameters.alpha = auto or 0.001 or 0.003"),
        ({"features": 60}, "", "parameters.features = auto or 50 or 100"),
        ({"committee": "all"}, "", "parameters does not list committee"),
        ({"kernel": "rbf", "gamma": "auto"}, "gamma = {least = 0.1}", "gamma = at least 0.1, the job has 'auto'"),
        (
            {"class_weight": "balanced"},
            "balanced = ",
            "parameters does not list balanced, and other_parameters = default; the job has True: leave it out",
        ),
        ({"probability": True}, "probability = [false]", "parameters.probability = False, the job has True"),
        ({"kernel": "poly", "degree": 3}, "degree = [4, 5]", "parameters.degree = 4 or 5, the job has 3"),
    ],
)
def test_a_policy_bounds_every_parameter(tmp_path, register, changes, listed, words):
    path = tmp_path / "north.toml"
    name = listed.split(" = ")[0]
    changed = "" if listed.endswith(" = ") else listed
    lines = [
        changed if listed and line.startswith(f"{name} = ") else line
        for line in example_policy(automatic=True).splitlines()
    ]
    path.write_text("\n".join(lines))
    policy, facts = Policy.from_toml(path), facts_of(register)
    asked = job(params=with_step(proposed(), **changes))
    decision = decide(asked, policy, facts, register, party="north", now=NOW)
    assert (decision.verdict, decision.rule) == ("refuse", "parameters")
    assert words in decision.reason
    loose = msgspec.structs.replace(policy, parameters={}, other_parameters="any")
    assert decide(asked, loose, facts, register, party="north", now=NOW).rule != "parameters"


def test_every_candidate_of_a_search_is_bounded_as_the_parameter_is(tmp_path, register):
    path = tmp_path / "north.toml"
    path.write_text(example_policy(automatic=True))
    decisions = [
        decide(
            job(params={**proposed().params, "steps": plain("steps", (SEARCH | {"grid": {"alpha": (alpha,) * n}},))}),
            Policy.from_toml(path),
            facts_of(register),
            register,
            party="north",
            now=NOW,
        )
        for alpha, n in ((10.0, 3), (30.0, 1), (1.0, 300))
    ]
    reasons = [[p.reason for p in decision.problems if p.rule == "parameters"] for decision in decisions]
    assert reasons[0] == []
    assert "parameters.alpha" in reasons[1][0]
    assert "parameters.settings = at most 200" in reasons[2][0]


def test_the_least_sizes_hold_in_a_policy_that_does_not_list_them(tmp_path, register):
    path = tmp_path / "north.toml"
    path.write_text('protocols = "any"\nautomatic = true\n[columns]\ncohort = "all"\n')
    asked = job(protocol="align", params={"min_records": 4})
    decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert "parameters.min_records = at least 10, the job has 4" in decision.reason


def test_the_digest_of_a_disclosure_covers_what_decides_what_is_opened():
    columns = {**dict.fromkeys(("north", "south", "east"), "all"), "north": ("age",)}
    others = [
        job(params=with_step(proposed(), alpha=0.3)),
        job(columns=columns),
        job(partition="arbitrary", params={**proposed().params, "partition": "arbitrary"}),
        job(accept_risk=True),
        job(disclosure="x"),
    ]
    assert len({disclosure_digest(each) for each in (job(), *others)}) == len(others) + 1
    assert disclosure_digest(job(id="a" * 32, purpose="another", expires=NOW + timedelta(days=1))) == disclosure_digest(
        job()
    )


def test_by_rows_a_party_with_few_declared_rows_is_nobody_to_hide_among(tmp_path, register):
    path = tmp_path / "north.toml"
    path.write_text(example_policy(automatic=True))
    rows = {"north": 60, "south": 60, "east": 2}
    params = {**proposed().params, "partition": "horizontal"}
    asked = job(params=params, partition="horizontal", labeller=None, rows=rows)
    decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert decision.reason.startswith(
        "policy north.toml: minimum_parties = 3, the job has 2: propose it with more parties that bring as many rows"
    )


def test_a_dataset_without_columns_brings_nothing(judge, register):
    empty = Holdings((), edition_of(register))
    assert "has no column to bring" in judge(facts=empty).reason


@pytest.mark.parametrize("use", ["SVC", "PanSVC"])
def test_a_job_that_accepts_a_risk_is_refused_unless_the_policy_does(tmp_path, register, use):
    path, found, attacked = tmp_path / "north.toml", {}, use == "PanSVC"
    step = {"use": use, "kernel": "linear"} | ({"accept_risk": True} if attacked else {})
    params = {**proposed().params, "partition": "horizontal", "steps": plain("steps", (step,))}
    for says in (False, True):
        for allows in (False, True):
            text = example_policy(automatic=True).replace("accept_risk = false", f"accept_risk = {str(allows).lower()}")
            path.write_text(text.replace('"train_svm"', '"train_svm", "pan_svm"', 1))
            asked = job(params=params, partition="horizontal", labeller=None, accept_risk=says)
            decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
            found[says, allows] = decision.rule == "accept_risk"
    assert found == {(False, False): attacked, (False, True): attacked, (True, False): True, (True, True): False}


def test_columns_that_exist_and_are_not_offered_are_refused(tmp_path, register):
    path = tmp_path / "strict.toml"
    path.write_text(example_policy(automatic=True).replace('cohort = "all"', 'cohort = ["age"]'))
    decision = decide(job(), Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert decision.reason.startswith("policy strict.toml: columns does not offer 'bmi' of 'cohort'")


def test_every_problem_is_listed_and_the_first_decides(judge):
    decision = judge(job(retention_days=1000), 'minimum_parties = 9\npurposes = ["billing"]')
    assert [p.rule for p in decision.problems] == ["purposes", "minimum_parties", "maximum_retention_days"]
    assert decision.rule == "purposes"


@pytest.mark.parametrize(
    ("reader", "word", "opened"),
    [
        ("coordinator", "label", f"core.classes ({CLASSES.prose})"),
        ("coordinator", "label:party", f"core.classes ({CLASSES.prose})"),
        ("holder", "core.classes", f"core.classes ({CLASSES.prose})"),
        ("anyone", "model:all", f"core.model ({MODEL.prose})"),
        ("holder", "core.sizes", f"core.sizes ({SIZES.prose})"),
    ],
)
def test_a_fact_that_may_never_be_opened_refuses_the_job(tmp_path, register, reader, word, opened):
    decision = decide(job(), never(tmp_path, reader, word), facts_of(register), register, party="north", now=NOW)
    assert (decision.verdict, decision.rule) == ("refuse", "never")
    assert (
        decision.reason
        == f"policy north.toml: never.{reader} has {word!r}, and the job opens {opened}: use another protocol"
    )


@pytest.mark.parametrize("word", ["label:record", "record:cell", "record:record", "answer", "core.answers"])
def test_a_fact_that_the_job_does_not_open_refuses_nothing(tmp_path, register, word):
    decision = decide(job(), never(tmp_path, "anyone", word), facts_of(register), register, party="north", now=NOW)
    assert decision.verdict == "accept"


def test_better_prose_leaves_who_may_learn_what_as_it_is(tmp_path, register, monkeypatch):
    """A policy that searches prose lets a job pass as soon as a sentence is written differently."""
    monkeypatch.setitem(fact._declared, MODEL.identifier, (replace(MODEL, prose="what the model weighs"), "here"))
    decision = decide(
        job(), never(tmp_path, "coordinator", "model:all"), facts_of(register), register, party="north", now=NOW
    )
    assert decision.reason.endswith("the job opens core.model (what the model weighs): use another protocol")


def test_the_example_policy_refuses_what_shows_its_asker_records_or_labels(tmp_path, register, monkeypatch):
    path = tmp_path / "north.toml"
    path.write_text(example_policy(automatic=True))
    for word in ("record", "label:record"):
        kind, granularity = word.partition(":")[::2]
        monkeypatch.setitem(
            fact._declared, "test.shown", (fact.Fact("test.shown", "holders", kind, granularity or "record", "it"), "x")
        )
        proposal = job(disclosure="opens train_svm: asker: test.shown\n")
        decision = decide(proposal, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
        assert (decision.verdict, decision.rule) == ("refuse", "never")


def test_what_is_told_to_everyone_is_told_to_each_reader():
    lines = read_template(job().disclosure)
    for reader in ("coordinator", "holder", "asker", "labeller", "anyone"):
        assert {CLASSES, MODEL} <= set(told_to(lines, reader))
    assert not any(fact.kind == "record" for fact in told_to(lines, "anyone"))


@pytest.mark.parametrize("disclosure", ["prose", "opens train_svm: coordinator", "a: b: c: d"])
def test_a_disclosure_that_is_none_is_refused_in_one_line(judge, disclosure):
    decision = judge(job(disclosure=disclosure))
    assert (decision.verdict, decision.rule) == ("refuse", "disclosure")
    assert decision.reason == "line 1 of a disclosure is not 'place: roles: facts': take what tacit submit writes"


def never(folder, reader, word):
    path = folder / "north.toml"
    path.write_text(example_policy(automatic=True).split("[never]")[0] + f'[never]\n{reader} = ["{word}"]\n')
    return Policy.from_toml(path)


def test_a_job_for_others_is_refused(judge):
    decision = judge(party="west")
    assert decision.rule == "parties"
    assert "west is not one of them" in decision.reason


def test_a_dataset_that_is_not_there_is_refused_without_looking_at_data(judge):
    assert judge(facts=False).rule == "columns"


def test_a_job_too_close_to_an_earlier_one_is_refused_without_naming_it_to_others(judge, register):
    edition = edition_of(register)
    four = ("north", "south", "east", "west")
    earlier = job(id="a" * 32, parties=four, columns=dict.fromkeys(four, "all"), rows=dict.fromkeys(four))
    register.admit(earlier, OWN, "north", edition, Limits(20, {}), NOW)
    decision = judge()
    assert (decision.verdict, decision.rule) == ("refuse", "register")
    assert "differs from an earlier one by west only" in decision.reason
    assert earlier.id not in decision.reason
    assert earlier.id in decision.problems[0].detail


def test_no_figure_of_the_data_stands_in_a_refusal(judge):
    decision = judge(extra="minimum_rows = 500", n=77)
    assert "77" not in " ".join(p.reason for p in decision.problems)


def test_a_job_in_time_is_not_expired(judge):
    assert judge(job(expires=NOW + timedelta(seconds=1))).verdict == "accept"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "approvals_needed = 2",
            "approvals_needed = 3",
            "approvals_needed = 3 with 2 approvers.*at most as many as there are",
        ),
        ("approvals_needed = 2", "approvals_needed = 0", "approvals_needed = 0 with 2 approvers"),
        ('["dr-lee", "dpo"]', '["dr-lee", "dr-lee"]', "must be distinct names"),
        ('["dr-lee", "dpo"]', '["dr/lee", "dpo"]', "must be distinct names of letters"),
        ("asker = ", "everybody = ", "never names the reader 'everybody': use one of coordinator, holder"),
        (
            '"record", "label:record"',
            '"every record"',
            "never.asker has 'every record', which is a phrase, and facts are data now: write a kind",
        ),
        (
            '"label:record"',
            '"label:clear"',
            "never.asker has 'label:clear', which is no fact: write a kind .aggregate, .* of none, all",
        ),
        (
            '"label:record"',
            '"labels"',
            "never.asker has 'labels', which is no fact: .* or an identifier of docs/disclosures.md",
        ),
        ('"label:record"', '"gram.matrices"', "never.asker has 'gram.matrices', which is no fact"),
        ("minimum_rows", "min_rows", r"policy.toml: unknown key 'min_rows': known are protocols, .*minimum_rows"),
        ("minimum_rows = 50", "minimum_rows = 0", "minimum_rows: Expected int >= 1"),
        ("protocols =", "# protocols =", "'protocols' is missing"),
        (
            "[parameters]",
            "[least]",
            r"\[least\] is now \[parameters\]: write its line min_count = 5 as min_count = {least = 5}",
        ),
        (
            "bins = {most = 1000}",
            "cv = {most = 10}",
            "parameters has 'cv', which no protocol takes: use some of .*gamma",
        ),
        ("bins = {most = 1000}", "bins = {top = 10}", "parameters.*unknown field top"),
        ("bins = {most = 1000}", 'bins = {most = "many"}', "parameters.*Expected"),
        (
            "bins = {most = 1000}",
            "bins = {least = 10, most = 2}",
            "parameters.bins has least = 10 above most = 2: exchange them",
        ),
        ("bins = {most = 1000}", "bins = []", "parameters.*length >= 1"),
        (
            'kernel = ["linear", "rbf", "poly"]',
            'kernel = ["linear", "gauss"]',
            "parameters.kernel lists 'gauss', and it is one of linear",
        ),
        (
            'kernel = ["linear", "rbf", "poly"]',
            "kernel = {most = 3}",
            "parameters.kernel has bounds, and it is one of linear.*: list",
        ),
        ('other_parameters = "default"', 'other_parameters = "none"', "other_parameters: Invalid enum value 'none'"),
    ],
)
def test_a_bad_policy_is_refused_in_one_line(tmp_path, old, new, words):
    path = tmp_path / "policy.toml"
    assert old in example_policy()
    path.write_text(example_policy().replace(old, new))
    with pytest.raises(LocalError, match=words):
        Policy.from_toml(path)


def test_a_policy_in_words_leaves_no_key_of_its_file_out(tmp_path):
    path = tmp_path / "north.toml"
    budget = "[budget.cohort]\nepsilon = 1.25\n"
    path.write_text(f"{example_policy(automatic=True)}\n{budget}")
    policy = Policy.from_toml(path)
    said = dict(describe_policy(policy))
    for name in policy.__struct_fields__:
        shown = name.replace("_", " ")
        assert name in TOGETHER or shown in said or any(key.startswith(f"{shown}: ") for key in said), name
    assert said["budget: cohort"].startswith("epsilon 1.25, delta 1e-05")
    assert "membership auc 0.6" in said["release"]
