"""The values of a request's parameters: those that its author chose, and how they differ from the defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tacit.choreo.declaration import plain
from tacit.consortium.jobs.rehearsal import takes
from tacit.consortium.jobs.requests import Asked
from tacit.registry import is_declared, parameter_of

TRIED = ("settings",)  # of searches


def values_of(asked: Asked) -> dict[str, Any]:
    """Return every parameter of a request as a job writes it: given, or by default."""
    known = [name for name in takes(asked.protocol) if is_declared(asked.protocol, name)]
    return {**{name: default_of(asked.protocol, name) for name in known}, **asked.params}


def chosen_values(asked: Asked) -> Iterator[tuple[str, Any]]:
    """Yield every parameter that somebody chooses, and those of each candidate of a search."""
    for name, value in values_of(asked).items():
        if not parameter_of(asked.protocol, name).follows:
            yield name, value
    for name in TRIED:
        for candidate in asked.params.get(name, ()):
            yield from ((name, value) for name, value in candidate["pairs"])


def default_of(protocol: str, name: str) -> Any:
    """Return the default in the protocol's signature as a job writes it; None if there is none."""
    known = takes(protocol).get(name)
    return None if known is None or known.default is known.empty else plain(name, known.default)


def is_default(protocol: str, name: str, value: Any) -> bool:
    """Return whether the protocol has a default for the parameter, and this is it."""
    known = takes(protocol).get(name)
    if known is None:  # of the protection, and nothing this protocol takes
        return True
    return known.default is not known.empty and value == default_of(protocol, name)
