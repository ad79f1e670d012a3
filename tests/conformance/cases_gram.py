"""Gram SVMs over columns and over any cells, and their search, as cases.

Scikit-learn on the pooled table is the reference.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance import cells_reference as cells
from conformance import linear_reference as linear
from conformance import search_reference as searching
from conformance.case import Case, Inputs, columns, flat, table
from tacit.choreo import At, Holder, Roster, Run
from tacit.protocols.gram.vertical import gram_predict, gram_vertical

# over columns

KERNEL = {"gamma": "scale", "degree": 3, "coef0": 1.0, "C": 4.0, "tol": 1e-8}


def play_gram(
    run: Run,
    data: At[Any],
    *,
    kernel: str,
    probability: bool = False,
    multi_class: str = "ovr",
    **protection: Any,
) -> Any:
    how = {"probability": probability, "multi_class": multi_class}
    model = flat(gram_vertical)(run, data, kernel=kernel, band=500, **KERNEL, **how, **protection)
    answer = flat(gram_predict)(
        run,
        data,
        model.dual,
        model.columns,
        squares=kernel == "rbf",
        support=len(model.support),
        band=300,
        **protection,
    )
    return {"dual": model.dual, "support": model.support, "decision": answer}


def check_gram(result: Any, inputs: Inputs, *, kernel: str, classes: int = 2, multi_class: str = "ovr") -> None:
    del inputs
    X, y = table(classes)
    if multi_class == "ovo":
        svc = SVC(kernel=kernel, cache_size=10, **KERNEL).fit(X, y)
        return np.testing.assert_allclose(result["decision"]["p1"], svc.decision_function(X), atol=1e-5)
    labels = [y] if classes == 2 else [y == k for k in range(classes)]
    reference = [SVC(kernel=kernel, cache_size=10, **KERNEL).fit(X, label).decision_function(X) for label in labels]
    return np.testing.assert_allclose(result["decision"]["p1"], np.transpose(reference), atol=1e-5)


def gram_case(
    name: str, kernel: str, *, least: int = 2, classes: int = 2, multi_class: str = "ovr", **protection: Any
) -> Case:
    return Case(
        f"gram_vertical_{name}",
        partial(columns, classes=classes),
        partial(play_gram, kernel=kernel, multi_class=multi_class, **protection),
        partial(check_gram, kernel=kernel, classes=classes, multi_class=multi_class),
        least,
    )


# over any cells


def cells_case(name: str) -> Case:
    partition, kernel, target, how = cells.CELL_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, cells.parts(roster[Holder], partition, target))}

    def accepts(result: Any, given: Inputs) -> None:
        cells.check(result, given["data"][1], partition=partition, kernel=kernel, target=target)

    return Case(
        f"gram_arbitrary_{name}", inputs, partial(cells.play, partition=partition, kernel=kernel, **how), accepts
    )


# with w in shares


def weights_case(name: str) -> Case:
    partition = linear.WEIGHT_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"columns": (Holder, linear.support(roster[Holder], partition))}

    def accepts(found: Any, given: Inputs) -> None:
        del given
        linear.check_weights(found)

    return Case(f"gram_weights_{name}", inputs, partial(linear.play_weights, partition=partition), accepts)


def linear_case(name: str) -> Case:
    partition, how = linear.ANSWER_CASES[name]

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, linear.cut(linear.Z, roster[Holder], partition))}

    def accepts(found: Any, given: Inputs) -> None:
        del given
        linear.check_answers(found, partition=partition, **how)

    return Case(f"gram_linear_{name}", inputs, partial(linear.play_answers, partition=partition, **how), accepts)


# search


def gram_search_case(name: str, *, classes: int = 2, **params: Any) -> Case:
    def accepts(result: Any, given: Inputs) -> None:
        del given
        searching.check_gram_search(result, *table(classes), multi_class=params.get("multi_class", "ovr"))

    return Case(
        f"gram_search_{name}", partial(columns, classes=classes), partial(searching.play_gram_search, **params), accepts
    )


def cells_search_case(partition: str, **params: Any) -> Case:
    """By rows two folds are dealt of the three asked for: of three one would have two records of a class."""

    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, cells.parts(roster[Holder], partition, "2"))}

    def accepts(result: Any, given: Inputs) -> None:
        del given
        assert set(result["fold"]["coordinator"]) == set(range(2 if partition == "horizontal" else 3))
        searching.check_gram_search(result, cells.table("2").X, cells.table("2").y)

    return Case(
        f"gram_search_{partition}", inputs, partial(searching.play_cells_search, partition=partition, **params), accepts
    )


CASES: tuple[Case, ...] = (
    gram_case("linear", "linear"),
    gram_case("rbf", "rbf"),
    gram_case("poly", "poly"),
    gram_case("rbf_3_classes", "rbf", classes=3),
    gram_case("rbf_ovo", "rbf", classes=4, multi_class="ovo"),
    gram_case("rbf_ring", "rbf", method="ring"),
    *(cells_case(name) for name in cells.CELL_CASES),
    gram_case("probability", "rbf", probability=True),
    *(weights_case(name) for name in linear.WEIGHT_CASES),
    *(linear_case(name) for name in linear.ANSWER_CASES),
    gram_search_case("grid"),
    gram_search_case("halving_3_classes", classes=3, factor=2, method="ring"),
    gram_search_case("ovo", classes=3, multi_class="ovo"),
    cells_search_case("horizontal"),
    cells_search_case("arbitrary", feature_range=4.0),
)
