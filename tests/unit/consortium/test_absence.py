"""A job that goes on without a site that is away: when it may, who refuses it, and what everybody is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pytest
from consortium_study import KERNEL, Study, altered
from living_sites import ASKED, House

from job_files import one_step
from tacit.choreo import LocalError
from tacit.consortium.audit.chain import Reading
from tacit.consortium.broker.server import find_server
from tacit.consortium.consent.unusual import unusual
from tacit.consortium.jobs.absence import DIFFERS, SUMMED, TOO_FEW, find_differing
from tacit.consortium.jobs.answers import Absence, Answer
from tacit.consortium.jobs.proposal import propose
from tacit.consortium.site import coordinator as coordinating
from tacit.consortium.site.example_files import example_party, example_policy
from tacit.errors import MissingExtraError, TacitError
from tacit.runtimes.nats import courier
from tacit.runtimes.nats.network import InterruptedRunError

pytest.importorskip("nats", reason="needs the extra 'nats'")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

FOUR = ("north", "south", "east", "west")
PATIENCE = 3.0  # seconds, of heartbeats that come five times a second
ELM = {"activation": "tanh", "n_hidden": 50, "scale": 1.0, "alpha": 0.1}
SOME = 25  # rounds
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


class Rows(House):
    """Four hospitals with rows of one table, whose patience is short."""

    def __init__(self, folder: Any) -> None:
        super().__init__(folder)
        self.sites["west"] = self.consortium.join("west", "party")
        self.tokens = {name: self.members.token(name) for name in self.sites}

    def __enter__(self) -> Self:
        self.stack.enter_context(self.serving())
        for name in ("clearing", *FOUR):
            self.prepare(name)
            self.open_site(name)
        return self

    def prepare(self, name: str) -> None:
        super().prepare(name)
        home = self.home(name)
        text = (home / "site.toml").read_text()
        (home / "site.toml").write_text(text.replace("party_timeout = 60.0", f"party_timeout = {PATIENCE}"))
        if name != "clearing":
            party = example_party(
                name, ca_fingerprint=self.fingerprint, party_timeout=PATIENCE, label="label", id="patient"
            )
            (home / "site.toml").write_text(party)
            rng = np.random.default_rng(FOUR.index(name))
            rows = (f"{k},{a:.3f},{b:.3f},{int(a + b > 0)}" for k, (a, b) in enumerate(rng.normal(size=(60, 2))))
            (home / "cohort.csv").write_text("\n".join(["patient,age,dose,label", *rows]) + "\n")

    def allow(self, name: str, *, left_out: bool) -> None:
        """Let a site's consent say whether it may be left out after sums."""
        text = example_policy(preflights_per_day=1000, studies=1000, automatic=True, left_out=left_out)
        (self.home(name) / "policy.toml").write_text(text)

    def new(self, **changes: Any) -> Any:
        given = {
            "partition": "horizontal",
            "parties": FOUR,
            "coordinator": "clearing",
            "dataset": "cohort",
            "submitter": "analyst",
            "purpose": "a test",
            "legal_basis": "consent",
            "on_absence": "leave",
            **changes,
        }
        return propose(
            "study", one_step("ELMClassifier", **{**ELM, "alpha": ALPHAS[next(ASKED) % len(ALPHAS)]}), **given
        )

    def states(self, job: Any) -> dict[str, Any]:
        return {name: self.state(name, job) for name in self.at}

    def reach(self, job: Any, state: str, *names: str, seconds: float = 20.0) -> None:
        """Let the sites that are there work until a job is that far at these."""
        try:
            self.until(lambda: all(self.state(name, job) == state for name in names), seconds)
        except AssertionError:
            raise AssertionError(self.states(job)) from None


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """Heartbeats that fit a short patience."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(courier, "BEAT", 0.2)
        patch.setattr(coordinating, "GRACE", 0.3)
        yield


@pytest.fixture
def rows(tmp_path, quick) -> Iterator[Rows]:
    del quick
    with Rows(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Study:
    return Study(tmp_path_factory.mktemp("study"))


def accept_and_lose(rows: Rows, job: Any, away: str) -> None:
    """Everybody accepts a job, and before it starts a site is gone for good."""
    rows.propose(job)
    rows.until(lambda: away in rows.folder_at("clearing", job).heard("answers", Answer))
    rows.close_site(away)


def model_of(rows: Rows, name: str, job: Any) -> np.ndarray:
    return rows.folder_at(name, job).public.values["weights"]


# A site is away before anything was summed


@pytest.mark.slow
def test_the_run_begins_again_without_a_site_that_is_gone_and_everybody_says_whose_data_is_in_the_model(rows):
    job = rows.new()
    accept_and_lose(rows, job, "west")
    rows.reach(job, "finished", "clearing", "north", "south", "east")
    model = model_of(rows, "north", job)
    assert all(np.array_equal(model_of(rows, name, job), model) for name in FOUR[1:3])

    news = rows.site("clearing").news(rows.folder_at("clearing", job))
    assert (news.state, news.without, news.attempt) == ("finished", ("west",), 2)
    audits = [Reading.of(rows.folder_at(name, job).path / "audit.jsonl") for name in ("clearing", *FOUR[:3])]
    absence = rows.folder_at("north", job).start.absence
    assert {(a.begin.about["without"], a.begin.about["signed by the coordinator"]) for a in audits} == {
        ("west", absence.signature)
    }
    rows.until(lambda: not rows.folder_at("north", job).journals)  # secrets of both runs are gone

    rows.open_site("west")
    rows.reach(job, "left", "west")
    assert rows.folder_at("west", job).ended.reasons == ("it was away, and the job went on without west",)


# Something was summed with the site's records


def lose_after_a_sum(rows: Rows, job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """West is gone for good in the middle of the run, when something of its records has moved."""

    def die(_job: Any, progress: Any) -> None:
        if progress.round > SOME:
            raise InterruptedRunError

    monkeypatch.setattr(rows.site("west"), "_progress", die)
    rows.propose(job)
    rows.until(lambda: job.id in rows.site("west").live)
    rows.until(lambda: not rows.site("west").is_playing(job.id))
    rows.close_site("west")


@pytest.mark.slow
def test_the_run_waits_for_a_site_whose_sums_were_opened_and_ends_with_it_when_it_is_back(rows, monkeypatch):
    job = rows.new()
    lose_after_a_sum(rows, job, monkeypatch)
    rows.reach(job, "stopped", "north", "south", "east")
    clearing = rows.site("clearing")
    rows.until(lambda: clearing.news(rows.folder_at("clearing", job)).state == "stopped")
    news = clearing.news(rows.folder_at("clearing", job))
    assert (news.without, news.attempt) == ((), 1)
    assert f"who takes part differs by west: {SUMMED}; the job waits until all are there" in news.reasons[-1]
    rows.open_site("west")
    clearing._resume("analyst", job.id)
    rows.reach(job, "finished", "clearing", *FOUR)
    assert np.isfinite(model_of(rows, "north", job)).all()


@pytest.mark.slow
def test_it_goes_on_without_a_site_whose_own_consent_said_so(rows, monkeypatch):
    rows.allow("west", left_out=True)
    job = rows.new()
    lose_after_a_sum(rows, job, monkeypatch)
    rows.reach(job, "finished", "clearing", "north", "south", "east")
    assert np.isfinite(model_of(rows, "north", job)).all()
    assert {"place": "", "missing": "west"} in rows.folder_at("north", job).public.history


def test_a_coordinator_that_says_of_a_site_that_it_is_away_once_it_has_its_sums_gets_nothing_more(rows, monkeypatch):
    """The attack: sums of all four, then the same sums of three, would be west's own."""
    job = rows.new()
    lose_after_a_sum(rows, job, monkeypatch)
    rows.reach(job, "stopped", "north")
    north, folder = rows.site("north"), rows.folder_at("north", job)
    lie = altered(folder.start, attempt=7, absence=Absence.of(job, ("west",), rows.sites["clearing"]))
    north._hear_start("clearing", lie)
    rows.until(lambda: folder.finished.attempt == 7)
    assert (folder.finished.ok, folder.finished.kind) == (False, f"{DIFFERS}west: {SUMMED}")
    assert not folder.journal_of(lie.cast(job)).exists()  # no key and no mask was ever made for it


