"""Metrics and probabilities as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance import error_reference as errors
from conformance import release_reference as release
from conformance import score_reference as scores
from conformance.case import Case, Inputs, flat
from tacit.choreo import Holder, Roster
from tacit.protocols.scores.release_figures import release_figures, release_limits


def counts_case(name: str, *, classes: int = 2, sites: str = "", **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scored": (Holder, scores.parts(roster[Holder], classes))}

    play = partial(scores.play_counts, classes=classes, sites=sites, **how)
    return Case(f"score_counts_{name}", inputs, play, partial(scores.check_counts, classes=classes, sites=sites))


def alone_case(name: str, *, classes: int = 2) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {
            "scored": (
                Holder,
                {p: scores.cut(scores.pooled(classes), slice(None if p == "p1" else 0)) for p in roster[Holder]},
            )
        }

    return Case(
        f"labeller_counts_{name}",
        inputs,
        partial(scores.play_alone, classes=classes),
        partial(scores.check_alone, classes=classes),
    )


def platt_case(name: str, *, classes: int = 2, **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"scores": (Holder, scores.score_parts(roster[Holder], classes))}

    return Case(
        f"platt{name}",
        inputs,
        partial(scores.play_platt, classes=classes, **how),
        partial(scores.check_platt, classes=classes),
    )


def errors_case(name: str, **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"answered": (Holder, errors.parts(errors.pooled(), roster[Holder]))}

    return Case(f"error_sums{name}", inputs, partial(errors.play_errors, **how), errors.check_errors)


def shuffled_case(name: str, *, numbers: bool, **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"shuffled": (Holder, errors.parts(errors.pooled_scores(numbers=numbers), roster[Holder]))}

    play = partial(errors.play_shuffled, numbers=numbers, **how)
    return Case(f"shuffled_scores_{name}", inputs, play, partial(errors.check_shuffled, numbers=numbers))


def labeller_case(name: str, held: str, whole: Any, play: Any, check: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {held: (Holder, {p: errors.cut(whole, slice(None if p == "p1" else 0)) for p in roster[Holder]})}

    return Case(name, inputs, play, check)


def release_case(name: str, idle: int = 0, **how: Any) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"attacked": (Holder, release.found_by(roster[Holder], idle=idle))}

    return Case(f"release_figures{name}", inputs, partial(flat(release_figures), **how), release.check_figures)


def limits_case() -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"rules": (Holder, {p: {"membership_auc": 0.5 + k / 10} for k, p in enumerate(roster[Holder])})}

    return Case("release_limits", inputs, release_limits, release.check_limits)


CASES: tuple[Case, ...] = (
    counts_case("2_classes"),
    counts_case("3_classes_ring", classes=3, method="ring"),
    counts_case("by_site", sites="all", probability=False),
    alone_case("3_classes", classes=3),
    platt_case(""),
    platt_case("_3_classes", classes=3),
    platt_case("_witness", witness=True),
    errors_case(""),
    errors_case("_ring", method="ring"),
    labeller_case("labeller_errors", "answered", errors.pooled(), errors.play_errors_alone, errors.check_errors),
    shuffled_case("classes", numbers=False),
    shuffled_case("numbers_ring", numbers=True, method="ring"),
    release_case(""),
    release_case("_few_ring", idle=1, method="ring"),
    limits_case(),
    labeller_case(
        "labeller_shuffled",
        "shuffled",
        errors.pooled_scores(numbers=True),
        errors.play_shuffled_alone,
        partial(errors.check_shuffled, numbers=True),
    ),
)
