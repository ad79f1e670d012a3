"""Gram SVMs over columns and over any cells, products, and answers by shares of w (`tacit.papers.gram`) as cases.

Scikit-learn on the pooled table is the reference, or plain numbers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.svm import SVC

from conformance.case import Case, Inputs, columns, flat, table
from papers.gram import cells_reference as cells
from papers.gram import intersection_reference as intersection
from papers.gram import linear_reference as linear
from tacit.choreo import At, Holder, Roster, Run
from tacit.papers.gram.vertical import gram_predict, gram_vertical

# over columns

KERNEL = {"gamma": "scale", "degree": 3, "coef0": 1.0, "C": 4.0, "tol": 1e-8}


def play_gram(run: Run, data: At[Any], *, kernel: str, multi_class: str = "ovr") -> Any:
    model = flat(gram_vertical)(run, data, kernel=kernel, band=500, multi_class=multi_class, **KERNEL)
    asked = {"squares": kernel == "rbf", "support": len(model.support), "band": 300}
    answer = gram_predict(run, data, model.dual, model.columns, **asked)
    return {"dual": model.dual, "support": model.support, "decision": answer}


def check_gram(result: Any, _: Inputs, *, kernel: str, classes: int, multi_class: str) -> None:
    X, y = table(classes)
    svc = SVC(kernel=kernel, cache_size=10, **KERNEL)
    if multi_class == "ovo":
        expected = svc.fit(X, y).decision_function(X)
    else:
        labels = [y] if classes == 2 else [y == k for k in range(classes)]
        expected = np.transpose([svc.fit(X, label).decision_function(X) for label in labels])
    np.testing.assert_allclose(result["decision"]["p1"], expected, atol=1e-5)


def gram_case(name: str, kernel: str, *, classes: int = 2, multi_class: str = "ovr") -> Case:
    return Case(
        f"gram_vertical_{name}",
        partial(columns, classes=classes),
        partial(play_gram, kernel=kernel, multi_class=multi_class),
        partial(check_gram, kernel=kernel, classes=classes, multi_class=multi_class),
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


def intersection_case(partition: str) -> Case:
    def inputs(roster: Roster) -> Inputs:
        return {"data": (Holder, intersection.binary(partition, roster[Holder]).parts)}

    def accepts(result: Any, given: Inputs) -> None:
        intersection.check_intersection(result, given["data"][1], partition=partition)

    play = partial(intersection.play_intersection, partition=partition)
    return Case(f"gram_intersection_{partition}", inputs, play, accepts)


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


CASES: tuple[Case, ...] = (
    gram_case("linear", "linear"),
    gram_case("rbf", "rbf"),
    gram_case("poly", "poly"),
    gram_case("rbf_3_classes", "rbf", classes=3),
    gram_case("rbf_ovo", "rbf", classes=4, multi_class="ovo"),
    *(cells_case(name) for name in cells.CELL_CASES),
    intersection_case("vertical"),
    intersection_case("arbitrary"),
    *(weights_case(name) for name in linear.WEIGHT_CASES),
    *(linear_case(name) for name in linear.ANSWER_CASES),
)
