"""How far a run is: how many rounds of messages are over, and the share that is done of a long step.

All of it but the share is made of published values, so that every party could say it; how far the own step of a party
is, is known in its own process only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tacit.counted import listening


@dataclass(frozen=True)
class AtStep:
    """The current step of a run: its number (from 1), the number of steps, and its name."""

    number: int = 0
    of: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"step {self.number} of {self.of} ({self.name})" if self.of else ""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    phase: what is being done, where somebody says so. round, rounds: rounds that are over, and how many are planned; 0
    while that is not known. share: of a long step of the parties, the part that is done. gap: how far a solver is from
    the optimum, once it is published. moved: how many bytes were sent, in words. step: of a run that plays several.
    """

    phase: str = ""
    round: int = 0
    rounds: int = 0
    share: float = 0.0
    gap: float | None = None
    moved: str = ""
    step: AtStep = AtStep()

    @property
    def done(self) -> float:
        """The share of the planned rounds that is over; without a plan that of the long step."""
        return min(1.0, self.round / self.rounds) if self.rounds else self.share


Listener = Callable[[Progress], None]


@dataclass
class Meter:
    """Counts the rounds of one run in one process, and tells a listener of each."""

    tell: Listener | None
    _rounds: int = 0
    _steps: dict[str, float] = field(default_factory=dict)
    _gap: float | None = None
    _step: AtStep = AtStep()
    _lock: threading.RLock = field(default_factory=threading.RLock)  # steps of several parties count at once

    def begin_step(self, step: AtStep) -> None:
        """Begin a step of several, or another request of it."""
        with self._lock:
            self._step, self._gap = step, None
        self._say()

    def end_round(self) -> None:
        """Count one more round of messages as over."""
        self._rounds += 1
        self._say()

    def note(self, figures: Mapping[str, float | str]) -> None:
        """Take the gap of a solver from what it published."""
        if "gap" in figures:
            self._gap = float(figures["gap"])

    @contextmanager
    def step(self, parties: Sequence[str]) -> Iterator[None]:
        """Enter a step of these parties, whose counted loops count."""
        self._steps = dict.fromkeys(parties, 0.0)
        try:
            yield
        finally:
            self._steps = {}

    @contextmanager
    def counting(self, party: str) -> Iterator[None]:
        """Count the loops of a party's own step, in the thread that does it."""
        if self.tell is None:
            yield
            return

        def tell(share: float) -> None:
            with self._lock:
                if party in self._steps:
                    self._steps[party] = share
            self._say()

        with listening(tell):
            yield

    def progress(self) -> Progress:
        """Return how far the run is."""
        with self._lock:
            share = sum(self._steps.values()) / len(self._steps) if self._steps else 0.0
            return Progress(round=self._rounds, share=share, gap=self._gap, step=self._step)

    def _say(self) -> None:
        if self.tell is None:
            return
        with self._lock:  # what one thread found out is not told after what another one found out later
            self.tell(self.progress())
