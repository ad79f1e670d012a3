"""Landmarks, cutting planes, PAN-SVM and its search as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance import search_reference as searching
from conformance.case import Case, Inputs
from conformance.landmark_oracle import in_order, joint_oracle, local_oracle, rows_of
from conformance.pan_oracle import check_pan, check_planes, parts_at, play_pan, play_planes, rows_at
from tacit.choreo import At, Coordinator, Holder, Roster, Run
from tacit.data.part import Part
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.landmarks import landmarks
from tacit.protocols.secure_sum import protect

# landmarks


def landmark_rows(roster: Roster) -> Inputs:
    return {"data": (Holder, {p: Part(X, None, None, ("a", "b", "c", "d"), None) for p, X in rows_of(roster[Holder]).items()})}


def play_landmarks(run: Run, data: At[Any], *, method: str = "pairwise", **asked: Any) -> Any:
    rows = sum(map(len, rows_of(run.roster[Holder]).values()))
    by, fixed = protect(run, to=Coordinator, method=method), FixedPoint(32, terms=len(run.roster[Holder]))
    return landmarks(run, data, rows=rows, min_cluster=3, by=by, fixed=fixed, **asked)


def check_landmarks(result: Any, inputs: Inputs, *, source: str, share: float | None, count: int | None) -> None:
    parts = {p: part.X for p, part in inputs["data"][1].items()}
    if source == "local":
        np.testing.assert_allclose(in_order(result), local_oracle(parts, share=share, count=count, min_cluster=3), atol=1e-8)
    else:
        np.testing.assert_allclose(result, joint_oracle(np.concatenate(list(parts.values())), count or 0, 3), atol=1e-8)


def landmark_case(name: str, source: str, *, share: float | None = None, count: int | None = None, **protection: Any) -> Case:
    asked: dict[str, Any] = {"source": source, "share": share, "count": count}
    return Case(f"landmarks_{name}", landmark_rows, partial(play_landmarks, **asked, **protection), partial(check_landmarks, **asked))


# cutting_plane and pan_svm


def planes_case(name: str = "", *, classes: int = 2, multi_class: str = "ovr", **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"rows": (Holder, rows_at(roster[Holder], classes, multi_class))}

    return Case(
        f"cutting_plane{name}", inputs, partial(play_planes, **params), partial(check_planes, classes=classes, multi_class=multi_class)
    )


def pan_case(name: str, source: str, *, classes: int = 2, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, parts_at(roster[Holder], classes))}

    asked = {"landmark_source": "local" if source == "identity" else source, "landmarks": 12, **params}
    check = partial(check_pan, classes=classes, multi_class=params.get("multi_class", "ovr"), source=source)
    return Case(f"pan_svm_{name}", inputs, partial(play_pan, **asked), check)


# search


def pan_search_case(name: str, *, classes: int = 2, **params: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, parts_at(roster[Holder], classes))}

    def accepts(result: Any, given: Inputs) -> None:
        searching.check_pan_search(result, given["data"][1])

    return Case(f"pan_search_{name}", inputs, partial(searching.play_pan_search, **params), accepts)


CASES: tuple[Case, ...] = (
    pan_case("probability", "fourier", probability=True),
    pan_case("probability_witness", "fourier", classes=3, probability=True, witness=True),
    landmark_case("local", "local", share=0.2),
    landmark_case("local_ring", "local", count=12, method="ring"),
    landmark_case("joint", "joint", count=7),
    planes_case(),
    planes_case("_witness", witness=True),
    planes_case("_3_classes", classes=3),
    planes_case("_ovo", classes=3, multi_class="ovo"),
    pan_case("fourier", "fourier"),
    pan_case("local", "local"),
    pan_case("joint", "joint"),
    pan_case("linear_ring", "identity", kernel="linear", method="ring"),
    pan_case("witness", "local", witness=True),
    pan_case("3_classes", "fourier", classes=3),
    pan_case("ovo", "fourier", classes=3, multi_class="ovo"),
    pan_search_case("local"),
    pan_search_case("witness", witness=True),
    pan_search_case("3_classes", classes=3, landmark_source="fourier"),
    pan_search_case("halving", factor=2),
)
