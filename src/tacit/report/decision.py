"""The first page of a report: what somebody who has to decide needs to know of the run that happened.

Who learnt what follows from the ledger. What protocols declare beside it, as a sum that nobody is sent, is added; of
the core's facts only those that were told. Words about parameters are those of this run. A proposal, which is a run
that has not happened, says the same of what its messages will tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tacit.choreo.fact import Fact
from tacit.choreo.ledger import Learnt, Opened
from tacit.report.disclosures import Line
from tacit.report.words import listing

if TYPE_CHECKING:
    from tacit.report.release import Release
    from tacit.report.report import Report

EVERYONE = "everyone"
SAYS_NOTHING = ("nothing", "key")  # kinds of facts
CORE = ("core.", "shares.", "keys.")  # families whose facts are told by messages, or not at all
ELSEWHERE = ("run.present", "study.steps")  # facts that other lines say, or that are no news
CONDITION = re.compile(r"(?:and |or )?with (\w+)='?([\w.]+)'? (.+)")
OF_NUMBERS, NUMBERS = "in a regression ", ("Regressor", "SVR")
UNREVIEWED = "alpha, not reviewed by anyone outside the project"
IDENTIFIED, PRIVACY, CHECKED = "Can a person be identified?", "Differential privacy", "Release check"  # headings
STATUS = "Status"
TESTABLE = "someone who already has a person's record could test whether it was used."
NOTHING = "Random words, words under masks and public keys, which tell nothing."


class Point(NamedTuple):
    """A heading, and a few lines."""

    heading: str
    lines: tuple[str, ...]


class Told(Protocol):
    """What a first page reads of a run: a report has it of one that happened, a proposal of one that is asked for."""

    @property
    def title(self) -> str:
        """What is done, in a few words."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Parameters by step and name."""

    @property
    def parties(self) -> Collection[str]:
        """Everybody who takes part."""

    @property
    def learnt(self) -> Sequence[Learnt]:
        """What each message tells whom."""

    @property
    def opens(self) -> Sequence[Opened]:
        """What protocols as a whole tell beside it."""


def decide(report: Report) -> tuple[Point, ...]:
    """Return the points of the first page."""
    return tuple(point for point in _points(report) if point.lines)


def _points(report: Report) -> Iterator[Point]:
    for who, facts in list_learnt(report):
        yield Point(f"What {who} learnt", facts)
    if moves_nothing(report):
        yield Point("What else moved", (NOTHING,))
    yield Point(IDENTIFIED, tuple(_say_risks(report)))
    yield Point(PRIVACY, (_say_epsilon(report),))
    yield Point(CHECKED, (_say_release(report),))
    yield Point("Left to each site", ("That its records are true, and whether this may be repeated.",))
    yield Point(STATUS, (f"{say_status()}.",))


def say_status() -> str:
    """Return which version this is, and how far it can be trusted."""
    return f"tacit {version('tacit')}: {UNREVIEWED}"


def moves_nothing(run: Told) -> bool:
    """Return whether there are messages that tell nothing."""
    return any(fact.kind in SAYS_NOTHING for row in run.learnt for fact in row.facts)


def list_learnt(run: Told) -> list[tuple[str, tuple[str, ...]]]:
    """Return who learns which facts in a run, in few words; what everyone learns comes first."""
    knows: dict[Fact, dict[str, None]] = {}
    for row in run.learnt:
        for fact in row.facts:
            knows.setdefault(fact, {}).update(dict.fromkeys((row.who, row.from_whom)))
    found: dict[str, dict[str, None]] = {}
    for fact, parties in knows.items():
        knowing = [party for party in run.parties if party in parties]
        who = EVERYONE if len(knowing) == len(run.parties) else listing(knowing)
        _add(found, run, who, fact)
    for opened in run.opens:
        for fact in opened.facts:
            if not fact.identifier.startswith(CORE) and fact not in knows:
                _add(found, run, opened.role, fact)
    return sorted(((who, tuple(facts)) for who, facts in found.items()), key=lambda line: line[0] != EVERYONE)


def _add(found: dict[str, dict[str, None]], run: Told, who: str, fact: Fact) -> None:
    if (
        fact.kind not in SAYS_NOTHING
        and fact.identifier not in ELSEWHERE
        and (said := _say(fact.brief or fact.prose, run))
    ):
        found.setdefault(who, {})[said] = None


