"""Sparse rows as a party keeps them: in wire form, so that journals, processes and clusters can hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.arrays import F64, Array
from tacit.choreo.message import State
from tacit.sparse import Sparse


class SparseRows(Sparse, State):
    """A party's own rows, of which only the cells that are not 0 are kept."""

    values: F64
    columns: Array
    starts: Array
    width: int
    shift: F64 | None = None


if TYPE_CHECKING:
    # sparse rows do what trainings over rows ask of an array, and refuse the rest
    Cells = F64
    Mapped = Array
else:
    Cells = F64 | SparseRows
    Mapped = Array | SparseRows
