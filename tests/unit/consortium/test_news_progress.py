"""How far a run is, as a coordinator tells whoever submitted it: no more than the ledger and a watch tell anyway."""

import time
from types import SimpleNamespace

import msgspec
import pytest

from tacit.choreo import Ledger
from tacit.choreo.progress import AtStep, Progress
from tacit.consortium.site.coordinator import Clearing, News, coarsen
from tacit.consortium.site.runs import Runs
from tacit.consortium.site.telling import describe_running
from tacit.progress import TimeLeft


def site_that_plays(*told, seconds=4.0):
    """A site whose run tells these, the same time after each other."""
    now = [0.0]
    live = {
        "run": SimpleNamespace(ledger=Ledger()), "courier": SimpleNamespace(places={"north": "/pan_svm"}),
        "began": time.time() - seconds * len(told), "left": TimeLeft(lambda: now[0]),
    }  # fmt: skip
    site = SimpleNamespace(live={"job": live})
    for each in told:
        Runs._progress(site, SimpleNamespace(id="job"), each)
        now[0] += seconds
    return site


def news_of(site):
    return msgspec.convert({"job": "job", "state": "running", **Clearing._progress_of(site, "job")}, News)


def test_news_tell_phase_round_and_the_time_left():
    site = site_that_plays(
        Progress("k-means", 0.0, 100.0, 80.0), Progress("solver", 20.0, 100.0, round=3, rounds=8, gap=0.1)
    )
    news = news_of(site)
    assert (news.phase, news.done, news.total) == ("solver", 3, 8)
    assert news.left == pytest.approx(12.0, rel=0.3)


def test_rounds_stay_known_where_no_loop_is_played():
    site = site_that_plays(Progress("solver", 1.0, 2.0, round=3, rounds=8), Progress("output weights", 1.5, 2.0))
    assert (news_of(site).done, news_of(site).total) == (3, 8)


def test_news_tell_tables_of_nearly_the_same_size_alike():
    def left(work):
        return news_of(
            site_that_plays(Progress("map", 0.0, work, 0.5 * work), Progress("map", 10.0, work, 0.5 * work))
        ).left

    assert left(80.0) == left(85.0)


def test_news_tell_no_time_before_some_was_measured():
    assert news_of(site_that_plays(Progress("map", 0.0, 5e9))).left is None


@pytest.mark.parametrize("seconds", [0.02, 1.0, 37.0, 5000.0])
def test_a_coarse_time_is_off_by_a_fifth_at_most(seconds):
    assert coarsen(seconds) == pytest.approx(seconds, rel=0.2)


def test_nothing_is_no_time():
    assert coarsen(None) is None
    assert coarsen(0.0) is None


def test_news_tell_the_step_and_a_gap_of_one_digit():
    step = AtStep(2, 3, "svm")
    site = site_that_plays(Progress("solver", 1.0, 9.0, round=3, rounds=8, gap=0.03141, step=step))
    news = news_of(site)
    assert (news.step, news.gap) == (step, 0.03)
    assert describe_running(news).startswith("step 2 of 3 (svm), solver, round 3 of at most 8, gap 0.03")


def test_rounds_of_a_step_that_is_over_are_not_those_of_the_next():
    first, second = AtStep(1, 2, "scale"), AtStep(2, 2, "svm")
    site = site_that_plays(Progress("", round=3, rounds=8, step=first), Progress("map", step=second))
    assert (news_of(site).done, news_of(site).total) == (0, 0)


def test_a_run_that_has_not_said_anything_is_starting():
    assert describe_running(News(job="job", state="running")) == "starting"
