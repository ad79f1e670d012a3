"""A watch: whoever waits for runs is told by one line what is being done, and how far it is.

with watching("SVC", verbose):     # a line, unless there is one already; then it says SVC meanwhile
federation.run(request)           # every run tells the watch of the thread that asked for it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

from tacit.choreo.progress import AtStep, Listener, Progress
from tacit.errors import short_warnings
from tacit.progress.faces import DELAY, Face, Nothing, choose_face


class Watch:
    """Hears how far runs are, and says so in one line.

    steps: of how many runs or other pieces of work a bar is made; those that are over move it on by one.
    """

    def __init__(self, face: Face, *, steps: int = 1) -> None:
        self._face, self._steps, self._over = face, steps, 0
        self.names: list[str] = []
        self._last = Progress()
        self._planned: tuple[str, ...] = ()
        self.step = AtStep()

    @property
    def silent(self) -> bool:
        """Whether nothing is shown."""
        return isinstance(self._face, Nothing)

    def begin_run(self) -> None:
        """Begin to wait for another run."""
        self._last = Progress()

    def hear(self, progress: Progress) -> None:
        """Take the news of the run."""
        new = (progress.step, progress.phase) != (self._last.step, self._last.phase)
        self._last = progress
        self._face.hear(new=new)

    @contextmanager
    def in_steps(self, names: Sequence[str]) -> Iterator[None]:
        """Say which steps are ahead; of steps within each other the outermost ones are told."""
        if self._planned:
            yield
            return
        self._planned = tuple(names)
        try:
            yield
        finally:
            self._planned, self.step = (), AtStep()

    def begin_step(self, name: str) -> None:
        """Say that a step begins, if it is one of those that are ahead."""
        if name in self._planned:
            self.step = AtStep(self._planned.index(name) + 1, len(self._planned), name)

    def end_step(self) -> None:
        """Move the bar on to the end of a step."""
        self._over += 1
        self.begin_run()

    def say(self) -> str:
        """Return the line."""
        return describe(self._last, ", ".join(filter(None, self.names)))

    def share(self) -> float:
        """Return how much of all steps is done."""
        return min(1.0, (self._over + self._last.done) / self._steps)

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the line meanwhile; a warning is one line above it."""
        with nullcontext() if self.silent else short_warnings():
            self._face.start(self.say, self.share)
            try:
                yield
            finally:
                self._face.stop()


# of the thread that asks for runs
_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching(
    what: str,
    verbose: bool | None = None,  # noqa: FBT001 - as estimators have it
    *,
    steps: int = 1,
    delay: float = DELAY,
) -> Iterator[Watch]:
    """Show a line while runs go on; within another watch its line says what is being done here.

    verbose: None shows a line after `delay` seconds where somebody looks, True also in a log, False none.
    """
    outer = _WATCH.get()
    apart = outer is None or verbose is False or (verbose and outer.silent)
    watch = Watch(choose_face(verbose, delay=delay), steps=steps) if outer is None or apart else outer
    token = _WATCH.set(watch)
    watch.names.append(what)
    try:
        with nullcontext() if watch is outer else watch.shown():
            yield watch
    finally:
        watch.names.pop()
        _WATCH.reset(token)


def begin_step(name: str) -> None:
    """Say to the watch of this thread, if there is one, that a step begins."""
    if (watch := _WATCH.get()) is not None:
        watch.begin_step(name)


def find_step() -> AtStep:
    """Return which step is being done, as the watch of this thread knows."""
    watch = _WATCH.get()
    return AtStep() if watch is None else watch.step


@contextmanager
def listen_to(what: str, own: Listener | None) -> Iterator[Listener]:
    """Return who is told of a run: the caller's own listener, and the watch, which there is without one too."""
    outer = _WATCH.get()
    with nullcontext(outer) if outer else watching(what, None if own is None else False) as watch:
        watch.begin_run()

        def tell(progress: Progress) -> None:
            watch.hear(progress)
            if own is not None:
                own(progress)

        yield tell


def describe(progress: Progress, what: str = "") -> str:
    """Return how far a run is, in a few words, such as "SVC: round 12 of 61, gap 0.03"."""
    parts = [str(progress.step)] if progress.step.of else []
    parts += [progress.phase] if progress.phase else []
    of = f" of {progress.rounds}" if progress.rounds else ""
    parts += [f"round {progress.round}{of}"] if progress.round or progress.rounds else []
    parts += [f"{progress.share:.0%} of this step"] if 0 < progress.share < 1 else []
    parts += [f"gap {progress.gap:.2g}"] if progress.gap is not None else []
    parts += [progress.moved] if progress.moved else []
    return ": ".join(each for each in (what, ", ".join(parts)) if each)
