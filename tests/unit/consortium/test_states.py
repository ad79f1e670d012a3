"""The table of states: everything leads somewhere, and what is over stays over."""

from typing import get_args

import pytest

from tacit.consortium.jobs.states import ENDINGS, EVENTS, OVER, STATES, TABLE, Event, JobState, after


def test_the_way_of_a_job_that_goes_well():
    state, way = "proposed", []
    for event in ("checks", "cleared", "answers", "start", "stops", "start", "ends", "closed"):
        state = after(state, event)
        way.append(state)
    assert way == ["checked", "pending", "accepted", "running", "stopped", "running", "through", "finished"]


@pytest.mark.parametrize("state", sorted(OVER))
def test_nothing_leads_out_of_what_is_over(state):
    assert [event for event in EVENTS if after(state, event) is not None] == []


def test_every_other_state_can_end_in_each_way_and_every_event_has_its_place():
    open_states = [state for state in STATES if state not in OVER]
    assert all(after(state, ending) == ending for state in open_states for ending in ENDINGS)
    assert {event for _, event in TABLE} == set(EVENTS)
    assert {state for state, _ in TABLE} | set(TABLE.values()) == set(STATES)


@pytest.mark.parametrize(
    ("state", "event"), [("proposed", "cleared"), ("proposed", "start"), ("checked", "start"), ("pending", "start")]
)
def test_no_letter_skips_a_step(state, event):
    assert after(state, event) is None


def test_every_state_and_every_event_is_explained():
    assert tuple(STATES) == get_args(JobState)
    assert tuple(EVENTS) == get_args(Event)
