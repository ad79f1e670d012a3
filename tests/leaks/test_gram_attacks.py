"""What a gram matrix, a kernel matrix and the answers of a gram SVM give away, on views of the real protocols."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import tacit
from tacit.attacks.far_queries import bells, far_queries, nearest
from tacit.attacks.gram_inversion import gram_inversion
from tacit.attacks.gram_view import gram_view
from tacit.attacks.known_column import known_column
from tacit.attacks.one_hidden_column import one_hidden_column, up_to_rotation
from tacit.attacks.rbf_trilateration import rbf_trilateration
from tacit.attacks.small_exponent import play
from tacit.attacks.unit_queries import model_extraction, unit_queries
from tacit.errors import LocalError
from tacit.federation import Federation

RECORDS, COLUMNS = 40, 5
PARTITIONS = ("vertical", "horizontal", "arbitrary")
UNITS = np.eye(COLUMNS)


def records(n: int = RECORDS, seed: int = 0):
    X = np.random.default_rng(seed).normal(size=(n, COLUMNS))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)


def federation(partition: str, n: int = RECORDS) -> tuple[Federation, np.ndarray]:
    """The records, in the order in which the gram matrix has them."""
    fed = Federation.simulate(*records(n), parties=3, partition=partition)
    return fed, np.vstack([part.X for part in fed.parts.values()]) if partition == "horizontal" else fed.pooled()[0]


# From an RBF kernel matrix


def test_one_known_record_more_than_columns_gives_all_others_from_an_rbf_kernel_matrix():
    X, _ = records()
    K = rbf_kernel(X, gamma=0.1)
    errors = [rbf_trilateration(K, X, np.arange(known), 0.1).error for known in range(COLUMNS + 2)]
    assert errors[0] == 1
    assert all(error > 0.02 for error in errors[:-1])
    assert errors[-1] < 1e-11


@pytest.mark.parametrize("known", [1, 2, 3, COLUMNS])
def test_fewer_give_the_part_of_every_record_in_the_plane_through_them(known):
    X, _ = records()
    found = rbf_trilateration(rbf_kernel(X, gamma=0.1), X, np.arange(known), 0.1).records
    base = X[:known].mean(axis=0)
    span = (X[:known] - base).T
    plane = span @ np.linalg.pinv(span)
    np.testing.assert_allclose(found, base + (X - base) @ plane, atol=1e-9)


def test_two_known_records_give_gamma():
    X, _ = records()
    K = rbf_kernel(X, gamma=0.37)
    for known in (2, 4):
        given, found = (rbf_trilateration(K, X, np.arange(known), gamma).records for gamma in (0.37, None))
        np.testing.assert_allclose(found, given, atol=1e-10)
    assert rbf_trilateration(K, X, np.arange(COLUMNS + 1)).error < 1e-11


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_coordinator_that_keeps_the_kernel_matrix_only_has_forgotten_nothing(partition):
    fed, X = federation(partition)
    G = gram_view(fed, UNITS).gram
    norms = np.diag(G)
    K = np.exp(-0.2 * (norms[:, None] + norms - 2 * G))
    assert rbf_trilateration(K, X, np.arange(COLUMNS + 1)).error < 1e-4


def test_what_does_not_determine_gamma_or_a_distance_is_refused():
    X, _ = records()
    K = rbf_kernel(X, gamma=0.1)
    with pytest.raises(
        LocalError,
        match=r"^gamma cannot be worked out from 1 known record\(s\): give two that differ, or gamma itself$",
    ):
        rbf_trilateration(K, X, np.array([3]))
    K[0, 1] = 0.0
    with pytest.raises(
        LocalError, match=r"^an entry of the kernel matrix is 0, .*: use a kernel with a smaller gamma$"
    ):
        rbf_trilateration(K, X, np.arange(6), 0.1)


# From a gram matrix and some values of one column


@pytest.mark.parametrize("partition", PARTITIONS)
def test_as_many_known_values_of_a_column_as_there_are_columns_give_it_whatever_records_they_are_of(partition):
    fed, X = federation(partition)
    gram, rng = gram_view(fed, UNITS).gram, np.random.default_rng(3)
    for column in range(COLUMNS):
        known = rng.choice(RECORDS, COLUMNS, replace=False)
        assert known_column(gram, X[:, column], known).error < 1e-3
        assert known_column(gram, X[:, column], known[1:]).error < 2e-2  # up to a sign
        assert known_column(gram, X[:, column], known[2:]).error > 2e-2
    assert known_column(gram, X[:, 0], np.array([], dtype=np.int64)).error == 1


# From a gram matrix and some columns


@pytest.mark.parametrize("partition", PARTITIONS)
def test_one_hidden_column_is_known_up_to_its_sign_without_a_known_record_and_one_gives_the_sign(partition):
    fed, X = federation(partition)
    gram = gram_view(fed, UNITS).gram
    for hidden in range(COLUMNS):
        others, column = np.delete(X, hidden, axis=1), X[:, [hidden]]
        blind, told = (one_hidden_column(gram, others, column, np.arange(known)) for known in (0, 1))
        assert blind.error < 1e-4
        assert min(np.abs(blind.records - sign * column).max() for sign in (1, -1)) < 1e-3
        np.testing.assert_allclose(told.records, column, atol=1e-3)


@pytest.mark.parametrize("hidden", [1, 2, 4, COLUMNS])
def test_as_many_known_records_as_hidden_columns_give_them_and_their_number_is_no_secret(hidden):
    fed, X = federation("vertical")
    gram, columns = gram_view(fed, UNITS).gram, X[:, hidden:]
    assert up_to_rotation(gram - columns @ columns.T).shape[1] == hidden
    enough, fewer = (
        one_hidden_column(gram, columns, X[:, :hidden], np.arange(known)) for known in (hidden, hidden - 1)
    )
    assert enough.error < 1e-7
    assert hidden == 1 or fewer.error > 0.02


def test_hidden_columns_that_are_one_column_twice_are_found_too():
    X, _ = records()
    X[:, 1] = -2 * X[:, 0]
    found = one_hidden_column(X @ X.T, X[:, 2:], X[:, :2], np.arange(1))
    assert found.error < 1e-10


# From chosen questions


@pytest.mark.parametrize("partition", PARTITIONS)
def test_the_coordinator_and_who_asks_read_support_vectors_column_by_column_and_then_all_records(partition):
    fed, X = federation(partition)
    view = gram_view(fed, UNITS, gamma=0.2)
    truth = X[view.support]
    for quota in range(COLUMNS):
        found = unit_queries(view.dots[:quota], UNITS[:quota], truth)
        np.testing.assert_allclose(found.records[:, :quota], truth[:, :quota], atol=1e-4)
        assert not found.records[:, quota:].any()  # of columns that were not asked about nothing is known
        assert found.error > 0.2
    found = unit_queries(view.dots, UNITS, truth)
    assert found.error < 1e-5
    known = X.copy()
    known[view.support] = found.records
    assert gram_inversion(view.gram, known, view.support).error < 1e-4


def test_honest_questions_do_the_same_as_unit_vectors():
    fed, X = federation("vertical")
    asked, _ = records(COLUMNS, seed=1)
    view = gram_view(fed, asked)
    assert unit_queries(view.dots, asked, X[view.support]).error < 1e-7
    assert unit_queries(view.dots[:-1], asked[:-1], X[view.support]).error > 0.05


def test_who_asks_a_linear_model_has_it_after_one_question_more_than_columns():
    X, y = records()
    model, pooled = tacit.GramSVC(kernel="linear", tol=1e-8).fit(X, y), SVC(kernel="linear", tol=1e-8).fit(X, y)
    b, *rest = model.decision_function(np.vstack([np.zeros(COLUMNS), UNITS]))
    np.testing.assert_allclose(b, pooled.intercept_[0], atol=1e-4)
    np.testing.assert_allclose(np.array(rest) - b, pooled.coef_[0], atol=1e-4)


@pytest.mark.parametrize(("kernel", "enough"), [("linear", COLUMNS + 1), ("poly", comb(COLUMNS + 2, 2))])
def test_a_model_of_finitely_many_numbers_is_known_after_as_many_answers_and_not_after_fewer(kernel, enough):
    fed, _ = federation("vertical")
    asked, fresh = records(enough, seed=1)[0], records(20, seed=2)[0]
    view = gram_view(fed, np.vstack([asked, fresh]), kernel=kernel, gamma=0.2)
    told, truth = view.answers[:enough], view.answers[enough:]
    copy, short = (model_extraction(view.kernel, asked[:q], told[:q], fresh, truth) for q in (enough, enough - 1))
    assert copy.error < 1e-6
    assert copy.agreement == 1
    assert short.error > 1e-3


def test_the_copy_of_an_rbf_model_gets_better_with_every_question():
    fed, _ = federation("vertical", 100)
    asked, fresh = records(400, seed=1)[0], records(100, seed=2)[0]
    view = gram_view(fed, np.vstack([asked, fresh]), gamma=0.2)
    copies = [
        model_extraction(view.kernel, asked[:q], view.answers[:q], fresh, view.answers[400:]) for q in (0, 20, 100, 400)
    ]
    errors = [copy.error for copy in copies]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == 1
    assert errors[-1] < 0.05
    assert copies[-1].agreement > 0.95 > copies[0].agreement


@pytest.mark.parametrize("partition", ["vertical", "arbitrary"])
def test_who_asks_an_rbf_model_about_far_records_is_told_an_outlying_support_vector(partition):
    X, y = records()
    X[7], y[7] = [4.0, 1.0, -1.0, 0.5, -2.0], 1
    fed = Federation.simulate(X, y, parties=3, partition=partition)
    asked = far_queries(UNITS[:1], gamma=0.5, reach=4.0)
    view = gram_view(fed, asked, gamma=0.5)
    assert 7 in view.support
    found = bells(asked, view.answers, 0.5)[0]
    np.testing.assert_allclose(found.record, X[7], atol=1e-2)
    assert found.doubt < 1e-2
    rounded = bells(asked, view.answers.round(3), 0.5)
    assert not rounded or nearest(rounded[0].record, X[view.support]) > 0.1


def test_a_bell_alone_is_found_exactly_and_two_as_near_are_doubted():
    far = far_queries(UNITS[:1], gamma=0.5, reach=1.0)
    one, other = np.array([1.0, 2, 0, 0, 0]), np.array([1.0, -2, 0, 0, 0])

    def bell(x: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * np.square(far - x).sum(axis=1))

    alone, both = bells(far, 3.0 * bell(one), 0.5)[0], bells(far, bell(one) + 0.7 * bell(other), 0.5)
    np.testing.assert_allclose(alone.record, one, atol=1e-9)
    assert nearest(both[0].record, np.stack([one, other])) > 0.1


# From powers of one's own ciphertext


def test_one_record_of_one_s_own_reads_all_others_in_algorithm_1_as_printed_and_none_once_it_is_randomised():
    cells = np.random.default_rng(0).integers(-200, 200, size=(5, 2))
    assert play(cells, np.arange(0), randomised=False, bound=256).error == 1
    for known in (1, 2):
        found = play(cells, np.arange(known), randomised=False, bound=256)
        assert found.error == 0
        np.testing.assert_array_equal(found.records, cells)
        assert play(cells, np.arange(known), randomised=True, bound=256).error == 1
