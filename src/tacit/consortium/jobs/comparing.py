"""What a job over columns or cells plays before its protocol: whether row k is the same record at every holder.

A job that says `aligned = true` leaves that out: its author vouches for it, and people read so before they agree.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from tacit.choreo import Holder, Ledger, Roster, Run
from tacit.choreo.protocol import Cost
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.rehearsal import cast, cost_of, disclosure_of
from tacit.protocols.align.same_records import compare_records
from tacit.registry import PROTOCOLS, execute_together

DIGEST = 32  # bytes


def compares_records(job: Job) -> bool:
    """Return whether a job begins with a comparison: where tables are put side by side, and nobody vouches for it."""
    return job.partition != "horizontal" and PROTOCOLS[job.protocol].reads_table and not job.aligned


def compare(run: Run, job: Job, own: dict[str, bytes]) -> None:
    """Play the comparison, if the job begins with one; `own` is a digest of the ids of the holder that is here."""
    if compares_records(job):
        compare_records(run, run.hold(Holder, own))


def disclose(job: Job) -> str:
    """Return the ledger template of the whole run of a job, as it is rehearsed here."""
    protocol = disclosure_of(job.protocol, job.arguments, job.roster)
    if not compares_records(job):
        return protocol
    return protocol + _rehearse(tuple(cast(job.roster).roles.items())).template()


def estimate(job: Job, records: int) -> Cost:
    """Return what the whole run of a job costs."""
    cost = cost_of(job.protocol, job.arguments, job.roster, records)
    if not compares_records(job):
        return cost
    few = cast(job.roster)
    ledger, pairs = _rehearse(tuple(few.roles.items())), len(few[Holder]) * len(few.parties)
    each = -(-ledger.bytes // pairs) * len(job.roster.parties)  # a holder has as many messages as there are others
    more = {party: size + 2 * each for party, size in cost.bytes.items()}
    return msgspec.structs.replace(cost, rounds=cost.rounds + ledger.rounds, bytes=more)


@lru_cache(maxsize=16)
def _rehearse(roles: tuple[Any, ...]) -> Ledger:
    roster = Roster(dict(roles))
    same: Any = {"ids": (Holder, dict.fromkeys(roster[Holder], bytes(DIGEST)))}
    return execute_together(roster, compare_records, same, {}).ledger
