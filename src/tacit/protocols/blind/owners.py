"""Who owns which cells, in which range these are, and which classes there are: what is public before a training.

The range of the cells is declared, or the parties learn the smallest power of two that no cell exceeds, and nothing
else of it (`secure_or`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import U8
from tacit.choreo import At, Coordinator, Everyone, Holder, Message, Role, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.integers import exponent_over, mark_exceeded
from tacit.numeric.cells.ownership import Owners, owners_of
from tacit.protocols.classes import check_class_names
from tacit.protocols.facts import CLASSES, MAGNITUDES, OWNERS, SIZES
from tacit.protocols.part import Names, OwnCells, Records, Table
from tacit.protocols.sums.secure_or import secure_or
from tacit.protocols.sums.secure_sum import Protection


class Owned(
    Message,
    tells=(SIZES, OWNERS),
):
    """Which cells of its table are the sender's own: a bit for every cell; none if all are."""

    records: int
    columns: int
    bits: U8


class Range(Message, tells=MAGNITUDES):
    """The exponent of the smallest power of two that no cell exceeds."""

    exponent: int


class OwnClasses(Message, tells=CLASSES, ragged=True):
    """The classes that a holder of rows has records of."""

    names: Names


@choreography(opens={Everyone: OWNERS})
def ownership(run: Run, data: At[OwnCells], partition: str) -> Owners:
    """Return the public map of owners; every cell has one."""
    told = run.publish_all(Owned, run.local(Holder, map_owned, data))
    return owners_of(partition, {party: mask_of(message) for party, message in told.items()})


@choreography(opens={Everyone: MAGNITUDES})
def agreed_range(
    run: Run, held: Sequence[At[Table]], declared: float | None, by: Protection, *, to: Role = Coordinator
) -> int:
    """Return the exponent of the power of two that no cell of any party exceeds."""
    if declared is not None:
        return int(np.ceil(np.log2(declared)))
    marks = secure_or(run, run.local(Holder, marks_of, *held), to=to, by=by, what="range of the cells")
    return run.publish(Range, run.local(to, range_of, marks)).exponent


@choreography(opens={Everyone: CLASSES})
def publish_classes(run: Run, data: At[Records]) -> Names:
    """Return the classes of all holders of rows, sorted."""
    told = {
        party: each.names for party, each in run.publish_all(OwnClasses, run.local(Holder, own_classes, data)).items()
    }
    check_class_names(told)
    names = tuple(np.unique(np.array([name for each in told.values() for name in each])).tolist())
    if len(names) < 2:  # noqa: PLR2004 - an SVM separates two
        raise LocalError(f"the labels of all parties hold one class only ({names}): bring records of a second class")
    return names


# Refused before anything is sent


def check_declared(part: Table, declared: float | None, me: str) -> None:
    """Refuse values that are no numbers, or larger than was declared."""
    largest = float(np.abs(part.X).max(initial=0.0))
    if not np.isfinite(largest):
        raise LocalError(f"a value of {me} is not a finite number: impute or remove it")
    if declared is not None and largest > declared:
        raise LocalError(
            f"a value of {me} has size {largest:.6g}, outside the declared range of {declared:.6g}: scale it, or"
            " declare more"
        )


# Steps at the holders


def own_classes(part: Records) -> OwnClasses:
    """Return the distinct labels of the records that count."""
    if part.y is None:
        return OwnClasses(())
    labels = part.y if part.weight is None else part.y[part.weight > 0]
    return OwnClasses(tuple(np.unique(labels).tolist()))


def map_owned(part: OwnCells) -> Owned:
    """Return which cells are the holder's own."""
    records, columns = part.X.shape
    return Owned(records, columns, np.empty(0, np.uint8) if part.owned is None else np.packbits(np.asarray(part.owned)))


def marks_of(*held: Table) -> NDArray[np.bool_]:
    """Return which powers of two a cell of the holder exceeds."""
    return np.asarray(np.any([mark_exceeded(part.X) for part in held], axis=0), np.bool_)


# Steps on what was published


def mask_of(told: Owned) -> NDArray[np.bool_]:
    """Return the map of cells that a party published."""
    shape = (told.records, told.columns)
    if not told.bits.size:
        return np.ones(shape, np.bool_)
    mask: NDArray[np.bool_] = np.unpackbits(told.bits, count=told.records * told.columns).reshape(shape) == 1
    return mask


def range_of(marks: NDArray[np.bool_]) -> Range:
    """Return the range that holds all cells, from what anybody marked."""
    return Range(exponent_over(marks))
