"""The annex for a data-protection impact assessment, written from the facts of a job.

Roles are those of the GDPR: sites that hold data and who submits the job decide together why and how (art. 26); a
coordinator works on their behalf (art. 28). Whether a recipient could identify a record is answered for each of them,
since what is personal data for one need not be for another (EDPB opinion 28/2024; Court of Justice, C-413/23 P).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from tacit.choreo.fact import KINDS, Fact, fact_called
from tacit.consortium.dossier.recipients import Finding, Recipient
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.requests import protocols_of
from tacit.registry import PROTOCOLS
from tacit.report.report import default_not_protected

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
        "recipients": [_describe(recipient) for recipient in recipients],
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
        "processor (art. 28)": [job.roles.coordinator],
        "note": "as the protocol has it; the sites' own agreement decides, and is no part of this file",
    }


def _describe(recipient: Recipient) -> dict[str, Any]:
    learns = [_explain(fact_called(name)) for name in recipient.learns]
    return {
        "name": recipient.name,
        "roles": list(recipient.roles),
        "learns": sorted(learns, key=lambda each: list(KINDS).index(each["kind"])),
        "infers alone": [_explain_attack(found) for found in recipient.attacks],
        "infers in coalitions": list(recipient.coalitions),
        "line": recipient.line,
    }


def _explain(fact: Fact) -> dict[str, str]:
    return {"fact": fact.identifier, "kind": fact.kind, "granularity": fact.granularity, "says": fact.prose}


def _explain_attack(found: Finding) -> dict[str, Any]:
    known = {"attack": found.attack, "shows": found.shows, "from": list(found.reads)}
    return {**known, "takes besides": found.needs or "nothing", "stopped by": found.stopped or "nothing"}


def _list_risks(job: Job, recipients: Sequence[Recipient]) -> list[str]:
    """Return what stays: attacks that nothing stops, what protocols say of themselves, and what is never protected."""
    attacks = {found.attack: found for one in recipients for found in one.attacks if not found.stopped}
    named = [f"{found.attack}: {found.shows}; takes {found.needs or 'nothing besides'}" for found in attacks.values()]
    said = [PROTOCOLS[name].attacked for name in protocols_of(job) if PROTOCOLS[name].attacked]
    return [*named, *said, OPERATOR, *default_not_protected()]
