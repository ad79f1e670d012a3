"""Preflight: everything that would stop a run, found before it starts, and all of it in one report.

Each party checks its own side and sends a `Report` with codes of what failed, never a value: no column, no count, no
label. Whatever depends on values (how many records there are, which classes, whether all cells are there and within
what the party itself declares) is one code, "data": else every proposal would be a question about the data that is
answered before anybody agreed to anything. Such answers are counted and limited (`asked`). What a code means stands in
`CODES`, so that the joint text can be written anywhere; at its own site a party reads the details too. Feature names of
a horizontal split leave as one digest, salted with the job, to be compared for equality.

No check compares values with numbers that a job chose: whoever may choose the bounds finds a party's largest value by
halving. Ranges are declared by the party that has the data, and a job's `feature_range` is compared with that
declaration. So is its `target_range`, but with noise of epsilon: targets are cut there, so that two studies with ranges
of their own would differ by the records in between. The classes that steps name are compared in the same way.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import msgspec
import numpy as np
from threadpoolctl import threadpool_info

from tacit.arrays import Array
from tacit.consortium.broker.clock import Reading
from tacit.consortium.consent.budget import spends
from tacit.consortium.consent.register_file import Head
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.jobs.comparing import check_table, compare_classes, compare_schemas
from tacit.consortium.jobs.job import Job, source_hash
from tacit.consortium.jobs.rehearsal import cost_of
from tacit.consortium.jobs.requests import requests_of, takes_gaps
from tacit.consortium.site.settings import Dataset, Moment, Schema
from tacit.errors import LocalError
from tacit.federation.part import Part
from tacit.registry import PROTOCOLS, kind_of

SKEW = timedelta(seconds=60)
RENEW = timedelta(days=1)  # a run may take as long
WAITING = 10  # records by which a site may have fewer than it said
ROOM = 3  # times the estimate: journal, outbox, and the broker's copy

# what depends on values: only the site itself reads which
RECORDS, LEFT, CLASSES, CELLS = "records", "left", "classes", "cells"
UNFIT_RECORDS = "has another number of records than the job declares, or room for"
UNFIT_CELLS = "has values that are missing, or outside of what this site declares"
DATA: dict[str, tuple[str, str]] = {
    RECORDS: (UNFIT_RECORDS, "correct [rows] of the job, or align the records"),
    LEFT: ("has no record left to learn from", "leave that party out"),
    CLASSES: ("has labels other than the job's classes", "correct classes in the job, or the label column"),
    CELLS: (UNFIT_CELLS, "correct the table, or its [datasets.NAME]"),
}
LOG_SAYS = "ask that party: its log says whether records, classes, gaps or ranges are the problem"
CODES: dict[str, tuple[str, str]] = {
    "version": ("runs another version of tacit than the job", "install the job's version at every party"),
    "source": ("has other protocol source files than the job", "install the same release everywhere, unaltered"),
    "clock": ("has a clock more than 60 s off", "set it by network time (NTP)"),
    "certificate": ("has a certificate that expires within a day", "let the registrar renew it: tacit keys renew"),
    "features": ("lacks columns that the job names", "correct [columns] of the job, or the dataset at that party"),
    "order": (
        "has the same columns in another order",
        "list them in [columns] of the job, for every party alike: that order is used",
    ),
    "dtypes": (
        "has labels of another kind than the job says",
        "write classes in the job as texts or as numbers, as there",
    ),
    "labels": ("declares no label column", "have that party name it, as label = ... in [datasets.NAME]"),
    "bounds": (
        "does not declare values within feature_range, or another target_range",
        "leave them out, or have it declare largest = ..., and the label among ranges, for the dataset",
    ),
    "schema": (
        "declares its table otherwise",
        "write both alike, or correct [datasets.NAME] where it is wrong",
    ),
    "data": ("has data that does not fit the job", LOG_SAYS),
    "disk": ("has too little free disk for the run", "free three times the estimated bytes, or move the state folder"),
    "register": (
        "has an older register than other sites have seen, as after a restored backup",
        "restore the register of today there, or offer other records",
    ),
    "blas": ("computes with more than one BLAS thread", "set OPENBLAS_NUM_THREADS=1 (and OMP_, MKL_) before it starts"),
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
    """All that leaves a site.

    register: how far its register is. seen: how far those of other sites were when it saw them last.
    clock: its time when it checked. broker: the broker's at the same moment, or its own where the broker does not tell.
    """

    party: str
    version: str
    source: str
    clock: Moment
    broker: Moment
    features: str
    codes: tuple[str, ...]
    order: str = ""
    declares: Schema = Schema()
    register: Head = Head()
    seen: dict[str, Head] = {}


def report_of(
    job: Job,
    party: str,
    part: Part | None,
    now: datetime,
    problems: Sequence[Problem],
    declared: Dataset | None = None,
    reading: Reading | None = None,
    register: Head = Head(),  # noqa: B008 - a frozen value
    seen: Mapping[str, Head] | None = None,
) -> Report:
    """Return the party's problems without their details, and what its people declare of the columns of the job."""
    names = () if part is None or job.partition == "vertical" else _columns_of(job, party, part)
    features, order = (_digest(job, each) for each in (sorted(names), names))
    codes = tuple(dict.fromkeys(public_code(p.code) for p in problems))
    own = Schema() if part is None or declared is None else declared.schema(_columns_of(job, party, part))
    return Report(
        party=party,
        version=version("tacit"),
        source=source_hash(job.protocol),
        clock=now,
        broker=now if reading is None else now - reading.ahead,
        features=features,
        order=order,
        codes=codes,
        declares=own,
        register=register,
        seen={site: head for site, head in (seen or {}).items() if site in job.parties},
    )


