"""The documentation as a site: it builds without a warning, and asks no other host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tacit

DOCS = Path(__file__).parents[2] / "docs"
ASSET = re.compile(r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["'](?:https?:)?//""")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(made)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own pages
    assert ended.returncode == 0, ended.stderr
    return made


def test_no_page_asks_another_host_for_anything(site):
    asking = [page.name for page in site.rglob("*.html") if ASSET.search(page.read_text(encoding="utf-8"))]
    assert asking == []


def test_every_public_name_has_a_page_in_the_reference(site):
    named = {name for name in tacit.__all__ if not name.startswith("_") and name not in {"attacks", "inspect"}}
    assert named <= {page.stem for page in (site / "api").glob("*.html")}


def test_every_document_is_a_page(site):
    written = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert written <= {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
