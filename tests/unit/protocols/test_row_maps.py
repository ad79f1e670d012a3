"""Maps and groups.

Landmarks are over groups, groups are for the maps, and a map that was opened before costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, LocalError, Roster, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import Part
from tacit.numeric.groups.least_count import least_count
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.maps import SQUARES, Prepared, prepare
from tacit.protocols.planes.problems import Svm, agree_on_common
from tacit.protocols.sums.atoms import IDENTITY, Told, digest_of
from tacit.runtimes.together import Together

NAMES = ("p1", "p2", "p3")
RBF, WIDER, LINEAR = Kernel("rbf", 0.2), Kernel("rbf", 0.05), Kernel("linear")


def parts(n: int = 600, past: dict[str, Any] | None = None) -> dict[str, Part]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] > 0).astype(np.int64)
    split = dict(zip(NAMES, np.array_split(np.arange(n), 3), strict=True))
    return {p: Part(X[i], y[i], None, tuple("abcd"), None, (past or {}).get(p)) for p, i in split.items()}


def prepared(
    kernels: list[Kernel], past: dict[str, Any] | None = None, extra: Told | None = None, **given: Any
) -> tuple[Any, Any, Any]:
    """What was agreed on, each holder's atoms, and what was kept on the way."""
    roster, kept = Roster({Holder: NAMES, Coordinator: ("site",)}), dict(past or {})
    with Together(roster, job=b"maps", entropy=RootEntropy(roster.parties, b"maps"), keep=kept.__setitem__) as run:
        data = run.hold(Holder, parts(past=past))
        ground = agree_on_common(
            run,
            data,
            svm=Svm(**{"kernel": "rbf", "gamma": 0.2, "degree": 3, "coef0": 0.0, "C": 1.0, "landmarks": 20.0, **given}),
        )
        more = {} if extra is None else {"extra": extra}
        ready: Prepared = prepare(run, data, kernels, ground=ground, **more)
        return ready, dict(entries_of(ready.atoms)), kept


def told(atoms: Any) -> dict[str, float]:
    return dict(zip(atoms.past.maps, atoms.past.told, strict=True))


@pytest.mark.parametrize("source", ["local", "joint", "fourier"])
def test_what_is_remembered_names_the_maps_as_they_are(source):
    ready, atoms, _ = prepared([RBF], landmark_source=source)
    (the_map,) = ready.maps
    columns = {"local": {IDENTITY}, "joint": {IDENTITY, SQUARES}, "fourier": set()}[source]
    for party in NAMES:
        assert set(told(atoms[party])) == {digest_of(the_map), *columns}
        assert told(atoms[party])[digest_of(the_map)] == pytest.approx(the_map.size / (atoms[party].least * 4))
        assert ready.least[party] == atoms[party].least


def test_of_many_kernels_all_features_count_and_the_same_map_once():
    one, both, same = (
        prepared(kernels, landmark_source="fourier") for kernels in ([RBF], [RBF, WIDER], [RBF, LINEAR, LINEAR])
    )
    sizes = [int(least_count(features, 4, 0.0)) for features in (20, 40, 24)]
    assert [each[0].least["p1"] for each in (one, both, same)] == sizes
    assert [len(each[0].maps) for each in (one, both, same)] == [1, 2, 3]
    assert same[0].maps[1].source == "identity"


def test_what_else_a_run_opens_counts_too():
    ready, atoms, _ = prepared([LINEAR], extra=Told((("squares", 40),)))
    assert ready.least["p1"] == least_count(44, 4, 0.0)
    assert set(told(atoms["p1"])) == {IDENTITY, "squares"}


def test_groups_of_landmarks_leave_room_for_the_maps_that_follow():
    ready, atoms, _ = prepared([RBF], landmark_source="local")
    assert ready.least["p1"] <= least_count(20 + 4, 4, 0.0)
    assert told(atoms["p1"])[IDENTITY] == pytest.approx(1 / least_count(20 + 4, 4, 0.0))
    assert sum(told(atoms["p1"]).values()) <= 0.8


@pytest.mark.parametrize("source", ["local", "fourier"])
def test_the_same_question_again_costs_nothing(source):
    ready, atoms, _ = prepared([RBF], landmark_source=source)
    again, after, _ = prepared([RBF], {p: each.past for p, each in atoms.items()}, landmark_source=source)
    np.testing.assert_array_equal(again.maps[0].centres, ready.maps[0].centres)
    assert again.least == ready.least
    for party in NAMES:
        assert told(after[party]) == pytest.approx(told(atoms[party]))
        np.testing.assert_array_equal(after[party].past.label, atoms[party].past.label)


def test_another_map_later_needs_larger_groups():
    _, atoms, _ = prepared([RBF], landmark_source="fourier")
    past = {p: each.past for p, each in atoms.items()}
    ready, after, _ = prepared([WIDER], past, landmark_source="fourier")
    assert ready.least["p1"] == least_count(20, 4, told(atoms["p1"])[atoms["p1"].past.maps[0]]) > atoms["p1"].least
    assert len(told(after["p1"])) == 2
    with pytest.raises(LocalError, match=f"min_count={atoms['p1'].least} is less than the {ready.least['p1']} rows"):
        prepared([WIDER], past, landmark_source="fourier", min_count=atoms["p1"].least)


def test_landmarks_are_written_down_before_they_are_sent():
    _, atoms, kept = prepared([RBF], landmark_source="local")
    for party in NAMES:
        np.testing.assert_array_equal(kept[party].cluster, atoms[party].past.cluster)
        assert kept[party].clusters > 0
        assert np.unique(kept[party].cluster, return_counts=True)[1].min() >= least_count(20 + 4, 4, 0.0)


def test_how_many_take_part_is_told_by_class():
    ready, _, _ = prepared([LINEAR])
    np.testing.assert_array_equal(ready.ground.taking, ready.ground.sizes)
    assert ready.ground.rows == 600