def _digest(job: Job, names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([job.digest, *names]).encode()).hexdigest()


def public_code(code: str) -> str:
    """Return what leaves the site of a finding: that the data does not fit, and not how."""
    return "data" if code in DATA else code


def local_checks(
    job: Job,
    part: Part | None,
    now: datetime,
    *,
    party: str,
    held_out: Part | None = None,
    declared: Dataset | None = None,
    expires: datetime | None = None,
    state: Path | None = None,
) -> list[Problem]:
    """Return all problems that this site can see; `part` is None at a coordinator.

    `held_out` are the records that a study is judged by, which `part` is without; `declared` is what the party's own
    configuration says of the dataset.
    """
    found = [*_site(job, now, expires), *_room(job, party, part, state), *_threads()]
    if part is not None:
        found += [*_rows(job, party, part, held_out), *_bounds(job, declared)]
        for each in (part, held_out):
            if each is not None:
                found += [*_features(job, party, each), *_labels(job, party, each), *_ranges(each, declared)]
                found += _declared(job, each, declared)
    return [Problem(party, code, detail) for code, detail in dict.fromkeys(found)]


def combine(job: Job, reports: Mapping[str, Report]) -> list[Problem]:
    """Return every problem of every party, and what only shows side by side."""
    members = job.roster.parties
    found = [Problem(p, code) for p, report in reports.items() for code in report.codes]
    found += [Problem(p, "silent") for p in members if p not in reports]
    found += [Problem(p, "version") for p, r in reports.items() if r.version != job.version]
    found += [Problem(p, "source") for p, r in reports.items() if r.source != job.source]
    found += [Problem(p, "clock") for p in _off({p: r.clock - r.broker for p, r in reports.items()})]
    found += [Problem(p, "register") for p in _gone_back(reports)]
    if job.partition != "vertical":
        found += _unlike(job, reports, "features") or _unlike(job, reports, "order")
    said = {p: reports[p].declares for p in job.parties if p in reports}
    differences = compare_schemas(said, by_columns=job.partition == "vertical")
    found += [Problem(party, "schema", detail) for party, detail in differences]
    if job.partition != "horizontal" and len({n for n in job.rows.values() if n is not None}) > 1:
        found.append(Problem("the job", "job"))
    return list(dict.fromkeys(found))


def _gone_back(reports: Mapping[str, Report]) -> Iterator[str]:
    """Yield whose register is not as far as another site has seen it, or tells another story."""
    for site, own in reports.items():
        if any(
            site in other.seen and own.register.contradicts(other.seen[site], own.clock) for other in reports.values()
        ):
            yield site


def _unlike(job: Job, reports: Mapping[str, Report], what: str) -> list[Problem]:
    """Return the holders whose digest of their columns is not the first holder's; a study puts them in order itself."""
    told = {p: getattr(reports[p], what) for p in job.parties if p in reports}
    if what == "order" and PROTOCOLS[job.protocol].orders_columns:
        return []
    return [Problem(p, what) for p, names in told.items() if names != next(iter(told.values()))]


def concerns(job: Job) -> list[str]:
    """Return what should be known to who agrees to a job: who could work out whose cells, and what takes long."""
    return [*(found.text for found in exposures_of(job)), *_costs(job)]


def _costs(job: Job) -> Iterator[str]:
    """Yield what protocols say of as many records as the job declares, those held out among them."""
    for asked in requests_of(job):
        with suppress(LocalError):  # what cannot be planned is refused when it is proposed, and in its run
            said = PROTOCOLS[asked.protocol].warns(job.records or 0, len(job.parties), asked.params)
            if said is not None:
                yield said


def render(problems: Sequence[Problem], warnings: Sequence[str] = ()) -> str:
    """Return one report; a line for each problem: who, what, what to do; and one for each warning."""
    count = f"{len(problems)} problem{'s' * (len(problems) > 1)}"
    first = f"preflight: {count}, nothing was started" if problems else "preflight: every check passed"
    lines = [f"  {p.party} {_words(p)[0]}{f' ({p.detail})' if p.detail else ''}: {_words(p)[1]}" for p in problems]
    return "\n".join([first, *lines, *(f"  warning: {text}" for text in warnings)])


def _words(problem: Problem) -> tuple[str, str]:
    # a code of a later version must not hide the rest of the report
    unknown = (f"reports {problem.code!r}", "install the same version of tacit everywhere")
    return {**CODES, **DATA}.get(problem.code, unknown)


