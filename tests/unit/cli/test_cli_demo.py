import re
import subprocess
import sys

import pytest

from tacit import Report
from tacit.choreo.ledger import Learnt
from tacit.cli import hospitals
from tacit.cli.summary import Line, disclosed


@pytest.fixture
def reports(monkeypatch):
    """The reports that the demo makes."""
    kept = []
    whole = hospitals.compared
    monkeypatch.setattr(hospitals, "compared", lambda *args: kept.append(whole(*args)) or kept[-1])
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
        "relative gap",
        "tacit-demo.html",
    ):
        assert words in result.out
    assert "the gram matrix, which is every record up to one unknown rotation" in result.out
    assert (folder / "tacit-demo.html").stat().st_size > 10_000
    scores = reports[0].scores
    assert scores["together (tacit)"] == scores["centralised"] > 0.95
    assert reports[0].comparison["training records labelled differently"] == 0


def test_the_demo_fits_two_screens_and_its_numbers_are_repeatable(tacit, reports):
    assert len(tacit("demo").out.splitlines()) < 60
    tacit("demo")
    assert reports[0].scores == reports[1].scores
    tacit("demo", "--seed", 1)
    assert reports[2].scores != reports[0].scores


def test_two_hospitals_come_with_a_warning_and_eight_have_names(tacit):
    assert "only 2 parties hold data" in " ".join(tacit("demo", "--parties", 2).out.split())
    assert "southwest alone" in tacit("demo", "--parties", 8).out


def test_piped_output_has_no_control_characters(folder):
    done = subprocess.run([sys.executable, "-m", "tacit.cli", "demo"], cwd=folder, capture_output=True, text=True, check=True)
    assert not re.search(r"[^\n -~\u2500]", done.stdout)
    assert done.stderr == ""


def test_who_learnt_the_same_shares_a_line():
    sites = ["a", "b", "hub"]
    pairs = [("b", "a"), ("hub", "a"), ("a", "b"), ("hub", "b")]
    rows = [Learnt(r, "a key", s, "Key", 1, 10) for r, s in pairs]
    rows += [Learnt(r, "the model", "hub", "Model", 2, 10) for r in "ab"]
    rows += [Learnt("b", "a turn", "a", "Turn", 1, 10), Learnt("hub", "a turn", "b", "Turn", 1, 10)]
    assert disclosed(rows, sites) == [
        Line("everyone", "a key", "a, b", "once each"),
        Line("everyone else", "the model", "hub", "2 times"),
        Line("b", "a turn", "a", "once"),
        Line("hub", "a turn", "b", "once"),
    ]


def test_report_prints_what_training_left(tacit, model, folder):
    assert "Who knows what after this run" in tacit("report", model).out
    assert Report.from_dict(tacit("report", model, "--json").json).title == "GramSVC on 60 records between 3 parties"
    assert tacit("report", model, "--html", "r.html").out == "report: r.html\n"
    assert (folder / "r.html").is_file()


@pytest.mark.parametrize("command", ["demo", "train", "predict", "report"])
def test_every_command_explains_itself_with_an_example(tacit, command):
    text = tacit(command, "--help").out
    assert f"Example: tacit {command}" in text


def test_help_lists_the_commands_and_version_is_one_line(tacit):
    assert tacit().out == tacit("--help").out
    assert re.findall(r"^  (\w+)  +\w", tacit().out, flags=re.MULTILINE) == [
        "demo", "train", "predict", "report", "attack", "coordinator", "submit", "resume", "withdraw", "status", "purge",
        "keys", "party", "audit",
    ]  # fmt: skip
    assert re.fullmatch(r"tacit \d+\.\d+\.\d+\n", tacit("--version").out)


def test_the_options_themselves_import_nothing_heavy():
    """`tacit` as a bare package: what its own `__init__` imports is not the command line's doing."""
    code = """
import sys, types, importlib.util
bare = types.ModuleType("tacit")
bare.__path__ = importlib.util.find_spec("tacit").submodule_search_locations
sys.modules["tacit"] = bare
import tacit.cli
print(*{"sklearn", "numpy", "pyarrow", "matplotlib"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 - the text above
    assert done.stdout == "\n"
