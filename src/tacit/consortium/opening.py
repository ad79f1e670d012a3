"""The opening of a journal: all that must be the same for a replay to end with the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tacit.errors import LocalError

FOLDER = "give every party and run a folder of its own"
INSTALL = "install what the run began with, or start a new run"
JOB = "a changed job is a new run: give it a new id"
REMEDIES = {
    "run": FOLDER,
    "party": FOLDER,
    "roster": "use the roster that all parties agreed on, or start a new run",
    "protocol": JOB,
    "source": INSTALL,
    "data": "restore the data the run began with, or start a new run",
    "versions": INSTALL,
    "blas_threads": "pin BLAS to as many threads as before, or start a new run",
    "job": JOB,
}
SHOWN = 24  # characters of a digest that tell two apart


@dataclass(frozen=True)
class Opening:
    """What a run began with at one party; `roster`, `source` (of the protocol), `data` and `job` are digests, as text."""

    run: str
    party: str
    roster: str
    protocol: str
    source: str
    data: str
    versions: dict[str, str]
    blas_threads: int
    job: str

    def dump(self) -> bytes:
        """For the journal's first entry."""
        return msgspec.json.encode(self, order="deterministic")

    def check(self, stored: bytes, folder: object) -> None:
        """Refuse to replay under anything else than the run began with."""
        before = msgspec.json.decode(stored, type=Opening)
        for field, remedy in REMEDIES.items():
            for name, old, new in _unequal(field, getattr(before, field), getattr(self, field)):
                raise LocalError(f"the journal {folder} began with {name} {old}, this start has {new}: {remedy}")


def _unequal(name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """The first entries that differ, by name and as shown to a person."""
    if isinstance(old, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _unequal(f"{name}[{key}]", old.get(key), new.get(key))
    elif old != new:
        yield name, _shown(old), _shown(new)


def _shown(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
