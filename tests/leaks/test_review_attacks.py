"""Attacks of a security review of 0.2.0 (H1 to H16), on what runs now: which test plays each, and those not elsewhere.

Not closed: of H10 a party that brings made-up records, or alters later messages, and of H11 as many labels as questions
are allowed (docs/threat-model.md).
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from test_edition_leaks import TERMS
from test_histories import SITES, Cohort, play

import tacit
from tacit.choreo import Asker, Holder
from tacit.consortium.consent.decision import Case, decide
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.grounds import Grounds
from tacit.consortium.jobs.preflight import local_checks
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.settings import Dataset
from tacit.consortium.site.tables import Tables
from tacit.errors import LocalError
from tacit.protocols.blind import training
from tacit.protocols.classes import name_classes

TESTS = Path(__file__).parents[1]
PLAYED = {
    "the label selects rows": (
        "leaks/test_edition_leaks.py::test_without_the_rule_one_model_of_a_class_of_one_is_its_record_and_with_it_no_model_knows_the_class",
        "leaks/test_edition_leaks.py::test_however_many_label_columns_there_are_no_jobs_on_them_tell_a_few_persons_apart",
        "leaks/test_edition_leaks.py::test_a_target_that_one_person_has_does_not_give_the_record",
    ),
    "H1": ("leaks/test_review_attacks.py::test_no_job_chooses_who_is_held_out",),
    "H2": (
        "leaks/test_prepare_leaks.py::test_a_lone_record_is_not_the_difference_of_two_fits",
        "leaks/test_edition_leaks.py::test_a_class_of_one_at_a_site_is_named_by_nobody_and_learnt_by_nothing",
    ),
    "H3": ("leaks/test_review_attacks.py::test_the_same_records_take_part_in_every_step",),
    "H4": (
        "leaks/test_prepare_leaks.py::test_an_indicator_that_few_people_have_is_constant_in_every_figure",
        "leaks/test_edition_leaks.py::test_a_column_that_one_person_has_is_constant_in_what_a_site_brings",
        "leaks/test_review_attacks.py::test_nothing_of_second_order_is_opened_but_noisy_sums_for_landmarks",
    ),
    "H5": (
        "leaks/test_prepare_leaks.py::test_no_bound_of_a_job_says_whether_somebody_is_beyond_it",
        "unit/estimators/test_blind_regression.py::test_targets_beyond_a_declared_range_are_cut_and_stop_nothing",
        "leaks/test_review_attacks.py::test_a_job_repeats_the_range_and_the_classes_that_a_site_declares",
    ),
    "H6": ("leaks/test_review_attacks.py::test_nothing_of_second_order_is_opened_but_noisy_sums_for_landmarks",),
    "H7": (
        "unit/consortium/test_editions.py::test_a_corrected_value_makes_another_person_and_a_column_more_makes_none",
        "leaks/test_review_attacks.py::test_by_rows_a_dataset_without_ids_is_refused",
    ),
    "H8": (
        "leaks/test_review_attacks.py::test_no_label_moves_anybody_into_another_part",
        "leaks/test_review_attacks.py::test_with_epsilon_no_class_is_named_and_no_sum_lacks_the_noise_of_a_site",
        "leaks/test_private_audit.py::test_a_record_changes_no_sum_by_more_than_noise_is_made_for_and_no_other_row_at_all",
        "unit/estimators/test_svc_epsilon.py::test_records_with_gaps_are_blank_and_not_refused",
    ),
    "H9": ("leaks/test_prepare_leaks.py::test_the_dealer_announces_nothing_that_others_believe",),
    "H10": (
        "leaks/test_poisoning.py::test_without_bounds_one_party_of_three_turns_the_public_model",
        "leaks/test_poisoning.py::test_with_bounds_it_is_named_before_anything_of_the_model_is_revealed",
        "unit/study/test_gate.py::test_a_site_keeps_a_model_that_is_wrong_on_its_own_records",
    ),
    "H11": (
        "unit/consortium/test_questions.py::test_few_new_records_may_be_asked_about_until_the_quota_is_used_up",
        "leaks/test_review_attacks.py::test_an_asker_that_alters_its_share_reads_a_label_by_each_question_that_the_quota_allows",
    ),
    "H12": (
        "unit/consortium/test_study_jobs.py::test_what_the_letter_of_a_job_says_is_judged_before_anything_is_rehearsed",
        "unit/consortium/test_study_jobs.py::test_a_rehearsal_plays_as_many_steps_for_a_thousand_settings_as_for_two",
        "unit/consortium/test_asked.py::test_a_job_that_was_refused_after_a_rehearsal_counts_too",
    ),
    "H13": (
        "unit/consortium/test_study_jobs.py::test_a_bad_study_is_refused_where_it_is_proposed",
        "unit/consortium/test_hostile_jobs.py::test_whatever_stands_in_its_fields_a_letter_is_a_job_or_the_peers_fault",
    ),
    "H14": ("leaks/test_prepare_leaks.py::test_extremes_cannot_be_asked_for_by_quantiles",),
    "H15": ("leaks/test_prepare_leaks.py::test_counts_of_single_ages_cannot_be_read",),
    "H16": (
        "unit/page/test_page_deciding.py::test_who_has_a_passphrase_of_their_own_gets_no_more_guesses_at_another",
        "unit/page/test_page_deciding.py::test_hosts_of_one_network_of_version_6_are_one_address",
    ),
}
STUDY: dict[str, Any] = {"steps": ({"use": "SVC", "alpha": 1.0},), "seed": 1}


@pytest.mark.parametrize("attack", PLAYED)
def test_every_attack_of_the_review_is_played_by_a_test_that_there_is(attack):
    for name in PLAYED[attack]:
        file, _, test = name.partition("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, name


@pytest.fixture
def tables(tmp_path: Path) -> Any:
    """Return a function that makes the tables of a site with one dataset of 300 records."""

    def make(y: Any, folder: str = "state", **declared: Any) -> Tables:
        cells = np.random.default_rng(0).normal(size=(300, 2))
        rows = np.column_stack([np.arange(1, 301), cells, y])
        np.savetxt(tmp_path / "a.csv", rows, delimiter=",", header="id,age,dose,ill", comments="", fmt="%.17g")
        own = Dataset(**{"path": tmp_path / "a.csv", "label": "ill", "id": "id", **declared})
        return Tables("north", tmp_path / folder, {"a": own})

    return make


def part_of_job(made: Tables, *, held_out: bool = False, **params: Any) -> Any:
    part = made.part(propose("study", {**STUDY, **params}, dataset="a", **TERMS), held_out=held_out)
    assert part is not None
    return part


# H1


def test_no_job_chooses_who_is_held_out(tables):
    made = tables(np.arange(300) % 2)
    learnt = [part_of_job(made, seed=seed).X for seed in (1, 2, 3)]
    assert all(np.array_equal(each, learnt[0]) for each in learnt)
    assert 0.7 < len(learnt[0]) / 300 < 0.9
    judged = part_of_job(made, held_out=True).X
    assert len(judged) + len(learnt[0]) == 300
    for name in ("holdout", "test_size", "random_state", "folds"):
        with pytest.raises(LocalError):
            propose("study", {**STUDY, name: 0.25}, dataset="a", **TERMS)


# H3, H4, H6: what is opened


def played(tmp_path: Path, *steps: Any) -> Any:
    rng = np.random.default_rng(3)
    return play({site: Cohort(tmp_path / site, rng).parts() for site in SITES}, steps, (0, 1))


def test_the_same_records_take_part_in_every_step(tmp_path):
    outcome = played(tmp_path, {"use": "FederatedScaler"}, {"use": "ELMClassifier", "n_hidden": 4, "alpha": 0.1})
    ended = [each.values for each in outcome.result["ended"]]
    records = {each["records"] if isinstance(each, dict) else each.records for each in ended[:2]}
    assert len(records) == 1


def test_nothing_of_second_order_is_opened_but_noisy_sums_for_landmarks(tmp_path):
    """The review read records off H'H of layers, and off sums of groups: both stay in shares, however it is scaled."""
    steps = {"use": "FederatedScaler"}, {"use": "ELMClassifier", "n_hidden": 20, "scale": 0.001, "alpha": 0.1}
    rows = played(tmp_path, *steps).ledger.rows
    told = {fact.identifier for row in rows if "train_elm" in row.place for fact in row.tells}
    told = {name for name in told if not name.startswith(("keys.", "coin.", "shares.", "run."))}
    assert told == {"core.sizes", "core.model", "core.classes"}
    opened = [row for row in rows if any(fact.identifier == "core.model" for fact in row.tells)]
    assert max(int(np.prod(shape)) for row in opened for shape in row.shapes) <= 22


