"""The initiator: P_0 of Algorithm 1 sees every block but the first twice, and subtracts them to read the shifts.

    second view of block i + 1  -  its first view  =  r_1 + .. + r_i          the same in every row            (1)

for i = 1..q-1, and so r_1, .., r_{q-1} by subtraction: of r_1 + .. + r_q only r_q is unknown to P_0. With the help of
P_q, the last holder, every record is open. Nothing but P_0's own view is used, whatever it is: a pair of arrays of one
shape that differ by the same vector in each of several rows is a block seen twice. A coordinator that sees every block
once has no such pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tacit.arrays import F64
from tacit.papers.shift.attacks.one_record import relative_error

ROUNDING = 1e-9


@dataclass(frozen=True)
class Undone:
    """What was found of r_1, .., r_{q-1}; its relative error, 1 if nothing was.

    With `last` given, that of all records.
    """

    shifts: F64
    error: float
    records_error: float


def shift_initiator(views: Sequence[F64], shifts: F64, truth: Sequence[F64] = (), last: F64 | None = None) -> Undone:
    """Find (1) in the tables that P_0 received, in their order.

    Args:
        views: every table, as it arrived.
        shifts: the true r_1, .., r_{q-1}, which only measure the error.
        truth: the records of holders 2..q, which only measure the error.
        last: r_q, if the last holder helps.
    """
    twice = [
        (second, found) for first, second in combinations(views, 2) if (found := _constant(first, second)) is not None
    ]
    sums = np.array([found for _, found in twice]).reshape(-1, shifts.shape[1])
    own = np.diff(sums, axis=0, prepend=np.zeros((1, sums.shape[1])))[: len(shifts)]
    guess = np.zeros_like(shifts)
    guess[: len(own)] = own
    error = float(np.linalg.norm(guess - shifts) / np.linalg.norm(shifts))
    if last is None or len(twice) != len(truth) or not twice:
        return Undone(own, error, 1.0)
    records = np.concatenate([second for second, _ in twice]) - own.sum(axis=0) - last
    return Undone(own, error, relative_error(records, np.concatenate(list(truth))))


def _constant(first: F64, second: F64) -> F64 | None:
    """Return the one vector by which all rows differ, if it is one."""
    if first.shape != second.shape or len(first) < 2:  # noqa: PLR2004 - one row differs from any other by one vector
        return None
    difference = second - first
    size = np.abs(first).max() + np.abs(second).max()
    return np.asarray(difference.mean(axis=0)) if np.ptp(difference, axis=0).max() <= ROUNDING * size else None
