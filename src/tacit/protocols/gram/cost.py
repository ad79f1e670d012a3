"""What training and asking a gram SVM costs.

Rounds as rehearsed, bytes scaled from rehearsals or counted from the plan of the products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import astuple
from functools import partial

from tacit.choreo import Roster
from tacit.choreo.progress import Phase
from tacit.choreo.protocol import COLUMNS, LARGE, SMALL, Cost, Params, Planned
from tacit.choreo.role import Holder
from tacit.numeric.ring.triangle import count_bands
from tacit.numeric.scores.grid import schedule
from tacit.protocols.gram.cell_cost import Moved
from tacit.protocols.work import count_trainings, crossed_phases, dual_phases, gram_work

COUNTED = 2000  # records, and twice as many: products are counted for these, and larger tables scaled from them

Count = Callable[[int, Params], int]
Traffic = Callable[[Params, Roster, int], dict[str, Moved]]
Phases = Callable[[Planned], Iterable[Phase]]


def no_phases(planned: Planned) -> tuple[Phase, ...]:
    """Return none: the messages are all the work that is counted."""
    del planned
    return ()


def summed_phases(planned: Planned) -> tuple[Phase, ...]:
    """Return the phases of a training on a gram matrix that is summed, of two classes."""
    return gram_work(planned.records, len(planned.roster[Holder])), *solver_phases(planned)


def crossed_gram_phases(planned: Planned) -> tuple[Phase, ...]:
    """Return the phases of a training on a gram matrix of products that were encrypted, beside these products."""
    *_, bands = crossed_phases(planned.records, COLUMNS, len(planned.roster[Holder]))
    return bands, *solver_phases(planned)


def solver_phases(planned: Planned) -> tuple[Phase, ...]:
    """Return the phases of a training on a gram matrix that the coordinator has, of two classes."""
    return dual_phases(planned.records, 2, _scored(planned))


def _scored(planned: Planned) -> float:
    """Return how many trainings the scores of a search are worth; 0 of anything else."""
    candidates = planned.complete.get("candidates", ())
    plan = schedule(len(candidates), planned.complete["factor"]) if candidates else ()
    return count_trainings(planned.complete["cv"], plan) if plan else 0.0


def scale_bands(words: Count, loops: Count, small: Params, phases: Phases = no_phases) -> Callable[[Planned], Cost]:
    """Return an estimate that scales from rehearsals.

    Bytes grow with `words`, the numbers in a holder's largest messages, and with the rounds of its loop. Good to a few
    per cent from 100 records on.
    """

    def cost(planned: Planned) -> Cost:
        tiny = {**planned.complete, **small}
        sizes = [words(n, tiny) for n in (SMALL, LARGE)]
        half = sizes[1] // 2
        ledgers = planned.rehearse(SMALL), planned.rehearse(LARGE), planned.rehearse(LARGE, band=half)
        more = loops(planned.records, planned.complete) - 1
        extra = more / (loops(LARGE, {**tiny, "band": half}) - 1)  # in units of the loops that the last one has more
        growth = (words(planned.records, planned.params) - sizes[0]) / (sizes[1] - sizes[0])
        sent = zip(planned.roster.parties, *map(planned.traffic, ledgers), strict=True)
        few, many, looped = ledgers
        return Cost(
            rounds=round(few.rounds + extra * (looped.rounds - many.rounds)),
            bytes={p: round(a + max(0.0, growth) * (b - a) + extra * (c - b)) for p, a, b, c in sent},
            work=planned.share_work(phases(planned)),
        )

    return cost


def count_products(traffic: Traffic, degree: int, phases: Phases = no_phases) -> Callable[[Planned], Cost]:
    """Return an estimate that counts products: bytes grow with the records to the degree.

    Rounds are as rehearsed, and one more for each further band of the sum.
    """

    def cost(planned: Planned) -> Cost:
        given = planned.complete
        more = count_bands(planned.records, given["band"]) - 1 if "band" in given else 0
        rounds = planned.rehearse(SMALL).rounds + more
        moved, work = _scale(partial(traffic, given, planned.roster), degree, planned.records), Counter[str]()
        work.update({p: round(each.work) for p, each in moved.items()})
        work.update(planned.share_work(phases(planned)))
        return Cost(rounds=rounds, bytes={p: round(each.bytes) for p, each in moved.items()}, work=dict(work))

    return cost


def _scale(traffic: Callable[[int], dict[str, Moved]], degree: int, records: int) -> dict[str, Moved]:
    """Return what each party moves: counted for few records.

    For many it lies on the line, or the parabola, through two such counts.
    """
    if records <= 2 * COUNTED:
        return traffic(records)
    (half, whole), t = (traffic(times * COUNTED) for times in (1, 2)), records / COUNTED
    return {p: Moved(*map(partial(_extend, degree, t), astuple(a), astuple(whole[p]))) for p, a in half.items()}


def _extend(degree: int, t: float, half: float, whole: float) -> float:
    """Return the value at t on the line, or the parabola through zero, that has these two values at 1 and 2."""
    if degree == 1:
        return half + (t - 1) * (whole - half)
    square = max(0.0, whole / 2 - half)
    return square * t * t + max(0.0, half - square) * t
