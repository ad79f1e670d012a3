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
from typing import Any, Literal

import numpy as np

from tacit.choreo import F64, I64
from tacit.consortium.example_files import example_analyst, example_coordinator, example_party, example_policy, quoted
from tacit.consortium.names import Kind
from tacit.consortium.registrar import Registrar
from tacit.consortium.request import Request, create
from tacit.errors import LocalError

CLEARING, ANALYST, DATASET, LABEL = "clearing", "analyst", "cohort", "diagnosis"
HOST = "127.0.0.1"
STARTING = 60.0  # seconds for the server to answer
PATIENCE = 15.0  # seconds for a daemon to end when told to
Daemon = Literal["party", "coordinator"]


@dataclass
class OneMachine:
    """The folder of the consortium and the processes that were started in it."""

    root: Path
    hospitals: tuple[str, ...]
    url: str = ""
    fingerprint: str = ""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def sites(self) -> tuple[str, ...]:
        """Who takes part in a run."""
        return (*self.hospitals, CLEARING)

    def folder(self, site: str) -> Path:
        """Where a site has everything."""
        return self.root / site

    def config(self, site: str) -> Path:
        """Its configuration."""
        return self.folder(site) / f"{site}.toml"

    def job_folder(self, site: str, job: str) -> Path:
        """What a site keeps of a job."""
        return self.folder(site) / "state" / "jobs" / job

    def start(self, site: str) -> None:
        """Start a site's daemon, exactly as a person would."""
        kind: Daemon = "coordinator" if site == CLEARING else "party"
        command = [sys.executable, "-m", "tacit.cli", kind, "--config", str(self.config(site))]
        with (self.folder(site) / "log").open("ab") as log:
            # one BLAS thread: the same bits everywhere, and a core for each site
            env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            self.processes[site] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)  # noqa: S603 - ourselves

    def wait(self) -> None:
        """Until the server answers; a daemon that gave up is an error."""
        port = int(self.url.rpartition(":")[2])
        end = time.monotonic() + STARTING
        while time.monotonic() < end:
            self.check()
            with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
                return
            time.sleep(0.1)
        raise LocalError(f"the server did not start within {STARTING:g} s: is this machine very busy? Try again")

    def kill(self, site: str) -> int:
        """End a site's process without a word, as a power cut would; the number it had."""
        child = self.processes[site]
        child.kill()
        child.wait()
        return child.pid

    def check(self) -> None:
        """Refuse to wait for a daemon that gave up."""
        for site, child in self.processes.items():
            if child.poll() not in {None, -signal.SIGKILL}:
                said = (self.folder(site) / "log").read_text(errors="replace").strip().splitlines()
                raise LocalError(f"the process of {site} ended: {said[-1].removeprefix('tacit: error: ') if said else 'it gave no reason'}")

    def stop(self) -> None:
        """End all of them, the server's last."""
        for site in sorted(self.processes, key=lambda name: name == CLEARING):
            self.processes[site].terminate()
        for child in self.processes.values():
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self._end_server()

    def _end_server(self) -> None:
        """A coordinator that had to be killed leaves its server behind."""
        store = self.folder(CLEARING) / "jetstream"
        with contextlib.suppress(OSError, ValueError):
            pid = int((store / "nats.pid").read_text())
            if os.fsencode(store / "nats.conf") in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGTERM)


@contextmanager
def one_machine(root: Path, hospitals: Mapping[str, F64], y: I64 | Mapping[str, I64], *, keep: bool) -> Iterator[OneMachine]:
    """Found the consortium; at the end nothing runs any more, and nothing is left unless it is to be kept.

    y: labels of the common records, held by the first hospital, or each hospital's labels of its own records.
    """
    made = OneMachine(root, tuple(hospitals), f"tls://{HOST}:{_free_port()}")
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        _enrol(made)
        for name, X in hospitals.items():
            if isinstance(y, Mapping):
                _furnish(made, name, [f"x{i}" for i in range(X.shape[1])], X, y[name])
            else:
                _furnish(made, name, [f"{name}_{i}" for i in range(X.shape[1])], X, y if name == made.hospitals[0] else None)
        made.config(CLEARING).write_text(
            example_coordinator(CLEARING, listen=made.url.removeprefix("tls://"), ca_fingerprint=made.fingerprint)
        )
        study = _study(made, own=isinstance(y, Mapping))
        made.config(ANALYST).write_text(example_analyst(ANALYST, servers=[made.url], ca_fingerprint=made.fingerprint) + study)
        yield made
    finally:
        made.stop()
        signal.signal(signal.SIGTERM, before)
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _enrol(made: OneMachine) -> None:
    """Keys, requests, certificates and the list of members."""
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
    """A hospital's table, configuration and policy."""
    folder = made.folder(name)
    header = [*columns, *([] if y is None else [LABEL])]
    rows: Any = X if y is None else np.column_stack([X, y])
    np.savetxt(folder / "cohort.csv", rows, delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    label = None if y is None else LABEL
    made.config(name).write_text(example_party(name, servers=[made.url], ca_fingerprint=made.fingerprint, label=label))
    (folder / "policy.toml").write_text(example_policy(automatic=True))


def _study(made: OneMachine, *, own: bool) -> str:
    split = 'partition = "horizontal"' if own else f"labeller = {quoted(made.hospitals[0])}"
    return f"""
[study]
parties = {quoted(made.hospitals)}
coordinator = {quoted(CLEARING)}
dataset = {quoted(DATASET)}
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
