"""What a coordinator sees of a run: every sum that it reads, and every message that is published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.choreo import Coordinator, Holder, Roster, decode_as
from tacit.crypto.pads.entropy import RootEntropy
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.sums.secure_sum import Masked
from tacit.runtimes.together import Together

SITE = "coordinator"
FIXED = FixedPoint(32)


class Tapped(Together):
    """Keeps what the coordinator reads: every sum, with its place, and the bytes of every published message."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sums: list[tuple[str, Any]] = []
        self.published: list[tuple[str, bytes]] = []

    def _exchange(self, place: str, outbox: Any, wanted: Any, missing: int | None) -> Any:
        name = place.rsplit("/", 1)[-1].split("#", maxsplit=1)[0]
        to_site = {s: frames for (s, r), frames in outbox.items() if r == SITE}
        if name == "Masked":
            masked = [decode_as(Masked, frames) for frames in to_site.values()]
            words = np.sum([m.words for m in masked], axis=0, dtype=np.uint64)[:-1]
            self.sums.append((place, FIXED.decode(words).reshape(masked[0].shape)))
        elif len(wanted) > len(to_site):
            self.published += [(place, frames.join()) for frames in to_site.values()]
        return super()._exchange(place, outbox, wanted, missing)


def played(play: Callable[[Tapped], Any], holders: tuple[str, ...]) -> tuple[Tapped, Any]:
    """Run a choreography under observation."""
    roster = Roster({Holder: holders, Coordinator: (SITE,)})
    with Tapped(roster, job=b"job", entropy=RootEntropy(roster.parties, b"job")) as run:
        return run, play(run)
