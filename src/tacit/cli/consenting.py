"""What `tacit party pending`, `approve` and `refuse` do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import typer

from tacit.choreo import Opened
from tacit.cli.output import console, print_json, table
from tacit.cli.summary import known
from tacit.consortium.consent import Consent, Pending
from tacit.consortium.decision import disclosure_digest
from tacit.consortium.job import Job
from tacit.consortium.policy import Policy
from tacit.consortium.preflight import concerns
from tacit.consortium.settings import PartySettings
from tacit.report.words import human_bytes, listing


def show(settings: PartySettings, *, as_json: bool) -> None:
    """All jobs that wait for people."""
    waiting = _consent(settings).pending(datetime.now(UTC))
    if as_json:
        print_json({"party": settings.name, "pending": [_as_json(one, settings.name) for one in waiting]})
        return
    if not waiting:
        typer.echo(f"{settings.name}: no job waits for people")
    screen = console()
    for one in waiting:
        screen.print(f"job {one.job.id}", style="bold", markup=False)
        screen.print(table("", "", rows=[*_facts(one, settings.name), *warned_of(one.job)]))
        screen.print(
            f"tacit party approve {one.job.id[:8]} --as NAME    or: tacit party refuse {one.job.id[:8]} --as NAME --reason TEXT\n",
            style="dim",
            markup=False,
            soft_wrap=True,
        )


def approve(settings: PartySettings, job: str, person: str) -> None:
    """One person's yes."""
    _say(settings.name, _consent(settings).approve(job, person, datetime.now(UTC)))


def refuse(settings: PartySettings, job: str, person: str, reason: str) -> None:
    """One person's no."""
    _say(settings.name, _consent(settings).refuse(job, person, reason, datetime.now(UTC)))


def opened_by(job: Job) -> list[tuple[str, str]]:
    """Who will know what after the whole run, a line per role."""
    lines = (line.removeprefix("opens ").split(": ", 2) for line in job.disclosure.splitlines() if line.startswith("opens "))
    return known(Opened(place, who, what) for place, who, what in lines)


def warned_of(job: Job) -> list[tuple[str, str]]:
    """What whoever agrees should know besides."""
    return [("warning", line) for line in concerns(job)]


def _consent(settings: PartySettings) -> Consent:
    return Consent(settings.state / "consent", Policy.from_toml(settings.policy), settings.name)


def _facts(one: Pending, party: str) -> list[tuple[str, str]]:
    job = one.job
    columns: Any = job.columns[party]
    return [
        ("submitter", job.submitter),
        ("protocol", f"{job.protocol}, {job.partition}, coordinated by {job.roles.coordinator}"),
        ("parties", listing(job.parties)),
        *([("builds on", f"job {listing(job.builds_on)}")] if job.builds_on else []),
        ("our columns", f"{'all' if columns == 'all' else listing(columns)} of {job.dataset}"),
        ("purpose", job.purpose),
        ("legal basis", job.legal_basis),
        ("retention", f"{job.retention_days} days"),
        ("expires", f"{job.expires:%Y-%m-%d %H:%M} UTC"),
        ("protection", f"{job.protection.method} sums, {job.protection.fraction_bits} fraction bits"),
        *([("cost for us", f"{job.cost.rounds} rounds, {human_bytes(job.cost.bytes[party])}")] if job.cost else []),
        *((f"opens to {who}", what) for who, what in opened_by(job)),
        ("disclosure", disclosure_digest(job.disclosure)),
        ("approved by", f"{listing(one.approved) or 'nobody'} ({len(one.approved)} of {one.needed})"),
    ]


def _as_json(one: Pending, party: str) -> dict[str, Any]:
    return {"id": one.job.id, **dict(_facts(one, party)), "warnings": concerns(one.job)}


def _say(party: str, one: Pending) -> None:
    more = one.needed - len(one.approved)
    still = f": {more} more approver{'s' * (more > 1)} must agree" if one.state == "waiting" else ""
    typer.echo(f"job {one.job.id} is {one.state} at {party}{still}")
