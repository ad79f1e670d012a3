"""Voted wrapper: features go round by round, those that most of three criteria of the trained model hold for the least.

The problem. With S the features left, at first all:

    1. train on S (`subset_svm`): v, b                                                                              (1)
    2. score every feature of S by (`numeric.features.relevance`)
         rfe    |v'Av - v'A^-j v|                             from public values alone
         rsvm   mean_+(f - f^-j) - mean_-(f - f^-j)           from sums over the rows of each side of each problem
         t      Welch's t over the rows with y f <= 1         from their moments (`margin_moments`)                  (2)
    3. every criterion names the features that it holds for the least; those go that most criteria name; if these
       are too few, every criterion proposes further ones, and those go without which the accuracy over the folds
       is the largest (`fold_accuracy`)                                                                            (3)
    4. again, until as many features are left as are wanted; or until one is, and the largest subset on the way
       with nearly the best accuracy over the folds is taken                                                       (4)

How many go in which round is fixed before the first (`numeric.features.elimination`), and so is a bound on all
messages.

A criterion abstains in a round if it has nothing to go by: rsvm if no problem has rows on both sides, t if no problem
has groups within the margin on both sides. If all abstain, rfe, which needs no sum, decides. Without folds
(`fold_accuracy` says when) the first criterion's proposal goes.

Roles. Holder: records with labels. Coordinator: learns the scores; publishes who goes.
Threat. Semi-honest; coalitions as `secure_sum`. Not protected: every round opens sums of a new model, so that many
rounds open many numbers: with a kernel that is not linear the sums of rsvm are new functions of the same rows each
time, and once they outnumber the cells of the table, nothing in principle keeps them from being solved for it. A `step`
that is a share of the features keeps the rounds few.
Source: 004 chapter 5, corrected (docs/methods/feature_selection.md). The hold-back rules and dropping many at once are
ours.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from tacit.arrays import F64, I8, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import TABLE, Declaration, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.features.elimination import without
from tacit.numeric.features.relevance import Expansion, margin_t, order, rfe, rsvm, rsvm_sums, vote
from tacit.protocols.column_parameters import OF_SELECTIONS
from tacit.protocols.invented import by_rows
from tacit.protocols.part import Records
from tacit.protocols.planes.cost import selection_cost, shrink_selection
from tacit.protocols.planes.elimination import Elimination
from tacit.protocols.planes.maps import SQUARES
from tacit.protocols.planes.margin_moments import margin_moments
from tacit.protocols.planes.problems import Svm
from tacit.protocols.planes.subset_svm import MODELS_OF_SUBSETS, Ground, agree, settle, signs_at, subset_maps, train
from tacit.protocols.scores.fold_accuracy import (
    NO_FOLDS,
    Dropped,
    Folds,
    best_score,
    check_folds,
    deal,
    fold_accuracy,
    most_accurate,
    no_scores,
    rate,
)
from tacit.protocols.sums.atoms import Atoms, Told
from tacit.protocols.work import count_left, selection_work

CRITERIA = ("rfe", "rsvm", "t")


class Voted(
    Message,
    tells=Fact(
        "select.voted",
        "holders",
        "model",
        "column",
        "which features are dropped, and, where the criteria disagree, between which sets the accuracy decides",
    ),
):
    """Which features go, and the contested sets, one in each row, between which the accuracy decides."""

    gone: I64
    contested: I64


class Selected(Result):
    """What a selection leaves: which features went in which round, and the subset chosen."""

    gone: tuple[I64, ...]
    chosen: int
    scores: At[F64]
    least: dict[str, int]
    folds: int
    rows: int
    problems: int
    centres: F64


@choreography(
    opens={
        Coordinator: Fact(
            "select.round_sums",
            "holders",
            "aggregate",
            "class",
            "in every round, for each feature, the sum of what it adds to the decision values over each side of each "
            "problem, the scores, and the accuracy of the subsets between which it decides",
        ),
        Everyone: (
            Fact("select.feature_landmarks", "holder", "aggregate", "group", "the landmarks"),
            Fact("select.feature_ranking", "holders", "model", "column", "the ranking of the features"),
            Fact("select.contested", "holders", "model", "column", "which sets were contested"),
            MODELS_OF_SUBSETS,
        ),
    }
)
def select_wrapper(
    run: Run, data: At[Records], *, svm: Svm, criteria: tuple[str, ...] = CRITERIA, elimination: Elimination
) -> Selected:
    """Drop features until `keep` are left, and choose a subset on the way."""
    check_criteria(criteria)
    ground = agree(run, data, svm=svm)
    check_keep(elimination.keep, ground.columns)
    best, drops = elimination.best, elimination.drops(ground.columns)
    ceiling = elimination.ceiling(ground.columns)
    ground = dataclasses.replace(ground, trainings=1 + len(drops) * (2 + len(criteria)))
    extra = list_opened(ground, criteria, ground.trainings)
    ground, atoms, least = settle(run, data, np.arange(ground.columns), ground=ground, extra=extra)
    folds = NO_FOLDS
    if best or len(criteria) > 1:
        folds, atoms = deal(run, atoms, ground=ground, most=elimination.cv, seed=ground.svm.seed)
    if best:
        check_folds(folds.number, "to choose the best subset")
    signs = run.local(Holder, signs_at, atoms, ground.pairs)
    s = run.carry(
        left=np.arange(ground.columns),
        gone=(),
        atoms=atoms,
        scores=run.local(Coordinator, no_scores, len(drops) + 1),
        scored=False,  # whether the subset at hand has a score
    )
    run.expect(selection_work(ground.rows, len(drops)))
    for t in run.rounds(len(drops), s, work=count_left(ground.columns, drops)):
        if len(s.left) <= ceiling and not s.scored:
            s.scores, s.atoms = rate(run, data, s.atoms, s.left, s.scores, t, ground=ground, folds=folds)
        voted, abstaining, s.atoms = hold_vote(
            run, data, s.atoms, signs, s.left, drops[t], ground=ground, criteria=criteria
        )
        at = t + 1 if len(s.left) - drops[t] <= ceiling else -1  # the score of a larger subset does not count
        dropped, s.scores, s.scored, s.atoms = decide(
            run, data, s.atoms, voted, s.left, s.scores, at, ground=ground, folds=folds
        )
        s.left, s.gone = without(s.left, dropped), (*s.gone, dropped)
        run.note(features=len(s.left), contested=len(voted.contested), abstaining=abstaining)
    if best and not s.scored:
        s.scores, s.atoms = rate(run, data, s.atoms, s.left, s.scores, len(drops), ground=ground, folds=folds)
    return Selected(
        gone=s.gone,
        chosen=most_accurate(run, s.scores, ground=ground) if best else len(drops),
        scores=s.scores,
        least=least,
        folds=folds.number,
        rows=ground.rows,
        problems=len(ground.pairs),
        centres=ground.centres,
    )


def hold_vote(
    run: Run,
    data: At[Records],
    atoms: At[Atoms],
    signs: At[I8],
    left: I64,
    number: int,
    *,
    ground: Ground,
    criteria: tuple[str, ...],
) -> tuple[Voted, int, At[Atoms]]:
    """Train on the features left, and publish which of them the criteria vote out; return how many criteria abstain."""
    e, atoms = train(run, data, atoms, left, ground=ground)
    pulls, spread = None, None
    if "rsvm" in criteria and large(ground).any():
        pulls = sum_pulls(run, data, signs, left, e, ground=ground)
    if "t" in criteria:
        spread, atoms = margin_moments(run, data, atoms, signs, left, e, ground=ground)
    by = voters(criteria, pulls, spread)
    counted = run.local(Coordinator, ballot, e, left, pulls, spread, by, number, ground.voice.fixed.error)
    return run.publish(Voted, counted), len(criteria) - len(set(by) & set(criteria)), atoms


@choreography(
    opens={
        Coordinator: Fact(
            "select.pulls",
            "holders",
            "aggregate",
            "class",
            "for each feature, the sum of what it adds to the decision values over each side of each large problem",
        )
    }
)
def sum_pulls(run: Run, data: At[Records], signs: At[I8], left: I64, e: Expansion, *, ground: Ground) -> At[F64]:
    """Return the sums of rsvm at the coordinator."""
    own = run.local(Holder, sum_own_pulls, data, signs, left, e, large(ground))
    return ground.voice.sum_to_coordinator(own, "what features add")


@choreography(
    opens={
        Coordinator: Fact(
            "select.contested_accuracy", "holders", "aggregate", "all", "the accuracy without each contested set"
        ),
        Everyone: Fact(
            "select.contested_loser", "holders", "model", "column", "which of the contested sets is dropped"
        ),
    }
)
def decide(
    run: Run,
    data: At[Records],
    atoms: At[Atoms],
    voted: Voted,
    left: I64,
    scores: At[F64],
    at: int,
    *,
    ground: Ground,
    folds: Folds,
) -> tuple[I64, At[F64], bool, At[Atoms]]:
    """Return who goes, (3); the scores, and whether that of what is left is among them; and the atoms."""
    if not len(voted.contested):
        return voted.gone, run.local(Coordinator, keep_scores, scores), False, atoms
    if not folds.number:
        first = np.sort(np.append(voted.gone, voted.contested[0]))
        return first, run.local(Coordinator, keep_scores, scores), False, atoms
    tried = []
    for proposed in voted.contested:
        rest = without(left, np.append(voted.gone, proposed))
        found, atoms = fold_accuracy(run, data, atoms, rest, ground=ground, folds=folds)
        tried.append(found)
    dropped = run.publish(Dropped, run.local(Coordinator, drop, voted, *tried)).features
    return dropped, run.local(Coordinator, best_score, scores, at, *tried), True, atoms


def list_opened(ground: Ground, criteria: tuple[str, ...], trainings: int) -> Told:
    """Return what a selection opens of every row beside the columns: squares for SVM-t, and all maps."""
    squares = ((SQUARES, ground.columns),) if "t" in criteria else ()
    return Told((*squares, *subset_maps(ground.svm, ground.rows, ground.columns, trainings)))


def check_criteria(criteria: tuple[str, ...]) -> None:
    """Raise unless the criteria are known ones, each named once."""
    if not criteria or len(set(criteria)) < len(criteria) or not set(criteria) <= set(CRITERIA):
        raise LocalError(f"criteria must be one or more of {', '.join(CRITERIA)}, each once; got {criteria!r}")


def check_keep(keep: int, columns: int) -> None:
    """Raise unless there are at least as many features as are to be kept."""
    if not 1 <= keep <= columns:
        raise LocalError(f"{keep} features cannot be selected of {columns}: ask for 1 to {columns}")


def large(ground: Ground) -> I64:
    """Return 1 for every problem that has rows on both sides, else 0."""
    return np.asarray(ground.sides.min(axis=1) > 0, dtype=np.int64)


def voters(criteria: tuple[str, ...], pulls: object, spread: object) -> tuple[str, ...]:
    """Return the criteria that have what they need; rfe, which needs nothing, if there are none."""
    needs = {"rfe": True, "rsvm": pulls is not None, "t": spread is not None}
    return tuple(name for name in criteria if needs[name]) or ("rfe",)


# Steps at the holders


def sum_own_pulls(part: Records, signs: I8, features: I64, e: Expansion, large: I64) -> F64:
    """Return this holder's part of the sums of rsvm, of the problems that are large enough."""
    return rsvm_sums(e, part.X[:, features], (signs * large).astype(np.int8))


# Steps at the coordinator


def keep_scores(scores: F64) -> F64:
    """Return the scores as they were."""
    return scores


def ballot(
    e: Expansion, features: I64, pulls: F64 | None, spread: F64 | None, by: tuple[str, ...], number: int, error: float
) -> Voted:
    """Return the outcome of the vote (3) over the scores (2) of all criteria."""
    scores = {"rfe": rfe(e)}
    if pulls is not None:
        scores["rsvm"] = rsvm(pulls)
    if spread is not None:
        scores["t"] = margin_t(spread, error)
    result = vote([order(scores[name]) for name in by], number)
    contested = np.array(result.contested, dtype=np.int64).reshape(len(result.contested), number - len(result.gone))
    return Voted(np.sort(features[list(result.gone)]), np.sort(features[contested], axis=1))


def drop(voted: Voted, *found: float) -> Dropped:
    """Return the set without which the accuracy is the largest; of equals the first."""
    return Dropped(np.sort(np.append(voted.gone, voted.contested[int(np.argmax(found))])))


REHEARSAL = Rehearsal(by_rows, shrink_selection, selection_cost)
SELECT_WRAPPER = Declaration(select_wrapper, TABLE, REHEARSAL, parameters=OF_SELECTIONS)
