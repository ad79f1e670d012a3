"""Jobs in a site's folder: found by the beginning of their id, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tacit.consortium.answers import Finished
from tacit.consortium.folder import Folder, folders, state_of
from tacit.consortium.job import Job
from tacit.consortium.settings import AnalystSettings, Settings
from tacit.consortium.states import OVER
from tacit.errors import LocalError, TacitError
from tacit.report.words import counted, human_bytes, human_seconds

WAITS = {
    "proposed": "waits for this site's checks",
    "checked": "waits for the checks of the others",
    "pending": "waits for people here",
    "accepted": "waits for the others",
    "through": "waits for the others to end",
}


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
        return self.state in {*OVER, "stopped", "submitted"}


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


def readable(settings: Settings) -> tuple[list[Standing], list[str]]:
    """All jobs of the site whose files can be read, and a line about each of the others."""
    found, lines = [], []
    for folder in folders(settings.state):
        try:
            found.append(standing(folder, own=isinstance(settings, AnalystSettings)))
        except (TacitError, OSError) as error:
            lines.append(f"job {folder.id} of {settings.name} cannot be read ({error}): it is left as it is")
    return found, lines


def standing(folder: Folder, *, own: bool = False) -> Standing:
    """From the files alone; `own` at an analyst, who has nothing but the proposal."""
    job = folder.job
    ended = folder.ended
    state = state_of(folder) if not own else "submitted" if ended is None else ended.kind
    return Standing(folder, job, state, _why(folder, state), folder.since)


def _why(folder: Folder, state: str) -> str:
    answer, finished, ended = folder.answer, folder.finished, folder.ended
    if state in WAITS:
        return WAITS[state]
    if ended is not None:
        return "; ".join(ended.reasons)
    if state == "refused" and answer is not None:
        return answer.record.reason or answer.record.rule
    if state == "stopped" and finished is not None:
        return f"{finished.party} at {finished.place} ({finished.kind})"
    return _cost(finished) if state == "finished" else ""


def _cost(ended: Finished | None) -> str:
    return "" if ended is None else f"{counted(ended.rounds, 'round')}, {human_bytes(ended.bytes)}, {human_seconds(ended.seconds)}"
