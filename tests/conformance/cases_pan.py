"""Landmarks, cutting planes, PAN-SVM and its search as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance import search_reference as searching
from conformance.case import Case, Inputs
from conformance.landmark_oracle import in_order, joint_oracle, kinds_of, local_oracle, numbered, rows_of
from conformance.pan_oracle import SHAPE, check_pan, check_planes, parts_at, play_pan, play_planes, rows_at
from tacit.choreo import At, Coordinator, Holder, Roster, Run
from tacit.federation.part import Part
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.planes.landmarks import landmarks
from tacit.protocols.planes.problems import problems
from tacit.protocols.sums.atoms import HoldBack, Told, begin
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice

# landmarks


def landmark_rows(roster: Roster) -> Inputs:
    return {
        "data": (
            Holder,
            {p: Part(X, None, None, ("a", "b", "c", "d"), None) for p, X in rows_of(roster[Holder]).items()},
        )
    }


def kinds_at(part: Part) -> Any:
    return kinds_of(part.X)


def play_landmarks(run: Run, data: At[Any], *, least: int, method: str = "pairwise", **asked: Any) -> Any:
    rows = sum(map(len, rows_of(run.roster[Holder]).values()))
    by, fixed = protect(run, to=Coordinator, method=method), FixedPoint(32, terms=len(run.roster[Holder]))
    atoms = run.local(
        Holder, begin, data, run.local(Holder, kinds_at, data), Told(()), HoldBack(least, accept_risk=True)
    )
    voice = Voice(run, by, fixed, asked.pop("witness", False))
    return landmarks(run, data, atoms, voice=voice, rows=rows, min_cluster=3, **asked)[0]


def check_landmarks(result: Any, inputs: Inputs, *, source: str, count: int, least: int) -> None:
    parts = {p: part.X for p, part in inputs["data"][1].items()}
    kinds = {p: kinds_of(X) for p, X in parts.items()}
    if source == "local":
        expected = local_oracle(parts, count=count, min_cluster=3, kinds=kinds if least > 1 else None, least=least)
        np.testing.assert_allclose(in_order(result), expected, atol=1e-8)
    else:
        holder = np.repeat(np.arange(len(parts)), [len(X) for X in parts.values()])
        group = None if least == 1 else numbered(2 * holder + np.concatenate(list(kinds.values())), least)
        np.testing.assert_allclose(
            result, joint_oracle(np.concatenate(list(parts.values())), count, 3, 15, group, least), atol=1e-8
        )


def landmark_case(name: str, source: str, *, count: int, least: int = 1, **protection: Any) -> Case:
    asked: dict[str, Any] = {"source": source, "count": count, "least": least}
    return Case(
        f"landmarks_{name}",
        landmark_rows,
        partial(play_landmarks, **asked, **protection),
        partial(check_landmarks, **asked),
    )


# cutting_plane and pan_svm


def planes_case(name: str = "", *, classes: int = 2, multi_class: str = "ovr", least: int = 1, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"rows": (Holder, rows_at(roster[Holder], classes, multi_class))}

    columns = len(problems(classes, multi_class))
    check = partial(check_planes, classes=classes, multi_class=multi_class, least=least)
    return Case(f"cutting_plane{name}", inputs, partial(play_planes, columns=columns, least=least, **params), check)


def pan_case(name: str, source: str, *, classes: int = 2, long: bool = False, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, parts_at(roster[Holder], classes))}

    asked = {**SHAPE, "landmark_source": "local" if source == "identity" else source, "landmarks": 12, **params}
    check = partial(
        check_pan, classes=classes, multi_class=params.get("multi_class", "ovr"), source=source, params=asked
    )
    return Case(f"pan_svm_{name}", inputs, partial(play_pan, **asked), check, long=long)


# search


def pan_search_case(name: str, *, classes: int = 2, long: bool = False, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, parts_at(roster[Holder], classes))}

    def accepts(result: Any, given: Inputs) -> None:
        searching.check_pan_search(
            result, given["data"][1], factor=params.get("factor", 0), least=params.get("min_count", 1)
        )

    return Case(f"pan_search_{name}", inputs, partial(searching.play_pan_search, **params), accepts, long=long)


CASES: tuple[Case, ...] = (
    pan_case("probability", "fourier", probability=True),
    pan_case("probability_witness", "fourier", classes=3, probability=True, witness=True, long=True),
    landmark_case("local", "local", count=16),
    landmark_case("local_ring", "local", count=12, method="ring"),
    landmark_case("local_groups", "local", count=16, least=4),
    landmark_case("joint", "joint", count=7),
    landmark_case("joint_groups", "joint", count=7, least=4),
    planes_case(),
    planes_case("_witness", witness=True),
    planes_case("_3_classes", classes=3),
    planes_case("_ovo", classes=3, multi_class="ovo"),
    planes_case("_groups", least=2),
    planes_case("_groups_witness", least=3, witness=True),
    planes_case("_groups_3_classes", classes=3, least=2),
    pan_case("fourier", "fourier"),
    pan_case("local", "local"),
    pan_case("joint", "joint"),
    pan_case("linear_ring", "identity", kernel="linear", method="ring"),
    pan_case("witness", "local", witness=True),
    pan_case("3_classes", "fourier", classes=3),
    pan_case("ovo", "fourier", classes=3, multi_class="ovo"),
    pan_case("groups_linear", "identity", kernel="linear", min_count=3),
    pan_case("groups_auto", "identity", kernel="linear", min_count="auto", accept_risk=False),
    pan_case("groups_fourier_ring", "fourier", min_count=2, method="ring"),
    pan_case("groups_local", "local", min_count=2),
    pan_case("groups_joint_witness", "joint", min_count=2, witness=True),
    pan_case("groups_3_classes", "fourier", classes=3, min_count=2),
    pan_case("groups_ovo", "fourier", classes=3, multi_class="ovo", min_count=2),
    pan_case("groups_probability", "fourier", min_count=2, probability=True, long=True),
    pan_case("groups_probability_ovo", "local", classes=3, multi_class="ovo", min_count=2, probability=True, long=True),
    pan_search_case("local"),
    pan_search_case("witness", witness=True, long=True),
    pan_search_case("3_classes", classes=3, landmark_source="fourier", long=True),
    pan_search_case("halving", factor=2, long=True),
    pan_search_case("groups", min_count=2, long=True),
    pan_search_case("groups_halving", min_count=3, factor=2, landmark_source="fourier", long=True),
)