@pytest.mark.slow
def test_an_earlier_job_on_the_same_records_with_the_site_counts_too(rows):
    first, job = rows.new(), rows.new()
    rows.propose(first)
    rows.reach(first, "finished", *FOUR)
    rows.until(lambda: not any(rows.site(name).is_playing(first.id) for name in FOUR))  # a site sums for one at a time
    accept_and_lose(rows, job, "west")
    rows.until(lambda: (f := rows.folder_at("north", job).finished) is not None and f.kind.startswith(DIFFERS))
    rows.until(lambda: rows.site("clearing").news(rows.folder_at("clearing", job)).state == "stopped")
    rows.open_site("west")
    rows.site("clearing")._resume("analyst", job.id)  # whoever was away is needed after all
    rows.reach(job, "finished", *FOUR)


# What no site follows


@pytest.mark.slow
def test_who_is_left_out_is_said_by_the_coordinator_of_a_job_that_allows_it(rows):
    waits, job = rows.new(on_absence="wait"), rows.new()
    for each in (waits, job):
        rows.propose(each)
        rows.reach(each, "finished", *FOUR)
    north = rows.site("north")

    def heard(job: Any, absent: tuple[str, ...], signer: str = "clearing") -> str:
        start = rows.folder_at("north", job).start
        lie = altered(start, attempt=9, absence=Absence.of(job, absent, rows.sites[signer]))
        try:
            lie.keys(job, north.members)
            north._keep_absence(rows.folder_at("north", job), lie)
        except TacitError as refused:
            return str(refused)
        return "it is followed"

    assert "its on_absence is 'wait'" in heard(waits, ("west",))
    assert "signature" in heard(job, ("west",), signer="south")
    assert "cannot go on without south, west" in heard(job, ("south", "west"))
    assert "and without this site: refuse it" in heard(job, ("north",))
    assert "is said to go on without nowhere" in heard(job, ("nowhere",))
    assert heard(job, ("west",)) == "it is followed"


