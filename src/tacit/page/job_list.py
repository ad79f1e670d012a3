"""The jobs of a site as a list that is quick to make: a folder that has not changed is not read again."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tacit.consortium.jobs.folder import Folder
from tacit.consortium.jobs.job import is_id
from tacit.consortium.jobs.standing import standing
from tacit.consortium.jobs.states import CONSENT_NEEDED
from tacit.consortium.site.watched import SETTLED
from tacit.errors import TacitError

WITHIN = ("closed",)  # folders within a job's whose files change its state


@dataclass(frozen=True)
class JobLine:
    """A job in a list."""

    id: str
    submitter: str
    purpose: str
    protocol: str
    dataset: str
    state: str
    why: str
    since: datetime
    expires: datetime


class Kept(NamedTuple):
    """A line, and the stamp that the folder had when it was made."""

    stamp: tuple[int, ...]
    line: JobLine


class JobList:
    """All jobs in the state folder of a site."""

    def __init__(self, state: Path, *, own: bool) -> None:
        self._jobs, self._own = state / "jobs", own  # own: at an analyst, who has proposals only
        self._kept: dict[str, Kept] = {}
        self._lock = threading.Lock()

    def lines(self) -> list[JobLine]:
        """Return a line for each job that can be read, the newest first."""
        with self._lock:
            found = {name: kept for name in self._names() if (kept := self._line(name)) is not None}
            self._kept = {name: kept for name, kept in found.items() if time.time_ns() - kept.stamp[0] > SETTLED}
            return sorted((kept.line for kept in found.values()), key=lambda line: line.since, reverse=True)

    def _names(self) -> list[str]:
        return [path.name for path in self._jobs.iterdir() if is_id(path.name)] if self._jobs.is_dir() else []

    def _line(self, name: str) -> Kept | None:
        folder = self._jobs / name
        stamp, kept = _stamp(folder), self._kept.get(name)
        if kept is not None and kept.stamp == stamp and not _lapsed(kept.line):
            return kept
        try:
            found = standing(Folder(folder), own=self._own)
        except (TacitError, OSError):  # the command line says what is wrong with it; other jobs are shown all the same
            return None
        job, since = found.job, found.folder.since
        about = (job.submitter, job.purpose, job.protocol, job.dataset)
        return Kept(stamp, JobLine(job.id, *about, found.state, found.why, since, job.expires))


def _stamp(folder: Path) -> tuple[int, ...]:
    """Return what changes with the files of a job, the newest time first."""
    times = []
    for path in (folder, *(folder / name for name in WITHIN)):
        try:
            times.append(path.stat().st_mtime_ns)
        except OSError:
            times.append(0)
    return (max(times), *times)


def _lapsed(line: JobLine) -> bool:
    return line.state in CONSENT_NEEDED and datetime.now(UTC) >= line.expires
