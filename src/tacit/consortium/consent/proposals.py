"""A proposed job as people read it before they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Literal

import msgspec

from tacit.choreo.ledger import Learnt, Line, Opened, read_opened, read_template
from tacit.choreo.role import Everyone
from tacit.consortium.consent.budget import say_price, spends
from tacit.consortium.consent.decision import disclosure_digest
from tacit.consortium.consent.people import Brought, Pending
from tacit.consortium.consent.risks import exposures_of
from tacit.consortium.consent.unusual import show_value, unusual
from tacit.consortium.jobs.comparing import compares_records
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.preflight import concerns
from tacit.consortium.jobs.requests import Asked, chosen_values, is_default, requests_of, sites_of, values_of
from tacit.federation.exposure import exposed_by_dealer
from tacit.protocols.judge.release_figures import FEWEST as SUMMED
from tacit.registry import parameter_of
from tacit.report.decision import (
    CHECKED,
    IDENTIFIED,
    NOTHING,
    PRIVACY,
    STATUS,
    TESTABLE,
    Point,
    find_dealer,
    list_learnt,
    moves_nothing,
    say_dealt,
    say_fact,
    say_status,
    tells_model,
)
from tacit.report.words import count, human_bytes, listing
from tacit.study.names import STUDY

Lines = list[tuple[str, str]]
MOST_FIRST, MOST_STEPS = 3, 6  # warnings and steps of a first page
LINE, STEP = 160, 60  # characters of a text and a step of it


@dataclass(frozen=True)
class Planned:
    """The run that a job asks for, as a first page reads it: what its messages will tell, between sites by name."""

    title: str
    params: Mapping[str, Any]
    parties: tuple[str, ...]
    learnt: tuple[Learnt, ...]
    opens: tuple[Opened, ...]

    @classmethod
    def of(cls, job: Job) -> Planned:
        """Return what a job says of its run."""
        lines = read_template(job.disclosure)
        learnt = tuple(row for line in lines if not line.opens for row in _expect(job, line))
        declared = ((line, who) for line in lines if line.opens for who in _name_readers(job, line.reader))
        opens = tuple(Opened(line.where, who, line.facts) for line, who in declared)
        return cls(job.protocol, dict(_list_params(job)), job.roster.parties, learnt, opens)


def _list_params(job: Job) -> Iterator[tuple[str, Any]]:
    """Yield every parameter that the job sets anywhere, each candidate's of a search too, under a key of its own."""
    for k, asked in enumerate(requests_of(job)):
        for i, (name, value) in enumerate(chosen_values(asked)):
            yield f"{k}.{i}__{name}", value


def _expect(job: Job, line: Line) -> Iterator[Learnt]:
    """Yield rows of the ledger that a line of the disclosure announces: every sender and every receiver is in one."""
    sender, _, receiver = line.roles.partition(" > ")
    readers, writers = (sites_of(job, role) or (role,) for role in (receiver, sender))
    pairs = zip(readers, cycle(writers)) if len(readers) >= len(writers) else zip(cycle(readers), writers)
    return (Learnt(who, line.facts, whom, line.where, 0, 0) for who, whom in pairs)


def _name_readers(job: Job, role: str) -> tuple[str, ...]:
    """Return everyone, or the names of the sites that have a role; the role itself, where the roster has no such."""
    return (role,) if role == Everyone.name else sites_of(job, role) or (role,)


def opened_by(job: Job) -> Lines:
    """Return who will know what after the whole run, a line per role."""
    run, known = Planned.of(job), dict[str, dict[str, None]]()
    for opened in read_opened(job.disclosure):
        said = (say_fact(fact, run) for fact in opened.facts)
        known.setdefault(opened.role, {}).update(dict.fromkeys(filter(None, said)))
    return [(role, "; ".join(facts)) for role, facts in known.items() if facts]


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


def brief(one: Pending, party: str) -> tuple[Point, ...]:
    """Return the first page of a proposal: what somebody needs to know who has to decide about it."""
    return tuple(point for point in _points(one, party) if point.lines)


def _points(one: Pending, party: str) -> Iterator[Point]:
    job, run = one.job, Planned.of(one.job)
    yield Point("Look at this first", tuple(_warn(job)))
    yield Point("Who asks for what, and why", tuple(_say_question(job, one.brings)))
    for who, facts in list_learnt(run):
        yield Point(f"What {who} will learn", facts)
    if moves_nothing(run):
        yield Point("What else will move", (NOTHING,))
    model = tells_model(run)
    yield Point("Who gets the result", tuple(_say_readers(job, model=model)))
    yield Point(IDENTIFIED, tuple(_say_risks(job, run, model=model)))
    yield Point(PRIVACY, tuple(_say_privacy(job)))
    yield Point(CHECKED, (_say_release(job, model=model),))
    yield Point(f"Left to {party}", tuple(_say_left(job, one.brings)))
    yield Point("Cost", tuple(_say_cost(job, party)))
    yield Point(STATUS, (f"{say_status()}.",))


