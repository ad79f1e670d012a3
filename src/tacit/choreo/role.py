"""Roles and the roster: who takes part, and as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tacit.errors import ChoreographyError, LocalError


@dataclass(frozen=True)
class Role:
    """A part in a choreography. A `single` role has exactly one party; a member role names it."""

    name: str
    single: bool = False
    party: str | None = None

    def __rshift__(self, other: Role) -> Channel:
        """`A >> B`: from every A to every (other) B."""
        return Channel(self, other)

    def __str__(self) -> str:
        return self.party or self.name


@dataclass(frozen=True)
class Channel:
    """`A >> B`."""

    source: Role
    target: Role


Everyone = Role("everyone")
Holder = Role("holder")  # holds a part of the data
Coordinator = Role("coordinator", single=True)  # solves and answers; holds no data unless a party is named
Labeller = Role("labeller", single=True)  # the holder that has the labels
Asker = Role("asker", single=True)  # receives the answer to a prediction


class Roster:
    """All parties in public order, and which of them take which role."""

    def __init__(self, roles: Mapping[Role, tuple[str, ...]]) -> None:
        names = [party for parties in roles.values() for party in parties]
        self.parties: tuple[str, ...] = tuple(dict.fromkeys(names))
        self.roles = dict(roles)
        for role, parties in roles.items():
            if len(set(parties)) != len(parties):
                raise LocalError(f"role {role.name} lists a party twice: {', '.join(parties)}; give each party its own name")
            if role.single and len(parties) != 1:
                raise LocalError(f"role {role.name} needs exactly one party, got {len(parties)}")

    def __getitem__(self, role: Role) -> tuple[str, ...]:
        """The parties of a role, in public order."""
        if role.party is not None and role.party in self.parties:
            return (role.party,)
        if role == Everyone:
            return self.parties
        if role not in self.roles:
            known = ", ".join(r.name for r in self.roles)
            raise ChoreographyError(f"nobody takes the role {role} in this run (roles: {known})")
        return self.roles[role]

    def members(self, role: Role) -> tuple[Role, ...]:
        """Each party of a role as a role of its own, in public order."""
        return tuple(Role(role.name, single=True, party=party) for party in self[role])

    def role_of(self, party: str) -> str:
        """The name of the first role a party takes."""
        return next(role.name for role, parties in self.roles.items() if party in parties)
