"""Jobs that ended before they started: which there are at a site, and which of them are too many.

Whoever may submit can have any number of jobs refused, and each leaves a folder. So of each submitter only the newest
are kept. A job that was started is none of these: it opened something, or could have, and its audits stay.
"""

from __future__ import annotations

from datetime import datetime


class EndedJobs:
    """Their ids, by submitter."""

    def __init__(self) -> None:
        self._by: dict[str, dict[str, datetime]] = {}  # of each submitter, when each of its jobs ended
        self._submitters: dict[str, str] = {}

    def submitter(self, job: str) -> str | None:
        """Return who submitted a job; None if it is none of these."""
        return self._submitters.get(job)

    def add(self, job: str, submitter: str, at: datetime) -> None:
        """Note a job that ended."""
        self._submitters[job] = submitter
        self._by.setdefault(submitter, {})[job] = at

    def drop(self, job: str) -> None:
        """Forget a job that was removed."""
        self._by.get(self._submitters.pop(job, ""), {}).pop(job, None)

    def surplus(self, submitter: str, most: int) -> list[str]:
        """Return the oldest jobs of a submitter beyond so many."""
        jobs = self._by.get(submitter, {})
        return sorted(jobs, key=jobs.__getitem__)[:-most] if len(jobs) > most else []
