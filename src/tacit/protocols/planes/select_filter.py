"""Filter, then wrapper: features that pass three filters, and of these the subset of the best accuracy over folds.

The problem. Of every class c of which rows take part, the holders sum

    n_c,   sum_{x in c} x_j,   sum_{x in c} x_j^2          over all features j, to the coordinator                  (1)

from which come Fisher's score, Welch's t with its p-value, and the ratio of between and within class scatter
(`numeric.features.relevance`); the features that pass (`numeric.features.filters`) are published, weakest first: the
voted set. Landmarks are agreed on its columns only. Then, with S the features left, at first the voted set:

    try to do without each of the `trials` weakest features of S; the one without which the accuracy over the folds
    is the largest goes; again                                                                                      (2)

until as many are left as are wanted, or until one is, and the largest subset on the way with nearly the best accuracy
is taken. Where m features go in a round, the weakest are taken m by m, and one of the first `trials` such sets goes, by
the same rule.

(1) is not centred: an offset would have to be published, and with it where the columns are. It need not be: what cannot
be summed in fixed point is refused, so that x_j^2 sums to less than 2^63 / (M 2^f), and a double's rounding of it, near
1e-7, is all that is lost. A feature that varies less than that counts as constant.

How many rounds there are follows from the size of the voted set, which is bounded before the start.

Roles. Holder: records with labels. Coordinator: learns (1) and the accuracies; publishes who goes.
Threat. Semi-honest; coalitions as `secure_sum`. (1) is over whole groups of rows (`atoms`), as all later sums are. Not
protected: (1) gives the coordinator mean and variance of every feature in every class; what `fold_accuracy` and
`cutting_plane` open for every subset tried.
Source: 004 chapter 6, corrected (docs/methods/feature_selection.md). `trials` and dropping many at once are ours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import TABLE, Declaration, Params, Rehearsal
from tacit.numeric.features.elimination import without
from tacit.numeric.features.filters import Filters, candidates, vote_features
from tacit.numeric.features.relevance import class_sums
from tacit.protocols.column_parameters import OF_SELECTIONS
from tacit.protocols.invented import by_rows
from tacit.protocols.part import Records
from tacit.protocols.planes.cost import selection_cost, shrink_selection
from tacit.protocols.planes.elimination import Elimination
from tacit.protocols.planes.maps import SQUARES, counted
from tacit.protocols.planes.problems import Svm, classes_at
from tacit.protocols.planes.subset_svm import MODELS_OF_SUBSETS, Ground, agree, settled, subset_maps
from tacit.protocols.scores.fold_accuracy import (
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
from tacit.protocols.sums.atoms import IDENTITY, Atoms, Told, begin
from tacit.protocols.sums.atoms import keep as keep_atoms
from tacit.protocols.work import count_left, selection_work

PASSING = Fact("select.passing", "holders", "model", "column", "which features pass the filters, weakest first")
CLASS_MOMENTS = Fact(
    "select.class_moments",
    "holder",
    "aggregate",
    "group",
    "count, sum and sum of squares of every feature in every class, over whole groups of rows",
)


@dataclass(frozen=True, kw_only=True)
class FilterElimination(Elimination):
    """How the features that passed are dropped, and without how many sets of them a round is tried."""

    best: bool = True
    trials: int = 10

    def trainings(self, columns: int) -> int:
        """Return how many subsets can be tried at most, if all columns pass."""
        return 1 + self.trials * len(self.drops(columns))


class Passing(Message, tells=PASSING):
    """The features that pass the filters: the voted set, weakest first."""

    features: I64


@dataclass(frozen=True)
class Lost:
    """Which features went in which round, the subset chosen, the scores at the coordinator, and how many folds."""

    gone: tuple[I64, ...]
    chosen: int
    scores: At[F64]
    folds: int


class Filtered(Result):
    """What a selection leaves: the features that passed, which went in which round, and the subset chosen."""

    features: I64
    gone: tuple[I64, ...]
    chosen: int
    scores: At[F64]
    folds: int
    rows: int
    least: dict[str, int]
    centres: F64


@choreography(
    opens={
        Coordinator: (
            CLASS_MOMENTS,
            Fact("select.accuracies", "holders", "aggregate", "all", "the accuracy of every subset tried"),
        ),
        Everyone: (
            Fact(
                "select.passing_order", "holders", "model", "column", "which features pass the filters, in which order"
            ),
            Fact("select.landmarks", "holder", "aggregate", "group", "the landmarks of these features"),
            Fact("select.ranking", "holders", "model", "column", "the ranking"),
            MODELS_OF_SUBSETS,
        ),
    }
)
def select_filter(
    run: Run, data: At[Records], *, svm: Svm, filters: Params, elimination: FilterElimination
) -> Filtered:
    """Filter the features, then drop more of them until `keep` are left, and choose a subset on the way."""
    ground = agree(run, data, svm=svm)
    ground = dataclasses.replace(ground, trainings=elimination.trainings(ground.columns))
    extra = list_opened(ground, ground.trainings)
    kind = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    first = run.local(Holder, begin, data, kind, Told(((IDENTITY, ground.columns), *extra.maps)), ground.svm.hold_back)
    least, counts = counted(run, first, ground=ground)
    ground = dataclasses.replace(ground, taking=counts.taking)
    passing = passed(run, data, first, ground=ground, by=Filters(**filters))
    features = np.sort(passing)
    if elimination.drops(len(features)):
        ground, atoms = settled(run, data, first, features, ground=ground)
        lost, centres = drop_weakest(run, data, atoms, passing, ground=ground, by=elimination), ground.centres
    else:
        lost, centres = Lost((), 0, run.local(Coordinator, no_scores, 1), 0), ground.centres[:, :0]
    return Filtered(
        features=features,
        gone=lost.gone,
        chosen=lost.chosen,
        scores=lost.scores,
        folds=lost.folds,
        rows=ground.rows,
        least=least,
        centres=centres,
    )


def drop_weakest(
    run: Run, data: At[Records], atoms: At[Atoms], passing: I64, *, ground: Ground, by: FilterElimination
) -> Lost:
    """Do without more and more of the features that passed, (2), and choose a subset on the way."""
    features = np.sort(passing)
    drops, ceiling = by.drops(len(features)), by.ceiling(ground.columns)
    folds, atoms = deal(run, atoms, ground=ground, most=by.cv, seed=ground.svm.seed)
    if by.best:
        check_folds(folds.number, "to choose the best subset")
    s = run.carry(left=features, gone=(), atoms=atoms, scores=run.local(Coordinator, no_scores, len(drops) + 1))
    if len(features) <= ceiling:
        s.scores, s.atoms = rate(run, data, s.atoms, s.left, s.scores, 0, ground=ground, folds=folds)
    run.expect(selection_work(ground.rows, len(drops)))
    for t in run.rounds(len(drops), s, work=count_left(len(features), drops)):
        tried = candidates(passing[np.isin(passing, s.left)], drops[t], by.trials)
        at = t + 1 if len(s.left) - drops[t] <= ceiling else -1  # the score of a larger subset does not count
        dropped, s.scores, s.atoms = lose(run, data, s.atoms, s.left, tried, s.scores, at, ground=ground, folds=folds)
        s.left, s.gone = without(s.left, dropped), (*s.gone, dropped)
        run.note(features=len(s.left), tried=len(tried))
    chosen = most_accurate(run, s.scores, ground=ground) if by.best else len(drops)
    return Lost(s.gone, chosen, s.scores, folds.number)


@choreography(
    opens={
        Coordinator: CLASS_MOMENTS,
        Everyone: PASSING,
    }
)
def passed(run: Run, data: At[Records], atoms: At[Atoms], *, ground: Ground, by: Filters) -> I64:
    """Return the voted set, weakest first."""
    use = np.flatnonzero(ground.playing > 0)
    keep_atoms(run, atoms)
    own = run.local(Holder, own_sums, data, atoms, use)
    total = ground.voice.sum_to_coordinator(own, "moments of the classes")
    return run.publish(Passing, run.local(Coordinator, vote_passing, total, by, ground.voice.fixed.error)).features


@choreography(
    opens={
        Coordinator: Fact(
            "select.accuracy_without", "holders", "aggregate", "all", "the accuracy without each set tried"
        ),
        Everyone: Fact("select.lost_set", "holders", "model", "column", "which set of features is dropped"),
    }
)
def lose(
    run: Run,
    data: At[Records],
    atoms: At[Atoms],
    left: I64,
    tried: I64,
    scores: At[F64],
    at: int,
    *,
    ground: Ground,
    folds: Folds,
) -> tuple[I64, At[F64], At[Atoms]]:
    """Return which set of features goes, (2), with the scores and the atoms after it.

    A row of `tried` is a set; the accuracy without it is the score of what is left.
    """
    if not folds.number:  # then the filters decide
        return np.sort(tried[0]), run.local(Coordinator, score, scores, -1, 0.0), atoms
    found = []
    for each in tried:
        accuracy, atoms = fold_accuracy(run, data, atoms, without(left, each), ground=ground, folds=folds)
        found.append(accuracy)
    dropped = run.publish(Dropped, run.local(Coordinator, drop_least_missed, tried, *found)).features
    return dropped, run.local(Coordinator, best_score, scores, at, *found), atoms


def list_opened(ground: Ground, trainings: int) -> Told:
    """Return what a selection opens of every row beside the columns: squares, and the maps of all trainings."""
    return Told(((SQUARES, ground.columns), *subset_maps(ground.svm, ground.rows, ground.columns, trainings)))


# Steps at the holders


def own_sums(part: Records, atoms: Atoms, use: I64) -> F64:
    """Return this holder's part of the moments (1) of every class."""
    kept = atoms.group >= 0
    return class_sums(part.X[kept], np.searchsorted(use, atoms.kind[kept]), len(use))


# Steps at the coordinator


def vote_passing(total: F64, by: Filters, error: float) -> Passing:
    """Return the voted set: the features that pass enough filters."""
    return Passing(vote_features(total, by, error))


def drop_least_missed(tried: I64, *found: float) -> Dropped:
    """Return the set without which the accuracy is the largest; of equals the weakest."""
    return Dropped(np.sort(tried[int(np.argmax(found))]))


REHEARSAL = Rehearsal(by_rows, shrink_selection, selection_cost)
SELECT_FILTER = Declaration(select_filter, TABLE, REHEARSAL, parameters=OF_SELECTIONS)
