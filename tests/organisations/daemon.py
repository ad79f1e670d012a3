"""A site's process for tests.

The daemon itself, which also writes down what it publishes, and on request is slow or noisy.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import time
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

import tacit.papers.gram.vertical as gram
from tacit.consortium.site.common import Site
from tacit.consortium.site.daemon import run_coordinator, run_party, stop_on_signals
from tacit.consortium.site.settings import CoordinatorSettings, PartySettings
from tacit.errors import LocalError
from tacit.papers.columns import bands
from tacit.runtimes.nats.posting import Letter, Post

BAND = 120  # packed entries a round: some forty rounds
playing = ContextVar("playing", default=False)  # not while a site rehearses a job


def write_down(file: Path) -> None:
    """Append the number of every message and the digest of its bytes, before they leave."""
    deliver = Post.deliver

    async def told(self: Post, letters: Sequence[Letter]) -> None:
        with file.open("a") as out:
            for letter in letters:
                if letter.number is not None:
                    out.write(f"{letter.number}\t{hashlib.sha256(letter.data).hexdigest()}\n")
        await deliver(self, letters)

    Post.deliver = told  # type: ignore[method-assign]


def disturb(noise: float, pace: float, *, fails: bool) -> None:
    """Bands of the gram matrix that take a while, are never the same twice, or fail with words that nobody may hear."""
    band, rng = gram.multiply_band, np.random.default_rng()

    def multiply_band(part: Any, *args: Any) -> Any:
        if not playing.get():
            return band(part, *args)
        time.sleep(pace)
        if fails:
            raise LocalError("record 17 of the cohort is ill")
        exact = band(part, *args)
        return exact + noise * rng.normal(size=exact.shape) if noise else exact

    def play(self: Site, *args: Any) -> Any:
        playing.set(True)
        return run(self, *args)

    run, Site._run = Site._run, play  # type: ignore[method-assign]
    gram.multiply_band = multiply_band
    gram.bands = lambda records, _: bands(records, BAND)  # type: ignore[assignment]  # many rounds of few records


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("kind", choices=("party", "coordinator"))
    options.add_argument("config", type=Path)
    options.add_argument("--published", type=Path)
    options.add_argument("--noise", type=float, default=0.0)
    options.add_argument("--pace", type=float, default=0.0)
    options.add_argument("--fails", action="store_true")
    given = options.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    write_down(given.published)
    disturb(given.noise, given.pace, fails=given.fails)
    if given.kind == "party":
        run_party(PartySettings.from_toml(given.config), stop_on_signals())
    else:
        run_coordinator(CoordinatorSettings.from_toml(given.config), stop_on_signals())


if __name__ == "__main__":
    main()
