"""Accuracy over folds of rows that many hold: how good a set of features is, without a test set that anybody shows.

The problem. Every holder deals its own rows of every class to k folds. For the features S,

    accuracy(S) = sum_q |{i in fold q : f_q(x_i) chooses y_i}| / n,   f_q trained without fold q                    (1)

The k models are k problems (k times the classes, if these are more than two) that differ only in which rows have a
sign; they share one map and advance together in one `cutting_plane`, so a fold costs no round of its own. Numerator and
denominator of (1) are one secure sum to the coordinator, who tells nobody: it publishes which subset was best.

How folds are dealt. A fold is a set that sums leave out, so it must be a union of groups (`atoms`): every holder cuts
its groups into pieces that are groups again, and deals these round. The holders first count, for every k up to the
number asked for, the rows of every class in every fold, and the coordinator takes the largest k for which every fold
has rows of every class. If there is none, there are no folds.

Roles. Holder: records with labels. Coordinator: learns the counts and the accuracies.
Threat. Semi-honest; coalitions as `secure_sum`. The seed of the folds is public: who knows it, and in which order a
holder keeps its rows, knows which row is in which fold, and nothing about the row. Not protected: counts of rows that
are labelled rightly are exact, whatever groups they are in.
Source: 004 sections 5.2.3 and 6.2.3 (5-fold accuracy), corrected (docs/methods/feature_selection.md). The rest is ours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.features.elimination import best
from tacit.numeric.groups.atoms import deal_groups
from tacit.numeric.scores.folds import choose_class
from tacit.protocols.part import Records
from tacit.protocols.planes.cutting_plane import Solution
from tacit.protocols.planes.problems import Common
from tacit.protocols.planes.rows import Rows
from tacit.protocols.planes.subset_svm import Ground, map_columns, solve, subset_map
from tacit.protocols.sums.atoms import Atoms, split_by_part

FOLD_COUNTS = Fact(
    "folds.class_counts", "holders", "count", "class", "how many rows of each class are in each fold, over all parties"
)
FOLD_NUMBER = Fact("folds.number", "holders", "count", "all", "the number of folds")
FOLD_MODELS = Fact("folds.models", "holders", "model", "all", "one model per fold and problem")


class FoldNumber(
    Message,
    tells=Fact(
        "folds.number_with_classes",
        "holders",
        "count",
        "all",
        "into how many folds the rows are dealt, so that each has rows of every class",
    ),
):
    """The number of folds; 0 if there is none for which every fold has rows of every class."""

    folds: int


class Best(
    Message,
    tells=Fact(
        "folds.best_subset_of_folds",
        "holders",
        "model",
        "column",
        "which of the subsets tried is the largest with nearly the best accuracy over the folds",
    ),
):
    """The number of the best subset."""

    subset: int


class Dropped(
    Message, tells=Fact("folds.dropped", "holders", "model", "column", "which features are dropped in this round")
):
    """The numbers of the features that go."""

    features: I64


@dataclass(frozen=True)
class Folds:
    """How many folds there are, and at each holder the fold of each row."""

    number: int
    of: At[I64] | None


NO_FOLDS = Folds(0, None)


@choreography(opens={Coordinator: FOLD_COUNTS, Everyone: FOLD_NUMBER})
def deal(run: Run, atoms: At[Atoms], *, ground: Common, most: int, seed: int) -> tuple[Folds, At[Atoms]]:
    """Let every holder deal its rows to at most `most` folds; return them with the atoms of the folds' pieces."""
    me, classes = run.who(Holder), len(ground.classes)
    total = ground.voice.add_up(fold_sizes, atoms, classes, most, seed, me)
    number = ground.voice.announce(FoldNumber, choose_fold_number, total, ground.playing, most).folds
    fold = run.local(Holder, deal_own_rows, atoms, max(1, number), seed, me)
    return Folds(number, fold), run.local(Holder, split_by_part, atoms, fold)


@choreography(
    opens={
        Coordinator: Fact(
            "folds.right", "holders", "count", "all", "how many rows the models of the other folds label rightly"
        ),
        Everyone: FOLD_MODELS,
    }
)
def fold_accuracy(
    run: Run, data: At[Records], atoms: At[Atoms], features: I64, *, ground: Ground, folds: Folds
) -> tuple[At[float], At[Atoms]]:
    """Return the accuracy (1) of these features, at the coordinator."""
    the_map = subset_map(run, features, ground=ground)
    whole = run.local(Holder, map_columns, data, atoms, features, the_map, *ground.labelling)
    beside, columns = (
        run.local(Holder, leave_out_folds, whole, folds.of, folds.number),
        len(ground.pairs) * folds.number,
    )
    found, atoms = solve(run, beside, atoms, width=the_map.size, columns=columns, ground=ground)
    right = run.local(Holder, count_right, whole, atoms, folds.of, folds.number, found)
    total = ground.voice.sum_to_coordinator(right, "rows rightly labelled")
    return run.local(Coordinator, share, total), atoms


