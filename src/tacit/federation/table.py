"""Whole records in one shape, whatever the caller brought: arrays, sparse matrices, pandas, polars or Arrow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tacit.arrays import F64, Array
from tacit.choreo.message import Record
from tacit.errors import LocalError
from tacit.federation import frames
from tacit.federation.frames import Categories, Columns, default_names, is_number, values
from tacit.federation.part import SparseRows
from tacit.scratch import is_on_disk
from tacit.sparse import Sparse, is_sparse

ABSENT = {"None", "nan", "<NA>", "NaT"}  # how gaps of several libraries print
IMPUTE = "impute them first (allow_missing=True lets FederatedImputer do it), or leave out those rows or that column"
WANTED = "number"  # what a column holds that nobody has to prepare


class Table(Record):
    """Records with all their columns.

    X, y, weight: features, labels and sample weights.
    features: names of the columns of X.
    columns: every column that is neither feature nor label, such as `site`, by name.
    named: whether the caller gave the names.
    name: what errors call this table: a file, a party, or X.
    texts: of text columns that nobody declared, the texts that their numbers 0, 1, ... in X stand for.
    dates: the columns that X has as days since 1970.
    """

    X: F64
    y: Array | None
    weight: F64 | None
    features: tuple[str, ...]
    columns: dict[str, Array]
    named: bool
    name: str
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dates: tuple[str, ...] = ()

    def kind_of(self, label: str) -> str | None:
        """Return what a column holds: "number", "text" or "date"; None if it holds no value at all."""
        if is_sparse(self.X):
            return WANTED
        column = self.X[:, self.features.index(label)]
        if np.isnan(column[:1]).all() and np.isnan(column).all():  # most columns begin with a value
            return None
        return "text" if label in self.texts else "date" if label in self.dates else WANTED


def as_table(
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    drop: Sequence[str] = (),
    name: str = "X",
    allow_missing: bool = False,
    categories: Categories | None = None,
    raw: bool = False,
) -> Table:
    """Return checked records from arrays, a data frame or another `Table`; dropped columns move to `columns`.

    `raw`: carry texts, dates and missing values.
    """
    if isinstance(X, Table):
        table = X
    elif is_sparse(X):
        table = from_matrix(X, name)  # type: ignore[arg-type]  # as above
    elif frames.is_frame(X):
        columns, named = frames.frame_columns(X, name)
        table = from_columns(columns, drop=drop, name=name, named=named, categories=categories, raw=raw)
    else:
        table = from_matrix(_matrix(X, name), name)
    check_finite(table, allow_missing=allow_missing or raw)
    return with_labels(table, y, weight)


def from_columns(
    columns: Columns,
    *,
    drop: Sequence[str],
    name: str,
    named: bool = True,
    categories: Categories | None = None,
    raw: bool = False,
) -> Table:
    """Return a table without labels of the columns that are not dropped."""
    for label in drop:
        check_column(label, columns, name)
    n = len(next(iter(columns.values()))) if columns else 0
    kept = {c: v for c, v in columns.items() if c not in drop}
    others = {c: values(columns[c]) for c in drop}
    held = frames.stack(kept, n, name, categories, raw=raw)
    return Table(held.X, None, None, tuple(kept), others, named, name, held.texts, held.dates)


def from_matrix(X: F64, name: str) -> Table:
    """Return a table of a plain matrix, which has no names."""
    return Table(X, None, None, default_names(X.shape[1]), {}, named=False, name=name)


def with_labels(table: Table, y: Any, weight: Any = None) -> Table:
    """Return the table with labels and weights; it must not have any of its own."""
    if y is not None and table.y is not None:
        raise LocalError(f"labels are given twice: {table.name} has its own and y= brings others; keep one of them")
    labels = table.y if y is None else _labels(y, table)
    return dataclasses.replace(table, y=labels, weight=table.weight if weight is None else _weight(weight, table))


def check_column(label: str, names: Iterable[str], name: str, remedy: str = "") -> None:
    """Refuse a column that is not there, and list those that are."""
    if label not in names:
        raise LocalError(f"{name} has no column '{label}' (columns: {', '.join(names)}): correct the name{remedy}")


def check_finite(table: Table, *, allow_missing: bool = False) -> None:
    """Refuse NaN and infinity, in scikit-learn's words, naming the column and the first row."""
    if is_on_disk(table.X):
        return  # every batch of it was checked when it was read
    if is_sparse(table.X):
        _check_sparse(table, table.X)
        return
    if not allow_missing:
        rule = "Input X contains NaN"
        _refuse_cells(table, np.isnan(table.X), rule, "missing", IMPUTE)
    rule = "Input X contains infinity or a value too large for dtype('float64')"
    _refuse_cells(table, np.isinf(table.X), rule, "infinite", "replace them with finite values first")