# H5


def test_a_job_repeats_the_range_and_the_classes_that_a_site_declares(tables):
    y = np.random.default_rng(1).normal(size=300)

    def problems(declared: Dataset | None, now: Any = TERMS["now"], **step: Any) -> set[str]:
        job = propose("study", {**STUDY, "steps": (step,)}, dataset="a", **TERMS)
        found = local_checks(job, part_of_job(tables(y)), now, party="north", declared=declared)
        return {each.code for each in found} & {"bounds", "schema"}

    bare = Dataset(path=Path("a.csv"), label="ill", id="id")
    ranged = declare(bare, ranges={"ill": (-3.0, 3.0)})
    asked = {"use": "SVR", "alpha": 1.0}
    assert problems(bare, **asked) == set()
    for low in np.linspace(-3, 3, 5):  # whatever lies beyond
        assert problems(bare, **asked, target_range=(float(low), 4.0)) == {"bounds"}
        assert problems(ranged, **asked, target_range=(float(low), 4.0)) == {"bounds"}
    assert problems(ranged, **asked, target_range=(-3.0, 3.0)) == set()
    named = declare(bare, classes=(0, 1, 2))
    assert "schema" in problems(named, use="SVC", classes=(0, 1))


def declare(dataset: Dataset, **changes: Any) -> Dataset:
    """Return a dataset that declares more."""
    return Dataset(**{name: getattr(dataset, name) for name in dataset.__struct_fields__} | changes)


