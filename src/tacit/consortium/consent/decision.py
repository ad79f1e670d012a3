"""What becomes of a job at one party: each rule of its policy in turn, then a rehearsal, then the register.

Texts of a refusal are sent to the submitter, so they say what the job and the policy say, and never a figure of the
data.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from tacit.base.release_between import find_noisy, promise_of
from tacit.choreo.declaration import show_short
from tacit.choreo.fact import Fact
from tacit.choreo.ledger import Line, read_template
from tacit.consortium.consent.budget import find_shortage, price
from tacit.consortium.consent.policy import READERS, Policy, Some
from tacit.consortium.consent.register import Limits, Question, Register
from tacit.consortium.consent.risks import refuse_risky
from tacit.consortium.editions.dealing import SHARE
from tacit.consortium.editions.edition import Edition
from tacit.consortium.jobs.comparing import compares_records, disclose
from tacit.consortium.jobs.grounds import Grounds
from tacit.consortium.jobs.job import ROLES, Job
from tacit.consortium.jobs.requests import Asked, chosen_values, is_default, protocols_of, requests_of
from tacit.errors import LocalError, TacitError
from tacit.registry import declared, kind_of, parameter_of
from tacit.study.names import STUDY
from tacit.study.steps import read_pipeline

# fields of a job that decide what is opened of whose data
HOW, WHOSE = ("protocol", "partition", "params"), ("parties", *ROLES, "columns")
DISCLOSURE = (*HOW, *WHOSE, "accept_risk", "aligned", "disclosure")


@dataclass(frozen=True, repr=False)
class Holdings:
    """What the party knows of its own dataset; none of it is ever part of a text."""

    columns: tuple[str, ...]
    edition: Edition
    identified: bool = True  # whether its records have ids

    @property
    def rows(self) -> int:
        """How many records there are to learn from and to judge by."""
        return len(self.edition.table.X)


@dataclass(frozen=True)
class Problem:
    """A rule that a job does not meet.

    `reason` may be sent; `detail` stays here, and so does whatever depends on the data.
    """

    rule: str
    reason: str
    detail: str = ""


DATA: Literal["data"] = "data"  # the rule of all that depends on the data: one reason, whatever the matter is
LOG_SAYS = "ask that party, whose log says how"
UNFIT = f"the data of this site does not fit the job, or an earlier one on the same records: {LOG_SAYS}"


@dataclass(frozen=True)
class Decision:
    """What becomes of a job: the first problem decides, all that were looked for are listed.

    rehearsed: whether the job was rehearsed here, which takes time, whoever sent it.
    """

    verdict: Literal["accept", "wait", "refuse"]
    rule: str
    reason: str
    problems: tuple[Problem, ...] = field(default=())
    rehearsed: bool = True


@dataclass(frozen=True, repr=False)
class Case:
    """A job, and all that a party judges it by.

    `holdings` are None if the party has no dataset of that name, `grounds` are what the job builds on, and `keeps`
    tells whether the result of an earlier job is still here.
    """

    job: Job
    policy: Policy
    holdings: Holdings | None
    register: Register
    party: str
    now: datetime
    grounds: Grounds = field(default_factory=Grounds)
    keeps: Callable[[str], bool] = lambda _: False

    @property
    def limits(self) -> Limits:
        """What the policy says of repetition."""
        return limits_of(self.policy, self.keeps)


def limits_of(policy: Policy, keeps: Callable[[str], bool]) -> Limits:
    """Return what a policy says of repetition."""
    return Limits(policy.studies, policy.budget, keeps, policy.column_lists, policy.groupings)


def decide(case: Case) -> Decision:
    """Judge a job by the policy."""
    policy = case.policy
    for rules in (WRITTEN_RULES, (_unplayable,), REHEARSED_RULES, LAST_RULES):
        if problems := tuple(problem for rule in rules for problem in rule(case)):
            rehearsed = rules is not WRITTEN_RULES
            return Decision("refuse", problems[0].rule, problems[0].reason, problems, rehearsed)
    if not policy.automatic:
        return _wait(policy, "automatic", f"policy {policy.file}: automatic = false")
    digest = disclosure_digest(case.job)
    if policy.disclosures != "any" and digest not in policy.disclosures:
        return _wait(policy, "disclosures", f"policy {policy.file}: disclosures does not list this job's, {digest}")
    return Decision("accept", "automatic", f"policy {policy.file}: automatic = true, and the job meets every rule")


def _wait(policy: Policy, rule: str, reason: str) -> Decision:
    """Let people decide; refuse if the policy names too few of them."""
    if not 1 <= policy.approvals_needed <= len(policy.approvers):
        return Decision("refuse", rule, f"{reason}; and it names nobody who could approve the job: ask that party")
    people = f"{policy.approvals_needed} of {', '.join(policy.approvers)}"
    return Decision("wait", rule, f"{reason}; {people} must approve the job")


def disclosure_digest(job: Job) -> str:
    """Return SHA-256 over all of a job that decides what is opened of whose data, in hex; policies list it."""
    covered = {name: getattr(job, name) for name in DISCLOSURE}
    covered |= {"on_absence": job.on_absence} if job.on_absence != "wait" else {}
    return hashlib.sha256(b"tacit disclosure 1\n" + msgspec.json.encode(covered, order="sorted")).hexdigest()


def _among(rule: str, value: str, allowed: Some, policy: Policy) -> Iterator[Problem]:
    if allowed != "any" and value not in allowed:
        listed = f"policy {policy.file}: {rule} = {', '.join(allowed) or 'nothing'}"
        yield Problem(rule, f"{listed}; the job has {value!r}: propose one of those, or ask that party")


def _unplayable(c: Case) -> Iterator[Problem]:
    """Refuse a study whose steps this site does not know: nothing else can be said of it."""
    try:
        requests_of(c.job)
    except TacitError as error:
        yield Problem("disclosure", f"the job cannot be rehearsed here: {error}")


def _expiry(c: Case) -> Iterator[Problem]:
    if c.job.expired(c.now):
        yield Problem("expires", c.job.expiry)


def _taking_part(c: Case) -> Iterator[Problem]:
    if c.party not in c.job.parties:
        known = f"the job's parties are {', '.join(c.job.parties)}"
        yield Problem("parties", f"{known}, and {c.party} is not one of them: send it to those")


def _names(c: Case) -> Iterator[Problem]:
    job, policy = c.job, c.policy
    yield from _among("submitters", job.submitter, policy.submitters, policy)
    yield from _among("coordinators", job.coordinator, policy.coordinators, policy)
    yield from _among("purposes", job.purpose, policy.purposes, policy)
    yield from _among("legal_bases", job.legal_basis, policy.legal_bases, policy)


def _protocols(c: Case) -> Iterator[Problem]:
    job, policy = c.job, c.policy
    for name in protocols_of(job):
        yield from _among("protocols", name, policy.protocols, policy)


def count_too_few(job: Job, policy: Policy) -> Problem | None:
    """Return that a job has fewer parties than the policy asks for, if so."""
    holders = _count_holders(job, policy)
    if holders >= policy.minimum_parties:
        return None
    return _limit(policy, "minimum_parties", holders, "propose it with more parties that bring as many rows")


def _limits(c: Case) -> Iterator[Problem]:
    job, policy = c.job, c.policy
    if (few := count_too_few(job, policy)) is not None:
        yield few
    if job.retention_days > policy.maximum_retention_days:
        yield _limit(policy, "maximum_retention_days", job.retention_days, "propose a shorter retention")
    if kind_of(job.protocol) != "records":  # an answer is of one record, and an alignment has its own least
        return
    declared = job.rows.get(c.party)
    if declared is not None and declared < policy.minimum_rows:
        yield _limit(policy, "minimum_rows", declared, "propose it on more records")
    elif c.holdings is not None and c.holdings.rows < policy.minimum_rows:
        yield Problem(DATA, UNFIT, f"policy {policy.file}: minimum_rows = {policy.minimum_rows}, the dataset has fewer")


def _count_holders(job: Job, policy: Policy) -> int:
    """Count the parties that a record hides among: by rows, only those that do not declare too few rows."""
    if job.partition != "horizontal" or kind_of(job.protocol) != "records":
        return len(job.parties)
    return sum(rows is None or rows >= policy.minimum_rows for rows in job.rows.values())


def _limit(policy: Policy, rule: str, has: int, remedy: str) -> Problem:
    return Problem(rule, f"policy {policy.file}: {rule} = {getattr(policy, rule)}, the job has {has}: {remedy}")


def _parameters(c: Case) -> Iterator[Problem]:
    """Refuse what is on no list."""
    yield from dict.fromkeys(problem for asked in requests_of(c.job) for problem in _of_parameters(asked, c.policy))


def _of_parameters(asked: Asked, policy: Policy) -> Iterator[Problem]:
    for name, value in chosen_values(asked):
        allowed = policy.bounds_of(name)
        if allowed is None and policy.other_parameters == "default":
            if not is_default(asked.protocol, name, value):
                rule = f"policy {policy.file}: parameters does not list {name}, and other_parameters = default"
                yield Problem("parameters", f"{rule}; the job has {show_short(value)}: leave it out, or ask that party")
        elif allowed is not None and not allowed.allows(parameter_of(asked.protocol, name), value):
            rule = f"policy {policy.file}: parameters.{name} = {allowed}"
            within = f"{rule}, the job has {show_short(value)}: propose it within that, or ask that party"
            yield Problem("parameters", within)


def _risk(c: Case) -> Iterator[Problem]:
    """Refuse what an estimator starts only with accept_risk=True, unless the policy accepts it too."""
    if (c.job.accept_risk or _accepts_risk(c.job.params)) and not c.policy.accept_risk:
        rule = f"policy {c.policy.file}: accept_risk = false"
        yield Problem("accept_risk", f"{rule}, the job needs it: propose another, or ask that party")


def _accepts_risk(value: Any) -> bool:
    """Return whether parameters, or those of a step among them, accept a risk: an estimator may start only with it."""
    if isinstance(value, dict):
        pairs = value["pairs"] if set(value) == {"pairs"} else value.items()
        return any((name == "accept_risk" and bool(held)) or _accepts_risk(held) for name, held in pairs)
    return isinstance(value, list) and any(map(_accepts_risk, value))


def _alone(c: Case) -> Iterator[Problem]:
    own = {} if c.holdings is None else {c.party: len(named_columns(c.job, c.party, c.holdings))}
    try:
        refuse_risky(c.job, own)
    except LocalError as error:
        yield Problem("accept_risk", str(error))


def _columns(c: Case) -> Iterator[Problem]:
    dataset, offered, rule = c.job.dataset, c.policy.columns.get(c.job.dataset), f"policy {c.policy.file}: columns"
    if offered is None:
        known = ", ".join(c.policy.columns) or "nothing"
        yield Problem("columns", f"{rule} offers {known}, the job wants the dataset {dataset!r}: correct its name")
        return
    if c.holdings is None:
        lacking = f"the policy offers {dataset!r}, and this site runs without it"
        yield Problem("columns", f"{lacking}: have it add [datasets.{dataset}], and start again")
        return
    wanted = named_columns(c.job, c.party, c.holdings)
    if not wanted:
        none = f"dataset {dataset!r} has no column to bring, and a party that brings none hides nobody"
        yield Problem("columns", f"{none}: leave that party out")
    for column in wanted:
        if column not in c.holdings.columns or (offered != "all" and column not in offered):
            yield Problem("columns", f"{rule} does not offer {column!r} of {dataset!r}: leave it out, or ask")


def named_columns(job: Job, party: str, holdings: Holdings) -> tuple[str, ...]:
    """Return the party's columns in the job, by name."""
    wanted = job.columns.get(party, ())
    return holdings.columns if wanted == "all" else tuple(wanted)


