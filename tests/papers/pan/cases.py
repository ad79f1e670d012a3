"""PAN-SVM and its selections of features (`tacit.papers.pan`) as cases."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.case import Case, Inputs, flat
from papers.pan import reference
from tacit.choreo import Holder, Roster, Run
from tacit.federation.part import Part
from tacit.papers.pan.pan_svm import pan_svm
from tacit.papers.pan.select_filter import filter_wrapper
from tacit.papers.pan.select_wrapper import voted_wrapper
from tacit.protocols.features.maps import PublicMap, features_of

SHAPE = {"C": 1.0, "gamma": "scale", "degree": 2, "coef0": 1.0, "landmarks": 12.0, "tol": 0.01}
SELECTION = {**SHAPE, "kernel": "linear", "tol": 1e-4, "portion": 1.0, "folds": 2}


def parts_at(roster: Roster, classes: int) -> Inputs:
    X, y = reference.table(classes)
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    parts = {p: Part(X[i], y[i], None, names, None) for p, i in reference.deal(roster[Holder], len(X)).items()}
    return {"data": (Holder, parts)}


def play_machine(run: Run, data: Any, **params: Any) -> dict[str, Any]:
    """Return the result with its map by name, as checks of all runtimes have it."""
    found = flat(pan_svm)(run, data, **params)
    the_map = {name: getattr(found.map, name) for name in found.map.field_names()}
    return {**found.as_dict(), "map": the_map}


def check_machine(result: Any, _: Inputs, *, classes: int, params: dict[str, Any]) -> None:
    """The bound is below the pooled optimum on the same map, the objective at most `tol` above it."""
    X, y = reference.table(classes)
    the_map = PublicMap(**result["map"])
    assert len(the_map.centres) == (1 if params["kernel"] == "linear" else 12)
    F = features_of(the_map, X, shorten=False)
    signs = reference.signs_of_pairs(y, classes, params.get("multi_class", "ovo"))
    for k, sign in enumerate(signs.T):
        best = reference.optimum(F[:, :-1], sign, params["C"])
        told = reference.objective(F, sign, result["w"][k], params["C"])
        np.testing.assert_allclose(told, result["objective"][k], rtol=1e-6)
        assert result["bound"][k] <= best * (1 + 1e-4)
        assert best * (1 - 1e-4) <= told <= best * (1 + 1.1 * params["tol"])


def pan_case(name: str, *, classes: int = 2, **params: Any) -> Case:
    asked = {**SHAPE, **params}
    inputs, play = partial(parts_at, classes=classes), partial(play_machine, **asked)
    return Case(f"pan_svm_{name}", inputs, play, partial(check_machine, classes=classes, params=asked))


def check_wrapper(result: Any, _: Inputs) -> None:
    """The features go in the order of scikit-learn's RFE, by which one criterion of a linear kernel is RFE."""
    X, y = reference.table(2)
    assert [int(each[0]) for each in result["gone"]] == reference.drop_by_rfe(X, y, SELECTION["C"])
    assert result["chosen"] == len(result["gone"])
    assert np.isnan(result["accuracies"]).all()


def check_filter(result: Any, inputs: Inputs) -> None:
    """Features, order and accuracies are those of a plain implementation on the pooled records."""
    X, y = reference.table(2)
    rows = [np.flatnonzero(np.isin(X[:, 0], part.X[:, 0])) for part in inputs["data"][1].values()]
    passing, gone, accuracies = reference.select_by_filters(X, y, rows, C=SELECTION["C"], folds=SELECTION["folds"])
    assert result["features"].tolist() == sorted(passing)
    np.testing.assert_allclose(result["accuracies"], accuracies, atol=1e-9)
    assert [int(each[0]) for each in result["gone"]] == gone
    assert result["chosen"] == int(np.argmax(accuracies))


def selection_case(name: str, play: Any, check: Any, **params: Any) -> Case:
    return Case(name, partial(parts_at, classes=2), partial(flat(play), **SELECTION, **params), check)


CASES: tuple[Case, ...] = (
    pan_case("rbf", kernel="rbf"),
    pan_case("poly_ovr", kernel="poly", classes=3, multi_class="ovr", gamma=0.3),
    pan_case("rbf_ovo", kernel="rbf", classes=3, gamma="auto"),
    pan_case("linear", kernel="linear"),
    selection_case("voted_wrapper_rfe", voted_wrapper, check_wrapper, voters=("rfe",), by_accuracy=False),
    selection_case("filter_wrapper", filter_wrapper, check_filter, welch_most=0.9, attempts=9),
)
