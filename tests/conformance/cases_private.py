"""Machines with epsilon as cases: with next to no noise they are Newton's method on the rows of pooled records."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.case import Case, Inputs, flat
from conformance.cases_noisy import LOUD
from conformance.few_rows import parts_at
from tacit.choreo import At, Holder, Roster, Run
from tacit.federation.part import Part
from tacit.numeric.privacy.newton import STEPS
from tacit.protocols.features.maps import PublicMap, features_of
from tacit.protocols.learners.private import Private, frame_map, private_elm, private_svm

ALPHA, SEED = 2.0, 5
SPENT: dict[str, Any] = {"epsilon": LOUD, "delta": 1e-9, "alpha": ALPHA, "repeat": SEED}
KERNEL: dict[str, Any] = {"kernel": "rbf", "gamma": 0.2, "degree": 2, "coef0": 1.0, "features": 8}


def private_case(name: str, play: Any, classes: int, **asked: Any) -> Case:
    """Return a case of so many classes; 0 stands for numbers."""
    known = {"classes": tuple(range(classes))} if classes else {"classify": False, "target_range": (-4.0, 4.0)}
    given = {**SPENT, **known, **asked}

    def inputs(roster: Roster) -> Inputs:
        parts = parts_at(roster[Holder], max(2, classes))
        if not classes:
            parts = {p: Part(part.X, part.X @ [1.0, -1.0, 0.5], None, part.features, None) for p, part in parts.items()}
        return {"data": (Holder, parts)}

    return Case(name, inputs, partial(train, play, **given), partial(check, given=given))


def train(play: Any, run: Run, data: At[Any], **given: Any) -> Any:
    found = flat(play)(run, data, **given)
    names = ("classes", "weights", "middle", "reach", "records", "honest", "spent")
    the_map = {name: getattr(found.map, name) for name in found.map.field_names()}
    return {**{name: getattr(found, name) for name in names}, "map": the_map}


def check(result: Any, inputs: Inputs, *, given: Any) -> None:
    parts = inputs["data"][1].values()
    X, y = np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts])
    the_map = PublicMap(**result["map"])
    private = Private(**{name: given[name] for name in Private.__dataclass_fields__ if name in given})
    frame = frame_map(the_map, private, SEED)
    Z = features_of(the_map, X, shorten=False)
    short = np.column_stack([(Z[:, :-1] - frame.middle) * frame.stretch, np.full(len(Z), frame.bias)]) / 4096.0
    length = np.maximum(np.linalg.norm(short, axis=1), 1.0)
    short /= length[:, None]
    w = learn(short, y, private, ALPHA * (frame.stretch / 4096.0) ** 2)
    values = Z @ result["weights"] / length[:, None]
    np.testing.assert_allclose(values, short @ w, atol=0.02)
    assert result["records"] == len(X)
    assert set(result["spent"]) == {"products", "slopes"}


def learn(Q: Any, y: Any, private: Private, a: float) -> Any:
    """Return the mean of the last iterates, in doubles."""
    curvature = {"hinge": 0.5, "softmax": 0.5, "logistic": 0.25}.get(private.loss, 1.0)
    P = np.linalg.inv(Q.T @ Q + a / curvature * np.eye(Q.shape[1]))
    w, last = np.zeros((Q.shape[1], private.columns)), []
    for _ in range(STEPS):
        f = Q @ w
        if private.loss == "softmax":
            p = np.exp(f - f.max(axis=1, keepdims=True))
            s = np.eye(private.columns)[y] - p / p.sum(axis=1, keepdims=True)
            s /= np.maximum(np.linalg.norm(s, axis=1, keepdims=True), 1.0)
        elif private.loss == "hinge":
            sign = np.where(y == 1, 1.0, -1.0)
            weight = np.array([(private.class_weight or {}).get(k, 1.0) for k in y.tolist()])
            s = (sign * weight * np.clip((2.0 - f[:, 0] * sign) / 2.0, 0.0, 1.0))[:, None]
        elif private.loss == "logistic":
            s = ((y == 1) - 1.0 / (1.0 + np.exp(-f[:, 0])))[:, None]
        else:
            middle, reach = private.span
            s = np.clip(np.clip((y - middle) / reach, -1.0, 1.0)[:, None] - f, -1.0, 1.0)
        w = w + 1.5 / curvature * P @ (Q.T @ s - a * w)
        last.append(w)
    return np.mean(last[-4:], axis=0)


CASES = (
    private_case("private_svm_rbf", private_svm, 2, **KERNEL, class_weight={0: 0.5}),
    private_case("private_svm_linear_probability", private_svm, 2, **{**KERNEL, "kernel": "linear"}, probability=True),
    private_case("private_svm_3_classes", private_svm, 3, **KERNEL),
    private_case("private_svm_number", private_svm, 0, **KERNEL),
    private_case("private_elm_2_classes", private_elm, 2, n_hidden=8),
    private_case("private_elm_number_fourier", private_elm, 0, n_hidden=8, activation="fourier"),
)
