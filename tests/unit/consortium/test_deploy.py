"""What `deploy/` and the page about it say is what the package writes and accepts."""

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from job_files import example_job
from tacit.consortium.site import example_files
from tacit.consortium.site.metrics import METRICS
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


# Monitoring, Kubernetes, compose


def names_in(text):
    return set(re.findall(r"\btacit_[a-z_]+", text))


def test_rules_and_dashboard_ask_for_metrics_that_there_are():
    rules, board = (DEPLOY / "monitoring" / name for name in ("alerts.yml", "grafana.json"))
    asked = names_in(rules.read_text(encoding="utf-8"))
    asked |= {name for panel in json.loads(board.read_text(encoding="utf-8"))["panels"]
              for target in panel["targets"] for name in names_in(target["expr"])}  # fmt: skip
    assert asked < set(METRICS)
    assert {"tacit_certificate_days", "tacit_store_broken", "tacit_proposals_waiting"} < asked


def test_rules_and_compose_file_are_yaml():
    yaml = pytest.importorskip("yaml")
    (group,) = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in group["rules"])
    services = yaml.safe_load((DEPLOY / "compose.yml").read_text(encoding="utf-8"))["services"]
    assert {"clearing", "north", "south", "east"} == set(services)
    assert all(each["read_only"] and each["cap_drop"] == ["ALL"] for each in services.values())


@pytest.mark.parametrize("kind", ["party", "coordinator"])
def test_the_chart_renders_a_member_without_root_that_writes_nowhere_but_to_its_state(kind):
    helm, yaml = shutil.which("helm"), pytest.importorskip("yaml")
    if helm is None:
        pytest.skip("there is no helm")
    chart = str(DEPLOY / "helm" / "tacit")
    subprocess.run([helm, "lint", chart], check=True, capture_output=True)  # noqa: S603 - ours
    command = [helm, "template", "north", chart, "--set", f"kind={kind},dataClaim=cohort"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - ours
    found = {each["kind"]: each for each in yaml.safe_load_all(made) if each}
    assert ("Service" in found) == (kind == "coordinator")
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in pod["containers"])
    assert "ingress" in found["NetworkPolicy"]["spec"]
    assert found["NetworkPolicy"]["spec"]["egress"]
    if (checker := shutil.which("kubeconform")) is not None:
        subprocess.run([checker, "-strict"], input=made, check=True, text=True)  # noqa: S603 - ours
