"""Data frames of any make, column by column, by way of Arrow.

pandas, polars and Arrow tables are told apart by their methods, so neither pandas nor polars needs to be installed.
Rows are counted from 1 in every error. No error quotes a value: it may be a patient's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from tacit.arrays import F64, Array
from tacit.errors import LocalError

Columns = Mapping[str, Any]  # name -> pyarrow.ChunkedArray, in order
Categories = Mapping[str, Sequence[str]]  # the texts that a column may hold
Texts = Mapping[str, tuple[str, ...]]  # the texts that the numbers 0, 1, ... of a column stand for

DAY = 86_400_000_000  # microseconds
POINTED_DATE = "%d.%m.%Y"  # the one way to write dates, beside ISO 8601, that is read the same everywhere
ISO_DATE = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"
POINTED = r"^\d{1,2}\.\d{1,2}\.\d{4}$"


@dataclass(frozen=True)
class Stacked:
    """Columns as numbers, side by side.

    texts: of text columns that nobody declared, the texts that their numbers stand for. dates: columns of days.
    """

    X: F64
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dates: tuple[str, ...] = ()


def as_texts(categories: Categories | None) -> dict[str, tuple[str, ...]]:
    """Return declared texts as a federation keeps them."""
    return {name: tuple(texts) for name, texts in (categories or {}).items()}


def is_frame(data: object) -> bool:
    """Whether the data has columns of its own."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc")


def arrange(frame: Any, names: Sequence[str], spare: Collection[str]) -> Any:
    """Return a frame with these columns in this order, whatever its own is; columns to spare may be missing, as gaps.

    One that lacks others, or has more, is returned as it is: who takes it says so.
    """
    given = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    if given == list(names) or not set(names) - set(spare) <= set(given) <= set(names):
        return frame
    if hasattr(frame, "iloc"):
        return frame.reindex(columns=list(names))
    table = pa.table(frame)
    return pa.table({name: table.column(name) if name in given else pa.nulls(len(table)) for name in names})


def frame_columns(frame: Any, name: str) -> tuple[Columns, bool]:
    """Return the columns of a frame, and whether it names them (pandas may number them instead)."""
    if not hasattr(frame, "iloc"):
        return arrow_columns(pa.table(frame), name), True
    named = all(isinstance(c, str) for c in frame.columns)
    names = list(frame.columns) if named else default_names(frame.shape[1])
    refuse_duplicates(names, name)
    return {c: _from_pandas(frame.iloc[:, j], c, name) for j, c in enumerate(names)}, named


def arrow_columns(table: Any, name: str) -> Columns:
    """Return the columns of an Arrow table."""
    refuse_duplicates(table.column_names, name)
    return {c: _decoded(table.column(c)) for c in table.column_names}


def default_names(count: int) -> tuple[str, ...]:
    """Return scikit-learn's names for columns that have none: x0, x1, ..."""
    return tuple(f"x{j}" for j in range(count))


def stack(columns: Columns, n: int, name: str, categories: Categories | None = None, *, raw: bool = False) -> Stacked:
    """Return columns side by side, as a matrix.

    Missing values become NaN, and texts that were declared their number among those declared. With `raw`, other texts
    become their number among the column's own, and dates the days since 1970; else these are refused.
    """
    X, declared, texts, dates = np.empty((n, len(columns))), categories or {}, {}, []
    for j, (label, column) in enumerate(columns.items()):
        if label in declared:
            X[:, j] = _codes(column, label, name, declared[label])
        elif raw and (moments := _moments(column)) is not None:
            X[:, j] = _days(moments)
            dates.append(label)
        elif raw and _is_text(column.type):
            texts[label] = tuple(sorted({text for text in column.to_pylist() if text is not None}))
            X[:, j] = _codes(column, label, name, texts[label])
        else:
            X[:, j] = _numbers(column, label, name)
    return Stacked(X, texts, tuple(dates))


def declared_texts(frame: Any) -> dict[str, tuple[str, ...]]:
    """Return the texts that a pandas frame declares itself: those of its categorical columns."""
    found = {}
    for label, kind in zip(frame.columns, frame.dtypes, strict=True) if hasattr(frame, "iloc") else ():
        known = tuple(getattr(kind, "categories", ()))
        if known and isinstance(label, str) and all(isinstance(text, str) for text in known):
            found[label] = known
    return found


