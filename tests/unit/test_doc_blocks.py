"""Every fenced block of every page does what a reader would have it do: code and commands run, in order, page by page.

A block that cannot run here has a line before it: `<!-- not run: why; `tests/...` does it -->`. Its Python is compiled
all the same, and its commands are parsed by the real command line.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from doc_files import PAGES
from typer.main import get_command
from typer.testing import CliRunner

from tacit.cli.app import app

ROOT = Path(__file__).parents[2]
WRITTEN = [
    page for page in (ROOT / "docs").rglob("*.md") if not {"api", "learnt"} & {*page.parts}
]  # the build writes those
DOCUMENTS = sorted([*ROOT.glob("*.md"), *WRITTEN, *(ROOT / "deploy").glob("*.md")])
FENCE = re.compile(
    r"^(?:<!-- (?P<mark>not run[^\n]*) -->\n)?```(?P<kind>\w*|\{[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r"not run: [^;]+; `(tests/[\w/]+\.py)` .+")
# an indented line that looks like code: it belongs into a fence, where it is run
LOOKS_LIKE_CODE = re.compile(r"^    (tacit |import |from \w+ import |python3? |pip |make |[\w, ]+ = tacit\.|print\()")
ELSEWHERE = {"CONTRIBUTING.md": "tests/unit/test_adding.py"}  # its recipes are one module, which that test uses
FAST = ("docs/deploy.md", "docs/study.md")  # the others take half a minute together


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, what stands in it and in the comment before it."""

    page: str
    line: int
    kind: str
    text: str
    mark: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = FENCE.finditer(text)
    name = page.relative_to(ROOT).as_posix()
    return [Block(name, text.count("\n", 0, m.start("text")) + 1, m["kind"], m["text"], m["mark"]) for m in found]


BLOCKS = [block for page in DOCUMENTS for block in blocks_of(page)]
SHELL = [block for block in BLOCKS if block.kind == "sh"]


def commands_of(block: Block) -> list[list[str]]:
    """Return the commands of a block of shell, without the remarks."""
    lines = (shlex.split(line, comments=True) for line in block.text.splitlines())
    return [words for words in lines if words]


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_stands_in_a_fence_that_says_its_language(page):
    outside = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert [line for line in outside.splitlines() if LOOKS_LIKE_CODE.match(line)] == []
    languages = {block.kind for block in blocks_of(page) if not block.kind.startswith("{")}  # the site's own words
    assert languages <= {"python", "sh", "toml", "mermaid"}


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.mark], ids=str)
def test_a_block_that_is_not_run_says_why_and_which_test_does_the_same(block):
    told = MARK.fullmatch(block.mark)
    assert told, f"{block}: <!-- {block.mark} --> does not say why it is not run"
    assert (ROOT / told[1]).is_file()


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "python"], ids=str)
def test_python_compiles(block):
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.kind == "toml"], ids=str)
def test_toml_can_be_read(block):
    tomllib.loads(block.text)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_every_command_of_tacit_exists_with_its_options(block):
    for words in commands_of(block):
        if words[0] == "tacit":
            parse(get_command(app), words[1:])


@pytest.mark.parametrize(
    "line", ["trian a.csv", "train a.csv --partitions vertical", "keys sing north.request", "predict"]
)
def test_a_command_that_does_not_exist_is_noticed(line):
    with pytest.raises((typer.Exit, typer.BadParameter.__base__)):
        parse(get_command(app), line.split())


def parse(command: Any, words: list[str], parent: Any = None) -> None:
    """Raise unless these words are a command and its options."""
    made = command.make_context(words[0] if words else "tacit", list(words), parent=parent)
    if hasattr(command, "commands") and made._protected_args:  # where click keeps a group's command
        name, inner, rest = command.resolve_command(made, [*made._protected_args, *made.args])
        assert name
        parse(inner, rest, made)


@pytest.mark.filterwarnings("ignore:column 'patient' .* it is left out")  # the notice that study.md tells of
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page, marks=() if page in FAST else pytest.mark.slow)
        for page in dict.fromkeys(block.page for block in BLOCKS if block.kind in {"python", "sh"} and not block.mark)
        if page not in ELSEWHERE
    ],
)
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page in PAGES:
        PAGES[page](tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCKS:
        if block.page == page and not block.mark:
            run(block, names)


def run(block: Block, names: dict[str, Any]) -> None:
    if block.kind == "python":
        above = "\n" * (block.line - 1)  # so that a traceback has the line of the page
        exec(compile(above + block.text, block.page, "exec", dont_inherit=True), names)  # noqa: S102 - our own pages
    for words in commands_of(block) if block.kind == "sh" else ():
        assert words[0] == "tacit", f"{block}: {words[0]} is not run here: say why in a line before the block"
        done = CliRunner().invoke(app, words[1:], prog_name="tacit", catch_exceptions=False, input="y\n" * 3)
        assert done.exit_code == 0, f"{block}: {shlex.join(words)}\n{done.output}"
