"""A search for parameters of a gram SVM: one gram matrix for all kernels, all C and all folds.

The problem. Of candidates (kernel with its numbers, C), the one of the largest mean score over k folds of the records:

    score(c) = mean_q s(confusion of f_cq on fold q),    f_cq trained without fold q                              (1)

The coordinator of `gram_vertical`, or of `gram_arbitrary` for other partitions and other ways to G, has the gram matrix
G and every label. All kernels follow from G, and a fold is some of its rows and columns, so (1) is its own work: the
search sends what one training sends, and the scores. Folds are dealt by a public seed, class by class. With `factor`
the search halves, on nested shares of the records (`numeric.scores.folds`); with `refit` the best candidate is trained
on all records.

By rows every holder knows some of the records that are scored, and takes them off: there are as many folds, and stages,
as leave none with 1 to min_count - 1 records of a class.

Roles, threat, what is not protected: as in `gram_vertical` and `gram_arbitrary`. Everyone learns the scores.
Source: ours; the models are 001's (docs/methods/gram.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.declaration import Settings
from tacit.counted import counted, stretch
from tacit.errors import LocalError
from tacit.numeric.scores.folds import assign_stages, choose_class, deal_folds
from tacit.numeric.scores.grid import best_of, check_candidates, check_scoring, first_best, schedule, scores_of
from tacit.numeric.svm.dual_svm import out_of_fold
from tacit.protocols.gram.arbitrary import sum_crossed_gram
from tacit.protocols.gram.cells import Multiply
from tacit.protocols.gram.model import (
    CELL_SUM,
    GRAM_MATRIX,
    SUPPORT,
    Asked,
    Codes,
    DualModel,
    Extent,
    Gram,
    Keep,
    SupportColumns,
    check_count,
    kernel_matrix,
    train_model,
)
from tacit.protocols.gram.vertical import BAND, keep_share, sum_gram
from tacit.protocols.part import Held, Names
from tacit.protocols.scores.search_stage import SearchStage
from tacit.protocols.settings import AnyKernel, Solver, Sums
from tacit.protocols.table_facts import CLASS_NAMES, EVERY_LABEL, TABLE_SIZES
from tacit.protocols.work import MATRIX, SCORES, count_trainings

LEAST = 5  # records of a class in a fold, by rows


Candidate = Mapping[str, str | float]
S = TypeVar("S", bound=Settings)


@dataclass(frozen=True, kw_only=True)
class Search(Settings):
    """How candidates are compared: on how many folds, by which score, and whether the search halves.

    min_count: of how many records of a class a fold has to be, by rows.
    """

    cv: int = 5
    scoring: str = "accuracy"
    refit: bool = True
    factor: int = 0
    seed: int = 0
    min_count: int = LEAST


class Searched(Result):
    """What a search finds, and the model of the best candidate, trained on all records if that was asked for."""

    classes: Names
    best: int
    folds: int
    fold: At[I64]
    tried: tuple[SearchStage, ...]
    support: I64 | None = None
    dual: At[DualModel] | None = None
    columns: At[SupportColumns] | None = None
    sigmoids: F64 | None = None


class Ranked(
    Message,
    tells=Fact(
        "search.scores_by_stage",
        "holders",
        "aggregate",
        "all",
        "the score of every candidate tried in every fold, stage by stage",
    ),
):
    """Which candidates were tried, stage by stage, and a row of scores for each."""

    candidates: tuple[I64, ...]
    scores: tuple[F64, ...]


@choreography(
    opens={
        Coordinator: (GRAM_MATRIX, EVERY_LABEL, CELL_SUM),
        Everyone: Fact("search.scores", "holders", "aggregate", "all", "the score of every candidate in every fold"),
        Holder: (SUPPORT, TABLE_SIZES, CLASS_NAMES),
    }
)
def gram_search(
    run: Run,
    data: At[Held],
    *,
    candidates: tuple[Candidate, ...],
    kernel: AnyKernel,
    solver: Solver,
    search: Search,
    multiply: Multiply,
    sums: Sums,
    partition: str = "vertical",
    how: str = "product",
    band: int = BAND,
) -> Searched:
    """Score all candidates, whose values stand in for the other parameters; train the first best on all records."""
    check_scoring(search.scoring)
    kernels = tuple(replace_some(kernel, each) for each in check_candidates(candidates))
    solvers = tuple(replace_some(solver, each) for each in candidates)
    shapes = tuple(each.shape for each in kernels)
    scored = count_trainings(search.cv, schedule(len(kernels), search.factor))
    asked = Asked(any(each.is_scaled for each in kernels), solver.class_weight, band, scored=scored)
    gram, kept = gram_of(run, data, asked, partition=partition, how=how, multiply=multiply, sums=sums)
    check_scoring(search.scoring, len(gram.classes))
    least = search.min_count if partition == "horizontal" else 1
    fold = run.local(Coordinator, deal, gram.labels, search, least)
    table = (gram.bands, gram.extent, gram.labels, gram.cells)
    run.phase(SCORES)
    ranked = run.publish(Ranked, run.local(Coordinator, rank, *table, fold, kernels, solvers, search, least))
    best = int(ranked.candidates[-1][first_best(ranked.scores[-1])])
    found = Searched(
        classes=gram.classes,
        best=best,
        folds=ranked.scores[0].shape[1],
        fold=fold,
        tried=describe_stages(ranked, search.factor),
    )
    if not search.refit:
        return found
    model = train_model(run, gram, shape=shapes[best], gamma=kernels[best].gamma, solver=solvers[best], keep=kept)
    return dataclasses.replace(found, **model.as_dict())


def gram_of(
    run: Run, data: At[Held], asked: Asked, *, partition: str, how: str, multiply: Multiply, sums: Sums
) -> tuple[Gram, Keep]:
    """Return G at the coordinator, and what makes a holder keep its share of the support vectors."""
    if partition == "vertical" and how == "product":
        gram = sum_gram(run, data, asked, sums=sums, feature_range=multiply.feature_range)
        return gram, partial(keep_share, run, data)
    return sum_crossed_gram(run, data, asked, partition=partition, how=how, multiply=multiply, sums=sums)


def replace_some(record: S, values: Candidate) -> S:
    """Return a record of parameters with those values of a candidate that it has fields for."""
    return type(record)(**{**vars(record), **{name: value for name, value in values.items() if name in vars(record)}})


def describe_stages(ranked: Ranked, factor: int) -> tuple[SearchStage, ...]:
    """Return which candidates were tried on which share of the records and how they scored, stage by stage."""
    shares = [share for _, share in schedule(len(ranked.candidates[0]), factor)][-len(ranked.scores) :]
    told = zip(ranked.candidates, ranked.scores, shares, strict=True)
    return tuple(SearchStage(tried, scores, share, np.zeros_like(tried)) for tried, scores, share in told)


# Steps at the coordinator


def deal(labels: Codes, search: Search, least: int) -> I64:
    """Return the fold of every record; -1 for those without weight.

    There are up to `cv` folds: as many as leave none with fewer than `least` records of a class.
    """
    use = np.ones(len(labels.codes), bool) if labels.weight is None else labels.weight > 0
    fewest = int(np.bincount(labels.codes[use]).min())
    if fewest < 2:  # noqa: PLR2004 - one to learn from and one to be judged
        raise LocalError(
            "a class has a single record, and a search leaves records out in turn: bring more, or leave that class out"
        )
    folds = search.cv if least <= 1 else min(search.cv, fewest // least)
    if folds < 2:  # noqa: PLR2004 - one to learn from and one to be judged
        raise LocalError(
            f"there are too few rows for folds: even of two, one would have fewer than min_count={least} rows of a"
            " class: bring more rows"
        )
    return np.where(use, deal_folds(np.where(use, labels.codes, -1), folds, search.seed), -1)


def stages_of(codes: I64, fold: I64, shares: list[float], seed: int, least: int) -> tuple[I64, int]:
    """Return from which stage on every record takes part, and how many of the stages there are.

    There are as many stages as leave none with fewer than `least` records of a class and fold.
    """
    for number in range(len(shares), 0, -1):
        stage = assign_stages(codes, fold, shares[-number:], (seed, 1))
        cells = np.unique(np.stack([codes, fold, stage])[:, fold >= 0], axis=1, return_counts=True)[1]
        if cells.min() >= least:
            break
    return stage, number


def rank(
    packed: tuple[F64, ...],
    extent: Extent,
    labels: Codes,
    cells: F64 | float,
    fold: I64,
    kernels: tuple[AnyKernel, ...],
    solvers: tuple[Solver, ...],
    search: Search,
    least: int,
) -> Ranked:
    """Score the candidates stage by stage, (1)."""
    check_count(len(labels.codes), extent)
    plan, codes = schedule(len(kernels), search.factor), np.where(fold < 0, -1, labels.codes)
    stage, stages = stages_of(codes, fold, [share for _, share in plan], search.seed, least)
    left, tried = np.arange(len(kernels)), []
    told: list[F64] = []
    for number, (stay, _) in counted(tuple(enumerate(plan[-stages:]))):
        left = left[best_of(told[-1], stay)] if told else left
        use = np.flatnonzero((fold >= 0) & (stage <= number))
        counts: dict[int, F64] = {}
        for kernel in counted(tuple(dict.fromkeys(kernels[i] for i in left))):
            K = kernel_matrix(packed, extent, cells, kernel.shape, kernel.gamma)[0][np.ix_(use, use)]
            same = [int(i) for i in left if kernels[i] == kernel]
            with stretch(MATRIX, 1.0):
                counts |= {i: count_confusions(K, labels, fold, use, solvers[i]) for i in counted(same)}
        tried.append(left)
        told.append(scores_of(np.stack([counts[int(i)] for i in left]), search.scoring))
    return Ranked(tuple(tried), tuple(told))


def count_confusions(K: F64, labels: Codes, fold: I64, use: I64, solver: Solver) -> F64:
    """Count the records of every fold by their class and by the class that a model without the fold chooses."""
    weight, classes = None if labels.weight is None else labels.weight[use], int(labels.codes.max()) + 1
    values, codes = out_of_fold(K, labels.codes[use], weight, fold=fold[use], **solver.way)
    counts = np.zeros((int(fold.max()) + 1, classes, classes))
    np.add.at(counts, (fold[use], codes, choose_class(values)), 1.0)
    return counts
