"""Making a job: from a protocol and its parameters, or from `job.toml` as a person writes it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from sklearn.base import BaseEstimator

from tacit.base.by_name import estimators
from tacit.base.estimator import Federated
from tacit.choreo.declaration import plain
from tacit.consortium.consent.risks import refuse_risky
from tacit.consortium.jobs.comparing import disclose, estimate
from tacit.consortium.jobs.job import LARGEST, Columns, Job, refuse_protocol, source_hash
from tacit.consortium.jobs.questions import known_job, terms_after, terms_between
from tacit.consortium.jobs.rehearsal import check_params, takes
from tacit.consortium.site.settings import Partition, Terms, convert, toml_of
from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.federation.backend import Described
from tacit.registry import declared, job_protocols
from tacit.study.gate import choose_gate
from tacit.study.names import SEED, STUDY
from tacit.study.steps import USE, draw_seed, read_pipeline

LIFETIME = timedelta(days=14)
PAIR = 2


def propose(
    protocol: str, params: Mapping[str, Any], *, submitter: str, now: datetime | None = None, **terms: Any
) -> Job:
    """Make a job with its disclosure and cost; `params` are the protocol's, `terms` those of a `Terms`."""
    said, now = Terms(**terms), now or datetime.now(UTC)
    params = {**({"partition": said.partition} if "partition" in takes(protocol) else {}), **params}
    _check_protocol(protocol, said.builds_on)
    check_params(protocol, params)
    names = tuple(said.parties)
    listed: dict[str, Columns] = {p: "all" if of == "all" else tuple(of) for p, of in said.columns.items()}
    completed: dict[str, Any] = {
        "parties": names,
        "asker": said.asker or said.labeller or next(iter(names), ""),
        "columns": {**dict.fromkeys(names, "all"), **listed},
        "rows": {**dict.fromkeys(names), **said.rows},
        "classes": None if said.classes is None else tuple(said.classes),
        "expires": (said.expires or now + LIFETIME).astimezone(UTC).replace(microsecond=0),
        "builds_on": tuple(said.builds_on),
    }
    job = Job(
        id=secrets.token_hex(16),
        protocol=protocol,
        params={name: plain(name, value) for name, value in params.items()},
        disclosure="",
        cost=None,
        submitter=submitter,
        version=version("tacit"),
        source=source_hash(protocol),
        **{**{name: getattr(said, name) for name in Terms.__struct_fields__}, **completed},
    )
    if job.expired(now):
        raise LocalError(f"the job expired at {job.expires:%Y-%m-%d %H:%M} UTC: set expires to a time to come")
    refuse_risky(job)
    return _rehearse(job)


def _check_protocol(protocol: str, builds_on: Sequence[str]) -> None:
    """Refuse what no job may name, and a question about no model."""
    if protocol not in job_protocols():
        raise refuse_protocol(protocol)
    if declared(protocol).builds_on and not builds_on:
        raise LocalError(f"protocol {protocol!r} is about a model: name the job that made it, as builds_on = 'its id'")


def _rehearse(job: Job) -> Job:
    """Return the job with its disclosure and its cost, as every receiver will read it."""
    job = _receive(job)
    cost = None if job.records is None else estimate(job, job.records)
    return _receive(msgspec.structs.replace(job, disclosure=disclose(job), cost=cost))


def _receive(job: Job) -> Job:
    """Return the job with every field checked, as receivers check it, which making it in Python alone does not do."""
    data = job.canonical()
    if len(data) > LARGEST:
        size = f"the job has {len(data)} bytes, and every party refuses more than {LARGEST}"
        raise LocalError(f"{size}: name fewer columns or candidates")
    try:
        return msgspec.json.decode(data, type=Job)
    except msgspec.ValidationError as error:
        raise LocalError(f"every party would refuse the job: {error}; correct that field") from None


class JobFile(Terms, frozen=True, kw_only=True):
    """The terms of a job, and what it is to do; what the file leaves out may follow from the jobs that it builds on.

    estimator: the only step of a study, with its parameters in `params`; else those of a protocol. step: the steps.
    release: how sites attack the model before the analyst gets it; false: they do not; left out: as usual.
    """

    estimator: str | None = None
    protocol: str | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    step: tuple[dict[str, Any], ...] = ()
    seed: int | None = None
    evaluate: dict[str, Any] | None = None
    describe: dict[str, Any] | None = None
    release: dict[str, Any] | bool | None = None


