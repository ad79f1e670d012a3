"""What a hidden layer over columns gives away, as working attacks on the coordinator's view."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64
from tacit.attacks.learners import ERROR, Attack, Point, Points, steps
from tacit.papers.elm.attacks.known_records import elm_known_records
from tacit.papers.elm.attacks.layer_inversion import elm_inversion

ELM = ("SecureELMClassifier", "SecureELMRegressor")
KNOWN = "known records"
_LAYER = ("elm.layer", "elm.layer_if_known", "elm.new_layer")


def elm_inversion_study(X: F64, _: I64) -> Points:
    """Yield the error of records that are worked out from a hidden layer, by its number of nodes."""
    rng = np.random.default_rng(0)
    for nodes in steps(2 * X.shape[1])[1:]:
        W, b = rng.normal(size=(X.shape[1], nodes)), rng.normal(size=nodes)
        yield Point("weights='master'", nodes, elm_inversion(X @ W + b, W, b, X).error)
        guess = rng.normal(size=W.shape)
        yield Point("weights='private'", nodes, min(1.0, elm_inversion(X @ W + b, guess, b, X).error))


def elm_known_records_study(X: F64, _: I64) -> Points:
    """Yield the error of records that are worked out from a hidden layer, by how many records are known."""
    rng, d = np.random.default_rng(0), X.shape[1]
    W, b = rng.normal(size=(d, 2 * d)), rng.normal(size=2 * d)
    for known in steps(2 * d)[1:]:
        yield Point("weights='private'", known, min(1.0, elm_known_records(X @ W + b, X, np.arange(known)).error))


ATTACKS = (
    Attack(
        "elm_inversion",
        ELM,
        "known weights turn the hidden layer back into records",
        "nodes",
        ERROR,
        elm_inversion_study,
        reads=_LAYER,
        needs="the weights, which a coordinator has with weights='master'",
    ),
    Attack(
        "elm_known_records",
        ELM,
        "known records give the private weights, and then all other records",
        KNOWN,
        ERROR,
        elm_known_records_study,
        reads=_LAYER,
        needs="as many known records as there are columns",
    ),
)
