"""A consortium on one machine as it is in earnest.

A process for every site, a real server, files and keys of their own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from job_files import one_step
from tacit.consortium.jobs.answers import Finished
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.example_files import example_analyst, example_coordinator, example_party, example_policy
from tacit.consortium.site.settings import AnalystSettings
from tacit.runtimes.nats.dialling import UnreachableError
from unit.consortium.consortium_sites import Consortium

DAEMON = Path(__file__).with_name("daemon.py")
SILENCE = 30.0  # seconds after which a site is given up: long for a busy machine
CLEARING, ANALYST = "clearing", "ana"
STARTING = 60.0  # seconds for all processes to import what they need, on a machine that is busy
ENDS = ("finished", "refused", "stopped")


def free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def records(rows: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, columns))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def policy() -> str:
    """Return a policy that names a paper's method too: its model is the same in every run, to the last bit."""
    shipped = tomllib.loads(example_policy())["protocols"]
    return example_policy(
        automatic=True,
        preflights_per_day=1000,
        studies=1000,
        protocols=[*shipped, "gram_vertical"],
        other_parameters="any",
    )


class Sites:
    """N hospitals that hold columns of the same records, a clearing house, an analyst.

    `dials` sends a hospital to another port.
    """

    moments = 30  # messages of a hospital among which a run is disturbed

    def __init__(
        self, folder: Path, hospitals: int = 3, *, rows: int = 120, timeout: float = SILENCE,
        dials: dict[str, int] | None = None, options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.folder, self.port, self.jobs = folder, free_port(), 0
        self.hospitals = [f"h{i + 1}" for i in range(hospitals)]
        self.consortium = Consortium(folder / "c", "Demo")
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.options = {name: list(options) for name in self.hospitals}
        self.X, self.y = records(rows, 4 * hospitals)
        kinds = {**dict.fromkeys(self.hospitals, "party"), CLEARING: "coordinator", ANALYST: "analyst"}
        for name, kind in kinds.items():
            self.consortium.join(name, kind)
        for name in kinds:
            (self.home(name) / "consortium.members").write_bytes(
                (folder / "c" / "registrar" / "consortium.members").read_bytes()
            )
        fingerprint = self.consortium.registrar.identity.fingerprint
        for i, name in enumerate(self.hospitals):
            port = (dials or {}).get(name, self.port)
            self._hospital(
                name, i, servers=[f"tls://127.0.0.1:{port}"], ca_fingerprint=fingerprint, party_timeout=timeout
            )
        listen = f"127.0.0.1:{self.port}"
        (self.home(CLEARING) / "site.toml").write_text(
            example_coordinator(CLEARING, listen=listen, ca_fingerprint=fingerprint, party_timeout=timeout)
        )
        (self.home(ANALYST) / "site.toml").write_text(
            example_analyst(ANALYST, servers=[f"tls://{listen}"], ca_fingerprint=fingerprint) + self._study()
        )

    def _hospital(self, name: str, i: int, **settings: Any) -> None:
        columns = self.X[:, 4 * i : 4 * i + 4]
        head = [f"{name}-column{j}" for j in range(4)] + (["label"] if i == 0 else [])
        data = np.column_stack([columns, self.y]) if i == 0 else columns
        np.savetxt(self.home(name) / "cohort.csv", data, delimiter=",", header=",".join(head), comments="", fmt="%.17g")
        (self.home(name) / "site.toml").write_text(example_party(name, label="label" if i == 0 else None, **settings))
        (self.home(name) / "policy.toml").write_text(policy())

    def _study(self) -> str:
        return (
            f'\n[study]\nparties = {self.hospitals}\ncoordinator = "{CLEARING}"\ndataset = "cohort"\n'
            f'purpose = "a test"\nlegal_basis = "none"\nlabeller = "{self.hospitals[0]}"\naligned = true\n'
        )

    def home(self, name: str) -> Path:
        """A site's own folder."""
        return self.folder / "c" / name / "first"

    @property
    def configs(self) -> dict[str, Path]:
        """The configurations of those who hold records."""
        return {name: self.home(name) / "site.toml" for name in self.hospitals}

    @property
    def names(self) -> list[str]:
        """All that have a process."""
        return [CLEARING, *self.hospitals]

    # Processes

    def __enter__(self) -> Self:
        for name in self.names:
            self.start(name)
        try:
            self.await_(lambda: " coordinates at " in self.log(CLEARING), STARTING)
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(*self.processes)
        self.kill_server()

    def start(self, name: str, *options: str) -> None:
        """Start a site, or start it again."""
        kind = "coordinator" if name == CLEARING else "party"
        command = [
            sys.executable,
            str(DAEMON),
            kind,
            str(self.home(name) / "site.toml"),
            "--published",
            str(self.published(name)),
        ]
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        with self.log_file(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(  # noqa: S603 - our own
                [*command, *self.options.get(name, ()), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env,
            )

    def start_missing(self) -> None:
        """Start whoever does not run."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                self.start(name)

    def stop(self, *names: str) -> list[int]:
        """Ask sites to end, and wait until they have."""
        for name in names:
            self.processes[name].terminate()
        ended = []
        for name in names:
            try:
                ended.append(self.processes[name].wait(15))
            except subprocess.TimeoutExpired:
                self.processes[name].kill()
                ended.append(self.processes[name].wait())
        return ended

    def kill(self, name: str) -> None:
        """With kill -9."""
        self.processes[name].kill()
        self.processes[name].wait()

    def kill_server(self) -> None:
        """With kill -9, if it runs."""
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.home(CLEARING) / "jetstream" / "nats.pid").read_text())
            command = Path(f"/proc/{pid}/cmdline")
            if str(self.folder).encode() in command.read_bytes():  # the number may be another's by now
                os.kill(pid, signal.SIGKILL)
                self.await_(lambda: not command.exists() or not command.read_bytes(), 5)

    def log_file(self, name: str) -> Path:
        """What a site says."""
        return self.folder / f"{name}.log"

    def log(self, name: str) -> str:
        """What a site said."""
        return self.log_file(name).read_text()

    def published(self, name: str) -> Path:
        """What left a site."""
        return self.folder / f"{name}.published"

    # Jobs

    def analyst(self) -> Analyst:
        """Who submits."""
        return Analyst(AnalystSettings.from_toml(self.home(ANALYST) / "site.toml"))

    def job(self, **params: Any) -> Job:
        """Another job each time, of many rounds, as sites run none twice; a tolerance so near gives the same model."""
        self.jobs += 1
        given = {
            "kernel": "rbf",
            "gamma": 0.1,
            "degree": 3,
            "coef0": 0.0,
            "C": 4.0,
            "tol": 1e-6 * (1 + self.jobs * 2.0**-40),
            **params,
        }
        return propose(
            "study", one_step("GramSVC", **given), partition="vertical", parties=self.hospitals, coordinator=CLEARING,
            dataset="cohort", submitter=ANALYST, purpose="a test", legal_basis="none", labeller=self.hospitals[0],
            aligned=True,
        )  # fmt: skip

    def follow(self, analyst: Analyst, job: Job, patience: float, *, after: int = 0) -> News:
        """How a job ended."""
        end, news = time.monotonic() + patience, None
        while time.monotonic() < end:
            with contextlib.suppress(UnreachableError):  # the server is down, too
                for news in analyst.ask(CLEARING, job.id):
                    if news.state in ENDS and (news.state != "stopped" or news.attempt > after):
                        return news
            time.sleep(0.1)
        raise AssertionError(f"{news}\n" + "\n".join(f"== {n}\n{self.log(n)[-2000:]}" for n in self.names))

    def run(self, patience: float = 40.0, **params: Any) -> Job:
        """Submit a job and see it end well."""
        with self.analyst() as analyst:
            job = self.job(**params)
            analyst.submit(job)
            self.ends_well(analyst, job, patience)
        return job

    def ends_well(self, analyst: Analyst, job: Job, patience: float = 40.0, *, after: int = 0) -> News:
        """The job finishes."""
        news = self.follow(analyst, job, patience, after=after)
        assert news.state == "finished", (news, *(self.log(n)[-1500:] for n in self.names))
        return news

    def model(self, job: Job) -> dict[str, tuple[bytes, bytes]]:
        """What the run left at every site, bit for bit."""
        found = {n: folder_of(self.home(n) / "state", job.id).path for n in self.names}
        return {
            n: ((path / "result.bin").read_bytes(), (path / "public.bin").read_bytes()) for n, path in found.items()
        }

    def messages(self, job: Job, name: str = CLEARING) -> int:
        """How many left a site in a job so far."""
        file = self.published(name)
        return sum(line.startswith(job.id) for line in file.read_text().splitlines()) if file.exists() else 0

    def outcome(self, job: Job, name: str) -> Finished | None:
        """How a site came out of a job."""
        return folder_of(self.home(name) / "state", job.id).finished

    def await_(self, true: Callable[[], bool], patience: float = 20.0) -> None:
        """Wait for it."""
        end = time.monotonic() + patience
        while not true():
            assert time.monotonic() < end, "in vain: " + "\n".join(f"== {n}\n{self.log(n)[-1500:]}" for n in self.names)
            time.sleep(0.01)

    def check_masks(self) -> int:
        """No message ever left a site in two forms, however often it was killed; gives the number of messages."""
        count = 0
        for name in self.names:
            first: dict[str, str] = {}
            for line in self.published(name).read_text().splitlines():
                number, digest = line.split("\t")
                message = number.partition("/again ")[0]
                assert first.setdefault(message, digest) == digest, f"{name} sent two forms of {message}"
            count += len(first)
        return count
