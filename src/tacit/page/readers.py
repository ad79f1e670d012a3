"""Who will learn what: the facts of a job by reader, the gravest first."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.fact import GRANULARITIES, KINDS, SUBJECTS, UNKNOWN, Fact
from tacit.choreo.ledger import read_opened, read_template
from tacit.choreo.role import Everyone
from tacit.consortium.jobs.job import Job
from tacit.report.card import outermost

# what nobody here can judge comes first, then what is about single persons
BY_KIND = (
    UNKNOWN, "record", "label", "answer", "membership", "model", "aggregate", "count", "size", "key", "nothing",
)  # fmt: skip
BY_GRANULARITY = (UNKNOWN, "cell", "record", "group", "column", "party", "class", "all", "none")
GRAVE = frozenset({UNKNOWN, "record", "label", "answer", "membership"})  # kinds that people are warned of
SINGLE = frozenset({UNKNOWN, "cell", "record"})  # granularities likewise


@dataclass(frozen=True)
class Reader:
    """A role, the sites that have it, and what they will know."""

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
    readers = [Reader(role, sites_of(job, role), tuple(sorted(facts, key=rank))) for role, facts in found.items()]
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


def sites_of(job: Job, role: str) -> tuple[str, ...]:
    """Return the sites that have a role in a job."""
    if role == Everyone.name:
        return job.roster.parties
    return next((sites for known, sites in job.roster.roles.items() if known.name == role), ())
