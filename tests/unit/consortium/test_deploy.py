"""What `deploy/` and the page about it say is what the package writes and accepts."""

import configparser
import re
from pathlib import Path

import pytest

from tacit.consortium import example_files
from tacit.consortium.settings import AnalystSettings, CoordinatorSettings, PartySettings

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
KINDS = ("party", "coordinator", "analyst", "policy", "job")


@pytest.mark.parametrize("kind", KINDS)
def test_the_examples_are_what_the_package_writes(kind):
    made = getattr(example_files, f"example_{kind}")()
    assert (DEPLOY / "examples" / f"{kind}.toml").read_text(encoding="utf-8") == made


@pytest.mark.parametrize(
    ("kind", "settings"), [("party", PartySettings), ("coordinator", CoordinatorSettings), ("analyst", AnalystSettings)]
)
def test_the_examples_are_accepted(kind, settings):
    assert settings.from_toml(DEPLOY / "examples" / f"{kind}.toml", files=False).name


@pytest.mark.parametrize("kind", ["party", "coordinator"])
def test_the_units_are_hardened_and_start_the_right_command(kind):
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str
    unit.read(DEPLOY / f"tacit-{kind}.service")
    service = dict(unit["Service"])
    assert f"tacit {kind} --config /etc/tacit/{kind}.toml" in service["ExecStart"]
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "yes"
    assert service["Restart"] == "always"
    assert service["User"] == "tacit"
    assert "OPENBLAS_NUM_THREADS=1" in service["Environment"]


def test_every_message_in_the_table_of_troubles_is_one_that_the_code_says():
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    table = page.split("## Troubleshooting")[1].split("\n## ")[0]
    said = [phrase for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for phrase in re.findall(r"`([^`]+)`", row)]
    sources = "\n".join(f.read_text(encoding="utf-8") for f in (ROOT / "src" / "tacit").rglob("*.py"))
    assert len(said) > 10
    assert [phrase for phrase in said if phrase not in sources] == []
