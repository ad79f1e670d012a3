"""scikit-learn's `check_estimator` of every estimator on the front door, with its defaults.

A check may fail as scikit-learn's own SVC or SVR fails it, or because of a refusal below. The tables of these checks
have 10 to 100 records between three parties; how many records a sum needs never adapts to that. That nothing else is
in the way, the estimators' own tests show, with `min_count=1` and the risk accepted.
"""

from __future__ import annotations

import inspect
import warnings

import pytest
from sklearn.base import BaseEstimator
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import check_estimator

import tacit

REFUSALS = {
    "for a group of min_count='auto'": "every sum is over 5 rows of one class at one party, or more",
    "there are too few groups of min_count rows": "so is every sum over the rows of a fold",
    "the min_count of a class, that one landmark stands for": "a landmark is the mean of 5 records or more",
    "bounds on losses to be opened": "all sums of a run together stay fewer than the unknowns of its rows",
    "have fewer than min_rows=5 records over all parties": "sums of a class of few records are these records",
    "say accept_risk=True, or use PanSVC": "ShiftSVC gives records away, and trains nobody who has not said yes",
    "The 'cv' parameter of": "every party deals its own rows to the folds: nobody has the row numbers to list them",
}
GRID = {"C": [0.1, 1.0]}
# scikit-learn's checks set the random_state of an estimator, and not of one within it
NEEDED = {"estimator": tacit.PanSVC(random_state=0), "param_grid": GRID, "param_distributions": GRID}
MORE = {
    "ConsensusSVC, rbf": tacit.ConsensusSVC(kernel="rbf"),
    "FederatedGridSearch of GramSVC": tacit.FederatedGridSearch(tacit.GramSVC(random_state=0), GRID),
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


def words_of(error: BaseException | None) -> str:
    """Return what an error says, and what the errors say that it was made of."""
    return "" if error is None else f"{error} {words_of(error.__cause__ or error.__context__)}"


@pytest.fixture(scope="module")
def shared():
    """The checks that scikit-learn's own SVMs fail."""
    return {*failures(SVC()), *failures(SVR())}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "estimator"), [pytest.param(n, e, id=n) for n, e in estimators().items()])
def test_an_estimator_with_its_defaults_fails_no_check_that_svc_passes_but_for_protection(name, estimator, shared):
    del name
    others = {check: words_of(error) for check, error in failures(estimator).items() if check not in shared}
    assert {c: said for c, said in others.items() if not any(words in said for words in REFUSALS)} == {}
