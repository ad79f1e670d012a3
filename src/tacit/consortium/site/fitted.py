"""The pipeline that the outcome of a study makes, for whoever has the job and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.base.saved import WRONG
from tacit.base.shared import write_concerns_only
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.requests import requests_of
from tacit.errors import LocalError, PeerError
from tacit.pipeline import Pipeline
from tacit.registry import Outcome, declared
from tacit.study.gate import NotReleasedError
from tacit.study.names import STUDY
from tacit.study.replay import pipeline_of
from tacit.study.steps import read_pipeline


def fit_from(job: Job, done: Outcome) -> Pipeline:
    """Return the fitted pipeline of a study, whose own seeds are those that its author gave."""
    check_fits(job)
    with reading_model(job), write_concerns_only():
        return read_pipeline(job.arguments.get("steps") or (), None).take(pipeline_of(job.arguments, job.roster, done))


def check_fits(job: Job) -> None:
    """Raise if the outcome of a job makes nothing that can be saved or has a report."""
    if job.protocol != STUDY:
        none = f"a job of {job.protocol} makes no model"
        raise LocalError(f"{none}: leave --model and --report out; tacit resume --json shows what it made")


def leaves_shares(job: Job) -> bool:
    """Whether each site keeps a share of the model, and nobody the whole of it."""
    return any(declared(asked.protocol).keeps_shares for asked in requests_of(job))


def makes_no_model(job: Job) -> bool:
    """Whether the job is a look at a table and nothing else."""
    return job.protocol == STUDY and not job.arguments.get("steps")


@contextmanager
def reading_model(job: Job) -> Iterator[None]:
    """Say of whom a model is that cannot be read."""
    try:
        yield
    except NotReleasedError:
        raise
    except (PeerError, *WRONG):
        unreadable = f"{job.coordinator} sent a model that cannot be read"
        raise PeerError(f"{unreadable}: does it run this version?") from None
