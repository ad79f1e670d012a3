"""What a shared shift gives away, as working attacks on the views of its parties."""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.attacks.learners import ERROR, Attack, Point, Points, steps
from tacit.papers.shift.attacks.column_minimum import shift_column_minimum
from tacit.papers.shift.attacks.ica import ica
from tacit.papers.shift.attacks.initiator import shift_initiator
from tacit.papers.shift.attacks.one_record import shift_one_record
from tacit.papers.shift.formulas import rotation_of

SHIFT = ("ShiftSVC",)
KNOWN = "known records"
_SHIFTED = ("shift.row_differences", "shift.rows_once_known", "shift.columns_of_others", "shift.moved_table")


def shift_one_record_study(X: F64, _: I64) -> Points:
    """Yield the error of records whose shift is taken off, by how many records are known."""
    for name, moved in _move_records(X).items():
        for known in (1, *steps(2 * X.shape[1])[1:]):
            yield Point(name, known, shift_one_record(moved, X, np.arange(known), rotated=name == "rotation").error)


def shift_column_minimum_study(X: F64, _: I64) -> Points:
    """Yield the error of records whose shift is taken off by the least value of every column."""
    for name, moved in _move_records(X).items():
        yield Point(name, 0, shift_column_minimum(moved, X, X.min(axis=0)).error)


def shift_initiator_study(X: F64, _: I64) -> Points:
    """Yield the error of records that the initiator of Algorithm 1 reads by subtracting blocks."""
    rng, blocks = np.random.default_rng(0), np.array_split(X, 4)
    r = rng.uniform(-10, 10, size=(4, X.shape[1]))
    first = [block + r[i:].sum(axis=0) for i, block in enumerate(blocks)]
    second = [block + r.sum(axis=0) for block in blocks[1:]]
    yield Point("plain", 0, shift_initiator([*first, *second], r[:-1], blocks[1:], r[-1]).error)
    yield Point("secret", 0, shift_initiator([block + r.sum(axis=0) for block in blocks], r[:-1]).error)


def ica_study(X: F64, _: I64) -> Points:
    """Yield the error of columns of rotated records by independent component analysis, with no record known."""
    yield Point("rotation", 0, ica(_move_records(X)["rotation"], X).error)


def _move_records(X: F64) -> dict[str, F64]:
    """Return the records as P_0 sees them under a common shift, and under a rotation as well."""
    words = _random_words(X.shape[1] ** 2)
    r = np.random.default_rng(1).uniform(-10, 10, X.shape[1])
    return {"secret": X + r, "rotation": X @ rotation_of(words, X.shape[1]) + r}


def _random_words(n: int) -> U64:
    return np.random.default_rng(2**70 + 3).integers(0, 1 << 64, size=n, dtype=np.uint64)


ATTACKS = (
    Attack(
        "shift_one_record",
        SHIFT,
        "one known record gives the shift, and a few more give the rotation",
        KNOWN,
        ERROR,
        shift_one_record_study,
        reads=_SHIFTED,
        needs="one known record",
    ),
    Attack(
        "shift_column_minimum",
        SHIFT,
        "known column minima give the shift",
        "records known",
        ERROR,
        shift_column_minimum_study,
        reads=_SHIFTED,
        needs="the smallest value of every column",
    ),
    Attack(
        "shift_initiator",
        SHIFT,
        "the first party finds all shifts but one by comparing its two views",
        "records known",
        ERROR,
        shift_initiator_study,
        reads=("shift.moved_table", "shift.all_rows"),
    ),
    Attack(
        "ica",
        SHIFT,
        "independent columns are found behind a rotation",
        "records known",
        ERROR,
        ica_study,
        reads=_SHIFTED,
        needs="columns that do not depend on each other",
    ),
)
