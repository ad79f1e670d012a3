"""Preflight: everything that would stop a run, found before it starts, and all of it in one report.

Each party checks its own side and sends a `Report` with codes of what failed, never a value: no column, no count, no label.
Whatever depends on values (how many records there are, which classes, whether all cells are there and within what the party
itself declares) is one code, "data": else every proposal would be a question about the data that is answered before anybody
agreed to anything. Such answers are counted and limited (`asked`). What a code means stands in `CODES`, so that the joint text
can be written anywhere; at its own site a party reads the details too. Feature names of a horizontal split leave as one
digest, salted with the job, to be compared for equality.

No check compares values with numbers that a job chose: whoever may choose the bounds finds a party's largest value by halving.
Ranges are declared by the party that has the data, and a job's `feature_range` is compared with that declaration.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import msgspec
import numpy as np
from threadpoolctl import threadpool_info

from tacit.choreo.message import Array
from tacit.consortium.job import Job, Moment, source_hash
from tacit.consortium.rehearsal import cost_of
from tacit.consortium.risks import exposures_of
from tacit.consortium.settings import Dataset
from tacit.data.part import Part
from tacit.registry import kind_of

SKEW = timedelta(seconds=60)
RENEW = timedelta(days=1)  # a run may take as long
ROOM = 3  # times the estimate: journal, outbox, and the broker's copy

RECORDS, CLASSES, CELLS = "records", "classes", "cells"  # findings that depend on values: only the site itself reads which
DATA: dict[str, tuple[str, str]] = {
    RECORDS: ("has another number of records than the job declares, or room for", "correct [rows] of the job, or align the records"),
    CLASSES: ("has labels other than the job's classes", "correct classes in the job, or the label column"),
    CELLS: ("has values that are missing, or outside of what this site declares", "correct the table, or its [datasets.NAME]"),
}
CODES: dict[str, tuple[str, str]] = {
    "version": ("runs another version of tacit than the job", "install the job's version at every party"),
    "source": ("has other protocol source files than the job", "install the same release everywhere, unaltered"),
    "clock": ("has a clock more than 60 s off", "set it by network time (NTP)"),
    "certificate": ("has a certificate that expires within a day", "renew it: tacit keys new, then tacit keys sign"),
    "features": ("has not the columns the job names", "correct [columns] of the job, or the dataset at that party"),
    "dtypes": ("has labels of another kind than the job says", "write classes in the job as that party has them, as texts or as numbers"),
    "labels": ("declares no label column", "have that party name it, as label = ... in [datasets.NAME]"),
    "bounds": ("does not declare that its values are within feature_range", "have it declare largest = ... for the dataset, or raise it"),
    "data": ("has data that does not fit the job", "ask that party: its log says whether records, classes, gaps or ranges are the matter"),
    "disk": ("has too little free disk for the run", "free three times the estimated bytes, or move the state folder"),
    "blas": ("computes with more than one BLAS thread", "set OPENBLAS_NUM_THREADS=1 (and OMP_, MKL_) before tacit starts"),
    "job": ("declares rows or columns that do not fit together", "correct [rows] and [columns] of the job"),
    "silent": ("sent no report", "start tacit party there, and look at its log"),
}


@dataclass(frozen=True)
class Problem:
    """Who, and what by code; `detail` is for the site's own eyes."""

    party: str
    code: str
    detail: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that leaves a site."""

    party: str
    version: str
    source: str
    clock: Moment
    features: str
    codes: tuple[str, ...]


def report_of(job: Job, party: str, part: Part | None, now: datetime, problems: Sequence[Problem]) -> Report:
    """The party's problems without their details."""
    names = "" if part is None or job.partition == "vertical" else "\n".join(_brought(job, party, part))
    digest = hashlib.sha256(f"{job.digest}\n{names}".encode()).hexdigest()
    codes = tuple(dict.fromkeys(told(p.code) for p in problems))
    return Report(party=party, version=version("tacit"), source=source_hash(), clock=now, features=digest, codes=codes)


def told(code: str) -> str:
    """What leaves the site of a finding: that the data does not fit, and not how."""
    return "data" if code in DATA else code


def local_checks(
    job: Job,
    part: Part | None,
    now: datetime,
    *,
    party: str,
    declared: Dataset | None = None,
    asked: datetime | None = None,
    certificate_expires: datetime | None = None,
    state: Path | None = None,
) -> list[Problem]:
    """What this site can see: `part` is None at a coordinator; `asked` is the time by the clock of whoever asks.

    `declared` is what the party's own configuration says of the dataset.
    """
    found = [*_site(job, now, asked, certificate_expires), *_room(job, party, part, state), *_threads()]
    if part is not None:
        found += [*_features(job, party, part), *_rows(job, party, part), *_labels(job, party, part)]
        found += [*_bounds(job, declared), *_ranges(part, declared)]
    return [Problem(party, code, detail) for code, detail in found]


def combine(job: Job, reports: Mapping[str, Report]) -> list[Problem]:
    """Every problem of every party, and what only shows side by side."""
    members = job.roster.parties
    found = [Problem(p, code) for p, report in reports.items() for code in report.codes]
    found += [Problem(p, "silent") for p in members if p not in reports]
    found += [Problem(p, "version") for p, r in reports.items() if r.version != job.version]
    found += [Problem(p, "source") for p, r in reports.items() if r.source != job.source]
    found += [Problem(p, "clock") for p in _off([(p, r.clock) for p, r in reports.items()])]
    holders = {p: reports[p].features for p in job.parties if p in reports}
    found += [
        Problem(p, "features") for p, names in holders.items() if job.partition != "vertical" and names != holders[next(iter(holders))]
    ]
    if job.partition != "horizontal" and len({n for n in job.rows.values() if n is not None}) > 1:
        found.append(Problem("the job", "job"))
    return list(dict.fromkeys(found))


