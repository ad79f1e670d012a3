"""What a job asks for: the request of its protocol, or every request that the steps of a study make.

Rules about protocols and their parameters are about these, so that a study may ask for nothing that its steps could
not ask for by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tacit.choreo import Holder
from tacit.choreo.declaration import plain
from tacit.choreo.fact import Fact
from tacit.choreo.ledger import read_template
from tacit.choreo.role import Everyone
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.rehearsal import plan_of, takes
from tacit.errors import LocalError
from tacit.protocols.facts import DEALT
from tacit.protocols.shares.deposits import AUTO, choose_committee
from tacit.registry import PROTOCOLS, is_declared, parameter_of
from tacit.request import Left
from tacit.study.names import STUDY
from tacit.study.steps import takes_gaps as first_takes_gaps

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


def takes_gaps(job: Job) -> bool:
    """Return whether records may lack values, or hold texts: as the first step of a study takes them."""
    steps = job.arguments.get("steps") if job.protocol == STUDY else None
    try:
        return PROTOCOLS[job.protocol].takes_gaps and (not steps or first_takes_gaps(steps))
    except LocalError:  # steps that cannot be read are refused by their rehearsal, with the reason
        return True


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


# What each role is told, by the facts of a ledger's template, before anything is run


SILENT = {"nothing", "key"}  # kinds of facts that tell nothing of anybody's data
SINGLE = {"record", "cell"}  # granularities at which a fact is about one record
OWNED = ("membership", "cell")  # who has which column or cell: of the table, and not of a record
OF_OTHERS = {"holders", "holder", "labeller", "unknown"}  # subjects that are not the reader's own data
Facts = dict[str, Fact]


def facts_by_role(template: str) -> dict[str, Facts]:
    """Return what each role is told, by message or as a whole, under the facts' identifiers; everyone's is each's."""
    found: dict[str, Facts] = {}
    for line in read_template(template):
        found.setdefault(line.reader, {}).update({fact.identifier: fact for fact in line.facts})
    shared = found.get(Everyone.name, {})
    return {role: {**facts, **shared} for role, facts in found.items()}


def list_told(facts: Facts) -> Facts:
    """Return the facts that tell something of somebody's data."""
    return {name: fact for name, fact in facts.items() if fact.kind not in SILENT}


def list_single(facts: Facts) -> tuple[str, ...]:
    """Return the facts that tell something of each single record, or cell, of others."""
    of_others = {key: fact for key, fact in list_told(facts).items() if fact.subject in OF_OTHERS}
    single = {key: fact for key, fact in of_others.items() if fact.granularity in SINGLE}
    return tuple(key for key, fact in single.items() if (fact.kind, fact.granularity) != OWNED)


def sites_of(job: Job, role: str) -> tuple[str, ...]:
    """Return the sites that have a role in a job."""
    if role == Everyone.name:
        return job.roster.parties
    return next((sites for known, sites in job.roster.roles.items() if known.name == role), ())


def has_dealer(template: str) -> bool:
    """Return whether the coordinator deals the masks of shares, and so could open them together with any one holder."""
    return any(fact.identifier == DEALT.identifier for line in read_template(template) for fact in line.facts)


# The values of a request's parameters: those that its author chose, and how they differ from the defaults


TRIED = ("settings",)  # of searches


def values_of(asked: Asked) -> dict[str, Any]:
    """Return every parameter of a request as a job writes it: given, or by default."""
    known = [name for name in takes(asked.protocol) if is_declared(asked.protocol, name)]
    return {**{name: default_of(asked.protocol, name) for name in known}, **asked.params}


def chosen_values(asked: Asked) -> Iterator[tuple[str, Any]]:
    """Yield every parameter that somebody chooses, and those of each candidate of a search."""
    for name, value in values_of(asked).items():
        if not parameter_of(asked.protocol, name).follows:
            yield name, value
    for name in TRIED:
        for candidate in asked.params.get(name, ()):
            yield from ((name, value) for name, value in candidate["pairs"])


def default_of(protocol: str, name: str) -> Any:
    """Return the default in the protocol's signature as a job writes it; None if there is none."""
    known = takes(protocol).get(name)
    return None if known is None or known.default is known.empty else plain(name, known.default)


def is_default(protocol: str, name: str, value: Any) -> bool:
    """Return whether the protocol has a default for the parameter, and this is it."""
    known = takes(protocol).get(name)
    if known is None:  # of the protection, and nothing this protocol takes
        return True
    return known.default is not known.empty and value == default_of(protocol, name)
