"""Poisoning: a party that lies makes the public model worse, or its own. What least squares over rows is told.

A party of n records brings S, H and squares E of its own rows. In place of them it may bring

    replaced     2 n I, 1.4 N W / |W|, E    so large that the model is about W, whatever others bring               (1)
    scaled       b S, b H, b E              its records count b times                                               (2)
    hidden       S, -b H, E                 with turned labels, and b so large that b H is as long as one can be    (3)
    flipped      S, -H, E                   its records with all labels turned: records that there might be         (4)

(1) to (3) are no sums of n records with |z|^2 <= 2 and |t| <= 1, and sites notice that (`protocols.learners.bounds`).
Of (4) nobody can know that it is a lie: it moves the model as n records can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Run, Site
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.shares.ridge_plan import RidgePlan
from tacit.protocols.learners import fitting
from tacit.protocols.learners.bounds import HeldRows
from tacit.protocols.learners.least_squares import RidgeShare
from tacit.protocols.learners.targets import OwnSums
from tacit.protocols.shares.dealing import Dealing

Forge = Callable[[OwnSums], OwnSums]
LONG = 1.4  # of (1): what fits the words of a run


def replace_model(own: OwnSums, W: F64, records: int) -> OwnSums:
    """Return sums that make the model W, where all have so many records together, (1)."""
    H = LONG * records * W / np.linalg.norm(W, axis=0)
    return OwnSums(2.0 * own.rows * np.eye(len(own.S)), H, own.squares, own.rows)


def scale_sums(own: OwnSums, by: float) -> OwnSums:
    """Return sums by which each record counts so many times, (2)."""
    return OwnSums(by * own.S, by * own.H, by * own.squares, own.rows)


def hide_in_targets(own: OwnSums) -> OwnSums:
    """Return sums of which each by itself is as large as it may be, (3)."""
    H = -math.sqrt(2.0) * own.rows * own.H / np.linalg.norm(own.H, axis=0)
    return OwnSums(own.S, H, own.squares, own.rows)


def turn_targets(own: OwnSums) -> OwnSums:
    """Return the sums of the same records with all labels turned, of two classes, (4)."""
    return OwnSums(own.S, -own.H, own.squares, own.rows)


@contextmanager
def lying(parties: Collection[str], forge: Forge) -> Iterator[None]:
    """Have parties bring forged sums to every training by rows in this process."""
    honest = fitting.bind_sums

    def bind(run: Run, dealing: Dealing, sums: At[RidgeShare], plan: RidgePlan, held: HeldRows) -> object:
        forged = run.local(Site, _forge, sums, plan, run.who(Site), held)
        return honest(run, dealing, forged, plan, held)

    def _forge(share: RidgeShare, plan: RidgePlan, me: str, held: HeldRows) -> RidgeShare:
        if me not in parties:
            return share
        own = OwnSums(
            unpack([_decode(share.S, plan.bits)], plan.size),
            _decode(share.H, 2 * plan.bits).reshape(plan.size, -1),
            _decode(share.squares, plan.error_bits),
            held.counts[me],
        )
        return fitting.share_sums(_wrap(forge(own), plan), plan)

    fitting.bind_sums = bind  # type: ignore[assignment]
    try:
        yield
    finally:
        fitting.bind_sums = honest


def _wrap(own: OwnSums, plan: RidgePlan) -> OwnSums:
    """Return sums that fit words: larger ones lose what is beyond them."""

    def wrap(x: F64, bits: int) -> F64:
        return np.asarray(np.remainder(x + 2.0 ** (62 - bits), 2.0 ** (63 - bits)) - 2.0 ** (62 - bits))

    return OwnSums(wrap(own.S, plan.bits), wrap(own.H, 2 * plan.bits), wrap(own.squares, plan.error_bits), own.rows)


def _decode(words: U64, bits: int) -> F64:
    return np.ldexp(words.view(np.int64).astype(np.float64), -bits)
