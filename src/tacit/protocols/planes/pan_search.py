"""A search for parameters of a PAN-SVM: every candidate trained on every fold, in one run and one consent.

The problem. Of candidates (kernel with its numbers, C), the one of the largest mean score over k folds of the rows that
many hold:

    score(c) = mean_q s(confusion of f_cq on fold q),    f_cq trained without fold q                              (1)

Work is shared: landmarks are agreed once, since where records lie does not depend on the kernel; each kernel has one
map; all prices C of a kernel and a fold share one pool of cuts, and all pools advance together (`cutting_plane`). Every
holder deals its own rows of every class to the folds by a public seed, in whole groups (`fold_accuracy`). The confusion
counts of (1) are one secure sum.

With `factor` the search halves: first all candidates on a small share of the rows, then the best of them on `factor`
times as many, and so on. Rows come in nested stages, which are unions of groups too.

With `refit` the best candidate is trained on all rows in the same run. All sums of the search, of whatever candidate,
fold, stage or model, are over unions of the same groups.

Roles. Holder: records with labels. Coordinator: learns the counts, publishes the scores.
Threat. Semi-honest; coalitions as `secure_sum`; see `landmarks` and `cutting_plane` for what is opened on the way. The
scores are exact counts of rows; from candidate to candidate they tell how many rows change their side. Not protected:
models of many candidates tell more about the rows than one does.
Source: ours; the models are 004's (docs/methods/pan_svm.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, I64, Flags
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Result, Run, choreography
from tacit.choreo.protocol import TABLE, Declaration, Params, Rehearsal
from tacit.numeric.groups.atoms import deal_stages
from tacit.numeric.scores.folds import choose_class
from tacit.numeric.scores.grid import arrange, best_of, check_candidates, check_scoring, first_best, schedule
from tacit.numeric.scores.grid import scores_of as scores_of_counts
from tacit.numeric.svm.kernels import Kernel, gamma_of
from tacit.numeric.svm.problems import Pairs
from tacit.protocols.invented import by_rows
from tacit.protocols.part import Names, Records
from tacit.protocols.planes.cost import PLAIN, plan_search, search_cost, shortlist, shrink_groups
from tacit.protocols.planes.cutting_plane import Paths, Solution
from tacit.protocols.planes.feature_map import FeatureMap
from tacit.protocols.planes.maps import GROUP_SIZES, LANDMARKS_OF_GROUPS, TAKING_PART, prepare
from tacit.protocols.planes.problems import (
    CELL_MOMENTS,
    Common,
    Svm,
    agree_on_common,
    check_landmarks,
    rows_of,
    solve_problems,
)
from tacit.protocols.planes.rows import Rows, Tables
from tacit.protocols.scores.fold_accuracy import FOLD_COUNTS, check_folds, deal, leave_out_folds
from tacit.protocols.scores.fold_scores import unseen_scores, values_of
from tacit.protocols.scores.platt import platt
from tacit.protocols.scores.search_stage import SearchStage
from tacit.protocols.sums.atoms import Atoms, split_by_part
from tacit.protocols.table_facts import CLASS_SIZES, CLASSES_OF_PARTY
from tacit.protocols.witness import WITNESSED


class Judged(
    Message,
    tells=Fact("search.judged", "holders", "aggregate", "all", "the score of every candidate tried in every fold"),
):
    """The score of every candidate in every fold, a row for each candidate."""

    scores: F64


@dataclass(frozen=True)
class Dealt:
    """How rows are dealt: the number of folds, the shares of the stages, and at each holder fold and stage of a row."""

    folds: int
    shares: tuple[float, ...]
    fold: At[I64]
    stage: At[I64]


@dataclass(frozen=True)
class Search:
    """What holds for the whole search: `points` are the candidates, each a kernel and a price; a kernel has one map."""

    ground: Common
    points: tuple[tuple[Kernel, float], ...]
    kernels: tuple[Kernel, ...]
    maps: tuple[FeatureMap, ...]
    dealt: Dealt
    scoring: str


class LastModel(Result):
    """The best candidate trained on all rows, where that was asked for."""

    map: FeatureMap | None = None
    solution: Solution | None = None
    sigmoids: F64 | None = None


class Found(LastModel):
    """What a search leaves: the classes, which candidate was the best, and the scores of all."""

    classes: Names
    pairs: Pairs
    columns: int
    sizes: F64
    taking: F64
    least: dict[str, int]
    fold: At[I64]
    best: int
    tried: tuple[SearchStage, ...]
    folds: int


@dataclass(frozen=True)
class Tried:
    """What came of a stage: the candidates, their scores by fold, the share of rows, and the models of the folds."""

    candidates: I64
    scores: F64
    share: float
    models: tuple[Solution, ...]

    @property
    def told(self) -> SearchStage:
        """The figures of the stage for the report."""
        early = np.array([len(each.held) for each in self.models], dtype=np.int64)
        return SearchStage(self.candidates, self.scores, self.share, early)


@choreography(
    opens={
        Coordinator: (
            Fact("search.fold_counts", "holders", "count", "class", "how many rows of each class are in each fold"),
            Fact(
                "search.confusions",
                "holders",
                "count",
                "class",
                "for every candidate and fold, how many rows of each class were given each class",
            ),
            Fact(
                "search.cut_sums",
                "holder",
                "aggregate",
                "group",
                "for each kernel and fold the sum of the mapped rows of each side of each problem, in every round the"
                " sum over a union of groups of them, and bounds on the loss along a line that are functions of the"
                " groups' sums: every group is of at least min_count rows of one class at one holder, the same groups"
                " in the whole search",
            ),
            CELL_MOMENTS,
        ),
        Everyone: (
            CLASSES_OF_PARTY,
            CLASS_SIZES,
            TAKING_PART,
            GROUP_SIZES,
            LANDMARKS_OF_GROUPS,
            Fact(
                "search.all_models",
                "holders",
                "model",
                "all",
                "the model after every round, a model for every candidate and fold, the scores, and the final model",
            ),
            WITNESSED,
        ),
    }
)
def pan_search(
    run: Run,
    data: At[Records],
    *,
    candidates: tuple[Params, ...],
    cv: int = 5,
    scoring: str = "accuracy",
    refit: bool = True,
    factor: int = 0,
    svm: Svm,
) -> Found:
    """Score all candidates, whose values stand in for those of `svm`, and train the first best on all rows."""
    check_scoring(scoring)
    asked = fill_candidates(svm, candidates)
    ground = agree_on_common(run, data, svm=find_common(asked))
    check_scoring(scoring, len(ground.classes))
    plan = schedule(len(asked), factor)
    points = tuple((kernel_of(each, ground), each.C) for each in asked)
    kernels = arrange(points).kernels
    run.expect(*plan_search(run, ground, [kernel for kernel, _ in points], cv, plan, refit=refit))
    ready = prepare(run, data, kernels, ground=ground)
    ground = ready.ground
    dealt, atoms = deal_out(run, ready.atoms, ground=ground, cv=cv, shares=tuple(share for _, share in plan))
    search = Search(ground, points, kernels, ready.maps, dealt, scoring)
    rows = run.local(Holder, tables, data, atoms, search.maps, *ground.labelling)
    tried: list[Tried] = []
    for stage, (keep, _) in enumerate(plan[-len(dealt.shares) :]):
        left = tried[-1].candidates[best_of(tried[-1].scores, keep)] if tried else np.arange(len(asked))
        found, atoms = trial(run, rows, atoms, left, stage, search=search)
        tried.append(found)
        run.note(stage=stage + 1, candidates=len(left), best=float(np.average(found.scores, axis=1).max()))
    best = int(tried[-1].candidates[first_best(tried[-1].scores)])
    fold = run.local(Holder, fold_of, dealt.fold, atoms)
    model = last(run, rows, atoms, best, tried[-1], search=search) if refit else LastModel()
    return Found(
        classes=ground.classes,
        pairs=ground.pairs,
        columns=ground.columns,
        sizes=ground.sizes,
        taking=ground.taking,
        least=ready.least,
        fold=fold,
        best=best,
        tried=tuple(each.told for each in tried),
        folds=dealt.folds,
        **model.as_dict(),
    )


@choreography(
    opens={Coordinator: FOLD_COUNTS, Everyone: Fact("search.fold_number", "holders", "count", "all", "how many folds")}
)
def deal_out(
    run: Run, atoms: At[Atoms], *, ground: Common, cv: int, shares: tuple[float, ...]
) -> tuple[Dealt, At[Atoms]]:
    """Let every holder deal its rows to folds, and take them in stages."""
    folds, atoms = deal(run, atoms, ground=ground, most=cv, seed=ground.svm.seed)
    check_folds(folds.number, "a search")
    assert folds.of is not None  # noqa: S101 - for the type checker; check_folds saw to it
    stage = run.local(Holder, deal_own_stages, atoms, shares, ground.svm.seed, run.who(Holder))
    return Dealt(folds.number, shares, folds.of, stage), run.local(Holder, split_by_part, atoms, stage)


@choreography(
    opens={
        Coordinator: Fact(
            "search.trial_confusions",
            "holders",
            "count",
            "class",
            "for every candidate tried and every fold, how many rows of each class were given each class",
        ),
        Everyone: Fact(
            "search.scores_and_models",
            "holders",
            "model",
            "all",
            "the score of every candidate in every fold, and its model",
        ),
    }
)
def trial(
    run: Run, rows: At[Tables], atoms: At[Atoms], left: I64, stage: int, *, search: Search
) -> tuple[Tried, At[Atoms]]:
    """Score the candidates that are left by (1), on the rows of the stages so far."""
    ground, dealt = search.ground, search.dealt
    grid = arrange([search.points[i] for i in left])
    used = tuple(search.kernels.index(kernel) for kernel in grid.kernels)
    here = run.local(Holder, mark_until, atoms, dealt.stage, stage)
    held = run.local(Holder, make_trial_tables, rows, used, here, dealt.fold, dealt.folds)
    paths, atoms = solve_tables(run, held, atoms, used, grid.prices, dealt.folds * len(ground.pairs), search=search)
    models = tuple(fold_models(paths, *place, dealt.folds, ground) for place in grid.places)
    tables_ = tuple(used[table] for table, _ in grid.places)
    kinds = run.local(Holder, kinds_until, atoms, dealt.stage, stage)
    counts = ground.voice.add_up(
        confusions, rows, kinds, dealt.fold, dealt.folds, tables_, models, ground.svm.multi_class, len(ground.classes)
    )
    scores = ground.voice.announce(Judged, judge, counts, search.scoring).scores
    return Tried(left, scores, dealt.shares[stage], models), atoms


@choreography(
    opens={
        Everyone: (
            Fact("search.best_model", "holders", "model", "all", "the model of the best candidate on all rows"),
            Fact(
                "search.best_sigmoids",
                "holders",
                "model",
                "all",
                "with probability=True the sigmoids of its probabilities",
            ),
        )
    }
)
def last(run: Run, rows: At[Tables], atoms: At[Atoms], best: int, tried: Tried, *, search: Search) -> LastModel:
    """Train the best candidate on all rows.

    Probabilities are fitted to what the models of its folds say of the rows they did not see.
    """
    ground, dealt, (kernel, C) = search.ground, search.dealt, search.points[best]
    table = search.kernels.index(kernel)
    whole = run.local(Holder, pick_tables, rows, (table,))
    paths, atoms = solve_tables(run, whole, atoms, (table,), ((C,),), len(ground.pairs), search=search)
    found = ground.never(paths.solution(range(len(ground.pairs))))
    AB = None
    if ground.svm.probability:
        models = tried.models[int(np.flatnonzero(tried.candidates == best)[0])]
        own = run.local(Holder, table_of, rows, table)
        unseen, _ = unseen_scores(
            run, own, atoms, dealt.fold, models, folds=dealt.folds, multi_class=ground.svm.multi_class
        )
        AB = platt(run, unseen, voice=ground.voice, sizes=ground.playing)
    return LastModel(map=search.maps[table], solution=found, sigmoids=AB)


def solve_tables(
    run: Run,
    rows: At[Tables],
    atoms: At[Atoms],
    used: tuple[int, ...],
    prices: tuple[tuple[float, ...], ...],
    columns: int,
    *,
    search: Search,
) -> tuple[Paths, At[Atoms]]:
    """Solve all problems of the tables in `used`, at all prices of each."""
    widths, trainings = tuple(search.maps[t].size for t in used), len(search.dealt.shares) + 1
    return solve_problems(
        run, rows, atoms, ground=search.ground, prices=prices, widths=widths, columns=columns, trainings=trainings
    )


# Refused before anything is sent


def fill_candidates(svm: Svm, candidates: Sequence[Params]) -> tuple[Svm, ...]:
    """Return all candidates with all their parameters; raise if one of them cannot be trained."""
    asked = tuple(dataclasses.replace(svm, **each) for each in check_candidates(candidates))
    for each in asked:
        Kernel(each.kernel, degree=each.degree, coef0=each.coef0)
        check_landmarks(each)
    return asked


def find_common(asked: tuple[Svm, ...]) -> Svm:
    """Return the parameters that all candidates share.

    `gamma` is "scale" if one of them needs the variance of all cells.
    """
    scaled = [each for each in asked if each.gamma == "scale" and each.kernel != "linear"]
    return (scaled or asked)[0]


def kernel_of(svm: Svm, ground: Common) -> Kernel:
    """Return the kernel with gamma as a number, and without numbers that it has no use for."""
    if svm.kernel == "linear":
        return Kernel("linear")
    gamma = ground.gamma if svm.gamma == "scale" else gamma_of(svm.gamma, ground.columns, 0, 0.0, 0.0)
    return Kernel("rbf", gamma) if svm.kernel == "rbf" else Kernel(svm.kernel, gamma, svm.degree, svm.coef0)


# Steps at the holders


def tables(
    part: Records,
    atoms: Atoms,
    maps: tuple[FeatureMap, ...],
    classes: Names,
    pairs: Pairs,
    weights: F64,
    dtype: str,
    device: str,
) -> Tables:
    """Return this holder's rows under every map."""
    return tuple(rows_of(part, the_map, atoms, classes, pairs, weights, dtype, device) for the_map in maps)


