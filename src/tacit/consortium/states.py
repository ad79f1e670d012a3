"""The states of a job at a site, and what leads from one to the next: one table for parties and coordinators.

    proposed   the proposal is here; this site has not looked at it yet
    checked    this site's own checks are done; it waits for those of the others
    pending    no check failed anywhere; this site's people, or its policy, have to answer
    accepted   this site said yes; it waits for the others
    running    everybody said yes; the run goes on
    stopped    the run stopped; it can be taken up again
    through    this site is through with the run; others are not
    finished   everybody is through
    refused, withdrawn, expired   the job ended without a result, everywhere and for good

An event that the table does not have in a state changes nothing there.
"""

from __future__ import annotations

from typing import Literal, get_args

Ending = Literal["refused", "withdrawn", "expired"]
JobState = Literal[
    "proposed", "checked", "pending", "accepted", "running", "stopped", "through", "finished", "refused", "withdrawn", "expired"
]
Event = Literal["checks", "cleared", "answers", "start", "stops", "ends", "closed", "refused", "withdrawn", "expired"]

ENDINGS: tuple[Ending, ...] = get_args(Ending)
OVER: frozenset[JobState] = frozenset({"finished", *ENDINGS})
BEFORE_A_RUN: frozenset[JobState] = frozenset({"proposed", "checked", "pending", "accepted"})
CONSENT_NEEDED: frozenset[JobState] = BEFORE_A_RUN | {"stopped"}  # states in which a run may still begin, so the job must not have expired

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
    **{(state, ending): ending for state in get_args(JobState) if state not in OVER for ending in ENDINGS},
}


def after(state: JobState, event: Event) -> JobState | None:
    """Return the state that an event leads to, or None if it changes nothing in this state."""
    return TABLE.get((state, event))
