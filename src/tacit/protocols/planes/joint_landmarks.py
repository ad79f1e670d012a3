"""Joint landmarks: one clustering of the rows of all holders, by sums over whole groups of their rows.

The problem. As in `landmarks`, but a landmark shall stand for records of any holders: then where it lies says little
about who has records there.

A cell is a set of rows, at first all that take part. A cell of 2 min_cluster rows or more is cut in two by the column j
in which its sum of squares about the mean is largest, at its mean:

    rows with x_j > mean_j(cell) are a new cell, if both sides have min_cluster rows or more;                  (3)
    otherwise the next column, three in all. Until there are 4 l cells, no cell can be cut, or `rounds` are over

Every holder rounds (3) to its own groups (`atoms`): a group is split only if both pieces have as many rows as a group
needs; otherwise it goes where its mean lies. The coordinator knows of every cell its size, sum, and sum of squares by
column. Of a new cell they come from one secure sum; of what is left of the old one by subtraction. At the end the l
landmarks are the centres of a k-means of the cells' means, weighted by their sizes. Squares, which only choose columns,
are of distances from the mean of all rows, and clipped so that no sum of them can overflow.

    Every sum that is opened is one over whole groups of each holder, whatever the coordinator proposes.        (4)

This is why it is no Lloyd iteration by secure sums. There a row that changes its cluster is the difference of two
opened sums; and where moves of few rows are held back, still of combinations of several (`attacks.cluster_difference`).

Roles. Holder: rows, perhaps none. Coordinator: learns the sums, chooses cuts, publishes the landmarks. With `witness`
the sums are open to the holders too, who repeat its steps and stop if one differs.

Threat. Semi-honest; coalitions as in `secure_sum`. A coalition with the coordinator in it can subtract its own rows
from every cell: what is left is over whole groups of the others. A coordinator that lies about (3) gets no other kind
of sum. A coalition of holders alone sees cuts and landmarks.

Not protected. What the records of a cell have in common (a constant column, a column that is 0 in all but one, equal
records) its sums show. A holder that stays away from a sum would spoil it, so `landmarks` refuses `threshold`.

Source: none; 004 clusters at each party. Sums by cell as in [Zhang1996], cells of a least size as in [Domingo2002]; see
docs/methods/landmarks.md.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64, I32, I64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, State, choreography
from tacit.errors import LocalError
from tacit.numeric.features.landmarks import centres_of_cells, sum_by_label
from tacit.numeric.groups.numbering import OUT, add_up, count_labels, largest_of, sum_by
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.part import Records
from tacit.protocols.planes.feature_map import Columns, Points
from tacit.protocols.sums.atoms import Atoms, keep, split_by_part
from tacit.protocols.witness import WITNESSED, Voice
from tacit.scratch import LINES, blocks, empty_like, fill, release
from tacit.sparse import each

CELLS = 4  # per landmark
TRIES = 3  # columns of one cell
SQUARE = 2.0**-8  # squares have 8 fraction bits less than sums, and so reach 16 times as far
SEED = 0  # of k-means over the cells


class Middle(
    Message,
    tells=(
        Fact(
            "landmarks.middle",
            "holders",
            "aggregate",
            "column",
            "the mean of every column over all records that take part",
        ),
        Fact("landmarks.middle_count", "holders", "count", "all", "how many records take part"),
    ),
):
    """The mean of all rows that take part, and how many they are."""

    values: F64
    rows: int


class Cuts(
    Message,
    tells=Fact(
        "landmarks.cuts",
        "holders",
        "aggregate",
        "group",
        "of cells with at least 2 min_cluster records: the widest column, and its mean",
    ),
):
    """The cuts (3) that are tried: cell, column and value of each."""

    cell: I64
    column: I64
    at: F64


class Done(
    Message,
    tells=Fact(
        "landmarks.cuts_done",
        "holders",
        "aggregate",
        "group",
        "which cuts leave at least min_cluster records on both sides",
    ),
):
    """The numbers of the cuts that are made; new cells are numbered in this order."""

    cuts: I64


class JointLandmarks(
    Message,
    tells=Fact(
        "landmarks.joint",
        "holders",
        "aggregate",
        "group",
        "every landmark: the mean of at least min_cluster records, whoever holds them",
    ),
):
    """The landmarks: centres of the cells."""

    centres: F64


class Cells(State):
    """What the coordinator knows of every cell: size, sum, sum of squares, and the columns tried without success."""

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
        Coordinator: Fact(
            "landmarks.cell_sums",
            "holders",
            "aggregate",
            "group",
            "for every cell, also those that were only tried: size, sum, and sum of squares by column, each"
            " over whole groups of rows of each holder",
        ),
        Everyone: (
            Fact(
                "landmarks.column_means", "holders", "aggregate", "column", "the mean of every column over all records"
            ),
            Fact(
                "landmarks.cut_columns",
                "holders",
                "aggregate",
                "group",
                "by which column each cell is cut, and at which mean",
            ),
            Fact(
                "landmarks.joint_means",
                "holders",
                "aggregate",
                "group",
                "the landmarks, each the mean of at least min_cluster records, whoever holds them",
            ),
            WITNESSED,
        ),
    }
)
def joint_landmarks(
    run: Run,
    data: Points,
    atoms: At[Atoms],
    *,
    voice: Voice,
    size: int,
    min_cluster: int,
    rounds: int,
) -> tuple[F64, At[Atoms]]:
    """Return the centres of cells of all rows, and the atoms after all cuts."""
    keep(run, atoms)
    middle = voice.announce(Middle, middle_of, voice.add_up(column_sums, data, atoms), min_cluster)
    clip = farthest(voice.fixed, middle.rows)
    cell = run.local(Holder, no_cuts, atoms)
    whole = voice.add_up(squares_of, data, cell, middle, clip)
    s = run.carry(cell=cell, cells=run.local(voice.who, one_cell, whole, middle), number=1, atoms=atoms)
    for _ in run.rounds(rounds, s):
        cuts = voice.announce(Cuts, propose, s.cells, CELLS * size, min_cluster, middle)
        if not len(cuts.cell):
            break
        side = run.local(Holder, find_upper_sides, data, s.cell, s.atoms, cuts)
        s.atoms = run.local(Holder, atoms_of, side)
        keep(run, s.atoms)
        sums = voice.add_up(moments, data, side, len(cuts.cell), middle, clip)
        done = voice.announce(Done, choose_done, s.cells, cuts, sums, min_cluster)  # (3)
        s.cells = run.local(voice.who, grow_cells, s.cells, cuts, done, sums)
        s.cell = run.local(Holder, descend, s.cell, side, done, s.number)
        number = s.number + len(done.cuts)
        s.number = number
        run.note(cells=number)
    return voice.announce(JointLandmarks, summarise, s.cells, size).centres, s.atoms


def farthest(fixed: FixedPoint, rows: int) -> float:
    """Return the distance from the middle at which squares are clipped, so that no sum of them overflows."""
    return float(np.sqrt(fixed.bound / rows / SQUARE) / 2)


# Steps at the holders


def column_sums(part: Records | Columns, atoms: Atoms) -> F64:
    """Return the column sums of the rows that take part, and how many rows there are."""
    found = np.zeros(part.X.shape[1] + 1)
    for at, block in blocks(part.X, LINES):
        use = atoms.group[at] >= 0
        found += np.append(block[use].sum(axis=0), use.sum())
        release(atoms.group[at])
    return found


def no_cuts(atoms: Atoms) -> I32:
    """Return the cell of every row before any cut: 0, or -1 where the row takes no part."""
    return fill(lambda own: np.where(own >= 0, 0, -1), atoms.group, dtype=np.int32)


def squares_of(part: Records | Columns, cell: I32, middle: Middle, clip: float) -> F64:
    """Return the sums over all rows, and the sums of squares about the middle."""
    return _moments(part.X, fill(lambda own: np.minimum(own, 0), cell, dtype=np.int32), 1, middle, clip)[:, 1:]


def find_upper_sides(part: Records | Columns, cell: I32, atoms: Atoms, cuts: Cuts) -> Side:
    """Return which rows are above which cut, (3), rounded to groups.

    A group is split where both pieces are large enough.
    """
    of_cell = np.full(max(largest_of(cell), cuts.cell.max(initial=0)) + 2, -1, dtype=np.int32)
    of_cell[cuts.cell] = np.arange(len(cuts.cell), dtype=np.int32)  # the last is that of rows that take no part
    cut, off = fill(lambda own: of_cell[own], cell, dtype=np.int32), empty_like(cell, cell.shape, np.float64)
    for at, block in blocks(part.X, LINES):
        mine = cut[at]
        off[at] = block[np.arange(len(block)), cuts.column[mine]] - cuts.at[mine]
        release((off[at], mine))
    own = fill(lambda group, mine: np.where(mine >= 0, group, OUT), atoms.group, cut, dtype=np.int64)
    size = count_labels(own)[1:]
    higher, total = add_up(len(size), lambda x: x > 0, own, off), sum_by(own, off, len(size))
    splits = (higher >= atoms.least) & (size - higher >= atoms.least) & (size >= 2 * atoms.least)
    splits, over = np.append(splits, False), np.append(total > 0, False)
    upper = fill(lambda group, x: np.where(splits[group], x > 0, over[group]), own, off, dtype=np.bool_)
    side = fill(lambda up, mine: np.where(up, mine, -1), upper, cut, dtype=np.int32)
    part_of = fill(lambda up, group: up & splits[group], upper, own, dtype=np.int64)
    return Side(split_by_part(atoms, part_of), side)


def atoms_of(side: Side) -> Atoms:
    """Return the atoms after the cut."""
    return side.atoms


def moments(part: Records | Columns, side: Side, cuts: int, middle: Middle, clip: float) -> F64:
    """Return of the upper side of each cut how many rows it has, their sums, and sums of squares about the middle."""
    return _moments(part.X, side.cut, cuts, middle, clip)


def _moments(X: F64, place: I32, places: int, middle: Middle, clip: float) -> F64:
    """Return how many rows are at each place, their sums, and sums of squares; a row below 0 is at none."""
    found = np.zeros((places, 1 + 2 * X.shape[1]))
    for at, block in blocks(X, LINES):
        own = place[at].astype(np.int64)
        squares = each(block - middle.values, lambda off: np.square(np.clip(off, -clip, clip)) * SQUARE)
        rows = np.bincount(own[own >= 0], minlength=places)
        found += np.column_stack([rows, sum_by_label(block, own, places), sum_by_label(squares, own, places)])
        release(place[at])
    return found


def descend(cell: I32, side: Side, done: Done, number: int) -> I32:
    """Return the cell of every row after the cuts: rows on an upper side are in its new cell."""
    last = max(largest_of(side.cut), done.cuts.max(initial=-1)) + 1  # of a row on no upper side
    place = np.full(last + 1, -1, dtype=np.int64)
    place[done.cuts] = np.arange(len(done.cuts))
    return fill(lambda own, cut: np.where(place[cut] >= 0, number + place[cut], own), cell, side.cut, dtype=np.int32)


# Steps at the coordinator, and at witnesses


def middle_of(sums: F64, min_cluster: int) -> Middle:
    """Return the mean of all rows that take part; raise if they are too few for one landmark."""
    rows = round(sums[-1])
    if rows < min_cluster:
        raise LocalError(
            f"{rows} rows take part in all, fewer than the min_cluster={min_cluster} that one landmark stands for:"
            " bring more"
        )
    return Middle(sums[:-1] / rows, rows)


def one_cell(whole: F64, middle: Middle) -> Cells:
    """Return the first cell, which holds all rows."""
    d = whole.shape[1] // 2
    return Cells(np.array([middle.rows]), whole[:, :d].copy(), whole[:, d:].copy(), np.zeros((1, d), dtype=np.bool_))


def propose(cells: Cells, most: int, min_cluster: int, middle: Middle) -> Cuts:
    """Return cuts of the widest cells that may be cut, each by its widest column not tried yet.

    Returns no cut once there are `most` cells.
    """
    mean = cells.total / cells.size[:, None]
    spread = np.maximum(cells.square / SQUARE - cells.size[:, None] * (mean - middle.values) ** 2, 0.0)
    left = np.where(cells.tried, 0.0, spread)
    may = (cells.size >= 2 * min_cluster) & (cells.tried.sum(axis=1) < TRIES) & (left.max(axis=1) > 0)
    widest = np.argsort(-spread.sum(axis=1), kind="stable")
    cell = np.sort(widest[may[widest]][: max(0, most - len(cells.size))])
    column = left[cell].argmax(axis=1)
    return Cuts(cell, column, mean[cell, column])


def choose_done(cells: Cells, cuts: Cuts, sums: F64, min_cluster: int) -> Done:
    """Return the cuts that leave at least min_cluster rows on both sides, (3)."""
    upper = np.rint(sums[:, 0]).astype(np.int64)
    return Done(np.flatnonzero((upper >= min_cluster) & (cells.size[cuts.cell] - upper >= min_cluster)))


def grow_cells(cells: Cells, cuts: Cuts, done: Done, sums: F64) -> Cells:
    """Return the cells after the cuts: upper sides are new cells, and are subtracted from the old ones.

    Columns that were tried without success are marked.
    """
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


def summarise(cells: Cells, size: int) -> JointLandmarks:
    """Return the landmarks: centres of the cells' means, weighted by size."""
    return JointLandmarks(centres_of_cells(cells.total / cells.size[:, None], cells.size, size, SEED))
