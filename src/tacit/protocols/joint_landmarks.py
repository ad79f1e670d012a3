"""Joint landmarks: one clustering of the rows of all holders, by sums over at least `min_cluster` records.

The problem. As in `landmarks`, but a landmark shall stand for records of any holders: then holders with few rows count
too, and where a landmark lies says little about who has records there.

A cell is a set of rows, at first all of them. A cell of 2 min_cluster rows or more is cut in two by the column j in
which its sum of squares about the mean is largest, at its mean:

    rows with x_j > mean_j(cell) are a new cell, if both sides have min_cluster rows or more;                  (3)
    otherwise the next column, three in all. Until there are 4 l cells, no cell can be cut, or `rounds` are over

The coordinator knows of every cell its size, sum, and sum of squares by column. Of a new cell they come from two secure
sums, the size first; of what is left of the old one by subtraction. At the end the l landmarks are the centres of a
k-means of the cells' means, weighted by their sizes. Squares, which only choose columns, are of distances from the mean of
all rows, and clipped so that no sum of them can overflow.

    Cells form a tree, so every sum that is opened, and every combination of such sums, is one over whole leaves;
    and every leaf has min_cluster rows or more. So no combination weighs fewer than min_cluster rows.          (4)

This is why it is no Lloyd iteration by secure sums. There a row that changes its cluster is the difference of two opened
sums; and where moves of few rows are held back, still of combinations of several (`attacks.cluster_difference`).

Roles. Holder: rows, perhaps none. Coordinator: learns the sums, chooses cuts, publishes the landmarks.

Threat. Semi-honest; coalitions as in `secure_sum`. A coalition with the coordinator in it can subtract its own rows from
every cell. min_cluster counts the rows of all holders, so what is left may be a single row: where that matters, use
source="local", whose clusters are of one holder. A coalition of holders alone sees cuts and landmarks. Two runs over
nearly the same rows have different trees, and (4) says nothing about sums of both.

Not protected. What the records of a cell have in common (a constant column, a column that is 0 in all but one, equal
records) its sums show. How many rows lie above the mean in a column that (3) tries is opened to the coordinator also
where they are few. A coordinator that lied about (3) would get sums of fewer rows. A holder that stays away from one of
the two sums would leave (3) unchecked, so `landmarks` refuses `threshold`.

Source: none; 004 clusters at each party. Sums by cell as in [Zhang1996], cells of a least size as in [Domingo2002]; see
docs/methods/landmarks.md.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, U64, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.landmarks import centres_of_cells, grouped
from tacit.protocols.secure_sum import Protection, secure_sum

I32 = NDArray[np.int32]
Flags = NDArray[np.bool_]

CELLS = 4  # per landmark
TRIES = 3  # columns of one cell
SQUARE = 2.0**-8  # squares have 8 fraction bits less than sums, and so reach 16 times as far
SEED = 0  # of k-means over the cells


class Rows(Protocol):
    """What a holder brings along."""

    X: F64


class Middle(Message, tells="the mean of every column over all records"):
    """Of all rows."""

    values: F64


class Cuts(Message, tells="of cells with at least 2 min_cluster records: the widest column, and its mean"):
    """(3): cell, column and value of each cut that is tried."""

    cell: I64
    column: I64
    at: F64


class Done(Message, tells="which cuts leave at least min_cluster records on both sides"):
    """Numbers of those cuts; new cells are numbered in this order."""

    cuts: I64


ALL = Done(np.zeros(1, dtype=np.int64))  # before the first cut all rows are on the upper side of number 0


class JointLandmarks(Message, tells="every landmark: the mean of at least min_cluster records, whoever holds them"):
    """The centres of the cells."""

    centres: F64


class Cells(State):
    """What the coordinator knows: of every cell its size, sum, sum of squares, and which columns were tried in vain."""

    size: I64
    total: F64
    square: F64
    tried: Flags


@choreography(
    opens={
        Coordinator: "of every cell, all of at least min_cluster records: size, sum, and sum of squares by column;"
        " how many records of a cell lie above its mean in up to three columns, also where they are few",
        Everyone: "the mean of every column over all records; by which column each cell is cut, and at which mean;"
        " the landmarks, each the mean of at least min_cluster records, whoever holds them",
    }
)
def joint_landmarks(
    run: Run, data: At[Any], *, size: int, rows: int, min_cluster: int, by: Protection, fixed: FixedPoint, rounds: int
) -> F64:
    """Centres of cells of all rows."""
    sums = secure_sum(run, run.local(Holder, column_sums, data), to=Coordinator, by=by, fixed=fixed, what="column sums")
    middle = run.publish(Middle, run.local(Coordinator, middle_of, sums, rows))
    clip = farthest(fixed, rows)
    cell = run.local(Holder, no_cuts, data)
    part = run.local(Holder, moments, data, cell, ALL, middle, clip)
    whole = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="sums of squares")
    s = run.carry(cell=cell, cells=run.local(Coordinator, one_cell, whole, rows), number=1)
    for _ in run.rounds(rounds, s):
        cuts = run.publish(Cuts, run.local(Coordinator, propose, s.cells, CELLS * size, min_cluster, middle))
        if not len(cuts.cell):
            break
        side = run.local(Holder, above, data, s.cell, cuts)
        sizes = secure_sum(run, run.local(Holder, tally, side, cuts), to=Coordinator, by=by, what="sizes of cells")
        done = run.publish(Done, run.local(Coordinator, large_enough, s.cells, cuts, sizes, min_cluster))  # (3)
        part = run.local(Holder, moments, data, side, done, middle, clip)
        sums = secure_sum(run, part, to=Coordinator, by=by, fixed=fixed, what="sums of cells")
        s.cells = run.local(Coordinator, grown, s.cells, cuts, done, sizes, sums)
        s.cell = run.local(Holder, descend, s.cell, side, done, s.number)
        number = s.number + len(done.cuts)
        s.number = number
        run.note(cells=number)
    return run.publish(JointLandmarks, run.local(Coordinator, summarised, s.cells, size)).centres


def farthest(fixed: FixedPoint, rows: int) -> float:
    """Beyond this distance from the middle a square counts no more, so that no sum of them overflows."""
    return float(np.sqrt(fixed.bound / rows / SQUARE) / 2)


# Steps at the holders


def column_sums(part: Rows) -> F64:
    """1'X_k, and how many rows there are."""
    return np.append(part.X.sum(axis=0), len(part.X))


