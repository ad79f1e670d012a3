"""What a gram matrix, a kernel matrix and the answers of a gram SVM give away, on views of the real protocols."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from tacit.errors import LocalError
from tacit.federation import Federation
from tacit.papers.gram import GramSVC, attacks
from tacit.papers.gram.attacks.far_queries import bells, far_queries, nearest
from tacit.papers.gram.attacks.gram_inversion import gram_inversion
from tacit.papers.gram.attacks.gram_view import gram_view
from tacit.papers.gram.attacks.known_column import known_column
from tacit.papers.gram.attacks.one_hidden_column import one_hidden_column, up_to_rotation
from tacit.papers.gram.attacks.rbf_trilateration import rbf_trilateration
from tacit.papers.gram.attacks.small_exponent import play
from tacit.papers.gram.attacks.unit_queries import model_extraction, unit_queries

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


@pytest.fixture(scope="module", params=PARTITIONS)
def view(request):
    """What the coordinator and who asks about unit vectors have, and the records."""
    fed, X = federation(request.param)
    return gram_view(fed, UNITS, gamma=0.2), X


# From an RBF kernel matrix


def test_one_known_record_more_than_columns_gives_all_others_from_an_rbf_kernel_matrix():
    X, _ = records()
    K = rbf_kernel(X, gamma=0.1)
    errors = [rbf_trilateration(K, X, np.arange(known), 0.1).error for known in range(COLUMNS + 2)]
    assert errors[0] == 1
    assert all(error > 0.02 for error in errors[:-1])
    assert errors[-1] < 1e-11
    for known in (1, 2, 3, COLUMNS):  # the part of every record in the plane through them
        found, base = rbf_trilateration(K, X, np.arange(known), 0.1).records, X[:known].mean(axis=0)
        span = (X[:known] - base).T
        np.testing.assert_allclose(found, base + (X - base) @ (span @ np.linalg.pinv(span)), atol=1e-9)


def test_two_known_records_give_gamma_and_what_does_not_determine_it_is_refused():
    X, _ = records()
    K = rbf_kernel(X, gamma=0.37)
    for known in (2, 4):
        given, found = (rbf_trilateration(K, X, np.arange(known), gamma).records for gamma in (0.37, None))
        np.testing.assert_allclose(found, given, atol=1e-10)
    assert rbf_trilateration(K, X, np.arange(COLUMNS + 1)).error < 1e-11
    with pytest.raises(LocalError, match=r"^gamma cannot be worked out from 1 known record\(s\): give two that differ"):
        rbf_trilateration(K, X, np.array([3]))
    K[0, 1] = 0.0
    with pytest.raises(LocalError, match=r"^an entry of the kernel matrix is 0, .*: use a kernel with a smaller"):
        rbf_trilateration(K, X, np.arange(6), 0.1)


def test_a_coordinator_that_keeps_the_kernel_matrix_only_has_forgotten_nothing(view):
    G, X = view[0].gram, view[1]
    norms = np.diag(G)
    K = np.exp(-0.2 * (norms[:, None] + norms - 2 * G))
    assert rbf_trilateration(K, X, np.arange(COLUMNS + 1)).error < 1e-4


# From a gram matrix, and some values of one column or some columns


def test_as_many_known_values_of_a_column_as_there_are_columns_give_it_whatever_records_they_are_of(view):
    gram, X, rng = view[0].gram, view[1], np.random.default_rng(3)
    for column in range(COLUMNS):
        known = rng.choice(RECORDS, COLUMNS, replace=False)
        assert known_column(gram, X[:, column], known).error < 1e-3
        assert known_column(gram, X[:, column], known[1:]).error < 2e-2  # up to a sign
        assert known_column(gram, X[:, column], known[2:]).error > 2e-2
    assert known_column(gram, X[:, 0], np.array([], dtype=np.int64)).error == 1


def test_one_hidden_column_is_known_up_to_its_sign_without_a_known_record_and_one_gives_the_sign(view):
    gram, X = view[0].gram, view[1]
    for hidden in range(COLUMNS):
        others, column = np.delete(X, hidden, axis=1), X[:, [hidden]]
        blind, told = (one_hidden_column(gram, others, column, np.arange(known)) for known in (0, 1))
        assert blind.error < 1e-4
        assert min(np.abs(blind.records - sign * column).max() for sign in (1, -1)) < 1e-3
        np.testing.assert_allclose(told.records, column, atol=1e-3)


def test_as_many_known_records_as_hidden_columns_give_them_and_their_number_is_no_secret():
    fed, X = federation("vertical")
    gram = gram_view(fed, UNITS).gram
    for hidden in (1, 2, 4, COLUMNS):
        columns = X[:, hidden:]
        assert up_to_rotation(gram - columns @ columns.T).shape[1] == hidden
        enough, fewer = (one_hidden_column(gram, columns, X[:, :hidden], np.arange(hidden - less)) for less in (0, 1))
        assert enough.error < 1e-7
        assert hidden == 1 or fewer.error > 0.02
    X[:, 1] = -2 * X[:, 0]  # one column twice is found too
    assert one_hidden_column(X @ X.T, X[:, 2:], X[:, :2], np.arange(1)).error < 1e-10


# From chosen questions


def test_the_coordinator_and_who_asks_read_support_vectors_column_by_column_and_then_all_records(view):
    seen, X = view
    truth = X[seen.support]
    for quota in range(COLUMNS):
        found = unit_queries(seen.dots[:quota], UNITS[:quota], truth)
        np.testing.assert_allclose(found.records[:, :quota], truth[:, :quota], atol=1e-4)
        assert not found.records[:, quota:].any()  # of columns that were not asked about nothing is known
        assert found.error > 0.2
    found = unit_queries(seen.dots, UNITS, truth)
    assert found.error < 1e-5
    known = X.copy()
    known[seen.support] = found.records
    assert gram_inversion(seen.gram, known, seen.support).error < 1e-4


def test_honest_questions_do_the_same_as_unit_vectors():
    fed, X = federation("vertical")
    asked, _ = records(COLUMNS, seed=1)
    seen = gram_view(fed, asked)
    assert unit_queries(seen.dots, asked, X[seen.support]).error < 1e-7
    assert unit_queries(seen.dots[:-1], asked[:-1], X[seen.support]).error > 0.05


def test_who_asks_a_linear_model_has_it_after_one_question_more_than_columns():
    X, y = records()
    model, pooled = GramSVC(kernel="linear", tol=1e-8).fit(X, y), SVC(kernel="linear", tol=1e-8).fit(X, y)
    b, *rest = model.decision_function(np.vstack([np.zeros(COLUMNS), UNITS]))
    np.testing.assert_allclose(b, pooled.intercept_[0], atol=1e-4)
    np.testing.assert_allclose(np.array(rest) - b, pooled.coef_[0], atol=1e-4)


def test_a_model_of_finitely_many_numbers_is_known_after_as_many_answers_and_not_after_fewer():
    fed, _ = federation("vertical")
    for kernel, enough in (("linear", COLUMNS + 1), ("poly", comb(COLUMNS + 2, 2))):
        asked, fresh = records(enough, seed=1)[0], records(20, seed=2)[0]
        seen = gram_view(fed, np.vstack([asked, fresh]), kernel=kernel, gamma=0.2)
        told, truth = seen.answers[:enough], seen.answers[enough:]
        copy, short = (model_extraction(seen.kernel, asked[:q], told[:q], fresh, truth) for q in (enough, enough - 1))
        assert copy.error < 1e-6
        assert copy.agreement == 1
        assert short.error > 1e-3


def test_the_copy_of_an_rbf_model_gets_better_with_every_question():
    fed, _ = federation("vertical", 100)
    asked, fresh = records(400, seed=1)[0], records(100, seed=2)[0]
    seen = gram_view(fed, np.vstack([asked, fresh]), gamma=0.2)
    told, truth = np.split(seen.answers, [400])
    copies = [model_extraction(seen.kernel, asked[:q], told[:q], fresh, truth) for q in (0, 20, 100, 400)]
    errors = [copy.error for copy in copies]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == 1
    assert errors[-1] < 0.05
    assert copies[-1].agreement > 0.95 > copies[0].agreement


def test_who_asks_an_rbf_model_about_far_records_is_told_an_outlying_support_vector():
    X, y = records()
    X[7], y[7] = [4.0, 1.0, -1.0, 0.5, -2.0], 1
    asked = far_queries(UNITS[:1], gamma=0.5, reach=4.0)
    for partition in ("vertical", "arbitrary"):
        seen = gram_view(Federation.simulate(X, y, parties=3, partition=partition), asked, gamma=0.5)
        assert 7 in seen.support
        found = bells(asked, seen.answers, 0.5)[0]
        np.testing.assert_allclose(found.record, X[7], atol=1e-2)
        assert found.doubt < 1e-2
        rounded = bells(asked, seen.answers.round(3), 0.5)
        assert not rounded or nearest(rounded[0].record, X[seen.support]) > 0.1


def test_a_bell_alone_is_found_exactly_and_two_as_near_are_doubted():
    far = far_queries(UNITS[:1], gamma=0.5, reach=1.0)
    one, other = np.array([1.0, 2, 0, 0, 0]), np.array([1.0, -2, 0, 0, 0])

    def bell(x: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * np.square(far - x).sum(axis=1))

    alone, both = bells(far, 3.0 * bell(one), 0.5)[0], bells(far, bell(one) + 0.7 * bell(other), 0.5)
    np.testing.assert_allclose(alone.record, one, atol=1e-9)
    assert nearest(both[0].record, np.stack([one, other])) > 0.1


# From powers of one's own ciphertext, and all studies


def test_one_record_of_one_s_own_reads_all_others_in_algorithm_1_as_printed_and_none_once_it_is_randomised():
    cells = np.random.default_rng(0).integers(-200, 200, size=(5, 2))
    assert play(cells, np.arange(0), randomised=False, bound=256).error == 1
    for known in (1, 2):
        np.testing.assert_array_equal(play(cells, np.arange(known), randomised=False, bound=256).records, cells)
        assert play(cells, np.arange(known), randomised=True, bound=256).error == 1


@pytest.mark.parametrize("attack", attacks.ATTACKS, ids=lambda attack: attack.name)
def test_studies_show_that_an_attack_succeeds_and_what_stops_it(attack):
    found = [each.found for each in attack.points(*records(60))]
    assert min(found) < 0.6 <= max(found)
    assert attack.measures.startswith("share") or min(found) < 0.05
