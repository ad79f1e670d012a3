"""Feature selection on one table, written plainly.

What the parties' selection must equal, from the same landmarks and folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import f_oneway, ttest_ind
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from conformance import atoms_reference as grouped
from conformance.landmark_oracle import in_order, local_clusters
from tacit.choreo import At, Run
from tacit.federation.part import Part
from tacit.protocols.planes.elimination import Elimination
from tacit.protocols.planes.problems import Svm
from tacit.protocols.planes.select_filter import FilterElimination, select_filter
from tacit.protocols.planes.select_wrapper import select_wrapper

CRITERIA = ("rfe", "rsvm", "t")
SVM = {
    "gamma": 0.2, "degree": 3, "coef0": 0.0, "C": 1.0, "landmarks": 0.2, "min_cluster": 3, "min_count": 1, "tol": 1e-4,
    "seed": 3, "accept_risk": True,
}  # fmt: skip
SEARCH = {"keep": 2, "step": 1, "cv": 3, "best": True}


class Reference:
    """A table whose rows carry the name of their holder.

    Scikit-learn's SVMs, or with groups of several rows those of `atoms_reference`.
    """

    def __init__(
        self, parts: dict[str, Any], centres: Any, *, kernel: str, gamma: float, C: float, least: int = 1, seed: int = 0
    ) -> None:
        self.X, self.y = (np.concatenate([getattr(p, name) for p in parts.values()]) for name in ("X", "y"))
        self.seed, self.least, self.tol = seed, least, float(SVM["tol"])
        self.centres, self.kernel, self.gamma, self.C = centres, kernel, gamma, C
        self.classes = np.unique(self.y)
        ends = np.cumsum([len(part.X) for part in parts.values()])
        self.holders = dict(zip(parts, np.split(np.arange(len(self.y)), ends[:-1]), strict=True))
        self.groups = grouped.by_class(self.holders, self.y, least)
        self.use = np.isin(np.arange(len(self.y)), grouped.rows_in(self.groups))
        sides = [self.y == self.classes[-1]] if len(self.classes) == 2 else [self.y == c for c in self.classes]
        self.signs = np.where(self.use[:, None], np.where(np.stack(sides, axis=1), 1, -1), 0)

    def cluster(self, features: Any) -> None:
        """Landmarks split groups, and are their means."""
        if self.kernel == "linear" or self.least == 1:
            return
        rows = {name: len(own) for name, own in self.holders.items()}
        count = int(float(SVM["landmarks"]) * len(self.y) + 1e-9)
        label = local_clusters(self.X[:, features], self.groups, count, max(int(SVM["min_cluster"]), self.least), rows)
        means = [
            self.X[[i for i in label if label[i] == c]][:, features].mean(axis=0) for c in sorted(set(label.values()))
        ]
        np.testing.assert_allclose(in_order(self.centres[:, features]), in_order(np.array(means)), atol=1e-8)
        self.groups = grouped.split_by(self.groups, label)

    def k(self, A: Any, B: Any) -> Any:
        return pairwise_kernels(A, B, metric=self.kernel, filter_params=True, gamma=self.gamma)

    def mapped(self, S: Any) -> tuple[Any, Any]:
        if self.kernel == "linear":
            return self.X[:, S], None
        L = self.centres[:, S]
        values, U = np.linalg.eigh(self.k(L, L))
        B = U[:, values > 1e-10 * values[-1]] / np.sqrt(values[values > 1e-10 * values[-1]])
        return self.k(self.X[:, S], L) @ B, B

    def models(self, F: Any, signs: Any) -> list[tuple[Any, float]]:
        """The SVM of every column of signs."""
        if self.least > 1:
            pools, self.groups, _ = grouped.planes(self.groups, [(F, (self.C,))], signs, least=self.least, tol=self.tol)
            return [pool.found[0][:2] for pool in pools]
        found = [SVC(kernel="linear", C=self.C, tol=1e-5).fit(F[y != 0], y[y != 0]) for y in signs.T]
        return [(model.coef_[0], float(model.intercept_[0])) for model in found]

    def deal(self, most: int) -> None:
        """The fold of every row that takes part; the others have none."""
        number, fold = grouped.most_folds(self.groups, self.y, most, self.least, self.seed)
        self.fold, self.folds = np.array([fold.get(i, -1) for i in range(len(self.y))]), number
        self.groups = grouped.split_by(self.groups, fold)

    def accuracy(self, S: Any) -> float:
        F, _ = self.mapped(S)
        without = [np.where((self.fold == q)[:, None], 0, self.signs) for q in range(self.folds)]
        models, right, width = self.models(F, np.hstack(without)), 0, self.signs.shape[1]
        for q in range(self.folds):
            test = self.fold == q
            values = np.column_stack([F[test] @ w + b for w, b in models[q * width : (q + 1) * width]])
            chosen = values[:, 0] > 0 if width == 1 else values.argmax(axis=1)
            right += np.sum(self.classes[chosen.astype(int)] == self.y[test])
        return right / self.use.sum()

    def scores(self, S: Any) -> dict[str, Any]:
        """Every criterion by leaving one feature out of the kernel."""
        F, B = self.mapped(S)
        models = self.models(F, self.signs)
        found = {
            "rfe": np.mean([self._rfe(S, w, B) for w, _ in models], axis=0),
            "rsvm": np.mean([self._rsvm(S, w, B, y) for (w, _), y in zip(models, self.signs.T, strict=True)], axis=0),
        }
        t = [self._t(S, F @ w + b, y) for (w, b), y in zip(models, self.signs.T, strict=True)]
        return (
            found
            if all(each is None for each in t)
            else {**found, "t": np.mean([np.zeros(len(S)) if x is None else x for x in t], axis=0)}
        )

    def _rfe(self, S: Any, w: Any, B: Any) -> Any:
        if B is None:
            return w**2
        v, L = B @ w, self.centres
        return [
            abs(v @ (self.k(L[:, S], L[:, S]) - self.k(L[:, np.delete(S, j)], L[:, np.delete(S, j)])) @ v)
            for j in range(len(S))
        ]

    def _rsvm(self, S: Any, w: Any, B: Any, y: Any) -> Any:
        if B is None:
            return w * (self.X[y > 0][:, S].mean(axis=0) - self.X[y < 0][:, S].mean(axis=0))
        drop = np.array([self._without(S, j, B @ w) for j in range(len(S))])
        return drop[:, y > 0].mean(axis=1) - drop[:, y < 0].mean(axis=1)

    def _without(self, S: Any, j: int, v: Any) -> Any:
        T = np.delete(S, j)
        return (self.k(self.X[:, S], self.centres[:, S]) - self.k(self.X[:, T], self.centres[:, T])) @ v

    def _t(self, S: Any, values: Any, y: Any) -> Any:
        """Return Welch's t of the rows within the margin, in groups by (2) and (3) of `numeric.groups.atoms`."""
        h = 1.0 + np.sqrt(self.tol) - y * values
        sets: list[list[int]] = [[], []]
        for side, rows in zip((y > 0, y < 0), sets, strict=True):
            for name, own in self.groups.items():
                missed = 0.1 * sum(max(0.0, h[i]) for group in own for i in group if side[i])
                marked, self.groups[name] = grouped.round_set(own, side, h, self.least, missed)
                rows.extend(marked)
        if not all(sets):
            return None
        return np.abs(ttest_ind(self.X[sets[0]][:, S], self.X[sets[1]][:, S], equal_var=False).statistic)

    def wrapper(self, drops: tuple[int, ...], *, criteria: tuple[str, ...], cv: int) -> tuple[list[Any], list[float]]:
        """What goes in each round, and the accuracy of what is left at first and after each."""
        self.cluster(np.arange(self.X.shape[1]))
        self.deal(cv)
        S, gone, path = np.arange(self.X.shape[1]), [], list[float]()
        known: float | None = None
        for number in drops:
            path.append(self.accuracy(S) if known is None else known)
            scores = self.scores(S)
            orders = [list(S[np.argsort(scores[c], kind="stable")]) for c in criteria if c in scores]
            dropped, known = self._vote(S, orders, number)
            gone.append(dropped)
            S = np.setdiff1d(S, dropped)
        return gone, [*path, self.accuracy(S) if known is None else known]

    def _vote(self, S: Any, orders: list[Any], number: int) -> tuple[Any, float | None]:
        """Who goes, and the accuracy without them, if that decided."""
        names = [set(o[:number]) for o in orders]
        agreed = {j for j in S if 2 * sum(j in n for n in names) > len(orders)}
        assert len(agreed) <= number, "this case needs no rule for too many"
        proposals = [[j for j in o[:number] if j not in agreed][: number - len(agreed)] for o in orders]
        sets = list(dict.fromkeys(tuple(sorted({*agreed, *p})) for p in proposals))
        if len(sets) == 1:
            return np.array(sets[0]), None
        found = [self.accuracy(np.setdiff1d(S, list(each))) for each in sets]
        return np.array(sets[int(np.argmax(found))]), max(found)

    def filtered(self, p: float, trials: int, cv: int) -> tuple[Any, list[Any], list[float]]:
        """The voted set by the p-values, what goes in each round until two are left, and the accuracies on the way."""
        groups = [self.X[self.use & (self.y == c)] for c in self.classes]
        A, B = groups
        t = ttest_ind(A, B, equal_var=False)
        fisher = (A.mean(axis=0) - B.mean(axis=0)) ** 2 / (A.var(axis=0) + B.var(axis=0))
        ranks = sum(
            np.argsort(np.argsort(score)) for score in (fisher, np.abs(t.statistic), f_oneway(*groups).statistic)
        )
        weakest = [j for j in np.argsort(ranks, kind="stable") if t.pvalue[j] <= p]
        S = np.sort(weakest)
        self.cluster(S)
        self.deal(cv)
        features, gone, path = S, [], [self.accuracy(S)]
        while len(S) > 2:
            tried = [j for j in weakest if j in S][:trials]
            found = [self.accuracy(np.setdiff1d(S, [j])) for j in tried]
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


