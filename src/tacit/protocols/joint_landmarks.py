"""Joint landmarks: one clustering of the rows of all holders, by sums over whole groups of their rows.

The problem. As in `landmarks`, but a landmark shall stand for records of any holders: then where it lies says little about who has
records there.

A cell is a set of rows, at first all that take part. A cell of 2 min_cluster rows or more is cut in two by the column j in
which its sum of squares about the mean is largest, at its mean:

    rows with x_j > mean_j(cell) are a new cell, if both sides have min_cluster rows or more;                  (3)
    otherwise the next column, three in all. Until there are 4 l cells, no cell can be cut, or `rounds` are over

Every holder rounds (3) to its own groups (`atoms`): a group is split only if both pieces have as many rows as a group needs; otherwise it
goes where its mean lies. The coordinator knows of every cell its size, sum, and sum of squares by column. Of a new cell they come from
one secure sum; of what is left of the old one by subtraction. At the end the l landmarks are the centres of a k-means of the cells' means,
weighted by their sizes. Squares, which only choose columns, are of distances from the mean of all rows, and clipped so that no sum of
them can overflow.

    Every sum that is opened is one over whole groups of each holder, whatever the coordinator proposes.        (4)

This is why it is no Lloyd iteration by secure sums. There a row that changes its cluster is the difference of two opened
sums; and where moves of few rows are held back, still of combinations of several (`attacks.cluster_difference`).

Roles. Holder: rows, perhaps none. Coordinator: learns the sums, chooses cuts, publishes the landmarks. With `witness` the sums are open
to the holders too, who repeat its steps and stop if one differs.

Threat. Semi-honest; coalitions as in `secure_sum`. A coalition with the coordinator in it can subtract its own rows from every cell:
what is left is over whole groups of the others. A coordinator that lies about (3) gets no other kind of sum. A coalition of holders alone
sees cuts and landmarks.

Not protected. What the records of a cell have in common (a constant column, a column that is 0 in all but one, equal records) its sums
show. A holder that stays away from a sum would spoil it, so `landmarks` refuses `threshold`.

Source: none; 004 clusters at each party. Sums by cell as in [Zhang1996], cells of a least size as in [Domingo2002]; see
docs/methods/landmarks.md.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.fixed_point import FixedPoint
from tacit.numeric.landmarks import centres_of_cells, grouped
from tacit.protocols.atoms import Atoms, keep, parted
from tacit.protocols.secure_sum import Protection
from tacit.protocols.witness import Voice

I32 = NDArray[np.int32]
Flags = NDArray[np.bool_]

CELLS = 4  # per landmark
TRIES = 3  # columns of one cell
SQUARE = 2.0**-8  # squares have 8 fraction bits less than sums, and so reach 16 times as far
SEED = 0  # of k-means over the cells


class Rows(Protocol):
    """What a holder brings along."""

    X: F64


class Middle(Message, tells="the mean of every column over all records that take part, and how many these are"):
    """Of all rows."""

    values: F64
    rows: int


class Cuts(Message, tells="of cells with at least 2 min_cluster records: the widest column, and its mean"):
    """(3): cell, column and value of each cut that is tried."""

    cell: I64
    column: I64
    at: F64


class Done(Message, tells="which cuts leave at least min_cluster records on both sides"):
    """Numbers of those cuts; new cells are numbered in this order."""

    cuts: I64


class JointLandmarks(Message, tells="every landmark: the mean of at least min_cluster records, whoever holds them"):
    """The centres of the cells."""

    centres: F64


class Cells(State):
    """What the coordinator knows: of every cell its size, sum, sum of squares, and which columns were tried in vain."""

    size: I64
    total: F64
    square: F64
    tried: Flags


class Side(State):
    """A holder's atoms after a cut, and the number of the cut whose upper side each row is on; -1 is none."""

    atoms: Atoms
    cut: I32


@choreography(
    opens={
        Coordinator: "of every cell, and of cells that were tried, size, sum, and sum of squares by column: each a sum over whole groups of"
        " rows of each holder",
        Everyone: "the mean of every column over all records; by which column each cell is cut, and at which mean;"
        " the landmarks, each the mean of at least min_cluster records, whoever holds them; with witness=True all that the"
        " coordinator learns",
    }
)
def joint_landmarks(
    run: Run,
    data: At[Any],
    atoms: At[Atoms],
    *,
    size: int,
    min_cluster: int,
    by: Protection,
    fixed: FixedPoint,
    rounds: int,
    witness: bool = False,
) -> tuple[F64, At[Atoms]]:
    """Centres of cells of all rows."""
    voice = Voice(run, by, fixed, witness)
    keep(run, atoms)
    middle = voice.told(Middle, middle_of, voice.added(column_sums, data, atoms), min_cluster)
    clip = farthest(fixed, middle.rows)
    cell = run.local(Holder, no_cuts, atoms)
    whole = voice.added(squares_of, data, cell, middle, clip)
    s = run.carry(cell=cell, cells=run.local(voice.who, one_cell, whole, middle), number=1, atoms=atoms)
    for _ in run.rounds(rounds, s):
        cuts = voice.told(Cuts, propose, s.cells, CELLS * size, min_cluster, middle)
        if not len(cuts.cell):
            break
        side = run.local(Holder, above, data, s.cell, s.atoms, cuts)
        s.atoms = run.local(Holder, atoms_of, side)
        keep(run, s.atoms)
        sums = voice.added(moments, data, side, len(cuts.cell), middle, clip)
        done = voice.told(Done, large_enough, s.cells, cuts, sums, min_cluster)  # (3)
        s.cells = run.local(voice.who, grown, s.cells, cuts, done, sums)
        s.cell = run.local(Holder, descend, s.cell, side, done, s.number)
        number = s.number + len(done.cuts)
        s.number = number
        run.note(cells=number)
    return voice.told(JointLandmarks, summarised, s.cells, size).centres, s.atoms


