"""Roles and the roster: who takes part, and as what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import ChoreographyError, LocalError


@dataclass(frozen=True)
class Role:
    """A part in a choreography. A `single` role has exactly one party; a member role names it."""

    name: str
    single: bool = False
    party: str | None = None

    def __rshift__(self, other: Role) -> Channel:
        """Return the channel `A >> B`, from every A to every (other) B."""
        return Channel(self, other)

    def __str__(self) -> str:
        return self.party or self.name


@dataclass(frozen=True)
class Channel:
    """From every party of one role to every (other) party of another: `A >> B`."""

    source: Role
    target: Role


Everyone = Role("everyone")
Holder = Role("holder")  # holds a part of the data
Coordinator = Role("coordinator", single=True)  # solves and answers; holds no data unless a party is named
Labeller = Role("labeller", single=True)  # the holder that has the labels
Asker = Role("asker", single=True)  # receives the answer to a prediction
Site = Role("site")  # every holder, whether it computes or lets a committee of holders compute for it
Giver = Role("giver")  # a site for which a committee computes
Absent = Role("absent")  # held a part of the data, and was left out of the run


class Roster:
    """All parties in public order, and which of them take which role."""

    def __init__(self, roles: Mapping[Role, tuple[str, ...]]) -> None:
        names = [party for parties in roles.values() for party in parties]
        self.parties: tuple[str, ...] = tuple(dict.fromkeys(names))
        self.roles = dict(roles)
        self._first: dict[str, str] = {}
        for role, parties in roles.items():
            self._first = {**dict.fromkeys(parties, role.name), **self._first}
        for role, parties in roles.items():
            if len(set(parties)) != len(parties):
                raise LocalError(
                    f"role {role.name} lists a party twice: {', '.join(parties)}; give each party its own name"
                )
            if role.single and len(parties) != 1:
                raise LocalError(f"role {role.name} needs exactly one party, got {len(parties)}")

    def __getitem__(self, role: Role) -> tuple[str, ...]:
        """Return the parties of a role, in public order."""
        found = self.roles.get(role)
        if found is not None:
            return found
        if role.party is not None and role.party in self.parties:
            return (role.party,)
        if role == Everyone:
            return self.parties
        if role in (Site, Giver):
            return self[Holder] if role == Site else ()
        known = ", ".join(r.name for r in self.roles)
        raise ChoreographyError(f"nobody takes the role {role} in this run (roles: {known})")

    @property
    def absent(self) -> tuple[str, ...]:
        """Who was left out of the run, in the order in which that happened."""
        return self.roles.get(Absent, ())

    def without(self, absent: Sequence[str]) -> Roster:
        """Return the roster of a run that begins without these holders, which hear nothing of it."""
        kept = self.leave_out(absent)
        kept.parties = tuple(party for party in self.parties if party not in absent)
        return kept

    def leave_out(self, absent: Sequence[str]) -> Roster:
        """Return the roster without these holders; they hear what everybody hears, should they come back."""
        held = tuple(party for party in self[Holder] if party not in absent)
        left = Roster({**self.roles, Holder: held, Absent: (*self.absent, *absent)})
        left.parties = self.parties  # in the public order, which pads and rings go by
        return left

    def seat(self, members: Sequence[str]) -> Roster:
        """Return the roster in which some holders compute for all of them."""
        sites = self[Holder]
        givers = tuple(party for party in sites if party not in members)
        made = Roster({**self.roles, Holder: tuple(members), Giver: givers, Site: sites})
        made._first |= dict.fromkeys(givers, Giver.name)
        made.parties = self.parties
        return made

    def members(self, role: Role) -> tuple[Role, ...]:
        """Return each party of a role as a role of its own, in public order."""
        return tuple(Role(role.name, single=True, party=party) for party in self[role])

    def role_of(self, party: str) -> str:
        """Return the name of the first role a party takes."""
        return self._first[party]
