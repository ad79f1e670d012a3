"""The states of a job at a site, and what leads from one to the next: one table for parties and coordinators.

An event that the table does not have in a state changes nothing there. `docs/make_states.py` draws the table.
"""

from __future__ import annotations

from typing import Literal, get_args

Ending = Literal["refused", "withdrawn", "expired", "left"]
JobState = Literal["proposed", "checked", "pending", "accepted", "running", "stopped", "through", "finished", Ending]
Event = Literal["checks", "cleared", "answers", "start", "stops", "ends", "closed", Ending]
PublicState = Literal["waiting", "running", "stopped", "finished", Ending]  # what a coordinator tells a submitter

STATES: dict[JobState, str] = {
    "proposed": "the proposal is here; this site has not looked at it yet",
    "checked": "this site's own checks are done; it waits for those of the others",
    "pending": "no check failed anywhere; this site's people, or its policy, have to answer",
    "accepted": "this site said yes; it waits for the others",
    "running": "everybody said yes; the run goes on",
    "stopped": "the run stopped; it can be resumed",
    "through": "this site is through with the run; others are not",
    "finished": "everybody is through",
    "refused": "a check failed, or a site said no; the job is over everywhere",
    "withdrawn": "its submitter took it back; the job is over everywhere",
    "expired": "its time passed before it finished; the job is over everywhere",
    "left": "this site was away, and the job finished without it",
}
EVENTS: dict[Event, str] = {
    "checks": "this site's own checks end; it sends the letter `checked`",
    "cleared": "the letter `cleared` arrives, with the checks of every site",
    "answers": "this site accepts; it sends the letter `answer`",
    "start": "the letter `start` arrives, with every site's yes, for a first or a later attempt",
    "stops": "this site's run stops; it sends the letter `finished`, which says why",
    "ends": "this site's run ends well; it sends the letter `finished`",
    "closed": "the letter `closed` arrives: every site's run ended well",
    "refused": "this site refuses, or the letter `ended` arrives and says that another one did",
    "withdrawn": "the letter `withdraw` arrives at the coordinator, and `ended` at the parties",
    "expired": "the time of the job is over by this site's clock, or the letter `ended` says so",
    "left": "the letter `ended` arrives and says that the job finished without this site",
}

ENDINGS: tuple[Ending, ...] = get_args(Ending)
OVER: frozenset[JobState] = frozenset({"finished", *ENDINGS})
BEFORE_A_RUN: frozenset[JobState] = frozenset({"proposed", "checked", "pending", "accepted"})
CONSENT_NEEDED: frozenset[JobState] = BEFORE_A_RUN | {"stopped"}  # a run may still begin: the job must not have expired

FORWARD: dict[tuple[JobState, Event], JobState] = {
    ("proposed", "checks"): "checked",
    ("checked", "cleared"): "pending",
    ("pending", "answers"): "accepted",
    ("accepted", "start"): "running",
    ("running", "start"): "running",  # of a later attempt, as in the next two
    ("stopped", "start"): "running",
    ("through", "start"): "running",
    ("running", "stops"): "stopped",
    ("running", "ends"): "through",
    ("through", "closed"): "finished",
}
TABLE: dict[tuple[JobState, Event], JobState] = {
    **FORWARD,
    **{(state, ending): ending for state in STATES if state not in OVER for ending in ENDINGS},
}


def after(state: JobState, event: Event) -> JobState | None:
    """Return the state that an event leads to, or None if it changes nothing in this state."""
    return TABLE.get((state, event))
