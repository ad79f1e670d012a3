"""Every way to cut a table between a clinic, a laboratory and a registry, which may not show each other anything.

Shows: records aligned by ids that only common patients open, cells of scattered owners, one pooled SVM in all cuts, and
answers of a linear model of which nobody has the weights. Needs the extra `he`.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tacit import Federation, GramSVC
from tacit.errors import LocalError

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
    model = GramSVC(C=1, kernel="linear", partition=federation.partition, quota=200).fit(federation)
    pooled = SVC(C=1, kernel="linear").fit(*federation.pooled()[:2])
    agree = np.mean(model.predict(X[new]) == pooled.predict(X[new]))
    print(
        f"{cut}: {100 * agree:.0f} % of {len(new)} answers are those of the pooled SVM; {model.report_.bytes / 1e6:.0f}"
        " MB to train"
    )
    try:
        model.predict(X[new])
    except LocalError as refusal:
        print(f"{cut}: {refusal}")

print("warnings:", *model.report_.warnings, sep="\n  ")
print("report:", model.report_.to_html("any_cut.html"))
