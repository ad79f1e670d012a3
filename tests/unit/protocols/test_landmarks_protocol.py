"""Landmarks over many parties.

What is refused, who may be small or empty, how good they are, and that they are means over groups.
"""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from conformance.landmark_oracle import in_order, joint_cells, joint_oracle, local_oracle
from tacit.choreo import Coordinator, Holder, LocalError, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.features.landmarks import nearest
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.planes import landmarks as protocol
from tacit.protocols.planes.landmarks import landmarks, refuse_share
from tacit.protocols.sums.atoms import Atoms, HoldBack, Past, Told, begin, no_past
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice
from tacit.runtimes.together import Together

CANCER = load_breast_cancer()
WDBC, KIND = MinMaxScaler((-1, 1)).fit_transform(CANCER.data), CANCER.target
SOURCES = ("local", "joint")


def grouped(X: Any, kind: Any = None, least: int = 1, past: Past | None = None) -> Atoms:
    part = SimpleNamespace(X=X, weight=None, past=past)
    return begin(
        part, np.zeros(len(X), np.int64) if kind is None else kind, Told(()), HoldBack(least, accept_risk=True)
    )


def played(
    parts: list[Any], *, method: str = "pairwise", atoms: list[Atoms] | None = None, **asked: Any
) -> tuple[Any, Any]:
    """The landmarks, and the run, which has the atoms after it."""
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    held = {p: part_of(X, None, None, tuple(map(str, range(X.shape[1])))) for p, X in zip(names, parts, strict=True)}
    given = dict(zip(names, atoms or [grouped(X) for X in parts], strict=True))
    asked = {"rows": sum(map(len, parts)), "min_cluster": 5, **asked}
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        fixed, witness = FixedPoint(32, len(names)), asked.pop("witness", False)
        voice = Voice(run, protect(run, to=Coordinator, method=method), fixed, witness)
        agreed = len(run.ledger)
        try:
            found, after = landmarks(run, run.hold(Holder, held), run.hold(Holder, given), voice=voice, **asked)
        except LocalError as error:
            error.add_note(f"{len(run.ledger) - agreed} messages")
            raise
        return found, SimpleNamespace(
            run=run, ledger=run.ledger, history=run.history, atoms=list(entries_of(after).values())
        )


def split(X: Any, parties: int = 5) -> list[Any]:
    return [X[rows] for rows in np.array_split(np.random.default_rng(0).permutation(len(X)), parties)]


def objective(X: Any, middle: Any) -> Any:
    return np.square(X - middle[nearest(X, middle)]).sum()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"count": 61}, "61 landmarks of 60 rows: ask for at least 1 and at most as many"),
        ({"count": 0}, "0 landmarks of 60 rows"),
        (
            {"count": 13},
            (
                "at least min_cluster=5 records, so 60 rows give at most 12 landmarks, got 13: lower landmarks or"
                " min_cluster"
            ),
        ),
        ({"count": 6, "min_cluster": 0}, "need min_cluster >= 1"),
        ({"count": 6, "rounds": 0}, "rounds >= 1"),
        ({"count": 1, "min_cluster": 61}, "60 rows in all are fewer than the min_cluster=61"),
        ({"count": 6, "method": "threshold"}, "secure_sum='threshold' lets holders stay away"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_anything_is_sent(source, asked, words):
    with pytest.raises(LocalError, match=words) as refused:
        played(split(WDBC[:60], 3), source=source, **asked)
    assert refused.value.__notes__ == ["0 messages"]
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (
            0.25,
            (
                "a centre stands for at least min_cluster=5 records, so at most 20 % of the rows can be landmarks, got"
                " 25 %: lower landmarks"
            ),
        ),
        (1.5, "must lie between 0 and 1, got 1.5: lower landmarks, or give a count"),
        (0.0, "must lie between 0 and 1, got 0"),
    ],
)
def test_a_share_that_cannot_be_is_refused(share, words):
    refuse_share(0.2, 5)
    with pytest.raises(LocalError, match=words):
        refuse_share(share, 5)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "features of p2: a value is not a finite number"), (1e12, "scale the features")]
)
def test_values_that_cannot_be_summed_are_refused_by_their_holder_before_anything_is_sent(source, value, words):
    parts = [X.copy() for X in split(WDBC[:60], 3)]
    parts[1][3, 2] = value
    with pytest.raises(LocalError, match=words) as refused:
        played(parts, source=source, count=6)
    assert refused.value.__notes__ == ["0 messages"]


