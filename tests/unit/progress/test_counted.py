"""Counted loops, and what a run makes of them."""

import threading

import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.choreo.progress import Meter, Phase
from tacit.counted import Loop, counted, listening, stretch
from tacit.crypto.pads.entropy import RootEntropy
from tacit.runtimes.together import Together

ROSTER = Roster({Holder: ("ann", "ben"), Coordinator: ("hub",)})


def test_a_counted_loop_is_the_loop_itself_to_who_does_not_listen():
    assert list(counted("abc")) == ["a", "b", "c"]


def test_loops_within_each_other_tell_one_share():
    told = []
    with listening(told.append):
        for _ in counted("ab"):
            for _ in counted("xyz"):
                pass
    assert told == pytest.approx([1 / 6, 1 / 3, 1 / 2, 1 / 2, 2 / 3, 5 / 6, 1.0, 1.0])


def test_loops_after_each_other_share_what_is_around_them():
    told = []
    with listening(told.append):
        with stretch(0.0, 0.8):
            list(counted("ab"))
        with stretch(0.8, 1.0):
            list(counted("ab"))
    assert told == pytest.approx([0.4, 0.8, 0.9, 1.0])


def test_a_loop_that_is_left_early_leaves_nothing_behind():
    told = []
    with listening(told.append):
        for _ in counted("ab"):
            break
        list(counted("ab"))
    assert told == [0.5, 1.0]


def test_a_loop_that_outlasts_what_is_usual_is_never_through_before_its_end():
    loop, shares = Loop(500, usual=40), []
    for done in range(300):
        loop.done = done
        shares.append(loop.share)
    assert shares[20] == 0.5
    assert max(shares) < 1.0


def test_a_loop_that_converges_is_expected_to_go_on_as_it_does():
    slow, fast = Loop(500, usual=40, until=1e-3), Loop(500, usual=40, until=1e-3)
    for t in range(1, 20):
        slow.done = fast.done = t
        slow.far.append(1.0 / t)
        fast.far.append(1.0 / t**2)
    assert fast.expected < 40 < slow.expected


def play(text):
    told = []
    with Together(ROSTER, job=b"job", entropy=RootEntropy(ROSTER.parties, b"job"), progress=told.append) as run:
        text(run)
    return told


def test_a_run_tells_phase_work_round_and_gap():
    def text(run):
        run.expect(Phase("k-means", coordinator=30.0), Phase("solver", coordinator=70.0))
        run.local(Coordinator, work_through)
        run.phase("solver")
        for t in run.rounds(7, run.carry()):
            run.note(gap=1.0 / (t + 1))

    told = play(text)
    assert [each.phase for each in told] == ["k-means"] * 4 + ["solver"] * 8
    assert [each.done for each in told] == pytest.approx([0, 10, 20, 30, 30, 40, 50, 60, 70, 80, 90, 100])
    assert {each.total for each in told} == {100.0}
    assert (told[-1].round, told[-1].rounds, told[-1].gap, told[0].ahead) == (7, 7, pytest.approx(1 / 7), 70.0)


def work_through():
    list(counted("abc"))


def test_the_step_of_several_parties_is_as_far_as_they_are_on_average():
    def text(run):
        run.expect(Phase("map", holders=10.0 * run.meter._abreast))
        run.local(Holder, work_through)

    told = play(text)
    assert told[-1].done == pytest.approx(10.0)
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert len(told) == 7


def test_what_several_threads_find_out_is_told_in_order_however_slow_the_listener_is():
    told, overtaken = [], threading.Event()

    def hear(progress):
        if progress.done == 1.0:
            overtaken.wait(0.2)
        told.append(progress.done)
        if progress.done > 1.0:
            overtaken.set()

    def work(party):
        with meter.counting(party):
            list(counted("ab"))

    meter = Meter(hear, abreast=1)
    meter.expect(Phase("map", holders=4.0))
    with meter.step(("ann", "ben")):
        threads = [threading.Thread(target=work, args=(party,)) for party in ("ann", "ben")]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert told == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_phase_that_the_protocol_around_it_did_not_plan_is_part_of_its_own():
    def text(run):
        run.expect(Phase("selection", coordinator=4.0))
        for _ in run.rounds(2, run.carry(), work=(3.0, 1.0)):
            run.phase("solver")
            for _ in run.rounds(2, run.carry()):
                pass

    told = play(text)
    assert {each.phase for each in told} == {"selection"}
    assert [each.done for each in told] == pytest.approx([0.0, 1.5, 3.0, 3.0, 3.5, 4.0, 4.0])


def test_an_expectation_can_be_made_of_published_values_only():
    def text(run):
        run.expect(Phase("map", holders=2.0 * run.local(Coordinator, float)))

    with pytest.raises(TypeError):
        play(text)
