"""The demonstration with pages: hospitals, clearing house and analyst are open in a browser until a person stops them.

The study of the network demonstration is proposed, and waits until somebody approves it at every hospital.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Any

from tacit.cli.network_demo import found_consortium, refuse_few, write_study
from tacit.cli.one_machine import ANALYST, CLEARING, OneMachine
from tacit.cli.output import console, steps, table
from tacit.consortium.broker.server import find_server
from tacit.consortium.jobs.job import Job
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.settings import AnalystSettings
from tacit.errors import MissingExtraError

PERSON = "visitor"
LOOK = 1.0  # seconds between two looks at the processes


def demonstrate_pages(names: tuple[str, ...], seed: int, keep: Path | None) -> None:
    """Open the pages of the named hospitals, a clearing house and an analyst, and keep them open until stopped."""
    refuse_few(names)
    _check_extra()
    find_server()
    passphrase = secrets.token_urlsafe(9)
    try:
        with found_consortium(names, seed, keep) as machine:
            with steps(2) as bar:
                with bar.doing("starting sites"):
                    machine.open_pages(PERSON, passphrase)
                    for site in machine.sites:
                        machine.start(site)
                    machine.wait()
                with bar.doing("proposing"):
                    job = _propose(machine, seed)
                    machine.start(ANALYST)
            _print_addresses(machine, job, passphrase)
            while True:
                machine.check()
                time.sleep(LOOK)
    except KeyboardInterrupt:
        console().print("\nAll sites are stopped.", style="dim")


def _check_extra() -> None:
    try:
        import starlette  # noqa: F401, PLC0415 - only whether it is there
        import uvicorn  # noqa: F401, PLC0415 - likewise
    except ImportError:
        raise MissingExtraError("the page of a site", "page") from None


def _propose(machine: OneMachine, seed: int) -> Job:
    job = write_study(machine, seed)
    with Analyst(AnalystSettings.from_toml(machine.config(ANALYST))) as analyst:
        analyst.submit(job)
    return job


def _print_addresses(machine: OneMachine, job: Job, passphrase: str) -> None:
    does: dict[str, Any] = {CLEARING: "follow the run", ANALYST: "follow it, read the result, compose another study"}
    rows = [
        (site, f"http://{at}", does.get(site, "read the proposal, and approve or refuse it"))
        for site, at in machine.pages.items()
    ]
    screen = console()
    screen.print(f"A study waits for people: {job.purpose}\n", style="bold", markup=False)
    screen.print(table("site", "page", "what to do there", rows=rows))
    screen.print(f"\nLog in everywhere as {PERSON} with the passphrase {passphrase}", markup=False, soft_wrap=True)
    screen.print("It runs once every hospital has approved. Press Ctrl-C to stop all sites.", style="dim")
