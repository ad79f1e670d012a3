"""A whole consortium on one machine: a folder for each site, and its daemons as processes of their own.

Only a demonstration has all private keys in one place: at work each is made at its own site and never leaves it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tacit.arrays import F64, I64
from tacit.consortium.broker.server import end_child, end_left_behind
from tacit.consortium.consent.people import Approvers
from tacit.consortium.membership.certificate_request import Request, create
from tacit.consortium.membership.names import Kind
from tacit.consortium.membership.registrar import Registrar
from tacit.consortium.site import example_files
from tacit.consortium.site.example_files import quote
from tacit.errors import LocalError

CLEARING, ANALYST, DATASET, LABEL, ID = "clearing", "analyst", "cohort", "diagnosis", "patient"
HOST = "127.0.0.1"
KILLED = -9 if os.name == "posix" else 1  # what a process that was killed returns
STARTING = 180.0  # seconds for the server to answer: it starts in one, its coordinator on a busy machine does not


@dataclass
class OneMachine:
    """The folder of the consortium and the processes that were started in it."""

    root: Path
    hospitals: tuple[str, ...]
    url: str = ""
    fingerprint: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)  # where sites show their page

    @property
    def sites(self) -> tuple[str, ...]:
        """The sites that take part in a run."""
        return (*self.hospitals, CLEARING)

    def folder(self, site: str) -> Path:
        """Return the folder of a site."""
        return self.root / site

    def config(self, site: str) -> Path:
        """Return the configuration file of a site."""
        return self.folder(site) / f"{site}.toml"

    def job_folder(self, site: str, job: str) -> Path:
        """Return the folder in which a site keeps a job."""
        return self.folder(site) / "state" / "jobs" / job

    def start(self, site: str) -> None:
        """Start a site's daemon, or the page of the analyst, exactly as a person would."""
        kind = {CLEARING: "coordinator", ANALYST: "page"}.get(site, "party")
        command = [sys.executable, "-m", "tacit.cli", kind, "--config", str(self.config(site))]
        if site in self.pages:
            command += ["--at" if site == ANALYST else "--page", self.pages[site]]
        with (self.folder(site) / "log").open("ab") as log:
            # one BLAS thread: the same bits everywhere, and a core for each site
            env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            # ourselves
            self.processes[site] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)  # noqa: S603

    def open_pages(self, person: str, passphrase: str) -> None:
        """Give every site and the analyst a page, to which a person can log in; sites ask that person about jobs."""
        for site in (*self.sites, ANALYST):
            self.pages[site] = f"{HOST}:{_free_port()}"
            Approvers(self.folder(site) / "state" / "approvers").add(person, passphrase)
        for hospital in self.hospitals:
            policy = example_files.example_policy(approvers=(person,))
            (self.folder(hospital) / "policy.toml").write_text(policy, encoding="utf-8")

    def wait(self) -> None:
        """Wait until the server answers; raise if a daemon gave up."""
        port = int(self.url.rpartition(":")[2])
        end = time.monotonic() + STARTING
        while time.monotonic() < end:
            self.check()
            with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
                return
            time.sleep(0.1)
        raise LocalError(f"the server did not start within {STARTING:g} s: is this machine very busy? Try again")

    def kill(self, site: str) -> int:
        """End a site's process without a word, as a power cut would; return the number it had."""
        child = self.processes[site]
        child.kill()
        child.wait()
        return child.pid

    def check(self) -> None:
        """Raise if a daemon gave up, with the last line of its log."""
        for site, child in self.processes.items():
            if child.poll() not in {None, KILLED}:
                log = (self.folder(site) / "log").read_text(encoding="utf-8", errors="replace")
                last = log.strip().rpartition("\n")[2].removeprefix("tacit: error: ")
                raise LocalError(f"the process of {site} ended: {last or 'it gave no reason'}")

    def stop(self) -> None:
        """End all processes, the server's last."""
        for site in sorted(self.processes, key=lambda name: name == CLEARING):
            self.processes[site].terminate()
        for child in self.processes.values():
            end_child(child)
        end_left_behind(self.folder(CLEARING) / "jetstream")  # by a coordinator that had to be killed


