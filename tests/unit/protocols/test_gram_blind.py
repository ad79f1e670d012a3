"""Blind gram SVMs, compared with SVC on the pooled records."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tacit import LocalError
from tacit.choreo import Asker, Coordinator, Holder, Labeller, Roster, entries_of
from tacit.consortium.jobs.rehearsal import disclosure_of
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.shares.dual_plan import choose_rounds
from tacit.protocols.blind.training import blind_predict, gram_blind
from tacit.protocols.parameters import AnyKernel
from tacit.runtimes.together import Together

NAMES = ("north", "south", "east")


def split(X, y, partition):
    """The records of three holders, and the order of the rows."""
    owner = np.random.default_rng(1).integers(0, 3, X.shape)
    features = tuple(f"x{j}" for j in range(X.shape[1]))
    parts = {}
    for i, name in enumerate(NAMES):
        labels = y if i == 0 else None
        if partition == "vertical":
            parts[name] = part_of(X[:, i::3], labels, None, features[i::3], None)
        elif partition == "horizontal":
            parts[name] = part_of(X[i::3], None if y is None else y[i::3], None, features, None)
        else:
            parts[name] = part_of(np.where(owner == i, X, 0.0), labels, None, features, owner == i)
    order = np.concatenate([np.arange(len(X))[i::3] for i in range(3)])
    return parts, order if partition == "horizontal" else np.arange(len(X))


def train_and_ask(X, y, Z, partition, *, C=1.0, gamma="scale", coordinator="clearing", kernel="rbf", **numbers):
    roles = {Holder: NAMES, Coordinator: (coordinator,)}
    if partition != "horizontal":
        roles |= {Labeller: NAMES[:1], Asker: NAMES[:1]}
    names = [*NAMES, "clearing"]
    with Together(Roster(roles), job=b"blind", entropy=RootEntropy(names, b"blind")) as run:
        given = {"kernel": kernel, "degree": 3, "coef0": 0.0, **numbers}
        found = gram_blind(
            run,
            run.hold(Holder, split(X, y, partition)[0]),
            partition=partition,
            kernel=AnyKernel(gamma=gamma, **given),
            C=C,
        )
        new, order = split(Z, None, partition)
        problems = 1 if len(found.classes) == 2 else len(found.classes)
        asked = blind_predict(
            run,
            run.hold(Holder, new),
            found.share,
            partition=partition,
            problems=problems,
            kernel=AnyKernel(gamma=found.gamma, **given),
            divisor=found.divisor,
            trained_on=found.records,
            C=C,
        )
        answers = entries_of(asked)
    values = np.concatenate([answers[p] for p in NAMES]) if partition == "horizontal" else answers[NAMES[0]]
    return values[np.argsort(order)], found, run


@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_answers_are_those_of_svc_on_the_pooled_records(partition):
    X, y = make_classification(150, 7, n_informative=4, flip_y=0.05, random_state=2)
    X = StandardScaler().fit_transform(X)
    values, found, _ = train_and_ask(X[:110], y[:110], X[110:], partition, C=3.0)
    theirs = SVC(C=3.0, tol=1e-8).fit(X[:110], y[:110])
    assert found.gamma == pytest.approx(theirs._gamma, rel=1e-5)
    assert found.iterations == choose_rounds(110, 3.0), "a public function of records and C"
    np.testing.assert_allclose(values[:, 0], theirs.decision_function(X[110:]), atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "partition", "numbers"),
    [
        ("linear", "vertical", {}),
        ("linear", "horizontal", {}),
        ("linear", "arbitrary", {}),
        ("poly", "vertical", {"degree": 3, "coef0": 1.0}),
        ("poly", "arbitrary", {"degree": 2}),
    ],
)
def test_linear_and_polynomial_kernels_answer_as_svc_does(kernel, partition, numbers):
    X, y = make_classification(150, 7, n_informative=4, flip_y=0.05, random_state=2)
    X = StandardScaler().fit_transform(X)
    values, found, run = train_and_ask(X[:110], y[:110], X[110:], partition, C=3.0, kernel=kernel, **numbers)
    theirs = SVC(C=3.0, kernel=kernel, tol=1e-8, **numbers).fit(X[:110], y[:110]).decision_function(X[110:])
    np.testing.assert_allclose(values[:, 0], theirs, atol=0.06)
    assert found.divisor > 1
    assert {row.type for row in run.ledger.rows} >= {"DiagonalShare", "Range"}


def test_powers_that_leave_their_window_are_refused_before_they_are_made():
    X, y = make_classification(40, 6, random_state=2)
    with pytest.raises(LocalError, match=r"cells of up to 2048 make powers of .*: scale the columns, or lower gamma"):
        train_and_ask(X * 300, y, X[:4], "vertical", kernel="poly", gamma=1.0)
    with pytest.raises(LocalError, match=r"mean of .*: scale the columns to one size"):
        train_and_ask(X * 1e-4, y, X[:4], "vertical", kernel="poly", degree=1, gamma=1.0)
    with pytest.raises(
        LocalError, match=r"cells of up to .* in 40 records leave no room in 64 bits: scale the columns"
    ):
        train_and_ask(X * 2.0**20, y, X[:4], "vertical", kernel="linear")
    with pytest.raises(LocalError, match=r"coef0=-1 and degree=3 make no kernel"):
        train_and_ask(X, y, X[:4], "vertical", kernel="poly", coef0=-1.0)
    with pytest.raises(LocalError, match=r"is for kernel='rbf', 'linear' or 'poly', not 'sigmoid'"):
        train_and_ask(X, y, X[:4], "vertical", kernel="sigmoid")


def test_several_classes_are_each_told_from_the_rest():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    values, found, _ = train_and_ask(X[::2], y[::2], X[1::2], "vertical", C=2.0, gamma=0.1)
    theirs = OneVsRestClassifier(SVC(C=2.0, gamma=0.1, tol=1e-8)).fit(X[::2], y[::2]).decision_function(X[1::2])
    assert found.classes == (0, 1, 2)
    np.testing.assert_allclose(values, theirs, atol=0.02)


def test_nobody_is_told_anything_in_clear_but_sizes_names_and_answers():
    X, y = make_classification(40, 6, random_state=2)
    _, _, run = train_and_ask(X, y, X[:4], "vertical")
    told = {row.type for row in run.ledger.rows}
    assert told == {"Classes", "Owned", "PublicKey", "Dealt", "Opening", "OpenedBits", "VarianceShare", "AnswerShare"}
    to_dealer = {row.type for row in run.ledger.rows if row.receiver == "clearing" != row.sender}
    assert to_dealer == {"Classes", "Owned", "PublicKey", "VarianceShare"}


def test_the_dealer_is_sent_nothing_once_the_kernel_is_made_so_that_all_it_deals_is_there_before_it_is_needed():
    X, y = make_classification(40, 6, random_state=2)
    _, _, run = train_and_ask(X, y, X[:4], "vertical")
    training = [row for row in run.ledger.rows if row.place.startswith("/gram_blind/")]
    heard = max(k for k, row in enumerate(training) if row.receiver == "clearing" != row.sender)
    kernel = min(k for k, row in enumerate(training) if "/multiply_factors/" in row.place)
    assert heard < kernel
    assert any(row.sender == "clearing" for row in training[kernel:])


@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_a_job_tells_before_it_runs_what_it_opens(partition):
    roles = {Holder: NAMES, Coordinator: ("clearing",)}
    if partition != "horizontal":
        roles |= {Labeller: NAMES[:1], Asker: NAMES[:1]}
    asked = {"partition": partition, "kernel": "rbf", "degree": 3, "coef0": 0.0, "C": 1.0}
    told = disclosure_of("gram_blind", {**asked, "gamma": "scale"}, Roster(roles))
    assert "gram.matrix" not in told
    assert "shares.uniform" in told
    answers = disclosure_of("blind_predict", {**asked, "gamma": 0.1, "problems": 1, "trained_on": 500}, Roster(roles))
    assert "core.answers" in answers


def test_a_dealer_that_holds_data_and_other_kernels_are_refused():
    X, y = make_classification(40, 6, random_state=2)
    with pytest.raises(LocalError, match="north holds data and would deal the randomness"):
        train_and_ask(X, y, X[:4], "vertical", coordinator="north")
