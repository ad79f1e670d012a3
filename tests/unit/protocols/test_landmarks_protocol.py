"""Landmarks over many parties: what is refused, who may be small or empty, and how good they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from conformance.landmark_oracle import in_order, joint_cells, joint_oracle, local_oracle
from tacit.choreo import Coordinator, Holder, LocalError, Roster
from tacit.crypto.entropy import RootEntropy
from tacit.data.part import part_of
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.landmarks import nearest
from tacit.protocols import landmarks as protocol
from tacit.protocols.landmarks import how_many, landmarks
from tacit.protocols.secure_sum import protect
from tacit.runtimes.together import Together

WDBC = MinMaxScaler((-1, 1)).fit_transform(load_breast_cancer().data)
SOURCES = ("local", "joint")


def played(parts: list[Any], *, method: str = "pairwise", **asked: Any) -> tuple[Any, Together]:
    names = tuple(f"p{i + 1}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("coordinator",)})
    held = {p: part_of(X, None, None, tuple(map(str, range(X.shape[1])))) for p, X in zip(names, parts, strict=True)}
    asked = {"share": None, "count": None, "rows": sum(map(len, parts)), "min_cluster": 5, **asked}
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        by = protect(run, to=Coordinator, method=method)
        agreed = len(run.ledger)
        try:
            return landmarks(run, run.hold(Holder, held), by=by, fixed=FixedPoint(32, len(names)), **asked), run
        except LocalError as error:
            error.add_note(f"{len(run.ledger) - agreed} messages")
            raise


def split(X: Any, parties: int = 5) -> list[Any]:
    return [X[rows] for rows in np.array_split(np.random.default_rng(0).permutation(len(X)), parties)]


def objective(X: Any, middle: Any) -> Any:
    return np.square(X - middle[nearest(X, middle)]).sum()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"share": 0.25}, "a centre stands for at least min_cluster=5 records, so at most 20 % of the rows can be landmarks, got 25 %"),
        ({"share": 0.25}, "lower landmarks or min_cluster"),
        ({"share": 1.5}, "must lie between 0 and 1, got 1.5"),
        ({"share": 0.0}, "must lie between 0 and 1, got 0"),
        ({"count": 61}, "61 landmarks of 60 rows: ask for at least 1 and at most as many"),
        ({"count": 0}, "0 landmarks of 60 rows"),
        ({"count": 13}, "at least min_cluster=5 records, so 60 rows give at most 12 landmarks, got 13: lower landmarks or min_cluster"),
        ({"share": 0.1, "min_cluster": 0}, "need min_cluster >= 1"),
        ({"share": 0.1, "count": 3}, "either a share or a count"),
        ({}, "either a share or a count"),
        ({"share": 0.1, "rounds": 0}, "rounds >= 1"),
        ({"share": 0.01, "min_cluster": 61}, "60 rows in all are fewer than the min_cluster=61"),
        ({"share": 0.1, "method": "threshold"}, "secure_sum='threshold' lets holders stay away"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_anything_is_sent(source, asked, words):
    with pytest.raises(LocalError, match=words) as refused:
        played(split(WDBC[:60], 3), source=source, **asked)
    assert refused.value.__notes__ == ["0 messages"]
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(("value", "words"), [(np.nan, "features of p2: a value is not a finite number"), (1e12, "scale the features")])
def test_values_that_cannot_be_summed_are_refused_by_their_holder_before_anything_is_sent(source, value, words):
    parts = [X.copy() for X in split(WDBC[:60], 3)]
    parts[1][3, 2] = value
    with pytest.raises(LocalError, match=words) as refused:
        played(parts, source=source, share=0.1)
    assert refused.value.__notes__ == ["0 messages"]


def test_an_unknown_source_is_refused():
    with pytest.raises(LocalError, match="unknown landmark source 'fourier': use one of local, joint"):
        played(split(WDBC), source="fourier", share=0.1)


@pytest.mark.parametrize("method", ["pairwise", "ring"])
def test_local_landmarks_are_what_every_holder_finds_in_an_order_that_depends_on_nothing_else(method):
    parts = split(WDBC)
    found, _ = played(parts, source="local", share=0.15, method=method)
    again, _ = played(parts[::-1], source="local", share=0.15, method=method)
    expected = local_oracle({str(i): X for i, X in enumerate(parts)}, share=0.15, count=None, min_cluster=5)
    np.testing.assert_allclose(in_order(found), expected, atol=2.0**-32)
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("parties", [2, 3, 5, 20])
@pytest.mark.parametrize("count", [1, 20, 80])
def test_a_count_is_divided_between_the_holders(parties, count):
    found, _ = played(split(WDBC, parties), source="local", count=count)
    assert max(count, parties) - parties / 2 <= len(found) <= max(count, parties) + parties / 2


@pytest.mark.parametrize(("share", "own", "landmarks_"), [(0.15, 138, 20), (0.2, 15, 3), (0.1, 9, 1), (0.2, 4, 0), (0.2, 0, 0)])
def test_a_share_is_the_papers_floor_but_one_where_there_are_enough_rows(share, own, landmarks_):
    assert how_many(share, None, own, 1000, 5) == landmarks_


@pytest.mark.parametrize("source", SOURCES)
def test_an_empty_holder_and_one_with_few_rows_take_part(source):
    parts = [WDBC[:100], WDBC[:0], WDBC[100:103], WDBC[103:160]]
    found, run = played(parts, source=source, share=0.2)
    assert {row.sender for row in run.ledger if row.type == "Masked"} == {"p1", "p2", "p3", "p4"}
    if source == "local":
        np.testing.assert_allclose(in_order(found), local_oracle(dict(enumerate(parts)), share=0.2, count=None, min_cluster=5), atol=1e-8)
    else:
        np.testing.assert_allclose(found, joint_oracle(WDBC[:160], 32, 5), atol=1e-8)


def test_where_every_holder_has_too_few_rows_local_landmarks_are_refused_and_joint_ones_exist():
    parts = [WDBC[i : i + 4] for i in range(0, 16, 4)]
    with pytest.raises(LocalError, match=r"no party has the min_cluster=5 records that one landmark stands for.*'joint' or 'fourier'"):
        played(parts, source="local", share=0.2)
    np.testing.assert_allclose(played(parts, source="joint", count=2)[0], joint_oracle(WDBC[:16], 2, 5), atol=1e-8)


def test_landmarks_left_without_a_slot_are_left_out(monkeypatch):
    monkeypatch.setattr(protocol, "DRAWS", 1)
    monkeypatch.setattr(protocol, "SLOTS", 1)
    parts = split(WDBC)
    found, _ = played(parts, source="local", share=0.15)
    all_of_them = local_oracle(dict(enumerate(parts)), share=0.15, count=None, min_cluster=5)
    assert 0 < len(found) < len(all_of_them)
    assert np.abs(found[:, None] - all_of_them).max(axis=2).min(axis=1).max() < 1e-8


def test_eight_rounds_of_draws_are_enough_for_all():
    kept = [len(played(split(WDBC), source="local", share=0.2)[0]) for _ in range(20)]
    assert set(kept) == {len(local_oracle(dict(enumerate(split(WDBC))), share=0.2, count=None, min_cluster=5))}


@pytest.mark.parametrize(("count", "most"), [(5, 1.1), (10, 1.12), (20, 1.15), (50, 1.3)])
def test_joint_landmarks_are_nearly_as_good_as_k_means_on_the_pooled_rows(count, most):
    found, run = played(split(WDBC), source="joint", count=count)
    assert len(found) == count
    assert objective(WDBC, found) < most * np.mean([KMeans(count, n_init=1, random_state=i).fit(WDBC).inertia_ for i in range(3)])
    assert run.history[-1]["cells"] <= 4 * count


@pytest.mark.parametrize("count", [5, 20, 100])
def test_joint_landmarks_equal_the_centralised_ones_however_the_rows_are_split(count):
    expected = joint_oracle(WDBC, count, 5)
    for parts in (split(WDBC, 2), split(WDBC, 7), [WDBC[:3], WDBC[3:5], WDBC[5:]]):
        np.testing.assert_allclose(in_order(played(parts, source="joint", count=count)[0]), in_order(expected), atol=1e-8)


def test_joint_landmarks_of_every_kind_of_column_stand_for_enough_records():
    rng = np.random.default_rng(4)
    X = np.column_stack([
        np.ones(400), rng.integers(0, 2, 400), rng.random(400) < 0.01, rng.normal(size=400) * 1e5, rng.normal(size=400) * 1e-4,
        np.round(rng.normal(size=400)),
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


def test_a_wrong_number_of_rows_is_noticed():
    with pytest.raises(LocalError, match="the holders have 569 rows in all, and 600 were announced"):
        played(split(WDBC), source="joint", count=5, rows=600)


@pytest.mark.parametrize("source", SOURCES)
def test_two_holders_are_enough(source):
    assert len(played(split(WDBC, 2), source=source, count=10)[0]) == 10


def test_with_clusters_of_one_any_share_is_granted():
    assert len(played(split(WDBC[:100]), source="local", share=0.6, min_cluster=1)[0]) == 60
