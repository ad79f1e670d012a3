"""The counts are checked by doing it.

What they call exposed is worked out, what they do not has a second table that fits as well.
"""

import numpy as np
import pytest

from tacit import Federation
from tacit.federation.exposure import exposures, work_out
from tacit.papers.gram.estimator import describe_exposure

M, N = 40, 5


def table(m=M, n=N):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(m, n))
    return X, (X[:, 0] > 0).astype(int)


def attacked(gram, X, known):
    """Column by column as the module's (1) says; of `X` the known cells are used, and one bit where a sign is open."""
    hidden, found = sorted(range(X.shape[1]), key=lambda f: -known[:, f].sum()), np.zeros_like(X)
    while hidden:
        f, rows = hidden[0], known[:, hidden[0]]
        values, vectors = np.linalg.eigh(gram - found @ found.T)
        top = np.argsort(values)[::-1][: len(hidden)]
        U = vectors[:, top] * np.sqrt(np.maximum(values[top], 0))
        r = np.linalg.pinv(U[rows], rcond=1e-9) @ X[rows, f]
        if rows.sum() == len(hidden) - 1 < len(X):
            free = np.linalg.svd(np.vstack([U[rows], np.zeros(len(hidden))]))[2][-1] * np.sqrt(max(0.0, 1 - r @ r))
            r = min((r + free, r - free), key=lambda each: np.abs(U @ each - X[:, f]).max())
        elif rows.sum() < min(len(X), len(hidden)):
            break
        found[:, f] = U @ r
        hidden.pop(0)
    return found, X.shape[1] - len(hidden)


@pytest.mark.parametrize(
    "cells",
    [(5, 5, 5, 5, 5), (4, 4, 4, 4, 4), (40, 40, 40, 40, 0), (5, 4, 3, 2, 1), (40, 40, 3, 1, 0), (9, 3, 2, 0, 0)],
)
def test_so_many_columns_come_out_of_the_gram_matrix_and_known_cells(cells):
    X, _ = table()
    rng = np.random.default_rng(1)
    known = np.transpose([np.isin(np.arange(M), rng.choice(M, k, replace=False)) for k in cells])
    found, columns = attacked(X @ X.T, X, known)
    assert columns == work_out(known.sum(axis=0), M)[0]
    complete = np.argsort(-known.sum(axis=0), kind="stable")[:columns]
    np.testing.assert_allclose(found[:, complete], X[:, complete], atol=1e-6)


@pytest.mark.parametrize("known", ["three records", "three columns"])
def test_with_two_dimensions_left_another_table_has_the_same_gram_matrix_and_known_cells(known):
    X, _ = table()
    rows, columns = (slice(0, 3), slice(None)) if known == "three records" else (slice(None), slice(0, 3))
    fixed = X[rows].T if known == "three records" else np.eye(N)[:, columns]
    free = np.linalg.svd(fixed)[0][:, 3:]
    other = X @ (np.eye(N) + free @ np.array([[-1.0, -1.0], [1.0, -1.0]]) @ free.T)  # a quarter turn of what is left
    np.testing.assert_allclose(other @ other.T, X @ X.T, atol=1e-12)
    np.testing.assert_allclose(other[rows, columns], X[rows, columns], atol=1e-12)
    assert np.abs(other - X).max() > 1
    cells = np.full(N, 3) if known == "three records" else np.array([M, M, M, 0, 0])
    assert work_out(cells, M) == (0 if known == "three records" else 3, False)


def test_fewer_records_than_columns_must_be_known_to_the_last_one():
    assert work_out(np.full(9, 3), 4) == (0, False)
    assert work_out(np.full(9, 4), 4) == (9, False)


def test_by_rows_any_party_with_as_many_records_as_columns_is_named():
    X, y = table(m=16)
    (line,) = describe_exposure(Federation.from_parts([(X[:5], y[:5]), (X[5:10], y[5:10]), (X[10:13], y[10:13]),
                                             (X[13:], y[13:])],
                                            partition="horizontal", names=["a", "b", "c", "d"]))  # fmt: skip
    assert line.startswith("coordinator together with any one of a, b can work out all data from the gram matrix")


def test_by_rows_one_record_less_leaves_a_sign_and_few_records_take_all_the_others():
    columns = np.ones(5, dtype=int)
    assert exposures({"a": 4 * columns, "b": columns, "c": columns}, 6, "site")[0].text.startswith(
        "site together with a can work out all data, up to a sign, from"
    )
    lines = exposures(dict.fromkeys("abc", 3 * columns), 9, "site")
    assert [line.text.split(" from")[0] for line in lines] == [
        "site and all other parties together can work out all data of any one of a, b, c"
    ]


def test_by_columns_a_single_column_is_named_and_two_are_not():
    X, y = table()
    lines = describe_exposure(
        Federation.from_parts([(X[:, :2], y), X[:, 2:4], X[:, 4:]], partition="vertical", names=["a", "b", "c"])
    )
    assert [line.split(", from")[0] for line in lines] == [
        "coordinator and all other parties together can work out all data of c, up to a sign"
    ]


def test_by_cells_who_owns_enough_of_some_columns_has_these():
    many, few = np.array([20, 20, 1, 1, 1]), np.array([20, 20, 39, 39, 39])
    one, other = exposures({"a": many, "b": few}, M, "site")
    assert one.text.startswith("site together with a can work out all data in 2 of 5 columns from")
    assert other.text.startswith("site together with b can work out all data from")


def test_a_single_column_in_all_needs_nobodys_help_and_a_party_that_coordinates_needs_less():
    assert exposures({"a": np.array([3]), "b": np.array([3])}, 6, "site")[0].text.startswith(
        "site alone can work out all data, up to a sign"
    )
    rows = np.full(5, 5)
    assert exposures({"a": rows, "b": rows}, 10, "a")[0].text.startswith("a alone can work out all data from")
