"""What is opened on the way to landmarks: bits of comparisons, and noisy sums, first to the holders, then to everyone.

    x in shares >> shares anew, of the dealer's zeros >> every holder adds them up >> the first one publishes        (1)

Shares anew, since a share that a gate leaves follows from what the dealer knows and what was opened before. They go
from holder to holder: the dealer hears the result alone, which every other holder compares with its own.

Roles, threat and source: as `shares.dealing`. A holder that publishes another result is named.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.arrays import I64, U64, Flags
from tacit.choreo import At, Everyone, Message, Run, choreography
from tacit.protocols.facts import LANDMARKS
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import Opening
from tacit.protocols.shares.revealing import compare_in_shares, reveal


class ResultShare(Opening, tells=LANDMARKS):
    """A holder's share of a result that is opened."""


class Published(Message, tells=LANDMARKS):
    """A result, as whole numbers."""

    values: I64


@choreography(opens={Everyone: LANDMARKS})
def decide(run: Run, dealing: Dealing, x: At[I64], targets: I64, *, largest: int) -> Flags:
    """Return [sum_p x_p >= target] for every entry; `largest` is how large a sum can be."""
    bits, ring = compare_in_shares(run, dealing, x, targets, largest=largest)
    return open_result(run, replace(dealing, ring=ring), bits, size=targets.size).astype(np.bool_)


@choreography(opens={Everyone: LANDMARKS})
def open_result(run: Run, dealing: Dealing, x: At[U64], *, size: int) -> I64:
    """Tell everyone what is in shares, by (1)."""
    return reveal(run, dealing, ResultShare, Published, x, size=size)
