"""Jobs in a site's folder: found by the beginning of their id, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tacit.consortium.answers import Finished
from tacit.consortium.folder import Folder, folders, state_of
from tacit.consortium.job import Job
from tacit.consortium.settings import AnalystSettings, Settings
from tacit.errors import LocalError
from tacit.report.words import counted, human_bytes, human_seconds

WAITS = {"pending": "waits for people here", "accepted": "waits for the others", "ended": "waits for the others to end"}


@dataclass(frozen=True)
class Standing:
    """One job at this site."""

    folder: Folder
    job: Job
    state: str
    why: str
    since: datetime

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it here by itself; a run that stopped can be resumed until it is purged."""
        return self.state in {"finished", "refused", "expired", "stopped", "submitted"}


def known_folder(settings: Settings, name: str) -> Folder:
    """The one job whose id begins so."""
    known = list(folders(settings.state))
    found = [folder for folder in known if name and folder.id.startswith(name)]
    if len(found) != 1:
        listed = ", ".join(folder.id for folder in found or known) or "none"
        raise LocalError(f"{len(found)} jobs of {settings.name} begin with {name!r}: give the id of one of those here ({listed})")
    return found[0]


def known_job(settings: Settings, name: str) -> Job:
    """As above, the job itself."""
    return known_folder(settings, name).job


def standings(settings: Settings) -> list[Standing]:
    """All jobs of the site."""
    return [standing(folder, own=isinstance(settings, AnalystSettings)) for folder in folders(settings.state)]


def standing(folder: Folder, *, own: bool = False) -> Standing:
    """From the files alone; `own` at an analyst, who has nothing but the proposal."""
    job = folder.job
    state = "submitted" if own else state_of(folder)
    return Standing(folder, job, state, _why(folder, state), folder.since)


def _why(folder: Folder, state: str) -> str:
    answer, ended = folder.answer, folder.finished
    if state in WAITS:
        return WAITS[state]
    if state == "refused" and answer is not None:
        return answer.record.reason or answer.record.rule
    if state == "stopped" and ended is not None:
        return f"{ended.party} at {ended.place} ({ended.kind})"
    return _cost(ended) if state == "finished" else ""


def _cost(ended: Finished | None) -> str:
    return "" if ended is None else f"{counted(ended.rounds, 'round')}, {human_bytes(ended.bytes)}, {human_seconds(ended.seconds)}"