def _warn(job: Job) -> Iterator[str]:
    """Yield what is out of the ordinary and concerns privacy; parameters and who deals are said elsewhere."""
    dealt = exposed_by_dealer(job.parties, job.coordinator).text
    found = [f"{word}: {text}." for word, text in unusual(job) if word != "parameter" and text != dealt]
    yield from map(_cut, found[:MOST_FIRST])
    if len(found) > MOST_FIRST:
        yield f"And {len(found) - MOST_FIRST} more, in the details."


def _say_question(job: Job, brings: Brought | None) -> Iterator[str]:
    yield f"{job.submitter} asks for: {_cut(job.purpose)}. Legal basis: {_cut(job.legal_basis)}."
    yield f"With {_name_parties(job)}; {job.coordinator} coordinates and has no data."
    ours = f"{brings.rows} records of {count(len(brings.columns), 'column')}" if brings else "our records"
    yield f"Of us: {ours} of {job.dataset}, which stay here."
    steps = [_cut(text, STEP) for text in in_steps(job)]
    more = f", and {len(steps) - MOST_STEPS} more" if len(steps) > MOST_STEPS else ""
    yield f"Steps: {'; '.join(steps[:MOST_STEPS])}{more}.".replace("….", "…")


def in_steps(job: Job) -> list[str]:
    """Return the steps of a study as it was proposed; of another job, its protocol."""
    return [text for name, text in _study(job) if "step" in name] or [job.protocol]


def _name_parties(job: Job) -> str:
    return listing(job.parties) if len(job.parties) <= MOST_STEPS else f"{len(job.parties)} parties"


def _say_readers(job: Job, *, model: bool) -> Iterator[str]:
    sites = "The sites train the model together and keep it." if model else "Everyone, as said above."
    result = "it too" if model else "the same"
    yield f"{sites} {job.submitter} gets {result}{', once the release check has passed' * _is_checked(job)}."


def _say_risks(job: Job, run: Planned, *, model: bool) -> Iterator[str]:
    dealer = find_dealer(run)
    if dealer is not None:
        yield say_dealt(f"{dealer}, which deals the random numbers,", run)
    else:
        exposed = [found.text for found in exposures_of(job)]
        yield f"By the messages: {'; '.join(exposed) or 'all other sites together can subtract their part of a sum'}."
    if model:
        told = "The release check will measure how well." if _is_checked(job) else "Nobody will measure how well."
        yield f"By the model: {TESTABLE} {told}"


def _say_privacy(job: Job) -> Iterator[str]:
    spent = dict.fromkeys(found for asked in requests_of(job) if (found := spends(asked)) is not None)
    yield f"Yes: {listing(f'epsilon {epsilon:g} at delta {delta:g}' for epsilon, delta in spent)}." if spent else "No."
    yield from (f"{text.capitalize()}." for _, text in say_price(job)[len(spent) :])


def _say_release(job: Job, *, model: bool) -> str:
    if _is_checked(job):
        noisy = any(spends(asked) is not None for asked in requests_of(job))
        how = "what epsilon promises stands for figures" if noisy else "each site attacks the model"
        return f"Yes: {how}; the strictest policy decides."
    if not model:
        return "No: no model leaves the sites."
    if job.partition != "horizontal":
        return "No: sites can measure models of records by rows only."
    if len(job.parties) < SUMMED:
        return f"No: figures are summed over {SUMMED} sites or more."
    return f"No: {job.submitter} leaves it out."


def _is_checked(job: Job) -> bool:
    return job.arguments.get("release") is not None


def _say_left(job: Job, brings: Brought | None) -> Iterator[str]:
    yield "That our records are true, the legal basis holds, and whether this may be repeated."
    if brings and brings.most:
        left = max(0, brings.most - brings.studies)
        yield f"Studies on these records that are left: {left} of {brings.most}. Each tells a little more."
    if brings and brings.told:
        yield f"Earlier weights had noise of mu = {brings.told:.3g} in all."
    yield f"Results are kept for {count(job.retention_days, 'day')}. Decide by {job.expires:%Y-%m-%d %H:%M} UTC."


def _say_cost(job: Job, party: str) -> Iterator[str]:
    if job.cost:
        yield f"{count(job.cost.rounds, 'round')} of messages; {human_bytes(job.cost.bytes[party])} from and to us."


def _cut(text: str, most: int = LINE) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _facts(job: Job, party: str, brings: Brought | None) -> Lines:
    others = [p for p in job.parties if p != party]
    return [
        ("submitter", job.submitter),
        ("purpose", job.purpose),
        ("legal basis", job.legal_basis),
        ("retention", f"{job.retention_days} days"),
        ("expires", f"{job.expires:%Y-%m-%d %H:%M} UTC"),
        ("protocol", f"{job.protocol}, {job.partition}, coordinated by {job.coordinator}"),
        ("parties", listing(job.parties)),
        *([("labeller", job.labeller)] if job.labeller else []),
        ("asker", job.asker),
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
        *([("released", _gate(job))] if _is_checked(job) else []),
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
        "decision": {point.heading: list(point.lines) for point in brief(one, party)},
        "unusual": [list(line) for line in unusual(one.job)],
        **sections["who, what and why"],
        **sections["what is opened"],
        **sections["approval"],
        "parameters": sections["parameters"],
        "warnings": concerns(one.job),
        "job": msgspec.to_builtins(one.job),
    }
