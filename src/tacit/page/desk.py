"""What the page of one site looks at: its files, and the process that is at work there."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from tacit.consortium.consent.approvers import Approvers
from tacit.consortium.consent.people import Consent
from tacit.consortium.consent.policy import Policy
from tacit.consortium.jobs.folder import Folder, folder_of
from tacit.consortium.jobs.job import is_id
from tacit.consortium.membership.members import Members
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.common import Site
from tacit.consortium.site.coordinator import News
from tacit.consortium.site.health import Health
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings, Settings
from tacit.consortium.site.telling import describe_progress
from tacit.consortium.site.watched import Watched
from tacit.errors import LocalError, PeerError
from tacit.page.job_list import JobLine, JobList
from tacit.page.recent import Recent
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
            return next(iter(self.analyst.ask(folder.job.roles.coordinator, folder.id, patience=2.0)), None)
        return None
