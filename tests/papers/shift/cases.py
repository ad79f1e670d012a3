"""SVMs on shifted records as cases: scikit-learn on the pooled table is the reference."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance.case import P1, Case, Inputs, columns, flat, table
from tacit.choreo import At, Holder, Role, Roster, Run
from tacit.federation.part import Part
from tacit.papers.shift.ring import shift_ring, shift_ring_predict
from tacit.papers.shift.secret import shift_secret_rows, shift_secret_rows_predict
from tacit.papers.shift.vertical import shift_vertical, shift_vertical_predict


def labelled_rows(roster: Roster, classes: int = 2) -> Inputs:
    """Blocks of different sizes; the last holder has none if there are five."""
    X, y = table(classes)
    holders = roster[Holder]
    cut = np.cumsum([7 + 9 * i for i in range(len(holders) - 1)])
    blocks = zip(holders, np.split(X, cut), np.split(y, cut), strict=True)
    names = tuple(f"x{i}" for i in range(X.shape[1]))
    return with_width({"data": (Holder, {p: Part(A, d, None, names, None) for p, A, d in blocks})})


def with_width(inputs: Inputs) -> Inputs:
    return {**inputs, "width": (Holder, {p: np.full(part.X.shape[1], 50.0) for p, part in inputs["data"][1].items()})}


def labelled_columns(roster: Roster, classes: int = 2) -> Inputs:
    return with_width(columns(roster, classes))


SHIFT = {"gamma": 0.2, "C": 4.0, "tol": 1e-8}


def play_shift(
    run: Run, data: At[Any], width: At[Any], *, train: Any, ask: Any, kernel: str, to: dict[str, Role], **how: Any
) -> Any:
    model = flat(train)(run, data, width, kernel=kernel, **SHIFT, **to, **how)
    return {"decision": ask(run, data, model.model, model.shifts, **to), "classes": model.classes}


def check_shift(result: Any, inputs: Inputs, *, kernel: str, by_rows: bool, classes: int) -> None:
    X, y = table(classes)
    central = X.mean(axis=0) if kernel == "linear" else 0.0  # LIBSVM caches a linear kernel in single precision
    reference = SVC(kernel=kernel, cache_size=10, **SHIFT).fit(X - central, y).decision_function(X - central)
    found = np.concatenate([result["decision"][p] for p in inputs["data"][1]]) if by_rows else result["decision"]["p1"]
    np.testing.assert_allclose(found[:, 0] if classes == 2 else found, reference, atol=1e-6)
    assert result["classes"] == tuple(range(classes))


def shift_case(
    name: str,
    train: Any,
    ask: Any,
    *,
    kernel: str = "rbf",
    by_rows: bool = True,
    to: Role | None = None,
    classes: int = 2,
    **how: Any,
) -> Case:
    return Case(
        name,
        partial(labelled_rows if by_rows else labelled_columns, classes=classes),
        partial(play_shift, train=train, ask=ask, kernel=kernel, to={"to": to} if to else {}, **how),
        partial(check_shift, kernel=kernel, by_rows=by_rows, classes=classes),
    )


CASES: tuple[Case, ...] = (
    shift_case("shift_ring_linear", shift_ring, shift_ring_predict, kernel="linear"),
    shift_case("shift_ring_rbf", shift_ring, shift_ring_predict, distribution="gaussian"),
    shift_case("shift_ring_ovo", shift_ring, shift_ring_predict, classes=4, multi_class="ovo"),
    shift_case("shift_vertical", shift_vertical, shift_vertical_predict, by_rows=False, to=P1),
    shift_case("shift_vertical_to_site", shift_vertical, shift_vertical_predict, kernel="linear", by_rows=False),
    shift_case("shift_secret_rows", shift_secret_rows, shift_secret_rows_predict),
    shift_case(
        "shift_secret_rows_rotated", shift_secret_rows, shift_secret_rows_predict, kernel="linear", rotation=True
    ),
    shift_case("shift_vertical_rotated", shift_vertical, shift_vertical_predict, by_rows=False, rotation=True),
)
