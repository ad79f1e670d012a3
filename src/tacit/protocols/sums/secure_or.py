"""Secure or: one party learns which entries anybody has marked; not who, and not how many have.

The problem. Holder k has marks b_ke, 0 or 1. The party `to` shall learn b_1e or ... or b_Me for every entry e. Modulo
2^64,

    w_e = sum_k u_ke b_ke,      u_ke uniform, drawn by holder k                                                    (1)
    marked_e = (w_e != 0)                                                                                          (2)

w_e is 0 if nobody marked e. Otherwise it is uniform, however many did: one uniform word makes the sum uniform. A mark
is missed if w_e happens to be 0, with probability 2^-64.

Roles. Holder: has b_k. `to`: a role of one party.
Threat. Semi-honest; coalitions as `secure_sum`, which hides every part of (1): the sum over the honest holders, which
is all that a coalition with `to` has, is 0 or uniform too.
Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import U64, Flags
from tacit.choreo import At, Holder, Pads, Role, Run, choreography
from tacit.numeric.ring.words import Z64, Ring
from tacit.protocols.facts import MARKED
from tacit.protocols.sums.secure_sum import Protection, name_own_seed, secure_sum

Marks = Flags


@choreography(opens={"to": MARKED})
def secure_or(
    run: Run, marks: At[Marks], *, to: Role, by: Protection, what: str = "marks", ring: Ring = Z64
) -> At[Marks]:
    """Let role `to` learn which entries anybody has marked, (2)."""
    dice = run.pads(run.local(Holder, name_own_seed, run.random(Holder)), run.tag())
    total = secure_sum(run, run.local(Holder, draw_marks, marks, dice), to=to, by=by, what=what, ring=ring)
    return run.local(to, read_marks, total)


def draw_marks(marks: Marks, dice: Pads) -> U64:
    """Return u_k b_k of (1): a random word for every mark, 0 elsewhere."""
    uniform = np.concatenate([chunk.copy() for chunk in dice.put_on("own", marks.size)])
    return np.where(marks, uniform.reshape(marks.shape), np.uint64(0))


def read_marks(total: U64) -> Marks:
    """Return which entries of the sum are marked, (2)."""
    return np.not_equal(total, 0)
