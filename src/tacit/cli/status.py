"""`tacit status`: how far the jobs of a site are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from typer import Option

from tacit.cli.site import Config, any_settings
from tacit.consortium.settings import AnalystSettings, CoordinatorSettings, PartySettings, Settings

STALE = 10.0  # seconds without a word after which a site is said not to run
Status = dict[str, Any]


def status(
    *,
    config: Config = None,
    as_json: Annotated[bool, Option("--json", help="Print all of it as one JSON object.")] = False,
    watch: Annotated[bool, Option("--watch", help="Go on showing it until Ctrl-C.")] = False,
) -> None:
    """Show the state of each job, how far its run is, and why it ended."""
    from tacit.cli.output import print_json  # noqa: PLC0415 - rich takes time to import

    settings = any_settings(config)
    with _source(settings) as look:
        if watch and not as_json:
            _watch(look)
        elif as_json:
            print_json(next(look))
        else:
            _console().print(_shown(next(look)))


@contextmanager
def _source(settings: Settings) -> Iterator[Iterator[Status]]:
    if not isinstance(settings, AnalystSettings):
        yield _from_files(settings)
        return
    from tacit.consortium.analyst import Analyst  # noqa: PLC0415 - scikit-learn takes a second to import

    with Analyst(settings) as analyst:
        yield _from_coordinators(settings, analyst)


def _from_coordinators(settings: AnalystSettings, analyst: Any) -> Iterator[Status]:
    from tacit.cli.submitting import told  # noqa: PLC0415 - as above

    named = [settings.study.coordinator] if settings.study else [m.name for m in analyst.members.of_kind("coordinator")]
    while True:
        found = [news for coordinator in named for news in analyst.ask(coordinator)]
        fields = ("state", "answers", "places", "done", "total", "rounds", "bytes", "seconds", "left", "attempt")
        jobs = [{"job": n.job, **{f: getattr(n, f) for f in fields}, "says": told(n), "reasons": list(n.reasons)} for n in found]
        yield {"site": settings.name, "kind": "analyst", "jobs": jobs, "silent": sorted(analyst.silent)}


def _from_files(settings: Settings) -> Iterator[Status]:
    from tacit.cli.jobs import readable  # noqa: PLC0415 - as above

    kind = {PartySettings: "party", CoordinatorSettings: "coordinator"}[type(settings)]
    while True:
        heard = _heard(settings)
        live = {line["job"]: line for line in heard.get("jobs", ())}
        running = time.time() - heard.get("at", 0.0) < STALE
        found, damaged = readable(settings)
        jobs = [_line(one, live.get(one.job.id, {})) for one in found]
        force = heard.get("in_force", {}) if running else {}
        said = {"running": running, "at": heard.get("at"), "in_force": force, "jobs": jobs, "damaged": damaged}
        yield {"site": settings.name, "kind": kind, **said}


def _heard(settings: Settings) -> Status:
    try:
        return dict(msgspec.json.decode((settings.state / "status.json").read_bytes()))
    except (OSError, msgspec.DecodeError):
        return {}


def _line(one: Any, live: Status) -> Status:
    from tacit.report.words import human_bytes  # noqa: PLC0415 - as above

    figures = {name: live.get(name, 0) for name in ("done", "total", "rounds", "bytes")}
    going = f"round {figures['done']} of {figures['total']}, {human_bytes(figures['bytes'])}" if figures["total"] else "starting"
    return {"job": one.job.id, "state": one.state, **figures, "says": going if one.state == "running" else one.why}


def _watch(look: Iterator[Status]) -> None:
    from rich.live import Live  # noqa: PLC0415 - as above

    try:
        with Live(_shown(next(look)), console=_console()) as live:
            for found in look:
                live.update(_shown(found))
                time.sleep(1.0)
    except KeyboardInterrupt:  # the way to end it
        return


def _shown(found: Status) -> Any:
    from rich.console import Group  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    from tacit.cli.output import table  # noqa: PLC0415 - as above
    from tacit.report.words import listing  # noqa: PLC0415 - as above

    state = "" if "running" not in found else ", running" if found["running"] else ", not running"
    force = found.get("in_force") or {}
    state += f", policy {force['policy']} {force['digest'][:16]}".rstrip() if force else ""
    damaged = [Text(line) for line in found.get("damaged", ())]
    rows = [(job["job"][:8], job["state"], listing(job["answers"]) if "answers" in job else "", job["says"]) for job in found["jobs"]]
    if not rows:
        silent = listing(found.get("silent", ()))
        told = f"no word from {silent}: does it run?" if silent else "no jobs"
        return Group(Text(f"{found['site']} ({found['kind']}{state}): {told}"), *damaged)
    shown = table("job", "state", "sites", "how far", rows=rows)
    if not any(row[2] for row in rows):
        shown = table("job", "state", "how far", rows=[(a, b, d) for a, b, _, d in rows])
    return Group(Text(f"{found['site']} ({found['kind']}{state})"), shown, *damaged)


def _console() -> Any:
    from tacit.cli.output import console  # noqa: PLC0415 - as above

    return console()