@choreography(
    opens={Coordinator: Fact("folds.accuracy", "holders", "aggregate", "all", "the accuracy of the features left")}
)
def rate(
    run: Run, data: At[Records], atoms: At[Atoms], left: I64, scores: At[F64], at: int, *, ground: Ground, folds: Folds
) -> tuple[At[F64], At[Atoms]]:
    """Return the scores with that of the features left."""
    accuracy, atoms = fold_accuracy(run, data, atoms, left, ground=ground, folds=folds)
    return run.local(Coordinator, score, scores, at, accuracy), atoms


@choreography(
    opens={
        Everyone: Fact(
            "folds.best_subset",
            "holders",
            "model",
            "column",
            "which of the subsets tried is the largest with nearly the best accuracy",
        )
    }
)
def most_accurate(run: Run, scores: At[F64], *, ground: Ground) -> int:
    """Return the number of the best subset."""
    return run.publish(Best, run.local(Coordinator, best_of, scores, ground.rows)).subset


def check_folds(folds: int, why: str) -> None:
    """Raise if there are no folds, where something needs them."""
    if not folds:
        raise LocalError(
            f"{why} leaves rows out in turn, and there are too few groups of min_count rows for that: even of two folds"
            " one would have no rows of some class; bring more rows, ask for fewer landmarks, or lower min_count with"
            " accept_risk=True"
        )


# Steps at the holders


def deal_own_rows(atoms: Atoms, folds: int, seed: int, me: str) -> I64:
    """Return the fold of each of the holder's rows."""
    return deal_groups(atoms.group, atoms.kind, folds, atoms.least, np.random.default_rng((seed, *me.encode())))


def fold_sizes(atoms: Atoms, classes: int, most: int, seed: int, me: str) -> F64:
    """Return how many rows of every class are in every fold, for 2 to `most` folds."""
    use, deals = atoms.group >= 0, [(k, deal_own_rows(atoms, k, seed, me)) for k in range(2, most + 1)]
    counts = [np.bincount((fold * classes + atoms.kind)[use], minlength=k * classes) for k, fold in deals]
    return np.concatenate(counts).astype(np.float64)


def leave_out_folds(rows: Rows, fold: I64, folds: int) -> Rows:
    """Return the rows with every problem once per fold, without the fold's rows."""
    signs = [np.where(fold[:, None] == q, 0, rows.signs) for q in range(folds)]
    return dataclasses.replace(rows, signs=np.concatenate(signs, axis=1).astype(np.int8))


def count_right(rows: Rows, atoms: Atoms, fold: I64, folds: int, found: Solution) -> F64:
    """Return numerator and denominator of (1)."""
    codes = atoms.kind
    values = rows.values(found.w) + found.b
    by_fold = values.reshape(len(codes), folds, values.shape[1] // folds)
    own = by_fold[np.arange(len(codes)), fold]  # of the model that did not see the row
    use = atoms.group >= 0
    return np.array([np.sum(choose_class(own[use]) == codes[use]), use.sum()], dtype=np.float64)


# Steps at the coordinator


def choose_fold_number(counts: F64, sizes: F64, most: int) -> FoldNumber:
    """Return the most folds of which each has rows of every class that takes part."""
    ends = np.cumsum([k * len(sizes) for k in range(2, most + 1)])
    cells = [part.reshape(-1, len(sizes))[:, sizes > 0] for part in np.split(np.rint(counts), ends[:-1])]
    return FoldNumber(max((k for k, cell in enumerate(cells, start=2) if cell.min() > 0), default=0))


def share(total: F64) -> float:
    """Return the accuracy (1) from its numerator and denominator."""
    return float(round(total[0]) / max(1, round(total[1])))


def no_scores(subsets: int) -> F64:
    """Return NaN for every subset on the way: none has a score yet."""
    return np.full(subsets, np.nan)


def score(scores: F64, at: int, accuracy: float) -> F64:
    """Return the scores with that of subset number `at`."""
    return np.where(np.arange(len(scores)) == at, accuracy, scores)


def best_score(scores: F64, at: int, *tried: float) -> F64:
    """Return the scores, with the largest of these accuracies as that of subset number `at`."""
    return score(scores, at, max(tried))


def best_of(scores: F64, rows: int) -> Best:
    """Return the number of the largest subset with nearly the best score (`numeric.features.elimination`)."""
    return Best(best(scores, rows))
