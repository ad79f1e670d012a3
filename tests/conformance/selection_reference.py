"""Feature selection on one table, written plainly: what the parties' selection must equal, from the same landmarks and folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import f_oneway, ttest_ind
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from tacit.choreo import At, Run
from tacit.data.part import Part
from tacit.numeric.folds import dealt
from tacit.protocols.select_filter import select_filter
from tacit.protocols.select_wrapper import select_wrapper

CRITERIA = ("rfe", "rsvm", "t")
SVM = {"gamma": 0.2, "degree": 3, "coef0": 0.0, "C": 1.0, "landmarks": 0.2, "min_cluster": 3, "min_count": 1, "tol": 1e-4, "seed": 3}
SEARCH = {"keep": 2, "step": 1, "cv": 3, "best": True}


class Reference:
    """A table whose rows carry the name of their holder."""

    def __init__(self, parts: dict[str, Any], centres: Any, *, kernel: str, gamma: float, C: float, min_count: int, seed: int = 0) -> None:
        self.X, self.y = (np.concatenate([getattr(p, name) for p in parts.values()]) for name in ("X", "y"))
        self.codes = [np.unique(self.y).searchsorted(p.y) for p in parts.values()]
        self.names, self.seed, self.min_count = list(parts), seed, min_count
        self.centres, self.kernel, self.gamma, self.C = centres, kernel, gamma, C
        self.classes = np.unique(self.y)
        self.sides = [self.y == self.classes[-1]] if len(self.classes) == 2 else [self.y == c for c in self.classes]
        self.summed = [V for side in self.sides for V in (side, ~side)]

    def k(self, A: Any, B: Any) -> Any:
        return pairwise_kernels(A, B, metric=self.kernel, filter_params=True, gamma=self.gamma)

    def mapped(self, S: Any) -> tuple[Any, Any]:
        if self.kernel == "linear":
            return self.X[:, S], None
        L = self.centres[:, S]
        values, U = np.linalg.eigh(self.k(L, L))
        B = U[:, values > 1e-10 * values[-1]] / np.sqrt(values[values > 1e-10 * values[-1]])
        return self.k(self.X[:, S], L) @ B, B

    def svm(self, F: Any, side: Any) -> tuple[Any, float]:
        model = SVC(kernel="linear", C=self.C, tol=1e-5).fit(F, side)
        return model.coef_[0], float(model.intercept_[0])

    def folds(self, most: int) -> Any:
        for k in range(most, 1, -1):
            fold = np.concatenate([dealt(c, k, (self.seed, *n.encode())) for c, n in zip(self.codes, self.names, strict=True)])
            sizes = np.array([np.sum((fold == q) & (self.y == c)) for q in range(k) for c in self.classes])
            if np.all((sizes == 0) | (sizes >= self.min_count)):
                return fold
        return None

    def accuracy(self, S: Any, fold: Any) -> float:
        F, _ = self.mapped(S)
        right = 0
        for q in np.unique(fold):
            test = fold == q
            models = [self.svm(F[~test], side[~test]) for side in self.sides]
            values = np.column_stack([F[test] @ w + b for w, b in models])
            chosen = values[:, 0] > 0 if len(models) == 1 else values.argmax(axis=1)
            right += np.sum(self.classes[chosen.astype(int)] == self.y[test])
        return right / len(self.y)

    def scores(self, S: Any, tol: float) -> dict[str, Any]:
        """Every criterion by leaving one feature out of the kernel."""
        F, B = self.mapped(S)
        models = [self.svm(F, side) for side in self.sides]
        found = {
            "rfe": np.mean([self._rfe(S, w, B) for w, _ in models], axis=0),
            "rsvm": np.mean([self._rsvm(S, w, B, side) for (w, _), side in zip(models, self.sides, strict=True)], axis=0),
        }
        t = [self._t(S, F @ w + b, side, np.sqrt(tol)) for (w, b), side in zip(models, self.sides, strict=True)]
        return (
            found if all(each is None for each in t) else {**found, "t": np.mean([np.zeros(len(S)) if x is None else x for x in t], axis=0)}
        )

    def _rfe(self, S: Any, w: Any, B: Any) -> Any:
        if B is None:
            return w**2
        v, L = B @ w, self.centres
        return [abs(v @ (self.k(L[:, S], L[:, S]) - self.k(L[:, np.delete(S, j)], L[:, np.delete(S, j)])) @ v) for j in range(len(S))]

    def _rsvm(self, S: Any, w: Any, B: Any, side: Any) -> Any:
        if B is None:
            return w * (self.X[side][:, S].mean(axis=0) - self.X[~side][:, S].mean(axis=0))
        drop = np.array([self._without(S, j, B @ w) for j in range(len(S))])
        return drop[:, side].mean(axis=1) - drop[:, ~side].mean(axis=1)

    def _without(self, S: Any, j: int, v: Any) -> Any:
        T = np.delete(S, j)
        return (self.k(self.X[:, S], self.centres[:, S]) - self.k(self.X[:, T], self.centres[:, T])) @ v

    def _t(self, S: Any, values: Any, side: Any, slack: float) -> Any:
        sets = [self._taken(mask & (np.where(side, values, -values) <= 1 + slack)) for mask in (side, ~side)]
        if any(V is None for V in sets):
            return None
        return np.abs(ttest_ind(self.X[sets[0]][:, S], self.X[sets[1]][:, S], equal_var=False).statistic)

    def _taken(self, V: Any) -> Any:
        """The rows themselves, or the nearest rows that were summed before."""
        if V.sum() < self.min_count:
            return None
        nearest = min(self.summed, key=lambda W: np.sum(V ^ W))
        if np.sum(V ^ nearest) < self.min_count:
            return nearest
        self.summed.append(V)
        return V

    def wrapper(self, drops: tuple[int, ...], *, criteria: tuple[str, ...], cv: int, tol: float) -> tuple[list[Any], list[float]]:
        """What goes in each round, and the accuracy of what is left at first and after each."""
        S, gone, fold = np.arange(self.X.shape[1]), [], self.folds(cv)
        path = [S]
        for number in drops:
            scores = self.scores(S, tol)
            orders = [list(S[np.argsort(scores[c], kind="stable")]) for c in criteria if c in scores]
            gone.append(self._vote(S, orders, number, fold))
            S = np.setdiff1d(S, gone[-1])
            path.append(S)
        return gone, [self.accuracy(T, fold) for T in path]

    def _vote(self, S: Any, orders: list[Any], number: int, fold: Any) -> Any:
        names = [set(o[:number]) for o in orders]
        agreed = {j for j in S if 2 * sum(j in n for n in names) > len(orders)}
        assert len(agreed) <= number, "this case needs no rule for too many"
        proposals = [[j for j in o[:number] if j not in agreed][: number - len(agreed)] for o in orders]
        sets = list(dict.fromkeys(tuple(sorted({*agreed, *p})) for p in proposals))
        best = 0 if len(sets) == 1 else int(np.argmax([self.accuracy(np.setdiff1d(S, list(each)), fold) for each in sets]))
        return np.array(sets[best])

    def filtered(self, p: float, trials: int, cv: int) -> tuple[Any, list[Any], list[float]]:
        """The voted set by the p-values, what goes in each round until two are left, and the accuracies on the way."""
        groups = [self.X[self.y == c] for c in self.classes]
        A, B = groups
        t = ttest_ind(A, B, equal_var=False)
        fisher = (A.mean(axis=0) - B.mean(axis=0)) ** 2 / (A.var(axis=0) + B.var(axis=0))
        ranks = sum(np.argsort(np.argsort(score)) for score in (fisher, np.abs(t.statistic), f_oneway(*groups).statistic))
        weakest = [j for j in np.argsort(ranks, kind="stable") if t.pvalue[j] <= p]
        S, fold = np.sort(weakest), self.folds(cv)
        features, gone, path = S, [], [self.accuracy(S, fold)]
        while len(S) > 2:
            tried = [j for j in weakest if j in S][:trials]
            found = [self.accuracy(np.setdiff1d(S, [j]), fold) for j in tried]
            gone.append(np.array([tried[int(np.argmax(found))]]))
            S = np.setdiff1d(S, gone[-1])
            path.append(max(found))
        return features, gone, path


def chosen(path: list[float], rows: int) -> int:
    """The largest subset within one standard error of the best."""
    top = max(path)
    return next(t for t, a in enumerate(path) if a >= top - np.sqrt(top * (1 - top) / rows))


# as cases


def parts_for(holders: tuple[str, ...], classes: int, columns: int) -> dict[str, Part]:
    """Rows of unequal numbers; the first three of the columns matter."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(48, columns))
    score = X[:, 0] * (1 + 0.6 * X[:, 1]) + 0.7 * X[:, 2] + 0.25 * rng.normal(size=len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    cuts = np.split(np.arange(len(X)), np.cumsum(np.arange(1, len(holders)) + 48 // len(holders) - len(holders) // 2))
    names = tuple(f"x{j}" for j in range(columns))
    return {p: Part(np.ascontiguousarray(X[c]), y[c], None, names, None) for p, c in zip(holders, cuts, strict=True)}


def play_wrapper(run: Run, data: At[Any], *, kernel: str, step: int) -> Any:
    return select_wrapper(run, data, svm={**SVM, "kernel": kernel}, criteria=CRITERIA, **{**SEARCH, "step": step})


def check_wrapper(result: Any, parts: dict[str, Part], *, kernel: str, step: int) -> None:
    rows = sum(len(part.X) for part in parts.values())
    reference = Reference(parts, result["centres"], kernel=kernel, gamma=0.2, C=1.0, min_count=1, seed=3)
    gone, path = reference.wrapper((step, step), criteria=CRITERIA, cv=3, tol=1e-4)
    assert [list(each) for each in result["gone"]] == [list(each) for each in gone]
    np.testing.assert_allclose(result["scores"]["coordinator"], path)
    assert result["chosen"] == chosen(path, rows)


def play_filter(run: Run, data: At[Any], *, kernel: str) -> Any:
    return select_filter(run, data, svm={**SVM, "kernel": kernel}, filters={"welch": 0.6}, trials=2, **SEARCH)


def check_filter(result: Any, parts: dict[str, Part], *, kernel: str) -> None:
    rows = sum(len(part.X) for part in parts.values())
    reference = Reference(parts, result["centres"], kernel=kernel, gamma=0.2, C=1.0, min_count=1, seed=3)
    # the landmarks are of the features that passed
    reference.centres = np.zeros((len(result["centres"]), 4))
    reference.centres[:, result["features"]] = result["centres"]
    features, gone, path = reference.filtered(0.6, 2, 3)
    assert list(result["features"]) == list(features)
    assert [list(each) for each in result["gone"]] == [list(each) for each in gone]
    np.testing.assert_allclose(result["scores"]["coordinator"], path)
    assert result["chosen"] == chosen(path, rows)
