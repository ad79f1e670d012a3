"""Who learns what by a job, and whether that one could identify a record: alone, with whom, or by which attack.

All of it follows from the facts of the job's disclosure, from the exposures that its columns and rows give, and from
what the catalogue of attacks declares to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from tacit.attacks.learners import Attack
from tacit.choreo.fact import KINDS, Fact, fact_called
from tacit.choreo.role import Everyone
from tacit.consortium.consent.proposals import Planned
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.jobs.attacked import find_attacks
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.requests import Facts, facts_by_role, list_single, list_told, protocols_of
from tacit.federation.checks import FEWEST
from tacit.federation.exposure import Exposure
from tacit.registry import PROTOCOLS
from tacit.report.decision import say_fact, say_measured
from tacit.report.release import Release
from tacit.report.report import default_not_protected
from tacit.report.words import listing


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """An attack that starts from what somebody is told: what it finds and takes besides, and what stops it."""

    attack: str
    shows: str
    reads: tuple[str, ...]
    needs: str
    stopped: str
    finds: str


class Recipient(msgspec.Struct, frozen=True, kw_only=True):
    """One reader of facts: what it learns, what it could find out with whom, and the same in one line."""

    name: str
    roles: tuple[str, ...]
    learns: tuple[str, ...]
    single: tuple[str, ...]
    attacks: tuple[Finding, ...]
    coalitions: tuple[str, ...]
    line: str


def find_recipients(job: Job, release: Release | None = None) -> list[Recipient]:
    """Return everybody who learns something by the job: its sites, and who submits it.

    `release` is what attacks on the model found out.
    """
    told, exposed = facts_by_role(job.disclosure), exposures_of(job)
    return [_recipient(job, name, roles, told, exposed, release) for name, roles in _roles_of(job).items()]


def _roles_of(job: Job) -> dict[str, tuple[str, ...]]:
    """Return the roles of every member that the job names, in the words of the disclosure."""
    roles: dict[str, list[str]] = {}
    for role, names in job.roster.roles.items():
        for name in names:
            roles.setdefault(name, [Everyone.name]).append(role.name)
    roles.setdefault(job.submitter, [Everyone.name])  # its submitter reads what is public of the result
    return {name: tuple(dict.fromkeys(found)) for name, found in roles.items()}


def _recipient(
    job: Job,
    name: str,
    roles: Sequence[str],
    told: Mapping[str, Facts],
    exposed: Sequence[Exposure],
    release: Release | None,
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
        line=f"Can {name} identify a person? {say_whether(single, attacks, coalitions, release)}",
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
    said = {"attack": attack.name, "shows": attack.shows, "needs": attack.needs, "finds": attack.finds}
    return Finding(**said, reads=used, stopped=rule)


def _coalitions(name: str, exposed: Sequence[Exposure]) -> Iterator[str]:
    """Yield what coalitions can work out that this one is in: with all, everybody is but the one that is exposed."""
    for found in exposed:
        with_one = found.who == "with one" and name in found.parties
        with_all = found.who == "with all" and any(party != name for party in found.parties)
        of_members = found.who == "members" and name in found.parties
        if name == found.site or with_one or with_all or of_members:
            yield found.text


def say_whether(
    single: Sequence[str], attacks: Sequence[Finding], coalitions: Sequence[str], release: Release | None
) -> str:
    """Return the answer in a few sentences: by what was learnt alone, by which attack, how likely, and with whom."""
    said = []
    open_ = [found for found in attacks if not found.stopped]
    if tests := [found.attack for found in open_ if found.finds == "members"]:
        tested = f"With a person's record in hand it could test whether it was used ({listing(tests)})."
        said.append(f"{tested} {say_measured(release)}")
    others = [found for found in open_ if found.finds != "members"]
    said += [f"It could work out records ({f.attack}), with {f.needs or 'nothing besides'}." for f in others]
    said += [f"{text[0].upper()}{text[1:]}." for text in coalitions]
    if single and not open_:
        said.append(f"If it knows whose records they are: it is told {listing(single)} of each record.")
    if said:
        return " ".join(said)
    stopped = [found.attack for found in attacks if found.stopped]
    return f"No: rules of this version stop {listing(stopped)}." if stopped else "No."


# The annex for a data-protection impact assessment, written from the facts of a job.
#
# Roles are those of the GDPR: sites that hold data and who submits the job decide together why and how (art. 26); a
# coordinator works on their behalf (art. 28). Whether a recipient could identify a record is answered for each of them,
# since what is personal data for one need not be for another (EDPB opinion 28/2024; Court of Justice, C-413/23 P).


ALWAYS = (
    "every letter and every chunk of a run is sealed for its receiver; the server stores no plain text",
    "every site judged the job by a policy of its own, and signed its answer; no run begins without all answers",
    "a site sends nothing that the disclosure of the job does not list",
    "every site writes down every message of the run in a signed chain, which sites can compare",
    "a register at each site refuses jobs that come too close to what was opened before",
)
OPERATOR = "who runs the server between the sites sees sizes, times and who talks to whom, and no content"


def write_annex(job: Job, recipients: Sequence[Recipient], ended: datetime) -> dict[str, Any]:
    """Return the annex as data: purpose, roles, recipients, retention, measures and residual risks."""
    until = ended + timedelta(days=job.retention_days)
    return {
        "purpose": job.purpose,
        "legal basis": job.legal_basis,
        "data": _describe_data(job),
        "roles": _assign_roles(job),
        "recipients": [_describe(recipient, Planned.of(job)) for recipient in recipients],
        "coalitions": concerns(job),
        "retention": {"days": job.retention_days, "until": f"{until:%Y-%m-%d}"},
        "measures": list(ALWAYS),
        "residual risks": _list_risks(job, recipients),
    }


def _describe_data(job: Job) -> dict[str, Any]:
    columns = {party: names if names == "all" else list(names) for party, names in job.columns.items()}
    return {"dataset": job.dataset, "partition": job.partition, "columns": columns, "records": dict(job.rows)}


def _assign_roles(job: Job) -> dict[str, Any]:
    jointly = dict.fromkeys([*job.parties, job.submitter])
    return {
        "joint controllers (art. 26)": list(jointly),
        "processor (art. 28)": [job.coordinator],
        "note": "as the protocol has it; the sites' own agreement decides, and is no part of this file",
    }


def _describe(recipient: Recipient, run: Planned) -> dict[str, Any]:
    learns = [said for name in recipient.learns if (said := _explain(fact_called(name), run))["says"]]
    return {
        "name": recipient.name,
        "roles": list(recipient.roles),
        "learns": sorted(learns, key=lambda each: list(KINDS).index(each["kind"])),
        "infers alone": [_explain_attack(found) for found in recipient.attacks],
        "infers in coalitions": list(recipient.coalitions),
        "line": recipient.line,
    }


def _explain(fact: Fact, run: Planned) -> dict[str, str]:
    said = say_fact(fact, run)
    return {"fact": fact.identifier, "kind": fact.kind, "granularity": fact.granularity, "says": said}


def _explain_attack(found: Finding) -> dict[str, Any]:
    known = {"attack": found.attack, "shows": found.shows, "from": list(found.reads)}
    return {**known, "takes besides": found.needs or "nothing", "stopped by": found.stopped or "nothing"}


def _list_risks(job: Job, recipients: Sequence[Recipient]) -> list[str]:
    """Return what stays: attacks that nothing stops, what protocols say of themselves, and what is never protected."""
    attacks = {found.attack: found for one in recipients for found in one.attacks if not found.stopped}
    named = [f"{found.attack}: {found.shows}; takes {found.needs or 'nothing besides'}" for found in attacks.values()]
    said = [PROTOCOLS[name].attacked for name in protocols_of(job) if PROTOCOLS[name].attacked]
    return [*named, *said, OPERATOR, *default_not_protected()]
