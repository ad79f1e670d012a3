"""What becomes of a job at one party: each rule of its policy in turn, then a rehearsal, then the register.

Texts of a refusal are sent to the submitter, so they say what the job and the policy say, and never a figure of the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import msgspec

from tacit.choreo.declaration import shown
from tacit.consortium.difference import Rows
from tacit.consortium.grounds import Grounds
from tacit.consortium.job import Job
from tacit.consortium.policy import READERS, Policy, Some
from tacit.consortium.register import Question, Register
from tacit.consortium.rehearsal import disclosure_of
from tacit.consortium.risks import refuse_risky
from tacit.consortium.values import chosen_values, is_default
from tacit.errors import LocalError, TacitError
from tacit.protocols.parameters import PARAMETERS
from tacit.registry import kind_of

NO_GROUNDS = Grounds()
# fields of a job that decide what is opened of whose data
DISCLOSURE = ("protocol", "partition", "params", "protection", "parties", "roles", "columns", "accept_risk", "disclosure")


@dataclass(frozen=True, repr=False)
class Facts:
    """What the party knows of its own dataset; none of it is ever part of a text."""

    columns: tuple[str, ...]
    rows: Rows
    identified: bool = True  # whether its records have ids


@dataclass(frozen=True)
class Problem:
    """A rule that a job does not meet. `reason` may be sent; `detail` stays here, and so does whatever depends on the data."""

    rule: str
    reason: str
    detail: str = ""


DATA: Literal["data"] = "data"  # the rule of all that depends on the data: one reason, whatever the matter is
UNFIT = "the data of this site does not fit the job, or an earlier one on the same records: ask that party, whose log says how"


@dataclass(frozen=True)
class Decision:
    """What becomes of a job: the first problem decides, all of them are listed."""

    verdict: Literal["accept", "wait", "refuse"]
    rule: str
    reason: str
    problems: tuple[Problem, ...] = field(default=())


@dataclass(frozen=True, repr=False)
class _Case:
    job: Job
    policy: Policy
    facts: Facts | None
    register: Register
    party: str
    now: datetime
    grounds: Grounds


def decide(
    job: Job, policy: Policy, facts: Facts | None, register: Register, *, party: str, now: datetime, grounds: Grounds = NO_GROUNDS
) -> Decision:
    """Judge a job by the policy; `facts` are None if the party has no dataset of that name, `grounds` are what the job builds on."""
    case = _Case(job, policy, facts, register, party, now, grounds)
    problems = tuple(problem for rule in RULES for problem in rule(case))
    if not problems:  # these look into data and rehearse a protocol: only for a job that is within all limits
        problems = tuple(problem for rule in LAST_RULES for problem in rule(case))
    if problems:
        return Decision("refuse", problems[0].rule, problems[0].reason, problems)
    if not policy.automatic:
        return _waiting(policy, "automatic", f"policy {policy.file}: automatic = false")
    if policy.disclosures != "any" and disclosure_digest(job) not in policy.disclosures:
        return _waiting(policy, "disclosures", f"policy {policy.file}: disclosures does not list this job's, {disclosure_digest(job)}")
    return Decision("accept", "automatic", f"policy {policy.file}: automatic = true, and the job meets every rule")


def _waiting(policy: Policy, rule: str, reason: str) -> Decision:
    if not 1 <= policy.approvals_needed <= len(policy.approvers):
        return Decision("refuse", rule, f"{reason}; and it names nobody who could approve the job: ask that party")
    return Decision("wait", rule, f"{reason}; {policy.approvals_needed} of {', '.join(policy.approvers)} must approve the job")


def disclosure_digest(job: Job) -> str:
    """What a policy lists a disclosure by: SHA-256 over all of a job that decides what is opened of whose data, in hex."""
    covered = {name: getattr(job, name) for name in DISCLOSURE}
    return hashlib.sha256(b"tacit disclosure 1\n" + msgspec.json.encode(covered, order="sorted")).hexdigest()


def _among(rule: str, value: str, allowed: Some, policy: Policy) -> Iterator[Problem]:
    if allowed != "any" and value not in allowed:
        listed = ", ".join(allowed) or "nothing"
        yield Problem(rule, f"policy {policy.file}: {rule} = {listed}; the job has {value!r}: propose one of those, or ask that party")


def _expiry(c: _Case) -> Iterator[Problem]:
    if c.job.expired(c.now):
        yield Problem("expires", f"the job expired at {c.job.expires:%Y-%m-%d %H:%M} UTC: submit it again")


def _taking_part(c: _Case) -> Iterator[Problem]:
    if c.party not in c.job.parties:
        yield Problem("parties", f"the job's parties are {', '.join(c.job.parties)}, and {c.party} is none of them: send it to those")


def _lists(c: _Case) -> Iterator[Problem]:
    job, policy = c.job, c.policy
    yield from _among("protocols", job.protocol, policy.protocols, policy)
    yield from _among("submitters", job.submitter, policy.submitters, policy)
    yield from _among("coordinators", job.roles.coordinator, policy.coordinators, policy)
    yield from _among("purposes", job.purpose, policy.purposes, policy)
    yield from _among("legal_bases", job.legal_basis, policy.legal_bases, policy)
    yield from _among("secure_sums", job.protection.method, policy.secure_sums, policy)


def _limits(c: _Case) -> Iterator[Problem]:
    job, policy = c.job, c.policy
    if _holders(job, policy) < policy.minimum_parties:
        yield _limit(policy, "minimum_parties", _holders(job, policy), "propose it with more parties that bring as many rows")
    if job.retention_days > policy.maximum_retention_days:
        yield _limit(policy, "maximum_retention_days", job.retention_days, "propose a shorter retention")
    if kind_of(job.protocol) != "records":  # an answer is of one record, and an alignment has its own least
        return
    declared = job.rows.get(c.party)
    if declared is not None and declared < policy.minimum_rows:
        yield _limit(policy, "minimum_rows", declared, "propose it on more records")
    elif c.facts is not None and len(c.facts.rows) < policy.minimum_rows:
        yield Problem(DATA, UNFIT, f"policy {policy.file}: minimum_rows = {policy.minimum_rows}, the dataset has fewer")


def _holders(job: Job, policy: Policy) -> int:
    """How many parties a record hides among: by rows, one that declares fewer than the policy's least number of them does not count."""
    if job.partition != "horizontal" or kind_of(job.protocol) != "records":
        return len(job.parties)
    return sum(rows is None or rows >= policy.minimum_rows for rows in job.rows.values())


