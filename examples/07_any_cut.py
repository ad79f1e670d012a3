"""Two ways to cut a table between a clinic, a laboratory and a registry, which may not show each other anything.

Shows: records aligned by ids that only common patients open, cells of scattered owners, and a machine of which nobody
has the model. Needs the extra `he`.
"""

import numpy as np
from sklearn import svm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from tacit import SVC, Federation

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
seen, new = np.arange(400), np.arange(400, len(X))
rng = np.random.default_rng(0)

# Columns: everyone has patients that others lack, in an order of its own; only those that all have become known
names, blocks = ("clinic", "laboratory", "registry"), np.array_split(np.arange(X.shape[1]), 3)
rows = [rng.permutation(seen)[: rng.integers(340, 380)] for _ in names]
parts = [(X[np.ix_(rows[0], blocks[0])], y[rows[0]]), X[np.ix_(rows[1], blocks[1])], X[np.ix_(rows[2], blocks[2])]]
ids = [[f"patient {i}" for i in each] for each in rows]
aligned = Federation.from_parts(parts, names=names, partition="vertical", ids=ids)
print(f"{' and '.join(str(len(each)) for each in rows)} patients, {aligned.n_rows} of them at all three")

# Cells: whoever measured a value has it, and no two have the same
owner = rng.integers(0, len(names), (len(seen), X.shape[1]))
cells = [np.where(owner == p, X[seen], np.nan) for p in range(len(names))]
scattered = Federation.from_parts(cells, names=names, partition="arbitrary", y=y[seen], labeller="clinic")

for cut, federation in {"columns": aligned, "cells": scattered}.items():
    pooled = svm.SVC().fit(*federation.pooled()[:2])
    model = SVC(partition=federation.partition, random_state=0).fit(federation)
    agree = np.mean(model.predict(X[new]) == pooled.predict(X[new]))
    print(f"{cut}: {agree:.0%} of {len(new)} answers are those of the pooled SVM, {model.report_.bytes / 1e6:.0f} MB")

# Nobody has the model: it stays in shares, and its parties answer together
exact = SVC(features="exact", loss="hinge", kernel="linear", partition="vertical", random_state=0).fit(aligned)
print("of the exact machine:", *exact.report_.warnings, sep="\n  ")
print("report:", exact.report_.to_html("any_cut.html"))