def pick_tables(rows: Tables, used: tuple[int, ...]) -> Tables:
    """Return the tables with these numbers."""
    return tuple(rows[t] for t in used)


def table_of(rows: Tables, table: int) -> Rows:
    """Return the table with this number."""
    return rows[table]


def make_trial_tables(rows: Tables, used: tuple[int, ...], here: Flags, fold: I64, folds: int) -> Tables:
    """Return these tables with every problem once per fold, without the fold's rows and later stages."""
    signs = leave_out_folds(rows[0], fold, folds).signs * here[:, None].astype(np.int8)
    return tuple(dataclasses.replace(rows[t], signs=signs) for t in used)


def fold_of(fold: I64, atoms: Atoms) -> I64:
    """Return the fold of every row; -1 where it takes no part."""
    return np.where(atoms.group >= 0, fold, -1)


def deal_own_stages(atoms: Atoms, shares: tuple[float, ...], seed: int, me: str) -> I64:
    """Return from which stage on each of the holder's rows takes part."""
    return deal_stages(atoms.group, shares, atoms.least, np.random.default_rng((seed, 1, *me.encode())))


def mark_until(atoms: Atoms, stage: I64, last: int) -> Flags:
    """Return which rows take part in the stages so far."""
    return (atoms.group >= 0) & (stage <= last)


