"""The demonstration over a network: a whole study between hospitals, one of which is killed on the way.

Hospitals, a clearing house and a server are real processes.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

from tacit.base.shared import write_concerns_only
from tacit.choreo.progress import Progress
from tacit.cli.one_machine import ANALYST, CLEARING, DATASET, ID, LABEL, OneMachine, one_machine
from tacit.cli.output import Steps, console, steps, table
from tacit.cli.summary import print_disclosures
from tacit.consortium.audit.comparison import compare
from tacit.consortium.broker.server import find_server
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.proposal import job_of_file
from tacit.consortium.membership.members import Members
from tacit.consortium.site.analyst import Analyst, await_outcome
from tacit.consortium.site.example_files import quote
from tacit.consortium.site.fitted import fit_from
from tacit.consortium.site.settings import AnalystSettings, PartySettings
from tacit.consortium.site.tables import Tables, network_key
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.metrics import evaluate
from tacit.progress import listen_to
from tacit.report import Report
from tacit.report.card import outermost
from tacit.report.evaluation import Evaluation
from tacit.report.words import cost_of, human_seconds
from tacit.study.names import SEED
from tacit.study.steps import read_pipeline
from tacit.study.study import HELD_OUT

MISSING = 0.05  # of the measurements
AWAY = 1.5  # seconds for which the killed one stays away
FEWEST = 3  # hospitals, whose policies and sums want so many
ROUNDS = 10  # of the search that are over when it is killed
SEARCH = "svm"  # the step in which it is

STUDY = """\
dataset = {dataset}
purpose = "to show that a study survives"
legal_basis = "public data of scikit-learn"
parties = {parties}
coordinator = {coordinator}
partition = "horizontal"
seed = {seed}

[[step]]
name = "gaps"
use = "FederatedImputer"
strategy = "median"

[[step]]
name = "units"
use = "FederatedScaler"

[[step]]
name = "{search}"
use = "FederatedGridSearch"
estimator = {{ use = "SVC" }}
grid = {{ alpha = [0.1, 1], gamma = [0.01, 0.03] }}

[evaluate]
"""


@dataclass
class Story:
    """Kills a hospital in the middle of a run, starts it again, and tells when."""

    machine: OneMachine
    victim: str
    bar: Steps
    killed_at: float = 0.0
    back: bool = False
    told: str = "nobody: the run was over before it could be done"

    def progress(self, progress: Progress) -> None:
        """Kill or start the victim when it is time; called as the run goes on."""
        self.machine.check()
        now, done, total = time.monotonic(), progress.round, progress.rounds
        if not self.killed_at and progress.step.name == SEARCH and done >= ROUNDS:
            process, self.killed_at = self.machine.kill(self.victim), now
            self.told = f"{self.victim} (process {process}) with kill -9 after round {done} of {total}"
            self.bar.name(f"{self.victim} killed")
        elif self.killed_at and not self.back and now - self.killed_at >= AWAY:
            self.machine.start(self.victim)
            self.back = True
            self.told += f"; started again {human_seconds(now - self.killed_at)} later"
            self.bar.name(f"{self.victim} is back")


def demonstrate(names: tuple[str, ...], out: Path, seed: int, keep: Path | None) -> None:
    """Have the named hospitals do a study, kill one of them on the way, and print what became of it."""
    refuse_few(names)
    find_server()
    begun = time.monotonic()
    with steps(5) as bar, found_consortium(names, seed, keep) as machine:
        report, account = _play(machine, bar, seed)
    report.to_html(out)
    screen, sites = console(), f"{len(names)} hospitals, a clearing house and nats-server"
    screen.print(f"{sites} as processes of their own, over TLS on this machine\n", style="bold")
    took = human_seconds(time.monotonic() - begun)
    screen.print(table("", "", rows=[*account.items(), ("all of it took", took)]))
    print_disclosures(screen, dataclasses.replace(report, opens=list(outermost(report.opens))))
    screen.print("\nAll private keys were in one folder, as only a demonstration may have them.", style="dim")
    if keep:
        screen.print(f"Keys, configurations, the study, logs and audits: {keep}", markup=False, soft_wrap=True)
    screen.print(f"The whole report, with what is not protected: {out}", markup=False, soft_wrap=True)


def refuse_few(names: tuple[str, ...]) -> None:
    """Raise if there are fewer hospitals than their policies ask for."""
    if len(names) < FEWEST:
        why = f"the hospitals' policies ask for {FEWEST}, and so does every sum"
        raise LocalError(f"--parties {len(names)} is too few for --network: {why}")


@contextmanager
def found_consortium(names: tuple[str, ...], seed: int, keep: Path | None) -> Iterator[OneMachine]:
    """Found the consortium; a person who stops the demonstration stops its sites too."""
    data = load_breast_cancer()
    draw = np.random.default_rng(seed)
    X, dealt = data.data.copy(), np.array_split(draw.permutation(len(data.data)), len(names))
    X[draw.random(X.shape) < MISSING] = np.nan
    columns = [name.replace(" ", "_") for name in data.feature_names]
    records = {name: X[rows] for name, rows in zip(names, dealt, strict=True)}
    labels = {name: data.target[rows] for name, rows in zip(names, dealt, strict=True)}
    try:
        with one_machine(_make_root(keep), records, labels, keep=keep is not None, columns=columns) as machine:
            yield machine
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # no job goes on at sites that were stopped


def _make_root(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="tacit-demo-"))
    try:
        keep.mkdir(mode=0o700)
    except OSError as error:
        why = f"{error.strerror}; name a folder that does not exist yet"
        raise LocalError(f"--keep {keep} cannot be made: {why}") from None
    return keep.absolute()


def _play(machine: OneMachine, bar: Steps, seed: int) -> tuple[Report, dict[str, str]]:
    """Return the report of the study, and what happened."""
    with bar.doing("starting sites"):
        for site in (CLEARING, *machine.hospitals):
            machine.start(site)
        job = write_study(machine, seed)
        machine.wait()
    story = Story(machine, machine.hospitals[1], bar)
    with bar.doing("the study"), listen_to("", story.progress) as tell:
        with Analyst(AnalystSettings.from_toml(machine.config(ANALYST))) as analyst:
            analyst.submit(job)
            outcome = await_outcome(analyst, job, tell)
        model = fit_from(job, outcome)
    with bar.doing("in one process"):
        tables, alone = _study_here(machine, job)
    with bar.doing("audits"):
        rows = _check_audits(machine, job.id)
    with bar.doing("stopping"):
        machine.stop()
    report = model.report_
    report.title = f"A study of {len(tables.parts)} hospitals and {tables.n_rows} patients, over a network"
    return report, {**_describe(machine, tables, model), "killed": story.told} | {
        "the run": f"went on by itself and ended: {cost_of(report.rounds, report.bytes, report.seconds)}",
        "in one process": f"{alone:.4f} of the same patients, by a model with noise of its own",
        "audits": f"the {len(machine.sites)} sites' signed ledgers agree in all {rows:,} rows",
    }


def write_study(machine: OneMachine, seed: int) -> Job:
    """Write the study beside the analyst's configuration, and return it as a job."""
    named = {"dataset": DATASET, "parties": machine.hospitals, "coordinator": CLEARING}
    file = machine.folder(ANALYST) / "study.toml"
    text = STUDY.format(seed=seed, search=SEARCH, **{name: quote(value) for name, value in named.items()})
    file.write_text(text, encoding="utf-8")
    return job_of_file(file, submitter=ANALYST)


