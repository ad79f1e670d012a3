"""Making a job: from a protocol and its parameters, or from `job.toml` as a person writes it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Never

import msgspec
import numpy as np

from tacit.consortium.job import LARGEST, Job, Label, Moment, Partition, Protection, Roles, plain, source_hash
from tacit.consortium.questions import between, following, known_job
from tacit.consortium.rehearsal import check_params, cost_of, disclosure_of, takes
from tacit.consortium.risks import refuse_risky
from tacit.consortium.settings import converted, toml_of
from tacit.data import Federation
from tacit.data.part import part_of
from tacit.errors import LocalError
from tacit.estimators import CLASSIFIERS
from tacit.registry import BUILDS_ON, INPUTS, Inputs

WEAK = "a few known records give all of its data away (tacit attack shows it)"
LIFETIME = timedelta(days=14)
PROTECTED_BY = ("method", "segments", "threshold", "fraction_bits")
ELSEWHERE = ("partition", "n_parties", "runtime", "random_state")  # the first has its own key; the others split plain arrays


def propose(
    protocol: str,
    params: Mapping[str, Any],
    *,
    partition: Partition,
    parties: Sequence[str],
    coordinator: str,
    dataset: str,
    submitter: str,
    purpose: str,
    legal_basis: str,
    labeller: str | None = None,
    asker: str | None = None,
    columns: Mapping[str, Sequence[str] | Literal["all"]] | None = None,
    rows: Mapping[str, int] | None = None,
    classes: Sequence[Label] | None = None,
    retention_days: int = 30,
    expires: datetime | None = None,
    allow_two_parties: bool = False,
    accept_risk: bool = False,
    builds_on: Sequence[str] = (),
    now: datetime | None = None,
) -> Job:
    """A new job with its disclosure and cost; `params` as the protocol takes them, those of secure sums among them."""
    now = now or datetime.now(UTC)
    params = {**({"partition": partition} if "partition" in takes(protocol) else {}), **params}
    check_params(protocol, params)
    _check_fit(protocol, builds_on)
    names, given, declared = tuple(parties), dict(columns or {}), dict(rows or {})
    job = Job(
        id=secrets.token_hex(16),
        protocol=protocol,
        params={name: plain(name, value) for name, value in params.items() if name not in PROTECTED_BY},
        partition=partition,
        parties=names,
        roles=Roles(coordinator=coordinator, asker=asker or labeller or next(iter(names), ""), labeller=labeller),
        dataset=dataset,
        columns={**dict.fromkeys(names, "all"), **{p: "all" if c == "all" else tuple(c) for p, c in given.items()}},
        rows={**dict.fromkeys(names), **declared},
        protection=Protection(**{name: value for name, value in params.items() if name in PROTECTED_BY}),
        classes=None if classes is None else tuple(classes),
        disclosure="",
        cost=None,
        purpose=purpose,
        legal_basis=legal_basis,
        retention_days=retention_days,
        expires=(expires or now + LIFETIME).astimezone(UTC).replace(microsecond=0),
        submitter=submitter,
        version=version("tacit"),
        source=source_hash(),
        allow_two_parties=allow_two_parties,
        builds_on=tuple(builds_on),
        accept_risk=accept_risk,
    )
    if job.expired(now):
        raise LocalError(f"the job expired at {job.expires:%Y-%m-%d %H:%M} UTC: set expires to a time that is still to come")
    refuse_risky(job)
    return _rehearsed(job)


def _check_fit(protocol: str, builds_on: Sequence[str]) -> None:
    if protocol not in INPUTS:
        weak = WEAK if protocol.startswith(("shift_", "elm_vertical")) else "its inputs and answers are not those of a job"
        raise LocalError(f"protocol {protocol!r} runs in simulation only, since {weak}: use one of {', '.join(INPUTS)}")
    if protocol in BUILDS_ON and not builds_on:
        raise LocalError(f"protocol {protocol!r} is about a model: name the job that made it, as builds_on = 'its id'")


def _rehearsed(job: Job) -> Job:
    """The job with its disclosure and its cost, as every receiver will read it; refused here if they would refuse it."""
    job = _as_received(job)
    text = disclosure_of(job.protocol, job.arguments, job.roster)
    cost = None if job.records is None else cost_of(job.protocol, job.arguments, job.roster, job.records)
    return _as_received(msgspec.structs.replace(job, disclosure=text, cost=cost))


def _as_received(job: Job) -> Job:
    """The job with every field checked, which making it in Python alone does not do."""
    data = job.canonical()
    if len(data) > LARGEST:
        raise LocalError(f"the job has {len(data)} bytes, and every party refuses more than {LARGEST}: name fewer columns or candidates")
    try:
        return msgspec.json.decode(data, type=Job)
    except msgspec.ValidationError as error:
        raise LocalError(f"every party would refuse the job: {error}; correct that field") from None


class JobFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of the file; what it leaves out may follow from the jobs that it builds on."""

    dataset: str
    purpose: str
    legal_basis: str
    parties: tuple[str, ...] = ()
    coordinator: str = ""
    builds_on: str | tuple[str, ...] = ()
    estimator: str | None = None
    protocol: str | None = None
    partition: Partition | None = None
    labeller: str | None = None
    asker: str | None = None
    params: dict[str, Any] = {}
    columns: dict[str, tuple[str, ...] | Literal["all"]] = {}
    rows: dict[str, int] = {}
    classes: tuple[Label, ...] | None = None
    retention_days: int = 30
    expires: Moment | None = None
    allow_two_parties: bool = False
    accept_risk: bool = False


