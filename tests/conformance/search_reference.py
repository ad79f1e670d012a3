"""Searches for parameters on one table, written plainly: scikit-learn's SVC on the same folds and the same map."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from conformance import atoms_reference as grouped
from conformance.case import flat
from conformance.landmark_oracle import local_clusters
from conformance.pan_oracle import SHAPE
from tacit.choreo import At, Run
from tacit.federation.part import Part
from tacit.numeric.scores.grid import schedule
from tacit.protocols.gram.search import gram_search
from tacit.protocols.planes.feature_map import FeatureMap, map_records
from tacit.protocols.planes.pan_search import pan_search
from tacit.protocols.planes.problems import Svm, problems, signs_of

CANDIDATES = tuple({"kernel": "rbf", "C": C, "gamma": gamma} for C, gamma in product([1.0, 4.0], [0.1, 0.6]))
FOLDS = 2
SVM = {**SHAPE, "gamma": 0.1, "tol": 1e-5, "landmarks": 12, "seed": 3}
DUAL = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0, "C": 1.0, "class_weight": None, "tol": 1e-6,
        "max_iter": -1, "probability": False}  # fmt: skip


def play_pan_search(run: Run, data: At[Any], *, factor: int = 0, **changed: Any) -> Any:
    found = pan_search(run, data, svm=Svm(**{**SVM, **changed}), candidates=CANDIDATES, cv=FOLDS, factor=factor)
    return _told(found, {name: getattr(found.map, name) for name in FeatureMap.field_names()})


def _told(found: Any, more: dict[str, Any]) -> dict[str, Any]:
    last = found.tried[-1]
    return {
        "best": found.best,
        "fold": found.fold,
        "left": last.candidates,
        "scores": last.scores,
        **more,
    }


def check_pan_search(result: Any, parts: dict[str, Part], *, factor: int, least: int) -> None:
    """The scores of all that were left are those of GridSearchCV, and the first best of them is the best."""
    if least > 1:
        return check_grouped_search(result, parts, factor, least)
    X, y = (np.concatenate([getattr(p, name) for p in parts.values()]) for name in ("X", "y"))
    fold = np.concatenate([result["fold"][p] for p in parts])
    assert set(fold) == set(range(FOLDS))
    means = []
    for i, scores in zip(result["left"], result["scores"], strict=True):
        reference = search(mapped(X, CANDIDATES[i], result), y, fold, CANDIDATES[i]["C"])
        np.testing.assert_allclose(scores, [reference[f"split{q}_test_score"][0] for q in range(FOLDS)], atol=1e-12)
        means.append(reference["mean_test_score"][0])
    assert result["best"] == result["left"][int(np.argmax(means))]
    return None


def check_grouped_search(result: Any, parts: dict[str, Part], factor: int, least: int) -> None:
    """Folds, stages and all trainings over the same groups, one stage after the other."""
    X, y = (np.concatenate([getattr(p, name) for p in parts.values()]) for name in ("X", "y"))
    holders = dict(
        zip(parts, np.split(np.arange(len(y)), np.cumsum([len(p.X) for p in parts.values()])[:-1]), strict=True)
    )
    groups, rows = grouped.by_class(holders, y, least), {p: len(own) for p, own in holders.items()}
    if result["source"] == "local":
        groups = grouped.split_by(
            groups, local_clusters(X, groups, SVM["landmarks"], max(SVM["min_cluster"], least), rows)
        )
    number, fold = grouped.most_folds(groups, y, FOLDS, least, SVM["seed"])
    groups = grouped.split_by(groups, fold)
    plan = schedule(len(CANDIDATES), factor)
    stage = grouped.stages(groups, [share for _, share in plan], least, SVM["seed"])
    groups = grouped.split_by(groups, stage)
    for name, own in holders.items():
        assert all(result["fold"][name][j] == fold[i] for j, i in enumerate(own) if i in fold)
    left, scores = list(range(len(CANDIDATES))), np.empty(0)
    for s, (keep, _) in enumerate(plan):
        if s:
            left = [left[i] for i in sorted(np.argsort(-scores.mean(axis=1), kind="stable")[:keep])]
        here = {i: q for i, q in fold.items() if stage[i] <= s}
        scores, groups = trial(X, y, [CANDIDATES[i] for i in left], here, number, groups, least, result)
    assert left == list(result["left"])
    np.testing.assert_allclose(result["scores"], scores, atol=1e-12)
    assert result["best"] == left[int(np.argmax(scores.mean(axis=1)))]


def trial(
    X: Any, y: Any, candidates: Any, fold: dict[int, int], folds: int, groups: Any, least: int, result: Any
) -> tuple[Any, Any]:
    """The share of rows that are labelled rightly, by candidate and fold, and the groups after the trainings."""
    gammas = list(dict.fromkeys(each["gamma"] for each in candidates))
    prices = {gamma: sorted(each["C"] for each in candidates if each["gamma"] == gamma) for gamma in gammas}
    maps = {gamma: mapped(X, {"gamma": gamma}, result) for gamma in gammas}
    pairs = problems(len(np.unique(y)), "ovr")
    of = np.array([fold.get(i, -1) for i in range(len(y))])
    signs = np.hstack([np.where(((of == q) | (of < 0))[:, None], 0, signs_of(y, pairs)) for q in range(folds)])
    pools, groups, _ = grouped.planes(
        groups, [(maps[gamma], prices[gamma]) for gamma in gammas], signs, least=least, tol=SVM["tol"]
    )
    scores = np.zeros((len(candidates), folds))
    for c, each in enumerate(candidates):
        first, at = gammas.index(each["gamma"]) * signs.shape[1], prices[each["gamma"]].index(each["C"])
        for q in range(folds):
            models = [pools[first + q * len(pairs) + k].found[at] for k in range(len(pairs))]
            values = np.column_stack([maps[each["gamma"]][of == q] @ w + b for w, b, *_ in models])
            scores[c, q] = np.mean((values[:, 0] > 0 if len(pairs) == 1 else values.argmax(axis=1)) == y[of == q])
    return scores, groups


def mapped(X: Any, candidate: dict[str, Any], result: Any) -> Any:
    """The same landmarks under this candidate's kernel."""
    if result["source"] == "fourier":
        return map_records(
            FeatureMap("fourier", "rbf", candidate["gamma"], 3, 0.0, np.empty((0, 0)), np.empty((0, 0)), 3, 12), X
        )
    K = pairwise_kernels(result["centres"], metric="rbf", gamma=candidate["gamma"])
    values, U = np.linalg.eigh(K)
    keep = values > 1e-10 * values[-1]
    return pairwise_kernels(X, result["centres"], metric="rbf", gamma=candidate["gamma"]) @ (
        U[:, keep] / np.sqrt(values[keep])
    )


