"""A whole consortium in one process: a real server, and the sites' own objects, which a test lets look after their jobs."""

import time
from contextlib import ExitStack
from typing import Self

from consortium_study import PARTIES
from control_network import ControlNetwork

from tacit.consortium.analyst import Analyst
from tacit.consortium.clearing import Clearing
from tacit.consortium.example_files import example_analyst, example_coordinator, example_party, example_policy
from tacit.consortium.folder import folder_of, state_of
from tacit.consortium.party import Party
from tacit.consortium.proposal import propose
from tacit.consortium.settings import AnalystSettings, CoordinatorSettings, PartySettings
from tacit.consortium.states import TABLE
from tacit.runtimes.nats import Broker

KERNEL = {"kernel": "linear", "gamma": "scale", "degree": 3, "coef0": 0.0, "C": 1.0}


def table(*, label=False):
    """A cohort of sixty records."""
    return f"age,dose{',label' * label}\n" + "".join(f"{i},{i % 7}.5{f',{i % 2}' * label}\n" for i in range(60))


def reachable(state):
    """All states that a job in this one can still come to."""
    found, new = set(), {state}
    while new:
        found |= new
        new = {then for (before, _), then in TABLE.items() if before in found} - found
    return found


class House(ControlNetwork):
    """Clearing, north, south and east at work, and an analyst."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.stack = ExitStack()
        self.at, self.seen = {}, {}
        self.folder = folder
        self.fingerprint = self.consortium.registrar.identity.fingerprint

    def __enter__(self) -> Self:
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
            (home / "site.toml").write_text(example_coordinator(ca_fingerprint=self.fingerprint, party_timeout=20.0))
            return
        label = {"label": "label"} if name == "north" else {}
        (home / "site.toml").write_text(example_party(name, ca_fingerprint=self.fingerprint, party_timeout=20.0, **label))
        (home / "policy.toml").write_text(example_policy(automatic=True, preflights=1000))
        (home / "cohort.csv").write_text(table(label=name == "north"))

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
        text = text.replace('"analyst.key"', f'"{identity.key_file}"').replace('"analyst.crt"', f'"{identity.certificate_file}"')
        self.members.save(home / "consortium.members")
        (home / "site.toml").write_text(text)
        return Analyst(AnalystSettings.from_toml(home / "site.toml"))

    def new(self, **changes):
        """A job that can run."""
        given = {
            "partition": "vertical", "parties": PARTIES, "coordinator": "clearing", "dataset": "cohort", "submitter": "analyst",
            "purpose": "a test", "legal_basis": "consent", "labeller": "north", **changes,
        }  # fmt: skip
        return propose("gram_vertical", KERNEL, **given)

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

    def set_policy(self, name, **kwargs):
        (self.home(name) / "policy.toml").write_text(example_policy(preflights=1000, **kwargs))
