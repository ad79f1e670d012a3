"""How well sites' attacks on a model went, and how much their policies allow, as cases."""

from __future__ import annotations

from conformance import release_reference as release
from conformance.case import Case, Inputs
from tacit.choreo import Holder, Roster
from tacit.protocols.judge.release_figures import release_figures, release_limits


def release_case(name: str, idle: int = 0) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"attacked": (Holder, release.found_by(roster[Holder], idle=idle))}

    return Case(f"release_figures{name}", inputs, release_figures, release.check_figures)


def limits_case() -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"rules": (Holder, {p: {"membership_auc": 0.5 + k / 10} for k, p in enumerate(roster[Holder])})}

    return Case("release_limits", inputs, release_limits, release.check_limits)


CASES: tuple[Case, ...] = (release_case(""), release_case("_few", idle=1), limits_case())
