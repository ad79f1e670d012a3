"""How far a run is: the phases that a protocol expects, the work in each, and how much of it is done.

A protocol says what it expects as soon as it knows the sizes (`run.expect`), and where each phase begins (`run.phase`).
Rounds and counted loops of steps do the rest. All of it is made of published values, so that every party could say it;
how far the own step of a party is, is known in its own process only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tacit.counted import Loop, Loops, listening

FIGURES = ("gap", "primal", "dual")  # that say how far a solver is from its end


@dataclass(frozen=True)
class Phase:
    """A phase of a run and the work that is expected in it, in nanoseconds of one core of a usual machine.

    name: what is done, in a word or two. holders: the work of all holders together. coordinator: that which nobody else
    does at the same time. messages: what its rounds of messages are beside both.
    """

    name: str
    holders: float = 0.0
    coordinator: float = 0.0
    messages: float = 0.0


@dataclass(frozen=True)
class AtStep:
    """Which step of several is played: its number, counted from 1, of how many, and its name."""

    number: int = 0
    of: int = 0
    name: str = ""

    def __str__(self) -> str:
        return f"step {self.number} of {self.of} ({self.name})" if self.of else ""


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    phase: what is being done. done, total: work that is over, and all that is expected; total is 0 while nothing is
    known. ahead: of it, the work of later phases. round, rounds: of the outermost loop that is played, 0 outside of
    one; `rounds` is how many there are at most. gap: how far a solver is from the optimum, once it is published. left:
    seconds that are left, where the run is elsewhere and somebody there says so. moved: how many
    bytes were, in words, likewise. step: of a run that plays several; all figures but these two are the step's.
    """

    phase: str
    done: float = 0.0
    total: float = 0.0
    ahead: float = 0.0
    round: int = 0
    rounds: int = 0
    gap: float | None = None
    left: float | None = None
    moved: str = ""
    step: AtStep = AtStep()


Listener = Callable[[Progress], None]


class Meter:
    """Counts the work of one run in one process, and tells a listener whenever some is done.

    abreast: how many holders work at the same time.
    """

    def __init__(self, tell: Listener | None, *, abreast: int) -> None:
        self._tell, self._abreast = tell, abreast
        self._plan: Sequence[Phase] = ()
        self._at, self._name = 0, ""
        self._loops, self._share = Loops(), 0.0
        self._steps: dict[str, float] = {}
        self._gap: float | None = None
        self._step = AtStep()
        self._lock = threading.RLock()  # steps of several parties count at once

    def expect(self, *phases: Phase) -> None:
        """Take the phases that are ahead, in their order; the first of them begins."""
        with self._lock:
            self._plan, self._at, self._share, self._name = phases, 0, 0.0, phases[0].name
        self._say()

    def phase(self, name: str) -> None:
        """Begin the next phase of that name; one that a protocol with a plan of its own did not plan is part of it."""
        later = [i for i, each in enumerate(self._plan) if i > self._at and each.name == name]
        if not later and self._plan:
            return
        with self._lock:
            self._at, self._name, self._share = later[0] if later else 0, name, 0.0
        self._say()

    def begin_step(self, step: AtStep) -> None:
        """Begin a step, or another request of it, of which nothing is known yet."""
        with self._lock:
            self._step, self._plan, self._at, self._name, self._share, self._gap = step, (), 0, "", 0.0, None
        self._say()

    @contextmanager
    def loop(self, made: Loop) -> Iterator[Loop]:
        """Enter a loop of rounds."""
        if not self._plan and not self._loops.open:
            self._share = 0.0
        with self._loops.within(made):
            yield made

    def end_round(self, loop: Loop, t: int) -> None:
        """Count one more round as done."""
        loop.done = t + 1
        self._say()

    def note(self, figures: Mapping[str, float | str]) -> None:
        """Take the gap of a solver from what it published."""
        far = [float(figures[name]) for name in FIGURES if name in figures]
        if "gap" in figures:
            self._gap = float(figures["gap"])
        if far and self._loops.open:
            self._loops.open[-1].far.append(max(far))

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
        if self._tell is None:
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
            inside = sum(self._steps.values()) / len(self._steps) * self._loops.width if self._steps else 0.0
            # several loops may follow each other in a phase: never backwards
            self._share = max(self._share, min(1.0, self._loops.share + inside))
            works = [each.holders / self._abreast + each.coordinator + each.messages for each in self._plan]
            # without a plan all that is known is the loop
            works = works or ([1.0] if self._loops.open or inside else [])
            now = works[self._at] if works else 0.0
            done, ahead = sum(works[: self._at]) + self._share * now, sum(works[self._at + 1 :])
            loop = self._loops.open[0] if self._loops.open else Loop(0)
            return Progress(self._name, done, sum(works), ahead, loop.done, loop.most, self._gap, step=self._step)

    def _say(self) -> None:
        if self._tell is None:
            return
        with self._lock:  # what one thread found out is not told after what another one found out later
            self._tell(self.progress())
