"""FederatedSelector: what SVC() makes of the columns that it keeps, beside all columns and scikit-learn's RFE."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.feature_selection import RFE
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step, Table, dataset
from tacit.arrays import F64, Array

SETS = ("wdbc", "diabetes", "ionosphere", "colon", "dlbcl", "leukemia")
QUICK = ("diabetes", "ionosphere")
FEW, PARTIES, FOLDS = 8, 3, 5


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure accuracy over five folds, three parties by rows, columns standardised."""
    names, rows = QUICK if quick else SETS, []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a fold has few rows is what is measured
        for done, name in enumerate(names):
            yield Step(f"selection: {name}", done, len(names))
            rows.append(_measure(name))
    heads = ("dataset", "rows x columns", "all columns: SVC", "all: tacit", f"{FEW}: RFE", f"{FEW}: tacit",
             "auto: tacit", "columns kept by auto")  # fmt: skip
    title = (
        f"Accuracy in %, mean of {FOLDS} folds, {PARTIES} parties by rows; columns standardised, all else by default"
    )
    yield Table(title, heads, tuple(rows))


def _measure(name: str) -> tuple[str, ...]:
    data = dataset(name)
    X = np.log(data.X) if name == "colon" else data.X
    X = SimpleImputer().fit_transform(X) if np.isnan(X).any() else X
    found: list[tuple[float, ...]] = []
    for learn, judge in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, data.y):
        scaler = StandardScaler().fit(X[learn])
        found.append(_fold(scaler.transform(X[learn]), data.y[learn], scaler.transform(X[judge]), data.y[judge]))
    *scores, kept = np.mean(found, axis=0)
    shape = f"{X.shape[0]} x {X.shape[1]}"
    return (name, shape, *(f"{100 * each:.1f}" for each in scores), f"{kept:.0f}")


def _fold(X: F64, y: Array, Z: F64, z: Array) -> tuple[float, ...]:
    """Return the accuracy of each way, and how many columns "auto" kept."""
    few = min(FEW, X.shape[1])
    central = RFE(LinearSVC(dual="auto"), n_features_to_select=few, step=0.5).fit(X, y).support_
    own = [_select(X, y, n) for n in (few, "auto")]
    return (
        float(SVC().fit(X, y).score(Z, z)),
        _train(X, y, Z, z),
        float(SVC().fit(X[:, central], y).score(Z[:, central], z)),
        *(_train(X[:, kept], y, Z[:, kept], z) for kept in own),
        float(own[1].sum()),
    )


def _select(X: F64, y: Array, count: int | str) -> Array:
    made = tacit.FederatedSelector(n_features_to_select=count, n_parties=PARTIES, random_state=0, verbose=False)
    kept: Array = made.fit(X, y).support_
    return kept


def _train(X: F64, y: Array, Z: F64, z: Array) -> float:
    return float(tacit.SVC(n_parties=PARTIES, random_state=0, verbose=False).fit(X, y).score(Z, z))
