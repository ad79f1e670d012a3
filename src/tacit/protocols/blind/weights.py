"""What labels are in shares: sides, and with class weights boxes of different widths.

    beta_i lies in [0, w_i] where y_i = 1, in [-w_i, 0] where y_i = -1;      w_i = weight of its class / 2^E     (1)

The labeller, or by rows each holder, knows the labels of its records, so that its share is (1) and that of all others
zero. With class_weight='balanced' the sizes of the classes are opened.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import Q_BITS
from tacit.protocols.blind.iterate import BoxShare
from tacit.protocols.labels import weigh_classes
from tacit.protocols.part import ClassWeight, Held, Names
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import share_anew
from tacit.protocols.table_facts import CLASS_SIZES

MOST = 64  # of a weight: its bits are added to those of a bias


class SizesShare(Message, tells=CLASS_SIZES):
    """A holder's share of how many records each class has, which all of them together open."""

    words: U64


@dataclass(frozen=True)
class Boxes:
    """The widths of (1) by class, their E, and whether they differ."""

    widths: tuple[float, ...]
    exponent: int
    weighted: bool


def weigh(run: Run, dealing: Dealing, data: At[Held], classes: Names, class_weight: ClassWeight) -> Boxes:
    """Return the widths of (1); refuse a class without any."""
    if class_weight is None:
        return Boxes((1.0,) * len(classes), 0, weighted=False)
    sizes = open_sizes(run, dealing, data, classes) if isinstance(class_weight, str) else np.ones(len(classes))
    weights = weigh_classes(classes, sizes, class_weight)
    if not weights.min() > 0:
        raise LocalError("view='blind' needs class weights above 0: leave records of other classes out")
    if weights.max() > MOST:
        raise LocalError(
            f"a class weight of {weights.max():g} leaves no room in 64 bits: give at most {MOST}, and a larger C"
        )
    exponent = max(0, math.ceil(math.log2(weights.max())))
    return Boxes(tuple(np.ldexp(weights, -exponent).tolist()), exponent, weighted=True)


@choreography(opens={Everyone: CLASS_SIZES})
def open_sizes(run: Run, dealing: Dealing, data: At[Held], classes: Names) -> F64:
    """Return how many records each class has."""
    own = share_anew(run, dealing, run.local(Holder, count_own, data, classes), size=len(classes))
    told = run.publish_all(SizesShare, run.local(Holder, SizesShare, own))
    return Z64.total(message.words for message in told.values()).astype(np.float64)


def count_columns(classes: Names) -> int:
    """Return how many problems there are: one for two classes, else one for each class against the rest."""
    return 1 if len(classes) == 2 else len(classes)  # noqa: PLR2004 - two classes are one problem


# Steps at the holders


def count_own(part: Held, classes: Names) -> U64:
    """Return how many records of each class a holder has the labels of."""
    labels = () if part.y is None else part.y
    return np.array([np.sum(labels == name) for name in classes], dtype=np.uint64)


def own_sides(part: Held, classes: Names, boxes: Boxes, owners: Owners, me: str) -> BoxShare:
    """Return the holder's share of y, l and w: of records whose labels it has, and zeros elsewhere."""
    wanted = classes[-count_columns(classes) :]
    found = [np.zeros((owners.shape[0], len(wanted)), dtype=np.uint64) for _ in range(3)]
    if part.y is not None:
        rows, one = owners.rows[me], np.column_stack([part.y == name for name in wanted])
        own = sum((part.y == name) * round(np.ldexp(w, Q_BITS)) for name, w in zip(classes, boxes.widths, strict=True))
        width = np.broadcast_to(np.asarray(own, dtype=np.int64)[:, None], one.shape)
        values = np.where(one, 1, -1), np.where(one, 0, -width), width
        for words, each in zip(found, values, strict=True):
            words[rows] = each.astype(np.int64).view(np.uint64)
    return BoxShare(*(words.ravel() for words in found))
