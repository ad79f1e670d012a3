"""The ledger's folded rows, folded once more: senders of the same thing share a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tacit.choreo.fact import Fact, Facts, prose_of
from tacit.choreo.ledger import Learnt, Ledger, Opened
from tacit.report.words import listing, often

# what ran before the outermost protocol, or opens more by the caller's choice
BESIDES = ("align", "open_common", "gram_algorithm1", "gram_intersection")


class Told(NamedTuple):
    """One party learnt one fact from one other, in so many messages."""

    who: str
    fact: Fact
    from_whom: str
    times: int


class Line(NamedTuple):
    """One kind of message: who got it, what it tells, from whom, how often, and the bytes of all of them."""

    who: str
    facts: Facts
    message: str
    senders: str
    times: str
    bytes: int


def fold_ledger(learnt: Iterable[Learnt], sites: Sequence[str]) -> list[Line]:
    """Return the ledger's rows with equal ones merged, whoever sent or received them."""
    groups: dict[tuple[str, Facts, int], list[Learnt]] = {}
    for row in learnt:
        groups.setdefault((row.message, row.facts, row.times), []).append(row)
    return [line for rows in groups.values() for line in _fold(rows, sites)]


def _fold(rows: list[Learnt], sites: Sequence[str]) -> list[Line]:
    receivers, senders = tuple(dict.fromkeys(r.who for r in rows)), tuple(dict.fromkeys(r.from_whom for r in rows))
    alike = {(r, s) for r in receivers for s in senders if r != s} == {(r.who, r.from_whom) for r in rows}
    if alike:
        return [_line(_name_receivers(receivers, senders, sites), rows)]
    return [_line(who, [row for row in rows if row.who == who]) for who in receivers]


def _line(who: str, rows: list[Learnt]) -> Line:
    senders = tuple(dict.fromkeys(row.from_whom for row in rows))
    times = often(rows[0].times) + (" each" if len(senders) > 1 else "")
    return Line(who, rows[0].facts, rows[0].message, listing(senders), times, sum(row.bytes for row in rows))


def _name_receivers(receivers: tuple[str, ...], senders: tuple[str, ...], sites: Sequence[str]) -> str:
    if set(receivers) == set(sites):
        return "everyone"
    if len(senders) == 1 and {*receivers, *senders} == set(sites):
        return "everyone else"
    return listing(receivers)


def unite(learnt: Iterable[Learnt]) -> list[Learnt]:
    """Return the rows of several runs, with the same thing from the same sender in one."""
    rows: dict[tuple[str, Facts, str, str], Learnt] = {}
    for row in learnt:
        key = (row.who, row.facts, row.from_whom, row.message)
        before = rows.get(key)
        rows[key] = (
            row if before is None else replace(before, times=before.times + row.times, bytes=before.bytes + row.bytes)
        )
    return list(rows.values())


def list_told(learnt: Iterable[Learnt]) -> list[Told]:
    """Return who learnt which fact from whom, and how often, in the order of first appearance."""
    times: Counter[tuple[str, Fact, str]] = Counter()
    for row in learnt:
        for fact in row.facts:
            times[row.who, fact, row.from_whom] += row.times
    return [Told(who, fact, sender, n) for (who, fact, sender), n in times.items()]


def list_known(opens: Iterable[Opened]) -> list[tuple[str, str]]:
    """Return what each role knows after the run, a line per role."""
    roles: dict[str, dict[Fact, None]] = {}
    for opened in opens:
        roles.setdefault(opened.role, {}).update(dict.fromkeys(opened.facts))
    return [(role, prose_of(facts)) for role, facts in roles.items()]


def traffic(ledger: Ledger) -> list[tuple[int, int]]:
    """Return cumulative bytes by communication round, counted from 1."""
    rounds: dict[str, int] = {}
    for row in ledger:
        rounds[row.place] = rounds.get(row.place, 0) + (row.bytes or 0)
    total, points = 0, []
    for number, size in enumerate(rounds.values(), start=1):
        total += size
        points.append((number, total))
    return points
