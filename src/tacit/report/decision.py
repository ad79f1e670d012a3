"""The first page of a report: what somebody who has to decide needs to know of the run that happened.

Who learnt what follows from the ledger. What protocols declare beside it, as a sum that nobody is sent, is added; of
the core's facts only those that were told. Words about parameters are those of this run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from tacit.choreo.fact import Fact
from tacit.choreo.run import PRESENT
from tacit.report.disclosures import Line
from tacit.report.words import listing

if TYPE_CHECKING:
    from tacit.report.report import Report

EVERYONE = "everyone"
SAYS_NOTHING = ("nothing", "key")  # kinds of facts
CORE = ("core.", "shares.", "keys.")  # families whose facts are told by messages, or not at all
CONDITION = re.compile(r"(?:and |or )?with (\w+)='?([\w.]+)'? (.+)")
OF_NUMBERS, NUMBERS = "in a regression ", ("Regressor", "SVR")
UNREVIEWED = "alpha, not reviewed by anyone outside the project"


class Point(NamedTuple):
    """A heading, and a few lines."""

    heading: str
    lines: tuple[str, ...]


def decide(report: Report) -> tuple[Point, ...]:
    """Return the points of the first page."""
    return tuple(point for point in _points(report) if point.lines)


def _points(report: Report) -> Iterator[Point]:
    told = list_learnt(report)
    for who, facts in told:
        yield Point(f"What {who} learnt", facts)
    if any(fact.kind in SAYS_NOTHING for row in report.learnt for fact in row.facts):
        yield Point("What else moved", ("Random words, words under masks and public keys, which tell nothing.",))
    yield Point("Can a person be identified?", tuple(_say_risks(report)))
    yield Point("Differential privacy", (_say_epsilon(report),))
    yield Point("Release check", (_say_release(report),))
    yield Point("Left to each site", ("That its records are true, and whether this may be repeated.",))
    yield Point("Status", (f"tacit {version('tacit')}: {UNREVIEWED}.",))


def list_learnt(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    """Return who learnt which facts in this run, in words; what everyone learnt comes first."""
    knows: dict[Fact, dict[str, None]] = {}
    for row in report.learnt:
        for fact in row.facts:
            knows.setdefault(fact, {}).update(dict.fromkeys((row.who, row.from_whom)))
    found: dict[str, dict[str, None]] = {}
    for fact, parties in knows.items():
        who = (
            EVERYONE if parties.keys() >= report.parties.keys() else listing(p for p in report.parties if p in parties)
        )
        _add(found, report, who, fact)
    for opened in report.opens:
        for fact in opened.facts:
            if not fact.identifier.startswith(CORE) and fact not in knows:
                _add(found, report, opened.role, fact)
    return sorted(((who, tuple(facts)) for who, facts in found.items()), key=lambda line: line[0] != EVERYONE)


def _add(found: dict[str, dict[str, None]], report: Report, who: str, fact: Fact) -> None:
    if fact.kind not in SAYS_NOTHING and fact != PRESENT and (said := say_fact(fact, report)):
        found.setdefault(who, {})[said] = None


def say_fact(fact: Fact, report: Report) -> str:
    """Return what a fact says about this run: without what its parameters rule out."""
    kept = (_say_clause(clause, report) for clause in fact.prose.split("; "))
    return "; ".join(clause for clause in kept if clause)


def say_line(line: Line, report: Report) -> str:
    """Return the name of a message, and what it told in this run."""
    return f"{line.message}: {'; '.join(filter(None, (say_fact(fact, report) for fact in line.facts)))}"


def _say_clause(clause: str, report: Report) -> str:
    if clause.startswith(OF_NUMBERS):
        return clause.removeprefix(OF_NUMBERS) if any(kind in report.title for kind in NUMBERS) else ""
    asked = CONDITION.fullmatch(clause)
    if asked is None:
        return clause
    name, value, said = asked.groups()
    return said if value in map(str, _values_of(report, name)) else ""


def _values_of(report: Report, name: str) -> Iterable[object]:
    """Return the values of a parameter, at whatever step of a pipeline it is."""
    return (value for key, value in report.params.items() if key.rpartition("__")[2] == name)


def _say_risks(report: Report) -> Iterator[str]:
    dealt = (row for row in report.learnt if any(fact.identifier == "shares.dealt" for fact in row.facts))
    dealer = next((row.from_whom for row in dealt), None)
    if dealer is not None:
        together = f"{dealer}, which dealt the random numbers, and any one party"
        yield f"By the messages: no, while {together} do not work together. Together they have every record."
    else:
        yield f"By the messages: as far as the facts above say. Protection: {report.protection}."
    if report.release is None:
        yield "By the model: not measured. No attack was run on it."
    else:
        yield "By the model: attacks were run on it, with the figures below."


def _say_epsilon(report: Report) -> str:
    asked = [value for value in _values_of(report, "epsilon") if value is not None]
    return f"Yes: epsilon {asked[-1]}; the figures say what was spent." if asked else "No."


def _say_release(report: Report) -> str:
    if report.release is None:
        return "Not made."
    refused = [line.name for line in report.release.lines if line.refused]
    return f"Refused: {listing(refused)}." if refused else "Passed; the figures are below."
