"""The estimator, or the pipeline, that the outcome of a job makes, for whoever has the job and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tacit.base.by_name import estimators
from tacit.base.estimator import Federated
from tacit.base.saved import WRONG
from tacit.base.shared import write_concerns_only
from tacit.choreo import Result
from tacit.choreo.declaration import plain
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.rehearsal import defaults_of
from tacit.consortium.jobs.requests import Asked, requests_of
from tacit.errors import LocalError, PeerError
from tacit.federation import Federation
from tacit.federation.backend import Described
from tacit.pipeline import Pipeline
from tacit.protocols.parameters import COLUMNS
from tacit.registry import Outcome, declared, keeps_shares, kind_of
from tacit.study.gate import NotReleasedError
from tacit.study.names import STUDY
from tacit.study.replay import pipeline_of
from tacit.study.steps import read_pipeline


def fit_from(job: Job, done: Outcome) -> Any:
    """Return what the outcome of a job makes, with the parameters that its author gave."""
    with reading_model(job):
        if job.protocol == STUDY:
            with write_concerns_only():
                return _fit_study(job, done)
        return make_estimator(job).receive(_describe(job, _list_unnamed(done)), done)


def leaves_shares(job: Job) -> bool:
    """Whether each site keeps a share of the model, and nobody the whole of it."""
    return kind_of(job.protocol) == "shares" or any(map(_leaves, requests_of(job)))


def _leaves(asked: Asked) -> bool:
    known = declared(asked.protocol)
    given = {**defaults_of(asked.protocol), **asked.params}
    return keeps_shares(asked.protocol) and not any(given.get(name) == value for name, value in known.unless.items())


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
        unreadable = f"{job.roles.coordinator} sent a model that cannot be read"
        raise PeerError(f"{unreadable}: does it run this version?") from None


def _fit_study(job: Job, done: Outcome) -> Pipeline:
    """Return the pipeline of a study, whose own seeds are those that its author gave."""
    fitted = pipeline_of(job.arguments, job.roster, done)
    return read_pipeline(job.arguments["steps"], None).take(fitted)


def _list_unnamed(done: Outcome) -> list[str]:
    """Return names for the columns of a public model, which knows how many it has."""
    found = done.result.as_dict() if isinstance(done.result, Result) else done.result
    known = found if isinstance(found, Mapping) else {}
    width = known.get("columns", getattr(known.get("map"), "columns", None))
    return [f"x{i}" for i in range(min(int(width or 0), COLUMNS))]


def make_estimator(job: Job) -> Any:
    """Return the estimator, not yet fitted, whose request the job is."""
    federation = _describe(job, ())
    kinds: dict[str, Any] = estimators(Federated)
    asked = {name: value for name, value in job.arguments.items() if name != "method"}
    # what protocols call how cells are multiplied, and the method of a sum, have other names in an estimator
    given = {"accept_risk": job.accept_risk, **asked}
    given |= {"method": asked["how"]} if "how" in asked else {}
    given |= {"class_weight": "balanced"} if asked.get("balanced") else {}
    given |= {"C": "auto"} if asked.get("choose_cost") else {}
    given |= {"features": "exact", "loss": "hinge"} if job.protocol == "gram_blind" else {}
    if "privacy_epsilon" in asked:
        given |= {"epsilon": asked["privacy_epsilon"], "delta": asked["privacy_delta"]}
    for kind in kinds.values():
        made = kind()
        made.set_params(**{name: given[name] for name in made.get_params() if name in given})
        if _asks_for(made, federation, job):
            return made
    none = f"a {job.protocol} makes no model of an estimator"
    raise LocalError(f"{none}: leave --model out; tacit resume --json shows what it made")


def _asks_for(made: Any, federation: Federation, job: Job) -> bool:
    try:
        request = made.request(federation)
    except LocalError:
        return False
    # which public seed a random_state gives cannot be told back, and a fitted model needs none
    asked = {name: plain(name, value) for name, value in request.params.items() if name != "seed"}
    known = {name: plain(name, value) for name, value in job.arguments.items()}
    return request.name == job.protocol and all(known.get(name) == value for name, value in asked.items())


def _describe(job: Job, unnamed: Sequence[str]) -> Federation:
    """Return the sites of a job; by rows their columns are `unnamed` where the job does not name them."""
    named = {party: names for party, names in job.columns.items() if names != "all"}
    columns: Mapping[str, Sequence[str]] = named
    if job.partition == "horizontal":
        shared = next(iter(named.values()), unnamed)
        columns = dict.fromkeys(job.parties, shared) if shared else {}
    roles: Any = {"coordinator": job.roles.coordinator, "labeller": job.roles.labeller}
    made = Federation.described(job.parties, partition=job.partition, columns=columns, backend=Described(), **roles)
    return dataclasses.replace(made, named=bool(named))
