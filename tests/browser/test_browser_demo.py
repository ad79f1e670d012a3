"""`tacit demo --network --page`: somebody approves its study in a browser, and sees it end."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from tacit.consortium.broker.server import find_server
from tacit.errors import MissingExtraError

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser")
pytest.importorskip("uvicorn", reason="needs the extra 'page'")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
try:
    find_server()
except MissingExtraError:
    pytest.skip("there is no nats-server", allow_module_level=True)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
WAIT = 300_000  # milliseconds, on a machine that is busy


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demonstration as a person starts it, and what it prints."""
    command = [sys.executable, "-u", "-m", "tacit.cli", "demo", "--network", "--page"]
    out = tmp_path_factory.mktemp("demo")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=out, **streams) as child:  # noqa: S603 - ourselves
        said = []
        for line in child.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        yield child, " ".join("".join(said).split())
        child.send_signal(signal.SIGTERM)  # nothing, if it is over; else it stops its sites first


def test_the_study_of_the_demo_is_approved_and_followed_in_a_browser_and_ctrl_c_ends_it(demo):
    child, said = demo
    addresses = dict(re.findall(r"(north|south|east|clearing|analyst) (http://127\.0\.0\.1:\d+)", said))
    assert set(addresses) == {"north", "south", "east", "clearing", "analyst"}, said
    name, passphrase = re.search(r"as (\S+) with the passphrase (\S+)", said).groups()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for site, address in addresses.items():
            page = log_in(browser, address, name, passphrase)
            if site in {"north", "south", "east"}:
                approve(page, address, passphrase)
        page.goto(f"{address}/runs")  # the analyst's, which is the last
        page.click("tbody a")
        page.wait_for_selector("#state[data-state=finished]", timeout=WAIT)
        browser.close()
    child.send_signal(signal.SIGINT)
    assert child.wait(60) == 0
    assert "All sites are stopped" in child.stdout.read()


def log_in(browser, address, name, passphrase):
    page = browser.new_page()
    page.set_default_timeout(WAIT)
    for _ in range(240):  # its process may still be starting
        try:
            page.goto(f"{address}/login")
            break
        except playwright.Error:
            time.sleep(0.5)
    page.fill("[name=name]", name)
    page.fill("[name=passphrase]", passphrase)
    page.click("main button")
    page.wait_for_selector("text=Log out")
    return page


def approve(page, address, passphrase):
    for _ in range(240):
        page.goto(f"{address}/proposals")
        if page.locator("text=Read and decide").count():
            break
        time.sleep(0.5)
    page.click("text=Read and decide")
    page.check("[value=approve]")
    page.fill("[name=passphrase]", passphrase)
    page.click("text=Sign and send")
    page.wait_for_load_state()