@contextmanager
def one_machine(
    root: Path,
    hospitals: Mapping[str, F64],
    y: I64 | Mapping[str, I64],
    *,
    keep: bool,
    columns: Sequence[str] = (),
) -> Iterator[OneMachine]:
    """Found the consortium; at the end stop everything, and remove all files unless they are to be kept.

    y: labels of the common records, held by the first hospital, or each hospital's labels of its own records.
    columns: their names, where every hospital has the same ones.
    """
    made = OneMachine(root, tuple(hospitals), f"tls://{HOST}:{_free_port()}")
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        _enrol(made)
        for name, X in hospitals.items():
            prefix = "x" if isinstance(y, Mapping) else f"{name}_"
            held = y[name] if isinstance(y, Mapping) else y if name == made.hospitals[0] else None
            _furnish(made, name, columns or [f"{prefix}{i}" for i in range(X.shape[1])], X, held)
        listen, pinned = made.url.removeprefix("tls://"), made.fingerprint
        clearing = example_files.example_coordinator(CLEARING, listen=listen, ca_fingerprint=pinned)
        made.config(CLEARING).write_text(clearing, encoding="utf-8")
        analyst = example_files.example_analyst(ANALYST, servers=[made.url], ca_fingerprint=pinned)
        study = _study(made, own=isinstance(y, Mapping))
        made.config(ANALYST).write_text(analyst + study, encoding="utf-8")
        yield made
    finally:
        made.stop()
        signal.signal(signal.SIGTERM, before)
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _enrol(made: OneMachine) -> None:
    """Make keys, requests, certificates and the list of members."""
    (made.root / "registrar").mkdir()
    registrar = Registrar.init(made.root / "registrar", "Demonstration")
    made.fingerprint = registrar.identity.fingerprint
    kinds: dict[str, Kind] = {**dict.fromkeys(made.hospitals, "party"), CLEARING: "coordinator", ANALYST: "analyst"}
    for name, kind in kinds.items():
        made.folder(name).mkdir()
        _, request = create(made.folder(name), name, kind, (HOST,) if kind == "coordinator" else ())
        registrar.sign(Request.load(request), kind)
        shutil.copy(made.root / "registrar" / f"{name}.crt", made.folder(name))
    for name in kinds:
        shutil.copy(made.root / "registrar" / "consortium.members", made.folder(name))


def _furnish(made: OneMachine, name: str, columns: Sequence[str], X: F64, y: I64 | None) -> None:
    """Write a hospital's table, its configuration and its policy."""
    folder = made.folder(name)
    header = [ID, *columns, *([] if y is None else [LABEL])]
    rows: Any = np.column_stack([np.arange(1, len(X) + 1), X, *([] if y is None else [y])])
    np.savetxt(folder / "cohort.csv", rows, delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    label, pinned = None if y is None else LABEL, made.fingerprint
    text = example_files.example_party(name, label=label, id=ID, servers=[made.url], ca_fingerprint=pinned)
    made.config(name).write_text(text, encoding="utf-8")
    (folder / "policy.toml").write_text(example_files.example_policy(automatic=True), encoding="utf-8")


def _study(made: OneMachine, *, own: bool) -> str:
    split = 'partition = "horizontal"' if own else f"labeller = {quote(made.hospitals[0])}\naligned = true"
    return f"""
[study]
parties = {quote(made.hospitals)}
coordinator = {quote(CLEARING)}
dataset = {quote(DATASET)}
purpose = "to show that a run survives"
legal_basis = "public data of scikit-learn"
{split}
"""


def _free_port() -> int:
    with socket.socket() as door:
        door.bind((HOST, 0))
        return int(door.getsockname()[1])


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
