"""Secret randomness as a run sees it; `crypto.pads.entropy` supplies it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Protocol

from tacit.arrays import U64
from tacit.crypto.pads.entropy import Seeds


class Pads(Protocol):
    """The pads of one party under one tag, by the name of their seed."""

    @property
    def seeds(self) -> Seeds:
        """The seeds by name."""
        ...

    def put_on(self, name: Hashable, words: int) -> Iterator[U64]:
        """Return the pad in chunks, to be added to a value; once only."""
        ...

    def take_off(self, name: Hashable, words: int) -> Iterator[U64]:
        """Return the same pad, to be subtracted again."""
        ...


class Entropy(Protocol):
    """Where all secret randomness comes from; the one place at which a test may inject its own."""

    def seed(self, party: str, place: str) -> bytes:
        """Return 32 bytes, a PRF of the party's root key, the run and the place."""
        ...

    def lasting(self, party: str) -> bytes | None:
        """Return 32 bytes that are the same in all runs of the party; None if it keeps none."""
        ...

    def pads(self, party: str, seeds: Seeds, tag: bytes) -> Pads:
        """Return pads of the party under these seeds, bound to the tag; each can be put on once."""
        ...
