"""A whole consortium in one process.

A real server, and the sites' own objects, which a test lets look after their jobs.
"""

import itertools
import time
from contextlib import ExitStack, contextmanager
from typing import Self
from unittest import mock

from consortium_study import PARTIES
from control_network import ControlNetwork

from job_files import one_step
from tacit.consortium.jobs.folder import Folder, folder_of, state_of
from tacit.consortium.jobs.folder import _state as by_files
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.jobs.states import TABLE
from tacit.consortium.site.analyst import Analyst
from tacit.consortium.site.coordinator import Clearing
from tacit.consortium.site.example_files import example_analyst, example_coordinator, example_party, example_policy
from tacit.consortium.site.party import Party
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings
from tacit.runtimes.nats.network import Broker

ASKED = itertools.count(1)
KERNEL = {"kernel": "linear", "gamma": "scale", "degree": 3, "coef0": 0.0}
ALPHAS, FEATURES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (50, 100, 200)  # of the menu of the example policy


def choose_settings(asked):
    """The settings of a job, of those that a job may choose."""
    others, alpha = divmod(asked, len(ALPHAS))
    gamma, features = divmod(others, len(FEATURES))
    return {**KERNEL, "alpha": ALPHAS[alpha], "features": FEATURES[features], "gamma": 10.0 ** (gamma % 9 - 6)}


def table(name):
    """A site's own columns of a cohort of sixty records; north has the labels too."""
    label = name == "north"
    head = f"age_{name},dose_{name}{',label' * label}\n"
    return head + "".join(f"{i},{i % 7}.5{f',{i % 2}' * label}\n" for i in range(60))


def reachable(state):
    """All states that a job in this one can still come to."""
    found, new = set(), {state}
    while new:
        found |= new
        new = {then for (before, _), then in TABLE.items() if before in found} - found
    return found


@contextmanager
def following_the_table():
    """Let no file that a site writes change a job's state otherwise than the table of states says."""
    write, wrong = Folder.write, []

    def checked(folder, name, data):
        before = by_files(folder)
        write(folder, name, data)
        after = by_files(folder)
        steps = {then for (state, _), then in TABLE.items() if state == before}
        if name != "proposal.json" and after != before and after not in steps:
            wrong.append(f"{name} of {folder.path} led from {before} to {after}")

    with mock.patch.object(Folder, "write", checked):
        yield
    assert wrong == []


class House(ControlNetwork):
    """Clearing, north, south and east at work, and an analyst."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.stack = ExitStack()
        self.at, self.seen = {}, {}
        self.folder = folder
        self.fingerprint = self.consortium.registrar.identity.fingerprint

    def __enter__(self) -> Self:
        self.stack.enter_context(following_the_table())
        self.stack.enter_context(self.serving())
        for name in ("clearing", *PARTIES):
            self.prepare(name)
            self.open_site(name)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def home(self, name):
        home = self.folder / "homes" / name
        home.mkdir(parents=True, exist_ok=True)
        return home

    def prepare(self, name):
        """A site's files."""
        home = self.home(name)
        if name == "clearing":
            (home / "site.toml").write_text(example_coordinator(ca_fingerprint=self.fingerprint, party_timeout=60.0))
            return
        label = {"label": "label"} if name == "north" else {}
        (home / "site.toml").write_text(
            example_party(name, ca_fingerprint=self.fingerprint, party_timeout=60.0, **label)
        )
        (home / "policy.toml").write_text(example_policy(automatic=True, preflights_per_day=1000, studies=1000))
        (home / "cohort.csv").write_text(table(name))

    def open_site(self, name):
        """A site's object and its connection; again after `close_site`."""
        kind, settings = (Clearing, CoordinatorSettings) if name == "clearing" else (Party, PartySettings)
        identity, stack = self.sites[name], ExitStack()
        broker = stack.enter_context(Broker([self.server.url], identity.tls(self.members.authority), self.tokens[name]))
        site = kind(settings.from_toml(self.home(name) / "site.toml", files=False), identity, self.members, broker)
        stack.enter_context(site.control)
        self.at[name] = site, stack
        self.stack.callback(self.close_site, name)
        return site

    def close_site(self, name):
        """End a site; its files stay."""
        if name in self.at:
            site, stack = self.at.pop(name)
            site.broker.ending = True
            for thread in site._playing.values():
                thread.join(10)
            stack.close()

    def site(self, name):
        """The object that works for a member."""
        return self.at[name][0]

    def analyst(self):
        home = self.home("analyst")
        text = example_analyst(servers=[self.server.url], ca_fingerprint=self.fingerprint)
        identity = self.sites["analyst"]
        text = text.replace('"analyst.key"', f'"{identity.key_file}"').replace(
            '"analyst.crt"', f'"{identity.certificate_file}"'
        )
        self.members.save(home / "consortium.members")
        (home / "site.toml").write_text(text)
        return Analyst(AnalystSettings.from_toml(home / "site.toml"))

    def new(self, **changes):
        """A job that can run."""
        given = {
            "partition": "vertical",
            "parties": PARTIES,
            "coordinator": "clearing",
            "dataset": "cohort",
            "submitter": "analyst",
            "purpose": "a test",
            "legal_basis": "consent",
            "labeller": "north",
            "aligned": True,
            **changes,
        }
        # each asks something else: what was asked before is not asked again
        return propose("study", one_step(**choose_settings(next(ASKED))), **given)

    def folder_at(self, name, job):
        state = self.home(name) / "state"
        return folder_of(state, job if isinstance(job, str) else job.id)

    def state(self, name, job):
        """How far a job is at a site; every change that is seen must follow from the table of states."""
        folder = self.folder_at(name, job)
        now = None if folder.proposal is None else state_of(folder)
        before = self.seen.get((name, folder.id))
        assert before is None or now in reachable(before), f"{name} went from {before} to {now}"
        self.seen[name, folder.id] = now
        return now

    def states(self, job):
        return {name: self.state(name, job) for name in ("clearing", *PARTIES)}

    def tick(self):
        for site, _ in list(self.at.values()):
            site.tick()

    def until(self, true, seconds=20.0):
        """Let the sites work until something is true."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, {name: site.control.notices for name, (site, _) in self.at.items()}
            self.tick()
            time.sleep(0.02)

    def everywhere(self, job, state, seconds=20.0):
        try:
            self.until(lambda: set(self.states(job).values()) == {state}, seconds)
        except AssertionError as error:
            raise AssertionError(f"{self.states(job)} {error}") from None

    def restore(self, name):
        """A party's files as they were, and no question of today: all tests are one day of one submitter."""
        self.set_policy(name, automatic=True)
        (self.home(name) / "cohort.csv").write_text(table(name))
        (self.home(name) / "state" / "registers" / "asked.jsonl").unlink(missing_ok=True)

    def propose(self, job):
        """Hand a proposal of the analyst to the coordinator."""
        self.site("clearing").hear("analyst", "propose", self.proposal(job).dump())

    def set_policy(self, name, **kwargs):
        (self.home(name) / "policy.toml").write_text(example_policy(preflights_per_day=1000, **kwargs))
