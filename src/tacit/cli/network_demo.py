"""What `tacit demo --network` does: three hospitals, a clearing house and a server as real processes, one of them killed on the way."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from tacit.choreo import Holder, encode
from tacit.cli.hospitals import NAMES
from tacit.cli.one_machine import ANALYST, CLEARING, LABEL, OneMachine, one_machine
from tacit.cli.output import Steps, check_targets, console, steps, table
from tacit.cli.summary import disclosed, known
from tacit.consortium.analyst import connect
from tacit.consortium.comparison import compare
from tacit.consortium.folder import folder_of
from tacit.consortium.members import Members
from tacit.consortium.server import find_server
from tacit.data import Federation
from tacit.errors import LocalError
from tacit.estimators import GramSVC
from tacit.registry import Inputs, Outcome
from tacit.report import Report
from tacit.report.words import counted, human_bytes, human_seconds

BAND = 1500  # entries of the gram matrix in a round: small, so that there are rounds enough to be killed in
AWAY = 1.5  # seconds for which the killed one stays away
BEFORE = 0.25  # of the rounds are done when it is killed


@dataclass
class Story:
    """Kills a hospital in the middle of a run, starts it again, and remembers when."""

    machine: OneMachine
    victim: str
    bar: Steps
    killed_at: float = 0.0
    killed_in: tuple[int, int] = (0, 0)
    killed_pid: int = 0
    back_at: float = 0.0

    def progress(self, place: str, done: int, total: int) -> None:
        """What the federation calls whenever it hears of the run."""
        self.bar.rounds(place, done, total)
        self.machine.check()
        now = time.monotonic()
        if not self.killed_at and total and done >= BEFORE * total:
            self.killed_pid, self.killed_at, self.killed_in = self.machine.kill(self.victim), now, (done, total)
            self.bar.bar.update(self.bar.task, description=f"{self.victim} killed")
        elif self.killed_at and not self.back_at and now - self.killed_at >= AWAY:
            self.machine.start(self.victim)
            self.back_at = now
            self.bar.bar.update(self.bar.task, description=f"{self.victim} is back")

    def told(self) -> str:
        """Who was killed when."""
        if not self.killed_at:
            return "nobody: the run was over before it could be done"
        done, total = self.killed_in
        back = human_seconds(self.back_at - self.killed_at)
        return f"{self.victim} (process {self.killed_pid}) with kill -9 after round {done} of {total}; started again {back} later"


@dataclass(frozen=True)
class Account:
    """All that is told at the end."""

    story: Story
    report: Report
    patients: int
    columns: int
    support: int
    same: bool
    audited: int
    seconds: float


def run(parties: int, out: Path, seed: int, keep: Path | None) -> None:
    """Play it, then tell it."""
    check_targets({"--out": out}, [])
    find_server()
    begun = time.monotonic()
    X, y = load_breast_cancer(return_X_y=True)
    names = NAMES[:parties]
    columns = Federation.simulate(X, parties=names, partition="vertical", seed=seed).columns
    tables = {name: StandardScaler().fit_transform(X[:, held]) for name, held in columns.items()}
    with steps(5) as bar, one_machine(_root(keep), tables, y, keep=keep is not None) as machine:
        account = _played(machine, bar, begun)
    account.report.to_html(out)
    _print(account, out, keep)
    if not account.same:
        raise LocalError("the two models differ: please report this, with the folder that --keep leaves")


def _root(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="tacit-demo-"))
    try:
        keep.mkdir(mode=0o700)
    except OSError as error:
        raise LocalError(f"--keep {keep} cannot be made: {error.strerror}; name a folder that does not exist yet") from None
    return keep.absolute()


def _played(machine: OneMachine, bar: Steps, begun: float) -> Account:
    with bar.doing("starting sites"):
        for site in (CLEARING, *machine.hospitals):
            machine.start(site)
        machine.wait()
        federation = connect(machine.config(ANALYST))
    story = Story(machine, machine.hospitals[1], bar)
    with bar.doing("training"):
        model = _trained(federation, story)
    job = model.model_.job
    with bar.doing("in one process"):
        patients, features, same = _compared(machine, job)
    with bar.doing("audits"):
        audited = _audited(machine, job)
    with bar.doing("stopping"):
        machine.stop()
    report: Report = model.report_
    report.title = f"{len(machine.hospitals)} hospitals, {patients} patients, one classifier, over a network"
    return Account(story, report, patients, features, len(model.support_), same, audited, time.monotonic() - begun)


def _trained(federation: Any, story: Story) -> Any:
    """GramSVC as everywhere, in small bands."""
    propose = federation.execute

    def in_bands(protocol: str, inputs: Inputs, **params: Any) -> Outcome:
        outcome: Outcome = propose(protocol, inputs, **params, band=BAND)
        return outcome

    federation.execute, federation.progress = in_bands, story.progress
    return GramSVC(C=10).fit(federation)


def _compared(machine: OneMachine, job: str) -> tuple[int, int, bool]:
    """Patients, columns, and whether the same files give the same model in one process, bit for bit."""
    stored = folder_of(machine.folder(CLEARING) / "state", job)
    files = [machine.folder(name) / "cohort.csv" for name in machine.hospitals]
    tables = Federation.from_files(
        files,
        names=machine.hospitals,
        partition="vertical",
        label=LABEL,
        labeller=machine.hospitals[0],
        coordinator=CLEARING,
        allow_two_parties=True,
    )
    with threadpool_limits(1):  # as at the sites
        outcome = tables.execute("gram_vertical", {"data": (Holder, tables.parts)}, **stored.job.arguments)
    public, dual = stored.public or {}, stored.result["dual"]
    same_support = np.array_equal(outcome.result["support"], public["support"])
    same = same_support and encode(outcome.result["dual"][CLEARING]).join() == encode(dual).join()
    return tables.n_rows, tables.n_features, same


def _audited(machine: OneMachine, job: str) -> int:
    """Rows of every site's audit, all of which agree."""
    members = Members.load(machine.folder(CLEARING) / "consortium.members", machine.fingerprint)
    files = [machine.job_folder(site, job) / "audit.jsonl" for site in machine.sites]
    found = compare(files, members.keys())
    if found:
        raise LocalError(f"the audits differ: {found[0]}; please report this")
    return files[0].read_bytes().count(b"\n") - 2


