"""Metrics and probabilities as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import score_reference as scores
from conformance.case import Case, Inputs
from tacit.choreo import Holder, Roster


def counts_case(name: str, *, classes: int = 2, sites: str = "", **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scored": (Holder, scores.parts(roster[Holder], classes))}

    play = partial(scores.play_counts, classes=classes, sites=sites, **how)
    return Case(f"score_counts_{name}", inputs, play, partial(scores.check_counts, classes=classes, sites=sites))


def alone_case(name: str, *, classes: int = 2) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scored": (Holder, {p: scores.cut(scores.pooled(classes), slice(None if p == "p1" else 0)) for p in roster[Holder]})}

    return Case(
        f"labeller_counts_{name}", inputs, partial(scores.play_alone, classes=classes), partial(scores.check_alone, classes=classes)
    )


def platt_case(name: str, *, classes: int = 2, **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scores": (Holder, scores.score_parts(roster[Holder], classes))}

    return Case(f"platt{name}", inputs, partial(scores.play_platt, classes=classes, **how), partial(scores.check_platt, classes=classes))


CASES: tuple[Case, ...] = (
    counts_case("2_classes"),
    counts_case("3_classes_ring", classes=3, method="ring"),
    counts_case("by_site", sites="all", probability=False),
    alone_case("3_classes", classes=3),
    platt_case(""),
    platt_case("_3_classes", classes=3),
    platt_case("_witness", witness=True),
)
