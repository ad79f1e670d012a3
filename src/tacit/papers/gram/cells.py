"""Tables of which every cell has an owner: who owns what, in which range cells are, and how they are multiplied.

What training and prediction over any cells share. Who owns which cell is public, and in which range cells are is
declared or agreed on (`protocols.blind.owners`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.arrays import I64
from tacit.choreo import Fact
from tacit.choreo.declaration import Settings
from tacit.errors import LocalError
from tacit.numeric.cells.integers import BITS, LEAST, Cells
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.papers.gram.algorithm1 import load_paillier
from tacit.papers.gram.engines import engines
from tacit.papers.gram.intersection import check_binary
from tacit.papers.gram.vertical import cell_sum
from tacit.protocols.blind.owners import check_declared
from tacit.protocols.part import OwnCells, Table

ANSWERS_OF_OWN = Fact(
    "gram.answers_of_own", "reader", "answer", "record", "over rows each holder learns the values of its own records"
)

KEY_LENGTHS = (2048, 3072)  # of Paillier
HOWS = ("product", "algorithm1", "intersection")


@dataclass(frozen=True, kw_only=True)
class Products(Settings):
    """By which engine cells are multiplied, and in which declared range they are."""

    engine: str = "bfv"
    key_bits: int = 2048
    feature_range: float | None = None


@dataclass(frozen=True, kw_only=True)
class Multiply(Products):
    """How cells are multiplied, as integers of how many bits."""

    feature_bits: int | None = None

    def bits(self, columns: int) -> int:
        """Return how many bits a cell has: `feature_bits`, or as many as cost nothing, 20 or more."""
        return self.feature_bits or most_bits(columns)

    def cells(self, exponent: int, columns: int) -> Cells:
        """Return how cells of tables of so many columns become integers."""
        return Cells(exponent, self.bits(columns), max(1, columns))


# Refused before anything is sent


def check_way(part: Table, method: str, multiply: Products, me: str) -> None:
    """Refuse a way to multiply that does not exist, that this party lacks, or that does not suit its cells."""
    if method not in HOWS:
        raise LocalError(f"unknown method {method!r} of a gram matrix: use one of {', '.join(HOWS)}")
    if method == "product":
        engines.make_engine(multiply.engine, 1, key_bits=multiply.key_bits)
    elif method == "algorithm1":
        load_paillier()
    else:
        check_binary(part, me)


def check_cells(part: OwnCells, declared: float | None, fixed: FixedPoint | None, me: str) -> None:
    """Refuse values that are no numbers, outside the declared range, or in another party's cell.

    With `fixed` the sum of all cells must fit too.
    """
    check_declared(part, declared, me)
    if part.owned is not None and (part.owned.shape != part.X.shape or part.X[~part.owned].any()):
        raise LocalError(f"{me} has a value in a cell that it does not own: give cells of others as missing")
    if fixed is not None:
        fixed.encode(cell_sum(part), f"sum of the cells of {me}")


def check_declared_records(new: Owners, declared: int | None) -> None:
    """Refuse more questions than the parties agreed to answer, before any answer is computed."""
    if declared is not None and new.shape[0] > declared:
        raise LocalError(
            f"the parties bring {new.shape[0]} new records, and the job declares {declared}: declare them all in [rows]"
        )


# Steps at the holders


def integers(part: Table, cells: Cells, me: str) -> I64:
    """Return the cells in fixed point."""
    return cells.encode(part.X, f"cells of {me}")


def most_bits(terms: int) -> int:
    """Return as many bits as (1) leaves room for in the smallest ring, and at least `BITS`."""
    return max(BITS, (LEAST - 1 - terms.bit_length()) // 2)
