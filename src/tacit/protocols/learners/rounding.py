"""How a model leaves the shares: rounded to a step of its own size, with noise of about one step from all holders.

    V = sum_jk w_jk^2 / (D m),    2^e the largest power of 4 at or below V, found by comparisons in shares          (1)
    step = 2^(e / 2 - `FINE`),    w + sum_p g_p  rounded to whole steps,    g_p discrete Gaussian                    (2)
    var(g_p) = step^2 / (M - 1)                                                                                     (3)

(1) opens nothing that (2) does not show: the size of the weights, by limits that noise moves (`learners.noise`). By (3)
the noise of all holders but one has a deviation of one step, so that no holder knows weights better than that; all
holders but one together know all but one holder's noise. Weights are revealed in one round, which begins when all
holders have confirmed that they are there. Noise of one step costs some tenths of a point (docs/methods/svc.md). It is
no differential privacy, and hides little from whoever knows all other records: that is what `epsilon` is for. How
little, is noted in each run as

    mu = |w - w'| sqrt(M - 1) / step                                                                                (4)

where w' are the weights without one record, |w - w'| is bounded by what is public of the model, and only the noise of
that record's holder counts (docs/methods/svc.md, with proofs). Registers of sites add up mu^2.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import F64, U64
from tacit.choreo import At, Everyone, Holder, Message, Run, choreography
from tacit.choreo.run import PRESENT
from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.numeric.shares.lean import Lean
from tacit.protocols.facts import MODEL
from tacit.protocols.learners.noise import move_limits
from tacit.protocols.learners.revealing import reveal
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import square_each, truncate
from tacit.protocols.shares.lean_clip import reaches_one

FINE = 6  # binary digits of a weight of average size; the largest one has about three more
COARSE = 14  # bits after the point with which sizes are compared
LEAST, MOST = -12, 10  # powers of two between which weights of average size are told apart
ROOM = 61  # bits of a limit
COMPARED = Lean(F=0, I=64, q=0)
TOLD = "mu"  # how (4) is called in the history of a run


class Ready(Message, tells=PRESENT, of_records=False):
    """The sender has all that it needs to reveal the result."""

    ready: bool


@choreography(opens={Everyone: MODEL})
def reveal_weights(run: Run, dealing: Dealing, w: At[U64], *, size: int, bits: int) -> tuple[F64, float]:
    """Return rounded weights, from shares with so many bits after the point, and the step."""
    e = find_size(run, dealing, w, size=size, bits=bits)
    cut = max(0, bits + e - FINE)
    step = math.ldexp(1.0, cut - bits)
    deviation = 1 << cut
    noisy = run.local(
        Holder, add_noise, w, run.random(Holder), size, deviation**2 // max(1, len(run.roster[Holder]) - 1)
    )
    short = truncate(run, dealing, noisy, cut, size=size) if cut else noisy
    run.publish_all(Ready, run.local(Holder, say_ready, short))
    return reveal(run, dealing, MODEL, short, size=size) * step, step


def note_told(run: Run, moved: float, step: float) -> None:
    """Note (4) of weights that a record moves by so much at most."""
    run.note(**{TOLD: moved * math.sqrt(max(1, len(run.roster[Holder]) - 1)) / step})


def bound_squares(length: float, alpha: float, problems: int) -> float:
    """Return how far a record moves weights of this length at most: |z| (sqrt(m) + |z| |w|) / a, with |z|^2 = 2."""
    return math.sqrt(2.0) * (math.sqrt(problems) + math.sqrt(2.0) * length) / alpha


def bound_hinge(C: float, length: float, problems: int) -> float:
    """Return how far a record moves the best weights of the hinge at most: C |z| sqrt(m)."""
    return C * length * math.sqrt(problems)


@choreography(opens={Everyone: MODEL})
def find_size(run: Run, dealing: Dealing, w: At[U64], *, size: int, bits: int) -> int:
    """Return e / 2 of (1)."""
    down = bits - COARSE
    coarse = truncate(run, dealing, w, down, size=size) if down > 0 else w
    squares = square_each(run, dealing, coarse, size=size)
    known = min(bits, COARSE)
    limits = limit_sizes(size, known)
    values = run.local(Holder, compare_total, squares, limits, dealing.first)
    moved = move_limits(run, values, limits)
    bits_of = reaches_one(run, dealing, moved, COMPARED, size=len(limits))
    found = reveal(run, dealing, MODEL, bits_of, size=len(limits))
    return LEAST + int(found.sum())


def limit_sizes(size: int, bits: int) -> tuple[int, ...]:
    """Return the sums of squares at which e changes, as far as they fit a window of 64 bits with their noise."""
    exponents = range(LEAST + 1, MOST + 1)
    found = (size * 4**e << 2 * bits if e >= 0 else (size << 2 * bits) >> -2 * e for e in exponents)
    return tuple(limit for limit in found if limit < 1 << ROOM)


# Steps at the holders


def compare_total(squares: U64, limits: tuple[int, ...], first: bool) -> U64:  # noqa: FBT001 - a step
    """Return the share of the sum of squares less each limit, plus 1: it is 1 or more if the limit is reached."""
    total = np.full(len(limits), squares.sum(dtype=np.uint64))
    if not first:
        return total
    found: U64 = total - np.array([max(1, limit) - 1 for limit in limits], dtype=np.uint64)
    return found


def add_noise(w: U64, key: bytes, size: int, variance: int) -> U64:
    """Return the share of the weights with this holder's noise."""
    noise = draw_noise(key, size, max(1, variance))
    return w + noise.view(np.uint64)


def say_ready(short: U64) -> Ready:
    """Say that the rounded weights are there."""
    del short
    return Ready(ready=True)