def _describe(machine: OneMachine, tables: Federation, model: Any) -> dict[str, str]:
    judged, search = _judged(model), model[SEARCH]
    new = int(np.sum(judged.confusion_matrix))
    patients = f"{tables.n_features} measurements of {tables.n_rows} patients at {', '.join(machine.hospitals)}"
    chosen = ", ".join(f"{name}={value:g}" for name, value in search.best_params_.items())
    tried = f"{len(search.candidates_)} candidates in {search.n_splits_} folds: {chosen}"
    return {
        "data": f"{patients}; {MISSING:.0%} of them missing, each in its own unit",
        "the study": f"gaps filled, one scale, {tried}; trained, judged",
        "accuracy": f"{judged.accuracy:.4f} on {new} patients whom the hospitals held out, each its own",
    }


def _judged(model: Any) -> Evaluation:
    found: Evaluation = model.report_.evaluations[HELD_OUT]
    return found


def _study_here(machine: OneMachine, job: Job) -> tuple[Federation, float]:
    """Do the same with the same files in one process; return them, and the accuracy there."""
    learn, judge = (_dealt(machine, job, held_out=held_out) for held_out in (False, True))
    asked = job.arguments
    with threadpool_limits(1), write_concerns_only():  # as at the sites
        here = read_pipeline(asked["steps"], asked[SEED]).fit(learn)
        found = evaluate(here, judge, **asked["evaluate"])
    files = [machine.folder(name) / "cohort.csv" for name in machine.hospitals]
    tables = Federation.from_files(
        files, partition="horizontal", label=LABEL, names=machine.hospitals, allow_missing=True, drop=[ID]
    )
    return tables, found.accuracy


def _dealt(machine: OneMachine, job: Job, *, held_out: bool) -> Federation:
    """Return the records that the hospitals learnt from, or those that they judged by, as each has dealt them."""
    parts = []
    for name in machine.hospitals:
        settings = PartySettings.from_toml(machine.config(name))
        network = network_key(settings.ca_fingerprint)
        part = Tables(name, settings.state, settings.datasets, network).part(job, held_out=held_out)
        if part is None:
            raise LocalError(f"{name} does not offer the records of the job: please report this")
        parts.append((part.X, part.y))
    named: Any = {"names": machine.hospitals, "coordinator": CLEARING}
    return Federation.from_parts(parts, partition="horizontal", allow_missing=True, **named)


def _check_audits(machine: OneMachine, job: str) -> int:
    """Return how many rows every site's audit has; raise if the audits do not agree."""
    members = Members.load(machine.folder(CLEARING) / "consortium.members", machine.fingerprint)
    files = [machine.job_folder(site, job) / "audit.jsonl" for site in machine.sites]
    found = compare(files, members.keys())
    if found:
        raise LocalError(f"the audits differ: {found[0]}; please report this")
    return files[0].read_bytes().count(b"\n") - 2
