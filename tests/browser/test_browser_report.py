"""The report as a browser shows it: everything is there, nothing is fetched, nothing fails."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from sklearn.datasets import load_iris

from tacit import SVC

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0",
)  # fmt: skip

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return SVC(n_parties=4).fit(*load_iris(return_X_y=True), compare=True).report_.to_html(folder / "report.html")


def chromium(page, tmp_path, *arguments):
    command = [CHROMIUM, *QUIET, f"--user-data-dir={tmp_path / 'profile'}", *arguments, page.as_uri()]
    # our own command
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603


def test_the_browser_finds_every_section_in_order(page, tmp_path):
    shown = chromium(page, tmp_path, "--dump-dom").stdout
    sections = [
        "To decide</h2>",
        "Result</h2>",
        "Not protected</h2>",
        "Method and cost</h2>",
        "Parameters",
        "Every disclosure, from the ledger",
    ]
    found = [shown.find(section) for section in sections]
    assert -1 not in found
    assert found == sorted(found)


def test_the_page_loads_without_a_complaint_and_can_be_pictured(page, tmp_path):
    picture = tmp_path / "page.png"
    done = chromium(page, tmp_path, "--window-size=1100,3000", f"--screenshot={picture}")
    assert picture.stat().st_size > 50_000
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line or "Refused to" in line]
    assert not complaints