def search(F: Any, y: Any, fold: Any, C: float, kernel: str = "linear", multi_class: str = "ovr") -> Any:
    """GridSearchCV of one candidate, each class against the rest, or SVC's own way."""
    svc: Any = SVC(kernel=kernel, C=C, tol=1e-6, cache_size=20, break_ties=multi_class == "ovo")
    svc = svc if len(np.unique(y)) == 2 or multi_class == "ovo" else OneVsRestClassifier(svc)
    return GridSearchCV(svc, {}, cv=PredefinedSplit(fold), refit=False).fit(F, y).cv_results_


def play_gram_search(run: Run, data: At[Any], *, factor: int = 0, **protection: Any) -> Any:
    found = flat(gram_search)(
        run, data, **DUAL, candidates=CANDIDATES, cv=FOLDS, factor=factor, seed=5, band=500, **protection
    )
    return _told(found, {"support": found.support})


def play_cells_search(run: Run, data: At[Any], **params: Any) -> Any:
    found = flat(gram_search)(run, data, **DUAL, candidates=CANDIDATES, cv=3, min_count=3, seed=5, band=500, **params)
    return _told(found, {"support": found.support})


def check_gram_search(result: Any, X: Any, y: Any, multi_class: str = "ovr") -> None:
    """As GridSearchCV on the kernel matrix of the pooled records."""
    fold, means = result["fold"]["coordinator"], []
    for i, scores in zip(result["left"], result["scores"], strict=True):
        given = {name: value for name, value in CANDIDATES[i].items() if name == "gamma"}
        K = pairwise_kernels(X, metric=CANDIDATES[i]["kernel"], **given)
        reference = search(K, y, fold, CANDIDATES[i]["C"], "precomputed", multi_class)
        np.testing.assert_allclose(
            scores, [reference[f"split{q}_test_score"][0] for q in range(fold.max() + 1)], atol=1e-12
        )
        means.append(reference["mean_test_score"][0])
    assert result["best"] == result["left"][int(np.argmax(means))]
    best = CANDIDATES[result["best"]]
    model = SVC(kernel=best["kernel"], C=best["C"], gamma=best.get("gamma", 1.0), tol=1e-6)
    if len(np.unique(y)) == 2 or multi_class == "ovo":
        assert set(result["support"]) == set(model.fit(X, y).support_)
