"""What a holder remembers of its rows: groups of a run, what each map told, and what the next run makes of both."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, LocalError, Roster, State, decode, encode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.groups.least_count import FLOOR, MARGIN
from tacit.numeric.groups.numbering import OUT
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.feature_map import open_map
from tacit.protocols.sums.atoms import (
    BEFORE,
    LAYER,
    SUBSET,
    Atoms,
    HoldBack,
    Past,
    Told,
    begin,
    digest_of,
    fingerprint,
    forget,
    keep,
    maps_of,
    no_past,
    regroup,
    remember_clusters,
    rename_if_changed,
    sizes_by_kind,
    split_by_part,
)
from tacit.runtimes.together import Together

AUTO = HoldBack("auto")
RISKY = HoldBack(3, accept_risk=True)


def part(n: int = 60, columns: int = 4, past: Past | None = None, weight: Any = None) -> Any:
    return SimpleNamespace(X=np.random.default_rng(0).normal(size=(n, columns)), weight=weight, past=past)


def kinds(n: int = 60, classes: int = 2) -> Any:
    return np.arange(n) % classes


def map_of(name: str, size: int) -> Told:
    return Told(((name, size),))


# Of how many rows groups are


def test_a_number_is_taken_if_it_is_no_smaller_than_auto_or_if_the_risk_is_accepted():
    assert HoldBack("auto").least(17) == 17
    assert HoldBack(20).least(17) == 20
    assert HoldBack(17).least(17) == 17
    assert HoldBack(2, accept_risk=True).least(17) == 2
    words = (
        "min_count=16 is less than the 17 rows that keep the numbers this run opens, with those of earlier runs, fewer"
        " than the unknowns in a group: use min_count='auto', fewer landmarks, or say accept_risk=True"
    )
    with pytest.raises(LocalError) as refused:
        HoldBack(16).least(17)
    assert str(refused.value) == words


def test_a_first_run_groups_rows_by_class():
    atoms = begin(part(), kinds(), map_of("a", 16), AUTO)
    assert atoms.least == 10  # 16 features of 4 columns: 16 / (4 * 0.4)
    assert np.unique(atoms.group).tolist() == [0, 1]
    np.testing.assert_array_equal(atoms.group, kinds())
    np.testing.assert_array_equal(atoms.past.label, kinds())
    assert atoms.past.maps == ("a",)
    np.testing.assert_allclose(atoms.past.told, [16 / (10 * 4)])
    np.testing.assert_array_equal(atoms.weight, np.ones(60))
    assert atoms.past.summed.all()


def test_rows_without_weight_and_classes_of_few_rows_take_no_part_and_leave_no_trace():
    kind = np.where(np.arange(60) < 4, 1, 0)
    kind[-5:] = -1
    atoms = begin(part(), kind, map_of("a", 1), AUTO)
    assert atoms.least == FLOOR
    np.testing.assert_array_equal(atoms.group >= 0, kind == 0)
    np.testing.assert_array_equal(atoms.past.label >= 0, kind == 0)
    np.testing.assert_array_equal(atoms.past.summed, kind == 0)
    assert sizes_by_kind(atoms, 3).tolist() == [51, 0, 0]


def test_with_groups_of_one_row_every_row_is_one_and_keeps_its_weight():
    weight = np.linspace(0.1, 1, 60)
    atoms = begin(part(weight=weight), kinds(), map_of("a", 50), HoldBack(1, accept_risk=True))
    assert len(np.unique(atoms.group)) == 60
    np.testing.assert_array_equal(atoms.weight, weight)


def test_weights_are_equal_within_a_group():
    weight = np.random.default_rng(1).uniform(0.1, 3.0, 60)
    atoms = begin(part(weight=weight), kinds(), map_of("a", 4), RISKY)
    for g in np.unique(atoms.group):
        assert np.ptp(atoms.weight[atoms.group == g]) == 0
        assert np.sum(atoms.group == g) >= 3
    assert atoms.weight.sum() == pytest.approx(weight.sum())


def test_a_holder_without_rows_begins_with_nothing_and_refuses_nothing():
    empty = begin(part(0), np.empty(0, np.int64), map_of("a", 16), HoldBack(10))
    assert len(empty.group) == 0
    assert empty.least == 10


# From run to run


def test_the_same_map_costs_nothing_and_another_one_spends_half_of_what_is_left():
    past, least, told = None, [], []
    for name in ("a", "a", "b", "a", "b", "c", "d"):
        atoms = begin(part(2000, past=past), kinds(2000), map_of(name, 40), AUTO)
        past = atoms.past
        least.append(atoms.least)
        told.append(float(past.told.sum()))
    assert least[0] == least[1] == least[3] == 25
    assert least[2] == least[4] == 50
    assert least[5:] == [100, 200]
    assert told == sorted(told)
    assert told[-1] < 1 / MARGIN


def test_maps_of_subsets_are_others_in_every_run_and_count_again():
    rows = part(600)
    first = begin(rows, kinds(600), map_of(f"{SUBSET} 0", 16), AUTO)
    rows.past = first.past
    second = begin(rows, kinds(600), map_of(f"{SUBSET} 0", 16), AUTO)
    assert second.least == 20  # as another map: half of what is left
    assert len(second.past.maps) == 2


def test_a_known_map_is_told_no_finer_without_a_word_and_is_counted_if_it_is():
    first = begin(part(), kinds(), map_of("a", 16), HoldBack(20))
    again = begin(part(past=first.past), kinds(), map_of("a", 16), AUTO)
    assert again.least == 20, "it was told of 20 rows and more, so of fewer it would tell more"
    finer = begin(part(past=first.past), kinds(), map_of("a", 16), HoldBack(5, accept_risk=True))
    assert finer.past.told[0] == pytest.approx(16 / (5 * 4))


def test_nodes_of_hidden_layers_are_counted_elsewhere():
    past = dataclasses.replace(no_past(60), maps=(f"{LAYER} 1",), told=np.array([0.9]))
    assert begin(part(past=past), kinds(), map_of("a", 16), AUTO).least == 10


def test_of_other_columns_or_cells_every_map_is_a_new_one_and_what_was_told_counts_on():
    first = begin(part(), kinds(), map_of("a", 16), AUTO)
    same = part(past=first.past)
    assert rename_if_changed(same, first.past) is first.past
    for change in (
        {"X": 2.0 * same.X},
        {"X": np.where(np.arange(60)[:, None] == 3, 9.0, same.X)},
        {"features": tuple("dcba")},
    ):
        other = SimpleNamespace(**{**vars(same), **change})
        seen = rename_if_changed(other, first.past)
        assert seen.maps == (f"a{BEFORE}",)
        np.testing.assert_array_equal(seen.told, first.past.told)
        again = begin(other, kinds(), map_of("a", 16), AUTO)
        assert again.least == 20, "half of what was left"
        assert set(again.past.maps) == {f"a{BEFORE}", "a"}


def test_the_order_of_rows_does_not_matter_nor_do_rows_that_were_in_no_sum():
    given, rng = part(), np.random.default_rng(1)
    order, all_rows = rng.permutation(60), np.zeros(60, int)
    assert fingerprint(given, all_rows) == fingerprint(SimpleNamespace(X=given.X[order]), all_rows)
    longer = SimpleNamespace(X=np.vstack([given.X, rng.normal(size=(5, 4))]))
    assert (
        fingerprint(longer, np.where(np.arange(65) < 60, 0, OUT))
        == fingerprint(given, all_rows)
        != fingerprint(longer, np.zeros(65, int))
    )
    assert fingerprint(SimpleNamespace(X=np.array([[0.0, 1.0]])), np.zeros(1, int)) == fingerprint(
        SimpleNamespace(X=np.array([[-0.0, 1.0]])), np.zeros(1, int)
    ), "a zero has no sign"


def test_a_later_run_begins_from_the_pieces_that_an_earlier_one_left():
    first = begin(part(), kinds(), map_of("a", 1), AUTO)
    split = split_by_part(first, np.where(np.arange(60) < 30, 0, 1))
    later = begin(part(past=split.past), kinds(), map_of("a", 1), AUTO)
    assert len(np.unique(later.group)) == 4
    larger = begin(part(past=split.past), kinds(), map_of("b", 36), AUTO)
    assert 15 < larger.least <= 30
    assert len(np.unique(larger.group)) == 2, "pieces that are too small now are put together"
    np.testing.assert_array_equal(larger.past.label, split.past.label)


def test_rows_of_an_atom_that_has_lost_a_few_stay_out():
    past = begin(part(), kinds(), map_of("a", 1), AUTO).past
    here = np.arange(60) != 7  # of class 1
    left = dataclasses.replace(
        past, **{name: getattr(past, name)[here] for name in ("label", "cluster", "summed")},
        absent=(kinds() == 1)[here].astype(np.int64)
    )  # fmt: skip
    smaller = part(59, past=left)
    atoms = begin(smaller, kinds()[here], map_of("a", 1), AUTO)
    np.testing.assert_array_equal(atoms.group >= 0, kinds()[here] == 0)


def test_within_a_run_a_second_beginning_goes_on_from_the_first():
    first = begin(part(), kinds(), Told((("columns", 4), ("planned 0", 12))), AUTO)
    assert first.past.maps == ("columns", "planned 0")
    bare = forget(split_by_part(first, np.arange(60) // 30), Told((("planned 0", 12),)))
    assert bare.past.maps == ("columns",)
    np.testing.assert_allclose(bare.past.told, [4 / (first.least * 4)])
    second = begin(part(), kinds(), map_of("the map", 12), AUTO, bare)
    assert second.least <= first.least
    assert len(np.unique(second.group)) == 4
    assert second.past.maps == ("columns", "the map")


# Finer groups


def test_finer_groups_have_labels_of_their_own_and_the_same_groups_are_left_alone():
    atoms = begin(part(), kinds(), map_of("a", 1), AUTO)
    assert regroup(atoms, atoms.group.copy()) is atoms
    finer = regroup(atoms, np.where(np.arange(60) < 20, 5, atoms.group))
    assert len(np.unique(finer.past.label)) == 4  # two labels before, each now in two groups
    assert finer.least == atoms.least


def test_clusters_are_remembered_and_split_groups_of_several_rows():
    cluster = np.where(np.arange(60) < 30, 0, 1)
    several = remember_clusters(begin(part(), kinds(), map_of("a", 1), AUTO), cluster, 2)
    assert len(np.unique(several.group)) == 4
    single = remember_clusters(begin(part(), kinds(), map_of("a", 1), HoldBack(1, accept_risk=True)), cluster, 2)
    assert len(np.unique(single.group)) == 60
    for atoms in (several, single):
        np.testing.assert_array_equal(atoms.past.cluster, cluster)
        assert atoms.past.clusters == 2


# Names of maps


def test_a_map_is_known_by_its_content():
    one, same, other = (open_map(Kernel("rbf", 0.5), columns=3, size=20, seed=seed) for seed in (1, 1, 2))
    assert digest_of(one) == digest_of(same) != digest_of(other)
    assert digest_of("identity") == "identity"
    told = maps_of([(one, 20), (same, 20), ("identity", 3)])
    assert told.maps == ((digest_of(one), 20), ("identity", 3))
    assert told.features == 23


# What outlives a run


def test_what_is_kept_is_a_state_that_can_be_written_down():
    past = remember_clusters(begin(part(), kinds(), map_of("a", 1), AUTO), kinds(), 2).past
    again = decode(encode(past).join())
    assert isinstance(again, State)
    for name in Past.field_names():
        np.testing.assert_array_equal(getattr(again, name), getattr(past, name))
    assert np.all(no_past(3).label == OUT)


def test_it_is_kept_at_every_holder():
    roster = Roster({Holder: ("p1", "p2"), Coordinator: ("site",)})
    kept: dict[str, Any] = {}
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"j"), keep=kept.__setitem__) as run:
        atoms = run.hold(
            Holder, {p: begin(part(n), kinds(n), map_of("a", 1), AUTO) for p, n in (("p1", 20), ("p2", 40))}
        )
        keep(run, atoms)
        assert not len(run.ledger), "nothing is sent"
    assert {p: len(past.label) for p, past in kept.items()} == {"p1": 20, "p2": 40}


def test_a_representation_shows_no_label():
    atoms = begin(part(), kinds(), map_of("a", 1), AUTO)
    assert repr(atoms) == "Atoms(group, weight, kind, least, past, unknowns, lenient, bounds)"
    assert isinstance(atoms, Atoms)
