"""SVMs together with decision values of models that did not see the record: what probabilities are fitted to.

The problem. Beside each problem of a linear SVM over rows that many hold, k more are solved, each without one fold of the rows:

    f_i = w_q.f(x_i) + b_q,   where w_q, b_q were trained without fold q, and i is in fold q                          (1)

Every holder deals its own rows to the folds in whole groups (`fold_accuracy`). All problems have their map in common and advance together
in one `cutting_plane`, so the folds cost no rounds of their own, and all their sums are over the same groups.

How many folds: the largest k up to `MOST` for which every fold has rows of every class.

Roles. Holder: rows. Coordinator: learns the counts and the sums.
Threat. As `cutting_plane`, `fold_accuracy`. Everyone learns the folds' models. The values (1) that leave this file are not those of single
rows: groups are split by them as far as pieces are large enough, and every row has the mean of its group. So whatever is fitted to
them (`platt`) is a function of sums over groups too.
Source: Platt, 1999, section 2.2, and LIBSVM (folds); the rest is ours.
"""

from __future__ import annotations

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Run, choreography
from tacit.numeric.atoms import group_means, split_by_value
from tacit.numeric.folds import votes
from tacit.protocols.atoms import Atoms, keep, regrouped
from tacit.protocols.cutting_plane import Solution, cutting_plane
from tacit.protocols.fold_accuracy import check_folds, deal, in_folds
from tacit.protocols.plane_rows import Rows
from tacit.protocols.platt import Scores
from tacit.protocols.row_problems import Common, Pairs

MOST = 5
CLOSE = 0.25  # decision values of a group that lie within this distance need no telling apart


@choreography(
    opens={
        Coordinator: "how many rows of each class are in each fold, over all parties",
        Everyone: "the number of folds, and one model per fold and problem",
    }
)
def fold_scores(
    run: Run, rows: At[Rows], atoms: At[Atoms], *, width: int, ground: Common, whole: bool = True
) -> tuple[Solution, At[Scores], At[Atoms]]:
    """Models for everyone, of all rows, or with `whole=False`, where these are had otherwise, of the folds; at each holder (1)."""
    svm, pairs, classes = ground.svm, ground.pairs, len(ground.classes)
    folds, atoms = deal(run, atoms, ground=ground, most=MOST, seed=svm.seed)
    check_folds(folds.number, "probability=True")
    before = len(pairs) * whole
    tables = run.local(Holder, beside_folds, rows, folds.of, folds.number, whole)
    paths, atoms = cutting_plane(
        run, tables, atoms, prices=((svm.C,),), widths=(width,), columns=before + len(pairs) * folds.number, by=ground.by,
        fixed=ground.fixed, exact=ground.exact, tol=svm.tol, max_rounds=svm.max_rounds, witness=svm.witness,
    )  # fmt: skip
    unseen = paths.solution(range(before, before + len(pairs) * folds.number))
    found = paths.solution(range(before)) if whole else unseen
    scores, atoms = unseen_scores(run, rows, atoms, folds.of, unseen, folds=folds.number, pairs=pairs, classes=classes)
    return found, scores, atoms


def unseen_scores(
    run: Run, rows: At[Rows], atoms: At[Atoms], fold: At[I64] | None, unseen: Solution, *, folds: int, pairs: Pairs, classes: int
) -> tuple[At[Scores], At[Atoms]]:
    """(1) as means over groups, which are split by it."""
    values = run.local(Holder, values_of, rows, fold, folds, unseen, pairs, classes)
    atoms = run.local(Holder, split_by_scores, atoms, values)
    keep(run, atoms)
    return run.local(Holder, scores_of, atoms, values), atoms


# Steps at the holders


def beside_folds(rows: Rows, fold: I64, folds: int, whole: bool) -> tuple[Rows]:  # noqa: FBT001 - a step
    """Every problem on all rows, if that is asked for, then once per fold without the fold's rows."""
    without = in_folds(rows, fold, folds).signs
    return (Rows(rows.F, np.concatenate([rows.signs, without], axis=1) if whole else without, rows.weight),)


def values_of(rows: Rows, fold: I64, folds: int, unseen: Solution, pairs: Pairs, classes: int) -> F64:
    """(1), of every row: what the model says that did not see it."""
    every: F64 = (rows.F @ unseen.w.T.astype(rows.F.dtype)).astype(np.float64) + unseen.b
    own = every.reshape(len(fold), folds, len(pairs))[np.arange(len(fold)), fold]
    return own if len(pairs) == 1 or pairs[0][1] < 0 else votes(own, pairs, classes)


def split_by_scores(atoms: Atoms, values: F64) -> Atoms:
    """Groups of rows that have about the same decision values, as far as pieces are large enough."""
    group = atoms.group
    for column in values.T:
        group = split_by_value(group, column, atoms.least, CLOSE)
    return regrouped(atoms, group)


def scores_of(atoms: Atoms, values: F64) -> Scores:
    """The mean of (1) over a row's group, of the rows that take part."""
    use = atoms.group >= 0
    return Scores(group_means(atoms.group[use], values[use]), atoms.kind[use])
