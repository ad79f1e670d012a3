"""Files: CSV, Parquet and LIBSVM, told apart by their suffix. Their errors name file, column, row and remedy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from sklearn.datasets import load_svmlight_file

from tacit.data.frames import Categories, Columns, arrow_columns, values
from tacit.data.table import Table, as_table, check_column, check_finite, from_columns, from_matrix, with_labels
from tacit.errors import LocalError

__all__ = ["Table", "as_table", "read"]

LIBSVM = (".libsvm", ".svm", ".svmlight")
CELLS = 64  # of a table per byte of a LIBSVM file: more than 99 zeros beside each number
SMALL = 1 << 20  # cells of a table that is never too large


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
) -> Table:
    """One file's records.

    Args:
        path: a `.csv`, `.parquet` (`.pq`), `.libsvm` (`.svm`, `.svmlight`) file.
        label: the column with the labels, or None for records without; a LIBSVM file's labels open its lines.
        drop: columns that are no features, such as `site`; they stay reachable in `Table.columns`.
        n_features: width of a LIBSVM file, which does not write trailing zeros.
        partial: accept a file without the label or a dropped column: another party has it.
        allow_missing: keep missing values as NaN instead of refusing them.
        categories: of text columns, the texts that may occur; a column then holds their numbers, 0, 1, ...
        ids: the column of ids, which is no feature and must be there.
    """
    path = Path(path)
    _check_file(path)
    if path.suffix.lower() in LIBSVM:
        table = _read_libsvm(path, n_features, labelled=label is not None)
        _check_ids(ids, table.features, path.name)
    else:
        columns = _load(path)
        _check_ids(ids, columns, path.name)  # before a column that is no number is refused
        table = _table(columns, path.name, label, [*drop, *([ids] if ids else [])], partial=partial, categories=categories)
    if not len(table.X):
        raise LocalError(f"{path.name} has no records: the file is empty but for its header; give a file with at least one record")
    check_finite(table, allow_missing=allow_missing)
    return table


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise LocalError(f"no such file: {path}; correct the path (current folder: {Path.cwd()})")
    known = (*LOADERS, *LIBSVM)
    if path.suffix.lower() not in known:
        raise LocalError(f"{path.name} has the unknown suffix '{path.suffix}': save it as one of {', '.join(known)}")
    if path.stat().st_size == 0:
        raise LocalError(f"{path.name} is empty: give a file with at least one record")


def _check_ids(ids: str | None, names: Iterable[str], file: str) -> None:
    if ids is not None:
        check_column(ids, names, file, "; every party needs the column of ids")


def _load(path: Path) -> Columns:
    try:
        table = LOADERS[path.suffix.lower()](path)
        table.column_names  # noqa: B018 - decodes them: a name that is not UTF-8 raises here
    except (pa.ArrowException, OSError, UnicodeDecodeError):  # Arrow's text may quote a record
        raise LocalError(
            f"{path.name} is not readable as {path.suffix[1:].upper()}: write it again, as UTF-8 text or with a Parquet library"
        ) from None
    return arrow_columns(table, path.name)


def _table(columns: Columns, name: str, label: str | None, drop: Sequence[str], *, partial: bool, categories: Categories | None) -> Table:
    if partial:
        label = label if label in columns else None
        drop = [c for c in drop if c in columns]
    if label is None:
        return from_columns(columns, drop=drop, name=name, categories=categories)
    check_column(label, columns, name, ", or pass label=None for records without labels")
    rest = {c: v for c, v in columns.items() if c != label}
    table = from_columns(rest, drop=[c for c in drop if c != label], name=name, categories=categories)
    # a file of labels alone has no other column to count its records by
    X = table.X if rest else np.empty((len(columns[label]), 0))
    return with_labels(dataclasses.replace(table, X=X), values(columns[label]))


def _read_csv(path: Path) -> Any:
    ragged: list[Any] = []

    def remember(row: Any) -> str:
        ragged.append(row)
        return "skip"

    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(use_threads=False),  # only then are rows numbered
        parse_options=csv.ParseOptions(invalid_row_handler=remember),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )
    if ragged:
        row = ragged[0]
        raise LocalError(
            f"line {row.number} of {path.name} has {row.actual_columns} columns, the header {row.expected_columns}: correct that line"
        )
    return table


def _read_libsvm(path: Path, n_features: int | None, *, labelled: bool) -> Table:
    try:
        X, y = load_svmlight_file(str(path), n_features=n_features)
    except (ValueError, OverflowError):  # its text may quote a record
        wide = "" if n_features is None else f" and at most {n_features} features"
        raise LocalError(f"{path.name} is not in LIBSVM format: every line needs 'label index:value index:value ...'{wide}") from None
    _check_width(path, X.shape, declared=n_features is not None)
    return with_labels(from_matrix(X.toarray(), path.name), y if labelled else None)


def _check_width(path: Path, shape: tuple[int, int], *, declared: bool) -> None:
    """Refuse an index that would make a huge table of a small file; whoever declares the width has chosen it."""
    rows, columns = shape
    if not declared and rows * columns > max(SMALL, CELLS * path.stat().st_size):
        raise LocalError(
            f"{path.name} has {rows} records and an index of {columns}, nearly all zeros, which are written out here:"
            " correct the index, or declare the width with n_features="
        )


LOADERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _read_csv,
    ".parquet": parquet.read_table,
    ".pq": parquet.read_table,
}
