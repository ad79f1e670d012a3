"""Noise of the holders on numbers that are compared or revealed beside a model, so that no single record decides them.

Every holder adds a discrete Gaussian to its share. One number has a deviation of `CLOSE` records for each holder, so
that what one record changes is hidden in the noise of any one of them. Where a sum is compared with several limits, all
of them have the same draw, in units of the limit: comparisons with draws of their own would average out.

Roles, threat: as `shares.dealing`. Source: ours.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.arrays import U64
from tacit.choreo import At, Holder, Run
from tacit.crypto.noise.discrete_gaussian import draw_noise

CLOSE = 5.0  # records
WIDE = 16  # of a limit: the part of it that is the deviation, where what one record changes has no bound
DRAW_BITS = 20  # of a draw that is scaled by limits


def add_noise(run: Run, x: At[U64], *, size: int, bits: int, deviation: float = CLOSE) -> At[U64]:
    """Return shares of numbers with noise; they have so many bits after the point, and a record changes them by 1."""
    variance = max(1, round(math.ldexp(deviation, bits) ** 2))
    return run.local(Holder, add_draws, x, run.random(Holder), size, variance)


def add_common_noise(
    run: Run, x: At[U64], *, lines: int, width: int, bits: int = 0, deviation: float = CLOSE
) -> At[U64]:
    """Return shares of numbers with so many bits after the point with noise, the same for all of a line."""
    variance = round(math.ldexp(deviation, bits) ** 2)
    return run.local(Holder, add_to_lines, x, run.random(Holder), lines, width, variance)


def move_limits(run: Run, x: At[U64], limits: tuple[int, ...]) -> At[U64]:
    """Return shares of numbers less limits, where every holder moves all limits by one draw in units of the limit."""
    return run.local(Holder, add_scaled, x, run.random(Holder), limits)


# Steps at the holders


def add_draws(x: U64, key: bytes, size: int, variance: int) -> U64:
    """Return the share with this holder's noise."""
    return x + draw_noise(key, size, variance).view(np.uint64)


def add_to_lines(x: U64, key: bytes, lines: int, width: int, variance: int) -> U64:
    """Return the share with one draw for each line."""
    drawn = draw_noise(key, lines, variance).view(np.uint64)
    return (x.reshape(lines, width) + drawn[:, None]).ravel()


def add_scaled(x: U64, key: bytes, limits: tuple[int, ...]) -> U64:
    """Return the share with this holder's noise, one draw for each line of limits."""
    lines = x.reshape(-1, len(limits))
    draws = draw_noise(key, len(lines), round((2**DRAW_BITS / WIDE) ** 2))
    moved = [[int(g) * limit >> DRAW_BITS for limit in limits] for g in draws.tolist()]
    return (lines + np.array(moved, dtype=np.int64).view(np.uint64)).ravel()
