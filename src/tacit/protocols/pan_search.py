"""A search for parameters of a PAN-SVM: every candidate trained on every fold, in one run and one consent.

The problem. Of candidates (kernel with its numbers, C), the one of the largest mean score over k folds of the rows that many hold:

    score(c) = mean_q s(confusion of f_cq on fold q),    f_cq trained without fold q                              (1)

Work is shared: landmarks are agreed once, since where records lie does not depend on the kernel; each kernel has one map; all prices C
of a kernel and a fold share one pool of cuts, and all pools advance together (`cutting_plane`). Every holder deals its own rows of
every class to the folds by a public seed, in whole groups (`fold_accuracy`). The confusion counts of (1) are one secure sum.

With `factor` the search halves: first all candidates on a small share of the rows, then the best of them on `factor` times as many,
and so on. Rows come in nested stages, which are unions of groups too.

With `refit` the best candidate is trained on all rows in the same run. All sums of the search, of whatever candidate, fold, stage or model,
are over unions of the same groups.

Roles. Holder: records with labels. Coordinator: learns the counts, publishes the scores.
Threat. Semi-honest; coalitions as `secure_sum`; see `landmarks` and `cutting_plane` for what is opened on the way. The scores are
exact counts of rows; from candidate to candidate they tell how many rows change their side.
Not protected: models of many candidates tell more about the rows than one does.
Source: ours; the models are 004's (docs/methods/pan_svm.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.choreo import F64, I64, At, Coordinator, Everyone, Holder, Message, Run, choreography
from tacit.numeric.atoms import staged
from tacit.numeric.folds import chosen
from tacit.numeric.grid import arranged, best_of, check_candidates, check_scoring, first_best, schedule
from tacit.numeric.grid import scores_of as scores_of_counts
from tacit.numeric.kernels import Kernel, gamma_of
from tacit.protocols.atoms import Atoms, parted
from tacit.protocols.cutting_plane import Paths, Solution, Tables, cutting_plane
from tacit.protocols.feature_map import FeatureMap, Records
from tacit.protocols.fold_accuracy import check_folds, deal, in_folds
from tacit.protocols.fold_scores import unseen_scores, values_of
from tacit.protocols.plane_rows import Rows
from tacit.protocols.platt import platt
from tacit.protocols.row_maps import prepare
from tacit.protocols.row_problems import Common, Pairs, Svm, agreed, check_landmarks, rows_of, takes_svm
from tacit.protocols.witness import Voice

Flags = NDArray[np.bool_]


class Judged(Message, tells="the score of every candidate tried in every fold"):
    """A row for each."""

    scores: F64


@dataclass(frozen=True)
class Dealt:
    """How many folds, and which shares of the rows the stages have; at each holder the fold and the stage of each row."""

    folds: int
    shares: tuple[float, ...]
    fold: At[I64]
    stage: At[I64]


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
        """For the report; `early`: how many problems of each candidate ended with a larger gap than asked for."""
        early = [len(each.held) for each in self.models]
        return {"candidates": self.candidates.tolist(), "scores": self.scores.tolist(), "share": self.share, "early": early}


@choreography(
    opens={
        Coordinator: "how many rows of each class are in each fold; for every candidate and fold how many rows of each class are taken"
        " for which; for each kernel and fold the sum of the mapped rows of each side of each problem, in every round the sum over a union"
        " of groups of them, and bounds on the loss along a line that are functions of the groups' sums: every group is of at least"
        " min_count rows of one class at one holder, the same groups in the whole search; with gamma='scale' the sum and the sum of"
        " squares of all cells",
        Everyone: "which classes each party has; how many records each class has over all parties, and how many of them take part; of how"
        " many rows each party's groups are at least; the landmarks, each the mean of at least min_cluster records over whole groups"
        " (none with landmark_source='fourier' or linear kernels); every iterate, a model for every candidate and fold, the scores, and"
        " the last model; with witness=True all that the coordinator learns",
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
    points = tuple((kernel_of(each, ground), each.C) for each in asked)
    kernels = arranged(points).kernels
    ready = prepare(run, data, kernels, ground=ground)
    ground = ready.ground
    dealt, atoms = deal_out(run, ready.atoms, ground=ground, cv=cv, shares=tuple(share for _, share in plan))
    search = Search(ground, points, kernels, ready.maps, dealt, scoring)
    rows = run.local(Holder, tables, data, atoms, search.maps, ground.classes, ground.pairs, ground.weights, ground.svm.dtype)
    tried: list[Tried] = []
    for stage, (keep, _) in enumerate(plan[-len(dealt.shares) :]):
        left = tried[-1].candidates[best_of(tried[-1].scores, keep)] if tried else np.arange(len(asked))
        found, atoms = trial(run, rows, atoms, left, stage, search=search)
        tried.append(found)
        run.note(stage=stage + 1, candidates=len(left), best=float(np.average(found.scores, axis=1).max()))
    best = int(tried[-1].candidates[first_best(tried[-1].scores)])
    known = {
        "classes": ground.classes,
        "pairs": ground.pairs,
        "columns": ground.columns,
        "sizes": ground.sizes,
        "taking": ground.taking,
        "least": ready.least,
        "fold": run.local(Holder, fold_of, dealt.fold, atoms),
    }
    model = last(run, rows, atoms, best, tried[-1], search=search) if refit else {}
    return {**known, "best": best, "tried": tuple(each.told for each in tried), "folds": dealt.folds, **model}


@choreography(opens={Coordinator: "how many rows of each class are in each fold, over all parties", Everyone: "how many folds"})
def deal_out(run: Run, atoms: At[Atoms], *, ground: Common, cv: int, shares: tuple[float, ...]) -> tuple[Dealt, At[Atoms]]:
    """Every holder deals its rows to folds, and takes them in stages."""
    folds, atoms = deal(run, atoms, ground=ground, most=cv, seed=ground.svm.seed)
    check_folds(folds.number, "a search")
    assert folds.of is not None  # noqa: S101 - for the type checker; check_folds saw to it
    stage = run.local(Holder, staged_here, atoms, shares, ground.svm.seed, run.who(Holder))
    return Dealt(folds.number, shares, folds.of, stage), run.local(Holder, parted, atoms, stage)


@choreography(
    opens={
        Coordinator: "for every candidate and fold, how many rows of each class are taken for which",
        Everyone: "the score of every candidate in every fold, and its model",
    }
)
def trial(
    run: Run, rows: At[Tables], atoms: At[Atoms], left: I64, stage: int, *, search: Search
) -> tuple[Tried, At[Atoms]]:  # fmt: skip
    """(1) for the candidates that are left, on the rows of the stages so far."""
    ground, dealt = search.ground, search.dealt
    grid = arranged([search.points[i] for i in left])
    used = tuple(search.kernels.index(kernel) for kernel in grid.kernels)
    here = run.local(Holder, until, atoms, dealt.stage, stage)
    held = run.local(Holder, in_trial, rows, used, here, dealt.fold, dealt.folds)
    paths, atoms = solved(run, held, atoms, used, grid.prices, dealt.folds * len(ground.pairs), search=search)
    models = tuple(fold_models(paths, *place, dealt.folds, ground) for place in grid.places)
    tables_ = tuple(used[table] for table, _ in grid.places)
    voice = Voice(run, ground.by, ground.fixed, ground.svm.witness)
    kinds = run.local(Holder, kinds_until, atoms, dealt.stage, stage)
    counts = voice.added(confusions, rows, kinds, dealt.fold, dealt.folds, tables_, models, ground.pairs, len(ground.classes))
    scores = voice.told(Judged, judge, counts, search.scoring).scores
    return Tried(left, scores, dealt.shares[stage], models), atoms


@choreography(opens={Everyone: "the model of the best candidate on all rows; with probability=True its sigmoids"})
def last(run: Run, rows: At[Tables], atoms: At[Atoms], best: int, tried: Tried, *, search: Search) -> dict[str, Any]:
    """The best candidate on all rows. Probabilities are fitted to what the models of its folds say of the rows they did not see."""
    ground, dealt, (kernel, C) = search.ground, search.dealt, search.points[best]
    table = search.kernels.index(kernel)
    whole = run.local(Holder, picked, rows, (table,))
    paths, atoms = solved(run, whole, atoms, (table,), ((C,),), len(ground.pairs), search=search)
    found = ground.never(paths.solution(range(len(ground.pairs))))
    AB = None
    if ground.svm.probability:
        models = tried.models[int(np.flatnonzero(tried.candidates == best)[0])]
        own = run.local(Holder, table_of, rows, table)
        unseen, _ = unseen_scores(
            run, own, atoms, dealt.fold, models, folds=dealt.folds, pairs=ground.pairs, classes=len(ground.classes)
        )  # fmt: skip
        AB = platt(run, unseen, sizes=ground.playing, by=ground.by, fixed=ground.fixed, witness=ground.svm.witness)
    return {"map": search.maps[table], "solution": found, "sigmoids": AB}


def solved(
    run: Run, rows: At[Any], atoms: At[Atoms], used: tuple[int, ...], prices: tuple[tuple[float, ...], ...], columns: int, *, search: Search
) -> tuple[Paths, At[Atoms]]:
    """`cutting_plane` with the parameters agreed on."""
    ground, svm = search.ground, search.ground.svm
    return cutting_plane(
        run, rows, atoms, prices=prices, widths=tuple(search.maps[t].size for t in used), columns=columns, by=ground.by, fixed=ground.fixed,
        exact=ground.exact, tol=svm.tol, max_rounds=svm.max_rounds, witness=svm.witness, trainings=len(search.dealt.shares) + 1,
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
    part: Records, atoms: Atoms, maps: tuple[FeatureMap, ...], classes: tuple[Any, ...], pairs: Pairs, weights: F64, dtype: str
) -> Tables:
    """The rows under every map."""
    return tuple(rows_of(part, the_map, atoms, classes, pairs, weights, dtype) for the_map in maps)


def picked(rows: Tables, used: tuple[int, ...]) -> Tables:
    """These tables."""
    return tuple(rows[t] for t in used)


def table_of(rows: Tables, table: int) -> Rows:
    """One table."""
    return rows[table]


def in_trial(rows: Tables, used: tuple[int, ...], here: Flags, fold: I64, folds: int) -> Tables:
    """These tables, every problem once per fold, without the fold's rows and those of later stages."""
    signs = in_folds(rows[0], fold, folds).signs * here[:, None].astype(np.int8)
    return tuple(dataclasses.replace(rows[t], signs=signs) for t in used)


