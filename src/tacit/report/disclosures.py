"""The ledger's folded rows, folded once more: senders of the same thing share a line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


def _merge(rows: list[Learnt]) -> Disclosure:
    first = rows[0]
    senders = tuple(row.from_whom for row in rows)
    return Disclosure(first.who, first.learnt, senders, first.message, first.times, sum(row.bytes for row in rows))


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
