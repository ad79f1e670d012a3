"""Hostile letters.

A real server, a real coordinator and real parties, and members that write whatever a grammar of letters yields.
"""

from __future__ import annotations

import gc
import importlib
import logging
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from figures import Figure, Step
from tacit.consortium.jobs.answers import Ended, Proposal
from tacit.consortium.jobs.folder import folder_of

MB = 1e6
EACH_TICK = 20  # letters between two looks of all sites
OVER_THE_SERVER = (
    10  # one letter of so many travels over the server; the others go straight into the receiver's entrance
)
REFUSED = 2000
LIMIT = 0.05  # seconds of a tick
SITES = ("clearing", "north")


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure what hostile letters do to a coordinator and a party, and a tick with many refused proposals."""
    with tempfile.TemporaryDirectory() as folder, _tools().HostileHouse(Path(folder)) as house:
        yield from _letters(house, 1000 if quick else 10_000)
    with tempfile.TemporaryDirectory() as folder, _tools().HostileHouse(Path(folder)) as house:
        yield from _ticks(house)


def _tools() -> Any:
    """Return the tests' own consortium, and their grammar of letters."""
    path = str(Path(__file__).parent.parent / "tests" / "unit" / "consortium")
    if path not in sys.path:
        sys.path.insert(0, path)
    return importlib.import_module("hostile_letters")


class Watch(logging.Handler):
    """All that goes wrong: errors that leave a thread, a tick or the entrance of letters, and what the log says."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.escaped: list[str] = []
        self.stumbled: list[str] = []
        self.lines = 0
        logging.getLogger("tacit").addHandler(self)
        logging.getLogger("tacit").setLevel(logging.INFO)
        threading.excepthook = lambda error: self.escaped.append(str(error.exc_type))

    def emit(self, record: logging.LogRecord) -> None:
        """Count a line; one with a traceback is about an error that nobody foresaw."""
        self.lines += 1
        if record.exc_info:
            self.stumbled.append(record.getMessage())

    def read(self, site: Any) -> None:
        """Take a site's lines about letters, as its process does."""
        found = site.control.notices.take()
        self.lines += len(found)
        self.stumbled += [line for line in found if " in a letter of " in line]


def _letters(house: Any, count: int) -> Iterator[Figure | Step]:
    tools, watch = _tools(), Watch()
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn")
    ) as pool:  # elsewhere, so that what is measured here is the sites'
        recipes = pool.submit(tools.draw, count).result()
    with tools.Hostile(house) as hostile:
        house.until(lambda: house.state("north", hostile.open) == "accepted", 60)
        honest = [_runs(house)]
        before, heard, ticks, slowest = _memory(), _count_refused(house), [], 0.0
        for i, recipe in enumerate(recipes):
            began = time.perf_counter()
            _guard(watch, hostile.send, recipe, server=i % OVER_THE_SERVER == 0)
            slowest = max(slowest, time.perf_counter() - began)
            if i % EACH_TICK == 0:
                ticks += [_tick(watch, house, name) for name in house.at]
                yield Step("hostile letters", i, count)
            if i in {count // 3, 2 * count // 3}:
                honest.append(_runs(house))
        honest.append(_runs(house))
        grown, refused = _memory() - before, _count_refused(house) - heard
        kept = sum(1 for name in SITES for path in house.home(name).rglob("*") if path.is_file())
    asked = f"{count} letters, of which a tenth over the server"
    yield Figure(f"errors that escape, {asked}", str(len(watch.escaped)), "none", not watch.escaped)
    yield Figure(
        "letters and jobs over which a site stumbled by an error nobody foresaw",
        str(len(watch.stumbled)),
        "none",
        not watch.stumbled,
    )
    told = f"{sum(honest)} of {len(honest)}"
    yield Figure("honest jobs before, between and after them that ran to their end", told, "all", all(honest))
    yield Figure("growth of the process with all sites in it", f"{grown:.0f} MB", "under 100 MB", grown < 100)
    yield Figure(f"refused at the entrance, of {hostile.sent} chunks", str(refused))
    yield Figure("lines in the logs of all sites", str(watch.lines))
    yield Figure("files at coordinator and party", str(kept))
    yield Figure(
        "the longest and the mean tick meanwhile", f"{max(ticks) * 1e3:.0f} ms, {sum(ticks) / len(ticks) * 1e3:.1f} ms"
    )
    yield Figure("the longest letter, from its sender's hand to the end of its hearing", f"{slowest * 1e3:.0f} ms")


def _guard(watch: Watch, work: Any, *args: Any, **options: Any) -> None:
    try:
        work(*args, **options)
    except Exception as error:  # noqa: BLE001 - that is what is counted
        watch.escaped.append(repr(error)[:200])


def _tick(watch: Watch, house: Any, name: str) -> float:
    began = time.perf_counter()
    _guard(watch, house.site(name).tick)
    seconds = time.perf_counter() - began
    watch.read(house.site(name))
    return seconds


def _runs(house: Any) -> bool:
    """Whether a job of an honest analyst runs to its end at every site."""
    job = house.new()
    house.site("clearing").hear("analyst", "propose", house.proposal(job).dump())
    try:
        house.everywhere(job, "finished", 60)
    except AssertionError:
        return False
    return True


def _count_refused(house: Any) -> int:
    return sum(house.site(name).control.notices.refused for name in house.at)


def _memory() -> float:
    """Return the megabytes that this process has now."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / MB


def _ticks(house: Any) -> Iterator[Figure]:
    """Measure a tick of each site with many refused proposals, right after its start and while nobody answers."""
    job = house.new(submitter="mallory")
    for name in ("clearing", *job.parties):
        house.close_site(name)
    for name in SITES:
        config = house.home(name) / "site.toml"
        config.write_text(f"ended_jobs = {REFUSED}\n" + config.read_text())
        _refuse_many(house, name, job)
    for name in SITES:
        site = house.open_site(name)
        first = [_seconds(site) for _ in range(REFUSED // 5)]
        later = [_seconds(site) for _ in range(200)]
        for when, ticks in (("right after its start", first), ("later", later)):
            clock, own = sorted(seconds for seconds, _ in ticks), max(spent for _, spent in ticks)
            late = sum(seconds >= LIMIT for seconds in clock)
            told = (
                f"{clock[-1] * 1e3:.0f} ms (median {median(clock) * 1e3:.0f}, {late} of {len(clock)} late; CPU"
                f" {own * 1e3:.0f})"
            )
            yield Figure(
                f"{name}, {REFUSED} refused proposals, longest tick {when}", told, "under 50 ms", clock[-1] < LIMIT
            )


def _refuse_many(house: Any, name: str, job: Any) -> None:
    """Make folders as refusals leave them; some parties have not said that they heard of it."""
    for _ in range(REFUSED):
        other = msgspec.structs.replace(job, id=secrets.token_hex(16))
        folder = folder_of(house.home(name) / "state", other.id)
        folder.propose(Proposal.of(other, house.sites["mallory"]))
        folder.ended = Ended.of(other.id, "refused", "south", "south refuses: no legal basis")


def _seconds(site: Any) -> tuple[float, float]:
    """Return how long a tick takes: by the clock, which other work slows, and of its own thread."""
    clock, own = time.perf_counter(), time.thread_time()
    site.tick()
    return time.perf_counter() - clock, time.thread_time() - own
