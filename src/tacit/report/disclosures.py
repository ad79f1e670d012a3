"""The ledger's folded rows, folded once more: senders of the same thing share a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from tacit.choreo.fact import Fact, Facts, prose_of
from tacit.choreo.ledger import Learnt, Ledger, Opened
from tacit.report.words import often

# what ran before the outermost protocol, or opens more by the caller's choice
BESIDES = ("align", "open_common", "gram_algorithm1", "gram_intersection")


class Told(NamedTuple):
    """One party learnt one fact from one other, in so many messages."""

    who: str
    fact: Fact
    from_whom: str
    times: int


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What one party learnt from several others alike: `times` from each of them, `bytes` from all together."""

    who: str
    facts: Facts
    senders: tuple[str, ...]
    message: str
    times: int
    bytes: int

    @property
    def learnt(self) -> str:
        """The facts in prose."""
        return prose_of(self.facts)

    def how_often(self) -> str:
        """How often it was learnt, such as `6 times each`."""
        return often(self.times) + (" each" if len(self.senders) > 1 else "")


def disclosures(learnt: Iterable[Learnt], sites: Iterable[str] = ()) -> list[Disclosure]:
    """Return equal rows of several senders as one; rows of one receiver stand together, in the order of `sites`."""
    groups: dict[tuple[str, Facts, str, int], list[Learnt]] = {}
    for row in learnt:
        groups.setdefault((row.who, row.facts, row.message, row.times), []).append(row)
    merged = [_merge(rows) for rows in groups.values()]
    order = {who: i for i, who in enumerate(dict.fromkeys([*sites, *(d.who for d in merged)]))}
    return sorted(merged, key=lambda d: order[d.who])


def by_site(learnt: Iterable[Learnt], sites: Iterable[str] = ()) -> list[tuple[tuple[str, ...], list[Disclosure]]]:
    """Return the disclosures site by site; sites that learnt the same stand together."""
    each: dict[str, list[Disclosure]] = {}
    for row in disclosures(learnt, sites):
        each.setdefault(row.who, []).append(row)
    groups: list[list[str]] = []
    for who, rows in each.items():
        like = next((group for group in groups if _alike(each[group[0]], rows)), None)
        if like is None:
            groups.append([who])
        else:
            like.append(who)
    return [(tuple(group), [_share(row, group) for row in each[group[0]]]) for group in groups]


def _alike(some: list[Disclosure], others: list[Disclosure]) -> bool:
    """Whether two sites learnt the same, from the same or from each other."""
    return len(some) == len(others) and all(
        (a.facts, a.message, a.times, a.bytes) == (b.facts, b.message, b.times, b.bytes)
        and (set(a.senders) == set(b.senders) or {a.who, *a.senders} == {b.who, *b.senders})
        for a, b in zip(some, others, strict=True)
    )


def _share(row: Disclosure, group: list[str]) -> Disclosure:
    """Return what is true of every site of the group."""
    others = tuple(sender for sender in row.senders if sender not in group)
    return row if others == row.senders else replace(row, senders=(*others, "each of the others here"))


def _merge(rows: list[Learnt]) -> Disclosure:
    first = rows[0]
    senders = tuple(row.from_whom for row in rows)
    return Disclosure(first.who, first.facts, senders, first.message, first.times, sum(row.bytes for row in rows))


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
