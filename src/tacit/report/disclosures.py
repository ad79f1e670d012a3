"""The ledger's folded rows, folded once more: senders of the same thing share a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tacit.choreo.ledger import Learnt, Ledger
from tacit.report.words import often


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What one party learnt from several others alike: `times` from each of them, `bytes` from all together."""

    who: str
    learnt: str
    senders: tuple[str, ...]
    message: str
    times: int
    bytes: int

    def how_often(self) -> str:
        """`6 times each`."""
        return often(self.times) + (" each" if len(self.senders) > 1 else "")


def disclosures(learnt: Iterable[Learnt], sites: Iterable[str] = ()) -> list[Disclosure]:
    """Equal rows of several senders as one; rows of one receiver stand together, receivers in the order of `sites`."""
    groups: dict[tuple[str, str, str, int], list[Learnt]] = {}
    for row in learnt:
        groups.setdefault((row.who, row.learnt, row.message, row.times), []).append(row)
    merged = [_merge(rows) for rows in groups.values()]
    order = {who: i for i, who in enumerate(dict.fromkeys([*sites, *(d.who for d in merged)]))}
    return sorted(merged, key=lambda d: order[d.who])


def by_site(learnt: Iterable[Learnt], sites: Iterable[str] = ()) -> list[tuple[tuple[str, ...], list[Disclosure]]]:
    """The disclosures site by site; sites that learnt the same stand together."""
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
    return [(tuple(group), [_shared(row, group) for row in each[group[0]]]) for group in groups]


def _alike(some: list[Disclosure], others: list[Disclosure]) -> bool:
    """Whether two sites learnt the same, from the same or from each other."""
    return len(some) == len(others) and all(
        (a.learnt, a.message, a.times, a.bytes) == (b.learnt, b.message, b.times, b.bytes)
        and (set(a.senders) == set(b.senders) or {a.who, *a.senders} == {b.who, *b.senders})
        for a, b in zip(some, others, strict=True)
    )


def _shared(row: Disclosure, group: list[str]) -> Disclosure:
    """As it is true of every site of the group."""
    others = tuple(sender for sender in row.senders if sender not in group)
    return row if others == row.senders else replace(row, senders=(*others, "each of the others here"))


def _merge(rows: list[Learnt]) -> Disclosure:
    first = rows[0]
    senders = tuple(row.from_whom for row in rows)
    return Disclosure(first.who, first.learnt, senders, first.message, first.times, sum(row.bytes for row in rows))


def united(learnt: Iterable[Learnt]) -> list[Learnt]:
    """The rows of several runs, the same thing from the same sender in one."""
    rows: dict[tuple[str, str, str, str], Learnt] = {}
    for row in learnt:
        key = (row.who, row.learnt, row.from_whom, row.message)
        before = rows.get(key)
        rows[key] = row if before is None else replace(before, times=before.times + row.times, bytes=before.bytes + row.bytes)
    return list(rows.values())


def traffic(ledger: Ledger) -> list[tuple[int, int]]:
    """Cumulative bytes by communication round, counted from 1."""
    rounds: dict[str, int] = {}
    for row in ledger:
        rounds[row.place] = rounds.get(row.place, 0) + (row.bytes or 0)
    total, points = 0, []
    for number, size in enumerate(rounds.values(), start=1):
        total += size
        points.append((number, total))
    return points
