"""Values of models that did not see the record.

Linear SVMs of scikit-learn, trained without each fold, are the oracle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from conformance.atoms_reference import by_class, most_folds
from conformance.pan_oracle import labelled, parts_at, split, unseen
from tacit import LocalError
from tacit.choreo import At, Coordinator, Holder, Roster, Run, entries_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.planes.problems import Common, Svm, classes_at, problems, signs_of
from tacit.protocols.planes.rows import Rows
from tacit.protocols.scores.fold_scores import fold_scores
from tacit.protocols.sums.atoms import Atoms, Told, begin
from tacit.protocols.sums.secure_sum import protect
from tacit.protocols.witness import Voice
from tacit.runtimes.together import Together

NAMES = ("p1", "p2", "p3")
TOL = 1e-5


def rows_at(part: Any, atoms: Atoms, classes: int) -> Rows:
    signs = np.where(atoms.group[:, None] < 0, 0, signs_of(part.y, problems(classes, "ovr"))).astype(np.int8)
    return Rows(part.X, signs, np.ones(len(part.X)))


def played(classes: int, least: int, **how: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The models; at each party the scores, and the atoms after all."""
    parts = parts_at(NAMES, classes)
    roster = Roster({Holder: NAMES, Coordinator: ("coordinator",)})
    with Together(roster, job=b"folds", entropy=RootEntropy(roster.parties, b"folds")) as run:
        found, scores, atoms = solve(run, parts, classes, least, **how)
        return found, dict(entries_of(scores)), dict(entries_of(atoms))


def solve(
    run: Run, parts: dict[str, Any], classes: int, least: int, *, whole: bool = True
) -> tuple[Any, At[Any], At[Any]]:
    svm = Svm(
        kernel="linear",
        gamma=1.0,
        degree=3,
        coef0=0.0,
        C=1.0,
        tol=TOL,
        max_rounds=200,
        min_count=least,
        seed=7,
        accept_risk=True,
    )
    sizes = np.bincount(np.concatenate([part.y for part in parts.values()])).astype(float)
    voice, pairs = Voice(run, protect(run, to=Coordinator), FixedPoint(32, terms=3)), problems(classes, "ovr")
    ground = Common(svm, voice, tuple(range(classes)), pairs, sizes, sizes, 1.0, 3)
    data = run.hold(Holder, parts)
    kind = run.local(Holder, classes_at, data, ground.classes, np.ones(classes))
    atoms = run.local(Holder, begin, data, kind, Told(()), svm.hold_back)
    return fold_scores(
        run, run.local(Holder, rows_at, data, atoms, classes), atoms, width=3, ground=ground, whole=whole
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_every_value_is_of_the_pooled_svm_without_the_records_fold(classes):
    X, y = labelled(classes)
    rows = split(NAMES)
    _, scores, _ = played(classes, 1)
    number, folds = most_folds(by_class(rows, y, 1), y, 5, 1, 7)
    assert number == 5
    fold = np.array([folds[i] for i in range(len(y))])
    for k in [1] if classes == 2 else range(classes):
        column = 0 if classes == 2 else k
        for q in range(5):
            oracle = SVC(kernel="linear", C=1.0, tol=1e-4).fit(X[fold != q], y[fold != q] == k)
            for p, i in rows.items():
                here = fold[i] == q
                np.testing.assert_allclose(
                    scores[p].values[here, column],
                    oracle.decision_function(X[i][here]) if here.any() else np.empty(0),
                    atol=0.03,
                )


@pytest.mark.parametrize(("classes", "least"), [(2, 2), (2, 4), (3, 2)])
def test_over_groups_every_value_is_the_mean_of_its_group(classes, least):
    X, y = labelled(classes)
    rows = split(NAMES)
    found, scores, atoms = played(classes, least)
    signs = signs_of(y, problems(classes, "ovr"))
    pools, rounds, values, use = unseen(X, y, signs, by_class(rows, y, least), least, price=1.0, tol=TOL, seed=7)
    assert found.rounds == rounds
    np.testing.assert_allclose(found.w, [pool.found[0][0] for pool in pools[: len(found.b)]], atol=1e-6)
    for p, i in rows.items():
        mine = np.isin(use, i)
        np.testing.assert_allclose(scores[p].values, values[mine], atol=1e-6)
        np.testing.assert_array_equal(scores[p].codes, y[np.array(use)[mine]])
        group = atoms[p].group[atoms[p].group >= 0]
        for g in np.unique(group):
            assert np.sum(group == g) >= least
            assert len(np.unique(scores[p].values[group == g], axis=0)) == 1


def test_the_models_of_all_rows_come_with_them():
    X, y = labelled(2)
    found, _, _ = played(2, 1)
    oracle = SVC(kernel="linear", C=1.0, tol=1e-4).fit(X, y)
    np.testing.assert_allclose(X @ found.w[0] + found.b[0], oracle.decision_function(X), atol=0.03)


def test_where_the_models_of_all_rows_are_had_otherwise_only_those_of_the_folds_are_trained():
    found, scores, _ = played(3, 1, whole=False)
    beside, same, _ = played(3, 1)
    assert (len(found.b), len(beside.b)) == (5 * 3, 3)
    for p in NAMES:
        np.testing.assert_allclose(scores[p].values, same[p].values, atol=0.03)


def test_too_few_groups_for_folds_are_refused_in_one_line():
    words = (
        "probability=True leaves rows out in turn, and there are too few groups of min_count rows for that: even of two"
        " folds one would have no rows of some class; bring more rows, ask for fewer landmarks, or lower min_count with"
        " accept_risk=True"
    )
    with pytest.raises(LocalError, match=words):
        played(2, 15)
    played(2, 6)
