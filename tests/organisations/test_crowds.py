"""A training that goes on without a party that is gone for good; twenty parties; large arrays."""

from __future__ import annotations

import time

from conformance.case import merged, of_party
from conformance.cases import CASES
from conformance.cases_sums import Count, count
from organisations.heavy import transfer
from organisations.relay import Meeting, Relay
from tacit.choreo import Coordinator, Holder
from tacit.runtimes.nats import courier
from tacit.runtimes.nats.durable import Limits


class GoneError(Exception):
    """A party that was killed for good."""


def give_and_leave(case, inputs, me, run):
    """Play a case; p5 is killed as soon as it has given its shares, before anything is heard of the model."""
    exchange = run._exchange

    def leave(place, *given):
        if me == "p5" and "/solve_ridge/" in place:
            time.sleep(1.0)  # letters are posted in the background
            raise GoneError
        return exchange(place, *given)

    run._exchange = leave
    return case.run(run, of_party(inputs, me))


def test_a_committee_goes_on_without_a_site_that_has_given_its_shares(tmp_path):
    case = CASES["train_svm_rows_committee"]
    roster = case.roster(5)
    inputs = case.inputs(roster)
    with Relay(tmp_path, roster[Holder]) as relay:
        meeting = Meeting(relay, roster, limits=Limits(silence=5.0))
        played = meeting.play(lambda me, run: give_and_leave(case, inputs, me, run), finish=3.0)
        meeting.close()
    assert list(meeting.errors) == ["p5"]
    del played["p5"]
    case.check(merged(played), inputs)  # with the records of all five


def compute_for_long(rows):
    end = time.monotonic() + 5.0
    while time.monotonic() < end:
        rows = rows + 1e-9
    return count(rows)


def test_a_party_that_computes_for_long_is_heard_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(courier, "BEAT", 0.2)
    roster = CASES["gather"].roster(2)
    inputs = CASES["gather"].inputs(roster)
    with Relay(tmp_path, roster[Holder]) as relay:
        meeting = Meeting(relay, roster, limits=Limits(silence=3.0))

        def part(me, run):
            rows = run.hold(*of_party(inputs, me)["rows"])
            return run.send(Count, Holder >> Coordinator, run.local(Holder, compute_for_long, rows))

        meeting.play(part)
        meeting.close()
    assert meeting.errors == {}


def test_twenty_parties(tmp_path):
    case = CASES["template"]
    roster = case.roster(20)
    inputs = case.inputs(roster)
    with Relay(tmp_path, roster[Holder]) as relay:
        meeting = Meeting(relay, roster)
        played = meeting.play(lambda me, run: case.run(run, of_party(inputs, me)), finish=40.0)
        meeting.close()
    assert meeting.errors == {}
    case.check(merged(played), inputs)


def test_a_large_array_arrives_whole_in_bounded_memory(tmp_path):
    told = transfer(tmp_path, megabytes=96)
    assert told["received"]["digest"] == told["sent"]["digest"]
    for side in told.values():
        assert side["grew_mb"] < 3.2 * 96 + 40
