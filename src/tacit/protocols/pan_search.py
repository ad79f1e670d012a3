"""A search for parameters of a PAN-SVM: every candidate trained on every fold, in one run and one consent.

The problem. Of candidates (kernel with its numbers, C), the one of the largest mean score over k folds of the rows that many hold:

    score(c) = mean_q s(confusion of f_cq on fold q),    f_cq trained without fold q                              (1)

Work is shared: landmarks are agreed once, since where records lie does not depend on the kernel; each kernel has one map; all prices C
of a kernel and a fold share one pool of cuts, and all pools advance together (`plane_paths`). Every holder deals its own rows of
every class to the folds by a public seed (`fold_accuracy`). The confusion counts of (1) are one secure sum.

With `factor` the search halves: first all candidates on a small share of the rows, then the best of them on `factor` times as many,
and so on. Rows come in nested stages, so a cell, whose sum follows from what is opened, is of one class, fold and stage: there are as
many stages as leave no cell with 1 to min_count - 1 rows.

With `refit` the best candidate is trained on all rows in the same run: its cuts are compared with all that were opened before.

Roles. Holder: records with labels. Coordinator: learns the counts, publishes the scores.
Threat. Semi-honest; coalitions as `secure_sum`; see `landmarks` and `plane_paths` for what is opened on the way. The scores are
counts of at least min_count rows of each class; from candidate to candidate they tell how many rows change their side.
Not protected: models of many candidates tell more about the rows than one does.
Source: ours; the models are 004's (docs/methods/pan_svm.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.numeric.folds import chosen, staged
from tacit.numeric.grid import arranged, best_of, check_candidates, check_scoring, first_best, schedule
from tacit.numeric.grid import scores_of as scores_of_counts
from tacit.numeric.kernels import Kernel, gamma_of
from tacit.protocols.cutting_plane import Solution
from tacit.protocols.feature_map import FeatureMap, Records, basis_at, centres_of, check_basis
from tacit.protocols.fold_accuracy import check_folds, deal, in_folds
from tacit.protocols.fold_scores import cell_of, scores_of, solution
from tacit.protocols.plane_paths import Paths, Summed, nothing_summed, plane_paths
from tacit.protocols.plane_rows import Rows
from tacit.protocols.platt import Scores, platt
from tacit.protocols.row_problems import Common, Pairs, Svm, agreed, check_landmarks, classes_at, rows_of, takes_svm, wanted
from tacit.protocols.row_problems import points as records
from tacit.protocols.witness import Voice


class Bases(Message, tells="nothing new: functions of the landmarks"):
    """U Lambda^-1/2 of every kernel."""

    matrices: tuple[F64, ...]


class StageNumber(Message, tells="in how many stages rows are taken, so that none has a few rows of a class and fold"):
    """At least 1."""

    stages: int


class Judged(Message, tells="the score of every candidate tried in every fold"):
    """A row for each."""

    scores: F64


@dataclass(frozen=True)
class Dealt:
    """How many folds; which shares of the rows the stages have; at each holder the class, fold, stage and cell of each row."""

    folds: int
    shares: tuple[float, ...]
    codes: At[I64]
    fold: At[I64]
    stage: At[I64]
    cell: At[I64]
    cells: int


@dataclass(frozen=True)
class Search:
    """What holds for the whole search: `points` are the candidates, each a kernel and a price; one map for each kernel."""

    ground: Common
    points: tuple[tuple[Kernel, float], ...]
    kernels: tuple[Kernel, ...]
    maps: tuple[FeatureMap, ...]
    dealt: Dealt
    scoring: str


@dataclass(frozen=True)
class Tried:
    """What came of a stage: which candidates, their scores by fold, on which share of the rows, and the models of the folds."""

    candidates: I64
    scores: F64
    share: float
    models: tuple[Solution, ...]

    @property
    def told(self) -> dict[str, Any]:
        """For the report; `early`: how many problems of each candidate ended for want of a harmless sum."""
        early = [len(each.held) for each in self.models]
        return {"candidates": self.candidates.tolist(), "scores": self.scores.tolist(), "share": self.share, "early": early}


@choreography(
    opens={
        Coordinator: "how many rows of each class are in each fold; for every candidate and fold how many rows of each class are taken"
        " for which; along every line of the search, for each kernel and fold, how many mapped rows are within the margin, by how many"
        " sets of them differ that may differ by few, and their summed loss; at every cut the sum of these rows: never of fewer than"
        " min_count, and no two sums of the whole search that differ by fewer; the sum of each class in each fold; with gamma='scale'"
        " the sum and the sum of squares of all cells",
        Everyone: "which classes each party has; how many records each class has over all parties; the landmarks, each the mean of at"
        " least min_cluster records (none with landmark_source='fourier' or linear kernels); every iterate, a model for every candidate"
        " and fold, the scores, and the last model; with witness=True all that the coordinator learns",
    }
)
@takes_svm
def pan_search(
    run: Run,
    /,
    data: At[Any],
    *,
    candidates: tuple[Mapping[str, Any], ...],
    cv: int = 5,
    scoring: str = "accuracy",
    refit: bool = True,
    factor: int = 0,
    **usual: Any,
) -> dict[str, Any]:
    """Score all candidates, whose values stand in for those of `Svm`; train the first best on all rows."""
    check_scoring(scoring)
    asked = checked(Svm(**usual), candidates)
    ground = agreed(run, data, svm=common(asked))
    check_scoring(scoring, len(ground.classes))
    plan = schedule(len(asked), factor)
    dealt = deal_out(run, data, ground=ground, cv=cv, shares=tuple(share for _, share in plan))
    points = tuple((kernel_of(each, ground), each.C) for each in asked)
    kernels = arranged(points).kernels
    search = Search(ground, points, kernels, maps_of(run, data, kernels, ground=ground), dealt, scoring)
    rows = run.local(Holder, tables, data, search.maps, ground.classes, ground.pairs, ground.weights, ground.svm.dtype)
    summed = nothing_summed(run, rows, cells=dealt.cells, signed=len(ground.pairs) > 1, witness=ground.svm.witness)
    tried: list[Tried] = []
    for stage, (keep, _) in enumerate(plan[-len(dealt.shares) :]):
        left = tried[-1].candidates[best_of(tried[-1].scores, keep)] if tried else np.arange(len(asked))
        found, summed = trial(run, rows, summed, left, stage, search=search)
        tried.append(found)
        run.note(stage=stage + 1, candidates=len(left), best=float(np.average(found.scores, axis=1).max()))
    best = int(tried[-1].candidates[first_best(tried[-1].scores)])
    known = {"classes": ground.classes, "pairs": ground.pairs, "columns": ground.columns, "sizes": ground.sizes, "fold": dealt.fold}
    model = last(run, rows, summed, best, tried[-1], search=search) if refit else {}
    return {**known, "best": best, "tried": tuple(each.told for each in tried), "folds": dealt.folds, **model}


@choreography(
    opens={Coordinator: "how many rows of each class are in each fold and stage, over all parties", Everyone: "how many folds and stages"}
)
def deal_out(run: Run, data: At[Any], *, ground: Common, cv: int, shares: tuple[float, ...]) -> Dealt:
    """Every holder deals its rows to folds, and takes them in stages."""
    svm, me, classes = ground.svm, run.who(Holder), len(ground.classes)
    folds = deal(run, data, ground=ground, most=cv, seed=svm.seed)
    check_folds(folds, svm.min_count)
    codes = run.local(Holder, classes_at, data, ground.classes, ground.weights)
    if len(shares) > 1:
        voice = Voice(run, ground.by, ground.fixed, svm.witness)
        sizes = voice.added(stage_sizes, codes, folds.of, folds.number, classes * folds.number, shares, svm.seed, me)
        shares = shares[-voice.told(StageNumber, most_stages, sizes, classes * folds.number, len(shares), svm.min_count).stages :]
    stage = run.local(Holder, staged_here, codes, folds.of, shares, svm.seed, me)
    cell = run.local(Holder, cell_at, codes, folds.of, folds.number, stage, len(shares))
    assert folds.of is not None  # noqa: S101 - for the type checker; check_folds saw to it
    return Dealt(folds.number, shares, codes, folds.of, stage, cell, classes * folds.number * len(shares))


@choreography(opens={Everyone: "the landmarks; nothing with landmark_source='fourier' or linear kernels"})
def maps_of(run: Run, data: At[Any], kernels: tuple[Kernel, ...], *, ground: Common) -> tuple[FeatureMap, ...]:
    """One map for every kernel, all over the same landmarks."""
    svm, none, rows = ground.svm, np.empty((0, 0)), ground.rows
    share, count = wanted(svm.landmarks, rows)
    bent = tuple(kernel for kernel in kernels if kernel.name != "linear")
    source, centres, bases = svm.landmark_source, none, dict.fromkeys(bent, none)
    if bent and source != "fourier":
        source, centres = centres_of(
            run, run.local(Holder, records, data), source=source, share=share, count=count, rows=rows, min_cluster=svm.min_cluster,
            by=ground.by, fixed=ground.fixed,
        )  # fmt: skip
        found = run.publish(Bases, run.local(Coordinator, bases_at, centres, bent)).matrices
        if svm.witness:
            run.local(Holder, check_bases, found, centres, bent)
        bases = dict(zip(bent, found, strict=True))
    drawn = count or max(1, int((share or 0.0) * rows))
    return tuple(
        FeatureMap("identity", *_numbers(k), none, none, svm.seed, ground.columns)
        if k.name == "linear"
        else FeatureMap(source, *_numbers(k), centres, bases[k], svm.seed, drawn if source == "fourier" else bases[k].shape[1])
        for k in kernels
    )


@choreography(
    opens={
        Coordinator: "for every candidate and fold, how many rows of each class are taken for which",
        Everyone: "the score of every candidate in every fold, and its model",
    }
)
def trial(run: Run, rows: At[tuple[Rows, ...]], summed: Summed, left: I64, stage: int, *, search: Search) -> tuple[Tried, Summed]:
    """(1) for the candidates that are left, on the rows of the stages so far."""
    ground, dealt = search.ground, search.dealt
    grid = arranged([search.points[i] for i in left])
    used = tuple(search.kernels.index(kernel) for kernel in grid.kernels)
    codes = run.local(Holder, codes_until, dealt.codes, dealt.stage, stage)
    held = run.local(Holder, in_trial, rows, used, codes, dealt.fold, dealt.folds)
    paths, summed = solved(run, held, summed, used, grid.prices, dealt.folds * len(ground.pairs), search=search)
    models = tuple(fold_models(paths, *place, dealt.folds, ground) for place in grid.places)
    tables_ = tuple(used[table] for table, _ in grid.places)
    voice = Voice(run, ground.by, ground.fixed, ground.svm.witness)
    counts = voice.added(confusions, rows, codes, dealt.fold, dealt.folds, tables_, models, ground.pairs, len(ground.classes))
    scores = voice.told(Judged, judge, counts, search.scoring).scores
    return Tried(left, scores, dealt.shares[stage], models), summed


@choreography(opens={Everyone: "the model of the best candidate on all rows; with probability=True its sigmoids"})
def last(run: Run, rows: At[tuple[Rows, ...]], summed: Summed, best: int, tried: Tried, *, search: Search) -> dict[str, Any]:
    """The best candidate on all rows. Probabilities are fitted to what the models of its folds say of the rows they did not see."""
    ground, dealt, (kernel, C) = search.ground, search.dealt, search.points[best]
    table = search.kernels.index(kernel)
    whole = run.local(Holder, picked, rows, (table,))
    paths, _ = solved(run, whole, summed, (table,), ((C,),), len(ground.pairs), search=search)
    found = ground.never(solution(paths, range(len(ground.pairs))))
    AB = None
    if ground.svm.probability:
        models = tried.models[int(np.flatnonzero(tried.candidates == best)[0])]
        unseen = run.local(Holder, unseen_of, rows, table, dealt.codes, dealt.fold, dealt.folds, models, ground.pairs, len(ground.classes))
        sizes = np.where(ground.weights > 0, ground.sizes, 0.0)
        AB = platt(run, unseen, sizes=sizes, by=ground.by, fixed=ground.fixed, witness=ground.svm.witness)
    return {"map": search.maps[table], "solution": found, "sigmoids": AB}


def solved(
    run: Run, rows: At[Any], summed: Summed, used: tuple[int, ...], prices: tuple[tuple[float, ...], ...], columns: int, *, search: Search
) -> tuple[Paths, Summed]:
    """`plane_paths` with the parameters agreed on."""
    svm, dealt = search.ground.svm, search.dealt
    return plane_paths(
        run, rows, dealt.cell, summed, prices=prices, widths=tuple(search.maps[t].size for t in used), columns=columns, cells=dealt.cells,
        signed=len(search.ground.pairs) > 1, by=search.ground.by, fixed=search.ground.fixed, tol=svm.tol, max_rounds=svm.max_rounds,
        min_count=svm.min_count, witness=svm.witness,
    )  # fmt: skip


# Refused before anything is sent


def checked(svm: Svm, candidates: Sequence[Mapping[str, Any]]) -> tuple[Svm, ...]:
    """All candidates with all their parameters."""
    asked = tuple(dataclasses.replace(svm, **each) for each in check_candidates(candidates))
    for each in asked:
        Kernel(each.kernel, degree=each.degree, coef0=each.coef0)
        check_landmarks(each)
    return asked


def common(asked: tuple[Svm, ...]) -> Svm:
    """What all have in common; gamma is "scale" if one of them needs the variance of all cells."""
    scaled = [each for each in asked if each.gamma == "scale" and each.kernel != "linear"]
    return (scaled or asked)[0]


def kernel_of(svm: Svm, ground: Common) -> Kernel:
    """With gamma as a number; none of the others where the kernel has no use for them."""
    if svm.kernel == "linear":
        return Kernel("linear")
    gamma = ground.gamma if svm.gamma == "scale" else gamma_of(svm.gamma, ground.columns, 0, 0.0, 0.0)
    return Kernel("rbf", gamma) if svm.kernel == "rbf" else Kernel(svm.kernel, gamma, svm.degree, svm.coef0)


# Steps at the holders


def tables(
    part: Records, maps: tuple[FeatureMap, ...], classes: tuple[Any, ...], pairs: Pairs, weights: F64, dtype: str
) -> tuple[Rows, ...]:
    """The rows under every map."""
    return tuple(rows_of(part, the_map, classes, pairs, weights, dtype) for the_map in maps)


def picked(rows: tuple[Rows, ...], used: tuple[int, ...]) -> tuple[Rows, ...]:
    """These tables."""
    return tuple(rows[t] for t in used)


def in_trial(rows: tuple[Rows, ...], used: tuple[int, ...], codes: I64, fold: I64, folds: int) -> tuple[Rows, ...]:
    """These tables, every problem once per fold, without the fold's rows and those of later stages."""
    signs = in_folds(rows[0], fold, folds).signs * (codes >= 0)[:, None].astype(np.int8)
    return tuple(dataclasses.replace(rows[t], signs=signs) for t in used)


