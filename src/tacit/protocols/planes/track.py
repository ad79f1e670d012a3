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
    """The models w_b of every pool, and w_a of those that go on; the last entry of a model is its bias.

    `came` is the line on which a pool came to its w_b: both ends and the step, each in a row; no rows at the start.
    """

    best: tuple[F64, ...]
    ahead: tuple[F64, ...]
    came: tuple[F64, ...]


def begin_track(widths: tuple[int, ...]) -> Track:
    """Return w = 0, b = 0 of every pool."""
    nowhere = tuple(np.empty((0, width + 1)) for width in widths)
    return Track(tuple(np.zeros(width + 1) for width in widths), (), nowhere)


def look_along(track: Track, w: Sequence[F64], b: F64) -> Track:
    """Return the track towards these models w_a, b_a of the pools that go on."""
    return dataclasses.replace(track, ahead=tuple(np.append(each, bias) for each, bias in zip(w, b, strict=True)))


def move_on(track: Track, live: I64, length: F64) -> Track:
    """Return the track with every pool that goes on so far along its line."""
    best, came = list(track.best), list(track.came)
    for k, line in zip(live, lines_of(track, live, np.arange(len(live)), length), strict=True):
        best[k], came[k] = _between(line[0], line[1], line[2, 0]), line
    return dataclasses.replace(track, best=tuple(best), came=tuple(came))


def lines_of(track: Track, live: I64, chosen: I64, at: F64) -> tuple[F64, ...]:
    """Return where some of the pools that go on take their cuts: w_b, w_a and the step between them, each in a row."""
    return tuple(np.stack([track.best[live[i]], track.ahead[i], np.full_like(track.ahead[i], at[i])]) for i in chosen)


def losses_of(tables: Tables, track: Track, live: I64, steps: F64) -> F64:
    """Return R at the steps of every line, over a holder's own rows."""
    S, found = tables[0].signs.shape[1], np.empty((len(live), len(steps)))
    for i, k in enumerate(live):
        rows = tables[k // S]
        _take_along(rows, track.best[k], track.came[k])
        found[i] = _losses_of(rows, int(k % S), track.best[k], track.ahead[i], steps)
    return found


def mark_within(rows: Rows, problems: I64, lines: Sequence[F64]) -> Held:
    """Return which rows are within the margin, in each of these problems at its place of its line; on the device."""
    there = [_between(rows.under(start), rows.under(end), float(at[0])) for start, end, at in lines]
    values, sides = rows.device.xp.stack(there, axis=1), rows.sides_there(problems)
    return (sides * values < 1.0) & (sides != 0.0)


def _take_along(rows: Rows, best: F64, came: F64) -> None:
    """Have the values under w_b at hand, from those at the ends of the line on which it lies, and let these go.

    Values are linear in the model, so this spares a pass over all features.
    """
    if not len(came):
        return
    ends = [rows.at_hand.pop(end.tobytes(), None) for end in came[:2]]
    if ends[0] is not None and ends[1] is not None:
        rows.at_hand[best.tobytes()] = _between(ends[0], ends[1], float(came[2, 0]))


def _losses_of(rows: Rows, problem: int, best: F64, ahead: F64, steps: F64) -> F64:
    sign = rows.signs_there[:, problem]
    h, beyond = 1.0 - sign * rows.under(best), 1.0 - sign * rows.under(ahead)
    return losses_along(h, beyond - h, rows.weight_there * sign * sign, steps, rows.device)  # signs are -1, 0 and 1


def _between(start: Held, end: Held, step: float) -> Held:
    return start + step * (end - start)
