"""Server-sent events: how far a job is, once a second, to a browser that shows it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from tacit.choreo.fact import Fact
from tacit.choreo.ledger import Row
from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.standing import standing
from tacit.consortium.site.runs import figures_of
from tacit.consortium.site.telling import describe_progress, describe_running, read_figures
from tacit.errors import TacitError
from tacit.page.desk import Desk
from tacit.page.readers import Reader, list_readers
from tacit.page.visit import Web
from tacit.report.plots import series
from tacit.report.words import human_bytes, listing

EVERY = 1.0  # seconds


def stream(web: Web, folder: Folder, allowed: Callable[[], bool]) -> StreamingResponse:
    """Return the events of a job, for as long as the session is open."""

    async def events() -> AsyncIterator[str]:
        so_far, job = SoFar(), await run_in_threadpool(lambda: folder.job)
        while not web.stopping.is_set():
            if not allowed():
                yield _event({"state": "logged out"})
                return
            yield _event(await run_in_threadpool(look, web.desk, folder, job, so_far))
            await asyncio.sleep(EVERY)

    return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def look(desk: Desk, folder: Folder, job: Job, so_far: SoFar) -> dict[str, Any]:
    """Return how far a job is now."""
    if desk.analyst is not None:
        return _ask(desk, folder)
    try:
        found = standing(folder)
    except (TacitError, OSError):  # it was purged meanwhile
        return {"state": "gone", "says": "this job is not here any more"}
    live = desk.live(job.id) if found.state == "running" else {}
    return describe_live(job, live, so_far, desk.name) if live else {"state": found.state, "says": found.why}


def _ask(desk: Desk, folder: Folder) -> dict[str, Any]:
    news = desk.ask(folder)
    if news is None:
        return {"state": "", "says": f"no word from {folder.job.coordinator} at the moment"}
    said = {"state": news.state, "says": describe_progress(news), "step": str(news.step)}
    curve = {} if news.gap is None else {"point": {"name": "gap", "value": news.gap}}
    sites = {p: {"here": True, "silent": 0, "place": news.places.get(p, "")} for p in folder.job.roster.parties}
    return {**said, **curve, "sites": sites, "answers": news.answers}


def _event(values: dict[str, Any]) -> str:
    return f"data: {json.dumps(values)}\n\n"


# A run as it goes: what has moved between whom, and what has been learnt, counted on from look to look.
#
# A ledger only grows, so each look reads the rows that are new. What is counted is what the ledger of this very site
# knows: who sent to whom, and the sizes of messages that it sent or received.


AWAY = 12.0  # seconds of silence after which a site is shown as away: it says every 5 that it is there
POINTS = 400  # of a curve that are sent
CURVES = ("gap", "objective", "primal", "value")  # figures that say how far a solver is, the best one first


@dataclass
class SoFar:
    """What a ledger told up to a row."""

    read: int = 0
    flows: Counter[tuple[str, str]] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    told: Counter[tuple[str, str]] = field(default_factory=Counter)  # by receiver and fact

    def advance(self, rows: Sequence[Row]) -> None:
        """Count the rows that are new."""
        for row in rows[self.read :]:
            self.flows[row.sender, row.receiver] += 1
            self.sent[row.sender] += row.bytes or 0
            for fact in row.tells:
                self.told[row.receiver, fact.identifier] += 1
            self.read += 1


def describe_live(job: Job, live: Mapping[str, Any], so_far: SoFar, me: str) -> dict[str, Any]:
    """Return what a browser is told of a run that goes on in this process."""
    run, courier = live["run"], live["courier"]
    so_far.advance(run.ledger.rows)
    figures, sites = figures_of(live), {p: describe_site(p, me, courier) for p in job.roster.parties}
    away = [party for party, site in sites.items() if not site["here"]]
    return {
        "state": "running",
        # while a site is away nobody can say how long it takes
        "says": f"waits for {listing(away)}" if away else describe_running(read_figures(job.id, figures)),
        "step": str(figures["step"]),
        "rounds": figures["rounds"],
        "moved": human_bytes(figures["bytes"]),
        "curve": find_curve(run.history),
        "sites": sites,
        "flows": {f"{a}>{b}": n for (a, b), n in so_far.flows.items()},
        "sent": {party: human_bytes(so_far.sent[party]) if so_far.sent[party] else "" for party in job.roster.parties},
        "told": [count_told(reader, fact, so_far) for reader in list_readers(job) for fact in reader.facts],
    }


def describe_site(party: str, me: str, courier: Any) -> dict[str, Any]:
    """Return whether a site is there, and where it says it is."""
    silent = 0.0 if party == me else float(courier.silence(party))
    return {"here": silent <= AWAY, "silent": round(silent), "place": str(courier.places.get(party, ""))}


def find_curve(history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figure that shows best how far a solver is, with its values."""
    found = series(list(history))
    name = next((name for name in CURVES if len(found.get(name, ())) > 1), "")
    return {"name": name, "points": [value for _, value in found.get(name, ())][-POINTS:]}


def count_told(reader: Reader, fact: Fact, so_far: SoFar) -> int:
    """Return in how many messages a reader has learnt a fact so far."""
    return sum(so_far.told[site, fact.identifier] for site in reader.sites)