def _as_trained(c: Case) -> Iterator[Problem]:
    trained = c.grounds.features
    if trained is None or c.holdings is None or set(named_columns(c.job, c.party, c.holdings)) == set(trained):
        return
    text = f"the columns of {c.job.dataset!r} in the job are not those that the model was trained on"
    detail = f"it was trained on {', '.join(trained)}"
    yield Problem("builds_on", f"{text}: give the same, by the same names", detail)


def _identified(c: Case) -> Iterator[Problem]:
    if c.holdings is None or c.holdings.identified:
        return
    lacking, remedy = (
        f"dataset {c.job.dataset!r} has no column of ids",
        "have that party name it, as id = ... in [datasets.NAME]",
    )
    if kind_of(c.job.protocol) == "ids":
        yield Problem("ids", f"{lacking}: {remedy}")
    elif c.job.partition == "horizontal" and kind_of(c.job.protocol) == "records":
        yield Problem("ids", f"{lacking}, by which this site knows whose records earlier jobs used: {remedy}")
    elif compares_records(c.job):
        unlike = f"{lacking}, so that nobody can tell whether row k is the same record everywhere"
        yield Problem("ids", f"{unlike}: {remedy}, or say aligned = true in the job if it is")


def question_of(job: Job, holdings: Holdings, grounds: Grounds, policy: Policy) -> Question | None:
    """Return what a job asks of a model; by rows everybody's new records count, so they have to be declared."""
    share = share_asked(job)
    if not share or (grounds.model is None and job.protocol != STUDY):
        return None  # whoever has a public model may ask it whatever they like
    declared = None if None in job.rows.values() else job.records
    records = declared if job.partition == "horizontal" else holdings.rows
    asked = None if records is None else math.ceil(share * records)
    trained = job if grounds.model is None else grounds.model.job
    return Question(trained.dataset, asked, policy.predictions)