def fold_of(fold: I64, atoms: Atoms) -> I64:
    """The fold of every row; -1 where it takes no part."""
    return np.where(atoms.group >= 0, fold, -1)


def staged_here(atoms: Atoms, shares: tuple[float, ...], seed: int, me: str) -> I64:
    """The holder's own stages."""
    return staged(atoms.group, shares, atoms.least, np.random.default_rng((seed, 1, *me.encode())))


def until(atoms: Atoms, stage: I64, last: int) -> Flags:
    """Which rows take part in the stages so far."""
    return (atoms.group >= 0) & (stage <= last)


def kinds_until(atoms: Atoms, stage: I64, last: int) -> I64:
    """Classes of the rows of the stages so far; -1 for all others."""
    return np.where(until(atoms, stage, last), atoms.kind, -1)


def confusions(
    rows: Tables,
    kinds: I64,
    fold: I64,
    folds: int,
    used: tuple[int, ...],
    models: tuple[Solution, ...],
    pairs: Pairs,
    classes: int,
) -> F64:
    """For every candidate and fold, rows by their class and by the class chosen."""
    use, counts = kinds >= 0, np.zeros((len(models), folds, classes, classes))
    for count, table, each in zip(counts, used, models, strict=True):
        said = chosen(values_of(rows[table], fold, folds, each, pairs, classes)[use])
        np.add.at(count, (fold[use], kinds[use], said), 1.0)
    return counts


# Steps at the coordinator, and at witnesses


def judge(counts: F64, scoring: str) -> Judged:
    """(1), before the mean."""
    return Judged(scores_of_counts(np.rint(counts), scoring))


# Public bookkeeping


def fold_models(paths: Paths, table: int, at: int, folds: int, ground: Common) -> Solution:
    """The models of a candidate: for every fold, all problems."""
    S = folds * len(ground.pairs)
    return ground.never(paths.solution(range(table * S, (table + 1) * S), at))
