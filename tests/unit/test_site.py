"""The documentation as a site: it builds without a warning, and asks no other host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tacit
from tacit.consortium.advice.advising import list_methods

DOCS = Path(__file__).parents[2] / "docs"
ASSET = re.compile(r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["'](?:https?:)?//""")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = tmp_path_factory.mktemp("site").resolve()
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(made)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own pages
    assert ended.returncode == 0, ended.stderr
    return made


def test_no_page_asks_another_host_for_anything(site):
    asking = [page.name for page in site.rglob("*.html") if ASSET.search(page.read_text(encoding="utf-8"))]
    assert asking == []


class Page(HTMLParser):
    """What a page links to, and the places on it that others can link to."""

    def __init__(self, path) -> None:
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, _, attrs):
        found = dict(attrs)
        self.places |= {found["id"]} if "id" in found else set()
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


def test_every_link_of_every_page_leads_to_a_file_and_to_a_place_on_it(site):
    pages = {path: Page(path) for path in site.rglob("*.html") if "_static" not in path.parts}
    broken = []
    for path, page in pages.items():
        for link in map(urlsplit, page.links):
            target = (path.parent / unquote(link.path)).resolve() if link.path else path
            inside = not (link.scheme or link.netloc)
            lost = link.fragment and target in pages and unquote(link.fragment) not in pages[target].places
            broken += [(path.name, link.geturl())] if inside and (lost or not target.exists()) else []
    assert broken == []


def test_every_method_has_a_page_of_who_learns_what(site):
    assert {slug(name) for task in ("classes", "numbers") for name, _ in list_methods(task)} <= {
        page.stem for page in (site / "learnt").glob("*.html")
    }


def slug(name):
    return re.sub(r"\W+", "_", name).strip("_")


def test_every_public_name_has_a_page_in_the_reference(site):
    named = {name for name in tacit.__all__ if not name.startswith("_") and name not in {"attacks", "inspect"}}
    assert named <= {page.stem for page in (site / "api").glob("*.html")}


def test_every_document_is_a_page(site):
    written = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
    assert written <= {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