class _OverheardError(Exception):
    """Carries the protocol and the parameters that an estimator asked its federation for."""


class _Listening(Federation):
    def execute(self, protocol: str, inputs: Inputs, **params: Any) -> Never:
        del inputs
        raise _OverheardError(protocol, params)


def job_of_file(path: Path, *, submitter: str, state: Path | None = None, now: datetime | None = None) -> Job:
    """Read, check and complete it; `state` is where the submitter has its earlier jobs."""
    file = converted(toml_of(path, "the job"), JobFile, path)
    try:
        file = _completed(file, state)
        protocol, partition, params = _asked(file)
        return propose(
            protocol, params, partition=partition, parties=file.parties, coordinator=file.coordinator, dataset=file.dataset,
            submitter=submitter, purpose=file.purpose, legal_basis=file.legal_basis, labeller=file.labeller, asker=file.asker,
            columns=file.columns, rows=file.rows, classes=file.classes, retention_days=file.retention_days,
            expires=file.expires, allow_two_parties=file.allow_two_parties, accept_risk=file.accept_risk,
            builds_on=file.builds_on, now=now,
        )  # fmt: skip
    except LocalError as error:
        raise LocalError(f"{path.name}: {error}") from None


def _completed(file: JobFile, state: Path | None) -> JobFile:
    """The file with what follows from the jobs it builds on, as far as their submitter has them here."""
    names = (file.builds_on,) if isinstance(file.builds_on, str) else file.builds_on
    found = [known_job(state, name) for name in names] if state is not None else []
    given = {name: value for name, value in msgspec.structs.asdict(file).items() if value}
    follows: dict[str, Any] = {}
    for folder in found:
        follows |= following(folder, file.protocol) if file.estimator is None else between(folder.job)
    params = {**follows.pop("params", {}), **file.params}
    file = msgspec.structs.replace(file, **{**follows, **given, "params": params, "builds_on": tuple(f.id for f in found) or names})
    lacking = [name for name in ("parties", "coordinator") if not getattr(file, name)]
    if lacking:
        raise LocalError(f"{', '.join(map(repr, lacking))} is missing: add it (known keys: {', '.join(JobFile.__struct_fields__)})")
    if (file.estimator is None) == (file.protocol is None):
        raise LocalError("name either an estimator or a protocol, such as estimator = 'GramSVC'")
    return file


def _asked(file: JobFile) -> tuple[str, Partition, dict[str, Any]]:
    params = {name: _written(value) for name, value in file.params.items()}
    if file.estimator is not None:
        return _of_estimator(file, file.estimator, params)
    if file.partition is None:
        raise LocalError("a job that names a protocol must say its partition: add partition = 'vertical', 'horizontal' or 'arbitrary'")
    return str(file.protocol), file.partition, params


def _of_estimator(file: JobFile, name: str, params: dict[str, Any]) -> tuple[str, Partition, dict[str, Any]]:
    """What the estimator would ask its federation for: its own checks decide, and no list of its parameters is kept here."""
    if name not in CLASSIFIERS:
        raise LocalError(f"unknown estimator {name!r}: use one of {', '.join(CLASSIFIERS)}")
    made = CLASSIFIERS[name](**({} if file.partition is None else {"partition": file.partition}))
    allowed = [p for p in made.get_params() if p not in ELSEWHERE]
    unknown = [p for p in params if p not in allowed]
    if unknown:
        raise LocalError(f"{name} has no parameter {', '.join(map(repr, unknown))} in [params]: it takes {', '.join(allowed)}")
    try:
        made.set_params(**params).fit(_listening(file, made.partition))
    except _OverheardError as overheard:
        protocol, asked = overheard.args
        return protocol, made.partition, asked
    raise LocalError(f"estimator {name} runs no protocol: name one of {', '.join(n for n in CLASSIFIERS if n != name)}")


def _listening(file: JobFile, partition: Partition) -> Federation:
    """Parties without a record, one nameless column each."""
    if partition != "horizontal" and file.labeller not in file.parties:
        raise LocalError(f"labeller = {file.labeller!r} is none of the parties ({', '.join(file.parties)}): name who holds the labels")
    labels, nobody = np.empty(0), np.empty(0, dtype=np.int64)
    having = file.parties if partition == "horizontal" else (file.labeller,)
    names = dict(enumerate(file.parties))
    parts = {p: part_of(np.empty((0, 1)), labels if p in having else None, None, (f"x{i}",)) for i, p in names.items()}
    columns = {p: np.array([i]) for i, p in names.items()}
    features = tuple(f"x{i}" for i in names)
    rows = dict.fromkeys(parts, nobody)
    return _Listening(partition, parts, rows, columns, features, named=False, labeller=file.labeller, coordinator=file.coordinator)


def _written(value: Any) -> Any:
    """TOML's keys are texts only, so class weights of numbered classes are written as [[0, 1.0], [1, 5.0]]."""
    pairs = isinstance(value, list) and value and all(isinstance(v, list) and len(v) == 2 for v in value)  # noqa: PLR2004 - pairs
    return dict(value) if pairs else value
