"""Template: how to add a protocol, shown on a small one that works: the mean of every column over all holders.

Copy this file, keep its order, and write in this docstring, before any code: the problem with numbered equations, the
roles, the threat, what is not protected, and the source.

The problem. Holder k has rows A_k with the same columns. Everyone shall know the mean of each column, and nothing else
about anybody's rows:

    n = sum_k rows(A_k),   s = sum_k 1'A_k,   mean = s / n                      (1)

Roles. Holder: has rows. Coordinator: learns s and n, publishes the mean.
Threat. Semi-honest; coalitions as in `secure_sum`. Not protected: M - 1 holders together can subtract their own parts
from (1) and learn the last one's sums if they know its row count, or if the coordinator is among them.
Source: none; it is an example.

A new protocol is this file plus: a row in `tests/conformance/cases_*.py` (with its centralised reference), a golden
ledger (`make ledgers` writes it; a person reads and approves the diff), and a leak test or an attack in `tests/leaks`.
The registry finds declarations in the rooms of `tacit.protocols`; a package of your own names an entry point of the
group `tacit.protocols`.
"""

from __future__ import annotations

import numpy as np

from tacit.arrays import F64
from tacit.choreo import At, Coordinator, Everyone, Fact, Holder, Message, Run, choreography
from tacit.choreo.declaration import Number, Parameter
from tacit.choreo.protocol import SMALL, TABLE, Cost, Declaration, Planned, Rehearsal
from tacit.errors import LocalError
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.protocols.part import Records, by_rows
from tacit.protocols.sums.secure_sum import protect, secure_sum

# 1. Messages: frozen, typed, and each says what a receiver learns from it. Without tells= the file does not import.


class Mean(
    Message, tells=Fact("means.mean", "holders", "aggregate", "column", "the mean of every column over all holders")
):
    """The mean of every column, (1)."""

    values: F64


# 2. The choreography: one function of a run, in the order the parties act. `opens` says who knows what when it is over,
#    which the single messages do not add up to by themselves.


@choreography(
    opens={
        Coordinator: Fact("means.sums", "holders", "aggregate", "column", "column sums and row count over all holders"),
        Everyone: Fact("means.of_column", "holders", "aggregate", "column", "the mean of every column"),
    }
)
def column_means(run: Run, data: At[Records], *, bits: int = 32) -> F64:
    """Tell everyone the column means."""
    by = protect(run)
    fixed = FixedPoint(bits, terms=len(run.roster[Holder]))
    total = secure_sum(run, run.local(Holder, sums, data), to=Coordinator, by=by, fixed=fixed, what="column sums")
    return run.publish(Mean, run.local(Coordinator, mean, total)).values  # published, so a plain value from here on


# 3. Steps: small pure functions on one party's own values. They return wire-form values and never keep state.


def sums(part: Records) -> F64:
    """Return the column sums, and the count as one more column."""
    return np.append(part.X.sum(axis=0), len(part.X))


def mean(total: F64) -> Mean:
    """Return the mean of every column, (1)."""
    if total[-1] < 1:
        raise LocalError("no holder has any row: there is no mean")
    return Mean(total[:-1] / total[-1])


# 4. The declaration, if jobs may name the protocol: who brings what, how it is rehearsed on invented records, what it
# costs. Parameters that other protocols have too are declared in `protocols/parameters.py`; its own stand here, as
# `parameters=`.


def estimate(planned: Planned) -> Cost:
    """Return the cost: rounds and bytes do not depend on how many records there are."""
    ledger = planned.rehearse(SMALL)
    return Cost(rounds=ledger.rounds, bytes=dict(zip(planned.roster.parties, planned.traffic(ledger), strict=True)))


BITS = Parameter("bits", Number(16, 40, whole=True), "how many binary digits stand after the point", opens=True)
COLUMN_MEANS = Declaration(column_means, TABLE, Rehearsal(by_rows, lambda _: {}, estimate), parameters=(BITS,))
