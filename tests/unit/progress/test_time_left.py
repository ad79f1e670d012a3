"""The time left, by a clock that the test moves."""

import itertools

import pytest

from tacit.choreo.progress import AtStep, Progress
from tacit.progress import StepsLeft, TimeLeft

NANO = 1e9


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def k_means_then_solver(clock, *, slower=1.0, solver=60.0):
    """Play 40 s of k-means that tells its share, then rounds of a solver; return (seconds played, seconds left)."""
    left, seen, whole, took = TimeLeft(clock), [], (40.0 + 60.0) * NANO, slower * (40.0 + solver)
    began = clock.now
    for step in range(41):
        left.hear(Progress("k-means", step * NANO, whole, 60.0 * NANO))
        seen.append((clock.now - began, left.seconds))
        clock.now += slower
    for step in range(61):
        left.hear(Progress("solver", (40.0 + step) * NANO, whole))
        seen.append((clock.now - began, left.seconds))
        clock.now += slower * solver / 60.0
    return seen, took


@pytest.mark.parametrize("slower", [0.3, 1.0, 8.0])
def test_the_time_left_is_right_on_a_machine_of_any_speed(clock, slower):
    seen, took = k_means_then_solver(clock, slower=slower)
    for now, left in seen:
        if now > 0.2 * took:
            assert abs(left - (took - now)) <= 0.25 * took


def test_a_solver_that_takes_longer_than_expected_is_found_out_while_it_runs(clock):
    seen, took = k_means_then_solver(clock, solver=120.0)
    half = [left - (took - now) for now, left in seen if 0.5 * took < now < 0.9 * took]
    assert max(map(abs, half)) < 0.2 * took


def test_the_time_left_counts_down_during_a_step_that_tells_nothing_and_never_stands_still(clock):
    left = TimeLeft(clock)
    left.hear(Progress("solver", 0.0, 10.0 * NANO))
    shown = []
    for _ in range(30):
        shown.append(left.seconds)
        clock.now += 1.0
    assert shown[:10] == pytest.approx([10.0 - t for t in range(10)], abs=0.5)
    assert all(after != before for before, after in itertools.pairwise(shown))
    assert min(shown) >= 0.0


def test_nothing_is_said_before_anything_is_known(clock):
    left = TimeLeft(clock)
    assert left.seconds is None
    left.hear(Progress("waiting"))
    clock.now += 5.0
    assert left.seconds is None


def test_the_time_before_the_work_is_known_does_not_count_as_work(clock):
    left = TimeLeft(clock)
    left.hear(Progress(""))
    clock.now += 50.0
    left.hear(Progress("map", 0.0, 4.0 * NANO))
    assert left.seconds == pytest.approx(4.0, rel=0.1)


def test_what_sites_say_counts_down(clock):
    left = TimeLeft(clock)
    left.hear(Progress("solver", 6.0, 10.0, left=4.0))
    clock.now += 3.0
    assert left.seconds == 1.0
    clock.now += 30.0
    assert left.seconds == 0.0


def test_the_time_left_of_a_study_counts_later_steps_by_their_rounds_at_the_pace_so_far(clock):
    rounds = [0]
    left = StepsLeft((10, 40, 5), lambda: rounds[0], clock)
    left.hear(Progress("", step=AtStep(1, 3, "scale")))
    assert left.seconds is None, "nothing has been measured"
    clock.now, rounds[0] = clock.now + 2.0, 4
    assert left.seconds == pytest.approx(0.5 * (6 + 40 + 5))
    clock.now, rounds[0] = clock.now + 3.0, 10
    left.hear(Progress("", step=AtStep(2, 3, "svm")))
    left.hear(Progress("solver", 0.0, 8.0 * NANO, step=AtStep(2, 3, "svm")))
    clock.now, rounds[0] = clock.now + 4.0, 20
    left.hear(Progress("solver", 4.0 * NANO, 8.0 * NANO, step=AtStep(2, 3, "svm")))
    assert left.seconds == pytest.approx(4.0 + 5 * 9.0 / 20, rel=0.1), "the plan of this step counts, once it is known"


def test_a_run_without_steps_has_the_time_left_of_its_phases(clock):
    whole, plain = StepsLeft((), lambda: 7, clock), TimeLeft(clock)
    for told in (Progress("map", 0.0, 8.0 * NANO), Progress("map", 2.0 * NANO, 8.0 * NANO)):
        clock.now += 2.0
        whole.hear(told)
        plain.hear(told)
    assert whole.seconds == plain.seconds
