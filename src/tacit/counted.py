"""Loops that are counted while they run, for whoever waits for a long piece of work.

`for block in counted(blocks):` is `for block in blocks:` to the work itself. It tells nobody anything unless somebody
listens, and nothing but which share of the turns is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

# of the thread that does the work: parties in one process must not be told of each other's
_TELL: ContextVar[Callable[[float], None] | None] = ContextVar("listening", default=None)


@contextmanager
def listening(tell: Callable[[float], None]) -> Iterator[None]:
    """Have `tell` called with the share that is done, after every turn of a counted loop of this thread."""
    token = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(token)


def counted(items: Sequence[T]) -> Iterator[T]:
    """Yield the items, and count how many of them are over."""
    tell = _TELL.get()
    for done, item in enumerate(items, 1):
        yield item
        if tell is not None:
            tell(done / len(items))
