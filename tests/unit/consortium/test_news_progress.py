"""How far a run is, as a coordinator tells whoever submitted it: no more than the ledger and a watch tell anyway."""

import time
from types import SimpleNamespace

import msgspec
import pytest

from tacit.choreo import Ledger
from tacit.choreo.progress import AtStep, Progress
from tacit.consortium.site.coordinator import Clearing, News, roughen
from tacit.consortium.site.runs import Runs
from tacit.consortium.site.telling import describe_running


def site_that_plays(*told, planned=8):
    """A site whose run tells these."""
    live = {
        "run": SimpleNamespace(ledger=Ledger()), "courier": SimpleNamespace(places={"north": "/train_svm"}),
        "began": time.time(), "planned": planned,
    }  # fmt: skip
    site = SimpleNamespace(live={"job": live})
    for each in told:
        Runs._progress(site, SimpleNamespace(id="job"), each)
    return site


def news_of(site):
    return msgspec.convert({"job": "job", "state": "running", **Clearing._progress_of(site, "job")}, News)


def test_news_tell_rounds_of_all_that_are_planned():
    news = news_of(site_that_plays(Progress(round=3, rounds=8), planned=120))
    assert (news.rounds, news.total) == (0, 120)
    assert "of 120" in describe_running(msgspec.structs.replace(news, rounds=7))


@pytest.mark.parametrize("gap", [0.0314, 5.0, 1e-9])
def test_a_gap_has_one_digit(gap):
    assert roughen(gap) == pytest.approx(gap, rel=0.2)
    assert roughen(None) is None


def test_news_tell_the_step_and_a_gap_of_one_digit():
    step = AtStep(2, 3, "svm")
    news = news_of(site_that_plays(Progress(round=3, gap=0.03141, step=step)))
    assert (news.step, news.gap) == (step, 0.03)
    assert describe_running(news).startswith("step 2 of 3 (svm)")


def test_the_share_of_a_holders_own_step_stays_with_it():
    one, other = (news_of(site_that_plays(Progress(share=share, round=3))) for share in (0.1, 0.9))
    assert msgspec.structs.replace(one, seconds=0.0) == msgspec.structs.replace(other, seconds=0.0)


def test_a_run_that_has_not_said_anything_is_starting():
    assert describe_running(News(job="job", state="running")) == "starting"