def say_fact(fact: Fact, run: Told) -> str:
    """Return what a fact says about this run: without what its parameters rule out."""
    return _say(fact.prose, run)


def _say(prose: str, run: Told) -> str:
    kept = (_say_clause(clause, run) for clause in prose.split("; "))
    return "; ".join(clause for clause in kept if clause)


def say_line(line: Line, run: Told) -> str:
    """Return the name of a message, and what it told in this run."""
    return f"{line.message}: {'; '.join(filter(None, (say_fact(fact, run) for fact in line.facts)))}"


def _say_clause(clause: str, run: Told) -> str:
    if clause.startswith(OF_NUMBERS):
        return clause.removeprefix(OF_NUMBERS) if _predicts_numbers(run) else ""
    asked = CONDITION.fullmatch(clause)
    if asked is None:
        return clause
    name, value, said = asked.groups()
    switched = any(given is True for given in _values_of(run, value))  # as protocols say class_weight='balanced'
    return said if switched or value in map(str, _values_of(run, name)) else ""


def _predicts_numbers(run: Told) -> bool:
    return any(kind in run.title for kind in NUMBERS) or False in _values_of(run, "classify")


def _values_of(run: Told, name: str) -> Iterable[object]:
    """Return the values of a parameter, at whatever step of a pipeline it is."""
    return (value for key, value in run.params.items() if key.rpartition("__")[2] == name)


def _say_risks(report: Report) -> Iterator[str]:
    dealer = find_dealer(report)
    if dealer is None:
        yield f"By the messages: as far as the facts above say. Protection: {report.protection}."
    else:
        yield say_dealt(f"{dealer}, which dealt the random numbers,", report)
    if tells_model(report):
        yield say_tested(report.release)


def tells_model(run: Told) -> bool:
    """Return whether somebody learns a model."""
    facts = [fact for row in run.learnt for fact in row.facts] + [fact for each in run.opens for fact in each.facts]
    return any(fact.kind == "model" and fact.identifier not in ELSEWHERE for fact in facts)


def find_dealer(run: Told) -> str | None:
    """Return who deals the random numbers of shares; None where nothing is in shares."""
    dealt = (row for row in run.learnt if any(fact.identifier == "shares.dealt" for fact in row.facts))
    return next((row.from_whom for row in dealt), None)


def say_dealt(dealer: str, run: Told) -> str:
    """Return whether messages in shares identify anybody."""
    single = any(_is_of_single(fact) for row in run.learnt for fact in row.facts)
    said = "facts above are about single records; no others are told, unless" if single else "no, unless"
    return f"By the messages: {said} {dealer} and any one party work together. They then have every record."


def _is_of_single(fact: Fact) -> bool:
    """Return whether a fact tells something of single records of others, beside who has which cells."""
    told = fact.kind not in SAYS_NOTHING and fact.subject not in {"nobody", "reader"}
    return told and fact.granularity in {"record", "cell"} and (fact.kind, fact.granularity) != ("membership", "cell")


def say_tested(release: Release | None) -> str:
    """Return whether the model identifies anybody, as far as attacks on it found out."""
    return f"By the model: {TESTABLE} {say_measured(release)}"


def say_measured(release: Release | None) -> str:
    """Return how well an attack told who was in the training."""
    figures = (line.figure for line in (release.lines if release else ()) if line.limit == "membership_auc")
    found = next((figure for figure in figures if figure is not None), None)
    return "How well was not measured." if found is None else f"Measured: AUC {found:.2f}, where 0.50 is guessing."


def _say_epsilon(report: Report) -> str:
    asked = [value for value in _values_of(report, "epsilon") if value is not None]
    return f"Yes: epsilon {asked[-1]}; the figures say what was spent." if asked else "No."


def _say_release(report: Report) -> str:
    if report.release is None:
        return "Not made: nobody measured what the model reveals."
    refused = [line.name for line in report.release.lines if line.refused]
    missing = dict.fromkeys(line.note for line in report.release.lines if line.figure is None)
    if refused:
        return f"Refused: {listing(refused)}."
    return f"Not measured: {'; '.join(missing)}." if missing else "Passed; the figures are below."
