"""What a site was asked about its data, and what it answered: kept for good, and limited by submitter and day.

Every proposal that passes a party's rules is looked at beside its data before anybody agrees to anything, and even "it does not
fit" says something. So each such look is one line in a file, written before the answer leaves, and a submitter gets so many a day.
Lines are appended and synced; one that a crash tore is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from tacit.consortium.job import Job
from tacit.errors import LocalError

DAY = timedelta(days=1)
Answer = Literal["fits", "data"]
FITS: Answer = "fits"


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
        """All answers, oldest first."""
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_bytes().split(b"\n")[:-1], 1):
            try:
                yield msgspec.json.decode(line, type=Line)
            except msgspec.DecodeError:
                raise LocalError(f"line {number} of {self.path} is damaged: restore the file from a backup") from None

    def left(self, job: Job, most: int, now: datetime) -> int:
        """How many of the jobs of its submitter, this one among them, may still be answered from the data today, of so many."""
        recent = {line.job for line in self.lines() if line.submitter == job.submitter and now - line.at < DAY}
        return max(0, most - len(recent - {job.id}))

    def note(self, job: Job, answer: Answer, found: str, now: datetime) -> None:
        """Write an answer down, before it leaves; the same one about the same job only once."""
        line = Line(at=now, submitter=job.submitter, job=job.id, about=f"{job.protocol} on {job.dataset}", answer=answer, found=found)
        if not any((each.job, each.answer, each.found) == (line.job, line.answer, line.found) for each in self.lines()):
            self._append(line)

    def _append(self, line: Line) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._mend()
        try:
            with self.path.open("ab") as file:
                file.write(msgspec.json.encode(line) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LocalError(f"{self.path} cannot be written ({error.strerror}): free some space") from error
        self.path.chmod(0o600)

    def _mend(self) -> None:
        """Drop what a crash left of a last line."""
        if self.path.exists():
            data = self.path.read_bytes()
            if data and not data.endswith(b"\n"):
                os.truncate(self.path, data.rfind(b"\n") + 1)
