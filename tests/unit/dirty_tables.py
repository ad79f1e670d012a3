"""Tables as strangers bring them: ids, texts, gaps, dates, constant and duplicated columns, a site with one class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_classification

MOST = 600  # records of a table
MADE: tuple[dict[str, Any], ...] = (  # with classes of few records, or many
    {"n_samples": 300, "n_features": 6, "weights": [0.97]},
    {"n_samples": 400, "n_features": 10, "n_classes": 4},
    {"n_samples": 600, "n_features": 20},
    {"n_samples": 250, "n_features": 4, "n_classes": 3, "weights": [0.9, 0.08]},
    {"n_samples": 800, "n_features": 5, "weights": [0.7]},
    {"n_samples": 200, "n_features": 12},
    {"n_samples": 500, "n_features": 8, "n_classes": 5},
)


def clean_tables() -> Mapping[str, tuple[Any, Any]]:
    """Return twelve tables of scikit-learn, by name."""
    loaders = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer, "digits": load_digits}
    known = {name: load(return_X_y=True) for name, load in loaders.items()}
    X, y = load_diabetes(return_X_y=True)
    usual = {"n_informative": 4, "n_redundant": 0, "n_clusters_per_class": 1}
    made = {f"made {k}": make_classification(**usual, **each, random_state=k) for k, each in enumerate(MADE)}
    return {**known, "diabetes": (X, (y > 140).astype(int)), **made}


def make_dirty(X: Any, y: Any, seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """Return a table that nobody has prepared, its labels, and the site of each record, one of which has one class."""
    rng, X, y = np.random.default_rng(seed), X[:MOST], y[:MOST]
    n = len(X)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    table.insert(0, "id", [f"ID-{k:06d}" for k in range(n)])
    table["constant"], table["twin"], table["empty"] = 1.0, table["c0"], np.nan
    table["c1"] = table["c1"].where(rng.random(n) > 0.2)
    level = np.where(table["c0"] > table["c0"].median(), "high", "low").astype(object)
    table["level"] = np.where(rng.random(n) < 0.05, None, level)
    table["city"] = rng.choice(["Rome", "Oslo", "Lima", "rome"], n, p=[0.4, 0.3, 0.28, 0.02])
    table["note"] = [f"text {k} {rng.integers(10**6)}" for k in range(n)]
    seen = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table["seen"] = seen.strftime("%Y-%m-%d")
    labels = np.array([f"class {label}" for label in y], dtype=object)
    site = rng.integers(0, 4, n)
    site[(site == 3) & (labels != labels[0])] = 0
    return table, labels, site