def play_wrapper(run: Run, data: At[Any], *, kernel: str, step: int, least: int = 1) -> Any:
    svm = Svm(**{**SVM, "kernel": kernel, "min_count": least})
    return select_wrapper(run, data, svm=svm, criteria=CRITERIA, elimination=Elimination(**{**SEARCH, "step": step}))


def check_wrapper(result: Any, parts: dict[str, Part], *, kernel: str, step: int, least: int = 1) -> None:
    rows = sum(len(part.X) for part in parts.values())
    reference = Reference(parts, result["centres"], kernel=kernel, gamma=0.2, C=1.0, least=least, seed=3)
    gone, path = reference.wrapper((step, step), criteria=CRITERIA, cv=3)
    assert [list(each) for each in result["gone"]] == [list(each) for each in gone]
    np.testing.assert_allclose(result["scores"]["coordinator"], path)
    assert result["chosen"] == chosen(path, rows)


def play_filter(run: Run, data: At[Any], *, kernel: str, least: int = 1) -> Any:
    svm, elimination = Svm(**{**SVM, "kernel": kernel, "min_count": least}), FilterElimination(trials=2, **SEARCH)
    return select_filter(run, data, svm=svm, filters={"welch": 0.6}, elimination=elimination)


def check_filter(result: Any, parts: dict[str, Part], *, kernel: str, least: int = 1) -> None:
    rows = sum(len(part.X) for part in parts.values())
    reference = Reference(parts, result["centres"], kernel=kernel, gamma=0.2, C=1.0, least=least, seed=3)
    # the landmarks are of the features that passed
    reference.centres = np.zeros((len(result["centres"]), 4))
    if kernel != "linear":
        reference.centres[:, result["features"]] = result["centres"]
    features, gone, path = reference.filtered(0.6, 2, 3)
    assert list(result["features"]) == list(features)
    assert [list(each) for each in result["gone"]] == [list(each) for each in gone]
    np.testing.assert_allclose(result["scores"]["coordinator"], path)
    assert result["chosen"] == chosen(path, rows)
