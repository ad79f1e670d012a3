"""How many bounds on losses the holders' rows allow a training by cutting planes to open.

The problem. A bound on the loss of all rows at a step of a line is one number more about them (`cutting_plane`). All
that is opened of a holder's rows, in this run and in those before, has to be fewer numbers than there are unknowns in
them. Each holder works out alone how many are left, and tells no more than the run needs.

Roles. Holder: rows, and what was told of them before. Everyone learns how many rounds there are.
Threat. As `cutting_plane`. Not protected: that a holder's rows are few, where they allow less than the run needs.
Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.choreo import At, Everyone, Fact, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.groups.least_count import count_left
from tacit.protocols.planes.lockstep import TRIES
from tacit.protocols.planes.rows import Tables
from tacit.protocols.sums.atoms import Atoms, counted_shares, reserve_bounds
from tacit.scratch import side_by_side

ROUNDS, FEWEST = 60, 3  # of a stage with groups: at most, since more hardly help, and at least
HEAVY = 100.0  # a row that weighs less than this share of the heaviest is no unknown


class Rounds(
    Message,
    tells=Fact(
        "planes.own_rounds", "holder", "size", "party", "how many bounds on losses the sender's rows allow to be opened"
    ),
):
    """How many bounds a holder allows: fewer than the unknowns in its rows, with all that was opened before."""

    allowed: int


@choreography(
    opens={
        Everyone: Fact("planes.rounds", "holder", "size", "party", "how many bounds on losses each holder's rows allow")
    }
)
def allowed_rounds(
    run: Run, tables: At[Tables], atoms: At[Atoms], *, stages: int, most: int, trainings: int
) -> tuple[int, int]:
    """Return how many rounds there are and how many bounds are opened in each: as many as all holders allow."""
    rounds = stages * min(most, ROUNDS)
    told = run.publish_all(Rounds, run.local(Holder, allowance, tables, atoms, trainings, len(TRIES) * rounds))
    allowed = min(message.allowed for message in told.values())
    fewest = min(FEWEST * stages, rounds)
    few = [party for party, message in told.items() if message.allowed < fewest]
    if few:
        raise LocalError(
            f"the rows of {', '.join(few)} allow fewer than {fewest} bounds on losses to be opened, with all that was"
            " opened of them before: bring more rows, in a search try fewer values of C, in a selection fewer features,"
            " or say accept_risk=True"
        )
    tries = len(TRIES) if allowed >= len(TRIES) * rounds else 1
    return min(rounds, allowed // tries), tries


# Steps at the holders


def allowance(tables: Tables, atoms: Atoms, trainings: int, needed: int) -> Rounds:
    """Return half of what may still be told of the rows of the smallest problem, shared between so many trainings.

    No more than the run needs: a larger number would say how many rows the holder has.
    """
    taking = any(some.any() for _, (some,) in side_by_side(tables[0].signs))
    if atoms.lenient or not taking:  # of rows that take no part nothing is told
        return Rounds(needed)
    most = count_left(float(counted_shares(atoms.past).sum())) / 2.0 / trainings * _smallest(tables) * atoms.unknowns
    return Rounds(int(min(most, needed)))


def reserve(tables: Tables, atoms: Atoms, rounds: int) -> Atoms:
    """Return the atoms with so many bounds to open, which count as told."""
    return reserve_bounds(atoms, rounds, rounds / (_smallest(tables) * atoms.unknowns))


def _smallest(tables: Tables) -> float:
    """Return how many rows of weight the smallest problem has here.

    A class that weighs next to nothing hides none of the others.
    """
    signs, weight = tables[0].signs, tables[0].weight
    most = max((float(w.max(initial=0.0)) for _, (w,) in side_by_side(weight)), default=0.0)
    rows = np.zeros(signs.shape[1], dtype=np.int64)
    for _, (side, w) in side_by_side(signs, weight):
        rows += ((side != 0) & (w > most / HEAVY)[:, None]).sum(axis=0)
    return float(rows[rows > 0].min()) if rows.any() else np.inf
