"""The documents say what is there: disclosures are current, links lead somewhere, every module is listed."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "tacit"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
LISTED = re.compile(r"^\| `([\w/]+(?:\.py|/))` \|", re.MULTILINE)


def generator():
    spec = importlib.util.spec_from_file_location("make_disclosures", ROOT / "docs" / "make_disclosures.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    # a dataclass looks up its own module while it is being made
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def modules() -> set[str]:
    return {f.relative_to(PACKAGE).as_posix() for f in PACKAGE.rglob("*.py") if f.name != "__init__.py"}


def packages() -> set[str]:
    return {f"{f.parent.relative_to(PACKAGE).as_posix()}/" for f in PACKAGE.rglob("__init__.py") if f.parent != PACKAGE}


def test_the_page_of_disclosures_is_what_the_golden_ledgers_say():
    made = generator()
    assert made.PAGE.read_text(encoding="utf-8") == made.page(made.LEDGERS.glob("*.txt")), "run: make ledgers"


def test_the_page_of_disclosures_holds_every_line_of_every_golden_ledger():
    made = generator()
    text = made.PAGE.read_text(encoding="utf-8")
    lines = {line for f in made.LEDGERS.glob("*.txt") for line in f.read_text(encoding="utf-8").splitlines()}
    assert [line for line in lines if line.split(": ", 2)[2] not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file(document):
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert [t for t in targets if not (document.parent / t).exists()] == []


def test_the_architecture_lists_every_module_once_and_no_other():
    listed = LISTED.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))
    assert set(listed) == modules() | packages()