def kinds_until(atoms: Atoms, stage: I64, last: int) -> I64:
    """Return the classes of the rows of the stages so far; -1 for all others."""
    return np.where(mark_until(atoms, stage, last), atoms.kind, -1)


def confusions(
    rows: Tables,
    kinds: I64,
    fold: I64,
    folds: int,
    used: tuple[int, ...],
    models: tuple[Solution, ...],
    multi_class: str,
    classes: int,
) -> F64:
    """Return for every candidate and fold how many rows there are by their class and by the class chosen."""
    use, counts = kinds >= 0, np.zeros((len(models), folds, classes, classes))
    for count, table, each in zip(counts, used, models, strict=True):
        said = choose_class(values_of(rows[table], fold, folds, each, multi_class)[use])
        np.add.at(count, (fold[use], kinds[use], said), 1.0)
    return counts


# Steps at the coordinator, and at witnesses


def judge(counts: F64, scoring: str) -> Judged:
    """Return the score of every candidate in every fold, (1) before the mean."""
    return Judged(scores_of_counts(np.rint(counts), scoring))


# Public bookkeeping


def fold_models(paths: Paths, table: int, at: int, folds: int, ground: Common) -> Solution:
    """Return the models of a candidate: for every fold, all problems."""
    S = folds * len(ground.pairs)
    return ground.never(paths.solution(range(table * S, (table + 1) * S), at))


# As a job


def small(params: Params) -> Params:
    """Return parameters for a few invented rows and candidates."""
    return {**shrink_groups(params), **shortlist(params), **PLAIN, "cv": 2, "scoring": "accuracy"}


PAN_SEARCH = Declaration(
    pan_search, TABLE, Rehearsal(by_rows, small, search_cost), unless={"refit": False}, sparse={"device": "cpu"}
)
