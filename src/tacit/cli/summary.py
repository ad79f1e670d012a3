"""A report short enough for a terminal: its figures, and who learnt what, alike parties sharing a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.console import Console

from tacit.choreo.fact import Facts
from tacit.choreo.ledger import Learnt, Opened
from tacit.cli.output import table
from tacit.report import Report
from tacit.report.disclosures import BESIDES, list_known
from tacit.report.words import cost_of, figure, listing, often


class Line(NamedTuple):
    """Who learnt what, from whom, how often."""

    who: str
    learnt: str
    senders: str
    times: str


def figures(report: Report) -> list[tuple[str, str]]:
    """Return the cost, the gap to the centralised learner and the warnings, a line each."""
    gap = [(name, figure(value)) for name, value in (report.comparison or {}).items()]
    return [
        ("cost", cost_of(report.rounds, report.bytes, report.seconds)),
        *gap,
        *(("warning", text) for text in report.warnings),
    ]


def summarise_known(opens: Sequence[Opened]) -> list[tuple[str, str]]:
    """Return what each role knows as the outermost protocol sums it up, with what that cannot say itself."""
    return list_known(opened for opened in opens if opened.protocol in {opens[0].protocol, *BESIDES})


def list_disclosures(learnt: Iterable[Learnt], sites: Sequence[str]) -> list[Line]:
    """Return the ledger's folded rows with equal ones merged, whoever sent or received them."""
    groups: dict[tuple[str, Facts, int], list[Learnt]] = {}
    for row in learnt:
        groups.setdefault((row.message, row.facts, row.times), []).append(row)
    return [line for rows in groups.values() for line in _lines(rows, sites)]


def print_disclosures(screen: Console, report: Report) -> None:
    """Print who knows what, and who learnt it from whom."""
    screen.print("\nWho knows what after training", style="bold")
    screen.print(table("who", "knows", rows=list_known(report.opens)))
    screen.print("\nWho learnt what, from the ledger of every message", style="bold")
    rows = list_disclosures(report.learnt, list(report.parties))
    screen.print(table("who", "learnt", "from whom", "how often", rows=rows))


def _lines(rows: list[Learnt], sites: Sequence[str]) -> list[Line]:
    receivers, senders = tuple(dict.fromkeys(r.who for r in rows)), tuple(dict.fromkeys(r.from_whom for r in rows))
    alike = {(r, s) for r in receivers for s in senders if r != s} == {(r.who, r.from_whom) for r in rows}
    if alike:
        return [_line(_receivers(receivers, senders, sites), rows[0], senders)]
    return [_line(who, rows[0], tuple(r.from_whom for r in rows if r.who == who)) for who in receivers]


def _line(who: str, row: Learnt, senders: tuple[str, ...]) -> Line:
    return Line(who, row.learnt, listing(senders), often(row.times) + (" each" if len(senders) > 1 else ""))


def _receivers(receivers: tuple[str, ...], senders: tuple[str, ...], sites: Sequence[str]) -> str:
    if set(receivers) == set(sites):
        return "everyone"
    if len(senders) == 1 and {*receivers, *senders} == set(sites):
        return "everyone else"
    return listing(receivers)