def test_an_unknown_source_is_refused():
    with pytest.raises(LocalError, match="unknown landmark source 'fourier': use one of local, joint"):
        played(split(WDBC), source="fourier", count=50)


@pytest.mark.parametrize("method", ["pairwise", "ring"])
def test_local_landmarks_are_what_every_holder_finds_in_an_order_that_depends_on_nothing_else(method):
    parts = split(WDBC)
    found, _ = played(parts, source="local", count=85, method=method)
    again, _ = played(parts[::-1], source="local", count=85, method=method)
    expected = local_oracle(dict(enumerate(parts)), count=85, min_cluster=5)
    np.testing.assert_allclose(in_order(found), expected, atol=2.0**-32)
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("parties", [2, 3, 5, 20])
@pytest.mark.parametrize("count", [1, 20, 80])
def test_a_count_is_divided_between_the_holders(parties, count):
    found, _ = played(split(WDBC, parties), source="local", count=count)
    assert max(count, parties) - parties / 2 <= len(found) <= max(count, parties) + parties / 2


@pytest.mark.parametrize("source", SOURCES)
def test_an_empty_holder_and_one_with_few_rows_take_part(source):
    parts = [WDBC[:100], WDBC[:0], WDBC[100:103], WDBC[103:160]]
    found, run = played(parts, source=source, count=32)
    assert {row.sender for row in run.ledger if row.type == "Masked"} == {"p1", "p2", "p3", "p4"}
    if source == "local":
        np.testing.assert_allclose(
            in_order(found), local_oracle(dict(enumerate(parts)), count=32, min_cluster=5), atol=1e-8
        )
    else:
        np.testing.assert_allclose(found, joint_oracle(WDBC[:160], 32, 5), atol=1e-8)


def test_where_every_holder_has_too_few_rows_local_landmarks_are_refused_and_joint_ones_exist():
    parts = [WDBC[i : i + 4] for i in range(0, 16, 4)]
    with pytest.raises(
        LocalError,
        match=(
            r"no party has the min_cluster=5 records, or the min_count of a class, that one landmark .*bring more"
            r" rows.*'fourier'"
        ),
    ):
        played(parts, source="local", count=3)
    np.testing.assert_allclose(played(parts, source="joint", count=2)[0], joint_oracle(WDBC[:16], 2, 5), atol=1e-8)


def test_where_fewer_rows_take_part_than_a_landmark_needs_joint_landmarks_are_refused():
    parts, kinds = split(WDBC[:40], 4), [np.arange(10) // 6] * 4
    atoms = [grouped(X, kind, 5) for X, kind in zip(parts, kinds, strict=True)]
    with pytest.raises(
        LocalError,
        match="24 rows take part in all, fewer than the min_cluster=30 that one landmark stands for: bring more",
    ):
        played(parts, source="joint", count=1, min_cluster=30, atoms=atoms)


def test_landmarks_left_without_a_slot_are_left_out(monkeypatch):
    monkeypatch.setattr(protocol, "DRAWS", 1)
    monkeypatch.setattr(protocol, "SLOTS", 1)
    parts = split(WDBC)
    found, _ = played(parts, source="local", count=85)
    all_of_them = local_oracle(dict(enumerate(parts)), count=85, min_cluster=5)
    assert 0 < len(found) < len(all_of_them)
    assert np.abs(found[:, None] - all_of_them).max(axis=2).min(axis=1).max() < 1e-8


def test_eight_rounds_of_draws_are_enough_for_all():
    kept = [len(played(split(WDBC), source="local", count=113)[0]) for _ in range(20)]
    assert set(kept) == {len(local_oracle(dict(enumerate(split(WDBC))), count=113, min_cluster=5))}


@pytest.mark.parametrize(("count", "most"), [(5, 1.1), (10, 1.12), (20, 1.15), (50, 1.3)])
def test_joint_landmarks_are_nearly_as_good_as_k_means_on_the_pooled_rows(count, most):
    found, run = played(split(WDBC), source="joint", count=count)
    assert len(found) == count
    assert objective(WDBC, found) < most * np.mean(
        [KMeans(count, n_init=1, random_state=i).fit(WDBC).inertia_ for i in range(3)]
    )
    assert run.history[-1]["cells"] <= 4 * count


@pytest.mark.parametrize("count", [5, 20, 100])
def test_joint_landmarks_equal_the_centralised_ones_however_the_rows_are_split(count):
    expected = joint_oracle(WDBC, count, 5)
    for parts in (split(WDBC, 2), split(WDBC, 7), [WDBC[:3], WDBC[3:5], WDBC[5:]]):
        np.testing.assert_allclose(
            in_order(played(parts, source="joint", count=count)[0]), in_order(expected), atol=1e-8
        )


def test_joint_landmarks_of_every_kind_of_column_stand_for_enough_records():
    rng = np.random.default_rng(4)
    X = np.column_stack([
        np.ones(400), rng.integers(0, 2, 400), rng.random(400) < 0.01, rng.normal(size=400) * 1e5,
        rng.normal(size=400) * 1e-4, np.round(rng.normal(size=400)),
    ])  # fmt: skip
    found, _ = played(split(X), source="joint", count=40)
    assert len(found) == 40
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 0], 1, atol=1e-9)
    assert joint_cells(X, 40, 5)[1].min() >= 5


