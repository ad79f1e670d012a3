"""Server-sent events: how far a job is, once a second, to a browser that shows it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.standing import standing
from tacit.consortium.site.telling import describe_progress
from tacit.errors import TacitError
from tacit.page.desk import Desk
from tacit.page.live import SoFar, describe_live
from tacit.page.visit import Web

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
        return {"state": "", "says": f"no word from {folder.job.roles.coordinator} at the moment"}
    said = {"state": news.state, "says": describe_progress(news), "step": str(news.step)}
    curve = {} if news.gap is None else {"point": {"name": "gap", "value": news.gap}}
    sites = {p: {"here": True, "silent": 0, "place": news.places.get(p, "")} for p in folder.job.roster.parties}
    return {**said, **curve, "sites": sites, "answers": news.answers}


def _event(values: dict[str, Any]) -> str:
    return f"data: {json.dumps(values)}\n\n"
