"""Where a holder stands whose rows are on a device, and each a group of its own: models in place of margins.

The margins of `cutting_plane` follow from models, which are public, and a pass over rows costs a device less than
moving a number for each of them. So a holder carries the models along, and margins, losses and sums stay on the device
until they are added up over its rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from tacit.arrays import F64, I64
from tacit.choreo import State
from tacit.numeric.devices import Held
from tacit.numeric.groups.atoms import losses_along
from tacit.protocols.planes.rows import Rows, Tables


class Track(State):
    """The models w_b of every pool, and w_a of those that go on; the last entry of a model is its bias."""

    best: tuple[F64, ...]
    ahead: tuple[F64, ...]


def begin_track(widths: tuple[int, ...]) -> Track:
    """Return w = 0, b = 0 of every pool."""
    return Track(tuple(np.zeros(width + 1) for width in widths), ())


def look_along(track: Track, w: Sequence[F64], b: F64) -> Track:
    """Return the track towards these models w_a, b_a of the pools that go on."""
    return dataclasses.replace(track, ahead=tuple(np.append(each, bias) for each, bias in zip(w, b, strict=True)))


def move_on(track: Track, live: I64, length: F64) -> Track:
    """Return the track with every pool that goes on so far along its line."""
    best = list(track.best)
    for i, k in enumerate(live):
        best[k] = _between(best[k], track.ahead[i], length[i])
    return dataclasses.replace(track, best=tuple(best))


def lines_of(track: Track, live: I64, chosen: I64, at: F64) -> tuple[F64, ...]:
    """Return where some of the pools that go on take their cuts: w_b, w_a and the step between them, each in a row."""
    return tuple(np.stack([track.best[live[i]], track.ahead[i], np.full_like(track.ahead[i], at[i])]) for i in chosen)


def losses_of(tables: Tables, track: Track, live: I64, steps: F64) -> F64:
    """Return R at the steps of every line, over a holder's own rows."""
    S = tables[0].signs.shape[1]
    return np.array([_losses_of(tables[k // S], int(k % S), track.best[k], track.ahead[i], steps)
                     for i, k in enumerate(live)])  # fmt: skip


def mark_within(rows: Rows, problems: I64, lines: Sequence[F64]) -> Held:
    """Return which rows are within the margin, in each of these problems at its place of its line; on the device."""
    values = [(values_of(rows, line[0], line[1]), float(line[2, 0])) for line in lines]
    there = rows.device.xp.stack([_between(both[:, 0], both[:, 1], at) for both, at in values], axis=1)
    sides = rows.sides_there(problems)
    return (sides * there < 1.0) & (sides != 0.0)


def values_of(rows: Rows, best: F64, ahead: F64) -> Held:
    """Return f_i.w + b of every row under two models, on the device; those of the last line are at hand."""
    models = np.stack([best, ahead])
    return rows.along(models[:, :-1], models[:, -1])


def _losses_of(rows: Rows, problem: int, best: F64, ahead: F64, steps: F64) -> F64:
    values, sign = values_of(rows, best, ahead), rows.signs_there[:, problem]
    h, beyond = 1.0 - sign * values[:, 0], 1.0 - sign * values[:, 1]
    return losses_along(h, beyond - h, rows.weight_there * sign * sign, steps, rows.device)  # signs are -1, 0 and 1


def _between(start: Held, end: Held, step: float) -> Held:
    return start + step * (end - start)
