"""What runs on slices of the same records tell together: nothing about fewer records than the rule says."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import tacit
from tacit.errors import LocalError
from tacit.federation import memory as memories
from tacit.federation.deal import Deal
from tacit.federation.memory import Memory
from tacit.federation.part import part_of
from tacit.numeric.groups.atoms import make_groups

WDBC = StandardScaler().fit_transform(load_breast_cancer().data)
MALIGNANT = load_breast_cancer().target


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def single_out(sets: list[Any], rows: int, few: int) -> bool:
    """Whether some combination of sums over these sets of rows is about fewer than `few` rows."""
    M = np.array(sets, dtype=float)
    for start in range(rows):
        for end in range(start + 1, min(rows, start + few - 1) + 1):
            inside = np.zeros(rows, bool)
            inside[start:end] = True  # rows are in random order, so neighbours are any rows
            if np.linalg.matrix_rank(M) > np.linalg.matrix_rank(M[:, ~inside]):
                return True
    return False


def admitted(draw: np.random.Generator, rows: int, runs: int) -> list[Any]:
    """Return the sets of rows of those of many random runs that are not refused."""
    part = part_of(np.zeros((rows, 1)), None, None, ("x",))
    whole, sets = Memory(), []
    for _ in range(runs):
        use = draw.random(rows) < draw.choice([0.3, 0.6, 0.9])
        own = np.flatnonzero(use)
        slice_ = whole.take({"a": part}, {"a": own})
        try:
            slice_.admit({"a": dataclasses.replace(part, X=part.X[own])}, by_class=False)
        except LocalError:
            continue
        sets.append(use)
    return sets


def test_no_combination_of_runs_is_about_fewer_rows_than_the_floor(monkeypatch):
    monkeypatch.setattr(memories, "FLOOR", 2)
    seen = 0
    for seed in range(60):
        sets = admitted(np.random.default_rng(seed), 8, 12)
        seen = max(seen, len(sets))
        assert not sets or not single_out(sets, 8, 2)
    assert seen >= 2, "some runs are admitted beside others"


def test_without_the_rule_a_combination_is_about_one_row(monkeypatch):
    """The test above can fail."""
    monkeypatch.setattr(memories, "FLOOR", 1)
    assert any(single_out(admitted(np.random.default_rng(seed), 8, 12), 8, 2) for seed in range(20))


def test_a_sum_with_and_without_a_held_out_group_is_about_five_records_of_a_class_at_a_site_or_none():
    for seed in range(20):
        fed = tacit.simulate(WDBC[:150], MALIGNANT[:150], parties=3, split="dirichlet", alpha=0.2, seed=seed)
        learn, judge = tacit.train_test_split(fed, random_state=seed)
        for party, whole in fed.parts.items():
            if len(whole.X) < 20:
                continue
            all_of = np.bincount(whole.y, minlength=2)
            for part in (learn.parts[party], judge.parts[party]):
                sizes = np.bincount(part.y, minlength=2)
                assert np.all((sizes == 0) | (sizes >= 5) | ((all_of < 5) & (sizes == all_of)))
                assert len(part.X) == 0 or len(part.X) >= min(5, len(whole.X))
        for used in (fed, learn, judge):  # no run on any of them is refused
            used.backend.memory.admit(used.parts, by_class=True)


def test_atoms_of_all_records_stay_large_whatever_slices_are_trained_on():
    fed = tacit.simulate(WDBC, MALIGNANT, parties=3, seed=1)
    learn, _ = tacit.train_test_split(fed, random_state=0)
    risky = {"min_count": 5, "accept_risk": True, "random_state": 0}
    for used in (learn, fed, tacit.train_test_split(learn, random_state=1)[0], learn):
        tacit.PanSVC(kernel="linear", C=10, **risky).fit(used)
        tacit.PanSVC(landmark_source="fourier", landmarks=30, **risky).fit(used)
        for past in fed.backend.past.values():
            assert np.unique(past.label[past.label >= 0], return_counts=True)[1].min() >= 5


def test_atoms_that_are_too_small_alone_are_never_put_together_in_a_slice():
    """Two slices would put them together with different neighbours, and three such sums tell each of them."""
    y, X = np.zeros(60, int), np.random.default_rng(0).normal(size=(60, 2))
    fed = tacit.from_parts([(X, y)] * 3, partition="horizontal")
    dealt = fed.deal(Deal((1 / 6,) * 6, 0, stratify=True, least=5))
    taken, first = dealt.take(0, 1), dealt.take(1, 2)
    part = first.parts["party-1"]
    begun = first.backend.memory.begin("party-1", part)
    assert (make_groups(begun.label, begun.absent, np.zeros(20, int), 12) == 0).all(), "in the first slice they may be"
    first.backend.memory.keep("party-1", part, dataclasses.replace(begun, summed=np.ones(20, bool)))
    past = taken.backend.memory.begin("party-1", taken.parts["party-1"])
    label, absent = past.label, past.absent
    assert len(np.unique(label)) == 2
    assert (make_groups(label, absent, np.zeros(len(label), int), 12) == -1).all()
    assert (make_groups(label, absent * 0, np.zeros(len(label), int), 12) == 0).all(), "what the rule prevents"
    assert (make_groups(label, absent, np.zeros(len(label), int), 8) >= 0).all()


def test_hidden_layers_of_two_slices_have_no_more_nodes_than_rows_in_which_the_slices_differ():
    """The difference of the two sums is that of these rows alone, and with fewer rows than nodes it is singular."""
    fed = tacit.simulate(WDBC[:400], MALIGNANT[:400], parties=3, seed=0)
    learn, judge = tacit.train_test_split(fed, random_state=0)
    few = {"n_hidden": judge.n_rows // 2, "random_state": 0}
    tacit.SecureELMClassifier(**few).fit(fed)
    tacit.SecureELMClassifier(**few).fit(learn)
    many = {"n_hidden": judge.n_rows + 20, "random_state": 0}
    fed, learn = fed.forget(), tacit.train_test_split(fresh := fed.forget(), random_state=0)[0]
    tacit.SecureELMClassifier(**many).fit(fresh)
    with pytest.raises(LocalError, match="nodes, with 0 of other hidden layers"):
        tacit.SecureELMClassifier(**many).fit(learn)
