import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.errors import LocalError
from tacit.federation import read

CSV = "age,label,site,bmi\n30,no,north,20.5\n40,yes,south,25\n"


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_csv_file_gives_features_labels_and_other_columns(write):
    table = read(write("north.csv", CSV), drop=["site"])
    assert table.X.tolist() == [[30, 20.5], [40, 25]]
    assert table.y.tolist() == ["no", "yes"]
    assert table.features == ("age", "bmi")
    assert table.columns["site"].tolist() == ["north", "south"]
    assert table.name == "north.csv"


def test_a_parquet_file_gives_the_same(tmp_path):
    parquet.write_table(pa.table({"age": [30, 40], "label": [0, 1]}), tmp_path / "north.parquet")
    table = read(tmp_path / "north.parquet")
    assert table.X.tolist() == [[30], [40]]
    assert table.y.tolist() == [0, 1]


@pytest.mark.parametrize("suffix", ["libsvm", "svm", "svmlight"])
def test_a_libsvm_file_is_read_dense_and_as_wide_as_asked(write, suffix):
    table = read(write(f"a.{suffix}", "+1 1:0.5 3:2\n-1 2:1\n"), n_features=4)
    assert table.X.tolist() == [[0.5, 0, 2, 0], [0, 1, 0, 0]]
    assert table.y.tolist() == [1, -1]
    assert not table.named


def test_records_without_labels_can_be_read(write):
    assert read(write("a.csv", "age\n1\n"), label=None).y is None
    assert read(write("a.svm", "1 1:1\n"), label=None).y is None


def test_a_file_may_hold_labels_only(write):
    table = read(write("a.csv", "label\n1\n0\n"))
    assert table.X.shape == (2, 0)
    assert table.y.tolist() == [1, 0]


def test_missing_values_are_kept_when_asked(write):
    assert np.isnan(read(write("a.csv", "a,b\n1,\n2,3\n"), None, allow_missing=True).X[0, 1])


def test_a_partial_file_may_lack_the_label_and_dropped_columns(write):
    assert read(write("a.csv", "a\n1\n"), drop=["site"], partial=True).features == ("a",)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "north.csv",
            "age,label\n,0\n3,1\n,0\n",
            r"column 'age' of north.csv has 2 missing values \(first in row 1\): impute them first",
        ),
        ("north.csv", "age,label\n1,0\ninf,1\n", r"column 'age' of north.csv has 1 infinite value \(first in row 2\)"),
        (
            "north.csv",
            "age,label\n1,0\nold,1\n",
            r"column 'age' of north.csv holds text, not numbers \(first in row 2\): encode",
        ),
        (
            "north.csv",
            "age,class\n1,0\n",
            r"north.csv has no column 'label' \(columns: age, class\): correct the name, or pass label=None",
        ),
        (
            "north.csv",
            "age,label\n1,0\n2,\n",
            r"Input y contains NaN: north.csv has 1 missing labels \(first in row 2\)",
        ),
        ("north.csv", "age,age,label\n1,2,0\n", r"north.csv has two columns named 'age'"),
        ("north.csv", "age,label\n1,0\n2\n", r"line 3 of north.csv has 1 columns, the header 2"),
        ("north.csv", "age,label\n", r"north.csv has no records"),
        ("north.csv", "", r"north.csv is empty"),
        ("north.xlsx", "x", r"north.xlsx has the unknown suffix '.xlsx': save it as one of .csv, .parquet"),
        ("north.parquet", "not parquet", r"north.parquet is not readable as PARQUET"),
        ("north.svm", "1 99999999999999999999:1\n", r"north.svm is not in LIBSVM format"),
        ("north.svm", "one two three\n", r"north.svm is not in LIBSVM format: every line needs 'label index:value"),
    ],
)
def test_bad_files_are_refused_by_name(write, name, text, words):
    with pytest.raises(LocalError, match=words):
        read(write(name, text))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(LocalError, match=r"no such file: .*north.csv; correct the path"):
        read(tmp_path / "north.csv")


def test_a_dropped_column_must_exist(write):
    with pytest.raises(LocalError, match=r"a.csv has no column 'sit' \(columns: age, site, bmi\)"):
        read(write("a.csv", CSV), drop=["sit"])


def test_an_index_that_makes_a_huge_table_of_a_small_file_is_refused_before_it_is_made(write):
    file = write("a.svm", "1 1:1 1000000000:1\n0 2:1\n")
    tracemalloc.start()
    with pytest.raises(
        LocalError,
        match=r"a.svm has 2 records and an index of 1000000000, nearly all zeros.*: correct the index, or declare",
    ):
        read(file)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
    assert read(write("b.svm", "1 1:1 30000:1\n"), n_features=30_000).X.shape == (1, 30_000)
    assert read(write("c.svm", "1 1:1 5000:1\n0 2:1\n")).X.shape == (2, 5000)


@pytest.mark.parametrize("name", ["north.csv", "north.parquet"])
def test_a_column_whose_name_is_no_text_is_one_line(tmp_path, name):
    if name.endswith("parquet"):
        parquet.write_table(pa.table({"a": [1.0], "bbbb": [2.0]}), tmp_path / name)
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes().replace(b"bbbb", b"b\xff\xfeb"))
    else:
        (tmp_path / name).write_bytes(b"a,b\xff\xfeb\n1,2\n")
    with pytest.raises(LocalError, match=rf"{name} is not readable as"):
        read(tmp_path / name, label=None)


def test_a_libsvm_file_wider_than_asked_is_refused(write):
    with pytest.raises(LocalError, match="at most 1 features"):
        read(write("a.svm", "1 1:1 2:1\n"), n_features=1)