def _off(ahead: Mapping[str, timedelta]) -> Iterator[str]:
    """Yield whose clock is further than the skew from the middle one: of two that disagree, both.

    Sites check a job when they get to it, some of them hours later than others; so each compares with the broker.
    """
    clocks = sorted(ahead.values())
    if not clocks or clocks[-1] - clocks[0] <= SKEW:
        return
    low, high = clocks[(len(clocks) - 1) // 2], clocks[len(clocks) // 2]
    apart = [p for p, t in ahead.items() if abs(t - low) > SKEW or abs(t - high) > SKEW]
    yield from apart or ahead


def _site(job: Job, now: datetime, expires: datetime | None) -> Iterator[tuple[str, str]]:
    if version("tacit") != job.version:
        yield "version", f"{version('tacit')} here, {job.version} in the job"
    if source_hash(job.protocol) != job.source:
        yield "source", ""
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


def blas_threads() -> int:
    """Return with how many threads this process computes; its results depend on that."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def _threads() -> Iterator[tuple[str, str]]:
    if (most := blas_threads()) > 1:
        yield "blas", f"{most} threads"


def _columns_of(job: Job, party: str, part: Part) -> tuple[str, ...]:
    wanted = job.columns.get(party, "all")
    return part.features if wanted == "all" else tuple(wanted)


def _features(job: Job, party: str, part: Part) -> Iterator[tuple[str, str]]:
    lacking = [name for name in _columns_of(job, party, part) if name not in part.features]
    if lacking:
        yield "features", f"no {', '.join(lacking)}"
    gaps = np.isnan(part.X) if takes_gaps(job) else False
    if part.X.dtype != np.float64 or not (np.isfinite(part.X) | gaps).all():
        yield CELLS, "values that are not finite numbers"


def _rows(job: Job, party: str, part: Part, held_out: Part | None) -> Iterator[tuple[str, str]]:
    declared, aside = job.rows.get(party), 0 if held_out is None else len(held_out.X)
    here = len(part.X) + aside
    # by rows a few records may wait until there are more of them
    slack = max(WAITING, declared // 10) if declared is not None and job.partition == "horizontal" else 0
    if declared is not None and abs(declared - here) > slack:
        yield RECORDS, f"{here} records here, {declared} in the job"
    if aside and not len(part.X):
        yield LEFT, f"all {aside} are to judge by"


def _labels(job: Job, party: str, part: Part) -> Iterator[tuple[str, str]]:
    if job.labeller not in {None, party} or kind_of(job.protocol) != "records":
        return
    if part.y is None:
        yield "labels", "no labels"
    elif job.classes is not None:
        yield from _classes(part.y if part.unlabelled is None else part.y[~part.unlabelled], job.classes)


def _classes(y: Array, classes: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    if (y.dtype.kind in "iufb") != all(not isinstance(c, str) for c in classes):
        yield "dtypes", "labels as text here and as numbers in the job, or the other way round"
        return
    other = [c for c in np.unique(y).tolist() if c not in classes]
    if other:
        yield CLASSES, f"{len(other)} classes that the job does not name"


def _bounds(job: Job, declared: Dataset | None) -> Iterator[tuple[str, str]]:
    """Compare ranges that a job gives with the party's declaration, and never with its values."""
    own = None if declared is None or declared.label is None else declared.ranges.get(declared.label)
    largest = None if declared is None else declared.largest
    for asked in requests_of(job):
        wanted = asked.params.get("feature_range")
        if wanted is not None and (largest is None or largest > wanted):
            here = "nothing" if largest is None else f"{largest:g}"
            yield "bounds", f"feature_range = {wanted:g} in the job, largest = {here} declared here"
        span = asked.params.get("target_range")
        plain = kind_of(asked.protocol) == "records" and spends(asked) is None
        if span is not None and plain and (own is None or tuple(span) != own):
            yield "bounds", f"target_range = {span} in the job, {own or 'nothing'} declared here"


def _declared(job: Job, part: Part, declared: Dataset | None) -> Iterator[tuple[str, str]]:
    """Compare the party's own declaration with its table, and with the classes that the job and its steps name."""
    if declared is None or kind_of(job.protocol) != "records":
        return
    steps = (asked.params.get("classes") for asked in requests_of(job))
    for named in dict.fromkeys([job.classes, *(tuple(each) for each in steps if each is not None)]):
        yield from (("schema", detail) for detail in compare_classes(declared, named))
        if named != job.classes and part.y is not None:
            yield from _classes(part.y if part.unlabelled is None else part.y[~part.unlabelled], named or ())
    yield from ((CELLS, detail) for detail in check_table(part, declared))


def _ranges(part: Part, declared: Dataset | None) -> Iterator[tuple[str, str]]:
    """Compare the party's values with its own declaration."""
    if declared is None:
        return
    for name, (low, high) in declared.bounds(part.features).items():
        j = part.features.index(name)
        column = part.X[:, j] if part.owned is None else part.X[part.owned[:, j], j]
        if not np.all((low <= column) & (column <= high) | np.isnan(column)):
            yield CELLS, f"column {name!r} leaves {low:g} to {high:g}, which this site declares"