# H7, H8


def test_by_rows_a_dataset_without_ids_is_refused(tables):
    made = tables(np.arange(300) % 2, id=None, drop=("id",))
    job = propose("study", STUDY, dataset="a", **TERMS)
    holdings = made.holdings(job, Grounds())
    policy = Policy(protocols="any", columns={"a": "all"}, automatic=True)
    decision = decide(Case(job, policy, holdings, made.register, "north", TERMS["now"]))
    assert decision.rule == "ids"


def test_no_label_moves_anybody_into_another_part(tables):
    y = np.arange(300) % 2
    other = y.copy()
    other[5] = 1 - other[5]
    before, after = (part_of_job(tables(each, "same")) for each in (y, other))
    assert abs(len(before.X) - len(after.X)) <= 5  # whom the correction of one person makes wait
    known = {row.tobytes() for row in part_of_job(tables(y, "same"), held_out=True).X}
    assert not any(row.tobytes() in known for row in after.X)


def test_with_epsilon_no_class_is_named_and_no_sum_lacks_the_noise_of_a_site(tmp_path):
    step = {"use": "SVC", "epsilon": 1.0, "delta": 1e-5, "features": 5, "classes": (0, 1)}
    rows = played(tmp_path, step).ledger.rows
    assert "core.classes" not in {fact.identifier for row in rows for fact in row.tells}
    senders: dict[str, set[str]] = {}
    for row in rows:
        if row.type == "Masked":
            senders.setdefault(row.place, set()).add(row.sender)
    assert len(senders) > 5
    assert all(each == set(SITES) for each in senders.values())
    with pytest.raises(LocalError, match=r"secure_sum|method"):
        propose("study", {**STUDY, "steps": ({**step, "secure_sum": "threshold"},)}, dataset="a", **TERMS)


# H11


def read_coefficients(records: list[int]) -> Any:
    """Return what an asker adds to an answer by adding 1 to its share of K(z, x_i), for some i, and their labels."""
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:60, :6]
    fed = tacit.simulate(X, y[:60], parties=3, partition="vertical")
    model = tacit.SVC(features="exact", loss="hinge", gamma=0.2, random_state=0).fit(fed)
    asked = tacit.simulate(X[:1], parties=3, partition="vertical")
    multiply, asker = training.multiply_matrices, fed.roster[Asker][0]

    def ask(record: int | None) -> float:
        def alter(share: Any, me: str) -> Any:
            changed = share.copy()
            if me == asker and record is not None:
                changed[record] += np.uint64(1 << training.ROW_BITS)
            return changed

        def lie(run: Any, dealing: Any, K: Any, *rest: Any) -> Any:
            return multiply(run, dealing, run.local(Holder, alter, K, run.who(Holder)), *rest)

        with patch.object(training, "multiply_matrices", lie):
            return float(np.ravel(model.decision_function(asked))[0])

    honest = ask(None)
    return np.array([ask(record) - honest for record in records]), 2 * y[records] - 1


def test_an_asker_that_alters_its_share_reads_a_label_by_each_question_that_the_quota_allows():
    """NOT protected: whoever has columns of a record may also claim any factor of the kernel for each training record.

    So a check of shares would not help. A site's quota of new records, `predictions`, is all that limits it.
    """
    added, signs = read_coefficients([*range(0, 60, 5)])
    support = np.abs(added) > 0.05
    assert support.sum() > 3
    np.testing.assert_array_equal(np.sign(added[support]), signs[support])


# Methods of papers


def test_papers_find_no_label_that_a_site_hides(tables):
    y = np.where(np.arange(300) == 17, 3, np.arange(300) % 2)
    names = name_classes(part_of_job(tables(y, judge=0.0))).names
    assert set(names) == {0, 1}