def _print(account: Account, out: Path, keep: Path | None) -> None:
    screen, story, report = console(), account.story, account.report
    hospitals = story.machine.hospitals
    screen.print(
        f"{len(hospitals)} hospitals, a clearing house and nats-server as processes of their own, over TLS on this machine\n",
        style="bold",
        markup=False,
    )
    screen.print(table("", "", rows=_rows(account)))
    _disclosures(screen, report)
    screen.print("\nAll private keys were in one folder, as only a demonstration may have them.", style="dim")
    if keep:
        screen.print(f"Keys, configurations, logs and audits: {keep}", markup=False, soft_wrap=True)
    screen.print(f"The whole report, with what is not protected: {out}", markup=False, soft_wrap=True)


def _rows(account: Account) -> list[tuple[str, str]]:
    story, report, hospitals = account.story, account.report, account.story.machine.hospitals
    split = f"{account.columns} measurements of {account.patients} patients, split by columns"
    cost = f"{counted(report.rounds, 'round')}, {human_bytes(report.bytes)}, {human_seconds(report.seconds)}"
    verdict = f"{'yes' if account.same else 'NO'}, bit for bit that of one process without a network"
    return [
        ("data", f"{split}; {hospitals[0]} has the diagnoses"),
        ("killed", story.told()),
        ("the run", f"went on by itself and ended: {cost}"),
        ("same model", f"{verdict} ({account.support} support vectors)"),
        ("audits", f"the {len(story.machine.sites)} sites' signed ledgers agree in all {account.audited:,} rows"),
        ("all of it took", human_seconds(account.seconds)),
    ]


def _disclosures(screen: Console, report: Report) -> None:
    screen.print("\nWho knows what after training", style="bold")
    screen.print(table("who", "knows", rows=known(report.opens)))
    screen.print("\nWho learnt what, from the ledger of every message", style="bold")
    screen.print(table("who", "learnt", "from whom", "how often", rows=disclosed(report.learnt, list(report.parties))))
