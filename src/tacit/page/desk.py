"""What the page of one site looks at: its files, and the process that is at work there."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tacit.consortium.consent.people import Approvers, Consent
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.folder import Folder, folder_of
from tacit.consortium.jobs.job import is_id
from tacit.consortium.jobs.standing import standing
from tacit.consortium.jobs.states import CONSENT_NEEDED
from tacit.consortium.membership.members import Members
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.common import Site
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.health import Health
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings, Settings
from tacit.consortium.site.sources import SETTLED, Watched
from tacit.consortium.site.telling import describe_progress
from tacit.errors import LocalError, PeerError, TacitError
from tacit.runtimes.nats.dialling import UnreachableError

RESULTS = 4  # fitted models that stay in memory
Kind = Literal["party", "coordinator", "analyst"]
KINDS: dict[type[Settings], Kind] = {
    PartySettings: "party",
    CoordinatorSettings: "coordinator",
    AnalystSettings: "analyst",
}


class NotHereError(LocalError):
    """There is no such thing at this site; the browser is told 404."""


class Desk:
    """One site, as its page sees it. `site` is there once the process is connected, `analyst` at an analyst."""

    def __init__(self, settings: Settings, analyst: Analyst | None = None) -> None:
        self.settings, self.analyst = settings, analyst
        self.kind: Kind = KINDS[type(settings)]
        self.name, self.state = settings.name, settings.state
        self.people = Approvers(self.state / "approvers")
        self.site: Site | None = None
        self.recent = Recent(RESULTS)
        self._jobs = JobList(self.state, own=analyst is not None)
        self._members = Watched(settings.members, lambda path: Members.load(path, settings.ca_fingerprint))

    def meet(self, site: Site) -> None:
        """Look at the site that is at work in this process from now on."""
        self.site = site

    # Files

    @property
    def members(self) -> Members:
        """The list of members as its file is now."""
        return self._members.now()[1]

    @cached_property
    def _policy(self) -> Watched[Policy]:
        if not isinstance(self.settings, PartySettings):
            raise NotHereError(f"{self.name} holds no data, and has no policy: look at a hospital's page")
        return Watched(self.settings.policy, Policy.from_toml)

    @property
    def policy(self) -> Policy:
        """The policy as its file is now."""
        return self._policy.now()[1]

    @property
    def consent(self) -> Consent:
        """What people said, under the policy that is in force."""
        return Consent(self.state / "consent", self.policy, self.name)

    def folder(self, job: str) -> Folder:
        """Return the folder of a job that is here."""
        found = folder_of(self.state, job) if is_id(job) else None
        if found is None or not (found.path / "proposal.json").is_file():
            raise NotHereError("there is no such job at this site: it was purged, or is another site's")
        return found

    def list_jobs(self) -> list[JobLine]:
        """Return all jobs, the newest first; at an analyst with what the coordinators say of them."""
        lines = self._jobs.lines()
        if self.analyst is None:
            return lines
        told = self.ask_all()
        news = [told.get(line.id) for line in lines]
        return [
            line if new is None else dataclasses.replace(line, state=new.state, why=describe_progress(new))
            for line, new in zip(lines, news, strict=True)
        ]

    # The process

    def live(self, job: str) -> Mapping[str, Any]:
        """Return the run of a job that is played in this process; nothing, of any other."""
        return {} if self.site is None else self.site.live.get(job, {})

    @property
    def connected(self) -> bool:
        """Whether the message server is reached."""
        broker = self.analyst.broker if self.analyst is not None else None if self.site is None else self.site.broker
        return broker is not None and broker.connected

    def read_health(self) -> Health | None:
        """Return how the site is, as the process that is at work there found it a few seconds ago."""
        return self.site.health if self.site is not None else None

    # At an analyst

    def ask_all(self) -> dict[str, News]:
        """Return the news of all jobs of the analyst, by job; a coordinator that is away tells none."""
        found: dict[str, News] = {}
        if self.analyst is not None:
            for member in self.members.of_kind("coordinator"):
                with contextlib.suppress(UnreachableError, PeerError):
                    found |= {news.job: news for news in self.analyst.ask(member.name, patience=2.0)}
        return found

    def ask(self, folder: Folder) -> News | None:
        """Return the news of one job of the analyst; None while its coordinator is away."""
        if self.analyst is None:
            return None
        with contextlib.suppress(UnreachableError, PeerError):
            return next(iter(self.analyst.ask(folder.job.coordinator, folder.id, patience=2.0)), None)
        return None


# The last few things that took long to make


class SupersededError(Exception):
    """Nobody waits for this any more."""


class Recent:
    """So many things by name; one is made at a time, and one that two ask for at once is made once."""

    def __init__(self, most: int) -> None:
        self._most, self._kept, self._lock = most, OrderedDict[str, Any](), threading.Lock()

    def get(self, name: str, make: Callable[[], Any], wanted: Callable[[], bool] = lambda: True) -> Any:
        """Return the thing of that name, made now if it is not here and still `wanted` when its turn comes."""
        with self._lock:
            if name not in self._kept:
                if not wanted():
                    raise SupersededError
                self._kept[name] = make()
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(name)
            return self._kept[name]


# The jobs of a site as a list that is quick to make: a folder that has not changed is not read again


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
