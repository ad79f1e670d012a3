"""Rows of features in shares, for a learner that multiplies them many times: records of several owners, and the hinge.

    x          raw features in shares                                    `features.shared`, block by block
    Z = x B    cut to the bits of a row; B is the basis of the map       (3) of `numeric.shares.shared_plan`        (1)
    Z - A      opened once                                               `shares.held_rows`
    Z'Z        from that opening
    tr Z'Z     where rows have no bound, by how many bits it is above that of rows of length 1                       (2)

Rows with weights are shorter, and (2) says by how much. It is compared with limits in shares, which noise moves, as
least squares does it; windows follow from it, and nothing stops at somebody's value. With the RBF kernel rows are no
longer than 1 beside the constant, but for rounding.

Roles, threat: as `features.shared`. Source: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Holder, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.shares.hinge_plan import Z_BITS
from tacit.numeric.shares.ridge_plan import bound_trace
from tacit.numeric.shares.ring_product import ring_product
from tacit.numeric.shares.shared_plan import RowsPlan, plan_rows
from tacit.protocols.facts import MODEL
from tacit.protocols.features.maps import PublicMap
from tacit.protocols.features.shared import COMPARED, LONGEST, OwnTargets, Side, count_factors, make_features
from tacit.protocols.learners.noise import move_limits
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.part import OwnCells
from tacit.protocols.shares.cut_each import Part, cut_each
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import truncate
from tacit.protocols.shares.held_rows import HeldRows, multiply_itself, open_held
from tacit.protocols.shares.lean_clip import reaches_one

SHORTEST = 16  # bits that the trace may be smaller than that of rows of length 1: by weights, of which the mean is 1
MOVED = 1.5  # times a limit that noise may have moved
ROOM = 61  # bits of Z'Z


@dataclass(frozen=True)
class MappedRows:
    """Z as it was opened under its mask, and shares of Z'Z as a triangle, modulo 2^64 with twice the bits of Z.

    length: the root mean square of the lengths of rows is no larger; `measured`, if it was. reach: no row is longer.
    """

    matrix: HeldRows
    gram: At[U64]
    length: float
    reach: float
    measured: bool


@choreography(opens={Everyone: MODEL})
def map_shared(
    run: Run, dealing: Dealing, data: At[OwnCells], targets: At[OwnTargets], the_map: PublicMap, side: Side, rows: int
) -> MappedRows:
    """Return the features of all records, of which each holder has cells; the labeller knows weights of rows."""
    plan = plan_mapped(the_map, side, rows)
    n, D = plan.rows, the_map.size
    found = []
    for j in range(plan.blocks):
        part = slice(j * plan.block, min((j + 1) * plan.block, n))
        x = make_features(run, dealing, data, targets, the_map, side, plan, part)
        z = run.local(Holder, times_basis, x, side.whole_basis(the_map, plan.basis))
        found.append(truncate(run, dealing, z, plan.s, size=(part.stop - part.start) * D))
    matrix = open_held(run, dealing, run.local(Holder, join_blocks, *found), n=n, columns=D)
    gram = multiply_itself(run, dealing, matrix)
    reach = bound_rows(the_map, side, plan)
    if the_map.kernel == "rbf" and not side.weighted:
        return MappedRows(matrix, gram, reach, reach, measured=False)
    length = measure_length(run, dealing, gram, rows=n, size=D)
    return MappedRows(matrix, gram, length, min(reach, length * math.sqrt(n)), measured=True)


@choreography(opens={Everyone: MODEL})
def measure_length(run: Run, dealing: Dealing, gram: At[U64], *, rows: int, size: int) -> float:
    """Return a bound on the root mean square of the lengths of all rows, by (2)."""
    start = bound_trace(rows)
    kept = min(2 * Z_BITS, 40 - start)
    limits = tuple(1 << (start + more + kept) for more in range(-SHORTEST, LONGEST, 2))
    total = run.local(Holder, add_diagonal, gram, size)
    short = cut_each(run, dealing, total, (Part(1, 64, 2 * Z_BITS - kept),))
    values = run.local(Holder, compare_total, short, limits, dealing.first)
    bits = reaches_one(run, dealing, move_limits(run, values, limits), COMPARED, size=len(limits))
    longer = 2 * int(reveal(run, dealing, MODEL, bits, size=len(limits)).sum()) - SHORTEST
    return math.sqrt(MOVED * 2.0 ** (start + longer) / rows)


def plan_mapped(the_map: PublicMap, side: Side, rows: int) -> RowsPlan:
    """Return the plan for the features of so many records; refuse what does not fit."""
    B, largest = side.basis(the_map), bound_cells(the_map, side)
    plan = plan_rows(rows, the_map.size, count_factors(the_map, side), B, largest)
    if 2 * Z_BITS + math.log2(rows) + 2.0 * math.log2(largest + plan.off) > ROOM:
        raise LocalError(
            f"{rows} records of features of size {largest:.3g} do not fit 64 bits: take fewer records, scale the"
            " columns, or take loss='least_squares'"
        )
    return plan


def bound_cells(the_map: PublicMap, side: Side) -> float:
    """Return how large a feature can be: 1 with (1), else by how large values of columns may be."""
    return 1.0 if the_map.kernel == "rbf" else float(np.abs(side.basis(the_map)).sum(axis=0).max())


def bound_rows(the_map: PublicMap, side: Side, plan: RowsPlan) -> float:
    """Return how long a row can be, with the constant one."""
    if the_map.kernel == "rbf":
        return math.hypot(1.0 + plan.off, 1.0)
    B: F64 = side.basis(the_map)
    if the_map.kernel == "linear":
        return math.hypot(float(np.linalg.norm(B[:-1])) + plan.off, 1.0)
    return math.sqrt(len(B)) * float(np.linalg.norm(B, 2)) + plan.off


# Steps at the holders


def times_basis(x: U64, basis: U64) -> U64:
    """Return the share of x B, row by row."""
    return ring_product(x.reshape(-1, len(basis)), basis).ravel()


def join_blocks(*blocks: U64) -> U64:
    """Return the rows of all blocks."""
    return np.concatenate([np.empty(0, dtype=np.uint64), *blocks])


def add_diagonal(gram: U64, size: int) -> U64:
    """Return the share of the trace of a triangle."""
    i = np.arange(size)
    return np.atleast_1d(gram[i * (i + 3) // 2].sum(dtype=np.uint64))


def compare_total(total: U64, limits: tuple[int, ...], first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of a number less each limit, plus 1."""
    found = np.full(len(limits), total[0])
    return found - np.array([limit - 1 for limit in limits], dtype=np.uint64) if first else found
