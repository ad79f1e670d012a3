"""All parties in one process."""

import os
import threading

import numpy as np
import pytest

import tacit
from tacit.arrays import F64
from tacit.choreo import Coordinator, Everyone, Fact, Holder, Message, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.protocols.template import column_means
from tacit.runtimes import together as module
from tacit.runtimes.apart import in_threads
from tacit.runtimes.together import Together


class Vector(Message, tells=Fact("tests.a_vector", "holders", "aggregate", "all", "a vector")):
    values: F64


def together(roster, roots=None):
    return Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"job", roots))


def test_every_party_is_present(roster):
    with together(roster) as run:
        assert run.present == roster.parties
        assert dict(run.who(Everyone)._entries) == {p: p for p in roster.parties}


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core runs one step at a time")
def test_local_steps_of_several_parties_run_at_the_same_time():
    meet = threading.Barrier(2)
    with together(Roster({Holder: ("ann", "ben")})) as run:
        run.local(Holder, lambda: meet.wait(timeout=10))
    assert not meet.broken


def test_one_core_runs_all_steps_in_the_thread_that_asks(roster, monkeypatch):
    monkeypatch.setattr(module, "count_cores", lambda: 1)
    with together(roster) as run:
        found = run.local(Everyone, threading.get_ident)
    assert set(found._entries.values()) == {threading.get_ident()}


@pytest.mark.slow
def test_a_model_has_the_same_bits_with_any_number_of_threads(monkeypatch):
    X = np.random.default_rng(0).normal(size=(900, 6))
    y = (np.abs(X[:, 0]) + X[:, 1] > 1).astype(int)
    monkeypatch.setattr(module, "QUICK", 0.0)  # every step goes to the threads that there are
    found = set()
    for cores in (1, 2, 5):
        monkeypatch.setattr(module, "count_cores", lambda cores=cores: cores)
        model = tacit.SVC(random_state=0).fit(tacit.Federation.simulate(X, y, parties=4, seed=0))
        found.add((model.model_.weights.tobytes(), model.model_.map.centres.tobytes()))
    assert len(found) == 1


def test_the_error_of_a_step_comes_out_as_it_is(roster):
    def step(me):
        if me == "ben":
            raise ZeroDivisionError("mine")
        return 0.0

    with together(roster) as run, pytest.raises(ZeroDivisionError, match="mine"):
        run.local(Holder, step, run.who(Holder))


def test_time_spent_in_steps_is_booked_to_the_party_that_spent_it(roster):
    def work(me):
        return float(sum(i * i for i in range(300_000))) if me == "ben" else 0.0

    with together(roster) as run:
        run.local(Holder, work, run.who(Holder))
        assert run.cpu["ben"] > 10 * max(run.cpu["ann"], run.cpu["cat"])
        assert "hub" not in run.cpu


def test_messages_pass_through_the_codec(roster):
    with together(roster) as run:
        arrived = run.send(
            Vector,
            Holder >> Coordinator,
            run.local(Holder, lambda: Vector(np.asfortranarray(np.ones((3, 2), dtype=">f8")))),
        )
        found = run.local(
            Coordinator, lambda inbox: (str(inbox["ann"].values.dtype), inbox["ann"].values.flags.c_contiguous), arrived
        )
        assert found._entries == {"hub": ("float64", True)}


def test_the_same_text_gives_the_same_bits_and_ledger_in_one_process_and_apart():
    roster = Roster({Holder: ("ann", "ben", "cat"), Coordinator: ("hub",)})
    rng = np.random.default_rng(3)
    rows = {p: rng.normal(size=(n, 4)) for p, n in (("ann", 5), ("ben", 2), ("cat", 9))}
    parts = {p: part_of(X, None, None, tuple("abcd")) for p, X in rows.items()}

    def text(run):
        return (
            column_means(run, run.hold(Holder, parts)),
            run.ledger.template(),
            [(r.place, r.sender, r.receiver) for r in run.ledger],
        )

    with together(roster) as run:
        means, template, listed = text(run)
    np.testing.assert_allclose(means, np.concatenate(list(rows.values())).mean(axis=0), atol=1e-8)
    for theirs, their_template, their_rows in in_threads(
        roster, text, job=b"job", entropy=lambda me: RootEntropy([me], b"job")
    ).values():
        assert np.array_equal(theirs, means)
        assert (their_template, their_rows) == (template, listed)
