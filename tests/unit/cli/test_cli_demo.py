import re
import subprocess
import sys

import pytest

from tacit import Report
from tacit.choreo.fact import fact_called
from tacit.choreo.ledger import Learnt
from tacit.cli import app, local
from tacit.cli.local import demo
from tacit.report.disclosures import fold_ledger

TOGETHER = "together (tacit)"


@pytest.fixture
def reports(monkeypatch):
    """The reports that the demo makes."""
    kept = []
    whole = demo.compare
    monkeypatch.setattr(demo, "compare", lambda *args: kept.append(whole(*args)) or kept[-1])
    return kept


def test_the_demo_prints_scores_cost_disclosures_and_the_path_of_its_report(tacit, folder, reports):
    result = tacit("demo")
    assert result.code == 0
    for words in (
        "north alone",
        "west alone",
        "together (tacit)",
        "centralised",
        "143 patients",
        "rounds",
        "tacit-demo.html",
    ):
        assert words in result.out
    assert "the weights of the model, rounded and with noise" in " ".join(result.out.split())
    assert (folder / "tacit-demo.html").stat().st_size > 10_000
    scores = reports[0].scores
    assert scores[TOGETHER] > 0.92
    assert scores["centralised"] > 0.95
    assert reports[0].comparison["training records labelled differently"] < 20


@pytest.mark.slow
def test_the_demo_fits_a_few_screens_and_its_numbers_are_repeatable(tacit, reports):
    assert len(tacit("demo").out.splitlines()) < 90
    tacit("demo")
    alone, again = ({who: n for who, n in r.scores.items() if who != TOGETHER} for r in reports)
    assert alone == again
    assert reports[0].scores[TOGETHER] == pytest.approx(reports[1].scores[TOGETHER], abs=0.05)  # a model has noise
    tacit("demo", "--seed", 1)
    assert reports[2].scores != reports[0].scores


@pytest.mark.slow
def test_two_hospitals_come_with_a_warning_and_eight_have_names(tacit):
    assert "only 2 parties hold data" in " ".join(tacit("demo", "--parties", 2).out.split())
    assert "southwest alone" in tacit("demo", "--parties", 8).out


@pytest.mark.slow
def test_piped_output_has_no_control_characters(folder):
    done = subprocess.run(
        [sys.executable, "-m", "tacit.cli", "demo"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert not re.search(r"[^\n -~\u2500]", done.stdout)
    assert done.stderr == ""


def test_who_learnt_the_same_shares_a_line():
    sites = ["a", "b", "hub"]
    pairs = [("b", "a"), ("hub", "a"), ("a", "b"), ("hub", "b")]
    rows = [Learnt(r, (fact_called("a key"),), s, "Key", 1, 10) for r, s in pairs]
    rows += [Learnt(r, (fact_called("the model"),), "hub", "Model", 2, 10) for r in "ab"]
    rows += [
        Learnt("b", (fact_called("a turn"),), "a", "Turn", 1, 10),
        Learnt("hub", (fact_called("a turn"),), "b", "Turn", 1, 10),
    ]
    assert [(line.who, line.message, line.senders, line.times) for line in fold_ledger(rows, sites)] == [
        ("everyone", "Key", "a, b", "once each"),
        ("everyone else", "Model", "hub", "2 times"),
        ("b", "Turn", "a", "once"),
        ("hub", "Turn", "b", "once"),
    ]


def test_report_prints_what_training_left(tacit, model, folder):
    assert "To decide" in tacit("report", model).out
    assert Report.from_dict(tacit("report", model, "--json").json).title.endswith(
        " > SVC) on 43 records between 3 parties"
    )
    assert tacit("report", model, "--html", "r.html").out == "report: r.html\n"
    assert (folder / "r.html").is_file()


@pytest.mark.parametrize("command", ["demo", "train", "predict", "report"])
def test_every_command_explains_itself_with_an_example(tacit, command):
    text = tacit(command, "--help").out
    assert f"Example: tacit {command}" in text


def test_help_lists_the_commands_and_version_is_one_line(tacit):
    assert tacit().out == tacit("--help").out
    assert re.findall(r"^  (\w+)  +\w", tacit().out, flags=re.MULTILINE) == [
        "advise", "attack", "demo", "describe", "predict", "release", "report", "train",
        "audit", "coordinator", "dossier", "keys", "page", "party", "people", "purge",
        "resume", "status", "submit", "withdraw",
    ]  # fmt: skip
    assert max(map(len, tacit().out.splitlines())) <= 80
    assert re.fullmatch(r"tacit \d+\.\d+\.\d+\n", tacit("--version").out)


COMMAND = '''"""Greet somebody.

Example: tacit greet Ada
"""
import typer

def greet(name: str) -> None:
    typer.echo(f"hello {name}")
'''


def test_a_file_is_all_that_a_new_command_needs(tacit, folder, monkeypatch):
    (folder / "local").mkdir()
    (folder / "local" / "__init__.py").write_text('"""Commands of a test."""')
    (folder / "local" / "greet.py").write_text(COMMAND)
    monkeypatch.setattr(app, "FOLDERS", (folder / "local",))
    monkeypatch.setattr(local, "__path__", [str(folder / "local")])
    assert "Commands of a test:\n  greet  Greet somebody.\n" in tacit("--help").out
    assert "Example: tacit greet Ada" in tacit("greet", "--help").out
    done = tacit("greet", "Ada")
    assert (done.out, done.err) == ("hello Ada\n", "")


def test_a_misspelt_command_is_refused_with_the_right_one(tacit):
    assert "No such command 'trian'. Did you mean 'train'?" in tacit("trian").err


def test_the_list_of_commands_imports_no_command():
    """`tacit` as a bare package: what its own `__init__` imports is not the command line's doing."""
    code = """
import sys, types, importlib.util
bare = types.ModuleType("tacit")
bare.__path__ = importlib.util.find_spec("tacit").submodule_search_locations
sys.modules["tacit"] = bare
import tacit.cli.app, typer.testing
assert typer.testing.CliRunner().invoke(tacit.cli.app.app, ["--help"]).exit_code == 0
print(*{"sklearn", "numpy", "pyarrow", "matplotlib", "rich", "msgspec"} & set(sys.modules))
"""
    # the text above
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout == "\n"


def test_pages_are_those_of_sites_and_two_hospitals_are_too_few(tacit):
    alone = tacit("demo", "--page")
    assert (alone.code, "--page needs --network" in alone.err) == (2, True)
    assert "--parties 2 is too few for --network" in tacit("demo", "--network", "--page", "--parties", 2).err