def share_asked(job: Job) -> float:
    """Return about which share of its records a job asks a model that is in shares.

    A question asks about all of them, a study about those that its own model is judged by.
    """
    if not any(kind_of(name) == "answers" for name in protocols_of(job)):
        return 0.0
    return SHARE if job.protocol == STUDY else 1.0


def _predictions(c: Case) -> Iterator[Problem]:
    question = None if c.holdings is None else question_of(c.job, c.holdings, c.grounds, c.policy)
    if question is None:
        return
    left = c.register.count_left(question)
    rule = f"policy {c.policy.file}: predictions = {c.policy.predictions}"
    if question.asked is None:
        unsaid = "the job does not say how many new records each party has"
        yield Problem("predictions", f"{rule}, and {unsaid}: declare them in [rows]")
    elif question.asked > left:
        few = f"of which {left} are left under models of {question.model!r}"
        text = f"{rule}, {few}, the job asks about more: ask about fewer, or that party"
        # what the job itself declares may be told; how many records are in the table is data
        said = share_asked(c.job) * (
            (c.job.records if c.job.partition == "horizontal" else c.job.rows.get(c.party)) or 0
        )
        yield Problem("predictions", text) if said > left else Problem(DATA, UNFIT, text)


def _budget(c: Case) -> Iterator[Problem]:
    """Refuse a noisy job that would spend more than is left; what other datasets spent of it is told to nobody."""
    if c.holdings is None or not c.policy.budget:
        return
    earlier = c.register.on_persons_of(c.holdings.edition)
    short = find_shortage(c.job, price(c.job), c.policy.budget, earlier, c.now)
    if short is not None:
        text = f"policy {c.policy.file}: {short}"
        alone = all(entry.dataset == c.job.dataset for entry in earlier)
        yield Problem("budget", text) if alone else Problem(DATA, UNFIT, text)


