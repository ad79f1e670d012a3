"""What a search in shares must tell: scores of the same models without the same folds, on the pooled records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance import machine_reference
from tacit.protocols.features.maps import features_of, map_layer
from tacit.protocols.learners.scoring import FOLDS, own_folds, step_of
from tacit.protocols.learners.targets import signs_of

SEED = 5
NODES = 20


def pool(held: Mapping[str, Any], partition: str) -> tuple[Any, Any, Any]:
    """Return the records of all parties, their labels, and their folds."""
    X, y = machine_reference.pool(held, partition)
    parts, names = list(held.values()), tuple(held)
    if partition != "horizontal":
        return X, y, own_folds(parts[0], SEED, names[0], names, partition)
    each = zip(parts, names, strict=True)
    return X, y, np.concatenate([own_folds(part, SEED, name, names, partition) for part, name in each])


def score_layers(held: Mapping[str, Any], partition: str, alphas: Any, target_range: Any) -> Any:
    """Return the score of each alpha, by least squares without each fold; 'auto' is the best of three."""
    X, y, fold = pool(held, partition)
    fourier = partition != "horizontal"
    activation, nodes = ("fourier", NODES // 2) if fourier else ("tanh", NODES)
    the_map = map_layer(activation, nodes, 1.0, SEED, X.shape[1])
    Z = features_of(the_map, X, shorten=not fourier)
    if target_range is None:
        K = len(np.unique(y))
        T = signs_of(y.astype(np.int64), K)
    else:
        low, high = target_range
        T = ((y - (low + high) / 2) / ((high - low) / 2))[:, None]

    def score(alpha: float) -> float:
        f = np.zeros(T.shape)
        for k in range(FOLDS):
            learn, left = fold != k, fold == k
            A = Z[learn].T @ Z[learn] + alpha * np.eye(Z.shape[1])
            f[left] = Z[left] @ np.linalg.solve(A, Z[learn].T @ T[learn])
        if target_range is not None:
            return float(1 - np.square(T - f).sum() / np.square(T - T.mean()).sum())
        chosen = (f[:, 0] > 0).astype(int) if f.shape[1] == 1 else f.argmax(axis=1)
        return float((chosen == y).mean())

    return [max(score(a) for a in ((0.03, 0.3, 3.0) if alpha == "auto" else (alpha,))) for alpha in alphas]


def check_layers(result: Any, held: Any, *, partition: str, alphas: Any, target_range: Any, parties: int) -> None:
    wanted = score_layers(held, partition, alphas, target_range)
    n = machine_reference.RECORDS
    step = step_of(n)
    noise = 5.0 * np.sqrt(parties) / n if target_range is None else 0.05
    found = np.asarray(result["scores"])
    assert result["step"] == step
    np.testing.assert_allclose(found / step, np.round(found / step), atol=1e-9)
    np.testing.assert_allclose(found, wanted, atol=step / 2 + noise + 0.01)


def check_costs(result: Any, held: Any, *, partition: str, costs: Any, parties: int) -> None:
    """Scores of the hinge are near those of LIBSVM's kernel on the same folds; landmarks and few folds leave a gap."""
    X, y, fold = pool(held, partition)
    wanted = []
    for C in costs:
        right = np.zeros(len(y), dtype=bool)
        for k in range(FOLDS):
            model = SVC(C=C, gamma=0.2).fit(X[fold != k], y[fold != k])
            right[fold == k] = model.predict(X[fold == k]) == y[fold == k]
        wanted.append(right.mean())
    np.testing.assert_allclose(result["scores"], wanted, atol=0.12 + 5.0 * np.sqrt(parties) / len(y))
