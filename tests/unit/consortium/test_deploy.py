"""What `deploy/` and the page about it say is what the package writes and accepts."""

import configparser
import re
from pathlib import Path

import pytest

from job_files import example_job
from tacit.consortium.site import example_files
from tacit.consortium.site.settings import AnalystSettings, CoordinatorSettings, PartySettings
from tacit.federation.databases.postgresql import LONGEST_QUERY
from tacit.federation.databases.query import DATABASES, Connection

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
KINDS = ("party", "coordinator", "analyst", "policy", "job")


@pytest.mark.parametrize("kind", KINDS)
def test_the_examples_are_what_the_package_writes(kind):
    made = example_job() if kind == "job" else getattr(example_files, f"example_{kind}")()
    assert (DEPLOY / "examples" / f"{kind}.toml").read_text(encoding="utf-8") == made


@pytest.mark.parametrize(
    ("kind", "settings"), [("party", PartySettings), ("coordinator", CoordinatorSettings), ("analyst", AnalystSettings)]
)
def test_the_examples_are_accepted(kind, settings):
    assert settings.from_toml(DEPLOY / "examples" / f"{kind}.toml", files=False).name


def test_the_query_of_the_page_is_accepted(tmp_path):
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```toml\n\[datasets.cohort\]\n(query.*?)```", page, re.DOTALL)
    example = example_files.example_party()
    (tmp_path / "party.toml").write_text(example.replace('path = "cohort.csv"\n', table))
    dataset = PartySettings.from_toml(tmp_path / "party.toml", files=False).datasets["cohort"]
    assert dataset.connection_file == tmp_path / "cohort.connection"
    connections = re.findall(r"^    ((?:postgresql|sqlite|duckdb):\S+)$", page, re.MULTILINE)
    assert {Connection(each, "the page").kind for each in connections} == set(DATABASES)
    for name, value in (("maximum_rows", 10_000_000), ("maximum_megabytes", 4_000)):
        assert f"`{name}` ({value:,})" in page
        assert getattr(dataset, name) == value
    assert f"after {LONGEST_QUERY} s" in page


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
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    table = page.split("## Troubleshooting")[1].split("\n## ")[0]
    said = [
        phrase for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for phrase in re.findall(r"`([^`]+)`", row)
    ]
    sources = "\n".join(f.read_text(encoding="utf-8") for f in (ROOT / "src" / "tacit").rglob("*.py"))
    assert len(said) > 10
    assert [phrase for phrase in said if phrase not in sources] == []