def farthest(fixed: FixedPoint, rows: int) -> float:
    """Beyond this distance from the middle a square counts no more, so that no sum of them overflows."""
    return float(np.sqrt(fixed.bound / rows / SQUARE) / 2)


# Steps at the holders


def column_sums(part: Rows, atoms: Atoms) -> F64:
    """1'X_k, and how many rows there are."""
    use = atoms.group >= 0
    return np.append(part.X[use].sum(axis=0), use.sum())


def no_cuts(atoms: Atoms) -> I32:
    """The cell of every row; -1 where it takes no part."""
    return np.where(atoms.group >= 0, 0, -1).astype(np.int32)


def squares_of(part: Rows, cell: I32, middle: Middle, clip: float) -> F64:
    """Over all rows: sums, and sums of squares about the middle."""
    return _moments(part.X[cell >= 0], np.zeros(int((cell >= 0).sum()), np.int64), 1, middle, clip)[:, 1:]


def above(part: Rows, cell: I32, atoms: Atoms, cuts: Cuts) -> Side:
    """(3), rounded to groups, which are split where both pieces are large enough."""
    of_cell = np.full(max(cell.max(initial=0), cuts.cell.max(initial=0)) + 1, -1, dtype=np.int32)
    of_cell[cuts.cell] = np.arange(len(cuts.cell), dtype=np.int32)
    cut = np.where(cell >= 0, of_cell[cell], -1)
    use = np.flatnonzero(cut >= 0)
    off = part.X[use, cuts.column[cut[use]]] - cuts.at[cut[use]]
    own, size = np.unique(atoms.group[use], return_inverse=True, return_counts=True)[1:]
    higher = np.bincount(own, off > 0, minlength=len(size))
    splits = (higher >= atoms.least) & (size - higher >= atoms.least) & (size >= 2 * atoms.least)
    upper = np.where(splits[own], off > 0, (np.bincount(own, off, minlength=len(size)) > 0)[own])
    side = np.full(len(cell), -1, dtype=np.int32)
    side[use[upper]] = cut[use[upper]]
    part_of = np.zeros(len(cell), dtype=np.int64)
    part_of[use] = upper & splits[own]
    return Side(parted(atoms, part_of), side)


def atoms_of(side: Side) -> Atoms:
    """The atoms after the cut."""
    return side.atoms


def moments(part: Rows, side: Side, cuts: int, middle: Middle, clip: float) -> F64:
    """Over the upper side of each cut: how many rows, sums, and sums of squares about the middle of all rows."""
    use = side.cut >= 0
    return _moments(part.X[use], side.cut[use].astype(np.int64), cuts, middle, clip)


def _moments(X: F64, place: I64, places: int, middle: Middle, clip: float) -> F64:
    squares = np.square(np.clip(X - middle.values, -clip, clip)) * SQUARE
    rows = np.bincount(place, minlength=places).astype(np.float64)
    return np.column_stack([rows, grouped(X, place, places), grouped(squares, place, places)])


def descend(cell: I32, side: Side, done: Done, number: int) -> I32:
    """Rows on the upper side are in the new cell."""
    place = np.full(max(side.cut.max(initial=-1), done.cuts.max(initial=-1)) + 2, -1, dtype=np.int64)  # the last is for side -1
    place[done.cuts] = np.arange(len(done.cuts))
    return np.where(place[side.cut] >= 0, number + place[side.cut], cell).astype(np.int32)


# Steps at the coordinator, and at witnesses


def middle_of(sums: F64, min_cluster: int) -> Middle:
    """The mean."""
    rows = round(sums[-1])
    if rows < min_cluster:
        raise LocalError(f"{rows} rows take part in all, fewer than the min_cluster={min_cluster} that one landmark stands for: bring more")
    return Middle(sums[:-1] / rows, rows)


def one_cell(whole: F64, middle: Middle) -> Cells:
    """All rows."""
    d = whole.shape[1] // 2
    return Cells(np.array([middle.rows]), whole[:, :d].copy(), whole[:, d:].copy(), np.zeros((1, d), dtype=np.bool_))


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


def large_enough(cells: Cells, cuts: Cuts, sums: F64, min_cluster: int) -> Done:
    """(3)."""
    upper = np.rint(sums[:, 0]).astype(np.int64)
    return Done(np.flatnonzero((upper >= min_cluster) & (cells.size[cuts.cell] - upper >= min_cluster)))


def grown(cells: Cells, cuts: Cuts, done: Done, sums: F64) -> Cells:
    """The upper sides as new cells, subtracted from the old ones; columns tried in vain are marked."""
    d, sums, old = cells.total.shape[1], sums[done.cuts], cuts.cell[done.cuts]
    upper = np.rint(sums[:, 0]).astype(np.int64)
    size, total, square, tried = (a.copy() for a in (cells.size, cells.total, cells.square, cells.tried))
    tried[cuts.cell, cuts.column] = True
    tried[old] = False
    size[old] -= upper
    total[old] -= sums[:, 1 : d + 1]
    square[old] -= sums[:, d + 1 :]
    new = np.zeros((len(old), d), dtype=np.bool_)
    return dataclasses.replace(
        cells,
        size=np.append(size, upper),
        total=np.vstack([total, sums[:, 1 : d + 1]]),
        square=np.vstack([square, sums[:, d + 1 :]]),
        tried=np.vstack([tried, new]),
    )


def summarised(cells: Cells, size: int) -> JointLandmarks:
    """The landmarks."""
    return JointLandmarks(centres_of_cells(cells.total / cells.size[:, None], cells.size, size, SEED))
