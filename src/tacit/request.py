"""A request: a protocol, who brings what along for it, and its parameters.

It is a value, which is made, looked at and compared before it is run. An input says which role brings it, and from
where. None of them holds a record, but for `Values`, which exist only where all parties are in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacit.choreo import Holder, Role

Protocol = str | Callable[..., Any]


@dataclass(frozen=True)
class Records:
    """An input that stands for each party's own table."""

    role: Role = Holder


@dataclass(frozen=True)
class Ids:
    """The ids of the records in each party's own table."""

    role: Role = Holder


@dataclass(frozen=True)
class Rules:
    """How much each party's own policy lets a model give away."""

    role: Role = Holder


@dataclass(frozen=True, eq=False, repr=False)
class Beside:
    """Each party's own table in another federation of the same run, such as the records that it held out."""

    federation: Any
    role: Role = Holder


@dataclass(frozen=True, eq=False)
class Left:
    """What an earlier request left at the sites.

    of: that request, earlier in the same plan; or the id of a job that has ended.
    name: which of the things that it left; None if it left one.
    """

    role: Role
    of: Request | str
    name: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """An input given as values by party, in this process."""

    role: Role
    entries: Mapping[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Computed:
    """What each party makes of other inputs, alone, by a step that everybody knows: nothing is sent.

    step: is given the name of the party, and its own of each input.
    """

    role: Role
    step: Callable[..., Any]
    of: tuple[Input, ...]


Input = Records | Ids | Rules | Beside | Left | Values | Computed


@dataclass(frozen=True, eq=False, repr=False)
class Request:
    """What a federation is asked to run.

    protocol: the name of a registered protocol, or a choreography.
    inputs: what is brought along, under the names that the protocol has for it.
    params: its other parameters.
    seed: what the randomness of a simulation follows from, so that it can be repeated; None: fresh randomness. Runs
    between organisations never look at it.
    """

    protocol: Protocol
    inputs: Mapping[str, Input] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None

    @property
    def name(self) -> str:
        """The name of the protocol."""
        return str(getattr(self.protocol, "__name__", self.protocol))

    def with_params(self, **params: Any) -> Request:
        """Return the same request with other or more parameters."""
        return replace(self, params={**self.params, **params})

    def with_inputs(self, **inputs: Input) -> Request:
        """Return the same request with other or more inputs."""
        return replace(self, inputs={**self.inputs, **inputs})

    def __repr__(self) -> str:
        brought = ", ".join(f"{name}: {type(each).__name__} of {each.role.name}" for name, each in self.inputs.items())
        return f"<Request: {self.name}({brought}); parameters {', '.join(self.params) or 'none'}>"
