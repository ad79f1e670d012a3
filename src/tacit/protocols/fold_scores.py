"""SVMs together with decision values of models that did not see the record: what probabilities are fitted to.

The problem. Beside each problem of a linear SVM over rows that many hold, k more are solved, each without one fold of the rows:

    f_i = w_q.f(x_i) + b_q,   where w_q, b_q were trained without fold q, and i is in fold q                          (1)

Every holder deals its own rows of every class to the folds. All problems have their map in common and advance together in one
`plane_paths`, so the folds cost no rounds of their own. There no two sums that are opened differ by a few rows, whether they are of
one problem or of two: a sum over all rows less one without a fold would else be a few rows of the fold.

How many folds: the largest k up to `MOST` for which no fold has between 1 and min_count - 1 rows of a class (`fold_accuracy`).

Roles. Holder: rows. Coordinator: learns the counts and the sums.
Threat. As `plane_paths`, `fold_accuracy`. The values (1) stay where the rows are. Everyone learns the folds' models.
Source: Platt, 1999, section 2.2, and LIBSVM (folds); the rest is ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.folds import votes
from tacit.protocols.cutting_plane import Solution
from tacit.protocols.fold_accuracy import FoldNumber, dealt_here, fold_sizes, in_folds, largest
from tacit.protocols.plane_paths import Paths, nothing_summed, plane_paths
from tacit.protocols.plane_rows import Rows
from tacit.protocols.platt import Scores
from tacit.protocols.row_problems import Common, Pairs, classes_at
from tacit.protocols.witness import Voice

MOST = 5


@choreography(
    opens={
        Coordinator: "how many rows of each class are in each fold, over all parties",
        Everyone: "the number of folds, and one model per fold and problem",
    }
)
def fold_scores(
    run: Run, data: At[Any], rows: At[Rows], *, weights: F64, width: int, ground: Common, whole: bool = True
) -> tuple[Solution, At[Scores]]:
    """Models for everyone, of all rows, or with `whole=False`, where these are had otherwise, of the folds; at each holder (1)."""
    svm, me, classes, pairs = ground.svm, run.who(Holder), len(ground.classes), ground.pairs
    voice = Voice(run, ground.by, ground.fixed, svm.witness)
    codes = run.local(Holder, classes_at, data, ground.classes, weights)
    counts = voice.added(fold_sizes, codes, classes, MOST, svm.seed, me)
    folds = voice.told(FoldNumber, largest, counts, classes, MOST, svm.min_count).folds
    check_number(folds, svm.min_count)
    fold = run.local(Holder, dealt_here, codes, folds, svm.seed, me)
    cells, signed, before = classes * folds, len(pairs) > 1, len(pairs) * whole
    tables = run.local(Holder, beside_folds, rows, fold, folds, whole)
    paths, _ = plane_paths(
        run, tables, run.local(Holder, cell_of, codes, fold, folds),
        nothing_summed(run, tables, cells=cells, signed=signed, witness=svm.witness), prices=((svm.C,),), widths=(width,),
        columns=before + len(pairs) * folds, cells=cells, signed=signed, by=ground.by, fixed=ground.fixed, tol=svm.tol,
        max_rounds=svm.max_rounds, min_count=svm.min_count, witness=svm.witness,
    )  # fmt: skip
    unseen = solution(paths, range(before, before + len(pairs) * folds))
    found = solution(paths, range(before)) if whole else unseen
    return found, run.local(Holder, scores_of, rows, codes, fold, folds, unseen, pairs, classes)


def check_number(folds: int, min_count: int) -> None:
    """Refuse probabilities of models that saw the record."""
    if not folds:
        raise LocalError(
            f"probability=True leaves rows out in turn, and even of two folds one would have fewer than min_count={min_count} rows of a"
            " class: bring more rows, lower min_count, or leave it off"
        )


def solution(paths: Paths, pools: range) -> Solution:
    """The models of these pools, at their one price."""
    w, b, objective, bound = (np.concatenate([each[k] for k in pools]) for each in (paths.w, paths.b, paths.objective, paths.bound))
    held = tuple(i for i, k in enumerate(pools) if paths.held[k][0])
    return Solution(w, b, objective, bound, paths.rounds, held)


# Steps at the holders


def beside_folds(rows: Rows, fold: I64, folds: int, whole: bool) -> tuple[Rows]:  # noqa: FBT001 - a step
    """Every problem on all rows, if that is asked for, then once per fold without the fold's rows."""
    without = in_folds(rows, fold, folds).signs
    return (Rows(rows.F, np.concatenate([rows.signs, without], axis=1) if whole else without, rows.weight),)


def cell_of(codes: I64, fold: I64, folds: int) -> I64:
    """Class and fold as one number; below 0 for no row."""
    return np.where(codes < 0, -1, codes * folds + fold)


def scores_of(rows: Rows, codes: I64, fold: I64, folds: int, unseen: Solution, pairs: Pairs, classes: int) -> Scores:
    """(1), of the rows that take part."""
    every: F64 = (rows.F @ unseen.w.T.astype(rows.F.dtype)).astype(np.float64) + unseen.b
    own = every.reshape(len(codes), folds, len(pairs))[np.arange(len(codes)), fold]
    values = own if len(pairs) == 1 or pairs[0][1] < 0 else votes(own, pairs, classes)
    return Scores(values[codes >= 0], codes[codes >= 0])