def _check_sparse(table: Table, X: Sparse) -> None:
    """Refuse cells that are not finite; nothing fills gaps of sparse records."""
    bad = ~np.isfinite(X.values)
    if bad.any():
        where = int(bad.argmax())
        row = int(np.searchsorted(X.starts, where, side="right"))
        what = f"column '{table.features[int(X.columns[where])]}' of {table.name} has a value in row {row}"
        raise LocalError(
            f"Input X contains NaN or infinity: {what} that is no number: leave out that record, or give X.toarray()"
        )


def _refuse_cells(table: Table, bad: Array, rule: str, kind: str, remedy: str) -> None:
    if not bad.any():
        return
    j = int(bad.any(axis=0).argmax())
    count, row = int(bad[:, j].sum()), int(bad[:, j].argmax()) + 1
    what = f"column '{table.features[j]}' of {table.name} has {count} {kind} value{'s' * (count > 1)}"
    raise LocalError(f"{rule}: {what} (first in row {row}): {remedy}")


def _matrix(X: Any, name: str) -> F64:
    if hasattr(X, "tocsr"):  # SciPy's matrices and arrays, of whatever layout
        return _sparse(X, name)
    array = _array(X, name)
    if array.ndim != 2:  # noqa: PLR2004 - rows and columns
        raise LocalError(f"Expected 2D array, got {array.ndim}D array instead: {name} has shape {array.shape}; reshape")
    if array.dtype.kind == "c":
        raise LocalError(
            f"Complex data not supported: {name} has dtype {array.dtype}; give real and imaginary parts as two columns"
        )
    if array.dtype.kind in "USmMV" or (array.dtype.kind == "O" and not _converts(array)):
        _refuse_text(array, name)
    return np.ascontiguousarray(array, dtype=np.float64)


def _sparse(X: Any, name: str) -> F64:
    """Return SciPy's sparse matrix as rows that stay sparse."""
    if X.ndim != 2 or X.dtype.kind not in "iufb":  # noqa: PLR2004 - rows and columns
        raise LocalError(f"sparse {name} has shape {X.shape} of {X.dtype}: give rows and columns of real numbers")
    return SparseRows.from_scipy(X)  # type: ignore[return-value]  # they stand for an array


def _array(X: Any, name: str) -> Array:
    try:
        return np.asarray(X)
    except ValueError:
        raise LocalError(
            f"the rows of {name} have different lengths: give every record the same number of features"
        ) from None


def _converts(array: Array) -> bool:
    try:
        array.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _refuse_text(array: Array, name: str) -> None:
    cells = ((i, j) for j in range(array.shape[1]) for i in range(len(array)) if not is_number(array[i, j]))
    row, column = next(cells, (0, 0))
    raise LocalError(
        f"column 'x{column}' of {name} holds {array.dtype} values, not numbers (first in row {row + 1}): encode it"
    )


def _labels(y: Any, table: Table) -> Array:
    labels = _one_dimensional(y, "y", table)
    absent = _absent(labels)
    if absent.any():
        row = int(absent.argmax()) + 1
        raise LocalError(
            f"Input y contains NaN: {table.name} has {int(absent.sum())} missing labels (first in row {row})"
        )
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise LocalError(
            f"Input y contains infinity or a value too large for dtype('float64'): correct the labels of {table.name}"
        )
    texts = labels.dtype.kind == "O" and all(type(label) is str for label in labels)  # as pandas holds them
    return labels.astype(np.str_) if texts else labels


def _absent(labels: Array) -> Array:
    if labels.dtype.kind == "f":
        return np.isnan(labels)
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    # pandas' NA refuses comparison, so it is known by its text; the text "nan" itself is a label like any other
    return np.array([not isinstance(v, str) and str(v) in ABSENT for v in labels], dtype=bool)


def _weight(weight: Any, table: Table) -> F64:
    raw = _one_dimensional(weight, "sample_weight", table)
    if raw.dtype.kind not in "iufb" or not np.isfinite(raw).all():
        raise LocalError(
            f"Input sample_weight contains NaN, infinity or text: give every record of {table.name} a finite weight"
        )
    if (raw < 0).any():
        raise LocalError(f"Negative values in data passed to `sample_weight`: {table.name} needs weights of 0 or more")
    return raw.astype(np.float64)


def _one_dimensional(array: Any, what: str, table: Table) -> Array:
    flat = np.asarray(array)
    if flat.ndim == 2 and flat.shape[1] == 1:  # noqa: PLR2004 - a column, as data frames give it
        flat = flat[:, 0]
    if flat.ndim != 1:
        shape = f"{what} should be a 1d array, got an array of shape {flat.shape} instead"
        raise LocalError(f"{shape}: give one value per record of {table.name}")
    if len(flat) != len(table.X):
        found = f"Found input variables with inconsistent numbers of samples: {[len(table.X), len(flat)]}"
        raise LocalError(f"{found}: {what} needs one value per record of {table.name}")
    return flat
