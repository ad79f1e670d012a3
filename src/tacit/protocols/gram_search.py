"""A search for parameters of a gram SVM: one gram matrix for all kernels, all C and all folds.

The problem. Of candidates (kernel with its numbers, C), the one of the largest mean score over k folds of the records:

    score(c) = mean_q s(confusion of f_cq on fold q),    f_cq trained without fold q                              (1)

The coordinator of `gram_vertical`, or of `gram_arbitrary` for other partitions and other ways to G, has the gram matrix G and every label.
All kernels follow from G, and a fold is some of its rows and columns, so (1) is its own work: the search sends what one training sends, and
the scores. Folds are dealt by a public seed, class by class. With `factor` the search halves, on nested shares of the records
(`numeric.folds.staged`); with `refit` the best candidate is trained on all records.

By rows every holder knows some of the records that are scored, and takes them off: there are as many folds, and stages, as leave none with
1 to min_count - 1 records of a class.

Roles, threat, what is not protected: as in `gram_vertical` and `gram_arbitrary`. Everyone learns the scores.
Source: ours; the models are 001's (docs/methods/gram.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.dual_svm import out_of_fold
from tacit.numeric.folds import chosen, dealt, staged
from tacit.numeric.grid import best_of, check_candidates, check_scoring, first_best, schedule, scores_of
from tacit.numeric.kernels import Kernel
from tacit.protocols.gram_arbitrary import Multiply, crossed_gram
from tacit.protocols.gram_model import Codes, Extent, Gram, Keep, Learner, check_count, kernel_matrix, learnt
from tacit.protocols.gram_vertical import BAND, keep, summed_gram

LEAST = 5  # records of a class in a fold, by rows


class Ranked(Message, tells="the score of every candidate tried in every fold, stage by stage"):
    """Which candidates, a row of scores for each, and on which share of the records."""

    candidates: tuple[I64, ...]
    scores: tuple[F64, ...]


@choreography(
    opens={
        Coordinator: "the gram matrix, which is every record up to one unknown rotation; every label;"
        " with gamma='scale' the sum of all cells",
        Everyone: "the score of every candidate in every fold",
        Holder: "which records are support vectors; how many records and columns each party has; the names of the classes",
    }
)
def gram_search(
    run: Run,
    data: At[Any],
    *,
    candidates: tuple[Mapping[str, Any], ...],
    kernel: str,
    gamma: float | str,
    degree: int,
    coef0: float,
    C: float,
    class_weight: dict[Any, float] | str | None = None,
    tol: float = 1e-3,
    max_iter: int = -1,
    probability: bool = False,
    cv: int = 5,
    scoring: str = "accuracy",
    refit: bool = True,
    factor: int = 0,
    seed: int = 0,
    partition: str = "vertical",
    min_count: int = LEAST,
    how: str = "product",
    engine: str = "bfv",
    key_bits: int = 2048,
    feature_bits: int | None = None,
    feature_range: float | None = None,
    method: str = "pairwise",
    segments: int = 1,
    fraction_bits: int = 32,
    band: int = BAND,
) -> dict[str, Any]:
    """Score all candidates, whose values stand in for the other parameters; train the first best on all records."""
    check_scoring(scoring)
    usual = {"kernel": kernel, "gamma": gamma, "degree": degree, "coef0": coef0, "C": C}
    asked = tuple({**usual, **each} for each in check_candidates(candidates))
    shapes = tuple(Kernel(each["kernel"], degree=each["degree"], coef0=each["coef0"]) for each in asked)
    scaled = any(each["gamma"] == "scale" and each["kernel"] != "linear" for each in asked)
    gram, kept = gram_of(
        run, data, partition, how, Multiply(engine, key_bits, feature_bits, feature_range), class_weight=class_weight, cells=scaled,
        method=method, segments=segments, fraction_bits=fraction_bits, band=band,
    )  # fmt: skip
    check_scoring(scoring, len(gram.classes))
    table, solver = (gram.bands, gram.extent, gram.labels, gram.cells), (tol, max_iter)
    least = min_count if partition == "horizontal" else 1
    numbers = tuple((each["gamma"], each["C"]) for each in asked)
    fold = run.local(Coordinator, deal, gram.labels, cv, seed, least)
    ranked = run.publish(Ranked, run.local(Coordinator, rank, *table, fold, shapes, numbers, *solver, scoring, factor, seed, least))
    best = int(ranked.candidates[-1][first_best(ranked.scores[-1])])
    found = {"classes": gram.classes, "best": best, "folds": ranked.scores[0].shape[1], "fold": fold, "tried": tried(ranked, factor)}
    if not refit:
        return found
    gamma_, C_ = numbers[best]
    best_model = learnt(run, gram, shape=shapes[best], gamma=gamma_, learner=Learner(C_, *solver), probability=probability, keep=kept)
    return {**found, **best_model}


def gram_of(run: Run, data: At[Any], partition: str, how: str, multiply: Multiply, **asked: Any) -> tuple[Gram, Keep]:
    """G, and what a holder keeps of the support vectors."""
    if partition == "vertical" and how == "product":
        return summed_gram(run, data, feature_range=multiply.feature_range, **asked), lambda rows: run.local(Holder, keep, data, rows)
    return crossed_gram(run, data, partition=partition, how=how, multiply=multiply, **asked)


def tried(ranked: Ranked, factor: int) -> tuple[dict[str, Any], ...]:
    """For the report, stage by stage."""
    shares = [share for _, share in schedule(len(ranked.candidates[0]), factor)][-len(ranked.scores) :]
    told = zip(ranked.candidates, ranked.scores, shares, strict=True)
    return tuple({"candidates": number.tolist(), "scores": scores.tolist(), "share": share} for number, scores, share in told)


# Steps at the coordinator


def deal(labels: Codes, cv: int, seed: int, least: int) -> I64:
    """The fold of every record; -1 without weight. As many folds up to `cv` as leave none with fewer than `least` of a class."""
    use = np.ones(len(labels.codes), bool) if labels.weight is None else labels.weight > 0
    fewest = int(np.bincount(labels.codes[use]).min())
    if fewest < 2:  # noqa: PLR2004 - one to learn from and one to be judged
        raise LocalError("a class has a single record, and a search leaves records out in turn: bring more, or leave that class out")
    folds = cv if least <= 1 else min(cv, fewest // least)
    if folds < 2:  # noqa: PLR2004 - one to learn from and one to be judged
        raise LocalError(
            f"there are too few rows for folds: even of two, one would have fewer than min_count={least} rows of a class: bring more rows"
        )
    return np.where(use, dealt(np.where(use, labels.codes, -1), folds, seed), -1)


def stages_of(codes: I64, fold: I64, shares: list[float], seed: int, least: int) -> tuple[I64, int]:
    """From which stage on a record takes part; how many of the stages there are, so that none has a few records of a class and fold."""
    for number in range(len(shares), 0, -1):
        stage = staged(codes, fold, shares[-number:], (seed, 1))
        cells = np.unique(np.stack([codes, fold, stage])[:, fold >= 0], axis=1, return_counts=True)[1]
        if cells.min() >= least:
            break
    return stage, number


def rank(
    packed: tuple[F64, ...],
    extent: Extent,
    labels: Codes,
    cells: Any,
    fold: I64,
    shapes: tuple[Kernel, ...],
    numbers: tuple[tuple[float | str, float], ...],
    tol: float,
    max_iter: int,
    scoring: str,
    factor: int,
    seed: int,
    least: int,
) -> Ranked:
    """(1), stage by stage."""
    check_count(len(labels.codes), extent)
    plan, keys = schedule(len(shapes), factor), [(shape, gamma) for shape, (gamma, _) in zip(shapes, numbers, strict=True)]
    stage, stages = stages_of(np.where(fold < 0, -1, labels.codes), fold, [share for _, share in plan], seed, least)
    left, tried = np.arange(len(shapes)), []
    told: list[F64] = []
    for number, (stay, _) in enumerate(plan[-stages:]):
        left = left[best_of(told[-1], stay)] if told else left
        use = np.flatnonzero((fold >= 0) & (stage <= number))
        counts: dict[int, F64] = {}
        for key in dict.fromkeys(keys[i] for i in left):
            K = kernel_matrix(packed, extent, cells, *key)[0][np.ix_(use, use)]
            counts |= {int(i): confused(K, labels, fold, use, numbers[i][1], tol, max_iter) for i in left if keys[i] == key}
        tried.append(left)
        told.append(scores_of(np.stack([counts[int(i)] for i in left]), scoring))
    return Ranked(tuple(tried), tuple(told))


def confused(K: F64, labels: Codes, fold: I64, use: I64, C: float, tol: float, max_iter: int) -> F64:
    """For every fold, records by their class and by the class that a model without the fold chooses."""
    weight, classes = None if labels.weight is None else labels.weight[use], int(labels.codes.max()) + 1
    values, codes = out_of_fold(K, labels.codes[use], weight, C=C, tol=tol, max_iter=max_iter, fold=fold[use])
    counts = np.zeros((int(fold.max()) + 1, classes, classes))
    np.add.at(counts, (fold[use], codes, chosen(values)), 1.0)
    return counts