def staged_here(codes: I64, fold: I64, shares: tuple[float, ...], seed: int, me: str) -> I64:
    """The holder's own stages."""
    return staged(codes, fold, shares, (seed, 1, *me.encode()))


def stage_sizes(codes: I64, fold: I64, folds: int, cells: int, shares: tuple[float, ...], seed: int, me: str) -> F64:
    """Rows of every cell, for 1 stage, for the last 2, and so on."""
    counts = []
    for stages in range(1, len(shares) + 1):
        cell = cell_at(codes, fold, folds, staged_here(codes, fold, shares[-stages:], seed, me), stages)
        counts.append(np.bincount(cell[cell >= 0], minlength=cells * stages))
    return np.concatenate(counts).astype(np.float64)


def cell_at(codes: I64, fold: I64, folds: int, stage: I64, stages: int) -> I64:
    """Class, fold and stage as one number; below 0 for no row."""
    return np.where(codes < 0, -1, cell_of(codes, fold, folds) * stages + stage)


def codes_until(codes: I64, stage: I64, last: int) -> I64:
    """Classes of the rows of the stages so far; -1 for all others."""
    return np.where(stage <= last, codes, -1)


def unseen_of(
    rows: tuple[Rows, ...], table: int, codes: I64, fold: I64, folds: int, models: Solution, pairs: Pairs, classes: int
) -> Scores:
    """What the models say of rows that they did not see."""
    return scores_of(rows[table], codes, fold, folds, models, pairs, classes)


