"""Who learns what by a job, and whether that one could identify a record: alone, with whom, or by which attack.

All of it follows from the facts of the job's disclosure, from the exposures that its columns and rows give, and from
what the catalogue of attacks declares to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tacit.attacks.study import Attack
from tacit.choreo.role import Everyone
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.jobs.attacked import find_attacks
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.told import Facts, facts_by_role, list_single, list_told
from tacit.federation.checks import FEWEST
from tacit.federation.exposure import Exposure
from tacit.report.words import listing


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An attack that starts from what somebody is told: what it takes besides, and what stops it."""

    attack: str
    shows: str
    reads: tuple[str, ...]
    needs: str
    stopped: str


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    """One reader of facts: what it learns, what it could find out with whom, and the same in one line."""

    name: str
    roles: tuple[str, ...]
    learns: tuple[str, ...]
    single: tuple[str, ...]
    attacks: tuple[Finding, ...]
    coalitions: tuple[str, ...]
    line: str


def find_recipients(job: Job) -> list[Recipient]:
    """Return everybody who learns something by the job: its sites, and who submits it."""
    told, exposed = facts_by_role(job.disclosure), exposures_of(job)
    return [_recipient(job, name, roles, told, exposed) for name, roles in _roles_of(job).items()]


def _roles_of(job: Job) -> dict[str, tuple[str, ...]]:
    """Return the roles of every member that the job names, in the words of the disclosure."""
    roles: dict[str, list[str]] = {}
    for role, names in job.roster.roles.items():
        for name in names:
            roles.setdefault(name, [Everyone.name]).append(role.name)
    roles.setdefault(job.submitter, [Everyone.name])  # its submitter reads what is public of the result
    return {name: tuple(dict.fromkeys(found)) for name, found in roles.items()}


def _recipient(
    job: Job, name: str, roles: Sequence[str], told: Mapping[str, Facts], exposed: Sequence[Exposure]
) -> Recipient:
    facts = {key: fact for role in roles for key, fact in told.get(role, {}).items()}
    attacks, single, coalitions = _list_findings(job, facts), list_single(facts), tuple(_coalitions(name, exposed))
    return Recipient(
        name=name,
        roles=tuple(roles),
        learns=tuple(list_told(facts)),
        single=single,
        attacks=attacks,
        coalitions=coalitions,
        line=f"could identify a record: {say_whether(single, attacks, coalitions)}",
    )


def _list_findings(job: Job, facts: Facts) -> tuple[Finding, ...]:
    """Return all attacks that start from these facts; a job may be without some of the rules that stop them."""
    accepted = job.accept_risk or len(job.parties) < FEWEST
    still = find_attacks(facts, stopped=False, accepted=accepted)
    stopped = find_attacks(facts, stopped=True, accepted=accepted)
    found = [(attack, "") for attack in still] + [(attack, attack.stopped) for attack in stopped]
    return tuple(_finding(attack, facts, rule) for attack, rule in found)


def _finding(attack: Attack, facts: Facts, rule: str) -> Finding:
    used = tuple(name for name in attack.reads if name in facts)
    return Finding(attack=attack.name, shows=attack.shows, reads=used, needs=attack.needs, stopped=rule)


def _coalitions(name: str, exposed: Sequence[Exposure]) -> Iterator[str]:
    """Yield what coalitions can work out that this one is in: with all, everybody is but the one that is exposed."""
    for found in exposed:
        with_one = found.who == "with one" and name in found.parties
        with_all = found.who == "with all" and any(party != name for party in found.parties)
        of_members = found.who == "members" and name in found.parties
        if name == found.site or with_one or with_all or of_members:
            yield found.text


def say_whether(single: Sequence[str], attacks: Sequence[Finding], coalitions: Sequence[str]) -> str:
    """Return the answer in one line: no, with whom, or by which attack."""
    ways = [f"by {f.attack}{f', if it has {f.needs}' if f.needs else ''}" for f in attacks if not f.stopped]
    if coalitions:
        ways.append("with others: " + "; ".join(coalitions))
    if single and not ways:
        ways.append(f"with whoever knows whose records they are: it is told of each record {listing(single)}")
    if ways:
        return "; ".join(ways)
    stopped = [found.attack for found in attacks if found.stopped]
    tried = f" ({listing(stopped)} would start from what it is told, and rules of this version stop it)"
    return f"no{tried if stopped else ''}"
