"""SVMs together with decision values of models that did not see the record: what probabilities are fitted to.

The problem. Beside each problem of a linear SVM over rows that many hold, k more are solved, each without one fold of
the rows:

    f_i = w_q.f(x_i) + b_q,   where w_q, b_q were trained without fold q, and i is in fold q               (1)

Every holder deals its own rows to the folds in whole groups (`fold_accuracy`). All problems have their map in common
and advance together in one `cutting_plane`, so the folds cost no rounds of their own, and all their sums are over the
same groups.

How many folds: the largest k up to `MOST` for which every fold has rows of every class.

Roles. Holder: rows. Coordinator: learns the counts and the sums.
Threat. As `cutting_plane`, `fold_accuracy`. Everyone learns the folds' models. The values (1) that leave this file are
not those of single rows: groups are split by them as far as pieces are large enough, and every row has the mean of its
group. So whatever is fitted to them (`platt`) is a function of sums over groups too.
Source: Platt, 1999, section 2.2, and LIBSVM (folds); the rest is ours.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Holder, Run, choreography
from tacit.numeric.groups.atoms import group_means, split_by_value
from tacit.numeric.svm.problems import value_classes
from tacit.protocols.planes.cutting_plane import Solution
from tacit.protocols.planes.problems import Common, solve_problems
from tacit.protocols.planes.rows import Rows
from tacit.protocols.scores.fold_accuracy import (
    FOLD_COUNTS,
    FOLD_MODELS,
    FOLD_NUMBER,
    check_folds,
    deal,
    leave_out_folds,
)
from tacit.protocols.scores.platt import Scores
from tacit.protocols.sums.atoms import Atoms, keep, regroup

MOST = 5
CLOSE = 0.25  # decision values of a group that lie within this distance need no telling apart


@choreography(
    opens={
        Coordinator: FOLD_COUNTS,
        Everyone: (FOLD_NUMBER, FOLD_MODELS),
    }
)
def fold_scores(
    run: Run, rows: At[Rows], atoms: At[Atoms], *, width: int, ground: Common, whole: bool = True
) -> tuple[Solution, At[Scores], At[Atoms]]:
    """Train the models, of all rows or with `whole=False` of the folds only, and return each holder's scores (1).

    `whole=False` is for runs that get the models of all rows in another way.
    """
    svm, pairs = ground.svm, ground.pairs
    folds, atoms = deal(run, atoms, ground=ground, most=MOST, seed=svm.seed)
    check_folds(folds.number, "probability=True")
    before = len(pairs) * whole
    tables = run.local(Holder, add_fold_problems, rows, folds.of, folds.number, whole)
    columns = before + len(pairs) * folds.number
    paths, atoms = solve_problems(
        run, tables, atoms, ground=ground, prices=((svm.C,),), widths=(width,), columns=columns
    )
    unseen = paths.solution(range(before, columns))
    found = paths.solution(range(before)) if whole else unseen
    scores, atoms = unseen_scores(run, rows, atoms, folds.of, unseen, folds=folds.number, multi_class=svm.multi_class)
    return found, scores, atoms


def unseen_scores(
    run: Run,
    rows: At[Rows],
    atoms: At[Atoms],
    fold: At[I64] | None,
    unseen: Solution,
    *,
    folds: int,
    multi_class: str,
) -> tuple[At[Scores], At[Atoms]]:
    """Return the scores (1) as means over groups, and the atoms, which are split by them."""
    values = run.local(Holder, values_of, rows, fold, folds, unseen, multi_class)
    atoms = run.local(Holder, split_by_scores, atoms, values)
    keep(run, atoms)
    return run.local(Holder, scores_of, atoms, values), atoms


# Steps at the holders


def add_fold_problems(rows: Rows, fold: I64, folds: int, whole: bool) -> tuple[Rows]:  # noqa: FBT001 - a step
    """Return the rows with every problem on all rows, if `whole`, then once per fold without the fold's rows."""
    without = leave_out_folds(rows, fold, folds).signs
    return (dataclasses.replace(rows, signs=np.concatenate([rows.signs, without], axis=1) if whole else without),)


def values_of(rows: Rows, fold: I64, folds: int, unseen: Solution, multi_class: str) -> F64:
    """Return the decision values (1) of every row and class, by the model that did not see it."""
    every: F64 = rows.values(unseen.w) + unseen.b
    own = every.reshape(len(fold), folds, len(unseen.b) // folds)[np.arange(len(fold)), fold]
    return value_classes(own, multi_class)


def split_by_scores(atoms: Atoms, values: F64) -> Atoms:
    """Return groups of rows with about the same decision values, as far as pieces are large enough."""
    group = atoms.group
    for column in values.T:
        group = split_by_value(group, column, atoms.least, CLOSE)
    return regroup(atoms, group)


def scores_of(atoms: Atoms, values: F64) -> Scores:
    """Return the mean of (1) over each row's group, for the rows that take part."""
    use = atoms.group >= 0
    return Scores(group_means(atoms.group[use], values[use]), atoms.kind[use])