def _gate(c: Case) -> Iterator[Problem]:
    """Refuse a job whose public model goes to its analyst unmeasured, if the policy asks for the release gate.

    What epsilon promises is known before any run, so that none is made whose model would be kept back for it.
    """
    limits, gate, steps = c.policy.release, c.job.arguments.get("release"), c.job.arguments.get("steps")
    if gate is None and limits.required and _makes_public_model(c.job):
        rule = f"policy {c.policy.file}: release.required = true, and the job has no release gate"
        yield Problem("release", f"{rule}: propose a study with [release]")
    elif gate is not None and steps and find_noisy(pipeline := read_pipeline(steps, 0)):
        promised = promise_of(pipeline, limits)
        if promised.figure is not None and promised.refused:
            rule = f"policy {c.policy.file}: release.true_positives = {promised.allowed:g}"
            text = f"{rule}, and the epsilon of the job promises no less than {promised.figure:g}"
            left = "" if limits.required else ", or release = false"
            yield Problem("release", f"{text}: propose a smaller epsilon{left}, or ask that party")


def _makes_public_model(job: Job) -> bool:
    """Return whether a job trains a model of which no site keeps a share: a study with steps, or a protocol."""
    if kind_of(job.protocol) != "records" or any(declared(each.protocol).keeps_shares for each in requests_of(job)):
        return False
    if job.protocol == STUDY:
        return bool(job.arguments.get("steps"))
    return not declared(job.protocol).builds_on and any(
        fact.kind == "model" for fact in told_to(read_template(job.disclosure), "anyone")
    )


