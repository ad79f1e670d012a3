"""Sparse rows: a table of which only the cells that are not 0 are kept, in the place of a NumPy array.

    x_ij = v_ij - s_j,      v in compressed rows (CSR), s a number for every column, at first 0                    (1)

A function of every cell is of the same form, with f(0 - s_j) for all cells that are not kept:

    f(x)_ij = (f(x_ij) - f(-s_j)) - (-f(-s_j))                                                                     (2)

So tables less their mean, in units of their columns, or squared, are as sparse as before, and no step writes down all
cells. What would do so, NumPy's functions of whole arrays, is refused with a remedy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeGuard, TypeVar, cast

import numpy as np
from scipy.sparse import csr_array

from tacit.arrays import F64, Array
from tacit.errors import LocalError

T = TypeVar("T")
SHORT = np.iinfo(np.int32).max  # up to which numbers of cells and columns need half the memory


@dataclass(frozen=True, eq=False, repr=False)
class Sparse:
    """Rows as in (1): values, their columns, where each row of them starts, the number of columns, and s or None.

    It does what trainings over rows ask of an array: rows are chosen, products are dense, sums are by row or column.
    """

    values: F64
    columns: Array
    starts: Array
    width: int
    shift: F64 | None = None

    __array_ufunc__ = None  # a product with an array on its left is `__rmatmul__`

    @classmethod
    def from_scipy(cls, matrix: Any) -> Self:
        """Return a copy of SciPy's sparse matrix, every cell once and none that is 0."""
        rows = csr_array(matrix, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        if max(rows.nnz, *rows.shape) <= SHORT:
            rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        return cls._of(rows, None)

    @classmethod
    def _of(cls, rows: Any, shift: F64 | None) -> Self:
        return cls(rows.data, rows.indices, rows.indptr, int(rows.shape[1]), shift)

    @cached_property
    def csr(self) -> Any:
        """The values v of (1) as SciPy has them, over the same memory."""
        return csr_array((self.values, self.columns, self.starts), shape=self.shape, copy=False)

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows and columns."""
        return len(self.starts) - 1, self.width

    @property
    def ndim(self) -> int:
        """Rows and columns."""
        return 2

    @property
    def size(self) -> int:
        """How many cells, those that are 0 among them."""
        return len(self) * self.width

    @property
    def dtype(self) -> Any:
        """The precision of values, which is double."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """How much memory the rows take."""
        return self.values.nbytes + self.columns.nbytes + self.starts.nbytes

    @property
    def T(self) -> Turned:  # noqa: N802 - NumPy's name
        """The columns as rows, for products."""
        return Turned(self)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, key: Any) -> Any:
        """Return some rows, or some columns of all rows; of one row, all its cells."""
        if not isinstance(key, tuple):
            return self._take_rows(key)
        rows, columns = key
        if isinstance(columns, slice) and columns == slice(None):
            return self._take_rows(rows)
        if isinstance(rows, slice) and rows == slice(None):
            return self._of(self.csr[:, columns], None if self.shift is None else self.shift[columns])
        cells = np.asarray(self.csr[rows, columns]).reshape(-1)  # one of each of these rows
        return cells if self.shift is None else cells - self.shift[columns]

    def _take_rows(self, rows: Any) -> Any:
        if isinstance(rows, (int, np.integer)):
            return self[int(rows) : int(rows) + 1].toarray()[0]
        if isinstance(rows, slice) and rows.step in (None, 1):  # no copy
            first, last, _ = rows.indices(len(self))
            starts = self.starts[first : max(first, last) + 1]
            some = slice(int(starts[0]), int(starts[-1]))
            taken = {"values": self.values[some], "columns": self.columns[some], "starts": starts - starts[0]}
            return dataclasses.replace(self, **taken)
        chosen = np.flatnonzero(rows) if np.asarray(rows).dtype.kind == "b" else rows
        return self._of(self.csr[chosen], self.shift)

    def __matmul__(self, other: F64) -> F64:
        """Return the product with a dense array."""
        found: F64 = self.csr @ other
        # einsum, not BLAS: a small product on all cores waits for the other parties' threads
        return found if self.shift is None else found - np.einsum("j,j...->...", self.shift, other)

    def __rmatmul__(self, other: F64) -> F64:
        """Return the product of a dense array with these rows."""
        found: F64 = (self.T @ other.T).T
        return found

    def __sub__(self, other: F64) -> Self:
        """Return the rows less a number for every column."""
        return dataclasses.replace(self, shift=other if self.shift is None else self.shift + other)

    def __mul__(self, other: F64 | float) -> Self:
        """Return the rows times a number for every column, or one for all."""
        return self._scale(np.multiply, other)

    def __truediv__(self, other: F64 | float) -> Self:
        """Return the rows divided by a number for every column, or one for all."""
        return self._scale(np.divide, other)

    def _scale(self, by: Callable[[F64, F64], F64], other: F64 | float) -> Self:
        unit = np.broadcast_to(np.asarray(other, np.float64), (self.width,))
        shift = None if self.shift is None else by(self.shift, unit)
        return dataclasses.replace(self, values=by(self.values, unit[self.columns]), shift=shift)

    def each(self, function: Callable[[F64], F64]) -> Self:
        """Return a function of every cell, (2)."""
        base = np.zeros(self.width) if self.shift is None else -self.shift
        cells = self.values if self.shift is None else self.values - self.shift[self.columns]
        left = function(base)
        return dataclasses.replace(self, values=function(cells) - left[self.columns], shift=-left)

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum of all cells, of each column (0) or of each row (1)."""
        found = self.csr.sum(axis=axis)
        if self.shift is None:
            return found
        return found - (len(self) * self.shift if axis == 0 else self.shift.sum() * (len(self) if axis is None else 1))

    def mean(self, axis: int) -> F64:
        """Return the mean of each column."""
        found: F64 = self.sum(axis=axis) / len(self)
        return found

    def max(self, axis: int, initial: float) -> F64:
        """Return the largest cell of each column; none is smaller than `initial`."""
        if not len(self):
            return np.full(self.width, initial)
        found: F64 = self.csr.max(axis=axis).toarray().reshape(-1)
        return np.maximum(found if self.shift is None else found - self.shift, initial)

    def astype(self, dtype: Any, *, copy: bool = False) -> Self:
        """Return the rows as they are: what is read of them is few cells, which stay in double precision."""
        del dtype, copy
        return self

    def toarray(self) -> F64:
        """Return all cells."""
        found: F64 = self.csr.toarray()
        return found if self.shift is None else found - self.shift

    def freeze(self) -> Self:
        """Return the rows in memory that nobody can write to."""
        made = dataclasses.replace(self)
        for array in (made.values, made.columns, made.starts):
            array.flags.writeable = False
        return made

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise LocalError(f"{NEEDS_ALL}: make the records dense before (X.toarray()), or use SVC over rows")


@dataclass(frozen=True, eq=False, repr=False)
class Turned:
    """The columns of sparse rows, as the left factor of a product."""

    rows: Sparse

    def __matmul__(self, other: F64) -> F64:
        """Return the product with a dense array."""
        found: F64 = self.rows.csr.T @ np.ascontiguousarray(other)
        shift = self.rows.shift
        return found if shift is None else found - np.multiply.outer(shift, other.sum(axis=0))


NEEDS_ALL = "Sparse data was passed, and this needs all cells"


def is_sparse(X: object) -> TypeGuard[Sparse]:
    """Return whether a table is of sparse rows."""
    return isinstance(X, Sparse)


def each(X: T, function: Callable[[Any], Any]) -> T:
    """Return a function of every cell of a table, sparse or not."""
    return cast("T", X.each(function) if is_sparse(X) else function(X))


def sum_squares(X: F64) -> float:
    """Return the sum of the squares of all cells of a table, sparse or not."""
    return float(X.each(np.square).sum() if is_sparse(X) else np.einsum("ij,ij->", X, X))


def _members(label: Array, count: int, weight: F64) -> Any:
    """Return the matrix by which rows are added up under their labels."""
    starts = np.arange(len(label) + 1)
    return csr_array((weight, label, starts), shape=(len(label), count)).T.tocsr()
