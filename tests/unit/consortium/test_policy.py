from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tacit.choreo import fact
from tacit.choreo.ledger import read_template
from tacit.consortium.consent import decision as rules
from tacit.consortium.consent.decision import Holdings, disclosure_digest, told_to
from tacit.consortium.consent.policy import Policy
from tacit.consortium.consent.register import Register
from tacit.consortium.jobs.job import Protection
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.example_files import example_policy
from tacit.errors import LocalError
from tacit.federation.part import part_of
from tacit.protocols.table_facts import CLASS_NAMES, EVERY_LABEL

LEDGERS = Path(__file__).parents[2] / "ledgers"
NOW = datetime(2030, 1, 1, tzinfo=UTC)
KERNEL = {"kernel": "linear", "gamma": 1.0, "degree": 3, "coef0": 0.0, "C": 1.0}


@lru_cache
def proposed():
    return propose(
        "gram_vertical",
        KERNEL,
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


def decide(*known, **more):
    return rules.decide(rules.Case(*known, **more))


def job(**changes):
    return msgspec.structs.replace(proposed(), **changes)


@pytest.fixture
def register(tmp_path):
    return Register(tmp_path / "state")


def facts_of(register, n=60):
    part = part_of(np.arange(2.0 * n).reshape(n, 2), None, None, ("age", "bmi"))
    return Holdings(part.features, register.rows_of(part))


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
        ({}, 'protocols = ["elm_vertical"]', "protocols", "protocols = elm_vertical; the job has 'gram_vertical'"),
        ({}, 'submitters = ["dr-who"]', "submitters", "submitters = dr-who; the job has 'analyst'"),
        ({}, 'coordinators = ["other"]', "coordinators", "coordinators = other; the job has 'clearing'"),
        ({}, 'purposes = ["billing"]', "purposes", "purposes = billing; the job has 'readmission'"),
        ({}, "legal_bases = []", "legal_bases", "legal_bases = nothing; the job has 'consent'"),
        ({}, 'secure_sums = ["ring"]', "secure_sums", "secure_sums = ring; the job has 'pairwise'"),
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
        (
            {"protection": Protection(method="ring", segments=9)},
            'other_parameters = "any"',
            "disclosure",
            "cannot be rehearsed here: 4 parties on the ring have",
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
    ("params", "least", "words"),
    [
        (
            {"min_cluster": 4},
            5,
            "policy north.toml: parameters.min_cluster = at least 5, the job has 4: propose it within that",
        ),
        ({"min_count": 1}, 5, "parameters.min_count = at least 5, the job has 1"),
        ({}, 9, "parameters.min_count = at least 9, the job has 'auto'"),
    ],
)
def test_landmarks_and_sums_of_too_few_records_are_refused(tmp_path, register, params, least, words):
    path = tmp_path / "north.toml"
    path.write_text(
        example_policy(automatic=True).replace("min_count = {least = 5}", f"min_count = {{least = {least}}}")
    )
    pan = {"kernel": "rbf", "gamma": 0.1, "degree": 3, "coef0": 0.0, "C": 1.0, **params}
    asked = job(protocol="pan_svm", params=pan, partition="horizontal")
    decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert (decision.verdict, decision.rule) == ("refuse", "parameters")
    assert words in decision.reason


@pytest.mark.parametrize(
    ("changes", "listed", "words"),
    [
        (
            {"C": 1e7},
            "",
            "parameters.C = at least 0.0001 and at most 1e+06, the job has 10000000.0: propose it within that",
        ),
        ({"kernel": "sigmoid"}, "", "parameters.kernel = linear or rbf or poly, the job has 'sigmoid'"),
        ({"gamma": "auto"}, "gamma = {least = 0.1}", "parameters.gamma = at least 0.1, the job has 'auto'"),
        (
            {"class_weight": {"pairs": [[0, 1.0], [1, 5000.0]]}},
            "",
            "parameters.class_weight = at least 0 and at most 1000 or none or balanced",
        ),
        (
            {"max_iter": 7},
            "max_iter = ",
            "parameters does not list max_iter, and other_parameters = default; the job has 7: leave it out",
        ),
        ({"probability": True}, "probability = [false]", "parameters.probability = False, the job has True"),
        ({"degree": 3}, "degree = [4, 5]", "parameters.degree = 4 or 5, the job has 3"),
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
    decision = decide(job(params={**KERNEL, **changes}), policy, facts, register, party="north", now=NOW)
    assert (decision.verdict, decision.rule) == ("refuse", "parameters")
    assert words in decision.reason
    loose = msgspec.structs.replace(policy, parameters={}, other_parameters="any")
    assert (
        decide(job(params={**KERNEL, **changes}), loose, facts, register, party="north", now=NOW).rule != "parameters"
    )


def test_every_candidate_of_a_search_is_bounded_as_the_parameter_is(tmp_path, register):
    path = tmp_path / "north.toml"
    path.write_text(example_policy(automatic=True))
    decisions = [
        decide(
            job(protocol="gram_search", params={**KERNEL, "candidates": [{"pairs": [["C", C]]}] * n}),
            Policy.from_toml(path),
            facts_of(register),
            register,
            party="north",
            now=NOW,
        )
        for C, n in ((10.0, 3), (1e8, 1), (1.0, 300))
    ]
    reasons = [[p.reason for p in decision.problems if p.rule == "parameters"] for decision in decisions]
    assert reasons[0] == []
    assert "parameters.C" in reasons[1][0]
    assert "parameters.candidates = at most 200" in reasons[2][0]


def test_the_least_sizes_hold_in_a_policy_that_does_not_list_them(tmp_path, register):
    path = tmp_path / "north.toml"
    path.write_text('protocols = "any"\nautomatic = true\n[columns]\ncohort = "all"\n')
    asked = job(protocol="pan_svm", params={**KERNEL, "min_count": 4}, partition="horizontal")
    decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert "parameters.min_count = at least 5, the job has 4" in decision.reason


def test_the_digest_of_a_disclosure_covers_what_decides_what_is_opened():
    columns = {**dict.fromkeys(("north", "south", "east"), "all"), "north": ("age",)}
    others = [
        job(params={**KERNEL, "C": 2.0}),
        job(columns=columns),
        job(protection=Protection(fraction_bits=30)),
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
    asked = job(protocol="pan_svm", partition="horizontal", rows=rows)
    decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert decision.reason.startswith(
        "policy north.toml: minimum_parties = 3, the job has 2: propose it with more parties that bring as many rows"
    )


def test_a_dataset_without_columns_brings_nothing(judge, register):
    empty = Holdings((), register.rows_of(part_of(np.ones((60, 1)), None, None, ("x",))))
    assert "has no column to bring" in judge(facts=empty).reason


def test_what_the_coordinator_alone_could_work_out_of_own_columns_is_refused_unless_job_and_policy_accept_it(
    tmp_path, register
):
    path = tmp_path / "north.toml"
    facts = Holdings(("age",), register.rows_of(part_of(np.arange(60.0)[:, None], None, None, ("age",))))
    found = []
    for says, allows in ((False, False), (False, True), (True, False), (True, True)):
        text = example_policy(automatic=True).replace("accept_risk = false", f"accept_risk = {str(allows).lower()}")
        path.write_text(text.replace('"gram_vertical"', '"gram_arbitrary"', 1).replace('"default"', '"any"'))
        asked = job(
            protocol="gram_arbitrary",
            params={**KERNEL, "partition": "horizontal"},
            partition="horizontal",
            accept_risk=says,
        )
        found.append(decide(asked, Policy.from_toml(path), facts, register, party="north", now=NOW).rule)
    assert found[:3] == ["accept_risk"] * 3
    assert found[3] != "accept_risk"


@pytest.mark.parametrize(
    ("protocol", "params"),
    [
        (
            "elm_horizontal",
            {"classify": True, "activation": "tanh", "n_hidden": 40, "scale": 1.0, "ridge": "gcv", "accept_risk": True},
        ),
        (
            "gram_arbitrary",
            {
                "kernel": "rbf",
                "gamma": 0.1,
                "degree": 3,
                "coef0": 0.0,
                "C": 1.0,
                "partition": "horizontal",
                "how": "intersection",
            },
        ),
    ],
)
def test_a_job_that_accepts_a_risk_is_refused_unless_the_policy_does(tmp_path, register, protocol, params):
    path = tmp_path / "north.toml"
    asked = job(protocol=protocol, params=params, partition="horizontal")
    verdicts = {}
    for said in ("false", "true"):
        policy = example_policy(automatic=True).replace("accept_risk = false", f"accept_risk = {said}")
        path.write_text(policy.replace('"gram_vertical"', '"gram_vertical", "gram_arbitrary"', 1))
        decision = decide(asked, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
        verdicts[said] = decision.rule
    assert verdicts["false"] == "accept_risk"
    assert verdicts["true"] != "accept_risk"


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
        ("coordinator", "label", "tables.every_label (every label)"),
        ("coordinator", "label:record", "tables.every_label (every label)"),
        ("coordinator", "tables.every_label", "tables.every_label (every label)"),
        ("anyone", "record:record", "gram.matrix (the gram matrix, which is every record up to one unknown rotation)"),
        ("holder", "membership", "gram.support (which records are support vectors)"),
    ],
)
def test_a_fact_that_may_never_be_opened_refuses_the_job(tmp_path, register, reader, word, opened):
    decision = decide(job(), never(tmp_path, reader, word), facts_of(register), register, party="north", now=NOW)
    assert (decision.verdict, decision.rule) == ("refuse", "never")
    assert (
        decision.reason
        == f"policy north.toml: never.{reader} has {word!r}, and the job opens {opened}: use another protocol"
    )


@pytest.mark.parametrize("word", ["label:party", "record:cell", "aggregate:column", "shift.collected", "sums.veiled"])
def test_a_fact_that_the_job_does_not_open_refuses_nothing(tmp_path, register, word):
    decision = decide(job(), never(tmp_path, "anyone", word), facts_of(register), register, party="north", now=NOW)
    assert decision.verdict == "accept"


def test_better_prose_leaves_who_may_learn_what_as_it_is(tmp_path, register, monkeypatch):
    """A policy that searches prose lets a job pass as soon as a sentence is written differently."""
    monkeypatch.setitem(
        fact._declared, EVERY_LABEL.identifier, (replace(EVERY_LABEL, prose="the class of each row"), "here")
    )
    decision = decide(
        job(), never(tmp_path, "coordinator", "label:record"), facts_of(register), register, party="north", now=NOW
    )
    assert decision.reason.endswith("the job opens tables.every_label (the class of each row): use another protocol")


# what asker = ["every record"] of the example policy of 0.1.0 refused, of all that the conformance cases open
REFUSED_BY_PHRASE = (
    "consensus_vertical_3_classes",
    "consensus_vertical_admm",
    "consensus_vertical_admm_probability",
    "consensus_vertical_admm_rbf_3_classes",
    "consensus_vertical_linear",
    "consensus_vertical_probability_3_classes",
    "consensus_vertical_rbf_ring",
)


@pytest.mark.parametrize("name", REFUSED_BY_PHRASE)
def test_the_example_policy_refuses_what_its_phrase_refused(tmp_path, register, name):
    path = tmp_path / "north.toml"
    path.write_text(example_policy(automatic=True))
    proposal = job(disclosure=(LEDGERS / f"{name}.txt").read_text())
    decision = decide(proposal, Policy.from_toml(path), facts_of(register), register, party="north", now=NOW)
    assert (decision.verdict, decision.rule) == ("refuse", "never")


def test_what_is_told_to_everyone_is_told_to_each_reader():
    lines = read_template(job().disclosure)
    for reader in ("coordinator", "holder", "asker", "labeller", "anyone"):
        assert CLASS_NAMES in told_to(lines, reader)
    assert EVERY_LABEL not in told_to(lines, "holder")


@pytest.mark.parametrize("disclosure", ["prose", "opens gram_vertical: coordinator", "a: b: c: d"])
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
    facts = facts_of(register)
    four = ("north", "south", "east", "west")
    earlier = job(id="a" * 32, parties=four, columns=dict.fromkeys(four, "all"), rows=dict.fromkeys(four))
    register.admit(earlier, ("age", "bmi"), "north", facts.rows, 50, NOW)
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
            "cv = {most = 10}",
            "folds = {most = 10}",
            "parameters has 'folds', which no protocol takes: use some of C, kernel",
        ),
        ("cv = {most = 10}", "cv = {top = 10}", "parameters.*unknown field top"),
        ("cv = {most = 10}", 'cv = {most = "many"}', "parameters.*Expected"),
        (
            "cv = {most = 10}",
            "cv = {least = 10, most = 2}",
            "parameters.cv has least = 10 above most = 2: exchange them",
        ),
        ("cv = {most = 10}", "cv = []", "parameters.*length >= 1"),
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
