"""What a site writes down and signs of a run, however that ended: finished, stopped by anybody, withdrawn, or killed.

A run that finished leaves `audit.jsonl`. An attempt that stopped leaves a file of its own, `audit-N.jsonl`, so that a
later attempt can end with its own. A stopped attempt may have sent or received messages that no row of its ledger tells
of: the row of a message is written when its exchange is over. They follow as rows that say so
(`comparison.UNCONFIRMED`), from the journal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tacit.choreo import Roster, Row, decode
from tacit.choreo.ledger import read_rows
from tacit.consortium.audit.chain import Begin, canonical, write_audit
from tacit.consortium.audit.comparison import STOPPED, UNCONFIRMED
from tacit.consortium.jobs.answers import Start
from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.job import Job
from tacit.consortium.journal.record import Journal
from tacit.consortium.journal.store import NAME
from tacit.consortium.membership.identity import Identity

SHOWN = 200  # characters of a place that a peer may have made up


def sign_finished(folder: Folder, start: Start, identity: Identity, rows: Sequence[Row]) -> None:
    """Write the audit of a run that finished here."""
    _write(folder.path / "audit.jsonl", folder, identity, _about(folder.job, start), rows)


def sign_stopped(folder: Folder, start: Start, identity: Identity, rows: Sequence[Row] | None = None) -> None:
    """Write the audit of an attempt that stopped; without `rows`, from what the journal kept of its ledger."""
    job = start.cast(folder.job)
    journal = folder.journal_of(job)
    known = list(rows) if rows is not None else []
    if (journal / NAME).is_file():
        with closing(Journal.look(journal)) as kept:
            known = known if rows is not None else list(_pages(kept))
            known += _find_unconfirmed(kept, known, identity.name, job.roster)
    about = {**_about(folder.job, start), "attempt": str(start.attempt), **STOPPED}
    _write(folder.audit_of(start.attempt), folder, identity, about, known)


def _about(job: Job, start: Start) -> dict[str, str]:
    """Return what all sites must agree on: the job, and without whom its run was, as its coordinator signed it."""
    if start.absence is None:
        return {"job": job.digest}
    absent = ", ".join(start.absent)
    return {"job": job.digest, "without": absent, "signed by the coordinator": start.absence.signature}


def _write(path: Path, folder: Folder, identity: Identity, about: Mapping[str, str], rows: Sequence[Row]) -> None:
    write_audit(path, Begin(folder.id, identity.name, dict(about)), map(canonical, rows), identity.private.sign)


def _pages(journal: Journal) -> Iterator[Row]:
    """Yield the ledger up to the last checkpoint."""
    for page in journal.rows():
        rows, _ = decode(page)
        yield from read_rows(rows)


def _find_unconfirmed(journal: Journal, rows: Sequence[Row], me: str, roster: Roster) -> list[Row]:
    told, found = {(row.place, row.sender, row.receiver) for row in rows}, []
    for place, peer, sent in journal.moved():
        sender, receiver = (me, peer) if sent else (peer, me)
        if (place, sender, receiver) not in told:
            roles = roster.role_of(sender), roster.role_of(receiver)
            found.append(Row(place[:SHOWN], sender, receiver, *roles, _type(place), (UNCONFIRMED,), None, None))
    return found


def _type(place: str) -> str:
    """Return the message's name, which is the last part of its place."""
    return re.sub(r"#\d+$", "", place[:SHOWN].rsplit("/", 1)[-1])
