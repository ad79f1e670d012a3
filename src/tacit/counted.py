"""Loops that are counted while they run, for whoever wants to know how far a long piece of work is.

`for block in counted(blocks):` is `for block in blocks:` to the work itself. It tells nobody anything unless somebody
listens, and nothing but how many of how many turns are over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
MORE, LEAST = 1.1, 2.0  # a loop that outlasts what is usual is expected to take a tenth more, and two turns
EARLY = 4  # turns after which a loop that converges is looked at


@dataclass
class Loop:
    """One loop: turns over, turns at most, and what is known of when it ends before.

    usual: how many turns such a loop takes, if it ends where it has converged. until: where it has converged, in the
    unit of `far`: how far from that it was after each turn. start, stop: which stretch of what is around it, it is.
    work: of each turn, if some take longer than others.
    """

    most: int
    usual: int | None = None
    until: float | None = None
    done: int = 0
    far: list[float] = field(default_factory=list)
    start: float = 0.0
    stop: float = 1.0
    work: Sequence[float] = ()

    @property
    def expected(self) -> float:
        """How many turns it will have taken."""
        if self.usual is None:
            return max(1.0, self.most)
        usual = min(self._converged() or self.usual, self.most)
        return max(1.0, min(self.most, max(usual, MORE * self.done + LEAST)))

    @property
    def share(self) -> float:
        """The share that is done."""
        return sum(self.work[: self.done]) / sum(self.work) if self.work else self.done / self.expected

    @property
    def width(self) -> float:
        """The share of the turn that is played, in what is around the loop."""
        turn = self.work[min(self.done, len(self.work) - 1)] / sum(self.work) if self.work else 1 / self.expected
        return (self.stop - self.start) * turn

    def _converged(self) -> float | None:
        """Return when it is `until` if the distance shrinks by a power of the turns, as lately; half way to `usual`."""
        if self.until is None or self.usual is None or len(self.far) < EARLY:
            return None
        before, now = self.far[len(self.far) // 2 - 1], self.far[-1]
        if not 0.0 < self.until < now < before < math.inf:
            return None
        lasting = math.log(now / self.until) / math.log(before / now) * math.log(2.0)
        return math.sqrt(self.usual * self.done * math.exp(min(lasting, math.log(self.most))))


class Loops:
    """Loops within each other: together they say which share of a piece of work is done."""

    def __init__(self) -> None:
        self.open: list[Loop] = []

    @property
    def share(self) -> float:
        """The share that is done: a turn of an inner loop is its part of a turn of the outer one."""
        found, width = 0.0, 1.0
        for loop in self.open:
            found += width * (loop.start + (loop.stop - loop.start) * loop.share)
            width *= loop.width
        return min(found, 1.0)

    @property
    def width(self) -> float:
        """The share of one turn of the innermost loop."""
        return math.prod(loop.width for loop in self.open)

    @contextmanager
    def within(self, loop: Loop) -> Iterator[None]:
        """Enter a loop, and leave it with all that is within it, however it ends."""
        depth = len(self.open)
        self.open.append(loop)
        try:
            yield
        finally:
            del self.open[depth:]


@dataclass
class _Listening:
    """The loops of one piece of work, and who is told of them."""

    tell: Callable[[float], None]
    loops: Loops = field(default_factory=Loops)


# of the thread that does the work: parties in one process must not be told of each other's
_LISTENING: ContextVar[_Listening | None] = ContextVar("listening", default=None)


@contextmanager
def listening(tell: Callable[[float], None]) -> Iterator[None]:
    """Have `tell` called with the share that is done, after every turn of a counted loop of this thread."""
    token = _LISTENING.set(_Listening(tell))
    try:
        yield
    finally:
        _LISTENING.reset(token)


def counted(items: Sequence[T]) -> Iterator[T]:
    """Yield the items, and count how many of them are over."""
    listener = _LISTENING.get()
    if listener is None:
        yield from items
        return
    loop = Loop(len(items))
    with listener.loops.within(loop):
        for item in items:
            yield item
            loop.done += 1
            listener.tell(listener.loops.share)


@contextmanager
def stretch(start: float, stop: float) -> Iterator[None]:
    """Have the counted loops of a part of the work count as that stretch of it: one loop follows another."""
    listener = _LISTENING.get()
    with nullcontext() if listener is None else listener.loops.within(Loop(1, start=start, stop=stop)):
        yield
