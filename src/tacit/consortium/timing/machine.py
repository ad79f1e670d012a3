"""What a machine does: a short measurement of what protocols are made of, against a usual machine.

    round     a secure sum between three holders in one process, with keys, pads, messages and ledger, for each round
    array     a kernel value for each cell of a table, a sort of its rows, and a product of matrices

Both are CPU time, so that other programs on the machine change little. A run that is simulated takes

    s = p_round r (a + b m) + p_array sum_i w_i                                                                      (1)

with r rounds between m holders, and the work w_i of each party; p are the paces of this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import msgspec
import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Holder, Roster, Run
from tacit.choreo.protocol import Cost
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.sums.secure_sum import protect, secure_sum
from tacit.registry import execute_together

# of a usual machine
STEP, MESSAGE = 0.5e-3, 0.31e-3  # seconds of a round of messages, and of each holder in it: a and b of (1)
ROUND, ARRAY = 2.75e-3, 1.95e-3  # seconds of the two measurements below
REPEATED = 15  # times; the quickest counts
ROWS, COLUMNS, SUMS = 400, 100, 5


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many times as long as on a usual machine a round of messages takes here, and a step over an array."""

    rounds: float = 1.0
    arrays: float = 1.0

    def messages(self, cost: Cost) -> float:
        """Return the seconds that one process is busy with the rounds of a run between all its parties."""
        return self.rounds * cost.rounds * (STEP + MESSAGE * max(0, len(cost.bytes) - 1))

    def computing(self, cost: Cost, party: str) -> float:
        """Return the seconds of a party's own work."""
        return self.arrays * 1e-9 * cost.work.get(party, 0)

    def simulate(self, cost: Cost) -> float:
        """Return the seconds of a run in this process, which does the work of all parties: (1)."""
        return self.messages(cost) + sum(self.computing(cost, party) for party in cost.bytes)


@cache
def measure_machine() -> Machine:
    """Return what this machine does; it takes a tenth of a second, once in a process."""
    return look_at_machine()


def look_at_machine() -> Machine:
    """Return what this machine does now; other programs that share its caches change it from one moment to the next."""
    return Machine(rounds=_quickest(_play_sums) / ROUND, arrays=_quickest(_arrays()) / ARRAY)


def _quickest(work: Callable[[], None]) -> float:
    """Return the CPU time of the quickest of a few times."""
    took = []
    for _ in range(REPEATED):
        began = time.thread_time()
        work()
        took.append(time.thread_time() - began)
    return min(took)


def _play_sums() -> None:
    roster = Roster({Holder: ("a", "b", "c"), Coordinator: ("site",)})

    def sums(run: Run, data: At[F64]) -> None:
        by = protect(run, to=Coordinator)
        for _ in range(SUMS):
            secure_sum(run, data, to=Coordinator, by=by, fixed=FixedPoint(32, terms=3), what="invented numbers")

    execute_together(roster, sums, {"data": (Holder, dict.fromkeys(roster[Holder], np.ones(8)))}, {})


def _arrays() -> Callable[[], None]:
    """Return the measurement of arrays; memory is taken before, since new pages take as long as the work."""
    table = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    gram, kernel = np.zeros((ROWS, ROWS)), np.zeros((ROWS, ROWS))

    def passes() -> None:
        np.matmul(table, table.T, out=gram)
        np.negative(np.abs(gram, out=kernel), out=kernel)
        np.exp(kernel, out=kernel)
        gram.sort(axis=0)

    return passes
