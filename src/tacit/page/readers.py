"""Who will learn what: the facts of a job by reader, the gravest first."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tacit.choreo.fact import GRANULARITIES, KINDS, SUBJECTS, UNKNOWN, Fact
from tacit.choreo.ledger import read_opened, read_template
from tacit.consortium.consent.proposals import Planned
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.requests import sites_of
from tacit.report.card import outermost
from tacit.report.decision import say_fact

# what nobody here can judge comes first, then what is about single persons
BY_KIND = (
    UNKNOWN, "record", "label", "answer", "membership", "model", "aggregate", "count", "size", "key", "nothing",
)  # fmt: skip
BY_GRANULARITY = (UNKNOWN, "cell", "record", "group", "column", "party", "class", "all", "none")
GRAVE = frozenset({UNKNOWN, "record", "label", "answer", "membership"})  # kinds that people are warned of
SINGLE = frozenset({UNKNOWN, "cell", "record"})  # granularities likewise


@dataclass(frozen=True)
class Reader:
    """A role, the sites that have it, and what they will know: facts, whose prose is about this job."""

    role: str
    sites: tuple[str, ...]
    facts: tuple[Fact, ...]


def list_readers(job: Job, *, messages: bool = True) -> list[Reader]:
    """Return what each role learns, by the messages of the job; or what it knows when all is over."""
    found: dict[str, dict[Fact, None]] = {}
    if messages:
        for line in read_template(job.disclosure):
            if not line.opens:
                found.setdefault(line.reader, {}).update(dict.fromkeys(line.facts))
    else:
        for opened in outermost(read_opened(job.disclosure)):
            found.setdefault(opened.role, {}).update(dict.fromkeys(opened.facts))
    run = Planned.of(job)
    said = {role: [replace(fact, prose=say_fact(fact, run)) for fact in facts] for role, facts in found.items()}
    told = {role: tuple(sorted((fact for fact in facts if fact.prose), key=rank)) for role, facts in said.items()}
    readers = [Reader(role, sites_of(job, role), facts) for role, facts in told.items() if facts]
    return sorted(readers, key=lambda reader: min(map(rank, reader.facts)))


def rank(fact: Fact) -> tuple[bool, int, int]:
    """Return how grave a fact is: the smaller, the graver; what is about single records comes before all else."""
    return not is_grave(fact), BY_KIND.index(fact.kind), BY_GRANULARITY.index(fact.granularity)


def is_grave(fact: Fact) -> bool:
    """Return whether a fact is about single records."""
    return fact.kind in GRAVE and fact.granularity in SINGLE and fact.subject not in {"nobody", "reader"}


def describe_fact(fact: Fact) -> str:
    """Return kind, granularity and subject of a fact in words."""
    return f"{KINDS[fact.kind]}, {GRANULARITIES[fact.granularity]}; {SUBJECTS[fact.subject]}"
