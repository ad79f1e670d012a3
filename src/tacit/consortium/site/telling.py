"""How far a job is, in the words in which whoever waits for it is told: in Python, at a command line, at a site."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from tacit.choreo.progress import Progress
from tacit.consortium.jobs.job import Job
from tacit.consortium.site.coordinator import News
from tacit.progress.watch import describe
from tacit.report.words import clean, cost_of, human_bytes, listing

WAITING = ("proposed", "waiting")  # states in which sites have not answered yet


def progress_of(news: News) -> Progress:
    """Return how far a job is, as far as its coordinator tells."""
    phase = describe_wait(news) if news.state in WAITING else "" if news.rounds else news.state
    moved = human_bytes(news.bytes) if news.bytes else ""
    return Progress(phase, news.rounds, news.total, gap=news.gap, moved=moved, step=news.step)


def describe_wait(news: News) -> str:
    """Return whose consent is missing."""
    late = [f"{p} ({said})" if said == "refuses" else p for p, said in news.answers.items() if said != "accepts"]
    return f"waiting for {listing(late)}" if late else "everybody accepts: about to start"


def describe_running(news: News) -> str:
    """Return how far a run is, in one line."""
    going = describe(dataclasses.replace(progress_of(news), phase="")) or "starting"
    return f"without {listing(news.without)}, {going}" if news.without else going


def describe_progress(news: News) -> str:
    """Return how far a job is, in one line."""
    if news.state in WAITING:
        return describe_wait(news)
    if news.state == "finished":
        return cost_of(news.rounds, news.bytes, news.seconds)
    if news.state != "running" or news.reasons:
        return "; ".join(clean(reason) for reason in news.reasons)
    return describe_running(news)


def read_figures(job: str, figures: Mapping[str, Any]) -> News:
    """Return as news what a site keeps of its own run (`runs.figures_of`)."""
    known = {name: value for name, value in figures.items() if name in News.__struct_fields__}
    return msgspec.convert({**known, "job": job, "state": "running"}, News)


def describe_end(job: Job, news: News | None) -> str:
    """Return why a job that is over, or stopped, has no result."""
    if news is None:
        return f"{job.coordinator} gives no news of job {job.id}: ask again with tacit status"
    ended = news.state if news.state == "expired" else f"was {news.state}"
    return f"job {job.id} {ended}: {'; '.join(clean(reason) for reason in news.reasons)}"


def describe_remedy(news: News | None, again: str) -> str:
    """Return how a run that stopped is taken up again; one whose records have changed since is not."""
    if news is None or news.state != "stopped":
        return ""
    return f"; once that is settled: {again}; if records or the job had to change for it, propose it again"


@contextmanager
def leaving(job: Job, again: str) -> Iterator[None]:
    """Say to whoever stops waiting (Ctrl-C) that the job goes on, and how it is taken up again."""
    try:
        yield
    except KeyboardInterrupt:
        short = job.id[:8]
        goes_on = f"job {short} goes on at its sites; to have its result: {again}"
        raise KeyboardInterrupt(f"{goes_on}; to end it: tacit withdraw {short}") from None
