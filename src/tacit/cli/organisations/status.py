"""Show the state of each job, how far its run is, and why it ended.

Example: tacit status --config north.toml --watch
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from rich.console import Group
from rich.live import Live
from rich.text import Text
from typer import Option

from tacit.cli.options import AsJson, Config
from tacit.cli.output import console, print_json, table
from tacit.cli.site import any_settings
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings, Settings

if TYPE_CHECKING:
    from tacit.consortium.site.analyst import Analyst

STALE = 10.0  # seconds without a word after which a site is said not to run
Status = dict[str, Any]


def status(
    *,
    config: Config = None,
    as_json: AsJson = False,
    watch: Annotated[bool, Option("--watch", help="Keep showing it until Ctrl-C.")] = False,
) -> None:
    """Print the status once, or again and again."""
    settings = any_settings(config)
    with ExitStack() as stack:
        if isinstance(settings, AnalystSettings):
            from tacit.consortium.site.analyst import Analyst

            look = partial(_ask_coordinators, settings, stack.enter_context(Analyst(settings)))
        else:
            look = partial(_read_files, settings)
        if as_json:
            print_json(**look())
        elif watch:
            _watch(look)
        else:
            console().print(_lay_out(look()))


def _ask_coordinators(settings: AnalystSettings, analyst: Analyst) -> Status:
    from tacit.consortium.site.telling import describe_progress

    study, members = settings.study, analyst.members
    coordinators = [study.coordinator] if study else [member.name for member in members.of_kind("coordinator")]
    told = [news for coordinator in coordinators for news in analyst.ask(coordinator)]
    jobs = [{**msgspec.to_builtins(news), "says": describe_progress(news)} for news in told]
    return {"site": settings.name, "kind": "analyst", "jobs": jobs, "silent": sorted(analyst.silent)}


def _read_files(settings: Settings) -> Status:
    """Return what the site's process wrote a moment ago; of jobs that it does not mention, what their files say."""
    kind = {PartySettings: "party", CoordinatorSettings: "coordinator"}[type(settings)]
    heard = _read_status(settings)
    running = time.time() - heard.get("at", 0.0) < STALE
    told = {line["job"]: line for line in heard.get("jobs", ())} if running else {}
    kept = settings.state / "jobs"
    names = {path.name for path in kept.iterdir()} if kept.is_dir() else set()
    found, damaged = _read_jobs(settings, told) if names - told.keys() else ([], [])
    jobs = sorted([*(line for line in told.values() if line["job"] in names), *found], key=itemgetter("job"))
    said = {"running": running, "at": heard.get("at"), "in_force": heard.get("in_force", {}) if running else {}}
    said["health"] = heard.get("health") if running else None
    figures = dict.fromkeys(("done", "total", "rounds", "bytes"), 0)
    return {"site": settings.name, "kind": kind, **said, "jobs": [figures | job for job in jobs], "damaged": damaged}


def _read_jobs(settings: Settings, known: Collection[str]) -> tuple[list[Status], list[str]]:
    """Return the jobs that are not known from their files, and a line about each that cannot be read."""
    from tacit.consortium.jobs.standing import read_jobs  # it knows every protocol, which takes a second to import

    found, damaged = read_jobs(settings, known)
    return [{"job": one.job.id, "state": one.state, "says": one.why} for one in found], damaged


def _read_status(settings: Settings) -> Status:
    try:
        return dict(msgspec.json.decode((settings.state / "status.json").read_bytes()))
    except (OSError, msgspec.DecodeError):
        return {}


def _show_health(health: Status | None) -> Iterator[str]:
    """Yield how the site is, and what a person should do about it."""
    if health is None:
        return
    from tacit.consortium.site.health import Health, complaints_about, describe_health

    found = msgspec.convert(health, Health)
    yield from (f"{name}: {said}" for name, said in describe_health(found))
    yield from (f"look at this: {each.says}" for each in complaints_about(found))


def _watch(look: Callable[[], Status]) -> None:
    with suppress(KeyboardInterrupt), Live(_lay_out(look()), console=console()) as live:  # Ctrl-C is the way to end it
        while True:
            time.sleep(1.0)
            live.update(_lay_out(look()))


def _lay_out(found: Status) -> Group:
    from tacit.report.words import listing

    state = "" if "running" not in found else ", running" if found["running"] else ", not running"
    force = found.get("in_force") or {}
    state += f", policy {force['policy']} {force['digest'][:16]}".rstrip() if force else ""
    damaged = [Text(line) for line in (*found.get("damaged", ()), *_show_health(found.get("health")))]
    title, jobs = f"{found['site']} ({found['kind']}{state})", found["jobs"]
    if not jobs:
        silent = listing(found.get("silent", ()))
        told = f"no word from {silent}: does it run?" if silent else "no jobs"
        return Group(Text(f"{title}: {told}"), *damaged)
    if any(job.get("answers") for job in jobs):
        rows = [(job["job"][:8], job["state"], listing(job.get("answers", ())), job["says"]) for job in jobs]
        return Group(Text(title), table("job", "state", "sites", "how far", rows=rows), *damaged)
    lines = [(job["job"][:8], job["state"], job["says"]) for job in jobs]
    return Group(Text(title), table("job", "state", "how far", rows=lines), *damaged)