def confusions(
    rows: tuple[Rows, ...],
    codes: I64,
    fold: I64,
    folds: int,
    used: tuple[int, ...],
    models: tuple[Solution, ...],
    pairs: Pairs,
    classes: int,
) -> F64:
    """For every candidate and fold, rows by their class and by the class chosen."""
    own, counts = fold[codes >= 0], np.zeros((len(models), folds, classes, classes))
    for count, table, each in zip(counts, used, models, strict=True):
        said = scores_of(rows[table], codes, fold, folds, each, pairs, classes)
        np.add.at(count, (own, said.codes, chosen(said.values)), 1.0)
    return counts


# Steps at the coordinator, and at witnesses


def bases_at(centres: F64, kernels: tuple[Kernel, ...]) -> Bases:
    """(3.6) of `feature_map`, for every kernel."""
    return Bases(tuple(basis_at(centres, kernel).matrix for kernel in kernels))


def check_bases(bases: tuple[F64, ...], centres: F64, kernels: tuple[Kernel, ...]) -> None:
    """A witness: each must belong to the landmarks."""
    for basis, kernel in zip(bases, kernels, strict=True):
        check_basis(basis, centres, kernel)


def most_stages(counts: F64, cells: int, most: int, min_count: int) -> StageNumber:
    """The most stages of which none has a few rows of a class and fold; there is always one."""
    parts = np.split(np.rint(counts), np.cumsum([cells * n for n in range(1, most)]))
    return StageNumber(max([1, *(n for n, part in enumerate(parts, start=1) if np.all((part == 0) | (part >= min_count)))]))


def judge(counts: F64, scoring: str) -> Judged:
    """(1), before the mean."""
    return Judged(scores_of_counts(np.rint(counts), scoring))


# Public bookkeeping


def fold_models(paths: Paths, table: int, at: int, folds: int, ground: Common) -> Solution:
    """The models of a candidate: for every fold, all problems."""
    S = folds * len(ground.pairs)
    pools = range(table * S, (table + 1) * S)
    w, b, objective, bound = (np.stack([each[k][at] for k in pools]) for each in (paths.w, paths.b, paths.objective, paths.bound))
    held = tuple(i for i, k in enumerate(pools) if paths.held[k][at])
    return ground.never(Solution(w, b, objective, bound, paths.rounds, held))


def _numbers(kernel: Kernel) -> tuple[str, float, int, float]:
    return kernel.name, kernel.gamma, kernel.degree, kernel.coef0
