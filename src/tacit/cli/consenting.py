"""What `tacit party pending`, `asked`, `approve` and `refuse` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import typer

from tacit.choreo import Opened
from tacit.cli.output import console, print_json, table
from tacit.cli.summary import known
from tacit.consortium.asked import Asked
from tacit.consortium.consent import Consent, Pending
from tacit.consortium.decision import disclosure_digest
from tacit.consortium.job import Job
from tacit.consortium.policy import Policy
from tacit.consortium.preflight import concerns
from tacit.consortium.settings import PartySettings
from tacit.consortium.unusual import unusual, written
from tacit.consortium.values import is_default, values_of
from tacit.protocols.parameters import PARAMETERS
from tacit.report.words import clean, human_bytes, listing

Lines = list[tuple[str, str]]


def show(settings: PartySettings, *, as_json: bool) -> None:
    """All jobs that wait for people."""
    consent, now = _consent(settings), datetime.now(UTC)
    waiting, damaged = consent.pending(now), consent.damaged(now)
    if as_json:
        print_json({"party": settings.name, "pending": [_as_json(one, settings.name) for one in waiting], "damaged": damaged})
        return
    for line in damaged:
        typer.echo(line, err=True)
    if not waiting:
        typer.echo(f"{settings.name}: no job waits for people")
    screen = console()
    for one in waiting:
        screen.print(f"job {one.job.id}", style="bold", markup=False)
        for heading, lines in _sections(one, settings.name):
            screen.print(f"\n{heading}", style="bold", markup=False)
            screen.print(table("", "", rows=lines))
        screen.print(
            f"tacit party approve {one.job.id[:8]} --as NAME    or: tacit party refuse {one.job.id[:8]} --as NAME --reason TEXT\n",
            style="dim",
            markup=False,
            soft_wrap=True,
        )


def show_asked(settings: PartySettings, *, as_json: bool) -> None:
    """All jobs that were tried on the data."""
    lines = list(Asked(settings.state / "registers").lines())
    if as_json:
        print_json({"party": settings.name, "asked": msgspec.to_builtins(lines)})
    elif not lines:
        typer.echo(f"{settings.name}: no job was tried on the data here")
    else:
        rows = [(f"{one.at:%Y-%m-%d %H:%M}", one.submitter, one.job[:8], one.about, one.answer, clean(one.found)) for one in lines]
        console().print(table("when (UTC)", "submitter", "job", "about", "answer", "what did not fit", rows=rows))


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


def _sections(one: Pending, party: str) -> Iterator[tuple[str, Lines]]:
    """The whole job, what is unusual in it first."""
    first = unusual(one.job)
    if first:
        yield "look at this first", first
    yield "who, what and why", _facts(one.job, party)
    yield "parameters", _parameters(one.job)
    yield "what is opened", [*((f"to {who}", what) for who, what in opened_by(one.job)), ("disclosure", disclosure_digest(one.job))]
    yield "approval", [("approved by", f"{listing(one.approved) or 'nobody'} ({len(one.approved)} of {one.needed})")]


def _facts(job: Job, party: str) -> Lines:
    roles, others = job.roles, [p for p in job.parties if p != party]
    return [
        ("submitter", job.submitter),
        ("purpose", job.purpose),
        ("legal basis", job.legal_basis),
        ("retention", f"{job.retention_days} days"),
        ("expires", f"{job.expires:%Y-%m-%d %H:%M} UTC"),
        ("protocol", f"{job.protocol}, {job.partition}, coordinated by {roles.coordinator}"),
        ("parties", listing(job.parties)),
        *([("labeller", roles.labeller)] if roles.labeller else []),
        ("asker", roles.asker),
        *([("builds on", f"job {listing(job.builds_on)}")] if job.builds_on else []),
        ("our columns", f"{_columns(job.columns[party])} of {job.dataset}"),
        *((f"columns of {p}", _columns(job.columns[p])) for p in others),
        ("rows", listing(f"{p} {job.rows[p] or 'not declared'}" for p in job.parties)),
        ("classes", "not declared" if job.classes is None else listing(map(str, job.classes))),
        ("protection", f"{job.protection.method} sums, {job.protection.fraction_bits} fraction bits"),
        *([("cost for us", f"{job.cost.rounds} rounds, {human_bytes(job.cost.bytes[party])}")] if job.cost else []),
        ("made by", f"tacit {job.version}, source {job.source[:16]}"),
    ]


def _columns(names: Sequence[str] | Literal["all"]) -> str:
    return "all" if names == "all" else listing(names)


def _parameters(job: Job) -> Lines:
    """What the author chose, each with its meaning; and the names of all that are as usual."""
    values = values_of(job)
    usual = [name for name, value in values.items() if is_default(job.protocol, name, value)]
    chosen = [(name, f"{written(value)}: {PARAMETERS[name].says}") for name, value in values.items() if name not in usual]
    return [*chosen, ("by default", listing(f"{name} {written(values[name])}" for name in usual) or "nothing")]


def _as_json(one: Pending, party: str) -> dict[str, Any]:
    sections = {heading: dict(lines) for heading, lines in _sections(one, party)}
    return {
        "id": one.job.id,
        "unusual": [list(line) for line in unusual(one.job)],
        **sections["who, what and why"],
        **sections["what is opened"],
        **sections["approval"],
        "parameters": sections["parameters"],
        "warnings": concerns(one.job),
        "job": msgspec.to_builtins(one.job),
    }


def _say(party: str, one: Pending) -> None:
    more = one.needed - len(one.approved)
    still = f": {more} more approver{'s' * (more > 1)} must agree" if one.state == "waiting" else ""
    typer.echo(f"job {one.job.id} is {one.state} at {party}{still}")
