"""How much time is left of a run, from the work that is done and the work that is expected.

With w the work done at the last news, u what is left of this phase and v that of later ones, p seconds a unit, and t
the time since the first news of how much work there is:

    p_run   = (t + a p_0) / (w + a)              all so far, where a is a little work at the usual speed p_0       (1)
    p_phase = (t_phase + b p_run) / (w_phase + b)      this phase so far, where b is a little work as in (1)       (2)
    left    = u p_phase + v p_run - (time since the last news)                                                     (3)

Of a run of several steps with rho rounds so far, of which rho_k were over when this step began, T seconds after its
own beginning, r_j the rounds that step j is expected to take:

    left    = (3), or (r_k - rho + rho_k) T / rho while nothing is known of its work, + sum of r_j T / rho, j > k  (4)

A phase that has taken longer than (3) says is expected to take a share of the excess longer, so that the time left of a
step that tells nothing never stands still.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tacit.choreo.progress import AtStep, Progress

NOMINAL = 1e-9  # seconds of a unit of work on a usual machine
FIRST, OWN = 0.03, 0.1  # a of all work, b of a phase's
EXCESS = 0.25


class TimeLeft:
    """Hears how far a run is, and says how many seconds are left."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._began = clock, clock()
        self._last, self._at = Progress(""), self._began
        self._phase_at, self._phase_done = self._began, 0.0

    def hear(self, progress: Progress) -> None:
        """Take the news of a run."""
        now = self._clock()
        if not self._last.total:
            self._began = now
        if progress.phase != self._last.phase or progress.ahead != self._last.ahead:
            self._phase_at, self._phase_done = now, progress.done
        self._last, self._at = progress, now

    @property
    def seconds(self) -> float | None:
        """How many seconds are left; None while nothing is known of the work."""
        last, idle = self._last, self._clock() - self._at
        if last.left is not None:
            return max(0.0, last.left - idle)
        if not last.total:
            return None
        rest = last.total - last.done - last.ahead
        own = rest * self._phase_pace(rest)
        own = own - idle if idle <= own else EXCESS * (idle - own)
        return own + last.ahead * self._pace()

    def _pace(self) -> float:
        """Return the seconds that a unit of work has taken so far, (1)."""
        prior = FIRST * self._last.total
        return (self._at - self._began + prior * NOMINAL) / (self._last.done + prior)

    def _phase_pace(self, rest: float) -> float:
        """Return the seconds that a unit of work of this phase has taken so far, (2)."""
        over = self._last.done - self._phase_done
        prior = OWN * (over + rest) or 1.0
        return (self._at - self._phase_at + prior * self._pace()) / (over + prior)


class StepsLeft:
    """The same of a run of several steps; of one without steps it is the time left of its phases.

    expected: rounds of each step. rounds: returns how many rounds there were so far.
    """

    def __init__(
        self, expected: Sequence[int], rounds: Callable[[], int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._expected, self._rounds, self._clock = expected, rounds, clock
        self._own, self._began = TimeLeft(clock), clock()
        self._step, self._before = AtStep(), 0

    def hear(self, progress: Progress) -> None:
        """Take the news of a run."""
        if progress.step != self._step:
            self._step, self._before = progress.step, self._rounds()
        self._own.hear(progress)

    @property
    def seconds(self) -> float | None:
        """How many seconds are left; None while nothing is known."""
        own, number = self._own.seconds, self._step.number
        if not self._expected:
            return own
        if not (rounds := self._rounds()):
            return None
        pace = (self._clock() - self._began) / rounds
        if own is None:
            own = max(0, sum(self._expected[:number][-1:]) - rounds + self._before) * pace
        return own + pace * sum(self._expected[number:])  # (4)
