"""Folders of Parquet files: one table, in the order of their names."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tacit.errors import LocalError
from tacit.federation import folders
from tacit.federation.folders import Limit, read_folder
from tacit.federation.readers import read


def write(folder, name, **columns):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), folder / name)


@pytest.fixture
def cohort(tmp_path):
    """Two files, written in another order than that of their names."""
    folder = tmp_path / "cohort"
    write(folder, "part-2.parquet", age=[52.0, 61.0], label=[1, 0])
    write(folder, "part-1.parquet", age=[40.0], label=[0])
    return folder


def test_the_files_of_a_folder_are_one_table_in_the_order_of_their_names(cohort):
    (cohort / "_SUCCESS").touch()
    (cohort / ".part-3.parquet.crc").touch()
    write(cohort, "_temporary/part-9.parquet", age=["half", "written"])
    (cohort / "README.txt").write_text("nothing to read")
    table = read(f"{cohort}/")
    assert (table.name, table.features) == ("cohort", ("age",))
    np.testing.assert_array_equal(table.X[:, 0], [40, 52, 61])
    assert table.y.tolist() == [0, 1, 0]


def test_folders_named_by_a_value_are_columns(tmp_path):
    for year, ward, ages in ((2023, "B%2FC", [40.0]), (2024, "A", [52.0, 61.0])):
        write(tmp_path, f"year={year}/ward={ward}/x.parquet", age=ages)
    write(tmp_path, "year=2024/ward=__HIVE_DEFAULT_PARTITION__/x.pq", age=[70.0])
    found = read_folder(tmp_path).to_pydict()
    assert found == {"age": [40, 52, 61, 70], "year": [2023, 2024, 2024, 2024], "ward": ["B/C", "A", "A", None]}


@pytest.mark.parametrize(
    ("name", "columns", "words"),
    [
        ("part-3.parquet", {"age": ["old"], "label": [0]}, "has column 'age' as string, and part-1.parquet as double"),
        ("part-3.parquet", {"age": [1.0]}, "has column 'label' not at all, and part-1.parquet as int64"),
        ("part-3.parquet", {"age": [1.0], "label": [0], "x": [1]}, "has column 'x' as int64, and part-1.parquet not"),
        ("part-3.parquet", {"label": [0], "age": [1.0]}, "has its columns in another order than part-1.parquet"),
        ("year=2024/x.parquet", {"age": [1.0], "label": [0]}, "lies in folders of year, the first of none"),
    ],
)
def test_files_that_are_not_alike_are_refused_by_name(cohort, name, columns, words):
    write(cohort, name, **columns)
    with pytest.raises(LocalError, match=rf"^cohort: {name} {words}.*: (write|put)"):
        read(cohort)


def test_a_name_of_folders_that_is_a_column_too_is_refused(tmp_path):
    write(tmp_path, "age=40/x.parquet", age=[40.0])
    with pytest.raises(LocalError, match="has 'age' as a column and as a name of folders: rename one of them"):
        read_folder(tmp_path)


def test_a_file_that_is_no_parquet_and_a_folder_without_any_are_refused(cohort, tmp_path):
    (cohort / "part-3.parquet").write_text("seventeen")
    with pytest.raises(LocalError, match=r"^part-3.parquet of cohort is not readable as Parquet: write it again$"):
        read(cohort)
    (tmp_path / "none").mkdir()
    with pytest.raises(LocalError, match=r"none has no .parquet or .pq file: correct the path, or fill it"):
        read(tmp_path / "none")


def test_too_much_is_refused_before_it_is_read(cohort, monkeypatch):
    monkeypatch.setattr(folders, "_rows_of", lambda _: pytest.fail("it was read"))
    with pytest.raises(LocalError, match=r"^cohort has more than 2 rows: narrow it, or raise maximum_rows$"):
        read(cohort, limit=Limit(2, 1))
    write(cohort, "part-3.parquet", age=np.random.default_rng(0).normal(size=200_000), label=np.zeros(200_000, int))
    with pytest.raises(LocalError, match=r"^cohort takes more than 1 MB: narrow it, or raise maximum_megabytes$"):
        read(cohort, limit=Limit(10**6, 1))


def test_a_folder_that_changes_while_it_is_read_is_refused(cohort, monkeypatch):
    read_rows = folders._rows_of

    def add(path):
        write(cohort, "part-3.parquet", age=[1.0], label=[0])
        return read_rows(path)

    monkeypatch.setattr(folders, "_rows_of", add)
    with pytest.raises(LocalError, match="cohort changed while it was read"):
        read(cohort)
