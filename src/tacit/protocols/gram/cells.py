"""Tables of which every cell has an owner: who owns what, in which range cells are, and how they are multiplied.

What training and prediction over any cells share. Who owns which cell is public. The range of the cells is declared, or
the parties learn the smallest power of two that no cell exceeds, and nothing else of it (`secure_or`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import I64, U8
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Role, Run, choreography
from tacit.choreo.declaration import Settings
from tacit.crypto.products import engines
from tacit.errors import LocalError
from tacit.numeric.cells.integers import Cells, exponent_over, mark_exceeded, most_bits
from tacit.numeric.cells.ownership import Owners, owners_of
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.gram.algorithm1 import load_paillier
from tacit.protocols.gram.intersection import check_binary
from tacit.protocols.gram.vertical import cell_sum, check_declared
from tacit.protocols.part import OwnCells, Table
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import Protection

OWNERSHIP = Fact("gram.ownership", "holder", "membership", "cell", "who owns which cells")
ANSWERS_OF_OWN = Fact(
    "gram.answers_of_own", "reader", "answer", "record", "over rows each holder learns the values of its own records"
)

HOWS = ("product", "algorithm1", "intersection")


class Owned(
    Message,
    tells=(
        Fact("gram.own_size", "holder", "size", "party", "how many records and columns the sender has"),
        Fact("gram.own_cells", "holder", "membership", "cell", "which cells of these records it owns"),
    ),
):
    """Which cells of its table are the sender's own: a bit for every cell; none if all are."""

    records: int
    columns: int
    bits: U8


class Range(
    Message,
    tells=Fact(
        "gram.range", "holders", "aggregate", "all", "the smallest power of two that no cell of any party exceeds"
    ),
):
    """The exponent of the smallest power of two that no cell exceeds."""

    exponent: int


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


@choreography(opens={Everyone: OWNERSHIP})
def ownership(run: Run, data: At[OwnCells], partition: str) -> Owners:
    """Return the public map of owners; every cell has one."""
    told = run.publish_all(Owned, run.local(Holder, map_owned, data))
    return owners_of(partition, {party: mask_of(message) for party, message in told.items()})


@choreography(
    opens={
        Everyone: Fact(
            "gram.agreed_range",
            "holders",
            "aggregate",
            "all",
            "the smallest power of two that no cell of any party exceeds, unless a range was declared",
        )
    }
)
def agreed_range(
    run: Run, held: Sequence[At[Table]], declared: float | None, by: Protection, *, to: Role = Coordinator
) -> int:
    """Return the exponent of the power of two that no cell of any party exceeds."""
    if declared is not None:
        return int(np.ceil(np.log2(declared)))
    marks = secure_or(run, run.local(Holder, marks_of, *held), to=to, by=by, what="range of the cells")
    return run.publish(Range, run.local(to, range_of, marks)).exponent


# Refused before anything is sent


def check_way(part: Table, how: str, multiply: Products, me: str) -> None:
    """Refuse a way to multiply that does not exist, that this party lacks, or that does not suit its cells."""
    if how not in HOWS:
        raise LocalError(f"unknown method {how!r} of a gram matrix: use one of {', '.join(HOWS)}")
    if how == "product":
        engines.make_engine(multiply.engine, 1, key_bits=multiply.key_bits)
    elif how == "algorithm1":
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


def map_owned(part: OwnCells) -> Owned:
    """Return which cells are the holder's own."""
    records, columns = part.X.shape
    return Owned(records, columns, np.empty(0, np.uint8) if part.owned is None else np.packbits(np.asarray(part.owned)))


def marks_of(*held: Table) -> NDArray[np.bool_]:
    """Return which powers of two a cell of the holder exceeds."""
    return np.asarray(np.any([mark_exceeded(part.X) for part in held], axis=0), np.bool_)


def integers(part: Table, cells: Cells, me: str) -> I64:
    """Return the cells in fixed point."""
    return cells.encode(part.X, f"cells of {me}")


# Steps on what was published


def mask_of(told: Owned) -> NDArray[np.bool_]:
    """Return the map of cells that a party published."""
    shape = (told.records, told.columns)
    if not told.bits.size:
        return np.ones(shape, np.bool_)
    mask: NDArray[np.bool_] = np.unpackbits(told.bits, count=told.records * told.columns).reshape(shape) == 1
    return mask


# Steps at the coordinator


def range_of(marks: NDArray[np.bool_]) -> Range:
    """Return the range that holds all cells, from what anybody marked."""
    return Range(exponent_over(marks))
