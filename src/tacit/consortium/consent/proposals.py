"""A proposed job as people read it before they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from tacit.choreo.ledger import read_opened
from tacit.choreo.role import Everyone
from tacit.consortium.consent.budget import say_price
from tacit.consortium.consent.decision import disclosure_digest
from tacit.consortium.consent.people import Brought, Pending
from tacit.consortium.consent.unusual import show_value, unusual
from tacit.consortium.jobs.comparing import compares_records
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.requests import Asked, facts_by_role, is_dealt, is_default, list_told, requests_of, values_of
from tacit.registry import parameter_of
from tacit.report.disclosures import list_known
from tacit.report.words import human_bytes, listing
from tacit.study.names import STUDY

Lines = list[tuple[str, str]]
MOST_UNUSUAL, MOST_STEPS, LINE = 3, 6, 160  # of one screen: lines, steps, and characters of a text


def opened_by(job: Job) -> Lines:
    """Return who will know what after the whole run, a line per role."""
    return list_known(read_opened(job.disclosure))


def in_sections(one: Pending, party: str) -> Iterator[tuple[str, Lines]]:
    """Return the whole job under headings, what is unusual in it first."""
    first = unusual(one.job)
    if first:
        yield "look at this first", first
    yield "who, what and why", [*_facts(one.job, party, one.brings)]
    yield "parameters", _parameters(one.job)
    opens = [(f"to {who}", what) for who, what in opened_by(one.job)]
    if promised := say_price(one.job):
        yield "what a person is promised", promised
    yield "what is opened", [*opens, ("disclosure", disclosure_digest(one.job))]
    yield "approval", [("approved by", f"{listing(one.approved) or 'nobody'} ({len(one.approved)} of {one.needed})")]


def in_brief(one: Pending, party: str) -> Iterator[tuple[str, Lines]]:
    """Return a job on one screen: who asks for what, who gets which facts, what cannot be excluded, and the cost."""
    job, brings = one.job, one.brings
    roles, first = job.roles, unusual(job)
    if first:
        more = [("", f"and {len(first) - MOST_UNUSUAL} more, in the details")] if len(first) > MOST_UNUSUAL else []
        yield "look at this first", [*((word, _cut(text)) for word, text in first[:MOST_UNUSUAL]), *more]
    own = "" if brings is None else f"{brings.rows} records of {len(brings.columns)} columns"
    steps = [_cut(text) for name, text in _study(job) if "step" in name] or [job.protocol]
    yield (
        "who asks, and for what",
        [
            ("submitter", f"{job.submitter}: {_cut(job.purpose)} ({_cut(job.legal_basis)})"),
            ("with", f"{listing(job.parties)}, coordinated by {roles.coordinator}"),
            ("ours", f"{own or 'our records'} of {job.dataset}"),
            *(("step", text) for text in steps[:MOST_STEPS]),
        ],
    )
    facts = {role: list_told(told) for role, told in facts_by_role(job.disclosure).items()}
    shared = set(facts.get(Everyone.name, ()))
    told = {Everyone.name: shared} | {role: set(own) - shared for role, own in facts.items() if role != Everyone.name}
    yield "who gets which facts", [
        (f"to {role}", listing(sorted(name.removeprefix("core.") for name in names)))
        for role, names in told.items() if names
    ]  # fmt: skip
    yield "what cannot be excluded", _open_risks(job, brings)
    bytes_ = human_bytes(job.cost.bytes[party]) if job.cost else ""
    cost = [("cost for us", f"{job.cost.rounds} rounds, {bytes_}")] if job.cost else []
    kept = f"kept for {job.retention_days} days; the proposal expires {job.expires:%Y-%m-%d %H:%M} UTC"
    yield "cost", [*cost, ("", kept)]
    yield "approval", [("approved by", f"{listing(one.approved) or 'nobody'} ({len(one.approved)} of {one.needed})")]


def _open_risks(job: Job, brings: Brought | None) -> Lines:
    """Return three lines of what no protocol prevents."""
    dealer = job.roles.coordinator
    both = f"{dealer} and any one site, if they work together, can work out all records"
    studies = "" if brings is None or not brings.most else f"; {brings.studies} of {brings.most} are done"
    studies += "" if brings is None or not brings.told else f", whose weights had noise of mu = {brings.told:.3g}"
    promised = say_price(job)
    return [
        ("together", both if is_dealt(job) else "all other sites together can subtract their own part of any sum"),
        ("the result", promised[0][1] if promised else "it may tell who was in the training, and about them"),
        ("repetition", f"every study on the same records tells a little more{studies}"),
    ]


def _cut(text: str) -> str:
    return text if len(text) <= LINE else f"{text[: LINE - 1]}…"


def _facts(job: Job, party: str, brings: Brought | None) -> Lines:
    roles, others = job.roles, [p for p in job.parties if p != party]
    return [
        ("submitter", job.submitter),
        ("purpose", job.purpose),
        ("legal basis", job.legal_basis),
        ("retention", f"{job.retention_days} days"),
        ("expires", f"{job.expires:%Y-%m-%d %H:%M} UTC"),
        ("protocol", f"{job.protocol}, {job.partition}, coordinated by {roles.coordinator}"),
        ("parties", listing(job.parties)),
        *([("labeller", roles.labeller)] if roles.labeller else []),
        ("asker", roles.asker),
        *([("builds on", f"job {listing(job.builds_on)}")] if job.builds_on else []),
        ("our columns", f"{_columns(brings.columns if brings else job.columns[party])} of {job.dataset}"),
        *([("our records", f"{brings.rows}")] if brings else []),
        *((f"columns of {p}", _columns(job.columns[p])) for p in others),
        *([("same records", _comparison(job))] if job.partition != "horizontal" else []),
        ("rows", listing(f"{p} {job.rows[p] or 'not declared'}" for p in job.parties)),
        ("classes", "not declared" if job.classes is None else listing(map(str, job.classes))),
        *([("cost for us", f"{job.cost.rounds} rounds, {human_bytes(job.cost.bytes[party])}")] if job.cost else []),
        ("made by", f"tacit {job.version}, source {job.source[:16]}"),
    ]


def _comparison(job: Job) -> str:
    """Return how it is known that row k is the same record at every site."""
    if job.aligned:
        return "the author says so (aligned = true)"
    return "ids are compared blindly before anything else" if compares_records(job) else "found by this job"


def _columns(names: Sequence[str] | Literal["all"]) -> str:
    return "all" if names == "all" else listing(names)


def _parameters(job: Job) -> Lines:
    """Return what the author chose, each with its meaning; and all that is as usual, in one line for each request."""
    lines = [line for asked in requests_of(job) for line in _of_request(asked, study=asked.protocol != job.protocol)]
    return [*_study(job), *lines]


def _study(job: Job) -> Lines:
    """Return the steps of a study as they were proposed, or of the one that is asked, and how it is judged."""
    if not job.arguments.get("steps") and job.arguments.get("describe") is None:
        return []
    from tacit.study.steps import show_step  # noqa: PLC0415 - estimators take a second to import: only studies have some

    word = "step" if job.protocol == STUDY else "asked step"
    steps = [(f"{word} {k}", show_step(step)) for k, step in enumerate(job.arguments.get("steps") or (), 1)]
    if (looked := job.arguments.get("describe")) is not None:
        steps = [("first", f"the table is described{f' with {show_step(looked)}' if looked else ''}"), *steps]
    judged = job.arguments.get("evaluate")
    return [
        *steps,
        *([("judged by", show_step(judged) or "counts")] if judged is not None else []),
        *([("released", _gate(job))] if job.arguments.get("release") is not None else []),
    ]


def _gate(job: Job) -> str:
    """Return what becomes of the model before its analyst gets it."""
    from tacit.study.steps import show_step  # noqa: PLC0415 - as above

    how = show_step(job.arguments["release"])
    told = f"each site attacks the model on its own records{f', with {how}' if how else ''}"
    return f"{told}; the analyst gets it unless a policy's [release] allows less"


def _of_request(asked: Asked, *, study: bool) -> Lines:
    values, protocol = values_of(asked), asked.protocol
    if study:  # names and kinds of columns are those of the rehearsal, and in earnest the table's
        values = {name: value for name, value in values.items() if not parameter_of(protocol, name).follows}
    usual = [name for name, value in values.items() if is_default(protocol, name, value)]
    given = {name: value for name, value in values.items() if name not in usual}
    chosen = [(name, f"{show_value(value)}: {parameter_of(protocol, name).says}") for name, value in given.items()]
    by_default = listing(f"{name} {show_value(values[name])}" for name in usual) or "nothing"
    lines = [*chosen, ("by default", by_default)]
    return [(f"{protocol}: {name}", text) for name, text in lines] if study else lines


def in_json(one: Pending, party: str) -> dict[str, Any]:
    """Return the whole job as values that JSON can write."""
    sections = {heading: dict(lines) for heading, lines in in_sections(one, party)}
    return {
        "id": one.job.id,
        "unusual": [list(line) for line in unusual(one.job)],
        **sections["who, what and why"],
        **sections["what is opened"],
        **sections["approval"],
        "parameters": sections["parameters"],
        "warnings": concerns(one.job),
        "job": msgspec.to_builtins(one.job),
    }
