"""A hospital with a page: real keys, files, policy and jobs, and no network."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from job_files import one_step
from tacit.consortium.consent.people import Brought
from tacit.consortium.jobs.answers import Proposal
from tacit.consortium.jobs.folder import folder_of
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site.example_files import example_party, example_policy
from tacit.consortium.site.settings import PartySettings
from tacit.page.app import make_app
from tacit.page.desk import Desk
from unit.consortium.consortium_sites import Consortium

PASS = "a bird in the hand"  # noqa: S105 - of nobody
PEOPLE = ("dr-lee", "dpo")
ORIGIN = "http://127.0.0.1:8010"
KINDS = {"clearing": "coordinator", **dict.fromkeys(("north", "south", "east"), "party"), "analyst": "analyst"}


@lru_cache
def proposed(purpose="readmission within 30 days", **more):
    return propose(
        "study",
        one_step("SVC", kernel="linear"),
        partition="horizontal",
        parties=("north", "south", "east"),
        coordinator="clearing",
        dataset="cohort",
        submitter="analyst",
        purpose=purpose,
        legal_basis="research consent",
        rows={"north": 60, "south": 60, "east": 60},
        **more,
    )


@lru_cache
def proposed_gram():
    """A job whose coordinator sees a gram matrix."""
    return propose(
        "study",
        one_step("GramSVC", kernel="linear", gamma=1.0, degree=3, coef0=0.0, C=1.0),
        partition="vertical", parties=("north", "south", "east"), coordinator="clearing", dataset="cohort",
        submitter="analyst", purpose="by columns", legal_basis="research consent", labeller="north", aligned=True,
    )  # fmt: skip


class Hospital:
    """The site `north`, with two people who must agree."""

    def __init__(self, root: Path) -> None:
        consortium = Consortium(root / "c", "Northern hospitals")
        self.identities = {name: consortium.join(name, kind) for name, kind in KINDS.items()}
        self.home = root / "c" / "north" / "first"
        (self.home / "consortium.members").write_bytes((root / "c/registrar/consortium.members").read_bytes())
        pinned = consortium.registrar.identity.fingerprint
        np.savetxt(self.home / "cohort.csv", np.ones((3, 2)), delimiter=",", header="age,dose", comments="")
        text = example_party("north", servers=["tls://127.0.0.1:1"], ca_fingerprint=pinned)
        (self.home / "north.toml").write_text(text)
        (self.home / "policy.toml").write_text(example_policy())
        self.settings = PartySettings.from_toml(self.home / "north.toml")
        self.settings.state.mkdir()
        self.desk = Desk(self.settings)
        for name in PEOPLE:
            self.desk.people.add(name, PASS)
        self.app, self.web = make_app(self.desk, hosts=["127.0.0.1", "localhost"], port=8010, secure=False)

    def propose(self, job, *, waits=True):
        """Keep a job as the daemon does, and let people be asked."""
        folder = folder_of(self.settings.state, job.id)
        folder.propose(Proposal.of(job, self.identities["analyst"]))
        if waits:
            self.desk.consent.submit(job, Brought(columns=("age", "dose"), rows=60))
        return folder

    def votes(self, job):
        return self.desk.consent.look(job.id, datetime.now(UTC))

    def browser(self, at=("testclient", 50000)):
        return Browser(self.app, at)


class Browser:
    """Somebody at a browser: keeps cookies, and sends the forms that it is shown."""

    def __init__(self, app, at=("testclient", 50000)) -> None:
        self.client = TestClient(app, base_url=ORIGIN, follow_redirects=False, client=at)
        self.client.headers["origin"] = ORIGIN

    def get(self, path, **more):
        return self.client.get(path, **more)

    def form(self, path):
        """Return what makes a form of a page ours."""
        return re.search(r'name="form" value="([^"]+)"', self.get(path).text)[1]

    def post(self, path, shown, **fields):
        return self.client.post(path, data={"form": self.form(shown), **fields})

    def log_in(self, name="dr-lee", passphrase=PASS):
        return self.post("/login", "/login", name=name, passphrase=passphrase)

    def decide(self, job, verdict, passphrase=PASS, reason=""):
        at = f"/proposals/{job.id}"
        return self.post(at, at, verdict=verdict, passphrase=passphrase, reason=reason)