def _limit(policy: Policy, rule: str, has: int, remedy: str) -> Problem:
    return Problem(rule, f"policy {policy.file}: {rule} = {getattr(policy, rule)}, the job has {has}: {remedy}")


def _parameters(c: _Case) -> Iterator[Problem]:
    for name, value in chosen_values(c.job):
        allowed = c.policy.allowed(name)
        if allowed is None and c.policy.other_parameters == "default":
            if not is_default(c.job.protocol, name, value):
                rule = f"policy {c.policy.file}: parameters does not list {name}, and other_parameters = default"
                yield Problem("parameters", f"{rule}; the job has {shown(value)}: leave it out, or ask that party")
        elif allowed is not None and not allowed.allows(PARAMETERS[name], value):
            rule = f"policy {c.policy.file}: parameters.{name} = {allowed}"
            yield Problem("parameters", f"{rule}, the job has {shown(value)}: propose it within that, or ask that party")


def _risk(c: _Case) -> Iterator[Problem]:
    """What an estimator starts only with accept_risk=True; of a gram matrix the protocol has no such parameter."""
    risky = c.job.accept_risk or c.job.params.get("accept_risk") or c.job.params.get("how") == "intersection"
    if risky and not c.policy.accept_risk:
        yield Problem("accept_risk", f"policy {c.policy.file}: accept_risk = false, the job needs it: propose another, or ask that party")


def _alone(c: _Case) -> Iterator[Problem]:
    own = {} if c.facts is None else {c.party: len(named_columns(c.job, c.party, c.facts))}
    try:
        refuse_risky(c.job, own)
    except LocalError as error:
        yield Problem("accept_risk", str(error))


def _columns(c: _Case) -> Iterator[Problem]:
    offered = c.policy.columns.get(c.job.dataset)
    if offered is not None and c.facts is None:
        told = (
            f"the policy offers {c.job.dataset!r}, and this site runs without it: have it add [datasets.{c.job.dataset}], and start again"
        )
        yield Problem("columns", told)
        return
    if offered is None or c.facts is None:
        known = ", ".join(c.policy.columns) or "nothing"
        yield Problem(
            "columns", f"policy {c.policy.file}: columns offers {known}, the job wants the dataset {c.job.dataset!r}: correct its name"
        )
        return
    wanted = named_columns(c.job, c.party, c.facts)
    if not wanted:
        yield Problem(
            "columns", f"dataset {c.job.dataset!r} has no column to bring, and who brings none hides nobody: leave that party out"
        )
    for column in wanted:
        if column not in c.facts.columns or (offered != "all" and column not in offered):
            yield Problem(
                "columns", f"policy {c.policy.file}: columns does not offer {column!r} of {c.job.dataset!r}: leave it out, or ask"
            )


