"""What a dossier holds, gathered from the files that a site keeps of a job.

job.json, job/          the job, as signed by its submitter, and the answers of all sites, as signed by them
consents.json           who said yes by which policy (its digest), and which people decided
ledger.json             every message of the run: who told whom which facts; and what each fact says
audit/                  the same as this site's signed chains
members.json            the consortium's list of keys, signed by its registrar
report.json, .html      the report; model-card.json
annex.json              for a data-protection impact assessment
sbom.cdx.json           the software of this site
"""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

import msgspec

from tacit.choreo.fact import fact_called, read_names
from tacit.choreo.ledger import Ledger, Row, read_opened
from tacit.consortium.audit.chain import Reading
from tacit.consortium.dossier.recipients import Recipient, find_recipients, write_annex
from tacit.consortium.jobs.answers import Answer, Finished, Start
from tacit.consortium.jobs.folder import PUBLIC, Folder, state_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.requests import chosen_values, requests_of
from tacit.consortium.membership.identity import Identity
from tacit.consortium.membership.members import Members
from tacit.consortium.site.analyst import Fetched, outcome_of
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.fitted import fit_from
from tacit.errors import LocalError, TacitError
from tacit.report import Report
from tacit.report.disclosures import traffic
from tacit.report.html import render
from tacit.study.gate import GATE, is_withheld

Files = dict[str, bytes]
LEDGER, MEMBERS, PROPOSAL, START = "ledger.json", "members.json", "job/proposal.json", "job/start.json"


@dataclass(frozen=True)
class Case:
    """One job at one site, whose run is over, and the moment at which its dossier is made."""

    folder: Folder
    identity: Identity
    members: Members
    now: datetime

    @cached_property
    def job(self) -> Job:
        """The job whose run the dossier is about."""
        return self.folder.job

    @cached_property
    def start(self) -> Start:
        """Every site's yes; a job that never started leaves no dossier."""
        found = self.folder.start
        if found is None or not self.folder.audits:
            left = f"job {self.job.id} is {state_of(self.folder)} here and left no audit of a run"
            raise LocalError(f"{left}: make the dossier once it has run (tacit status)")
        return found

    @cached_property
    def finished(self) -> Finished | None:
        """How the run came out here; None if it was killed or withdrawn before it said so."""
        return self.folder.finished

    @cached_property
    def ended(self) -> datetime:
        """When the job came to where it is."""
        return self.folder.since

    @cached_property
    def readings(self) -> dict[str, Reading]:
        """The signed ledgers of all attempts, by file."""
        return {path.name: Reading.of(path) for path in self.folder.audits}

    @cached_property
    def recipients(self) -> list[Recipient]:
        """Who learnt what, and whether that one could identify a record."""
        return find_recipients(self.job, self.report.release)

    @cached_property
    def annex(self) -> dict[str, Any]:
        """The annex for an impact assessment."""
        return write_annex(self.job, self.recipients, self.ended)

    @cached_property
    def report(self) -> Report:
        """The report of the model that the job made, or of the run alone where it made none."""
        return make_report(self.job, self.folder, self._last, self.finished)

    @property
    def _last(self) -> Reading:
        """The ledger of the run that finished, or else of the last attempt."""
        return self.readings.get("audit.jsonl", next(reversed(self.readings.values())))


def gather(case: Case) -> Files:
    """Return every file of the dossier but its description as a crate and its page."""
    folder, start = case.folder, case.start
    return {
        PROPOSAL: (folder.path / "proposal.json").read_bytes(),
        START: start.dump(),
        "job.json": write_json(msgspec.to_builtins(case.job)),
        "consents.json": write_json([_describe_consent(answer) for answer in start.answers]),
        LEDGER: write_json(write_ledger(case.readings)),
        MEMBERS: case.members.signed,
        "annex.json": write_json(case.annex),
        "model-card.json": write_json(write_card(case)),
        "report.json": write_json(case.report.to_dict()),
        "report.html": render(case.report).encode(),
        "sbom.cdx.json": write_json(list_software()),
        **{f"audit/{path.name}": path.read_bytes() for path in folder.audits},
    }


def write_json(content: Any) -> bytes:
    """Return content as JSON that people can read too."""
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def write_ledger(readings: dict[str, Reading]) -> dict[str, Any]:
    """Return the rows of every chain, with the facts by identifier, and what each fact says."""
    rows = [{"audit": name, **_plain(entry)} for name, reading in readings.items() for entry in reading.entries]
    named = sorted({identifier for row in rows for identifier in row["tells"]})
    return {"facts": {name: msgspec.to_builtins(_fact(name)) for name in named}, "rows": rows}


def _plain(entry: Any) -> dict[str, Any]:
    return {**msgspec.to_builtins(entry), "tells": [fact.identifier for fact in read_names(entry.tells)]}


def _fact(name: str) -> dict[str, str]:
    fact = fact_called(name)
    return {
        "subject": fact.subject,
        "kind": fact.kind,
        "granularity": fact.granularity,
        "prose": fact.prose,
    }


def _describe_consent(answer: Answer) -> dict[str, Any]:
    record = answer.record
    said = {"site": answer.site, "verdict": record.verdict, "people": list(record.by), "policy": record.policy}
    at = record.at.astimezone(UTC).isoformat()
    return {**said, "rule": record.rule, "reason": record.reason, "at": at, "signature": answer.signature}


