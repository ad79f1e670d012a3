"""Files: CSV, Parquet and LIBSVM, told apart by their suffix, and folders of Parquet files.

Their errors name file, column, row and remedy.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from tacit.errors import LocalError
from tacit.federation.folders import SUFFIXES, Limit, load_parquet, read_folder
from tacit.federation.frames import POINTED_DATE, Categories, Columns, arrow_columns, values
from tacit.federation.part import SparseRows
from tacit.federation.table import Table, check_column, check_finite, from_columns, from_matrix, with_labels

LIBSVM = (".libsvm", ".svm", ".svmlight")
CELLS = 64  # of a table per byte of a LIBSVM file: more than 99 zeros beside each number
SMALL = 1 << 20  # cells of a table that is never too large
WIDE = 1 << 23  # cells from which a LIBSVM file stays sparse, if nobody says otherwise and most of them are 0
FILLED = 0.25  # share of cells from which a dense table takes less memory and time
SEPARATORS = (",", ";", "\t")
LONGEST = 1 << 20  # bytes of a header
UNKNOWN = "?"  # how many public tables write a missing value, beside those that Arrow knows
DECIMAL = r"^\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*$"


def read(
    path: str | Path,
    label: str | None = "label",
    drop: Sequence[str] = (),
    *,
    n_features: int | None = None,
    partial: bool = False,
    allow_missing: bool = False,
    categories: Categories | None = None,
    ids: str | None = None,
    raw: bool = False,
    limit: Limit | None = None,
    sparse: bool | None = None,
) -> Table:
    """Read the records of one file, or of a folder of Parquet files.

    Args:
        path: a `.csv`, `.parquet` (`.pq`), `.libsvm` (`.svm`, `.svmlight`) file, or a folder.
        label: the column with the labels, or None for records without; a LIBSVM file's labels open its lines.
        drop: columns that are no features, such as `site`; they stay reachable in `Table.columns`.
        n_features: width of a LIBSVM file, which does not write trailing zeros.
        partial: accept a file without the label or a dropped column: another party has it.
        allow_missing: keep missing values as NaN instead of refusing them.
        categories: of text columns, the texts that may occur; a column then holds their numbers, 0, 1, ...
        ids: the column of ids, which is no feature and must be there.
        raw: keep texts, dates and missing values for a `TableVectorizer`, instead of refusing them.
        limit: how large the table may be.
        sparse: whether of a LIBSVM file only the cells are kept that are not 0; None: of one that has more than
            8,388,608 cells of which a quarter or less are not 0.

    A CSV file is separated by commas, semicolons or tabs, whichever its header has; where it is semicolons, numbers may
    have a decimal comma.
    """
    path = Path(path)
    check_file(path)
    if path.suffix.lower() in LIBSVM:
        table = _read_libsvm(path, n_features, labelled=label is not None, sparse=sparse)
        _check_ids(ids, table.features, path.name)
        _check_records(len(table.X), path.name)
        _check_limit(limit, len(table.X), table.X.nbytes, path.name)
        check_finite(table, allow_missing=allow_missing or raw)
        return table
    columns = _load(path, limit)
    return from_loaded(
        columns,
        path.name,
        label,
        drop,
        partial=partial,
        allow_missing=allow_missing,
        categories=categories,
        ids=ids,
        raw=raw,
    )


def from_loaded(
    columns: Columns,
    name: str,
    label: str | None = "label",
    drop: Sequence[str] = (),
    *,
    partial: bool = False,
    allow_missing: bool = False,
    categories: Categories | None = None,
    ids: str | None = None,
    raw: bool = False,
) -> Table:
    """Return the records of columns that were loaded from what errors call `name`; the rest as in `read`."""
    _check_ids(ids, columns, name)  # before a column that is no number is refused
    no_features = [*drop, *([ids] if ids else [])]
    table = _table(columns, name, label, no_features, partial=partial, categories=categories, raw=raw)
    _check_records(len(table.X), name)
    check_finite(table, allow_missing=allow_missing or raw)
    return table


def read_frame(path: str | Path, *, ids: str | None = None) -> Any:
    """Return the columns of a CSV or Parquet file as an Arrow table, as they are; `ids` is one that must be there."""
    path = Path(path)
    check_file(path)
    columns = _load(path)
    _check_ids(ids, columns, path.name)
    frame = pa.table(dict(columns))
    _check_records(len(frame), path.name)
    numbers = {name: column for name, column in columns.items() if pa.types.is_floating(column.type)}
    check_finite(from_columns(numbers, drop=(), name=path.name), allow_missing=True)
    return frame


def check_file(path: Path) -> None:
    """Refuse a path that is no file of a known kind, and no folder."""
    if path.is_dir():
        return
    if not path.is_file():
        raise LocalError(f"no such file: {path}; correct the path (current folder: {Path.cwd()})")
    known = (*LOADERS, *LIBSVM)
    if path.suffix.lower() not in known:
        raise LocalError(f"{path.name} has the unknown suffix '{path.suffix}': save it as one of {', '.join(known)}")
    if path.stat().st_size == 0:
        raise LocalError(f"{path.name} is empty: give a file with at least one record")


def _check_records(records: int, file: str) -> None:
    if not records:
        raise LocalError(
            f"{file} has no records: the file is empty but for its header; give a file with at least one record"
        )


def _check_limit(limit: Limit | None, records: int, size: int, file: str) -> None:
    if limit is not None:
        limit.check(records, size, file)


def _check_ids(ids: str | None, names: Iterable[str], file: str) -> None:
    if ids is not None:
        check_column(ids, names, file, "; every party needs the column of ids")


def _load(path: Path, limit: Limit | None = None) -> Columns:
    if path.is_dir():
        return arrow_columns(read_folder(path, limit), path.name)
    try:
        table = LOADERS[path.suffix.lower()](path)
        table.column_names  # noqa: B018 - decodes them: a name that is not UTF-8 raises here
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # Arrow's text may quote a record
        raise LocalError(
            f"{path.name} is not readable as {path.suffix[1:].upper()}: write it again, as UTF-8 text or Parquet"
        ) from None
    _check_limit(limit, table.num_rows, table.nbytes, path.name)
    return arrow_columns(table, path.name)


def _table(
    columns: Columns, name: str, label: str | None, drop: Sequence[str], *, partial: bool, **reading: Any
) -> Table:
    if partial:
        label = label if label in columns else None
        drop = [c for c in drop if c in columns]
    if label is None:
        return from_columns(columns, drop=drop, name=name, **reading)
    check_column(label, columns, name, ", or pass label=None for records without labels")
    rest = {c: v for c, v in columns.items() if c != label}
    table = from_columns(rest, drop=[c for c in drop if c != label], name=name, **reading)
    # a file of labels alone has no other column to count its records by
    X = table.X if rest else np.empty((len(columns[label]), 0))
    return with_labels(dataclasses.replace(table, X=X), values(columns[label]))


def _read_csv(path: Path) -> Any:
    ragged: list[Any] = []
    separator = _separator(path)

    def remember(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(use_threads=False),  # only then are rows numbered
        parse_options=csv.ParseOptions(invalid_row_handler=remember, delimiter=separator),
        convert_options=csv.ConvertOptions(
            strings_can_be_null=True,
            null_values=[*csv.ConvertOptions().null_values, UNKNOWN],
            timestamp_parsers=[csv.ISO8601, POINTED_DATE],
        ),
    )
    if ragged:
        row = ragged[0]
        found, wanted = f"{row.actual_columns} columns", f"the header {row.expected_columns}"
        raise LocalError(f"line {row.number} of {path.name} has {found}, {wanted}: correct that line")
    return _read_decimal_commas(table) if separator == ";" else table


def _separator(path: Path) -> str:
    """Return what separates the names in the header, outside quotes: the most frequent of those that may."""
    with path.open("rb") as file:
        header = re.sub(rb'"[^"]*"', b"", file.readline(LONGEST))
    return max(SEPARATORS, key=lambda each: header.count(each.encode()))


def _read_decimal_commas(table: Any) -> Any:
    """Return a table whose columns of numbers with decimal commas are numbers.

    Where commas separate, a comma in a number may be one of thousands, so there it is left alone.
    """
    for j, name in enumerate(table.column_names):
        column = table.column(j)
        if pa.types.is_string(column.type) and compute.all(compute.match_substring_regex(column, DECIMAL)).as_py():
            numbers = compute.replace_substring(column, ",", ".").cast(pa.float64())
            table = table.set_column(j, name, numbers)
    return table


def _read_libsvm(path: Path, n_features: int | None, *, labelled: bool, sparse: bool | None) -> Table:
    from sklearn.datasets import load_svmlight_file  # noqa: PLC0415 - it takes a second to import: only who reads waits

    try:
        X, y = load_svmlight_file(str(path), n_features=n_features)
    except (ValueError, OverflowError):  # its text may quote a record
        wide = "" if n_features is None else f" and at most {n_features} features"
        raise LocalError(
            f"{path.name} is not in LIBSVM format: every line needs 'label index:value index:value ...'{wide}"
        ) from None
    cells = X.shape[0] * X.shape[1]
    if sparse is None:
        sparse = cells > WIDE and X.nnz <= FILLED * cells
    _check_width(path, X.shape, declared=n_features is not None, sparse=sparse)
    cells_kept: Any = SparseRows.from_scipy(X) if sparse else X.toarray()
    return with_labels(from_matrix(cells_kept, path.name), y if labelled else None)


def _check_width(path: Path, shape: tuple[int, int], *, declared: bool, sparse: bool) -> None:
    """Refuse an index that would make a huge table, or huge sums, of a small file.

    Whoever declares the width has chosen it.
    """
    rows, columns = shape
    size = path.stat().st_size
    wide = columns > max(SMALL, size) if sparse else rows * columns > max(SMALL, CELLS * size)
    if not declared and wide:
        found = f"{rows} records and an index of {columns}, nearly all zeros"
        raise LocalError(f"{path.name} has {found}: correct the index, or declare the width with n_features=")


LOADERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _read_csv,
    **dict.fromkeys(SUFFIXES, lambda path: load_parquet().read_table(path)),
}
