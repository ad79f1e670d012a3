"""Sums of errors, rounded: nobody sees more digits of them than a figure needs.

    S - (sum t)^2 / n    about the mean, of targets t with S = sum t^2; n is public by then                         (1)
    2^e <= x < 2^(e+1)   by comparing x with all powers of two                                 `shares.revealing`
    sum_ac n_ac d_ac     of probabilities: n_ac records of class a in fine bin c, d_ac their squared error in its middle
    x                    within 2^(e-`FINE`), by comparing it with the numbers between                              (2)

What is opened follows from the rounded sums: the bits of (2) are in order, so each tells on which side of a number that
an answer may be the sum lies. A sum is told as the middle of its cell: off by one part in 2^(`FINE` + 1), at most.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64, I64, U64
from tacit.choreo import At, Holder, Message, Run
from tacit.numeric.scores.metrics import stretch
from tacit.protocols.facts import JUDGEMENT
from tacit.protocols.judge.shared import SUM_BITS, SUMS, Layout
from tacit.protocols.shares.dealing import Dealing
from tacit.protocols.shares.gates import Opening, square_each, truncate
from tacit.protocols.shares.revealing import compare

FINE = 7  # binary digits of a rounded sum, after the first one
OFF = 2.0 ** -(FINE + 1)  # of a sum: how far it may be off
ROOT_BITS = 20  # of 1 / sqrt(n)
CHANCE_BITS = 20  # of a squared error of a probability


def round_errors(run: Run, dealing: Dealing, sums: At[I64], counts: I64, shown: I64, bits: int, layout: Layout) -> F64:
    """Return |e|, e^2 and (1) of the sets of records that are shown, a line for each, per record.

    counts: how many records each of them has.
    """
    m = len(shown)
    roots = np.rint(np.ldexp(1.0 / np.sqrt(np.maximum(counts, 1)), ROOT_BITS)).astype(np.int64)
    scaled = run.local(Holder, scale_targets, sums, shown, roots, layout.lines)
    short = truncate(run, dealing, scaled, ROOT_BITS, size=m)
    squares = square_each(run, dealing, short, size=m)
    wanted = run.local(Holder, gather_sums, sums, squares, shown, layout.lines)
    return round_sums(run, dealing, wanted, 3 * m).reshape(m, 3) / np.ldexp([1.0, 1.0, 1.0], [bits, 2 * bits, 2 * bits])


def round_chances(run: Run, dealing: Dealing, fine: At[I64], bins: int, A: float, B: float, rows: int) -> float:
    """Return the mean squared error of probabilities 1 / (1 + exp(A f + B)), each as in the middle of its fine bin.

    fine: shares of how many records of both classes are in each of these.
    """
    weights = np.rint(np.ldexp(errors_of_chances(bins, A, B), CHANCE_BITS)).astype(np.int64)
    total = run.local(Holder, weigh_bins, fine, weights)
    return float(round_sums(run, dealing, total, 1)[0]) / 2.0**CHANCE_BITS / rows


def errors_of_chances(bins: int, A: float, B: float) -> F64:
    """Return the squared error of a probability in each fine bin, for a record of either class."""
    f = stretch(np.arange(1, bins) / bins)
    p = np.concatenate([[0.0], 1.0 / (1.0 + np.exp(np.clip(A * f + B, -700.0, 700.0))), [1.0]])
    middle = (p[1:] + p[:-1]) / 2.0
    return np.stack([np.square(middle), np.square(1.0 - middle)])


def round_sums(run: Run, dealing: Dealing, x: At[I64], size: int) -> F64:
    """Return sums that are not negative as (2) says; those below 0 by rounding are 0."""
    powers = np.int64(1) << np.arange(SUM_BITS, dtype=np.int64)
    reached = ask_limits(run, dealing, x, np.tile(powers, (size, 1)))
    e = reached.sum(axis=1) - 1
    limits = np.stack([limits_between(each) for each in e.tolist()])
    inner = ask_limits(run, dealing, x, limits[:, 1:-1]).sum(axis=1)
    low, high = (np.take_along_axis(limits, inner[:, None] + k, axis=1)[:, 0] for k in (0, 1))
    found = (low + np.maximum(high - 1, low)) / 2.0
    return np.where(e < 0, 0.0, found)


def limits_between(e: int) -> I64:
    """Return where the cells of sums between 2^e and 2^(e+1) begin, and the last one ends; some may be empty."""
    e = max(e, 0)
    parts = np.arange((1 << FINE) + 1)
    low = 1 << e
    return np.array([low + -(-int(k) * low >> FINE) if k else low for k in parts], dtype=np.int64)


def ask_limits(run: Run, dealing: Dealing, x: At[I64], limits: I64) -> I64:
    """Return which limits each sum reaches, a line for each sum."""
    repeated = run.local(Holder, repeat_each, x, limits.shape[1])
    bits = compare(run, dealing, repeated, limits.ravel(), JudgedShare, JudgedWords, largest=1 << SUM_BITS)
    return bits.reshape(limits.shape).astype(np.int64)


# Steps at the holders


def scale_targets(sums: I64, shown: I64, roots: I64, lines: int) -> U64:
    """Return the share of (sum t) / sqrt(n) of the sets that are shown, with more bits."""
    t = sums.reshape(lines, SUMS)[shown, 3]
    return np.asarray((t * roots).view(np.uint64))


def gather_sums(sums: I64, squares: U64, shown: I64, lines: int) -> I64:
    """Return the shares of the sums of |e|, e^2, and (1), one set after the other."""
    table = sums.reshape(lines, SUMS)[shown].view(np.uint64)
    return np.stack([table[:, 1], table[:, 2], table[:, 4] - squares], axis=1).ravel().view(np.int64)


def weigh_bins(fine: I64, weights: I64) -> I64:
    """Return the share of a sum over all bins, each with its weight."""
    total = (fine.view(np.uint64) * weights.ravel().view(np.uint64)).sum(dtype=np.uint64)
    return np.array([total], dtype=np.uint64).view(np.int64)


def repeat_each(x: I64, times: int) -> I64:
    """Return every sum so many times."""
    return np.repeat(x, times)


# The messages in which judging a model reveals its facts


class JudgedShare(Opening, tells=JUDGEMENT):
    """A holder's share of a count, a sum, or a bit that says what is shown."""


class JudgedWords(Message, tells=JUDGEMENT):
    """Counts, rounded sums, and bits that say what is shown."""

    values: I64


class OwnFigures(Message, tells=JUDGEMENT):
    """Rounded figures of the sender's own held-out records: by the joint model, and by one that it trained alone."""

    joint: F64
    alone: F64
