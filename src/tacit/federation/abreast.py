"""What is computed of every party's part before and after a run: of all parts at once where they are long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tacit.federation.part import Part
from tacit.scratch import is_on_disk

T = TypeVar("T")
LONG = 1 << 20  # rows of all parts from which threads are worth their start


def map_parts(function: Callable[[str, Part], T], parts: Mapping[str, Part]) -> dict[str, T]:
    """Return a function of every party's name and part.

    NumPy lets other threads go on while it works on long arrays. Parts on disk come one after the other, so that no
    more than one of them is in memory.
    """
    rows = sum(len(part.X) for part in parts.values())
    if rows < LONG or any(is_on_disk(part.X) for part in parts.values()):
        return {party: function(party, part) for party, part in parts.items()}
    with ThreadPoolExecutor(len(parts)) as pool:
        return dict(zip(parts, pool.map(function, parts, parts.values()), strict=True))
