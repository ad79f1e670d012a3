from __future__ import annotations

import gc

import numpy as np

from tacit.numeric.groups import row_words as room
from tacit.numeric.groups.row_words import row_words


def table(rows: int = 50) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(rows, 3))


def test_rows_with_the_same_cells_have_the_same_word_and_others_have_another():
    X = table()
    X[7] = X[3]
    words = row_words(X)
    assert words[7] == words[3]
    assert len(np.unique(words)) == 49
    assert np.array_equal(words[:20], row_words(X[:20]))


def test_zero_has_one_word_whatever_its_sign():
    assert np.array_equal(row_words(np.array([[0.0, 1.0]])), row_words(np.array([[-0.0, 1.0]])))


def test_words_of_a_table_that_can_change_are_computed_anew():
    X = table()
    before = row_words(X).copy()
    X[0, 0] += 1.0
    after = row_words(X)
    assert before[0] != after[0]
    assert np.array_equal(before[1:], after[1:])


def test_words_of_a_frozen_table_are_kept_as_long_as_the_table_is():
    X, number = table(), len(room._KEPT)
    X.flags.writeable = False
    assert row_words(X) is row_words(X)
    assert len(room._KEPT) == number + 1
    del X
    gc.collect()
    assert len(room._KEPT) == number
