"""Accuracy over folds of rows that many hold: how good a set of features is, without a test set that anybody shows.

The problem. Every holder deals its own rows of every class to k folds. For the features S,

    accuracy(S) = sum_q |{i in fold q : f_q(x_i) chooses y_i}| / n,   f_q trained without fold q                    (1)

The k models are k problems (k times the classes, if these are more than two) that differ only in which rows have a
sign; they share one map and advance together in one `cutting_plane`, so a fold costs no round of its own. Numerator and
denominator of (1) are one secure sum to the coordinator, who tells nobody: it publishes which subset was best.

How folds are dealt. A fold is a set that sums leave out, so it must be a union of groups (`atoms`): every holder cuts its groups into
pieces that are groups again, and deals these round. The holders first count, for every k up to the number asked for, the rows
of every class in every fold, and the coordinator takes the largest k for which every fold has rows of every class. If there is none,
there are no folds.

Roles. Holder: records with labels. Coordinator: learns the counts and the accuracies.
Threat. Semi-honest; coalitions as `secure_sum`. The seed of the folds is public: who knows it, and in which order a holder
keeps its rows, knows which row is in which fold, and nothing about the row.
Not protected: counts of rows that are labelled rightly are exact, whatever groups they are in.
Source: 004 sections 5.2.3 and 6.2.3 (5-fold accuracy), corrected (docs/methods/feature_selection.md). The rest is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.atoms import dealt
from tacit.numeric.elimination import best
from tacit.numeric.folds import chosen
from tacit.protocols.atoms import Atoms, parted
from tacit.protocols.cutting_plane import Solution
from tacit.protocols.plane_rows import Rows
from tacit.protocols.row_problems import Common
from tacit.protocols.secure_sum import secure_sum
from tacit.protocols.subset_svm import Ground, mapped, solve, subset_map
from tacit.protocols.witness import Voice


class FoldNumber(Message, tells="into how many folds the rows are dealt, so that each has rows of every class"):
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
def deal(run: Run, atoms: At[Atoms], *, ground: Common, most: int, seed: int) -> tuple[Folds, At[Atoms]]:
    """Every holder deals its rows to at most `most` folds; the atoms are those of the folds' pieces."""
    me, classes = run.who(Holder), len(ground.classes)
    voice = Voice(run, ground.by, ground.fixed, ground.svm.witness)
    total = voice.added(fold_sizes, atoms, classes, most, seed, me)
    number = voice.told(FoldNumber, largest, total, ground.playing, most).folds
    fold = run.local(Holder, dealt_here, atoms, max(1, number), seed, me)
    return Folds(number, fold), run.local(Holder, parted, atoms, fold)


@choreography(opens={Coordinator: "how many rows the models of the other folds label rightly", Everyone: "one model per fold and problem"})
def fold_accuracy(
    run: Run, data: At[Any], atoms: At[Atoms], features: I64, *, ground: Ground, folds: Folds
) -> tuple[At[float], At[Atoms]]:  # fmt: skip
    """(1) for these features, at the coordinator."""
    the_map = subset_map(run, features, ground=ground)
    whole = run.local(Holder, mapped, data, atoms, features, the_map, ground.classes, ground.pairs, ground.weights, ground.svm.dtype)
    beside = run.local(Holder, in_folds, whole, folds.of, folds.number)
    found, atoms = solve(run, beside, atoms, width=the_map.size, columns=len(ground.pairs) * folds.number, ground=ground)
    right = run.local(Holder, rightly, whole, atoms, folds.of, folds.number, found)
    total = secure_sum(run, right, to=Coordinator, by=ground.by, fixed=ground.fixed, what="rows rightly labelled")
    return run.local(Coordinator, share, total), atoms


@choreography(opens={Coordinator: "the accuracy of the features left"})
def rate(
    run: Run, data: At[Any], atoms: At[Atoms], left: I64, scores: At[F64], at: int, *, ground: Ground, folds: Folds
) -> tuple[At[F64], At[Atoms]]:  # fmt: skip
    """The scores with that of the features left."""
    accuracy, atoms = fold_accuracy(run, data, atoms, left, ground=ground, folds=folds)
    return run.local(Coordinator, score, scores, at, accuracy), atoms


@choreography(opens={Everyone: "which of the subsets tried is the largest with nearly the best accuracy"})
def most_accurate(run: Run, scores: At[F64], *, ground: Ground) -> int:
    """The number of the best subset."""
    return run.publish(Best, run.local(Coordinator, best_of, scores, round(float(ground.sizes.sum())))).subset


def check_folds(folds: int, why: str) -> None:
    """Refuse what needs folds where there are none."""
    if not folds:
        raise LocalError(
            f"{why} leaves rows out in turn, and there are too few groups of min_count rows for that: even of two folds one would have no"
            " rows of some class; bring more rows, ask for fewer landmarks, or lower min_count with accept_risk=True"
        )


# Steps at the holders


def dealt_here(atoms: Atoms, folds: int, seed: int, me: str) -> I64:
    """The holder's own deal."""
    return dealt(atoms.group, atoms.kind, folds, atoms.least, np.random.default_rng((seed, *me.encode())))


def fold_sizes(atoms: Atoms, classes: int, most: int, seed: int, me: str) -> F64:
    """Rows of every class in every fold, for 2 to `most` folds."""
    use, deals = atoms.group >= 0, [(k, dealt_here(atoms, k, seed, me)) for k in range(2, most + 1)]
    counts = [np.bincount((fold * classes + atoms.kind)[use], minlength=k * classes) for k, fold in deals]
    return np.concatenate(counts).astype(np.float64)


def in_folds(rows: Rows, fold: I64, folds: int) -> Rows:
    """Every problem once per fold, without the fold's rows."""
    signs = [np.where(fold[:, None] == q, 0, rows.signs) for q in range(folds)]
    return Rows(rows.F, np.concatenate(signs, axis=1).astype(np.int8), rows.weight)


def rightly(rows: Rows, atoms: Atoms, fold: I64, folds: int, found: Solution) -> F64:
    """Numerator and denominator of (1)."""
    codes = atoms.kind
    values = (rows.F @ found.w.T.astype(rows.F.dtype)).astype(np.float64) + found.b
    own = values.reshape(len(codes), folds, values.shape[1] // folds)[np.arange(len(codes)), fold]  # of the model that did not see the row
    use = atoms.group >= 0
    return np.array([np.sum(chosen(own[use]) == codes[use]), use.sum()], dtype=np.float64)


# Steps at the coordinator


def largest(counts: F64, sizes: F64, most: int) -> FoldNumber:
    """The most folds of which each has rows of every class that takes part."""
    ends = np.cumsum([k * len(sizes) for k in range(2, most + 1)])
    cells = [part.reshape(-1, len(sizes))[:, sizes > 0] for part in np.split(np.rint(counts), ends[:-1])]
    return FoldNumber(max((k for k, cell in enumerate(cells, start=2) if cell.min() > 0), default=0))


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
