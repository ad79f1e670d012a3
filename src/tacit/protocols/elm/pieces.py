"""Into which pieces of the rows the sums of an extreme learning machine can be taken apart, and how large these are.

One weighting of the classes gives A = sum_c s_c A_c. Several of them, or one whose weights are far apart, give the sum
A_c of each class; and probabilities open the sum of each fold. So what (4) and (5) of `horizontal` ask of all rows they
ask of every piece: a class with `class_weight`, a fold with `probability`, a class of a fold with both.

Every holder deals its own rows of a class round the folds, so without a further count everyone knows of k folds and M
holders that

    rows of a class in a fold >= (rows of the class - M (k - 1)) / k                                            (6)

Folds are as many, up to `MOST`, as leave min_rows of every class in each by (6), and as many rows as nodes.

Not protected: of a class that one holder alone has, the sums of the class are that holder's own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Array
from tacit.choreo import Coordinator, Fact, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.scores.folds import deal_folds
from tacit.protocols import labels
from tacit.protocols.part import ClassWeight, Names, Records
from tacit.protocols.planes.problems import codes_of, mark_counting
from tacit.scratch import empty_like, fill, release, side_by_side

MOST = 5  # folds


@dataclass(frozen=True)
class Choices:
    """What a machine asks: at least so many rows in a piece; whether classes are weighted; whether there are folds."""

    nodes: int
    by_class: bool
    probability: bool


@dataclass(frozen=True)
class Pieces:
    """How many folds there are, 1 for none; whether classes are told apart; how many rows the smallest piece has."""

    folds: int
    by_class: bool
    least: int

    @property
    def words(self) -> str:
        """What the smallest piece is, in an error: nothing if it is all rows."""
        fold = " of a fold (probability=True opens the sums of each)"
        kind = " of the smallest class (class_weight lets sums be taken apart)"
        return f"{kind if self.by_class else ''}{fold if self.folds > 1 else ''}"


@choreography(
    opens={
        Coordinator: Fact(
            "elm.class_sums",
            "holders",
            "aggregate",
            "class",
            "with class_weight the sums are weighted by class: several weightings together give the sums of each class",
        )
    }
)
def weigh_classes(run: Run, *, classes: Names, sizes: F64, class_weight: ClassWeight) -> F64:
    """Return the weight of every class, by the public number of its records."""
    del run
    return labels.weigh_classes(classes, sizes, class_weight)


def cut_rows(sizes: F64, holders: int, least: int, asked: Choices) -> Pieces:
    """Return the pieces of classes of these sizes, with as many folds as leave `least` rows of a class in each."""
    for folds in range(MOST, 1, -1) if asked.probability else (1,):
        each = np.floor((sizes - holders * (folds - 1)) / folds)  # (6)
        rows = int(each.min() if asked.by_class else each.sum())
        if not asked.probability or (each.min() >= least and rows >= asked.nodes):
            return Pieces(folds, asked.by_class, rows)
    raise LocalError(
        f"probability=True opens sums of each of two folds or more, and with {holders} holders one would have fewer"
        f" than min_rows={least} records of a class, or than the {asked.nodes} nodes: bring more records, take fewer"
        " nodes, or leave that out"
    )


def deal_rows(part: Records, classes: Names, used: Array, folds: int, seed: int, me: str) -> I64:
    """Return the fold of each of a holder's rows; -1 of one that takes no part."""
    use = mark_counting(part)
    if not classes:
        return fill(lambda own: np.where(own, 0, -1), use, dtype=np.int64)
    codes = codes_of(part, classes)
    codes = fill(lambda own, code: np.where(own & used[code], code, -1), use, codes, dtype=np.int64)
    if folds == 1:
        return fill(lambda code: np.minimum(code, 0), codes, dtype=np.int64)
    return np.where(codes < 0, -1, deal_folds(codes, folds, (seed, *me.encode())))


def rows_in(piece: I64, number: int) -> I64 | None:
    """Return the rows of one piece; None if it is all of them."""
    count = sum(int((own == number).sum()) for _, (own,) in side_by_side(piece))
    if count == len(piece):
        return None
    rows, start = empty_like(piece, (count,), np.int64), 0
    for at, (own,) in side_by_side(piece):
        here = at.start + np.flatnonzero(own == number)
        rows[start : start + len(here)] = here
        start += len(here)
        release(rows)
    return rows