def named_columns(job: Job, party: str, facts: Facts) -> tuple[str, ...]:
    """The party's columns in the job, by name."""
    wanted = job.columns.get(party, ())
    return facts.columns if wanted == "all" else tuple(wanted)


def _as_trained(c: _Case) -> Iterator[Problem]:
    trained = c.grounds.features
    if trained is not None and c.facts is not None and set(named_columns(c.job, c.party, c.facts)) != set(trained):
        text = f"the columns of {c.job.dataset!r} in the job are not those that the model was trained on: give the same, by the same names"
        yield Problem("builds_on", text, f"it was trained on {', '.join(trained)}")


def _identified(c: _Case) -> Iterator[Problem]:
    if kind_of(c.job.protocol) == "ids" and c.facts is not None and not c.facts.identified:
        yield Problem("ids", f"dataset {c.job.dataset!r} has no column of ids: have that party name it, as id = ... in [datasets.NAME]")


def question_of(job: Job, facts: Facts, grounds: Grounds, policy: Policy) -> Question | None:
    """What a job asks of a model; in a horizontal split everybody's new records count, so they have to be declared."""
    if kind_of(job.protocol) != "answers" or grounds.training is None:
        return None
    declared = None if None in job.rows.values() else job.records
    asked = declared if job.partition == "horizontal" else len(facts.rows)
    return Question(grounds.training.job.dataset, asked, policy.predictions)


def _predictions(c: _Case) -> Iterator[Problem]:
    question = None if c.facts is None else question_of(c.job, c.facts, c.grounds, c.policy)
    if question is None:
        return
    left = c.register.left(question)
    rule = f"policy {c.policy.file}: predictions = {c.policy.predictions}"
    if question.asked is None:
        yield Problem("predictions", f"{rule}, and the job does not say how many new records each party has: declare them in [rows]")
    elif question.asked > left:
        text = (
            f"{rule}, of which {left} are left under models of {question.model!r}, the job asks about more: ask about fewer, or that party"
        )
        yield Problem("predictions", text)


def _never(c: _Case) -> Iterator[Problem]:
    for reader, phrases in c.policy.never.items():
        told = " | ".join(told_to(c.job.disclosure, reader)).lower()
        for phrase in phrases:
            if phrase.lower() in told:
                yield Problem("never", f"policy {c.policy.file}: never.{reader} has {phrase!r}, which the job opens: use another protocol")


def told_to(disclosure: str, reader: str) -> list[str]:
    """What a ledger template opens to a reader, or to everyone."""
    lines = (line.split(": ", 2) for line in disclosure.splitlines())
    return [what for _, who, what in lines if who.rsplit(" > ", 1)[-1] in {*READERS[reader], "everyone"}]


def _honest(c: _Case) -> Iterator[Problem]:
    try:
        own = disclosure_of(c.job.protocol, c.job.arguments, c.job.roster)
    except TacitError as error:
        yield Problem("disclosure", f"the job cannot be rehearsed here: {error}")
        return
    if own != c.job.disclosure:
        yield Problem(
            "disclosure", "the job's disclosure is not what its protocol opens here: submit it with the version of tacit used here"
        )


def _unlike_earlier(c: _Case) -> Iterator[Problem]:
    if c.facts is None:
        return
    own = named_columns(c.job, c.party, c.facts)
    found = c.register.objection(c.job, own, c.party, c.facts.rows, c.policy.minimum_rows)
    if found:
        close, earlier = found
        which = f"the earlier one is job {earlier.id} of {earlier.at:%Y-%m-%d}"
        text = f"register: the job differs from an earlier one {close.words}: repeat that one, or change more of it"
        yield Problem(DATA, UNFIT, f"{text}; {which}") if close.of_records else Problem("register", text, which)


RULES: tuple[Callable[[_Case], Iterator[Problem]], ...] = (
    _expiry, _taking_part, _lists, _limits, _risk, _parameters, _columns, _identified, _as_trained, _predictions, _never,
)  # fmt: skip
LAST_RULES: tuple[Callable[[_Case], Iterator[Problem]], ...] = (_alone, _honest, _unlike_earlier)