def test_equal_rows_are_one_joint_landmark():
    found, _ = played([np.full((20, 3), 2.5), np.full((9, 3), 2.5)], source="joint", count=4)
    np.testing.assert_allclose(found, [[2.5, 2.5, 2.5]], atol=1e-9)


def test_joint_landmarks_stop_after_their_rounds():
    found, run = played(split(WDBC), source="joint", count=50, rounds=3)
    assert len(found) <= 8
    assert [note["cells"] for note in run.history][-1] <= 8


@pytest.mark.parametrize("source", SOURCES)
def test_two_holders_are_enough(source):
    assert len(played(split(WDBC, 2), source=source, count=10)[0]) == 10


def test_with_clusters_of_one_any_number_is_granted():
    assert len(played(split(WDBC[:100]), source="local", count=60, min_cluster=1)[0]) == 60


# Over groups


def in_groups(least: int, parties: int = 3) -> tuple[list[Any], list[Any], list[Atoms]]:
    order = np.array_split(np.random.default_rng(1).permutation(len(WDBC)), parties)
    parts, kinds = [WDBC[i] for i in order], [KIND[i] for i in order]
    return parts, kinds, [grouped(X, kind, least) for X, kind in zip(parts, kinds, strict=True)]


@pytest.mark.parametrize(("least", "min_cluster", "count"), [(7, 5, 40), (7, 15, 36), (30, 5, 20), (80, 5, 2)])
def test_local_landmarks_are_of_groups_or_of_large_pieces_of_them(least, min_cluster, count):
    parts, kinds, atoms = in_groups(least)
    found, run = played(parts, source="local", count=count, min_cluster=min_cluster, atoms=atoms)
    expected = local_oracle(
        dict(enumerate(parts)), count=count, min_cluster=min_cluster, kinds=dict(enumerate(kinds)), least=least
    )
    np.testing.assert_allclose(in_order(found), expected, atol=1e-8)
    for before, after in zip(atoms, run.atoms, strict=True):
        use = after.group >= 0
        np.testing.assert_array_equal(use, before.group >= 0)
        assert np.unique(after.past.cluster[use], return_counts=True)[1].min() >= max(least, min_cluster)
        assert np.unique(after.group[use], return_counts=True)[1].min() >= least
        for finer, coarser in (
            (after.group, before.group),
            (after.past.label, after.group),
            (after.group, after.past.cluster),
        ):
            assert len(np.unique(np.stack([finer, coarser])[:, use], axis=1).T) == len(np.unique(finer[use]))


