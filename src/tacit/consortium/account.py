"""What a site writes down and signs of a run, however that ended: finished, stopped by anybody, withdrawn, or killed.

A run that finished leaves `audit.jsonl`. An attempt that stopped leaves a file of its own, `audit-N.jsonl`, so that a later
attempt can end with its own. A stopped attempt may have sent or received messages that no row of its ledger tells of: the
row of a message is written when its exchange is over. They follow as rows that say so (`comparison.UNCONFIRMED`), from the journal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tacit.choreo import Roster, Row, decode
from tacit.consortium.audit import Chain, canonical
from tacit.consortium.chain import Reading
from tacit.consortium.comparison import STOPPED, UNCONFIRMED
from tacit.consortium.folder import Folder
from tacit.consortium.identity import Identity
from tacit.consortium.job import Job
from tacit.consortium.journal import Journal
from tacit.consortium.store import NAME

SHOWN = 200  # characters of a place that a peer may have made up


def sign_finished(folder: Folder, job: Job, identity: Identity, rows: Sequence[Row]) -> None:
    """Write the audit of a run that finished here."""
    _write(folder.path / "audit.jsonl", job, identity, {"job": job.digest}, rows)


def sign_stopped(folder: Folder, job: Job, identity: Identity, attempt: int, rows: Sequence[Row] | None = None) -> Path:
    """Write the audit of an attempt that stopped; without `rows`, from what the journal kept of its ledger."""
    journal = folder.path / "journal"
    known = list(rows) if rows is not None else []
    if (journal / NAME).is_file():
        with closing(Journal.look(journal)) as kept:
            known = known if rows is not None else list(_pages(kept))
            known += _unconfirmed(kept, known, identity.name, job.roster)
    for draft in folder.path.glob(f"audit-{attempt}*.jsonl"):
        if Reading.of(draft).signature is None:  # of a process that was killed while it wrote
            draft.unlink()
    target = folder.audit_of(attempt)
    _write(target, job, identity, {"job": job.digest, "attempt": str(attempt), **STOPPED}, known)
    return target


def _write(path: Path, job: Job, identity: Identity, about: Mapping[str, str], rows: Sequence[Row]) -> None:
    with Chain.open(path, run=job.id, party=identity.name, about=about) as chain:
        for row in rows:
            chain.append(canonical(row, row.digest))
        chain.sync()
        chain.sign(identity.private.sign)


def _pages(journal: Journal) -> Iterator[Row]:
    """The ledger up to the last checkpoint."""
    for page in journal.rows():
        rows, _ = decode(page)
        yield from (Row(*row) for row in rows)


def _unconfirmed(journal: Journal, rows: Sequence[Row], me: str, roster: Roster) -> list[Row]:
    told = {(row.place, row.sender, row.receiver) for row in rows}
    moved = ((place, *((me, peer) if sent else (peer, me))) for place, peer, sent in journal.moved())
    return [
        Row(place[:SHOWN], sender, receiver, roster.role_of(sender), roster.role_of(receiver), _type(place), UNCONFIRMED, None, None)
        for place, sender, receiver in moved
        if (place, sender, receiver) not in told
    ]


def _type(place: str) -> str:
    """The message's name, which is the last part of its place."""
    return re.sub(r"#\d+$", "", place[:SHOWN].rsplit("/", 1)[-1])
