"""Faces of a watch: a bar in a terminal, a line in a notebook, lines in a log; none where nobody looks."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task
from rich.table import Column
from rich.text import Text

Say = Callable[[], str]
Share = Callable[[], float]
DELAY = 2.0  # seconds before a line appears: most runs are over by then
TICK = 0.5  # seconds between two updates in a notebook
SELDOM = 10.0  # seconds between two lines of a log in which nothing new begins
SCALE = 1000  # of the bar


class Face(ABC):
    """Shows what a watch says, from `start` to `stop`."""

    @abstractmethod
    def start(self, say: Say, share: Share) -> None:
        """Begin to show what `say` returns, and `share` as a bar."""

    @abstractmethod
    def stop(self) -> None:
        """Take away what was shown."""

    def hear(self, *, new: bool) -> None:  # noqa: B027 - most faces look by themselves
        """Take note that there is news; `new` if something else is being done now."""


class Nothing(Face):
    """A face for those who asked for silence: it shows nothing."""

    def start(self, say: Say, share: Share) -> None:
        """Show nothing when a run begins."""

    def stop(self) -> None:
        """Remove nothing when a run ends."""


class _Said(ProgressColumn):
    """What a watch says at the moment it is drawn."""

    max_refresh = 0.2

    def __init__(self, say: Say) -> None:
        super().__init__(Column(no_wrap=True, overflow="ellipsis"))
        self._say = say

    def render(self, task: Task) -> Text:
        """Return the line."""
        del task
        return Text(self._say())


class _Bar(BarColumn):
    """The share that is done at the moment it is drawn."""

    def __init__(self, share: Share) -> None:
        super().__init__(bar_width=20)
        self._share = share

    def render(self, task: Task) -> Any:
        """Return the bar."""
        task.completed = SCALE * self._share()
        return super().render(task)


class Terminal(Face):
    """A line with a bar on stderr, which goes when it is over; what is printed meanwhile stands above it."""

    def __init__(self, console: Console, *, delay: float = DELAY) -> None:
        self._console, self._delay = console, delay
        self._bar: Progress | None = None
        self._lock = threading.Lock()

    def start(self, say: Say, share: Share) -> None:
        """Begin after the delay."""
        self._bar = Progress(_Bar(share), _Said(say), console=self._console, transient=True, refresh_per_second=5)
        self._bar.add_task("", total=SCALE)
        self._timer = threading.Timer(self._delay, self._show)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Remove the line."""
        with self._lock:
            self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._bar = None

    def _show(self) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.start()


class Notebook(Face):
    """A line under the cell, which goes when it is over."""

    def __init__(self, *, delay: float = DELAY) -> None:
        self._delay, self._over = delay, threading.Event()

    def start(self, say: Say, share: Share) -> None:
        """Begin after the delay."""
        del share
        self._thread = threading.Thread(target=self._show, args=(say,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Remove the line."""
        self._over.set()
        self._thread.join()

    def _show(self, say: Say) -> None:
        if self._over.wait(self._delay):
            return
        display = import_module("IPython.display").display  # there is one, or this face would not have been chosen
        shown = display({"text/plain": say()}, raw=True, display_id=True)
        while not self._over.wait(TICK):
            shown.update({"text/plain": say()}, raw=True)
        shown.update({"text/plain": ""}, raw=True)


class Log(Face):
    """A line for whatever begins, and every ten seconds."""

    def __init__(self, file: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._clock, self._last = file, clock, -SELDOM

    def start(self, say: Say, share: Share) -> None:
        """Begin with the first news."""
        del share
        self._say = say

    def stop(self) -> None:
        """Do nothing: lines of a log stay."""

    def hear(self, *, new: bool) -> None:
        """Write a line if it is time for one."""
        if new or self._clock() - self._last >= SELDOM:
            self._last = self._clock()
            print(self._say(), file=self._file or sys.stderr, flush=True)


def choose_face(verbose: bool | None, *, delay: float = DELAY) -> Face:  # noqa: FBT001 - the parameter of estimators
    """Return the face for `verbose`: None shows a line where somebody looks, True one everywhere, False none."""
    if verbose is False or not _is_first():
        return Nothing()
    if _in_notebook():
        return Notebook(delay=delay)
    console = Console(stderr=True, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return Terminal(console, delay=delay)
    return Log() if verbose else Nothing()


def _is_first() -> bool:
    """Whether this is the thread and the process that people look at: many lines at once could not be read."""
    return threading.current_thread() is threading.main_thread() and (
        multiprocessing.current_process().name == "MainProcess"
    )


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and hasattr(shell, "kernel")
