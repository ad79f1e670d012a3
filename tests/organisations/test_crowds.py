"""A sum that goes on without a party that is gone for good; twenty parties; arrays larger than anybody's patience."""

from __future__ import annotations

import time

import numpy as np

from conformance.case import merged, of_party
from conformance.cases import CASES
from conformance.cases_sums import Count, arrays, count
from organisations.heavy import transfer
from organisations.relay import Meeting, Relay
from tacit.choreo import Coordinator, Holder
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.sums.secure_sum import protect, secure_sum
from tacit.runtimes.nats import courier
from tacit.runtimes.nats.durable import Limits


class GoneError(Exception):
    """A party that was killed for good."""


def three_sums(me, run, x):
    held = run.hold(*of_party(x, me)["x"])
    by = protect(run, to=Coordinator, method="threshold")
    fixed = FixedPoint(32, terms=5)
    first = secure_sum(run, held, to=Coordinator, by=by, fixed=fixed)
    if me == "p5":
        raise GoneError
    return {"first": first, "others": [secure_sum(run, held, to=Coordinator, by=by, fixed=fixed) for _ in range(2)]}


def test_a_threshold_sum_goes_on_without_a_party_that_is_gone(tmp_path):
    roster = CASES["secure_sum_threshold"].roster(5)
    x = arrays(roster, (17,))
    with Relay(tmp_path, roster[Holder]) as relay:
        meeting = Meeting(relay, roster, limits=Limits(silence=60.0, grace=1.0, quiet=2.0))
        start = time.monotonic()
        played = meeting.play(lambda me, run: three_sums(me, run, x), finish=3.0)
        seconds = time.monotonic() - start
        meeting.close()
    assert list(meeting.errors) == ["p5"]
    del played["p5"]
    parts = x["x"][1]
    everyone, others = sum(parts.values()), sum(v for p, v in parts.items() if p != "p5")
    np.testing.assert_allclose(merged({p: r["first"] for p, r in played.items()})["coordinator"], everyone, atol=1e-8)
    for i in range(2):
        np.testing.assert_allclose(
            merged({p: r["others"][i] for p, r in played.items()})["coordinator"], others, atol=1e-8
        )
    assert seconds < 20, "the dead are waited for once, not at every step"


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
