"""Places and the ledger: every verb call has a name of its own, and every message a row at every party."""

import dataclasses

import numpy as np
import pytest

from tacit.arrays import F64
from tacit.choreo import Coordinator, Everyone, Fact, Holder, Ledger, Message, choreography
from tacit.choreo.fact import fact_called
from tacit.choreo.ledger import Row, fold


class Figure(Message, tells=Fact("tests.a_figure", "holders", "aggregate", "all", "a figure")):
    x: float


class Vector(Message, tells=Fact("tests.a_vector", "holders", "aggregate", "all", "a vector")):
    values: F64


def figure():
    return Figure(1.0)


def vector():
    return Vector(np.zeros((2, 3)))


def announce(run):
    run.publish(Figure, run.local(Coordinator, figure))


def places(run):
    return list(dict.fromkeys(row.place for row in run.ledger))


@choreography(opens={Everyone: Fact("tests.a_figure", "holders", "aggregate", "all", "a figure")})
def inner(run):
    announce(run)


@choreography(opens={Everyone: Fact("tests.many_figures", "holders", "aggregate", "all", "many figures")})
def outer(run, rounds=2):
    announce(run)
    for _ in run.rounds(rounds, run.carry()):
        inner(run)
        inner(run)
        announce(run)
    for _ in run.rounds(1, run.carry()):
        announce(run)
    announce(run)
    return places(run)


EXPECTED = [
    "/outer/Figure",
    "/outer/round[0]/inner/Figure",
    "/outer/round[0]/inner#1/Figure",
    "/outer/round[0]/Figure",
    "/outer/round[1]/inner/Figure",
    "/outer/round[1]/inner#1/Figure",
    "/outer/round[1]/Figure",
    "/outer/round#1[0]/Figure",
    "/outer/Figure#1",
]


def test_a_place_is_made_of_protocol_names_round_indices_and_a_repeat_counter(outcomes):
    for found in outcomes(outer):
        assert found == EXPECTED


def test_a_choreography_called_again_has_new_places(together):
    def text(run):
        outer(run, rounds=0)
        return outer(run, rounds=0)

    assert together(text) == [
        f"/{name}/{rest}" for name in ("outer", "outer#1") for rest in ("Figure", "round#1[0]/Figure", "Figure#1")
    ]


def test_nested_loops_have_nested_places(together):
    def text(run):
        for _ in run.rounds(2, run.carry()):
            for _ in run.rounds(2, run.carry()):
                announce(run)
        return places(run)

    assert together(text) == [f"/round[{i}]/round[{j}]/Figure" for i in range(2) for j in range(2)]


def test_a_step_named_like_a_message_does_not_count_as_one(together):
    def text(run):
        x = run.hold(Coordinator, {"hub": 1.0})
        run.publish(Figure, run.local(Coordinator, Figure, x))
        return places(run)

    assert together(text) == ["/Figure"]


def test_no_two_verb_calls_share_a_place(together):
    seen = []

    def text(run):
        real = run._each
        run._each = lambda place, work: (seen.append(place), real(place, work))[1]
        outer(run)
        outer(run)
        return places(run)

    sent = together(text)
    assert len(seen) == 2 * len(EXPECTED)
    assert len(set(seen) | set(sent)) == len(seen) + len(sent)


def test_what_follows_a_loop_left_by_break_is_not_placed_in_its_last_round(together):
    def text(run):
        for _ in run.rounds(3, run.carry()):
            break
        announce(run)
        return places(run)

    assert together(text) == ["/Figure"]


def test_progress_is_told_at_the_end_of_every_round_of_messages(together):
    told = []
    together(sums, progress=told.append)
    assert [each.round for each in told] == [1, 2]


def sums(run):
    run.send(Vector, Holder >> Coordinator, run.local(Holder, vector))
    run.publish(Figure, run.local(Coordinator, figure))
    return run.ledger


