"""Loops as machine code, by numba; import modules that use it where they are called.

numba takes a second to import, which nobody pays who does not need it. What is compiled is kept on disk for the next
process, if there is a place for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit, types

NUMBERS = types.Array(types.int64, 1, "C", readonly=True)
WORD_LIST = types.Array(types.uint64, 1, "C", readonly=True)
WORD_TABLE = types.Array(types.uint64, 2, "C", readonly=True)
NEW_WORD_LIST = types.Array(types.uint64, 1, "C")
NEW_WORD_TABLE = types.Array(types.uint64, 2, "C")
Word = Any  # an unsigned word in a loop, which numba types


def compiled(result: Any, *arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that compiles a loop for these types; no bound of an array is checked inside."""

    def compile_loop(loop: Callable[..., Any]) -> Callable[..., Any]:
        made: Callable[..., Any]
        try:
            made = njit(result(*arguments), nogil=True, cache=True)(loop)
        except RuntimeError:  # nowhere to keep it: compile in every process
            made = njit(result(*arguments), nogil=True)(loop)
        return made

    return compile_loop


def inlined(part: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function part of the loops that call it."""
    made: Callable[..., Any] = njit(inline="always")(part)
    return made