def _never(c: Case) -> Iterator[Problem]:
    try:
        lines = read_template(c.job.disclosure)
    except LocalError as error:
        yield Problem("disclosure", str(error))
        return
    for reader, words in c.policy.never.items():
        facts = told_to(lines, reader)
        for word in words:
            found = next((fact for fact in facts if fact.is_called(word)), None)
            if found is not None:
                rule = f"policy {c.policy.file}: never.{reader} has {word!r}"
                opened = f"the job opens {found.identifier} ({found.prose})"
                yield Problem("never", f"{rule}, and {opened}: use another protocol")


def told_to(lines: Iterable[Line], reader: str) -> list[Fact]:
    """Return the facts that the lines of a disclosure open to a reader, or to everyone."""
    return [fact for line in lines if line.reader in {*READERS[reader], "everyone"} for fact in line.facts]


def _honest(c: Case) -> Iterator[Problem]:
    try:
        own = disclose(c.job)
    except TacitError as error:
        yield Problem("disclosure", f"the job cannot be rehearsed here: {error}")
        return
    if own != c.job.disclosure:
        other = "the job's disclosure is not what its protocol opens here"
        yield Problem("disclosure", f"{other}: submit it with the version of tacit used here")


def _unlike_earlier(c: Case) -> Iterator[Problem]:
    if c.holdings is None:
        return
    found = c.register.objection(c.job, c.holdings.edition, c.limits)
    if found:
        close, earlier = found
        which = f"the earlier one is job {earlier.id} of {earlier.at:%Y-%m-%d}"
        text = f"register: the job differs from an earlier one {close.words}: {close.remedy}"
        yield Problem(DATA, UNFIT, f"{text}; {which}") if close.of_records else Problem("register", text, which)


Rule = Callable[[Case], Iterator[Problem]]
# what the letter of a job says, by which most that a site will not do is refused before anything is rehearsed
WRITTEN_RULES: tuple[Rule, ...] = (_expiry, _taking_part, _names, _limits, _columns, _identified, _as_trained, _never)
REHEARSED_RULES: tuple[Rule, ...] = (_protocols, _risk, _parameters, _predictions, _budget, _gate)
LAST_RULES: tuple[Rule, ...] = (_alone, _honest, _unlike_earlier)  # for a job that is within all limits
