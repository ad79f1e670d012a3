"""The opening of a journal: all that must be the same for a replay to end with the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import msgspec

from tacit.errors import LocalError

FOLDER = "give every party and run a folder of its own"
INSTALL = "install what the run began with, or start a new run"
JOB = "a changed job is a new run: give it a new id"
BY_DATE = "let a query select by what does not change, such as a date that has passed"
SHOWN = 24  # characters of a digest that tell two apart


@dataclass(frozen=True)
class Opening:
    """What a run began with at one party.

    `roster`, `source` (of the protocol), `data` and `job` are digests, as text.
    """

    run: Annotated[str, FOLDER]
    party: Annotated[str, FOLDER]
    roster: Annotated[str, "use the roster that all parties agreed on, or start a new run"]
    protocol: Annotated[str, JOB]
    source: Annotated[str, INSTALL]
    data: Annotated[str, f"restore the data the run began with, or start a new run; {BY_DATE}"]
    versions: Annotated[dict[str, str], INSTALL]
    blas_threads: Annotated[int, "pin BLAS to as many threads as before, or start a new run"]
    job: Annotated[str, JOB]

    def dump(self) -> bytes:
        """For the journal's first entry."""
        return msgspec.json.encode(self, order="deterministic")

    def check(self, stored: bytes, folder: object) -> None:
        """Refuse to replay under anything else than the run began with."""
        before = msgspec.json.decode(stored, type=Opening)
        for field, kind in get_type_hints(Opening, include_extras=True).items():
            for name, old, new in _unequal(field, getattr(before, field), getattr(self, field)):
                (remedy,) = kind.__metadata__
                raise LocalError(f"the journal {folder} began with {name} {old}, this start has {new}: {remedy}")


def _unequal(name: str, old: Any, new: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the first entries that differ, by name and as shown to a person."""
    if isinstance(old, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _unequal(f"{name}[{key}]", old.get(key), new.get(key))
    elif old != new:
        yield name, _show(old), _show(new)


def _show(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