@pytest.mark.parametrize(("least", "count"), [(4, 20), (12, 20), (60, 20)])
def test_joint_landmarks_are_of_groups_that_were_split_only_into_large_pieces(least, count):
    parts, _, atoms = in_groups(least)
    found, run = played(parts, source="joint", count=count, atoms=atoms)
    X, group, at = np.concatenate(parts), [], 0
    for each in atoms:
        group.append(np.where(each.group < 0, -1, each.group + at))
        at += len(each.group)
    expected = joint_cells(X, count, 5, group=np.concatenate(group), least=least)
    np.testing.assert_allclose(
        in_order(found), in_order(joint_oracle(X, count, 5, 15, np.concatenate(group), least)), atol=1e-8
    )
    theirs = np.split(expected[2], np.cumsum([len(each.group) for each in atoms])[:-1])
    for after, reference in zip(run.atoms, theirs, strict=True):
        use = after.group >= 0
        assert np.unique(after.group[use], return_counts=True)[1].min() >= least
        pairs = np.unique(np.stack([after.group, reference])[:, use], axis=1).T
        assert len(pairs) == len(np.unique(after.group[use])) == len(np.unique(reference[use])), "the same groups"


def again(run: Any, parts: list[Any], kinds: list[Any], least: int) -> list[Atoms]:
    return [grouped(X, kind, least, after.past) for X, kind, after in zip(parts, kinds, run.atoms, strict=True)]


def test_the_same_question_is_answered_with_the_same_clusters():
    parts, kinds, atoms = in_groups(7)
    first, run = played(parts, source="local", count=40, atoms=atoms)
    second, after = played(parts, source="local", count=40, atoms=again(run, parts, kinds, 7))
    np.testing.assert_array_equal(first, second)
    for one, two in zip(run.atoms, after.atoms, strict=True):
        np.testing.assert_array_equal(one.past.cluster, two.past.cluster)


def test_clusters_of_an_earlier_run_are_not_taken_where_they_are_too_small_or_too_many():
    parts, kinds, atoms = in_groups(7)
    _, run = played(parts, source="local", count=40, atoms=atoms)
    for asked in ({"count": 40, "min_cluster": 14}, {"count": 20, "min_cluster": 5}):
        _, after = played(parts, source="local", atoms=again(run, parts, kinds, 7), **asked)
        for one, two in zip(run.atoms, after.atoms, strict=True):
            assert np.unique(two.past.cluster, return_counts=True)[1].min() >= asked["min_cluster"]
            assert len(np.unique(two.past.cluster)) < len(np.unique(one.past.cluster))
            together = np.unique(np.stack([one.past.label, two.past.cluster]), axis=1).T
            assert len(together) == len(np.unique(one.past.label)), "unions of what could be told apart before"


@pytest.mark.parametrize("gone", [2, 7])
def test_clusters_of_which_rows_are_gone_are_not_taken_again(gone):
    parts, kinds, atoms = in_groups(7)
    _, run = played(parts, source="local", count=6, atoms=atoms)
    for X, kind, before in zip(parts, kinds, run.atoms, strict=True):
        past = before.past
        atom = np.flatnonzero(past.label == past.label[0])
        here = np.setdiff1d(np.arange(len(X)), atom[:gone])
        absent = np.where(past.label == past.label[0], gone, 0)
        left = dataclasses.replace(
            past, **{name: getattr(past, name)[here] for name in ("label", "cluster", "summed")}, absent=absent[here]
        )  # fmt: skip
        mine = grouped(X[here], kind[here], 7, left)
        after = protocol.cluster(SimpleNamespace(X=X[here]), mine, 6, len(WDBC), 5)
        barred = past.label[here] == past.label[0] if gone < 7 else np.zeros(len(here), bool)
        np.testing.assert_array_equal(after.past.cluster < 0, barred)
        assert np.unique(after.past.cluster[~barred], return_counts=True)[1].min() >= 7


def test_new_records_alone_are_clustered_anew():
    parts, kinds, atoms = in_groups(7)
    _, run = played(parts, source="local", count=6, atoms=atoms)
    for X, kind, before in zip(parts, kinds, run.atoms, strict=True):
        new = dataclasses.replace(no_past(len(X)), clusters=before.past.clusters)
        after = protocol.cluster(SimpleNamespace(X=X), grouped(X, kind, 7, new), 6, len(WDBC), 5)
        assert np.all(after.past.cluster >= 0)