def with_texts(frame: Any, X: F64, names: Sequence[str], texts: Texts) -> Any:
    """Return columns of numbers as a frame, those of texts with their texts: pandas' of pandas', else Arrow's."""
    columns = dict(zip(names, X.T, strict=True))
    codes = {name: np.where(np.isnan(columns[name]), -1, columns[name]).astype(np.int64) for name in texts}
    if hasattr(frame, "iloc"):
        pandas = import_module("pandas")
        written = {name: pandas.Categorical.from_codes(codes[name], list(texts[name])) for name in texts}
        return pandas.DataFrame({**columns, **written}, index=frame.index)
    listed = {name: [texts[name][code] if code >= 0 else None for code in codes[name].tolist()] for name in texts}
    return pa.table({**columns, **listed})


def refuse_texts(data: object, who: str, *, declare: bool = False) -> None:
    """Refuse a frame with columns of texts or dates, for who takes numbers only, or texts that were declared."""
    if not is_frame(data) or (hasattr(data, "dtypes") and all(getattr(t, "kind", "") in "iufb" for t in data.dtypes)):
        return
    for label, column in frame_columns(data, "X")[0].items():
        if _is_text(column.type) or _is_date(column.type):
            what = "texts" if _is_text(column.type) else "dates"
            first = "declare its texts in categories=, or " if declare and what == "texts" else ""
            remedy = f"{first}put a TableVectorizer before it in a tacit.Pipeline, or leave the column out"
            raise LocalError(f"column '{label}' of X holds {what}, which {who} cannot use: {remedy}")


def values(column: Any) -> Array:
    """Return a column that is no feature, in its own type; text as fixed-width text, which sorts and compares."""
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    return np.array(column.to_pylist(), dtype=np.str_) if _is_text(column.type) else np.asarray(column.to_numpy())


def _from_pandas(series: Any, label: str, name: str) -> Any:
    try:
        return _decoded(pa.chunked_array([pa.array(series, from_pandas=True)]))
    except pa.ArrowException:  # its text quotes a value
        raise LocalError(
            f"column '{label}' of {name} mixes several types: convert it to numbers, or leave it out"
        ) from None


def _decoded(column: Any) -> Any:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _numbers(column: Any, label: str, name: str) -> F64:
    if not _is_numeric(column.type):
        what = "text" if _is_text(column.type) else f"{column.type} values"
        found = f"column '{label}' of {name} holds {what}, not numbers (first in row {_first_text(column)})"
        raise LocalError(f"{found}: {_remedy(column.type, label)}")
    # unsafe: integers over 2^53 are rounded, not refused
    numbers: F64 = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _codes(column: Any, label: str, name: str, declared: Sequence[str]) -> F64:
    if not _is_text(column.type) and column.null_count < len(column):
        raise LocalError(
            f"column '{label}' of {name} holds {column.type} values, and texts were declared for it: write it as text"
        )
    numbers = {text: float(k) for k, text in enumerate(declared)}
    codes = [np.nan if text is None else numbers.get(text, -1.0) for text in column.to_pylist()]
    if -1.0 in codes:
        unknown = f"{codes.count(-1.0)} values that nobody declared (first in row {codes.index(-1.0) + 1})"
        raise LocalError(f"column '{label}' of {name} has {unknown}: correct them, or declare them at every party")
    return np.array(codes, dtype=np.float64)


def _remedy(kind: Any, label: str) -> str:
    declare = ", or declare its texts in categories=" if _is_text(kind) else ""
    known = f" (raw=True lets a TableVectorizer do it{declare})" if _is_text(kind) or _is_date(kind) else ""
    return f"encode it as numbers{known}, or leave the column out (drop=['{label}'] of a file)"


def _moments(column: Any) -> Any:
    """Return a column of dates, or of texts that all are dates, as moments; None of any other."""
    if _is_date(column.type):
        return column
    if not _is_text(column.type) or column.null_count == len(column):
        return None
    column = column.cast(pa.large_string())  # polars' views of texts have no such functions
    try:
        if compute.all(compute.match_substring_regex(column, ISO_DATE)).as_py():
            return column.cast(pa.timestamp("us"))
        if compute.all(compute.match_substring_regex(column, POINTED)).as_py():
            return compute.strptime(column, format=POINTED_DATE, unit="us")
    except pa.ArrowException:  # a month 13: a text like any other
        return None
    return None


def _days(column: Any) -> F64:
    """Return days since 1970, with the time of day as their fraction."""
    moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    days: F64 = moments.cast(pa.float64(), safe=False).to_numpy() / DAY
    return days


def _is_date(kind: Any) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


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


def refuse_duplicates(names: Iterable[str], name: str) -> None:
    """Refuse columns of which two have one name."""
    seen: set[str] = set()
    for label in names:
        if label in seen:
            raise LocalError(f"{name} has two columns named '{label}': give every column its own name")
        seen.add(label)
