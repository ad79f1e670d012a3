"""Data frames of any make, column by column, by way of Arrow.

pandas, polars and Arrow tables are told apart by their methods, so neither pandas nor polars needs to be installed.
Rows are counted from 1 in every error. No error quotes a value: it may be a patient's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tacit.choreo.message import F64, Array
from tacit.errors import LocalError

Columns = Mapping[str, Any]  # name -> pyarrow.ChunkedArray, in order
Categories = Mapping[str, Sequence[str]]  # the texts that a column may hold


def is_frame(data: object) -> bool:
    """Whether the data has columns of its own."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc")


def frame_columns(frame: Any, name: str) -> tuple[Columns, bool]:
    """The columns of a frame, and whether it names them (pandas may number them instead)."""
    if not hasattr(frame, "iloc"):
        return arrow_columns(pa.table(frame), name), True
    named = all(isinstance(c, str) for c in frame.columns)
    names = list(frame.columns) if named else default_names(frame.shape[1])
    _refuse_duplicates(names, name)
    return {c: _from_pandas(frame.iloc[:, j], c, name) for j, c in enumerate(names)}, named


def arrow_columns(table: Any, name: str) -> Columns:
    """The columns of an Arrow table."""
    _refuse_duplicates(table.column_names, name)
    return {c: _decoded(table.column(c)) for c in table.column_names}


def default_names(count: int) -> tuple[str, ...]:
    """scikit-learn's names for columns that have none: x0, x1, ..."""
    return tuple(f"x{j}" for j in range(count))


def stack(columns: Columns, n: int, name: str, categories: Categories | None = None) -> F64:
    """Columns side by side; missing values become NaN, and texts that were declared their number among those declared."""
    X, declared = np.empty((n, len(columns))), categories or {}
    for j, (label, column) in enumerate(columns.items()):
        X[:, j] = _codes(column, label, name, declared[label]) if label in declared else _numbers(column, label, name)
    return X


def values(column: Any) -> Array:
    """A column that is no feature, in its own type; text as fixed-width text, which sorts and compares."""
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    return np.array(column.to_pylist(), dtype=np.str_) if _is_text(column.type) else np.asarray(column.to_numpy())


def _from_pandas(series: Any, label: str, name: str) -> Any:
    try:
        return _decoded(pa.chunked_array([pa.array(series, from_pandas=True)]))
    except pa.ArrowException:  # its text quotes a value
        raise LocalError(f"column '{label}' of {name} mixes several types: convert it to numbers, or leave it out") from None


def _decoded(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _numbers(column: Any, label: str, name: str) -> F64:
    if not _is_numeric(column.type):
        what = "text" if _is_text(column.type) else f"{column.type} values"
        raise LocalError(
            f"column '{label}' of {name} holds {what}, not numbers (first in row {_first_text(column)}): "
            f"encode it as numbers (or declare its texts in categories=), or leave it out with drop=['{label}']"
        )
    numbers: F64 = column.cast(pa.float64(), safe=False).to_numpy()  # unsafe: integers over 2^53 are rounded, not refused
    return numbers


def _codes(column: Any, label: str, name: str, declared: Sequence[str]) -> F64:
    if not _is_text(column.type) and column.null_count < len(column):
        raise LocalError(
            f"column '{label}' of {name} holds {column.type} values, and texts were declared for it: write it as text there too"
        )
    numbers = {text: float(k) for k, text in enumerate(declared)}
    codes = [np.nan if text is None else numbers.get(text, -1.0) for text in column.to_pylist()]
    if -1.0 in codes:
        raise LocalError(
            f"column '{label}' of {name} has {codes.count(-1.0)} values that nobody declared (first in row {codes.index(-1.0) + 1}):"
            " correct them, or declare them in categories at every party"
        )
    return np.array(codes, dtype=np.float64)


def _is_numeric(kind: Any) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _first_text(column: Any) -> int:
    rows = (row for row, value in enumerate(column.to_pylist(), 1) if value is not None and not is_number(value))
    return next(rows, 1)


def is_number(value: Any) -> bool:
    """Whether float() would take it."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_duplicates(names: Iterable[str], name: str) -> None:
    seen: set[str] = set()
    for label in names:
        if label in seen:
            raise LocalError(f"{name} has two columns named '{label}': give every column its own name")
        seen.add(label)
