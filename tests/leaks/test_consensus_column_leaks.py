"""What a consensus over columns gives away: with rho='auto' nothing but products with the matrix of all dot products.

With ADMM more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from conformance.case import flat
from tacit.attacks.vertical_modes import nearest, vertical_modes
from tacit.attacks.vertical_span import deal_columns, listen, vertical_span
from tacit.choreo import Coordinator, Holder, Labeller, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.protocols.consensus.sharing import Share
from tacit.protocols.consensus.span import Question
from tacit.protocols.consensus.vertical import consensus_vertical
from tacit.runtimes.together import Together

ADMM = {"rho": 0.2, "over_relaxation": 1.9, "tol": 0.0}


@pytest.fixture(scope="module")
def wdbc() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:300]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], y[chosen]


def fourths(X: Any) -> Any:
    return np.array_split(np.arange(X.shape[1]), 4)


@pytest.fixture(scope="module")
def after_300_rounds(wdbc) -> Any:
    X, y = wdbc
    cuts = [np.array([0]), *np.array_split(np.arange(1, 30), 3)]  # a party with one column
    return listen(deal_columns(X, y, cuts), C=50.0, max_rounds=300, **ADMM)


def rotated(X: Any) -> Any:
    """Another table with the same dot products between records."""
    return X @ np.linalg.qr(np.random.default_rng(1).normal(size=(X.shape[1],) * 2))[0]


# exactly: what the view depends on


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_coordinator_s_view_is_the_same_for_tables_with_the_same_dot_products_however_they_are_split(wdbc, kernel):
    X, y = wdbc
    X = X[:80, :10]
    other = (rotated(X), [np.arange(1), np.arange(1, 5), np.arange(5, 10)])
    if kernel == "rbf":  # the sum of kernels knows whose column is whose, but not the party's name
        other = (X[:, ::-1], [9 - cut for cut in reversed(fourths(X))])
    asked, sums = listen(deal_columns(X, y[:80], fourths(X)), C=1.0, kernel=kernel, gamma=0.1, max_rounds=6)
    asked_then, sums_then = listen(
        deal_columns(np.ascontiguousarray(other[0]), y[:80], other[1]), C=1.0, kernel=kernel, gamma=0.1, max_rounds=6
    )
    np.testing.assert_allclose(asked_then, asked, atol=1e-4)  # what is published too
    np.testing.assert_allclose(sums_then, sums, atol=1e-2)
    np.testing.assert_allclose(sums[:, 0], sums_then[:, 0], atol=1e-8)


@pytest.mark.parametrize("probability", [False, True])
def test_every_sum_is_the_product_of_the_one_matrix_with_what_was_published(wdbc, probability):
    X, y = wdbc
    asked, sums = listen(deal_columns(X, y, fourths(X)), C=50.0, probability=probability)
    np.testing.assert_allclose(sums, X @ (X.T @ asked), atol=1e-8)


def test_under_admm_the_split_shows(wdbc):
    X, y = wdbc
    X = X[:80, :10]
    splits = (fourths(X), [np.arange(9), np.arange(9, 10)])
    one, two = (listen(deal_columns(X, y[:80], cuts), C=1.0, max_rounds=3, **ADMM)[1] for cuts in splits)
    assert np.abs(one - two).max() > 1e-3


class Published(Together):
    """Keeps what everyone is told."""

    def publish(self, kind: Any, value: Any) -> Any:
        told = super().publish(kind, value)
        if kind in (Question, Share):
            self.__dict__.setdefault("told", []).append(told)
        return told


def published(X: Any, y: Any, **params: Any) -> Any:
    parts = deal_columns(X, y, fourths(X))
    roster = Roster({Holder: tuple(parts), Labeller: ("p1",), Coordinator: ("coordinator",)})
    with Published(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        flat(consensus_vertical)(run, run.hold(Holder, parts), accept_risk=True, **params)
    kinds = {(row.type, row.receiver == "coordinator") for row in run.ledger}
    return run.told, kinds


@pytest.mark.parametrize("rho", ["auto", 0.2])
def test_what_is_published_shows_the_labels_as_opens_says_and_no_holder_is_sent_anything_else(wdbc, rho):
    X, y = wdbc
    told, kinds = published(X, y, C=1.0, rho=rho, max_rounds=5)
    first = told[0].p if rho == "auto" else told[0].values
    np.testing.assert_array_equal(first[:, 0] > 0, y == 1)
    public = (
        {"PublicKey", "Classes", "Size", "Question", "Coefficients"}
        if rho == "auto"
        else {"PublicKey", "Classes", "Size", "Share"}
    )
    assert {kind for kind, at_coordinator in kinds if not at_coordinator} == public
    assert {kind for kind, _ in kinds} - public == {"Labels", "Masked"}


def test_of_records_beyond_the_margin_the_published_multipliers_are_0_whatever_their_decision_value(wdbc):
    X, y = wdbc
    told, _ = published(X, y, C=1.0, max_rounds=40)
    for question in told[1:-1]:
        p = np.abs(question.p[:, 0])
        assert ((p == 0) | (p > 5e-7)).all()  # nothing of the solver's own distance from a bound is left
        assert (p == 0).sum() > len(X) / 2


# attacks: where they succeed and where they fail


@pytest.mark.parametrize(("known", "least", "most"), [(60, 0, 4e-4), (30, 0, 1e-3), (29, 0.01, 2), (15, 0.3, 2)])
def test_after_300_rounds_of_admm_as_many_known_records_as_columns_give_all_others(
    wdbc, after_300_rounds, known, least, most
):
    error = vertical_span(after_300_rounds[1], wdbc[0], np.arange(known)).error
    assert least <= error <= most


def test_sums_fewer_than_the_columns_leave_records_open_however_many_are_known(wdbc):
    X, y = wdbc
    _, sums = listen(deal_columns(X, y, fourths(X)), C=50.0)
    assert sums.shape[1] < 30  # to a gap of a thousandth
    assert vertical_span(sums, X, np.arange(150)).error > 0.02
    _, few = listen(deal_columns(X, y, fourths(X)), C=50.0, max_rounds=10)
    assert vertical_span(few, X, np.arange(150)).error > 0.15


def test_with_probabilities_the_sums_of_a_few_rounds_span_all_columns(wdbc):
    X, y = wdbc
    _, sums = listen(deal_columns(X, y, fourths(X)), C=50.0, max_rounds=5, probability=True)
    assert sums.shape[1] == 30  # five rounds of the problem and of five without a fold
    assert vertical_span(sums, X, np.arange(60)).error < 1e-3
    _, few = listen(deal_columns(X, y, fourths(X)), C=50.0, max_rounds=4, probability=True)
    assert vertical_span(few, X, np.arange(150)).error > 0.02


def test_after_300_rounds_of_admm_a_party_s_only_column_is_read_with_no_record_known_and_after_as_many_as_columns_not(
    wdbc, after_300_rounds
):
    told, sums = after_300_rounds
    column = wdbc[0][:, 0]
    assert nearest(vertical_modes(told, sums, 30, 0.2), column) < 1e-3
    assert nearest(vertical_modes(told[:, :30], sums[:, :30], 30, 0.2), column) > 0.5


def test_in_the_span_there_is_no_party_to_find(wdbc):
    X, y = wdbc
    cuts = [np.array([0]), *np.array_split(np.arange(1, 30), 3)]
    told, sums = listen(deal_columns(X, y, cuts), C=50.0, tol=1e-6)
    assert nearest(vertical_modes(told, sums, 30, 1.0), X[:, 0]) > 0.5
