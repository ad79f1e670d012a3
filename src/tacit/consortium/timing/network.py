"""The time of a run between sites: rounds at a round trip each, bytes at a rate, and the work of the slowest.

Holders work at the same time, and the coordinator after them:

    s = p_round e + r (t + p_round d) + max_i B_i / v + p_array (max over holders of w_i + w of the coordinator)     (1)

with e what a job takes before its first message, t the seconds of a word to the message server and back, d what a
message takes that is kept before it is sent, and v bytes a second at the busiest site.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.choreo.protocol import Cost
from tacit.choreo.role import Coordinator, Holder, Roster
from tacit.consortium.timing.machine import Machine

BEGIN = 0.25  # seconds on a usual machine in which a site checks a job, loads what it needs, and writes its end
KEPT = 8.0e-3  # seconds on a usual machine in which the messages of a round are written to the disk, and acknowledged


@dataclass(frozen=True)
class Link:
    """What lies between the sites: seconds there and back, and bytes a second at the busiest one."""

    round_trip: float = 0.05
    rate: float = 12.5e6

    def least_seconds(self, cost: Cost) -> float:
        """Return how long the messages of a run are under way at least."""
        return cost.rounds * self.round_trip + max(cost.bytes.values(), default=0) / self.rate

    def seconds(self, cost: Cost, roster: Roster, machine: Machine) -> float:
        """Return how long a run takes between sites that are all like this machine: (1)."""
        slowest = max(machine.computing(cost, party) for party in roster[Holder])
        own = machine.computing(cost, roster[Coordinator][0])
        return self.least_seconds(cost) + count_messages(cost, machine) + slowest + own


def busy(cost: Cost, party: str, machine: Machine) -> float:
    """Return the CPU time of a site in a run between sites: the job, the messages of its rounds, and its own work."""
    return count_messages(cost, machine) + machine.computing(cost, party)


def count_messages(cost: Cost, machine: Machine) -> float:
    """Return the seconds in which a site is busy with a job and the messages of its rounds."""
    return machine.rounds * (BEGIN + cost.rounds * KEPT)