@pytest.mark.slow
def test_a_policy_that_asks_for_more_parties_holds_for_those_who_are_left(rows):
    policy = example_policy(preflights_per_day=1000, studies=1000, automatic=True, minimum_parties=4)
    (rows.home("north") / "policy.toml").write_text(policy)
    job = rows.new()
    accept_and_lose(rows, job, "west")
    rows.until(lambda: (f := rows.folder_at("north", job).finished) is not None and f.kind.startswith(DIFFERS))
    assert rows.folder_at("north", job).finished.kind == f"{DIFFERS}west: {TOO_FEW}"
    rows.until(lambda: rows.site("clearing").news(rows.folder_at("clearing", job)).state == "stopped")


# The rules alone


def test_a_run_with_a_site_and_one_without_it_are_never_both_summed_in_whichever_order(study):
    whole, without = study.start(), altered(study.start(), absence=Absence(job="", absent=("east",), signature=""))
    assert find_differing(without, [()]) == ("east",)
    assert find_differing(whole, [("east",)]) == ("east",)
    assert find_differing(whole, [()]) == find_differing(without, [("east",)]) == find_differing(without, []) == ()
    told = altered(study.answer("east"), record=altered(study.record("east"), left_out=True))
    assert find_differing(altered(without, answers=(told,)), [()]) == ()


def test_a_job_says_so_and_only_where_there_can_be_a_run_without_one():
    terms = {"partition": "horizontal", "coordinator": "clearing", "dataset": "d", "submitter": "analyst",
             "purpose": "p", "legal_basis": "l", "on_absence": "leave"}  # fmt: skip
    job = propose("study", one_step("ELMClassifier", **ELM), parties=FOUR, **terms)
    leaves = "a site that stays away is left out, and the result is made from the records of the others"
    assert ("absence", f"on_absence = leave: {leaves}") in unusual(job)
    with pytest.raises(LocalError, match="on_absence is 'leave', and without one of its 3 parties there are fewer"):
        propose("study", one_step("ELMClassifier", **ELM), parties=FOUR[:3], **terms)
    with pytest.raises(LocalError, match="study over a vertical split needs what every party has: use 'wait'"):
        propose(
            "study", one_step("SVC", **KERNEL), parties=FOUR, labeller="north", **{**terms, "partition": "vertical"}
        )
