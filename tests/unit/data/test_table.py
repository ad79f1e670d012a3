import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from tacit.errors import LocalError
from tacit.federation import as_table

COLUMNS = {"age": [30, 40, 50], "bmi": [20.5, 25.0, 31.5]}
MATRIX = np.array([[30, 20.5], [40, 25.0], [50, 31.5]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_any_make_keep_their_values_and_names(make):
    table = as_table(make(COLUMNS))
    assert np.array_equal(table.X, MATRIX)
    assert table.features == ("age", "bmi")
    assert table.named


def test_an_array_gets_scikit_learns_names():
    table = as_table(MATRIX.tolist())
    assert table.X.dtype == np.float64
    assert table.features == ("x0", "x1")
    assert not table.named


def test_numbered_pandas_columns_count_as_unnamed():
    table = as_table(pd.DataFrame(MATRIX, index=[7, 8, 9]))
    assert table.features == ("x0", "x1")
    assert not table.named


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, pa.array, lambda y: pd.DataFrame({"y": y})])
def test_labels_of_any_make_keep_their_values(make):
    assert as_table(MATRIX, make(["no", "yes", "no"])).y.tolist() == ["no", "yes", "no"]


def test_a_dropped_column_stays_reachable():
    table = as_table(pd.DataFrame({**COLUMNS, "site": ["a", "b", "a"]}), drop=["site"])
    assert table.features == ("age", "bmi")
    assert table.columns["site"].tolist() == ["a", "b", "a"]


def test_booleans_and_categories_of_numbers_are_numbers():
    frame = pd.DataFrame({"smoker": [True, False], "grade": pd.Categorical([2, 3])})
    assert as_table(frame).X.tolist() == [[1, 2], [0, 3]]


def test_a_tables_repr_shows_no_values():
    assert "31.5" not in repr(as_table(MATRIX, ["no", "yes", "no"]))
    assert "yes" not in repr(as_table(MATRIX, ["no", "yes", "no"]))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (
            pd.DataFrame({"age": [1.0, np.nan, np.nan]}),
            r"Input X contains NaN: column 'age' of X has 2 missing values \(first in row 2\)",
        ),
        (
            pl.DataFrame({"age": [1, None]}),
            r"Input X contains NaN: column 'age' of X has 1 missing value \(first in row 2\): impute",
        ),
        ([[1.0, np.inf]], r"Input X contains infinity .* column 'x1' of X has 1 infinite value"),
        (
            pd.DataFrame({"city": ["Oslo"]}),
            r"column 'city' of X holds text, not numbers \(first in row 1\): encode it .*drop=\['city'\]",
        ),
        (
            pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
            r"column 'day' of X holds timestamp.* values, not numbers",
        ),
        (pd.DataFrame({"mix": [1, "Oslo"]}), r"column 'mix' of X mixes several types"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), r"X has two columns named 'a'"),
        (np.array([["1", "Oslo"]]), r"column 'x1' of X holds <U4 values, not numbers \(first in row 1\)"),
        (np.array([[1, "Oslo"]], dtype=object), r"column 'x1' of X holds object values"),
        (np.array(["2020-01-01"], dtype="M8[D]").reshape(1, 1), r"holds datetime64\[D\] values"),
        ([1.0, 2.0], r"Expected 2D array, got 1D array instead: X has shape \(2,\)"),
        ([[1.0], [1.0, 2.0]], r"the rows of X have different lengths"),
        (np.array([[1j]]), r"Complex data not supported"),
        (sparse.csr_array(np.eye(2) * 1j), r"sparse X has shape \(2, 2\) of complex128: give rows and columns of real"),
    ],
)
def test_bad_records_are_refused_without_quoting_them(X, words):
    with pytest.raises(LocalError, match=words) as caught:
        as_table(X)
    assert "Oslo" not in str(caught.value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([0, 1], r"inconsistent numbers of samples: \[3, 2\]: y needs one value per record of X"),
        ([[0, 1], [1, 0], [0, 0]], r"y should be a 1d array, got an array of shape \(3, 2\) instead"),
        ([0, 1, np.nan], r"Input y contains NaN: X has 1 missing labels \(first in row 3\)"),
        (["a", None, "b"], r"Input y contains NaN: X has 1 missing labels \(first in row 2\)"),
        (pd.Series([1, None, 2], dtype="Int64"), r"Input y contains NaN"),
        ([0, 1, np.inf], r"Input y contains infinity"),
    ],
)
def test_bad_labels_are_refused(y, words):
    with pytest.raises(LocalError, match=words):
        as_table(MATRIX, y)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 2], r"sample_weight needs one value per record"),
        ([1, -1, 1], r"Negative values in data passed to `sample_weight`"),
        ([1, np.nan, 1], r"Input sample_weight contains NaN"),
    ],
)
def test_bad_weights_are_refused(weight, words):
    with pytest.raises(LocalError, match=words):
        as_table(MATRIX, [0, 1, 0], weight)


def test_a_table_with_labels_takes_no_others():
    with pytest.raises(LocalError, match="labels are given twice"):
        as_table(as_table(MATRIX, [0, 1, 0]), [0, 1, 0])
