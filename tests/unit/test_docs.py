"""The documents say what is there: disclosures are current, links lead somewhere, every module is listed."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import FrameType

import pytest
from sklearn.datasets import make_classification

import tacit
from tacit.choreo.ledger import read_template

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "tacit"
WRITTEN = [
    page for page in (ROOT / "docs").rglob("*.md") if not {"api", "learnt"} & {*page.parts}
]  # the build writes those
DOCUMENTS = sorted([*ROOT.glob("*.md"), *WRITTEN])
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def generator(name="make_disclosures"):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    # a dataclass looks up its own module while it is being made
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def packages() -> set[str]:
    return {f"{f.parent.relative_to(PACKAGE).as_posix()}/" for f in PACKAGE.rglob("__init__.py") if f.parent != PACKAGE}


def test_the_states_of_a_job_are_those_of_the_table():
    made = generator("make_states")
    text = made.PAGE.read_text(encoding="utf-8")
    assert text == made.page(text), "run: python docs/make_states.py"


def test_the_page_of_disclosures_is_what_the_golden_ledgers_say():
    made = generator()
    assert made.PAGE.read_text(encoding="utf-8") == made.page(made.LEDGERS.glob("*.txt")), "run: make ledgers"


def test_the_page_of_disclosures_has_every_fact_that_a_golden_ledger_tells_with_its_prose():
    made = generator()
    lines = made.PAGE.read_text(encoding="utf-8").splitlines()
    facts = {
        fact for f in made.LEDGERS.glob("*.txt") for each in read_template(f.read_text("utf-8")) for fact in each.facts
    }
    told = [fact for fact in facts if made.is_told(fact)]
    assert len(told) > 10
    for fact in told:
        ends = f" | `{fact.kind}:{fact.granularity}` | {fact.prose} |"
        assert any(line.startswith(f"| `{fact.identifier}` | ") and line.endswith(ends) for line in lines), fact


def test_the_page_of_disclosures_has_one_screen_for_each_method_of_the_core():
    sections = generator().PAGE.read_text(encoding="utf-8").split("\n## ")
    for name in ("train_svm", "train_elm", "search_machine", "prepare_columns", "describe_table", "judge_model"):
        (section,) = [each for each in sections if each.startswith(f"{name}\n")]
        assert len(section.splitlines()) <= 20


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_to_a_file(document):
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert [t for t in targets if not (document.parent / t).exists()] == []


def test_the_architecture_shows_the_layers_of_the_contract():
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    drawn = ARCHITECTURE.partition("## Packages")[0]
    floors = [re.split(r"  +", line.strip())[0] for line in drawn.splitlines() if line.startswith("    ")]
    assert floors == [layer.replace("tacit.", "") for layer in tools["importlinter"]["contracts"][0]["layers"]]


def test_the_architecture_names_every_package_and_no_other():
    rooms = ARCHITECTURE.partition("## Packages")[2].partition("## ")[0]
    named = {
        room + inner
        for line in rooms.splitlines()
        if line.startswith("| `")
        for room in re.findall(r"`(\w+/)`", line.split("|")[1])
        for inner in ("", *re.findall(r"`((?:\w+/)+)`", line.split("|")[2]))
    }
    assert named == packages()


def test_the_architecture_fits_on_two_screens():
    assert len(ARCHITECTURE.splitlines()) <= 100


def test_a_request_takes_the_way_that_the_architecture_shows():
    picture = ARCHITECTURE.partition("## The way of a request")[2].partition("## ")[0]
    way = [line.split()[0] for line in picture.splitlines() if line.startswith("    ")]
    X, y = make_classification(120, random_state=0)
    federation, called = tacit.simulate(X, y, parties=3, partition="horizontal"), []

    def listen(frame: FrameType, event: str, _: object) -> None:
        name = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}".removeprefix("tacit.")
        if event == "call" and name in way and name not in called:
            called.append(name)

    sys.setprofile(listen)
    try:
        tacit.SVC().fit(federation)
    finally:
        sys.setprofile(None)
    assert called == way


def test_every_noun_of_the_glossary_has_one_meaning_and_a_module_that_exists():
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| ((?:`[\w./]+`(?:, )?)+) \|$", GLOSSARY, re.MULTILINE)
    nouns = [noun for noun, _ in rows]
    assert len(rows) == len([line for line in GLOSSARY.splitlines() if line.count("|") == 4]) - 2
    assert len(nouns) == len(set(nouns))
    for _, homes in rows:
        for home in re.findall(r"`([\w./]+)`", homes):
            place = ROOT / home if "/" in home else PACKAGE / home.replace(".", "/")
            assert place.is_dir() or place.with_suffix(".py").is_file(), home


def test_every_module_that_prose_names_exists():
    rooms = "|".join(sorted({name.split("/")[0] for name in packages()}))
    texts = [*DOCUMENTS, *PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    mentions = {
        name
        for file in texts
        for name in re.findall(
            rf"`(?:tacit\.)?((?:{rooms})\.[a-z_0-9]+\.[a-z_0-9.]+)`", file.read_text(encoding="utf-8")
        )
    }
    assert [name for name in sorted(mentions) if not resolves(name.split("."))] == []


def resolves(names: list[str]) -> bool:
    """Whether a module has this name, or the name without what stands in the module."""
    modules = [PACKAGE.joinpath(*names[:n]) for n in range(len(names), 1, -1)]
    found = next((m for m in modules if m.with_suffix(".py").is_file()), None)
    rest = names[len(found.relative_to(PACKAGE).parts) :] if found else []
    inside = found.with_suffix(".py").read_text(encoding="utf-8") if found else ""
    return PACKAGE.joinpath(*names).is_dir() or (
        found is not None and all(re.search(rf"\b{n}\b", inside) for n in rest)
    )
