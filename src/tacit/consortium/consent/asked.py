"""What a site was asked about its data, and what it answered: kept for good, and limited by submitter and day.

Every proposal that passes a party's rules is looked at beside its data before anybody agrees to anything, and even "it
does not fit" says something. So each such look is one line in a file, written before the answer leaves, and a submitter
gets so many a day. A job that was refused after a rehearsal, which takes this site's time, is one of them. Lines are
appended and synced; one that a crash tore is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from tacit.consortium.disk import append_line, whole_lines
from tacit.consortium.jobs.job import Job
from tacit.errors import LocalError

DAY = timedelta(days=1)
Answer = Literal["fits", "data", "refused"]
FITS: Answer = "fits"
REFUSED: Answer = "refused"  # by a rule, after a rehearsal


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer. `about` is the job's protocol and dataset; `found`, which never leaves, is what did not fit."""

    at: datetime
    submitter: str
    job: str
    about: str
    answer: Answer
    found: str = ""


class Asked:
    """The file of one site."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "asked.jsonl"

    def lines(self) -> Iterator[Line]:
        """Yield all answers, oldest first."""
        for number, line in enumerate(whole_lines(self.path, "what this site was asked"), 1):
            try:
                yield msgspec.json.decode(line, type=Line)
            except msgspec.DecodeError:
                raise LocalError(f"line {number} of {self.path} is damaged: restore the file from a backup") from None

    def count_left(self, job: Job, most: int, now: datetime) -> int:
        """Return how many jobs of the submitter, this one among them, may still be answered from the data today."""
        recent = {line.job for line in self.lines() if line.submitter == job.submitter and now - line.at < DAY}
        return max(0, most - len(recent - {job.id}))

    def note(self, job: Job, answer: Answer, found: str, now: datetime) -> None:
        """Write an answer down, before it leaves; the same one about the same job only once."""
        about = f"{job.protocol} on {job.dataset}"
        line = Line(at=now, submitter=job.submitter, job=job.id, about=about, answer=answer, found=found)
        if any((each.job, each.answer, each.found) == (line.job, line.answer, line.found) for each in self.lines()):
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        append_line(self.path, msgspec.json.encode(line), "what this site was asked")
