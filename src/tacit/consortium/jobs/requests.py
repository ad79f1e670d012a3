"""What a job asks for: the request of its protocol, or every request that the steps of a study make.

Rules about protocols and their parameters are about these, so that a study may ask for nothing that its steps could
not ask for by themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tacit.choreo import Holder
from tacit.choreo.declaration import plain
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.rehearsal import plan_of, takes
from tacit.consortium.jobs.told import facts_by_role
from tacit.protocols.shares.deposits import AUTO, choose_committee
from tacit.registry import PROTOCOLS, is_declared
from tacit.request import Left

MODEL = "model"  # a kind of facts


class Asked(NamedTuple):
    """A protocol, and its parameters as a job writes them."""

    protocol: str
    params: dict[str, Any]


def requests_of(job: Job) -> tuple[Asked, ...]:
    """Return what the job asks for; of a study, as its rehearsal asks for it."""
    plan = plan_of(job.protocol, job.arguments, job.roster)
    if plan is None:
        return (Asked(job.protocol, dict(job.params)),)
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


def tells_of_all(job: Job) -> bool:
    """Return whether holders are told a sum in the clear, or a model of all records, of which each has its own part."""
    if not all(PROTOCOLS[name].dealt for name in protocols_of(job)):
        return True
    told = facts_by_role(job.disclosure).get(Holder.name, {})
    return any(fact.kind == MODEL for fact in told.values())


def committees_of(job: Job) -> list[tuple[str, ...]]:
    """Return the parties that compute for all others, once for each that the job chooses."""
    asked = [each.params.get("committee", AUTO) for each in requests_of(job) if "committee" in takes(each.protocol)]
    chosen = dict.fromkeys(choose_committee(each, job.parties, job.partition) for each in asked)
    return [members for members in chosen if len(members) < len(job.parties)]
