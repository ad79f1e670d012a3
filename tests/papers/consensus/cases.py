"""Consensus SVMs (`tacit.papers.consensus`) as cases: plain ADMM and scikit-learn on the pooled table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance.case import Case, Inputs, flat
from papers.consensus import reference
from tacit.choreo import At, Holder, Labeller, Roster, Run
from tacit.federation.part import Part
from tacit.papers.consensus.columns import consensus_columns, consensus_columns_predict
from tacit.papers.consensus.rows import consensus_rows
from tacit.protocols.features.maps import PublicMap, features_of

SHAPE = {"C": reference.C, "gamma": "scale", "degree": 2, "coef0": 1.0}
PAPER = {"rho": 0.5, "over_relaxation": 1.0, "max_rounds": 12, "tol": 1e-9}


def by_rows(roster: Roster, classes: int) -> Inputs:
    """Blocks of different sizes; the last of five has no row."""
    X, y = reference.table(classes)
    cut = np.cumsum([9 + 8 * i for i in range(len(roster[Holder]) - 1)])
    blocks = zip(roster[Holder], np.split(X, cut), np.split(y, cut), strict=True)
    return {"data": (Holder, {p: Part(A, d, None, tuple("abcde"), None) for p, A, d in blocks})}


def by_columns(roster: Roster, classes: int) -> Inputs:
    X, y = reference.table(classes)
    blocks = zip(roster[Holder], np.array_split(np.arange(5), len(roster[Holder])), strict=True)
    labeller = roster[Labeller][0]
    names = np.array(list("abcde"))
    return {
        "data": (
            Holder,
            {p: Part(X[:, at], y if p == labeller else None, None, tuple(names[at]), None) for p, at in blocks},
        )
    }


def play_rows(run: Run, data: At[Any], **params: Any) -> dict[str, Any]:
    found = flat(consensus_rows)(run, data, **params)
    the_map = {name: getattr(found.map, name) for name in found.map.field_names()}
    return {**found.as_dict(), "map": the_map}


def check_rows(result: Any, _: Inputs, *, classes: int, params: dict[str, Any]) -> None:
    """The pooled optimum on the same map is between the bound and the objective, and near the latter."""
    X, y = reference.table(classes)
    F = features_of(PublicMap(**result["map"]), X, shorten=False)[:, :-1]
    for k, sign in enumerate(reference.signs_of(y, params.get("multi_class", "ovr")).T):
        best = SVC(kernel="linear", C=reference.C, tol=1e-6).fit(F[sign != 0], sign[sign != 0])
        optimum = reference.objective(F, sign, np.append(best.coef_[0], best.intercept_[0]))
        told = reference.objective(F, sign, result["w"][k])
        assert result["bound"][k] <= optimum * (1 + 1e-4)
        assert optimum * (1 - 1e-4) <= told <= optimum * (1 + params["tol"])


def check_paper_rows(result: Any, inputs: Inputs) -> None:
    """The same iterates as plain ADMM."""
    parts = [(part.X, np.where(part.y == 1, 1.0, -1.0)) for part in inputs["data"][1].values()]
    plain = reference.rows_by_admm(parts, PAPER["rho"], PAPER["max_rounds"])
    np.testing.assert_allclose(result["w"][0], plain, atol=1e-5)


def play_columns(run: Run, data: At[Any], multi_class: str = "ovr", **params: Any) -> dict[str, Any]:
    found = flat(consensus_columns)(run, data, multi_class=multi_class, **params)
    values = consensus_columns_predict(run, data, found.shares, bias=found.bias, multi_class=multi_class)
    return {"decision": values, "classes": found.classes, "objective": found.objective, "bound": found.bound}


def blocks_of(inputs: Inputs) -> list[Any]:
    return [part.X for part in inputs["data"][1].values()]


def check_columns(result: Any, inputs: Inputs, *, kernel: str, classes: int, tol: float) -> None:
    """The SVM of the sum of the parties' kernels."""
    y, K = reference.table(classes)[1], reference.sum_kernel(blocks_of(inputs), kernel)
    best = [
        SVC(kernel="precomputed", C=reference.C, tol=1e-6).fit(K, sign).decision_function(K)
        for sign in reference.signs_of(y).T
    ]
    np.testing.assert_allclose(result["decision"]["p1"], np.transpose(best), atol=0.1)
    gap = (result["objective"] - result["bound"]) / result["objective"]
    assert np.all((gap >= 0) & (gap <= tol))


def check_paper_columns(result: Any, inputs: Inputs, *, kernel: str) -> None:
    """The same iterates as plain ADMM."""
    sign = reference.signs_of(reference.table(2)[1])[:, 0]
    plain = reference.columns_by_admm(blocks_of(inputs), sign, kernel, PAPER["rho"], PAPER["max_rounds"])
    np.testing.assert_allclose(result["decision"]["p1"][:, 0], plain, atol=1e-5)


def rows_case(name: str, *, classes: int = 2, rounds: int = 0, **params: Any) -> Case:
    asked = {**SHAPE, "tol": 1e-2, **params, **({"tol": 1e-9, "max_rounds": rounds} if rounds else {})}
    inputs, play = partial(by_rows, classes=classes), partial(play_rows, **asked)
    near = {**asked, "tol": 0.2 if rounds else asked["tol"]}
    return Case(f"consensus_rows_{name}", inputs, play, partial(check_rows, classes=classes, params=near))


def columns_case(name: str, kernel: str, *, classes: int = 2) -> Case:
    asked = {**SHAPE, "tol": 1e-3, "kernel": kernel}
    check = partial(check_columns, kernel=kernel, classes=classes, tol=1e-3)
    return Case(
        f"consensus_columns_{name}", partial(by_columns, classes=classes), partial(play_columns, **asked), check
    )


def paper_case(split: str, kernel: str) -> Case:
    asked, inputs = {**SHAPE, **PAPER, "kernel": kernel}, partial(by_rows if split == "rows" else by_columns, classes=2)
    if split == "rows":
        return Case("consensus_rows_paper", inputs, partial(play_rows, **asked), check_paper_rows)
    check = partial(check_paper_columns, kernel=kernel)
    return Case(f"consensus_columns_paper_{kernel}", inputs, partial(play_columns, **asked), check)


CASES: tuple[Case, ...] = (
    rows_case("linear", kernel="linear"),
    # landmarks are drawn anew in every run, and so many rounds are always played
    rows_case("rbf_ovo", kernel="rbf", classes=3, multi_class="ovo", points=8, rounds=30),
    rows_case("poly", kernel="poly", points=6, gamma=0.2, rounds=30),
    paper_case("rows", "linear"),
    columns_case("rbf", "rbf", classes=3),
    paper_case("columns", "linear"),
    paper_case("columns", "rbf"),
)
