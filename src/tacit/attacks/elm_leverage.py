"""ELM leverage: whether a candidate record is among the rows of H'H, which the coordinator of an ELM over rows has.

    l(x) = h(x)' (H'H)^-1 h(x)                                                                                      (1)

The layer h is public. A row adds h h' to the sum, which makes (1) smaller: l becomes l / (1 + l). Rows of the sum are
below 1, and their mean is nodes / rows, so the fewer rows there are for each node, the larger l was, and the more a
member stands out. No other record is known, and no twin is trained.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.metrics import roc_auc_score

from tacit.arrays import F64, I64
from tacit.attacks.study import Point, Points
from tacit.numeric.features.elm import hidden, layer_of, words_needed
from tacit.numeric.ring.draws import public_words

RIDGE = 1e-9  # of the mean of the diagonal: directions that no row has


def elm_leverage(A: F64, layer: Callable[[F64], F64], candidates: F64) -> F64:
    """Return l(x) of every candidate, from H'H and the public layer; members have the small ones."""
    H = layer(candidates)
    steady = A + RIDGE * np.trace(A) / len(A) * np.eye(len(A))
    return np.asarray(np.einsum("ij,ji->i", H, np.linalg.solve(steady, H.T)))  # (1)


def tell_apart(A: F64, layer: Callable[[F64], F64], members: F64, others: F64) -> float:
    """Return the area under the curve: how often a member has less leverage than another record."""
    found = elm_leverage(A, layer, np.vstack([members, others]))
    return float(roc_auc_score(np.arange(len(found)) < len(members), -found))


def study(X: F64, _: I64) -> Points:
    """Yield the area under the curve by the nodes for each row, of which an ELM has a half by default."""
    members, others = X[::2], X[1::2]
    for share in (0.1, 0.25, 0.5, 0.75):
        nodes = max(1, round(share * len(members)))
        W, b = layer_of(public_words(1, words_needed(X.shape[1], nodes)), nodes, "sigmoid", 1.0, X.shape[1])
        H = hidden(members, W, b, "sigmoid")

        def layer(x: F64, W: F64 = W, b: F64 = b) -> F64:
            made: F64 = hidden(x, W, b, "sigmoid")
            return made

        yield Point("H'H as it is", share, tell_apart(H.T @ H, layer, members, others))
