"""Columns of the same records: how many there are, and what a protocol that goes through them in bands will cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.choreo.protocol import LARGE, SMALL, Cost, Params, Planned
from tacit.errors import LocalError
from tacit.protocols.facts import SIZES
from tacit.protocols.part import Table

EXACT = 4096  # bands that are counted one by one


def bands(n: int, entries: int) -> tuple[tuple[int, int], ...]:
    """Return the rows of an n x n triangle in bands of at most `entries` packed entries (at least one row)."""
    cuts, start = [], 0
    while start < n:
        stop = start + 1
        while stop < n and (stop + 1) * (stop + 2) // 2 - start * (start + 1) // 2 <= entries:
            stop += 1
        cuts.append((start, stop))
        start = stop
    return tuple(cuts)


def count_bands(n: int, entries: int) -> int:
    """Return how many bands there are, in time that does not grow with n: exact up to `EXACT`, then about."""
    count, start = 0, 0
    while start < n and count < EXACT:
        room = entries + start * (start + 1) // 2
        start, count = max(start + 1, (math.isqrt(8 * room + 1) - 1) // 2), count + 1
    long = max(start, min(n, entries))  # from here on every row is a band of its own
    between = long * (long + 1) // 2 - start * (start + 1) // 2
    return count + (n - long + between // entries if start < n else 0)


BAND = 1 << 22  # numbers summed at once: 32 MiB

Count = Callable[[int, Params], int]


class Size(Message, tells=SIZES):
    """How many records and columns a holder has; public before anything else."""

    records: int
    columns: int


@choreography(opens={Everyone: SIZES})
def sizes(run: Run, data: At[Table]) -> tuple[int, dict[str, int]]:
    """Return the common number of records, and the number of every holder's columns."""
    told = run.publish_all(Size, run.local(Holder, measure, data))
    return same_records(told), {party: message.columns for party, message in told.items()}


def same_records(told: Mapping[str, Size]) -> int:
    """Return how many records there are; refuse parties that say different numbers."""
    first = next(iter(told))
    for party, message in told.items():
        if message.records != told[first].records:
            raise LocalError(
                f"party {party!r} has {message.records} records, {first!r} has {told[first].records}:"
                " a vertical split needs the same records in the same order at every party"
            )
    return told[first].records


def measure(part: Table) -> Size:
    """Return how many records and columns a holder has."""
    return Size(*part.X.shape)


def append(done: tuple[F64, ...], band: F64) -> tuple[F64, ...]:
    """Return the bands so far, with one more."""
    return (*done, band)


def stack(answers: tuple[F64, ...]) -> F64:
    """Return all answers in one table, in the order asked."""
    return np.concatenate(answers)


def set_always(small: Params) -> Callable[[Params], Params]:
    """Return a function that gives the same small parameters whatever is asked."""
    return lambda _: small


def scale_bands(words: Count, loops: Count, small: Params) -> Callable[[Planned], Cost]:
    """Return an estimate that scales from rehearsals.

    Bytes grow with `words`, the numbers in a holder's largest messages, and with the rounds of its loop. Good to a few
    per cent from 100 records on.
    """

    def cost(planned: Planned) -> Cost:
        tiny = {**planned.complete, **small}
        first, last = (words(n, tiny) for n in (SMALL, LARGE))
        half = last // 2
        few, many, looped = planned.rehearse(SMALL), planned.rehearse(LARGE), planned.rehearse(LARGE, band=half)
        more = loops(planned.records, planned.complete) - 1
        extra = more / (loops(LARGE, {**tiny, "band": half}) - 1)  # in units of the loops that the last one has more
        growth = max(0.0, (words(planned.records, planned.params) - first) / (last - first))
        sent = zip(planned.roster.parties, *map(planned.traffic, (few, many, looped)), strict=True)
        rounds = round(few.rounds + extra * (looped.rounds - many.rounds))
        return Cost(rounds=rounds, bytes={p: round(a + growth * (b - a) + extra * (c - b)) for p, a, b, c in sent})

    return cost