def no_cuts(part: Rows) -> I32:
    """The cell of every row."""
    return np.zeros(len(part.X), dtype=np.int32)


def above(part: Rows, cell: I32, cuts: Cuts) -> I32:
    """The number of the cut whose upper side a row is on; -1 is none."""
    of_cell = np.full(max(cell.max(initial=0), cuts.cell.max(initial=0)) + 1, -1, dtype=np.int32)
    of_cell[cuts.cell] = np.arange(len(cuts.cell), dtype=np.int32)
    cut = of_cell[cell]
    value = part.X[np.arange(len(cell)), cuts.column[cut]]  # cut -1 reads some column in vain
    return np.where((cut >= 0) & (value > cuts.at[cut]), cut, np.int32(-1))


def tally(side: I32, cuts: Cuts) -> U64:
    """How many rows are on the upper side of each cut."""
    return np.bincount(side[side >= 0], minlength=len(cuts.cell)).astype(np.uint64)


def moments(part: Rows, side: I32, done: Done, middle: Middle, clip: float) -> F64:
    """Over the upper side of each cut that is done: sums, and sums of squares about the middle of all rows."""
    place = _place(side, done)
    X, place = part.X[place >= 0], place[place >= 0]
    squares = np.square(np.clip(X - middle.values, -clip, clip)) * SQUARE
    return np.concatenate([grouped(X, place, len(done.cuts)), grouped(squares, place, len(done.cuts))], axis=1)


def descend(cell: I32, side: I32, done: Done, number: int) -> I32:
    """Rows on the upper side are in the new cell."""
    place = _place(side, done)
    return np.where(place >= 0, number + place, cell).astype(np.int32)


def _place(side: I32, done: Done) -> I64:
    """The place of a row's cut among those done; -1 is none."""
    place = np.full(max(side.max(initial=-1), done.cuts.max(initial=-1)) + 2, -1, dtype=np.int64)  # the last is for side -1
    place[done.cuts] = np.arange(len(done.cuts))
    return place[side]


# Steps at the coordinator


def middle_of(sums: F64, rows: int) -> Middle:
    """The mean; (3) counts on the number of rows."""
    if round(sums[-1]) != rows:
        raise LocalError(f"the holders have {round(sums[-1])} rows in all, and {rows} were announced: announce what there is")
    return Middle(sums[:-1] / rows)


def one_cell(whole: F64, rows: int) -> Cells:
    """All rows."""
    d = whole.shape[1] // 2
    return Cells(np.array([rows]), whole[:, :d], whole[:, d:], np.zeros((1, d), dtype=np.bool_))


def propose(cells: Cells, most: int, min_cluster: int, middle: Middle) -> Cuts:
    """The widest cells that may be cut, each by its widest column not tried yet; nothing once there are `most` cells."""
    mean = cells.total / cells.size[:, None]
    spread = np.maximum(cells.square / SQUARE - cells.size[:, None] * (mean - middle.values) ** 2, 0.0)
    left = np.where(cells.tried, 0.0, spread)
    may = (cells.size >= 2 * min_cluster) & (cells.tried.sum(axis=1) < TRIES) & (left.max(axis=1) > 0)
    widest = np.argsort(-spread.sum(axis=1), kind="stable")
    cell = np.sort(widest[may[widest]][: max(0, most - len(cells.size))])
    column = left[cell].argmax(axis=1)
    return Cuts(cell, column, mean[cell, column])


def large_enough(cells: Cells, cuts: Cuts, sizes: U64, min_cluster: int) -> Done:
    """(3)."""
    upper = sizes.astype(np.int64)
    return Done(np.flatnonzero((upper >= min_cluster) & (cells.size[cuts.cell] - upper >= min_cluster)))


def grown(cells: Cells, cuts: Cuts, done: Done, sizes: U64, sums: F64) -> Cells:
    """The upper sides as new cells, subtracted from the old ones; columns tried in vain are marked."""
    d = cells.total.shape[1]
    old, upper = cuts.cell[done.cuts], sizes[done.cuts].astype(np.int64)
    size, total, square, tried = (a.copy() for a in (cells.size, cells.total, cells.square, cells.tried))
    tried[cuts.cell, cuts.column] = True
    tried[old] = False
    size[old] -= upper
    total[old] -= sums[:, :d]
    square[old] -= sums[:, d:]
    new = np.zeros((len(old), d), dtype=np.bool_)
    return Cells(np.append(size, upper), np.vstack([total, sums[:, :d]]), np.vstack([square, sums[:, d:]]), np.vstack([tried, new]))


def summarised(cells: Cells, size: int) -> JointLandmarks:
    """The landmarks."""
    return JointLandmarks(centres_of_cells(cells.total / cells.size[:, None], cells.size, size, SEED))
