"""What a job asks for: the request of its protocol, or every request that the steps of a study make.

Rules about protocols and their parameters are about these, so that a study may ask for nothing that its steps could
not ask for by themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from tacit.consortium.jobs.job import Job, plain
from tacit.consortium.jobs.rehearsal import plan_of, takes
from tacit.protocols.sums.secure_sum import OF_SOME
from tacit.registry import PROTOCOLS, is_declared
from tacit.request import Left


class Asked(NamedTuple):
    """A protocol, and its parameters as a job writes them."""

    protocol: str
    params: dict[str, Any]


def requests_of(job: Job) -> tuple[Asked, ...]:
    """Return what the job asks for; of a study, as its rehearsal asks for it."""
    plan = plan_of(job.protocol, job.arguments, job.roster)
    if plan is None:
        protection = msgspec.structs.asdict(job.protection)
        used = {name: value for name, value in protection.items() if name in takes(job.protocol) or value is not None}
        return (Asked(job.protocol, {**job.params, **used}),)
    return tuple(Asked(r.name, {n: plain(n, v) for n, v in _said(r).items()}) for r in plan.requests)


def _said(request: Any) -> dict[str, Any]:
    """Return the parameters of a request that somebody chooses.

    A question about a model also has some that follow from the model, which are declared nowhere and need no rule.
    """
    if not any(isinstance(each, Left) for each in request.inputs.values()):
        return dict(request.params)
    return {name: value for name, value in request.params.items() if is_declared(request.name, name)}


def protocols_of(job: Job) -> tuple[str, ...]:
    """Return the protocols that a job plays."""
    return tuple(dict.fromkeys(asked.protocol for asked in requests_of(job)))


def shows_gram(job: Job) -> bool:
    """Return whether the coordinator sees a gram matrix of the records."""
    return any(PROTOCOLS[name].shows_gram for name in protocols_of(job))


def is_dealt(job: Job) -> bool:
    """Return whether some of the job runs on random numbers that the coordinator deals."""
    return any(PROTOCOLS[name].dealt for name in protocols_of(job))


def is_all_dealt(job: Job) -> bool:
    """Return whether all of the job does, so that nothing of it is summed in the clear."""
    return all(PROTOCOLS[name].dealt for name in protocols_of(job))


def sums_of(job: Job) -> tuple[str, ...]:
    """Return how the sums of a job are protected, each way once."""
    return tuple(dict.fromkeys(asked.params.get("method", job.protection.method) for asked in requests_of(job)))


def sums_of_some(job: Job) -> tuple[str, ...]:
    """Return those ways of a job to sum from which parties may stay away."""
    return tuple(way for way in sums_of(job) if way in OF_SOME)