def job_of_file(path: Path, *, submitter: str, state: Path | None = None, now: datetime | None = None) -> Job:
    """Return the job of a file, checked and completed; `state` is where the submitter has its earlier jobs."""
    written = toml_of(path, "the job")
    if "holdout" in written:
        dealt = "each site deals its records once, for all jobs (judge in its [datasets.NAME])"
        raise LocalError(f"{path.name}: holdout is no job's to choose any more, as {dealt}: remove the line")
    if isinstance(written.get("builds_on"), str):
        written["builds_on"] = [written["builds_on"]]
    file = convert(written, JobFile, path)
    try:
        file = _complete(file, state)
        protocol, partition, params = _ask(file)
        terms = {name: getattr(file, name) for name in Terms.__struct_fields__}
        return propose(protocol, params, submitter=submitter, now=now, **{**terms, "partition": partition})
    except LocalError as error:
        raise LocalError(f"{path.name}: {error}") from None


def _complete(file: JobFile, state: Path | None) -> JobFile:
    """Return the file with what follows from the jobs it builds on, as far as their submitter has them here."""
    found = [known_job(state, name) for name in file.builds_on] if state is not None else []
    given = {name: value for name, value in msgspec.structs.asdict(file).items() if value}
    follows: dict[str, Any] = {}
    for folder in found:
        trains = file.estimator is not None or bool(file.step)
        follows |= terms_between(folder.job) if trains else terms_after(folder, judged=file.evaluate is not None)
    follows |= {**given, "params": {**follows.pop("params", {}), **file.params}}
    file = msgspec.structs.replace(file, **{**follows, "builds_on": tuple(f.id for f in found) or file.builds_on})
    lacking = ", ".join(repr(name) for name in ("parties", "coordinator") if not getattr(file, name))
    if lacking:
        raise LocalError(f"{lacking} is missing: add it (known keys: {', '.join(JobFile.__struct_fields__)})")
    looks = bool(file.step) or (file.describe is not None and file.estimator is None)
    if sum((file.estimator is not None, file.protocol is not None, looks)) != 1:
        raise LocalError("name an estimator, a protocol or steps, such as estimator = 'SVC', and one of these only")
    return file


def _ask(file: JobFile) -> tuple[str, Partition, dict[str, Any]]:
    """Return the protocol that the file asks for, its partition and its parameters."""
    params = {name: _read_pairs(value) for name, value in file.params.items()}
    if file.protocol is None:
        return _ask_study(file, params)
    if file.release:
        raise LocalError("[release] is the last step of a study: name an estimator or steps, and no protocol")
    if file.evaluate is not None:
        params["evaluate"] = file.evaluate
    if file.partition is None:
        choice = "partition = 'vertical', 'horizontal' or 'arbitrary'"
        raise LocalError(f"a job that names a protocol must say its partition: add {choice}")
    return file.protocol, file.partition, params


def _ask_study(file: JobFile, params: dict[str, Any]) -> tuple[str, Partition, dict[str, Any]]:
    """Return a study of the file's steps; its learner checks what can be checked before anything is rehearsed."""
    partition = file.partition or "horizontal"
    steps = tuple({name: _read_pairs(value) for name, value in step.items()} for step in file.step)
    if file.estimator is not None:
        known: Any = estimators(BaseEstimator)
        splits = getattr(known.get(file.estimator), "SPLITS", (partition,))
        partition, steps = file.partition or splits[0], ({USE: file.estimator, **params},)
    elif params:
        raise LocalError("[params] are those of an estimator or a protocol: write the parameters of a step into it")
    described = _describe(file, partition)
    if file.estimator is not None:
        (_, only), *_ = read_pipeline(steps, 0).steps
        if isinstance(only, Federated):
            only.request(described)
    asked: dict[str, Any] = {SEED: draw_seed() if file.seed is None else file.seed, "evaluate": file.evaluate}
    asked |= {"steps": steps} if steps else {}
    gate = choose_gate(file.release, steps, partition, file.parties)
    chosen = {name: value for name, value in (("describe", file.describe), ("release", gate)) if value is not None}
    return STUDY, partition, asked | chosen


def _describe(file: JobFile, partition: Partition) -> Federation:
    """Return the parties as the file describes them."""
    parties, labeller = file.parties, file.labeller
    if partition != "horizontal" and labeller not in parties:
        raise LocalError(
            f"labeller = {labeller!r} is not one of the parties ({', '.join(parties)}): name the party that has labels"
        )
    roles: Any = {"coordinator": file.coordinator, "labeller": labeller}
    columns: Any = {party: names for party, names in file.columns.items() if names != "all"}
    return Federation.described(parties, partition=partition, columns=columns, backend=Described(), **roles)


def _read_pairs(value: Any) -> Any:
    """Return a dictionary for [[0, 1.0], [1, 5.0]]: TOML's own keys are texts, and classes may be numbers."""
    pairs = isinstance(value, list) and value and all(isinstance(each, list) and len(each) == PAIR for each in value)
    return dict(value) if pairs else value
