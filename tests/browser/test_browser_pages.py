"""A whole study through the pages of three hospitals and an analyst, in a real browser."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit.cli.one_machine import ANALYST, CLEARING, one_machine
from tacit.consortium.broker.server import find_server
from tacit.consortium.dossier.verification import verify_dossier
from tacit.errors import LocalError, MissingExtraError

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser")
pytest.importorskip("starlette", reason="needs the extra 'page'")
pytest.importorskip("nats", reason="needs the extra 'nats'")
Axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe looks for barriers").Axe
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
ME, PASS = "dpo", "what the dpo knows"
WAIT = 240_000  # milliseconds, on a machine that is busy
LOOKS = {"dark": ("dark", 1200), "narrow": ("light", 390), "light": ("light", 1200)}  # colours and width
PATHS = {
    "north": ("/proposals", "/runs", "/results", "/register", "/audit", "/site"),
    CLEARING: ("/runs", "/site"),
    ANALYST: ("/study", "/runs", "/results", "/site"),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Three hospitals with patients of their own, a clearing house and an analyst, each with its page."""
    data = load_breast_cancer()
    dealt = np.array_split(np.random.default_rng(0).permutation(len(data.data)), 3)
    names = [name.replace(" ", "_") for name in data.feature_names[:8]]
    records = {name: data.data[rows, :8] for name, rows in zip(("north", "south", "east"), dealt, strict=True)}
    labels = {name: data.target[rows] for name, rows in zip(records, dealt, strict=True)}
    root = tmp_path_factory.mktemp("pages")
    with one_machine(root, records, labels, keep=True, columns=names) as machine:
        machine.open_pages(ME, PASS)
        for site in machine.sites:
            machine.start(site)
        await_server(machine)
        machine.start(ANALYST)
        yield machine


