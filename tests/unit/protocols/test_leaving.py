"""A party that leaves: in whatever round before the weights are told, they stay in shares at all others.

What was told before, such as landmarks and the best alpha, stays told. A site that others compute for may leave as soon
as it has given its shares.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest

from conformance import machine_reference as reference
from conformance.case import flat
from conformance.cases_svm import SETTING
from tacit.choreo import Coordinator, Holder, Labeller, PeerError, Roster, decode
from tacit.crypto.pads.entropy import RootEntropy
from tacit.protocols.learners.svm import train_svm
from tacit.runtimes.apart import Apart, QueuePost, queue_posts
from tacit.runtimes.together import Together

WEIGHTS = "/reveal_weights/ModelShare"
READY = "/reveal_weights/Ready"
EVERY = {"least squares": 1, "hinge": 8}  # of the rounds, which repeat with the hinge
QUICK = {"least squares": 6, "hinge": 40}  # and where there is no time for more


class GoneError(Exception):
    """A party that was killed for good."""


class Leaving(Apart):
    """A party that leaves when it comes to a place."""

    leaves = ""

    def _exchange(self, place: str, *given: Any) -> Any:
        if place == self.leaves:
            raise GoneError
        return super()._exchange(place, *given)


class Kept(QueuePost):
    """A post that keeps where messages of which sender belong."""

    seen: list[tuple[str, str]]

    def put(self, receiver: str, data: bytes) -> None:
        kind, *rest = decode(data)
        if kind == "message":
            self.seen.append((self.me, rest[0]))
        super().put(receiver, data)


def roster_of(parties: int) -> Roster:
    names = tuple(f"p{i + 1}" for i in range(parties))
    return Roster({Holder: names, Labeller: names[:1], Coordinator: ("coordinator",)})


def setting(**chosen: Any) -> dict[str, Any]:
    return SETTING | {"partition": "horizontal", "features": 4} | chosen


@cache
def rounds_of(parties: int, leaver: str, **chosen: Any) -> tuple[str, ...]:
    """Return the places at which a party sends or waits, up to the one at which it tells its share of the weights."""
    roster, places = roster_of(parties), []
    held = reference.parts(roster[Holder], "horizontal", "2")
    with Together(roster, job=b"leaving", entropy=RootEntropy(roster.parties, b"leaving")) as run:
        flat(train_svm)(run, run.hold(Holder, held), **setting(**chosen))
        places = list(dict.fromkeys(row.place for row in run.ledger if leaver in (row.sender, row.receiver)))
    last = next(i for i, place in enumerate(places) if place.endswith((WEIGHTS, "/reveal_weights/ModelWords")))
    return tuple(places[: last + 1])


def play_without(
    parties: int, leaver: str, place: str, *, patience: float, says: str | None = None, **chosen: Any
) -> tuple[Any, Any, Any]:
    """Play with a party that leaves at a place, silently or not; return who told what where, errors and results.

    says: the end of a place: the party says that it left once all other holders have sent something there; "": at once.
    """
    roster = roster_of(parties)
    held, boxes, seen = reference.parts(roster[Holder], "horizontal", "2"), queue_posts(roster.parties), []
    errors, results = {}, {}

    def one(me: str) -> None:
        post = Kept(me, boxes[me].boxes)
        object.__setattr__(post, "seen", seen)
        entropy = RootEntropy([me], b"leaving")
        run = Leaving(me, roster, post, job=b"leaving", entropy=entropy, patience=patience)
        run.leaves = place if me == leaver else ""
        try:
            own = {p: part for p, part in held.items() if p == me}
            results[me] = flat(train_svm)(run, run.hold(Holder, own), **setting(**chosen))
        except GoneError as error:
            errors[me] = error
            if says is not None:
                others = set(roster[Holder]) - {me} if says else set()
                while not others <= {who for who, where in seen if where.endswith(says)}:
                    time.sleep(0.01)
                run.stop(error)
        except PeerError as error:
            errors[me] = error
            run.stop(error)  # as it tells all others why it stops

    with ThreadPoolExecutor(len(roster.parties)) as pool:
        list(pool.map(one, roster.parties))
    return seen, errors, results


CHOSEN: dict[str, dict[str, Any]] = {
    "least squares": {"alpha": "auto"},
    "hinge": {"loss": "hinge", "C": 0.1},
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("every", [QUICK, pytest.param(EVERY, marks=pytest.mark.slow)], ids=["few", "all"])
def test_in_whatever_round_a_party_leaves_no_other_tells_its_share_of_the_weights(name, every):
    chosen, leaver = CHOSEN[name], "p2"
    places = rounds_of(3, leaver, **chosen)
    before = places[: next(i for i, place in enumerate(places) if place.endswith(READY)) + 1]
    tried = dict.fromkeys((*before[:: every[name]], *before[-3:]))
    assert len(tried) > 8
    for place in tried:
        silent = place == before[-1]  # whoever hears nothing waits
        seen, errors, results = play_without(
            3, leaver, place, patience=0.05 if silent else 60.0, says=None if silent else "", **chosen
        )
        assert isinstance(errors[leaver], GoneError)
        assert not [each for each in seen if each[1].endswith(WEIGHTS)], place
        assert not results, "nobody has a model"


def test_a_party_that_leaves_after_it_confirmed_leaves_sums_that_lack_its_share():
    leaver = "p2"
    *_, last = rounds_of(3, leaver, alpha=0.3)
    assert last.endswith(WEIGHTS)
    seen, errors, results = play_without(3, leaver, last, patience=60.0, says=WEIGHTS, alpha=0.3)
    assert {who for who, place in seen if place.endswith(WEIGHTS)} == {"p1", "p3"}
    assert set(errors) == {"p1", "p2", "p3", "coordinator"}
    assert not results
    assert not [place for _, place in seen if place.endswith("/reveal_weights/ModelWords")]


# A site that others compute for


GIVER = "p5"


@pytest.mark.parametrize("name", CHOSEN)
def test_a_site_may_leave_once_it_has_given_and_its_records_are_in_the_model(name):
    chosen = CHOSEN[name]
    places = rounds_of(5, GIVER, **chosen)
    gave = max(i for i, place in enumerate(places) if place.endswith("/deposit/Deposit"))
    _, errors, results = play_without(5, GIVER, places[gave + 1], patience=60.0, **chosen)
    assert list(errors) == [GIVER]
    assert set(results) == {"p1", "p2", "p3", "p4", "coordinator"}
    held, found = reference.parts([f"p{i + 1}" for i in range(5)], "horizontal", "2"), results["p4"].as_dict()
    if name == "hinge":
        reference.check_hinge(found, held, partition="horizontal")
    else:
        reference.check_machine(found, held, partition="horizontal")


def test_a_site_that_leaves_before_it_has_given_leaves_nothing_told():
    places = rounds_of(5, GIVER, alpha=0.3)
    gave = [place for place in places if place.endswith("/deposit/Deposit")]
    seen, errors, results = play_without(5, GIVER, gave[-1], patience=60.0, says="", alpha=0.3)
    assert not results
    assert not [each for each in seen if each[1].endswith(WEIGHTS)]
    assert any("p5" in str(error) for error in errors.values())
