"""Searches for parameters on one table, written plainly: scikit-learn's SVC on the same folds and the same map."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from conformance.pan_oracle import SHAPE
from tacit.choreo import At, Run
from tacit.data.part import Part
from tacit.protocols.feature_map import FeatureMap, map_records
from tacit.protocols.gram_search import gram_search
from tacit.protocols.pan_search import pan_search

CANDIDATES = tuple({"kernel": "rbf", "C": C, "gamma": gamma} for C, gamma in product([1.0, 4.0], [0.1, 0.6]))
FOLDS = 2
SVM = {**SHAPE, "gamma": 0.1, "tol": 1e-5, "min_count": 1, "landmarks": 12, "seed": 3}
DUAL = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 0.0, "C": 1.0, "class_weight": None, "tol": 1e-6, "max_iter": -1,
        "probability": False}  # fmt: skip


def play_pan_search(run: Run, data: At[Any], *, factor: int = 0, **changed: Any) -> Any:
    found = pan_search(run, data, **{**SVM, **changed}, candidates=CANDIDATES, cv=FOLDS, factor=factor)
    return _told(found, {name: getattr(found["map"], name) for name in FeatureMap.field_names()})


def _told(found: Any, more: dict[str, Any]) -> dict[str, Any]:
    last = found["tried"][-1]
    return {"best": found["best"], "fold": found["fold"], "left": np.array(last["candidates"]), "scores": np.array(last["scores"]), **more}


def check_pan_search(result: Any, parts: dict[str, Part]) -> None:
    """The scores of all that were left are those of GridSearchCV, and the first best of them is the best."""
    X, y = (np.concatenate([getattr(p, name) for p in parts.values()]) for name in ("X", "y"))
    fold = np.concatenate([result["fold"][p] for p in parts])
    assert set(fold) == set(range(FOLDS))
    means = []
    for i, scores in zip(result["left"], result["scores"], strict=True):
        reference = search(mapped(X, CANDIDATES[i], result), y, fold, CANDIDATES[i]["C"])
        np.testing.assert_allclose(scores, [reference[f"split{q}_test_score"][0] for q in range(FOLDS)], atol=1e-12)
        means.append(reference["mean_test_score"][0])
    assert result["best"] == result["left"][int(np.argmax(means))]


def mapped(X: Any, candidate: dict[str, Any], result: Any) -> Any:
    """The same landmarks under this candidate's kernel."""
    if result["source"] == "fourier":
        return map_records(FeatureMap("fourier", "rbf", candidate["gamma"], 3, 0.0, np.empty((0, 0)), np.empty((0, 0)), 3, 12), X)
    K = pairwise_kernels(result["centres"], metric="rbf", gamma=candidate["gamma"])
    values, U = np.linalg.eigh(K)
    keep = values > 1e-10 * values[-1]
    return pairwise_kernels(X, result["centres"], metric="rbf", gamma=candidate["gamma"]) @ (U[:, keep] / np.sqrt(values[keep]))


def search(F: Any, y: Any, fold: Any, C: float, kernel: str = "linear") -> Any:
    """GridSearchCV of one candidate, each class against the rest."""
    svc: Any = SVC(kernel=kernel, C=C, tol=1e-6, cache_size=20)
    svc = svc if len(np.unique(y)) == 2 else OneVsRestClassifier(svc)
    return GridSearchCV(svc, {}, cv=PredefinedSplit(fold), refit=False).fit(F, y).cv_results_


def play_gram_search(run: Run, data: At[Any], *, factor: int = 0, **protection: Any) -> Any:
    found = gram_search(run, data, **DUAL, candidates=CANDIDATES, cv=FOLDS, factor=factor, seed=5, band=500, **protection)
    return _told(found, {"support": found["support"]})


def play_cells_search(run: Run, data: At[Any], **params: Any) -> Any:
    found = gram_search(run, data, **DUAL, candidates=CANDIDATES, cv=3, min_count=3, seed=5, band=500, **params)
    return _told(found, {"support": found["support"]})


def check_gram_search(result: Any, X: Any, y: Any) -> None:
    """As GridSearchCV on the kernel matrix of the pooled records."""
    fold, means = result["fold"]["coordinator"], []
    for i, scores in zip(result["left"], result["scores"], strict=True):
        given = {name: value for name, value in CANDIDATES[i].items() if name == "gamma"}
        K = pairwise_kernels(X, metric=CANDIDATES[i]["kernel"], **given)
        reference = search(K, y, fold, CANDIDATES[i]["C"], "precomputed")
        np.testing.assert_allclose(scores, [reference[f"split{q}_test_score"][0] for q in range(fold.max() + 1)], atol=1e-12)
        means.append(reference["mean_test_score"][0])
    assert result["best"] == result["left"][int(np.argmax(means))]
    best = CANDIDATES[result["best"]]
    model = SVC(kernel=best["kernel"], C=best["C"], gamma=best.get("gamma", 1.0), tol=1e-6)
    if len(np.unique(y)) == 2:
        assert set(result["support"]) == set(model.fit(X, y).support_)
