"""Accuracy over folds of rows that many hold: how good a set of features is, without a test set that anybody shows.

The problem. Every holder deals its own rows of every class to k folds. For the features S,

    accuracy(S) = sum_q |{i in fold q : f_q(x_i) chooses y_i}| / n,   f_q trained without fold q                    (1)

The k models are k problems (k times the classes, if these are more than two) that differ only in which rows have a
sign; they share one map and advance together in one `cutting_plane`, so a fold costs no round of its own. Numerator and
denominator of (1) are one secure sum to the coordinator, who tells nobody: it publishes which subset was best.

How many folds. The sum of a class over all rows less that over the rows outside of a fold is the sum over the fold. So
the holders first count, for every k up to the number asked for, the rows of every class in every fold, and the coordinator
takes the largest k for which no such count lies between 1 and min_count - 1. If there is none, there are no folds.

Roles. Holder: records with labels. Coordinator: learns the counts and the accuracies.
Threat. Semi-honest; coalitions as `secure_sum`. The seed of the folds is public: who knows it, and in which order a holder
keeps its rows, knows which row is in which fold, and nothing about the row.
Not protected: what `cutting_plane` opens, for k models that all have most rows in common: its rule compares the sums of
one fold's problem with each other, not with those of another fold or of the model on all rows. The sums of the classes,
fold by fold, follow from its first cuts; a cut that came within a few rows of a union of these would show the few.
Source: 004 sections 5.2.3 and 6.2.3 (5-fold accuracy), corrected (docs/methods/feature_selection.md). The rest is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.elimination import best
from tacit.numeric.folds import chosen, dealt
from tacit.protocols.cutting_plane import Solution
from tacit.protocols.plane_rows import Rows
from tacit.protocols.row_problems import Common, classes_at
from tacit.protocols.secure_sum import secure_sum
from tacit.protocols.subset_svm import Ground, mapped, solve, subset_map
from tacit.protocols.witness import Voice


class FoldNumber(Message, tells="into how many folds the rows are dealt, so that none has a few rows of a class"):
    """0: there is no such number."""

    folds: int


class Best(Message, tells="which of the subsets tried is the largest with nearly the best accuracy over the folds"):
    """Its number."""

    subset: int


class Dropped(Message, tells="which features go in this round"):
    """Their numbers."""

    features: I64


@dataclass(frozen=True)
class Folds:
    """How many, and at each holder the fold of each row."""

    number: int
    of: At[I64] | None


NO_FOLDS = Folds(0, None)


@choreography(opens={Coordinator: "how many rows of each class are in each fold, over all parties", Everyone: "the number of folds"})
def deal(run: Run, data: At[Any], *, ground: Common, most: int, seed: int) -> Folds:
    """Every holder deals its rows to at most `most` folds."""
    codes = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    voice = Voice(run, ground.by, ground.fixed, ground.svm.witness)
    total = voice.added(fold_sizes, codes, len(ground.classes), most, seed, run.who(Holder))
    number = voice.told(FoldNumber, largest, total, len(ground.classes), most, ground.svm.min_count).folds
    return Folds(number, run.local(Holder, dealt_here, codes, max(1, number), seed, run.who(Holder)))


@choreography(opens={Coordinator: "how many rows the models of the other folds label rightly", Everyone: "one model per fold and problem"})
def fold_accuracy(run: Run, data: At[Any], features: I64, *, ground: Ground, folds: Folds) -> At[float]:
    """(1) for these features, at the coordinator."""
    the_map = subset_map(run, features, ground=ground)
    whole = run.local(Holder, mapped, data, features, the_map, ground.classes, ground.pairs, ground.weights, ground.svm.dtype)
    found = solve(run, run.local(Holder, in_folds, whole, folds.of, folds.number), ground=ground)
    codes = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    right = run.local(Holder, rightly, whole, codes, folds.of, folds.number, found)
    total = secure_sum(run, right, to=Coordinator, by=ground.by, fixed=ground.fixed, what="rows rightly labelled")
    return run.local(Coordinator, share, total)


@choreography(opens={Coordinator: "the accuracy of the features left"})
def rate(run: Run, data: At[Any], left: I64, scores: At[F64], at: int, *, ground: Ground, folds: Folds) -> At[F64]:
    """The scores with that of the features left."""
    return run.local(Coordinator, score, scores, at, fold_accuracy(run, data, left, ground=ground, folds=folds))


@choreography(opens={Everyone: "which of the subsets tried is the largest with nearly the best accuracy"})
def most_accurate(run: Run, scores: At[F64], *, ground: Ground) -> int:
    """The number of the best subset."""
    return run.publish(Best, run.local(Coordinator, best_of, scores, round(float(ground.sizes.sum())))).subset


def check_folds(folds: Folds, min_count: int) -> None:
    """Refuse to choose by an accuracy that cannot be had."""
    if not folds.number:
        raise LocalError(
            f"there are too few rows for folds: even of two, one would have fewer than min_count={min_count} rows of a class;"
            " lower min_count, or say how many features to select"
        )


# Steps at the holders


def dealt_here(codes: I64, folds: int, seed: int, me: str) -> I64:
    """The holder's own deal."""
    return dealt(codes, folds, (seed, *me.encode()))


