"""A consortium in one process: files, folders, rules and jobs of every site as they are, and no network."""

from __future__ import annotations

import csv
import dataclasses
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np

import tacit
from tacit.choreo import decode_as, encode
from tacit.consortium.consent.decision import Case, decide, named_columns, question_of
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.answers import Finished, Proposal, Start
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.grounds import grounds_of
from tacit.consortium.jobs.public_result import PublicResult, split
from tacit.consortium.site.analyst import Connected, Fetched, Remote, find_same, outcome_of
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.example_files import example_policy
from tacit.consortium.site.settings import Dataset, Terms
from tacit.consortium.site.tables import Tables
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import PeerError
from tacit.registry import PROTOCOLS, play
from tacit.runtimes.together import Together
from tacit.study.gate import withhold

CLEARING = "clearing"


def write_table(path: Path, names, X, y=None, ids=None):
    """Write records as a site offers them; without ids their places are their ids."""
    ids = range(len(X)) if ids is None else ids
    head = ["patient", *names, *(["label"] if y is not None else [])]
    rows = [[ids[k], *("" if np.isnan(v) else v for v in row),
             *([y[k]] if y is not None else [])] for k, row in enumerate(np.asarray(X).tolist())]  # fmt: skip
    with path.open("w") as file:
        csv.writer(file).writerows([head, *rows])


class Sites:
    """Sites with a folder each, and an analyst; `tables` are files by site and by the name of the dataset."""

    def __init__(self, root: Path, tables: dict[str, dict[str, Path]], judge: float = 0.2, **policy: str) -> None:
        self._judge_by = judge
        self.root, self.jobs, self.outcomes = root, [], {}
        self.tables = {name: Tables(name, self.state(name), self._offer(tables.get(name, {}))) for name in
                       (*tables, CLEARING)}  # fmt: skip
        text = example_policy(automatic=True)
        for before, after in policy.items():
            text = re.sub(rf"^{before} = .*$", f"{before} = {after}", text, count=1, flags=re.MULTILINE)
        text = text.replace("[columns]\n", "[columns]\n" + "".join(f'{n} = "all"\n' for n in self._datasets(tables)))
        (root / "policy.toml").write_text(text)

    def _datasets(self, tables):
        return dict.fromkeys(n for own in tables.values() for n in own if n != "cohort")

    def _offer(self, files):
        offered = {}
        for name, path in files.items():
            head = path.read_text().splitlines()[0].split(",")
            more = {"label": "label"} if "label" in head else {}
            offered[name] = Dataset(path=path, **more, id="patient", judge=self._judge_by)
        return offered

    def state(self, name: str) -> Path:
        return self.root / name / "state"

    def connect(self, partition: str = "horizontal", **study: Any) -> Connected:
        """The federation of an analyst's configuration."""
        parties = tuple(name for name in self.tables if name != CLEARING)
        terms = Terms(
            parties=parties, coordinator=CLEARING, dataset="cohort", purpose="a test", legal_basis="none",
            partition=partition, **study,
        )  # fmt: skip
        settings = SimpleNamespace(state=self.state("analyst"))
        analyst: Any = SimpleNamespace(settings=settings, identity=SimpleNamespace(name="analyst"))
        roles: Any = {"coordinator": CLEARING, "labeller": terms.labeller}
        backend = InHouse(analyst, terms, sites=self)
        return Connected.described(parties, partition=partition, columns=terms.columns, backend=backend, **roles)

    def play(self, job: Any) -> Any:
        """Let every site judge a job, play it, and keep what it leaves there."""
        proposal = Proposal(job=job.canonical().decode(), submitter=job.submitter, signature="")
        for name in (*self.tables, "analyst"):
            folder_of(self.state(name), job.id).propose(proposal)
        for name in job.parties:
            self._judge(name, job)
        inputs = {name: (b.role, {p: self._bring(p, job, name, b.source) for p in job.roster[b.role]})
                  for name, b in PROTOCOLS[job.protocol].brings.items()}  # fmt: skip
        with Together(job.roster, job=b"job", entropy=RootEntropy(job.roster.parties, b"job")) as run:
            result = play(run, job.protocol, inputs, job.arguments)
            for name in job.roster.parties:
                own, public = split(result, name)
                folder, told = folder_of(self.state(name), job.id), PublicResult.of(public, run.history)
                folder.start = Start(job=job.id, attempt=1, answers=())
                folder.keep_result(own, told, self.tables[name].describe_use(job, own, public))
                folder.finished = Finished(job=job.id, site=name, attempt=1, ok=True)
        self.jobs.append(job)
        kept_back = withhold(public)
        sent = decode_as(PublicResult, encode(told if kept_back is None else PublicResult.of(kept_back)).join())
        folder_of(self.state("analyst"), job.id).keep_public(sent)
        news = msgspec.convert({"job": job.id, "state": "finished", "seconds": 1.0}, News)
        self.outcomes[job.id] = outcome_of(job, news, Fetched(sent, tuple(run.ledger.rows)))
        return self.outcomes[job.id]

    def _judge(self, name: str, job: Any) -> None:
        register, now = self.tables[name].register, datetime.now(UTC)
        grounds, policy = grounds_of(self.state(name), job, now), Policy.from_toml(self.root / "policy.toml")
        held = self.tables[name].holdings(job, grounds)
        case = Case(job, policy, held, register, name, now, grounds, keeps=lambda _: True)
        found = decide(case)
        if found.verdict != "accept":
            raise PeerError(f"{name} refuses: {found.reason} {found.problems}")
        asked = question_of(job, held, grounds, policy)
        register.admit(job, named_columns(job, name, held), name, held.edition, case.limits, now, asked)

    def used(self, job: Any = None, *, held_out: bool = False) -> tacit.Federation:
        """The records that sites learnt from in a job, by default the last one, or those that they judged by."""
        job = self.jobs[-1] if job is None else job
        parts = {name: self.tables[name].part(job, held_out=held_out) for name in job.parties}
        named: Any = {"names": job.parties, "partition": job.partition, "coordinator": CLEARING}
        if job.partition == "horizontal":
            held = [(part.X, part.y) for part in parts.values()]
            made = tacit.from_parts(held, allow_missing=True, **named)
            return made.rename_features(next(iter(parts.values())).features)
        held = [part.X for part in parts.values()]
        made = tacit.from_parts(held, y=parts[job.labeller].y, allow_missing=True, **named)
        return made.rename_features([name for part in parts.values() for name in part.features])

    def _bring(self, name: str, job: Any, wanted: str, source: str) -> Any:
        if source == "earlier":
            return grounds_of(self.state(name), job).share(wanted)
        if source == "policy":
            return msgspec.structs.asdict(Policy.from_toml(self.root / "policy.toml").release)
        return self.tables[name].part(job, held_out=source == "held out")

    def answers(self, name: str, job: str) -> Any:
        """The folder of a question at a site."""
        return folder_of(self.state(name), job)


@dataclasses.dataclass(frozen=True, repr=False)
class InHouse(Remote):
    """Connected to sites of the same process."""

    sites: Any = None

    def run(self, federation, request):
        """Propose the job, and have it played, unless an earlier one asked the same."""
        job = self._job(federation, request)
        try:
            return self.sites.play(job)
        except PeerError as refusal:
            same = find_same(self.analyst, job, str(refusal))
            if same is None:
                raise
            return self.sites.outcomes[same.id]
