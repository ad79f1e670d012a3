"""The values of a job's parameters: those that its author chose, and how they differ from the defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tacit.consortium.job import Job, plain
from tacit.consortium.rehearsal import takes
from tacit.protocols.parameters import PARAMETERS

BY_SECURE_SUMS = ("method",)  # a policy lists these under a key of their own


def values_of(job: Job) -> dict[str, Any]:
    """Every parameter of the job's protocol as a job writes it: given, or by default."""
    protection = msgspec.structs.asdict(job.protection)
    given = {**job.params, **{name: value for name, value in protection.items() if name in takes(job.protocol) or value is not None}}
    return {**{name: default_of(job.protocol, name) for name in takes(job.protocol)}, **given}


def chosen_values(job: Job) -> Iterator[tuple[str, Any]]:
    """Yield every parameter that somebody chooses, and those of each candidate of a search."""
    for name, value in values_of(job).items():
        if not PARAMETERS[name].follows and name not in BY_SECURE_SUMS:
            yield name, value
    for candidate in job.params.get("candidates", ()):
        yield from ((name, value) for name, value in candidate["pairs"])


def default_of(protocol: str, name: str) -> Any:
    """The default in the protocol's signature as a job writes it; None if there is none."""
    known = takes(protocol).get(name)
    return None if known is None or known.default is known.empty else plain(name, known.default)


def is_default(protocol: str, name: str, value: Any) -> bool:
    """Whether the protocol has a default for the parameter, and this is it."""
    known = takes(protocol).get(name)
    if known is None:  # of the protection, and nothing this protocol takes
        return True
    return known.default is not known.empty and value == default_of(protocol, name)