def fold_sizes(codes: I64, classes: int, most: int, seed: int, me: str) -> F64:
    """Rows of every class in every fold, for 2 to `most` folds."""
    counts = [_sizes(dealt_here(codes, k, seed, me), codes, k, classes) for k in range(2, most + 1)]
    return np.concatenate(counts).astype(np.float64)


def _sizes(fold: I64, codes: I64, folds: int, classes: int) -> I64:
    use = codes >= 0
    return np.bincount(fold[use] * classes + codes[use], minlength=folds * classes)


def in_folds(rows: Rows, fold: I64, folds: int) -> Rows:
    """Every problem once per fold, without the fold's rows."""
    signs = [np.where(fold[:, None] == q, 0, rows.signs) for q in range(folds)]
    return Rows(rows.F, np.concatenate(signs, axis=1).astype(np.int8), rows.weight)


def rightly(rows: Rows, codes: I64, fold: I64, folds: int, found: Solution) -> F64:
    """Numerator and denominator of (1)."""
    values = (rows.F @ found.w.T.astype(rows.F.dtype)).astype(np.float64) + found.b
    own = values.reshape(len(codes), folds, values.shape[1] // folds)[np.arange(len(codes)), fold]  # of the model that did not see the row
    use = codes >= 0
    return np.array([np.sum(chosen(own[use]) == codes[use]), use.sum()], dtype=np.float64)


# Steps at the coordinator


def largest(counts: F64, classes: int, most: int, min_count: int) -> FoldNumber:
    """The most folds of which none has a few rows of a class."""
    ends = np.cumsum([k * classes for k in range(2, most + 1)])
    cells = np.split(np.rint(counts), ends[:-1])
    harmless = [k for k, cell in enumerate(cells, start=2) if np.all((cell == 0) | (cell >= min_count))]
    return FoldNumber(max(harmless, default=0))


def share(total: F64) -> float:
    """(1)."""
    return float(round(total[0]) / max(1, round(total[1])))


def no_scores(subsets: int) -> F64:
    """Of every subset on the way, none."""
    return np.full(subsets, np.nan)


def score(scores: F64, at: int, accuracy: float) -> F64:
    """With that of subset number `at`."""
    return np.where(np.arange(len(scores)) == at, accuracy, scores)


def best_score(scores: F64, at: int, *tried: float) -> F64:
    """With the largest of these accuracies."""
    return score(scores, at, max(tried))


def best_of(scores: F64, rows: int) -> Best:
    """As `numeric.elimination` has it."""
    return Best(best(scores, rows))