def write_card(case: Case) -> dict[str, Any]:
    """Return the model card: what was trained for what, on whose data, how well it does, and what it is not for."""
    job, report = case.job, case.report
    public = case.folder.path / PUBLIC
    digest = hashlib.sha256(public.read_bytes()).hexdigest() if public.exists() else None
    return {
        "model": report.estimator,
        "version": {"tacit": job.version, "source": job.source},
        "intended use": job.purpose,
        "parameters": msgspec.to_builtins(job.params),
        "trained on": {"dataset": job.dataset, "parties": list(job.parties), "records": dict(job.rows)},
        "without": list(case.start.absent),
        "classes": None if job.classes is None else list(job.classes),
        "quality": _describe_quality(report.to_dict()),
        "limits": list(report.not_protected),
        "public part, SHA-256": digest,
    }


def _describe_quality(report: dict[str, Any]) -> dict[str, Any]:
    return {name: report[name] for name in ("evaluations", "comparison", "scores") if report.get(name)}


# The report of a run from the files of one site: that of the model which it made, as its analyst reads it


def make_report(job: Job, folder: Folder, chain: Reading, ended: Finished | None) -> Report:
    """Return the report of the model that a job made; of a job that made none, what its ledger says."""
    rows = tuple(Row.from_plain(msgspec.structs.astuple(entry)) for entry in chain.entries)
    found = _of_model(job, folder, rows, ended) or _of_run(job, rows)
    told = {} if folder.public is None else vars(folder.public)["values"]
    if found.release is None and is_withheld(told):  # an analyst has no model, and knows why
        found.release = told[GATE].release
    if ended is not None:  # one set of numbers: those of the whole run, as this site counted them
        found.rounds, found.bytes, found.seconds = ended.rounds, ended.bytes, ended.seconds
    return found


def _of_model(job: Job, folder: Folder, rows: tuple[Row, ...], ended: Finished | None) -> Report | None:
    public = folder.public
    if public is None or ended is None or not ended.ok:
        return None
    news = News(job=job.id, state="finished", rounds=ended.rounds, bytes=ended.bytes, seconds=ended.seconds)
    try:
        fitted = fit_from(job, outcome_of(job, news, Fetched(public, rows, folder.since)))
    except TacitError:  # an alignment, answers, or a job that no estimator asks for
        return None
    found = getattr(fitted, "report_", None)
    return found if isinstance(found, Report) else None


def _of_run(job: Job, rows: tuple[Row, ...]) -> Report:
    ledger = Ledger(list(rows), read_opened(job.disclosure))
    return Report(
        title=f"{job.protocol} between {len(job.parties)} parties",
        estimator=job.protocol,
        params={name: value for asked in requests_of(job) for name, value in chosen_values(asked)},
        partition=job.partition,
        runtime="nats",
        protection="as the facts below say",
        parties={
            site: "its own data" if site in job.parties else "no data; coordinates" for site in job.roster.parties
        },
        rounds=ledger.rounds,
        seconds=0.0,
        cpu={},
        bytes=ledger.bytes,
        traffic=traffic(ledger),
        opens=ledger.opens,
        learnt=ledger.learnt(),
        warnings=concerns(job),
    )


# The software of a site as a bill of materials (CycloneDX 1.6, JSON), from what is installed

OURS = "tacit"


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # how a requirement begins


@dataclass(frozen=True)
class Package:
    """An installed distribution: what it is called, its version, licence, and what it names as needed."""

    name: str
    version: str
    licence: str
    needs: frozenset[str]

    @property
    def reference(self) -> str:
        """The package URL; tacit has none on an index, where another project has its name."""
        return f"pkg:{'generic' if self.name == OURS else 'pypi'}/{_normal_name(self.name)}@{self.version}"


def list_software() -> dict[str, Any]:
    """Return the bill of materials: tacit, Python, and every package that tacit needs, directly or through others."""
    found = _closure()
    parts = [_component(each) for name, each in sorted(found.items()) if name != OURS]
    links = [{"ref": each.reference, "dependsOn": _refer(each, found)} for _, each in sorted(found.items())]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**_component(found[OURS]), "type": "application"}},
        "components": [_python(), *parts],
        "dependencies": links,
    }


@cache
def _closure() -> dict[str, Package]:
    """Return every installed package that tacit, or something that it needs, names; of tacit also those of extras."""
    found: dict[str, Package] = {}
    waiting = [OURS]
    while waiting:
        name = waiting.pop()
        if name not in found and (package := _read(name)) is not None:
            found[name] = package
            waiting += package.needs
    return found


def _read(name: str) -> Package | None:
    try:
        of = distribution(name)
    except PackageNotFoundError:  # an extra that this site does without
        return None
    said = of.metadata
    named = (NAME.match(text) for text in of.requires or () if name == OURS or "extra ==" not in text)
    needs = frozenset(_normal_name(match.group()) for match in named if match)
    licence = (said.get_all("License-Expression") or [""])[0]
    return Package(said["Name"], said["Version"], licence, needs - {OURS})


def _refer(of: Package, found: dict[str, Package]) -> list[str]:
    return sorted(found[name].reference for name in of.needs if name in found)


def _component(of: Package) -> dict[str, Any]:
    licences = {"licenses": [{"expression": of.licence}]} if of.licence else {}
    known = {"type": "library", "bom-ref": of.reference, "name": of.name, "version": of.version}
    return {**known, "purl": of.reference, **licences}


def _python() -> dict[str, Any]:
    name, version = platform.python_implementation(), platform.python_version()
    return {"type": "platform", "bom-ref": f"python@{version}", "name": name, "version": version}


def _normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
