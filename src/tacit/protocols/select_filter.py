"""Filter, then wrapper: features that pass three filters, and of these the subset of the best accuracy over folds.

The problem. Of every class c of which rows take part, the holders sum

    n_c,   sum_{x in c} x_j,   sum_{x in c} x_j^2          over all features j, to the coordinator                  (1)

from which come Fisher's score, Welch's t with its p-value, and the ratio of between and within class scatter
(`numeric.relevance`); the features that pass (`numeric.filters`) are published, weakest first: the voted set. Landmarks are
agreed on its columns only. Then, with S the features left, at first the voted set:

    try to do without each of the `trials` weakest features of S; the one without which the accuracy over the folds
    is the largest goes; again                                                                                      (2)

until as many are left as are wanted, or until one is, and the largest subset on the way with nearly the best accuracy is
taken. Where m features go in a round, the weakest are taken m by m, and one of the first `trials` such sets goes, by the
same rule.

(1) is not centred: an offset would have to be published, and with it where the columns are. It need not be: what cannot be
summed in fixed point is refused, so that x_j^2 sums to less than 2^63 / (M 2^f), and a double's rounding of it, near
1e-7, is all that is lost. A feature that varies less than that counts as constant.

How many rounds there are follows from the size of the voted set, which is bounded before the start.

Roles. Holder: records with labels. Coordinator: learns (1) and the accuracies; publishes who goes.
Threat. Semi-honest; coalitions as `secure_sum`. (1) is over whole groups of rows (`atoms`), as all later sums are.
Not protected: (1) gives the coordinator mean and variance of every feature in every class; what `fold_accuracy` and
`cutting_plane` open for every subset tried.
Source: 004 chapter 6, corrected (docs/methods/feature_selection.md). `trials` and dropping many at once are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.numeric.elimination import schedule, without
from tacit.numeric.filters import Filters, candidates, voted
from tacit.numeric.relevance import class_sums
from tacit.protocols.atoms import IDENTITY, Atoms, Told, begin
from tacit.protocols.atoms import keep as keep_atoms
from tacit.protocols.feature_map import Records
from tacit.protocols.fold_accuracy import (
    Dropped,
    Folds,
    best_score,
    check_folds,
    deal,
    fold_accuracy,
    most_accurate,
    no_scores,
    rate,
    score,
)
from tacit.protocols.row_maps import SQUARES, counted
from tacit.protocols.row_problems import Svm, classes_at
from tacit.protocols.secure_sum import secure_sum
from tacit.protocols.subset_svm import Ground, agree, settled, subset_maps


class Passing(Message, tells="which features pass the filters, weakest first"):
    """The voted set."""

    features: I64


@choreography(
    opens={
        Coordinator: "count, sum and sum of squares of every feature in every class, over whole groups of rows; the accuracy of every"
        " subset tried",
        Everyone: "which features pass the filters, in which order; their landmarks; the ranking; a model for every subset and fold",
    }
)
def select_filter(
    run: Run,
    data: At[Any],
    *,
    svm: Mapping[str, Any],
    filters: Mapping[str, Any],
    keep: int = 1,
    step: float = 1,
    cv: int = 5,
    best: bool = True,
    at_most: int | None = None,
    trials: int = 10,
) -> dict[str, Any]:
    """Filter; then drop features until `keep` are left; with `best`, the best subset of at most `at_most` on the way is chosen."""
    ground = agree(run, data, svm=Svm(**svm))
    ground = dataclasses.replace(ground, trainings=trainings(ground.columns, keep, step, trials))
    extra = opened(ground, ground.trainings)
    kind = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    first = run.local(Holder, begin, data, kind, Told(((IDENTITY, ground.columns), *extra.maps)), ground.svm.hold_back)
    least, counts = counted(run, first, ground=ground)
    ground = dataclasses.replace(ground, taking=counts.taking)
    passing = passed(run, data, first, ground=ground, by=Filters(**filters))
    features = np.sort(passing)
    drops = schedule(len(features), min(keep, len(features)), step)
    found = {"features": features, "rows": round(float(ground.sizes.sum())), "least": least}
    if not drops:
        return {
            **found,
            "gone": (),
            "chosen": 0,
            "scores": run.local(Coordinator, no_scores, 1),
            "folds": 0,
            "centres": ground.centres[:, :0],
        }
    ground, atoms = settled(run, data, first, features, ground=ground)
    folds, atoms = deal(run, atoms, ground=ground, most=cv, seed=ground.svm.seed)
    if best:
        check_folds(folds.number, "to choose the best subset")
    s = run.carry(left=features, gone=(), atoms=atoms, scores=run.local(Coordinator, no_scores, len(drops) + 1))
    ceiling = (at_most or ground.columns) if best else 0
    if len(features) <= ceiling:
        s.scores, s.atoms = rate(run, data, s.atoms, s.left, s.scores, 0, ground=ground, folds=folds)
    for t in run.rounds(len(drops), s):
        tried = candidates(passing[np.isin(passing, s.left)], drops[t], trials)
        at = t + 1 if len(s.left) - drops[t] <= ceiling else -1  # of a subset that is too large the score does not count
        dropped, s.scores, s.atoms = lose(run, data, s.atoms, s.left, tried, s.scores, at, ground=ground, folds=folds)
        s.left, s.gone = without(s.left, dropped), (*s.gone, dropped)
        run.note(features=len(s.left), tried=len(tried))
    chosen = most_accurate(run, s.scores, ground=ground) if best else len(drops)
    return {**found, "gone": s.gone, "chosen": chosen, "scores": s.scores, "folds": folds.number, "centres": ground.centres}


@choreography(
    opens={
        Coordinator: "count, sum and sum of squares of every feature in every class, over whole groups of rows",
        Everyone: "which features pass the filters, weakest first",
    }
)
def passed(run: Run, data: At[Any], atoms: At[Atoms], *, ground: Ground, by: Filters) -> I64:
    """The voted set, weakest first."""
    use = np.flatnonzero(ground.playing > 0)
    keep_atoms(run, atoms)
    own = run.local(Holder, own_sums, data, atoms, use)
    total = secure_sum(run, own, to=Coordinator, by=ground.by, fixed=ground.fixed, what="moments of the classes")
    return run.publish(Passing, run.local(Coordinator, passing_by, total, by, ground.fixed.error)).features


@choreography(opens={Coordinator: "the accuracy without each set tried", Everyone: "which set goes"})
def lose(
    run: Run, data: At[Any], atoms: At[Atoms], left: I64, tried: I64, scores: At[F64], at: int, *, ground: Ground, folds: Folds
) -> tuple[I64, At[F64], At[Atoms]]:
    """(2): a row of `tried` is a set; the accuracy without it is the score of what is left."""
    if not folds.number:  # then the filters decide
        return np.sort(tried[0]), run.local(Coordinator, score, scores, -1, 0.0), atoms
    found = []
    for each in tried:
        accuracy, atoms = fold_accuracy(run, data, atoms, without(left, each), ground=ground, folds=folds)
        found.append(accuracy)
    dropped = run.publish(Dropped, run.local(Coordinator, least_missed, tried, *found)).features
    return dropped, run.local(Coordinator, best_score, scores, at, *found), atoms


def opened(ground: Ground, trainings: int) -> Told:
    """What a selection opens of every row beside the columns: squares, and the maps of all trainings."""
    return Told(((SQUARES, ground.columns), *subset_maps(ground.svm, ground.rows, ground.columns, trainings)))


def trainings(columns: int, keep: int, step: float, trials: int) -> int:
    """How many subsets can be tried at most, if all columns pass."""
    return 1 + trials * len(schedule(columns, min(keep, columns), step))


# Steps at the holders


def own_sums(part: Records, atoms: Atoms, use: I64) -> F64:
    """(1)."""
    kept = atoms.group >= 0
    return class_sums(part.X[kept], np.searchsorted(use, atoms.kind[kept]), len(use))


# Steps at the coordinator


def passing_by(total: F64, by: Filters, error: float) -> Passing:
    """The voted set."""
    return Passing(voted(total, by, error))


def least_missed(tried: I64, *found: float) -> Dropped:
    """The set without which the accuracy is the largest; of equals the weakest."""
    return Dropped(np.sort(tried[int(np.argmax(found))]))