def await_server(machine):
    """Wait for longer than a person would, on a machine that is busy."""
    for _ in range(4):
        with contextlib.suppress(LocalError):
            return machine.wait()
        machine.check()
    return machine.wait()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Where screenshots go: TACIT_PICTURES names a folder to look at them; README shows one of them."""
    folder = Path(os.environ.get("TACIT_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(exist_ok=True)
    return folder


class Desk:
    """A person at the page of one site; whatever the browser complains about is kept."""

    def __init__(self, browser, machine, site) -> None:
        self.machine, self.site, self.url = machine, site, f"http://{machine.pages[site]}"
        self.complaints = []
        self.context = browser.new_context(viewport={"width": 1200, "height": 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def go(self, path):
        self.page.goto(self.url + path)
        return self

    def log_in(self, name=ME, passphrase=PASS):
        for _ in range(240):  # its process may still be starting
            try:
                self.go("/login")
                break
            except playwright.Error:
                self.machine.check()
                self.complaints.clear()
                time.sleep(0.5)
        self.page.fill("[name=name]", name)
        self.page.fill("[name=passphrase]", passphrase)
        self.page.click("main button")
        return self

    def text(self):
        return " ".join(self.page.inner_text("main").split())

    def see(self, words):
        playwright.expect(self.page.locator("main")).to_contain_text(words, timeout=WAIT)
        return self

    def decide(self, verdict, passphrase=PASS, reason=""):
        self.page.check(f"[value={verdict}]")
        self.page.fill("[name=reason]", reason)
        self.page.fill("[name=passphrase]", passphrase)
        self.page.click("text=Sign and send")

    def read_proposal(self, purpose):
        """Wait until a job waits here, and read it."""
        for _ in range(240):
            self.go("/proposals")
            waiting = self.page.locator("li.card", has_text=purpose).locator("text=Read and decide")
            if waiting.count():
                waiting.click()
                return self.see("Who gets the result")
            time.sleep(0.5)
        raise AssertionError(self.text())

    def picture(self, folder, name):
        """Take the page light, dark and narrow, each without a barrier, and nothing wider than the screen."""
        for how, (colours, width) in LOOKS.items():
            self.page.emulate_media(color_scheme=colours)
            self.page.set_viewport_size({"width": width, "height": 900})
            self.check()
            wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 1, (how, self.site, name)
            self.page.screenshot(path=folder / f"{name}-{how}.png", full_page=True)
        return self

    def check(self):
        """Assert that the browser had nothing to complain about, and axe found no serious barrier."""
        assert self.complaints == []
        found = Axe().run(self.page).response["violations"]
        serious = [
            (each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in {"serious", "critical"}
        ]
        assert serious == []


def compose(analyst, purpose, name):
    """Fill the form of a study, see what it would open, and propose it."""
    analyst.go("/study")
    page = analyst.page
    page.fill("[name=purpose]", purpose)
    page.fill("[name=legal_basis]", "public data of scikit-learn")
    page.fill("[name=dataset]", "cohort")
    for hospital in ("north", "south", "east"):
        page.check(f"[name=parties][value={hospital}]")
    page.fill("[name=params]", 'kernel = "rbf"\ngamma = 0.1\nfeatures = 50\n')
    page.fill("[name=grid]", "alpha = [1, 10]")
    page.fill("[name=name]", name)
    analyst.see("Who would know what")
    page.locator("#preview >> text=rounds").or_(page.locator("#preview >> text=not known")).first.wait_for()
    analyst.check()
    page.click("text=Which method fits?")
    analyst.see("The best first").check()
    page.click("button[value=propose]")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f]{32}"))
    return page.url.rpartition("/")[2]


def picture_all(*desks, folder):
    """Take every page of sites at which somebody is logged in, and the login of the last, where nobody is."""
    *inside, outside = desks
    for desk in inside:
        for path in PATHS[desk.site]:
            desk.go(path).picture(folder, f"{desk.site}{path.replace('/', '-')}")
    outside.go("/login").picture(folder, "login")


def drop_audits(desk, files):
    """Give files to be compared."""
    desk.page.set_input_files("[name=files]", files)
    desk.page.click("main button")


def take_dossier(desk, job):
    """Have the dossier of a run made, and verify it as an auditor does."""
    with desk.go(f"/runs/{job}").page.expect_download() as download:
        desk.page.click("text=Dossier for auditors")
    found = verify_dossier(Path(download.value.path()).read_bytes(), desk.machine.fingerprint)
    assert (found.job.id, found.site, set(found.agreed)) == (job, desk.site, set(desk.machine.sites))
    desk.check()


def test_a_study_goes_its_whole_way_through_the_pages(machine, browser, pictures, tmp_path):
    analyst = Desk(browser, machine, ANALYST).log_in()
    stranger = Desk(browser, machine, "north").log_in(passphrase="not the one at all")  # noqa: S106 - of nobody
    stranger.see("this name and this passphrase do not belong together")

    # one is refused, and the analyst reads why
    compose(analyst, "a study that nobody wants", "unwanted")
    north = Desk(browser, machine, "north").log_in().read_proposal("a study that nobody wants")
    north.check()
    north.decide("refuse", passphrase="a wrong one, and long")  # noqa: S106 - of nobody
    north.see("this name and this passphrase do not belong together; nothing was decided")
    north.complaints.clear()  # Chromium counts the status 403 as an error
    north.decide("refuse", reason="no ethics vote")
    analyst.see("no ethics vote")

    # another one is approved everywhere
    job = compose(analyst, "who falls ill again", "wanted")
    desks = {
        site: Desk(browser, machine, site).log_in().read_proposal("who falls ill again") for site in machine.hospitals
    }
    clearing = Desk(browser, machine, CLEARING).log_in().go(f"/runs/{job}")
    desks["north"].picture(pictures, "proposal")
    for desk in desks.values():
        desk.decide("approve")
    assert (machine.folder(ANALYST) / "state" / "studies" / "wanted.toml").exists()

    # a hospital is killed, seen going, and seen coming back
    clearing.page.wait_for_selector("#state[data-state=running]")
    machine.kill("south")
    clearing.page.wait_for_selector('[data-site="south"].away')
    clearing.picture(pictures, "away")
    machine.start("south")
    clearing.page.wait_for_selector('[data-site="south"]:not(.away)')
    clearing.page.wait_for_selector("#state[data-state=finished]")
    clearing.check()

    # everybody reads the result
    analyst.page.wait_for_selector("#state[data-state=finished]")
    analyst.page.click("text=See the result")
    analyst.see("Judged on held-out records").see("accuracy").check()
    analyst.picture(pictures, "result")
    with analyst.page.expect_download() as download:
        analyst.page.click("text=model.tacit")
    assert Path(download.value.path()).stat().st_size > 500
    analyst.page.click("text=The whole report")
    assert "To decide" in analyst.page.content()

    north = desks["north"].go(f"/results/{job}").see("Judged on held-out records")
    north.check()
    take_dossier(north, job)
    north.go("/register").see(job[:8]).check()

    # the sites' ledgers agree, and one that was altered does not
    files = []
    for site in machine.sites:
        files.append(tmp_path / f"{site}.jsonl")
        shutil.copy(machine.job_folder(site, job) / "audit.jsonl", files[-1])
    drop_audits(north.go("/audit"), files)
    north.see("Whole, signed, and they agree").check()
    lines = files[0].read_text().splitlines()
    files[0].write_text("\n".join([*lines[:3], *lines[4:]]) + "\n")
    drop_audits(north, files)
    north.see("Ask the sites that are named above").picture(pictures, "audit-differs")
    picture_all(north, clearing, analyst, Desk(browser, machine, "north"), folder=pictures)


def test_a_session_that_is_over_leads_to_the_login(machine, browser):
    desk = Desk(browser, machine, "east").log_in()
    desk.see("Proposals")
    desk.context.clear_cookies()
    desk.go("/site").see("Log in")
