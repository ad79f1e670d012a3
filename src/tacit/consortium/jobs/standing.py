"""The jobs in a site's folder, and how far each is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from tacit.consortium.jobs.folder import Folder, folders, state_of
from tacit.consortium.jobs.job import Job
from tacit.consortium.jobs.states import OVER
from tacit.consortium.site.settings import AnalystSettings, Settings
from tacit.errors import TacitError, describe_stop
from tacit.report.words import cost_of

WAITS = {
    "proposed": "waits for this site's checks",
    "checked": "waits for the checks of the others",
    "pending": "waits for people here",
    "accepted": "waits for the others",
    "through": "waits for the others to end",
}

HELD = "waits for people here to release its result; until then its analyst gets nothing"


@dataclass(frozen=True)
class Standing:
    """One job at this site."""

    folder: Folder
    job: Job
    state: str
    why: str

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it here by itself; a run that stopped can be resumed until it is purged."""
        return self.state in {*OVER, "stopped", "submitted"}


def read_jobs(settings: Settings, known: Collection[str] = ()) -> tuple[list[Standing], list[str]]:
    """Return all jobs of the site whose files can be read, but the known ones, and a line about each of the others."""
    found, lines = [], []
    for folder in folders(settings.state, lambda job: job not in known):
        try:
            found.append(standing(folder, own=isinstance(settings, AnalystSettings)))
        except (TacitError, OSError) as error:
            lines.append(f"job {folder.id} of {settings.name} cannot be read ({error}): it is left as it is")
    return found, lines


def standing(folder: Folder, *, own: bool = False) -> Standing:
    """Return how far a job is, from its files alone; `own` at an analyst, who has nothing but the proposal."""
    job, ended = folder.job, folder.ended
    state = state_of(folder) if not own else "submitted" if ended is None else ended.kind
    return Standing(folder, job, state, explain(folder, state))


def explain(folder: Folder, state: str) -> str:
    """Return in words what a job waits for, why it is over, or what it cost."""
    answer, finished, ended = folder.answer, folder.finished, folder.ended
    if state in WAITS:
        return HELD if state == "through" and folder.held else WAITS[state]
    if ended is not None:
        return "; ".join(ended.reasons)
    if state == "refused" and answer is not None:
        return answer.record.reason or answer.record.rule
    if state == "stopped" and finished is not None:
        return f"{finished.party} at {describe_stop(finished.place, finished.kind)}"
    if state == "finished" and finished is not None:
        return cost_of(finished.rounds, finished.bytes, finished.seconds)
    return ""


# Jobs that ended before they started: which there are at a site, and which of them are too many.
#
# Whoever may submit can have any number of jobs refused, and each leaves a folder. So of each submitter only the newest
# are kept. A job that was started is none of these: it opened something, or could have, and its audits stay.


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
