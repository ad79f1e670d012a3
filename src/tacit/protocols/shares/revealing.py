"""How values in shares are revealed to everyone: first to the holders, of whom one tells them and the others check it.

    x in shares >> shares anew, of the dealer's zeros >> every holder adds them up >> the first one publishes        (1)

Shares anew, so that they tell the value and nothing of who sends them. They go from holder to holder only: the dealer
knows the zeros it dealt, and what a gate leaves as a share follows from what it knows and from what was opened before.

Roles, threat: as `dealing`. A holder that publishes another result is found by all others. Source: ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.choreo import At, Holder, Message, Run
from tacit.errors import PeerError
from tacit.numeric.ring.words import Ring, narrow
from tacit.numeric.shares.lean import Lean
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import Opening, add_openings, bits_of, reduce, share_anew
from tacit.protocols.shares.lean_clip import reaches_one


def reveal(run: Run, dealing: Dealing, share: type[Opening], told: type[Any], x: At[U64], *, size: int) -> I64:
    """Tell everyone whole numbers that the holders have in shares, (1).

    share: the message of a holder's share; told: the message of the result, `told(values)`. Both say which fact it is.
    """
    anew, ring = share_anew(run, dealing, x, size=size), dealing.ring
    received = run.send(share, Holder >> Holder, run.local(Holder, pack_share, anew, ring, share))
    total = run.local(Holder, add_openings, received, anew, ring)
    first = run.members(Holder)[0]
    found: I64 = run.publish(told, run.local(first, write_numbers, total, ring, told)).values
    run.local(Holder, check_told, total, found, ring, run.who(Holder))
    if found.shape != (size,):
        raise PeerError(f"{found.size} numbers were revealed where {size} belong: are all sites of the same version?")
    return found


# Steps at the holders


def pack_share(anew: U64, ring: Ring, kind: type[Opening]) -> Opening:
    """Return the message of a holder's share."""
    return kind(narrow(anew, bits_of(ring)))


def write_numbers(total: U64, ring: Ring, kind: type[Any]) -> Message:
    """Return the whole numbers that everyone is told."""
    message: Message = kind(ring.centred(total).copy())
    return message


def check_told(total: U64, told: I64, ring: Ring, me: str) -> None:
    """Raise if the first holder published another result than this one has."""
    if not np.array_equal(ring.centred(total), told):
        raise PeerError(f"the first holder published another result than {me} has: compare the audits, and stop")


# One bit of a comparison: whether a sum, of which every holder has a term in clear, reaches a public number.
#
#     x_p at holder p >> shares of sum_p x_p >> shares of the bit [sum_p x_p >= target] >> the bit, to everyone      (1)
#
# A rounded answer is found digit by digit: holders compute terms at the public thresholds of a digit, which follow from
# the digits before, and (1) opens how many thresholds the answer reaches. Where a threshold is reached, those below
# are, so the bits of a digit tell that digit and nothing else, and all of them tell the rounded answer. How many digits
# there are, and thresholds for each, is public before.


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
