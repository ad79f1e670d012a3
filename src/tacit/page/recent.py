"""The last few things that took long to make."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any


class SupersededError(Exception):
    """Nobody waits for this any more."""


class Recent:
    """So many things by name; one is made at a time, and one that two ask for at once is made once."""

    def __init__(self, most: int) -> None:
        self._most, self._kept, self._lock = most, OrderedDict[str, Any](), threading.Lock()

    def get(self, name: str, make: Callable[[], Any], wanted: Callable[[], bool] = lambda: True) -> Any:
        """Return the thing of that name, made now if it is not here and still `wanted` when its turn comes."""
        with self._lock:
            if name not in self._kept:
                if not wanted():
                    raise SupersededError
                self._kept[name] = make()
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(name)
            return self._kept[name]
