"""Values of models that did not see the record: linear SVMs of scikit-learn, trained without each fold, are the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from conformance.pan_oracle import labelled, parts_at, split
from tacit import LocalError
from tacit.choreo import At, Coordinator, Holder, Roster, Run, entries_of
from tacit.crypto.entropy import RootEntropy
from tacit.numeric.fixed_point import FixedPoint
from tacit.protocols.fold_accuracy import dealt_here
from tacit.protocols.fold_scores import fold_scores
from tacit.protocols.plane_rows import Rows
from tacit.protocols.row_problems import Common, Svm, problems, signs_of
from tacit.protocols.secure_sum import protect
from tacit.runtimes.together import Together

NAMES = ("p1", "p2", "p3")


def rows_at(part: Any, classes: int) -> Rows:
    return Rows(part.X, signs_of(part.y, problems(classes, "ovr")), np.ones(len(part.X)))


def played(classes: int, least: int, **how: Any) -> tuple[Any, dict[str, Any]]:
    parts = parts_at(NAMES, classes)
    roster = Roster({Holder: NAMES, Coordinator: ("coordinator",)})
    with Together(roster, job=b"folds", entropy=RootEntropy(roster.parties, b"folds")) as run:
        found, scores = solve(run, parts, classes, least, **how)
        return found, dict(entries_of(scores))


def solve(run: Run, parts: dict[str, Any], classes: int, least: int, *, whole: bool = True) -> tuple[Any, At[Any]]:
    rows = {p: rows_at(part, classes) for p, part in parts.items()}
    svm = Svm("linear", 1.0, 3, 0.0, 1.0, tol=2e-4, max_rounds=200, min_count=least, seed=7)
    sizes = np.bincount(np.concatenate([part.y for part in parts.values()])).astype(float)
    by, fixed, pairs = protect(run, to=Coordinator), FixedPoint(32, terms=3), problems(classes, "ovr")
    ground = Common(svm, by, fixed, tuple(range(classes)), pairs, sizes, 1.0, 3)
    held = run.hold(Holder, rows)
    return fold_scores(run, run.hold(Holder, parts), held, weights=np.ones(classes), width=3, ground=ground, whole=whole)


@pytest.mark.parametrize("classes", [2, 3])
def test_every_value_is_of_the_pooled_svm_without_the_records_fold(classes):
    X, y = labelled(classes)
    rows = split(NAMES)
    _, scores = played(classes, 1)
    fold = np.empty(len(y), dtype=int)
    for p, i in rows.items():
        fold[i] = dealt_here(y[i], 5, 7, p)
    for k in [1] if classes == 2 else range(classes):
        column = 0 if classes == 2 else k
        for q in range(5):
            oracle = SVC(kernel="linear", C=1.0, tol=1e-4).fit(X[fold != q], y[fold != q] == k)
            for p, i in rows.items():
                here = fold[i] == q
                np.testing.assert_allclose(
                    scores[p].values[here, column], oracle.decision_function(X[i][here]) if here.any() else np.empty(0), atol=0.1
                )


def test_the_models_of_all_rows_come_with_them():
    X, y = labelled(2)
    found, _ = played(2, 1)
    oracle = SVC(kernel="linear", C=1.0, tol=1e-4).fit(X, y)
    np.testing.assert_allclose(X @ found.w[0] + found.b[0], oracle.decision_function(X), atol=0.1)


def test_where_the_models_of_all_rows_are_had_otherwise_only_those_of_the_folds_are_trained():
    found, scores = played(3, 1, whole=False)
    beside, same = played(3, 1)
    assert (len(found.b), len(beside.b)) == (5 * 3, 3)
    for p in NAMES:
        np.testing.assert_allclose(scores[p].values, same[p].values, atol=0.1)


def test_too_few_rows_for_folds_are_refused_in_one_line():
    with pytest.raises(LocalError, match="even of two folds one would have fewer than min_count=40 rows of a class: bring more"):
        played(2, 40)