def test_a_row_says_who_told_whom_what_and_how_large_it_was(together):
    rows = together(sums).rows
    assert [(r.place, r.sender, r.receiver) for r in rows] == [
        ("/Vector", "ann", "hub"),
        ("/Vector", "ben", "hub"),
        ("/Vector", "cat", "hub"),
        ("/Figure", "hub", "ann"),
        ("/Figure", "hub", "ben"),
        ("/Figure", "hub", "cat"),
    ]
    first, *_, last = rows
    assert (first.sender_role, first.receiver_role, first.type, first.tells) == (
        "holder",
        "coordinator",
        "Vector",
        Vector.tells,
    )
    assert first.shapes == ((2, 3),)
    assert 48 < first.bytes < 120
    assert (last.sender_role, last.receiver_role, last.type, last.tells, last.shapes) == (
        "coordinator",
        "everyone",
        "Figure",
        Figure.tells,
        (),
    )


def test_every_party_writes_every_row_and_leaves_blank_what_it_did_not_see(apart, together):
    whole = together(sums).rows
    for party, ledger in apart(sums).items():
        for mine, full in zip(ledger.rows, whole, strict=True):
            if party in (full.sender, full.receiver):
                assert mine == full
            else:
                assert mine == dataclasses.replace(full, shapes=None, bytes=None)


def test_a_ledger_counts_rounds_and_the_bytes_seen_here(apart, together):
    whole = together(sums)
    assert (whole.rounds, len(whole), whole.bytes) == (2, 6, sum(row.bytes for row in whole))
    assert apart(sums)["ann"].bytes == sum(row.bytes for row in whole if "ann" in (row.sender, row.receiver))


def test_learnt_folds_rows_of_one_kind_and_counts_them(together):
    def text(run):
        for _ in run.rounds(3, run.carry()):
            sums(run)
        return run.ledger

    ledger = together(text)
    learnt = ledger.learnt()
    assert [(line.who, line.learnt, line.from_whom, line.times) for line in learnt] == [
        *[("hub", "a vector", p, 3) for p in ("ann", "ben", "cat")],
        *[(p, "a figure", "hub", 3) for p in ("ann", "ben", "cat")],
    ]
    assert sum(line.bytes for line in learnt) == ledger.bytes


def test_what_an_absent_sender_did_not_send_is_not_counted_as_learnt(together):
    def text(run):
        run.gather(Vector, Holder >> Coordinator, run.local(Holder, vector), at_least=2)
        return run.ledger.learnt()

    learnt = together(text, absent=lambda _place, party: party == "ben")
    assert [line.from_whom for line in learnt if line.who == "hub"] == ["ann", "cat"]


@pytest.mark.parametrize(
    ("place", "folded"),
    [
        ("/train/round[3]/secure_sum#1/Masked", "/train/round[]/secure_sum/Masked"),
        ("/train/round#2[13]/Masked#10", "/train/round[]/Masked"),
        ("/train/Masked", "/train/Masked"),
    ],
)
def test_a_template_folds_round_indices_and_repeat_counters(place, folded):
    assert fold(place) == folded


def test_a_template_is_the_same_however_many_rounds_and_holders_there_were(together, apart):
    def played(n):
        def text(run):
            outer(run, rounds=n)
            return run.ledger.template()

        return text

    expected = (
        "opens outer: everyone: tests.many_figures\n"
        "opens inner: everyone: tests.a_figure\n"
        "/outer/Figure: coordinator > everyone: tests.a_figure\n"
        "/outer/round[]/inner/Figure: coordinator > everyone: tests.a_figure\n"
        "/outer/round[]/Figure: coordinator > everyone: tests.a_figure\n"
    )
    assert together(played(1)) == together(played(3)) == expected
    assert set(apart(played(2)).values()) == {expected}


def test_a_template_shows_a_new_disclosure_once():
    row = Row("/t/round[0]/M", "ann", "hub", "holder", "coordinator", "M", (fact_called("x"),), (), 10)
    again = dataclasses.replace(row, place="/t/round[1]/M", sender="ben", bytes=99)
    other = dataclasses.replace(row, receiver="ben", receiver_role="holder")
    assert Ledger([row, again]).template() == "/t/round[]/M: holder > coordinator: x\n"
    assert (
        Ledger([row, again, other]).template()
        == "/t/round[]/M: holder > coordinator: x\n/t/round[]/M: holder > holder: x\n"
    )


def test_messages_between_members_are_written_under_their_role(together):
    def text(run):
        first, second, _ = run.members(Holder)
        run.send(Figure, first >> second, run.local(first, figure))
        return run.ledger.rows

    (row,) = together(text)
    assert (row.sender, row.receiver, row.sender_role, row.receiver_role) == ("ann", "ben", "holder", "holder")
