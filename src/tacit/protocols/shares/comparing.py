"""One bit of a comparison: whether a sum, of which every holder has a term in clear, reaches a public number.

    x_p at holder p >> shares of sum_p x_p >> shares of the bit [sum_p x_p >= target] >> the bit, to everyone        (1)

A rounded answer is found digit by digit: holders compute terms at the public thresholds of a digit, which follow from
the digits before, and (1) opens how many thresholds the answer reaches. Where a threshold is reached, those below are,
so the bits of a digit tell that digit and nothing else, and all of them tell the rounded answer. How many digits there
are, and thresholds for each, is public before.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.choreo import At, Holder, Run
from tacit.numeric.ring.words import Ring
from tacit.numeric.shares.lean import Lean
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import Opening, reduce
from tacit.protocols.shares.lean_clip import reaches_one
from tacit.protocols.shares.revealing import reveal


def compare(
    run: Run, dealing: Dealing, x: At[I64], targets: I64, share: type[Opening], told: type[Any], *, largest: int
) -> Flags:
    """Return [sum_p x_p >= target] for every entry, (1); `largest` is how large a sum can be.

    share, told: the messages of `reveal`, which say which fact it is.
    """
    bits, ring = compare_in_shares(run, dealing, x, targets, largest=largest)
    return reveal(run, replace(dealing, ring=ring), share, told, bits, size=targets.size).astype(np.bool_)


def compare_in_shares(run: Run, dealing: Dealing, x: At[I64], targets: I64, *, largest: int) -> tuple[At[U64], Ring]:
    """Return shares of the bits, and their ring."""
    I = (largest + int(np.abs(targets).max(initial=0)) + 1).bit_length() + 2  # noqa: E741 - the window's letter
    window, ring = Lean(0, I, 0), Ring(1 << I)
    above = run.local(Holder, subtract_target, x, targets, dealing.first, ring)
    return reaches_one(run, dealing, above, window, size=targets.size), ring


# Steps at the holders


def subtract_target(x: I64, targets: I64, first: bool, ring: Ring) -> U64:  # noqa: FBT001 - a step
    """Return the share of x - target + 1."""
    return reduce((x - targets + 1 if first else x).astype(np.int64).view(np.uint64), ring)