def concerns(job: Job) -> list[str]:
    """What stops no run, and should be known to who agrees to it: who could work out whose cells from a gram matrix, as far as declared."""
    return [found.text for found in exposures_of(job)]


def render(problems: Sequence[Problem], warnings: Sequence[str] = ()) -> str:
    """One report; a line for each problem: who, what, what to do; and one for each warning."""
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
    first = f"preflight: {count}, nothing was started" if problems else "preflight: every check passed"
    lines = [f"  {p.party} {_words(p)[0]}{f' ({p.detail})' if p.detail else ''}: {_words(p)[1]}" for p in problems]
    return "\n".join([first, *lines, *(f"  warning: {text}" for text in warnings)])


def _words(problem: Problem) -> tuple[str, str]:
    # a code of a later version must not hide the rest of the report
    return {**CODES, **DATA}.get(problem.code, (f"reports {problem.code!r}", "install the same version of tacit everywhere"))


def _off(clocks: list[tuple[str, datetime]]) -> Iterator[str]:
    """Those further than the skew from the middle one: of two that disagree, both."""
    times = sorted(t for _, t in clocks)
    if not times or times[-1] - times[0] <= SKEW:
        return
    low, high = times[(len(times) - 1) // 2], times[len(times) // 2]
    apart = [p for p, t in clocks if abs(t - low) > SKEW or abs(t - high) > SKEW]
    yield from apart or [p for p, _ in clocks]


def _site(job: Job, now: datetime, asked: datetime | None, expires: datetime | None) -> Iterator[tuple[str, str]]:
    if version("tacit") != job.version:
        yield "version", f"{version('tacit')} here, {job.version} in the job"
    if source_hash() != job.source:
        yield "source", ""
    if asked is not None and abs(now - asked) > SKEW:
        yield "clock", f"{abs(now - asked).total_seconds():.0f} s apart"
    if expires is not None and expires - now < RENEW:
        yield "certificate", f"{expires:%Y-%m-%d %H:%M} UTC"


def _room(job: Job, party: str, part: Part | None, state: Path | None) -> Iterator[tuple[str, str]]:
    records = job.records or (None if part is None else len(part.X))
    if state is None or records is None or not state.exists():
        return
    need = ROOM * cost_of(job.protocol, job.arguments, job.roster, records).bytes[party]
    free = shutil.disk_usage(state).free
    if free < need:  # what is needed follows from this party's own records where the job declares none
        yield RECORDS if job.records is None else "disk", f"{free / 1e6:.0f} MB free, {need / 1e6:.0f} MB needed"


def _threads() -> Iterator[tuple[str, str]]:
    most = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    if most > 1:
        yield "blas", f"{most} threads"


def _brought(job: Job, party: str, part: Part) -> tuple[str, ...]:
    wanted = job.columns.get(party, "all")
    return part.features if wanted == "all" else tuple(wanted)


def _features(job: Job, party: str, part: Part) -> Iterator[tuple[str, str]]:
    lacking = [name for name in _brought(job, party, part) if name not in part.features]
    if lacking:
        yield "features", f"no {', '.join(lacking)}"
    if part.X.dtype != np.float64 or not np.isfinite(part.X).all():
        yield CELLS, "values that are no finite numbers"


def _rows(job: Job, party: str, part: Part) -> Iterator[tuple[str, str]]:
    declared = job.rows.get(party)
    if declared is not None and declared != len(part.X):
        yield RECORDS, f"{len(part.X)} records here, {declared} in the job"


def _labels(job: Job, party: str, part: Part) -> Iterator[tuple[str, str]]:
    if job.roles.labeller not in {None, party} or kind_of(job.protocol) != "records":
        return
    if part.y is None:
        yield "labels", "no labels"
    elif job.classes is not None:
        yield from _classes(part.y, job.classes)


def _classes(y: Array, classes: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    if (y.dtype.kind in "iufb") != all(not isinstance(c, str) for c in classes):
        yield "dtypes", "labels as text here and as numbers in the job, or the other way round"
        return
    other = [c for c in np.unique(y).tolist() if c not in classes]
    if other:
        yield CLASSES, f"{len(other)} classes that the job does not name"


def _bounds(job: Job, declared: Dataset | None) -> Iterator[tuple[str, str]]:
    """A job's feature_range beside the party's declaration: never beside its values."""
    wanted = job.params.get("feature_range")
    if wanted is None:
        return
    largest = None if declared is None else declared.largest
    if largest is None or largest > wanted:
        yield "bounds", f"feature_range = {wanted:g} in the job, largest = {'nothing' if largest is None else f'{largest:g}'} declared here"


def _ranges(part: Part, declared: Dataset | None) -> Iterator[tuple[str, str]]:
    """The party's values beside its own declaration."""
    if declared is None:
        return
    for name, (low, high) in declared.bounds(part.features).items():
        j = part.features.index(name)
        column = part.X[:, j] if part.owned is None else part.X[part.owned[:, j], j]
        if not np.all((low <= column) & (column <= high)):
            yield CELLS, f"column {name!r} leaves {low:g} to {high:g}, which this site declares"
