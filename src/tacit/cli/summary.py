"""A report short enough for a terminal: its figures, and who learnt what, alike parties sharing a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tacit.choreo.ledger import Learnt, Opened
from tacit.report import Report
from tacit.report.words import counted, figure, human_bytes, human_seconds, listing, often

BESIDES = ("align", "open_common", "gram_algorithm1", "gram_intersection")  # what ran before it, or opens more by the caller's choice


class Line(NamedTuple):
    """Who learnt what, from whom, how often."""

    who: str
    learnt: str
    senders: str
    times: str


def figures(report: Report) -> list[tuple[str, str]]:
    """Cost, gap to the centralised learner and warnings."""
    cost = f"{counted(report.rounds, 'round')}, {human_bytes(report.bytes)}, {human_seconds(report.seconds)}"
    gap = [(name, figure(value)) for name, value in (report.comparison or {}).items()]
    return [("cost", cost), *gap, *(("warning", text) for text in report.warnings)]


def known(opens: Iterable[Opened]) -> list[tuple[str, str]]:
    """What each role knows after the run, a line per role."""
    roles: dict[str, dict[str, None]] = {}
    for opened in opens:
        roles.setdefault(opened.role, {})[opened.what] = None
    return [(role, "; ".join(whats)) for role, whats in roles.items()]


def in_all(opens: Sequence[Opened]) -> list[tuple[str, str]]:
    """The same as the outermost protocol sums it up, with what it cannot say itself."""
    return known(opened for opened in opens if opened.protocol in {opens[0].protocol, *BESIDES})


def disclosed(learnt: Iterable[Learnt], sites: Sequence[str]) -> list[Line]:
    """The ledger's folded rows with equal ones merged, whoever sent or received them."""
    groups: dict[tuple[str, str, int], list[Learnt]] = {}
    for row in learnt:
        groups.setdefault((row.message, row.learnt, row.times), []).append(row)
    return [line for rows in groups.values() for line in _lines(rows, sites)]


def _lines(rows: list[Learnt], sites: Sequence[str]) -> list[Line]:
    receivers, senders = (tuple(dict.fromkeys(names)) for names in zip(*((r.who, r.from_whom) for r in rows), strict=True))
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
