"""Runs under random `kill -9` of random processes: used by the tests in a small dose, and by the benchmarks in a large one."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from organisations.sites import CLEARING, Sites

SERVER = "the server"


@dataclass(frozen=True)
class Chaos:
    """What became of the runs."""

    runs: int
    identical: int
    kills: int
    messages: int
    seconds: float


def chaos(folder: Path, runs: int, *, kills: int = 2, seed: int = 0, pace: float = 0.03, hospitals: int = 3) -> Chaos:
    """Each run is disturbed `kills` times, and must end with the model of the undisturbed one."""
    dice, start = random.Random(seed), time.monotonic()  # noqa: S311 - no secret
    with Sites(folder, hospitals, options=("--pace", str(pace))) as sites:
        undisturbed = sites.model(sites.run())
        identical = sum(disturbed(sites, dice, kills) == undisturbed for _ in range(runs))
        messages = sites.check_masks()
    return Chaos(runs, identical, runs * kills, messages, time.monotonic() - start)


def disturbed(sites: Sites, dice: random.Random, kills: int) -> dict[str, tuple[bytes, bytes]]:
    """One run that is struck so often, and what it left at every site."""
    with sites.analyst() as analyst:
        job = sites.job()
        analyst.submit(job)
        moments = sorted(dice.choice((0, dice.randrange(1, 45))) for _ in range(kills))  # while it is proposed, or in a round
        for moment in moments:
            sites.await_(lambda m=moment: sites.messages(job, sites.hospitals[0]) >= m)
            time.sleep(dice.uniform(0.0, 0.4))
            victim = dice.choice([SERVER, CLEARING, CLEARING + SERVER, *sites.hospitals])
            strike(sites, victim)
            time.sleep(dice.uniform(0.0, 0.5))
            revive(sites, victim)
        sites.ends_well(analyst, job, 60.0)
    return sites.model(job)


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
