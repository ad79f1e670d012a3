"""Voted wrapper: features go round by round, those that most of three criteria of the trained model hold for the least.

The problem. With S the features left, at first all:

    1. train on S (`subset_svm`): v, b                                                                              (1)
    2. score every feature of S by (`numeric.relevance`)
         rfe    |v'Av - v'A^-j v|                             from public values alone
         rsvm   mean_+(f - f^-j) - mean_-(f - f^-j)           from sums over the rows of each side of each problem
         t      Welch's t over the rows with y f <= 1         from their moments (`margin_moments`)                  (2)
    3. every criterion names the features that it holds for the least; those go that most criteria name; if these are too
       few, every criterion proposes further ones, and those go without which the accuracy over the folds is the
       largest (`fold_accuracy`)                                                                                     (3)
    4. again, until as many features are left as are wanted; or until one is, and the largest subset on the way with nearly
       the best accuracy over the folds is taken                                                                    (4)

How many go in which round is fixed before the first (`numeric.elimination`), and so is a bound on all messages.

A criterion abstains in a round if it has nothing to go by: rsvm if no problem has rows on both sides, t if no problem has groups within
the margin on both sides. If all abstain, rfe, which needs no sum, decides. Without folds (`fold_accuracy` says when) the first
criterion's proposal goes.

Roles. Holder: records with labels. Coordinator: learns the scores; publishes who goes.
Threat. Semi-honest; coalitions as `secure_sum`.
Not protected: every round opens sums of a new model, so that many rounds open many numbers: with a kernel that is not linear
the sums of rsvm are new functions of the same rows each time, and once they outnumber the cells of the table, nothing in
principle keeps them from being solved for it. A `step` that is a share of the features keeps the rounds few.
Source: 004 chapter 5, corrected (docs/methods/feature_selection.md). The hold-back rules and dropping many at once are ours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.elimination import schedule, without
from tacit.numeric.relevance import Expansion, margin_t, order, rfe, rsvm, rsvm_sums, vote
from tacit.protocols.atoms import Atoms, Told
from tacit.protocols.feature_map import Records
from tacit.protocols.fold_accuracy import (
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
from tacit.protocols.margin_moments import I8, margin_moments
from tacit.protocols.row_maps import SQUARES
from tacit.protocols.row_problems import Svm
from tacit.protocols.secure_sum import secure_sum
from tacit.protocols.subset_svm import Ground, agree, settle, signs_at, subset_maps, train

CRITERIA = ("rfe", "rsvm", "t")


class Voted(Message, tells="which features go, and, where the criteria disagree, between which sets the accuracy decides"):
    """A row of `contested` is a set."""

    gone: I64
    contested: I64


@choreography(
    opens={
        Coordinator: "in every round, for each feature, the sum of what it adds to the decision values over each side of each problem,"
        " the scores, and the accuracy of the subsets between which it decides",
        Everyone: "the landmarks, the ranking of the features, which sets were contested, and a model for every subset and fold",
    }
)
def select_wrapper(
    run: Run,
    data: At[Any],
    *,
    svm: Mapping[str, Any],
    criteria: tuple[str, ...] = CRITERIA,
    keep: int = 1,
    step: float = 1,
    cv: int = 5,
    best: bool = False,
    at_most: int | None = None,
) -> dict[str, Any]:
    """Drop features until `keep` are left; with `best`, the most accurate subset of at most `at_most` on the way is chosen."""
    check_criteria(criteria)
    ground = agree(run, data, svm=Svm(**svm))
    check_keep(keep, ground.columns)
    drops, ceiling = schedule(ground.columns, keep, step), (at_most or ground.columns) if best else 0
    ground = dataclasses.replace(ground, trainings=1 + len(drops) * (2 + len(criteria)))
    extra = opened(ground, criteria, ground.trainings)
    ground, atoms, least = settle(run, data, np.arange(ground.columns), ground=ground, extra=extra)
    folds = NO_FOLDS
    if best or len(criteria) > 1:
        folds, atoms = deal(run, atoms, ground=ground, most=cv, seed=ground.svm.seed)
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
    for t in run.rounds(len(drops), s):
        if len(s.left) <= ceiling and not s.scored:
            s.scores, s.atoms = rate(run, data, s.atoms, s.left, s.scores, t, ground=ground, folds=folds)
        e, s.atoms = train(run, data, s.atoms, s.left, ground=ground)
        pulls = sum_pulls(run, data, signs, s.left, e, ground=ground) if "rsvm" in criteria and large(ground).any() else None
        spread = None
        if "t" in criteria:
            spread, s.atoms = margin_moments(run, data, s.atoms, signs, s.left, e, ground=ground)
        by = voters(criteria, pulls, spread)
        voted = run.publish(Voted, run.local(Coordinator, ballot, e, s.left, pulls, spread, by, drops[t], ground.fixed.error))
        at = t + 1 if len(s.left) - drops[t] <= ceiling else -1  # of a subset that is too large the score does not count
        dropped, s.scores, s.scored, s.atoms = decide(run, data, s.atoms, voted, s.left, s.scores, at, ground=ground, folds=folds)
        s.left, s.gone = without(s.left, dropped), (*s.gone, dropped)
        run.note(features=len(s.left), contested=len(voted.contested), abstaining=len(criteria) - len(set(by) & set(criteria)))
    if best and not s.scored:
        s.scores, s.atoms = rate(run, data, s.atoms, s.left, s.scores, len(drops), ground=ground, folds=folds)
    chosen = most_accurate(run, s.scores, ground=ground) if best else len(drops)
    known = {"folds": folds.number, "rows": round(float(ground.sizes.sum())), "problems": len(ground.pairs), "centres": ground.centres}
    return {"gone": s.gone, "chosen": chosen, "scores": s.scores, "least": least, **known}


@choreography(opens={Coordinator: "for each feature, the sum of what it adds to the decision values over each side of each large problem"})
def sum_pulls(run: Run, data: At[Any], signs: At[I8], left: I64, e: Expansion, *, ground: Ground) -> At[F64]:
    """The sums of rsvm, at the coordinator."""
    own = run.local(Holder, pulled, data, signs, left, e, large(ground))
    return secure_sum(run, own, to=Coordinator, by=ground.by, fixed=ground.fixed, what="what features add")


@choreography(opens={Coordinator: "the accuracy without each contested set", Everyone: "which of them goes"})
def decide(
    run: Run, data: At[Any], atoms: At[Atoms], voted: Voted, left: I64, scores: At[F64], at: int, *, ground: Ground, folds: Folds
) -> tuple[I64, At[F64], bool, At[Atoms]]:
    """(3): who goes; the scores, and whether that of what is left is among them."""
    if not len(voted.contested):
        return voted.gone, run.local(Coordinator, unchanged, scores), False, atoms
    if not folds.number:
        return np.sort(np.append(voted.gone, voted.contested[0])), run.local(Coordinator, unchanged, scores), False, atoms
    tried = []
    for proposed in voted.contested:
        found, atoms = fold_accuracy(run, data, atoms, without(left, np.append(voted.gone, proposed)), ground=ground, folds=folds)
        tried.append(found)
    dropped = run.publish(Dropped, run.local(Coordinator, drop, voted, *tried)).features
    return dropped, run.local(Coordinator, best_score, scores, at, *tried), True, atoms


def opened(ground: Ground, criteria: tuple[str, ...], trainings: int) -> Told:
    """What a selection opens of every row beside the columns: squares for SVM-t, and the maps of all trainings."""
    squares = ((SQUARES, ground.columns),) if "t" in criteria else ()
    return Told((*squares, *subset_maps(ground.svm, ground.rows, ground.columns, trainings)))


def check_criteria(criteria: tuple[str, ...]) -> None:
    """Refuse what nobody knows."""
    if not criteria or len(set(criteria)) < len(criteria) or not set(criteria) <= set(CRITERIA):
        raise LocalError(f"criteria must be one or more of {', '.join(CRITERIA)}, each once; got {criteria!r}")


def check_keep(keep: int, columns: int) -> None:
    """Refuse to keep what is not there."""
    if not 1 <= keep <= columns:
        raise LocalError(f"{keep} features cannot be selected of {columns}: ask for 1 to {columns}")


def large(ground: Ground) -> I64:
    """1 for every problem that has rows on both sides."""
    return np.asarray(ground.sides.min(axis=1) > 0, dtype=np.int64)


def voters(criteria: tuple[str, ...], pulls: object, spread: object) -> tuple[str, ...]:
    """Those that have what they need; rfe, which needs nothing, if there are none."""
    needs = {"rfe": True, "rsvm": pulls is not None, "t": spread is not None}
    return tuple(name for name in criteria if needs[name]) or ("rfe",)


# Steps at the holders


def pulled(part: Records, signs: I8, features: I64, e: Expansion, large: I64) -> F64:
    """The sums of rsvm, of the problems that are large enough."""
    return rsvm_sums(e, part.X[:, features], (signs * large).astype(np.int8))


# Steps at the coordinator


def unchanged(scores: F64) -> F64:
    """As they were."""
    return scores


def ballot(e: Expansion, features: I64, pulls: F64 | None, spread: F64 | None, by: tuple[str, ...], number: int, error: float) -> Voted:
    """(2), and the vote of (3)."""
    scores = {"rfe": rfe(e)}
    if pulls is not None:
        scores["rsvm"] = rsvm(pulls)
    if spread is not None:
        scores["t"] = margin_t(spread, error)
    result = vote([order(scores[name]) for name in by], number)
    contested = np.array(result.contested, dtype=np.int64).reshape(len(result.contested), number - len(result.gone))
    return Voted(np.sort(features[list(result.gone)]), np.sort(features[contested], axis=1))


def drop(voted: Voted, *found: float) -> Dropped:
    """The set without which the accuracy is the largest; of equals the first."""
    return Dropped(np.sort(np.append(voted.gone, voted.contested[int(np.argmax(found))])))
