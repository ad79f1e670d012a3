"""gather: who is waited for and how long, who is left out, and what the ledger says of it."""

import threading
import time

import pytest
from language_messages import BOTH, Figure, Name, names

import tacit.runtimes.apart as apart_module
from tacit.choreo import ChoreographyError, Coordinator, Holder, PeerError


def gathered(run, at_least=2):
    arrived, present = run.gather(Name, Holder >> Coordinator, names(run), at_least=at_least)
    return present, run.local(Coordinator, tuple, arrived)._entries.get("hub")


def test_gather_publishes_who_answered(together):
    assert together(gathered) == (("ann", "ben", "cat"), ("ann", "ben", "cat"))
    assert together(gathered, absent=lambda _place, party: party == "ben") == (("ann", "cat"), ("ann", "cat"))


def test_gather_asks_who_is_absent_at_its_own_place(together):
    asked = set()

    def absent(place, party):
        asked.add((place, party))
        return False

    together(lambda run: [gathered(run) for _ in range(2)], absent=absent)
    assert asked == {(place, p) for place in ("/Name", "/Name#1") for p in ("ann", "ben", "cat")}


def test_gather_with_too_few_answers_is_a_peer_error_that_names_the_missing(together):
    with pytest.raises(PeerError, match="ann, ben did not answer at /Name, 1 may be missing"):
        together(gathered, absent=lambda _place, party: party in ("ann", "ben"))


def test_gather_that_needs_all_fails_when_one_is_absent(together):
    with pytest.raises(PeerError, match="ben did not answer"):
        together(lambda run: gathered(run, at_least=3), absent=lambda _place, party: party == "ben")


@pytest.mark.parametrize("at_least", [0, -1, 4])
def test_gather_refuses_a_threshold_that_cannot_be_meant(together, at_least):
    words = f"^gather needs a single receiver and at_least in 1..3, got coordinator, {at_least}$"
    with pytest.raises(ChoreographyError, match=words):
        together(lambda run: gathered(run, at_least))


def test_gather_needs_a_single_receiver(outcomes):
    for error in outcomes(lambda run: run.gather(Name, Coordinator >> Holder, names(run, Coordinator), at_least=1)):
        assert isinstance(error, ChoreographyError)
        assert str(error) == "gather needs a single receiver and at_least in 1..1, got holder, 1"


def test_gather_goes_on_without_a_slow_party_whose_late_answer_is_dropped(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 0.1)

    def text(run):
        def slow(me):
            time.sleep(0.6 if me == "ben" else 0.0)
            return Name(me)

        _, present = run.gather(Name, Holder >> Coordinator, run.local(Holder, slow, run.who(Holder)), at_least=2)
        later = run.local(Coordinator, tuple, run.send(Name, Holder >> Coordinator, names(run)))
        return present, later._entries.get("hub")

    found = apart(text)
    assert {present for present, _ in found.values()} == {("ann", "cat")}
    assert found["hub"][1] == ("ann", "ben", "cat")


def test_gather_with_too_many_silent_parties_is_a_peer_error_that_names_them(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 0.05)

    def text(run):
        if run.me in ("ann", "cat"):
            return None  # never gets as far as sending
        return gathered(run)

    found = apart(text, patience=0.3)
    assert isinstance(found["hub"], PeerError)
    assert str(found["hub"]) == "hub waited at /Name for ann, cat, and nothing came: is it running?"
    assert isinstance(found["ben"], PeerError)


def test_gather_waits_with_patience_until_enough_have_answered(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 0.02)

    def text(run):
        def slow(me):
            time.sleep(0.3)
            return Name(me)

        return run.gather(Name, Holder >> Coordinator, run.local(Holder, slow, run.who(Holder)), at_least=2)[1]

    assert all(len(present) >= 2 for present in apart(text).values())


def test_gather_waits_with_full_patience_until_enough_have_answered_and_then_only_a_moment(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 0.05)
    over = threading.Event()

    def text(run):
        def slow(me):
            if me == "ben":
                time.sleep(0.3)  # longer than the moment of grace
            if me == "cat":
                over.wait(60.0)  # and no longer than patience
            return Name(me)

        mine = run.local(Holder, slow, run.who(Holder))
        _, present = run.gather(Name, Holder >> Coordinator, mine, at_least=2)
        over.set()
        return present

    assert set(apart(text).values()) == {("ann", "ben")}


def test_gather_takes_an_answer_that_comes_within_the_moment_of_grace(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 3.0)

    def text(run):
        def slow(me):
            time.sleep(0.3 if me == "cat" else 0.0)
            return Name(me)

        return run.gather(Name, Holder >> Coordinator, run.local(Holder, slow, run.who(Holder)), at_least=2)[1]

    assert set(apart(text).values()) == {("ann", "ben", "cat")}


def test_gather_that_needs_all_has_no_moment_of_grace(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 0.01)

    def text(run):
        def slow(me):
            time.sleep(0.3 if me == "cat" else 0.0)
            return Name(me)

        return run.gather(Name, Holder >> Coordinator, run.local(Holder, slow, run.who(Holder)), at_least=3)[1]

    assert set(apart(text).values()) == {("ann", "ben", "cat")}


def rows_of(run):
    return [(r.place, r.sender, r.receiver, r.type) for r in run.ledger]


def told_present(place, sender="hub", parties=("ann", "ben", "cat", "hub")):
    return [(place, sender, p, "Present") for p in parties if p != sender]


def test_rows_of_a_gather_stand_before_the_row_of_present_and_only_for_those_who_answered(together):
    def text(run):
        gathered(run)
        gathered(run)
        return rows_of(run)

    assert together(text, absent=lambda place, party: (place, party) == ("/Name", "ben")) == [
        ("/Name", "ann", "hub", "Name"),
        ("/Name", "cat", "hub", "Name"),
        *told_present("/Present"),
        ("/Name#1", "ann", "hub", "Name"),
        ("/Name#1", "ben", "hub", "Name"),
        ("/Name#1", "cat", "hub", "Name"),
        *told_present("/Present#1"),
    ]


def test_rows_of_a_gather_are_the_same_at_every_party_the_missing_one_included(apart, monkeypatch):
    monkeypatch.setattr(apart_module, "GRACE", 0.1)

    def text(run):
        def slow(me):
            time.sleep(0.6 if me == "ben" else 0.0)
            return Name(me)

        run.publish(Figure, run.local(Coordinator, lambda: Figure(1.0)))
        run.gather(Name, Holder >> Coordinator, run.local(Holder, slow, run.who(Holder)), at_least=2)
        run.publish(Figure, run.local(Coordinator, lambda: Figure(1.0)))
        return rows_of(run)

    told = [("hub", p, "Figure") for p in ("ann", "ben", "cat")]
    expected = [
        *(("/Figure", *row) for row in told),
        ("/Name", "ann", "hub", "Name"),
        ("/Name", "cat", "hub", "Name"),
        *told_present("/Present"),
        *(("/Figure#1", *row) for row in told),
    ]
    assert apart(text) == dict.fromkeys(("ann", "ben", "cat", "hub"), expected)


def test_gather_counts_the_receivers_own_answer(together):
    def text(run):
        return run.gather(Name, Holder >> Coordinator, names(run), at_least=2)[1]

    assert sorted(together(text, roster=BOTH, absent=lambda _place, party: party == "ann")) == ["ben", "cat"]
