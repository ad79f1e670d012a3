"""Runs under random `kill -9` of random processes, or behind a cut line.

A small dose for the tests, a large one for the benchmarks.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from organisations.forwarder import Forwarder
from organisations.sites import CLEARING, Sites
from tacit.consortium.jobs.job import Job
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.coordinator import News
from tacit.errors import TacitError

SERVER = "the server"
AWAY = 300.0  # seconds after which a party is given up, as in the configuration that sites start from
PATIENCE = 360.0  # seconds for a run to get on: what counts is how it ends, on however busy a machine
log = logging.getLogger("chaos")


@dataclass(frozen=True)
class Chaos:
    """What became of the runs."""

    runs: int
    identical: int
    kills: int
    messages: int
    seconds: float


def chaos(folder: Path, runs: int, *, kills: int = 2, pace: float = 0.03, hospitals: int = 3) -> Iterator[Chaos]:
    """Each run is disturbed `kills` times, and must end with the model of the undisturbed one.

    What became of them so far.
    """
    identical, start = 0, time.monotonic()
    with Sites(folder, hospitals, timeout=AWAY, options=("--pace", str(pace))) as sites:
        undisturbed = sites.model(sites.run())
        for run in range(runs):
            try:
                identical += disturbed(sites, random.Random(run), kills) == undisturbed  # noqa: S311 - no secret
            except (AssertionError, TacitError):
                log.exception("run %d did not end well", run)
                sites.start_missing()
            yield Chaos(run + 1, identical, (run + 1) * kills, sites.check_masks(), time.monotonic() - start)


def disturbed(sites: Sites, dice: random.Random, kills: int) -> dict[str, tuple[bytes, bytes]]:
    """One run that is struck so often, and what it left at every site."""
    with sites.analyst() as analyst:
        job = sites.job()
        disturb(sites, analyst, job, dice, kills)
    return sites.model(job)


def disturb(sites: Sites, analyst: Analyst, job: Job, dice: random.Random, kills: int) -> News:
    """Submit a job, strike so often while it is proposed or in a round, and see it end well."""
    analyst.submit(job)
    moments = sorted(dice.choice((0, dice.randrange(1, sites.moments))) for _ in range(kills))
    for moment in moments:
        sites.await_(lambda m=moment: sites.messages(job, sites.hospitals[0]) >= m, PATIENCE)
        time.sleep(dice.uniform(0.0, 0.4))
        victim = dice.choice([SERVER, CLEARING, CLEARING + SERVER, *sites.hospitals])
        strike(sites, victim)
        time.sleep(dice.uniform(0.0, 0.5))
        revive(sites, victim)
    return sites.ends_well(analyst, job, PATIENCE)


def strike(sites: Sites, victim: str) -> None:
    """With kill -9: a site, of the server, or of the coordinator with its server."""
    if victim != SERVER:
        sites.kill(victim.removesuffix(SERVER))
    if victim.endswith(SERVER):
        sites.kill_server()


def revive(sites: Sites, victim: str) -> None:
    """The coordinator starts its server again by itself."""
    if victim != SERVER:
        sites.start(victim.removesuffix(SERVER))


@dataclass(frozen=True)
class Cut:
    """What became of a run whose line was cut."""

    identical: bool
    messages: int
    seconds: float


def cut_off(folder: Path, seconds: float, *, hospitals: int = 3) -> Cut:
    """All hospitals lose the server for so long in the middle of a run, and find it again by themselves."""
    with Forwarder() as line:
        dials = {f"h{i + 1}": line.port for i in range(hospitals)}
        sites = Sites(folder, hospitals, timeout=AWAY, dials=dials, options=("--pace", "0.03"))
        line.target = sites.port
        with sites, sites.analyst() as analyst:
            undisturbed = sites.model(sites.run())
            job = sites.job()
            analyst.submit(job)
            sites.await_(lambda: sites.messages(job, "h1") >= 10, PATIENCE)
            line.cut()
            start = time.monotonic()
            time.sleep(seconds)
            assert not any(sites.outcome(job, name) for name in sites.names), "the cut came too late to be felt"
            line.mend()
            sites.ends_well(analyst, job, PATIENCE)
            return Cut(sites.model(job) == undisturbed, sites.check_masks(), time.monotonic() - start - seconds)
