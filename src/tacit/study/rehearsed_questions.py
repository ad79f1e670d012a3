"""How questions about a study are rehearsed: the study itself on invented tables, then the question on some more.

The disclosure and the requests of a question are those of its own run; the study before it opened its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacit.choreo import Asker, At, Coordinator, Everyone, Holder, Labeller, Roster, Run, choreography
from tacit.choreo.protocol import TABLE, Brought, Cost, Declaration, Inputs, Planned, Rehearsal, Stage
from tacit.federation.part import Part, part_of
from tacit.protocols import facts
from tacit.registry import execute_together
from tacit.study.asking import RECALLED, EarlierStudy, answer, judge, recall, study_answers, study_scores
from tacit.study.gate import GATE
from tacit.study.inside import Played
from tacit.study.rehearsed import (
    EVALUATE,
    FITTED,
    OF_STEPS,
    ROWS,
    Plan,
    add_costs,
    invent_tables,
    rehearse_study,
    shrink,
)
from tacit.study.study import STEPS

OF_STUDY = ("steps", "seed", "partition")  # parameters that a question has of the study


def plan_answers(roster: Roster, params: Mapping[str, Any]) -> Plan:
    """Rehearse a question for answers, and return what it asks for."""
    played: list[Played] = []

    @choreography(opens={Everyone: (RECALLED, STEPS), Holder: facts.ANSWERS})
    def study_answers(
        run: Run, /, data: At[Part], own: At[Any], site: At[Any], *, records: int | None = None, **asked: Any
    ) -> Any:
        del records  # of the real ones; invented ones are as many as it takes
        return answer(recall(run, data, own, site, prepare=shrink, played=played, **asked))

    return _rehearse(roster, params, study_answers, played)


def plan_scores(roster: Roster, params: Mapping[str, Any]) -> Plan:
    """Rehearse an evaluation, and return what it asks for."""
    played: list[Played] = []

    @choreography(opens={Everyone: (RECALLED, STEPS)})
    def study_scores(
        run: Run, /, data: At[Part], own: At[Any], site: At[Any], *, evaluate: Any = None, **asked: Any
    ) -> Any:
        return judge(recall(run, data, own, site, prepare=shrink, played=played, **asked), evaluate or {})

    return _rehearse(roster, params, study_scores, played)


def _rehearse(roster: Roster, params: Mapping[str, Any], play: Callable[..., Any], played: list[Played]) -> Plan:
    outcome = execute_together(roster, play, invent_question(Stage(roster, ROWS, params, part_of)), params)
    return Plan(tuple(played), outcome.ledger)


def invent_question(stage: Stage) -> Inputs:
    """Return invented new records, and what each party would have of an earlier study on invented records."""
    asked = {name: stage.params[name] for name in OF_STUDY}
    _, before = rehearse_study(as_fitted(stage.roster), asked)
    kept = keep_study(before.result)
    site = stage.roster[Coordinator][0]
    return {
        "data": invent_tables(stage)["data"],
        "own": (Holder, {party: kept(party) for party in stage.roster[Holder]}),
        "site": (Coordinator, {site: kept(site)}),
    }


def as_fitted(roster: Roster) -> Roster:
    """Return the roster of the study that is asked: over columns and cells its answers were the labeller's."""
    return Roster({**roster.roles, Asker: roster[Labeller]}) if Labeller in roster.roles else roster


def keep_study(result: Mapping[str, Any]) -> Callable[[str], EarlierStudy]:
    """Return what each party keeps of the result of a study, where all parties are in this process."""
    shares = {name: entries for name, entries in result.items() if name not in ("told", "ended", GATE)}

    def keep(party: str) -> EarlierStudy:
        held = {name: entries[party] for name, entries in shares.items() if party in entries}
        return EarlierStudy(result["told"], result["ended"], held)

    return keep


def estimate_answers(planned: Planned) -> Cost:
    """Return what answers cost."""
    return add_costs(planned, plan_answers(planned.roster, planned.params))


def estimate_scores(planned: Planned) -> Cost:
    """Return what an evaluation costs."""
    return add_costs(planned, plan_scores(planned.roster, planned.params))


OF_EARLIER = {"own": Brought(Holder, "earlier"), "site": Brought(Coordinator, "earlier")}
ANSWERS = Declaration(
    study_answers,
    {**TABLE, **OF_EARLIER},
    Rehearsal(invent_question, lambda _: {}, estimate_answers, plan=plan_answers),
    builds_on=(FITTED,),
    asks=True,
    takes_gaps=True,
    parameters=(OF_STEPS,),
)
SCORES = Declaration(
    study_scores,
    {"data": Brought(Holder, "judged"), **OF_EARLIER},
    Rehearsal(invent_question, lambda _: {}, estimate_scores, plan=plan_scores),
    builds_on=(FITTED,),
    takes_gaps=True,
    parameters=(OF_STEPS, EVALUATE),
)
