"""scikit-learn's `check_estimator` of every estimator on the front door, with its defaults.

A check may fail as scikit-learn's own SVC or SVR fails it, and no other.
"""

from __future__ import annotations

import inspect
import warnings

import pytest
from sklearn.base import BaseEstimator
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

import tacit

GRID = {"alpha": [3.0, 10.0]}
# scikit-learn's checks set the random_state of an estimator, and not of one within it
NEEDED = {"estimator": tacit.SVC(random_state=0), "param_grid": GRID, "param_distributions": GRID}
MORE = {
    "SVC, hinge": tacit.SVC(loss="hinge"),
    "SVC, poly": tacit.SVC(kernel="poly"),
    "scaler, robust": tacit.FederatedScaler("robust"),
    "scaler, cells": tacit.FederatedScaler("minmax", partition="arbitrary", ranges=(-1e4, 1e4)),
    "imputer, columns": tacit.FederatedImputer("median", add_indicator=True, partition="vertical"),
    "vectorizer, columns": tacit.TableVectorizer(partition="vertical"),
    "encoder, columns": tacit.FederatedEncoder(partition="vertical"),
}


def with_defaults(kind: type) -> BaseEstimator:
    """Return an estimator with its defaults, and what it cannot do without."""
    wanted = inspect.signature(kind).parameters.values()
    return kind(**{each.name: NEEDED[each.name] for each in wanted if each.default is each.empty})


def estimators() -> dict[str, BaseEstimator]:
    """Return every estimator on the front door; `tacit.Pipeline` is scikit-learn's own."""
    found = {name: getattr(tacit, name) for name in dir(tacit)}
    kinds = {n: k for n, k in found.items() if isinstance(k, type) and issubclass(k, BaseEstimator)}
    del kinds["Pipeline"]
    return {**{name: with_defaults(kind) for name, kind in kinds.items()}, **MORE}


def failures(estimator: BaseEstimator) -> dict[str, BaseException]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(estimator, on_fail=None, on_skip=None)
    return {each["check_name"]: each["exception"] for each in done if each["status"] == "failed"}


FAR = pytest.mark.xfail(
    strict=True,
    reason="of few raw records training shortens rows and answering does not: noise of weights grows with a cube",
)


@pytest.fixture(scope="module")
def shared():
    """The checks that scikit-learn's own SVMs fail."""
    return {*failures(SVC()), *failures(SVR())}


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [pytest.param(e, id=n, marks=FAR if n == "SVC, poly" else ()) for n, e in estimators().items()]
)
def test_an_estimator_with_its_defaults_fails_no_check_that_svc_passes(estimator, shared):
    excused = () if hasattr(estimator, "transform") else shared
    assert {check: error for check, error in failures(estimator).items() if check not in excused} == {}
