"""`tacit describe` on files: a line for each column, what was opened for it, and a page."""

import csv

import numpy as np
import pytest


@pytest.fixture
def hospitals(folder):
    """Three files of patients; one hospital measures in another unit."""
    draw = np.random.default_rng(0)
    for name, unit in (("north", 1.0), ("south", 1.0), ("east", 1 / 38.67)):
        rows = [(unit * draw.normal(200, 30), draw.choice(["f", "m"]), k % 2) for k in range(40)]
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("chol", "sex", "ill"), *rows])
    return ["north.csv", "south.csv", "east.csv"]


def test_it_says_what_columns_hold_who_differs_and_who_knows_what(tacit, folder, hospitals):
    done = tacit("describe", *hospitals, "--label", "ill", "--report", "look.html")
    assert done.code == 0
    assert "Describe on 120 records between 3 parties" in done.out
    assert "party 'east': column 'chol' is far smaller than at the other parties" in done.out
    assert "(labels)   labels" in done.out
    assert "everyone knows" in done.out
    assert "<h2>The table</h2>" in (folder / "look.html").read_text()


def test_as_json_it_is_one_object(tacit, hospitals):
    found = tacit("describe", *hospitals, "--json").json
    assert found["records"] == 120
    assert found["columns"]["chol"]["present"] == "nearly all"
    assert found["unlike"] == {"east": {"chol": "smaller"}}


def test_one_file_is_split_between_parties(tacit, hospitals):
    assert "Describe on 40 records between 4 parties" in tacit("describe", hospitals[0], "--parties", "4").out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ("north.csv", "south.csv", "east.csv", "--label", "age"),
            "north.csv has no column 'age' (columns: chol, sex, ill): name the label column with --label",
        ),
        (("north.csv", "south.csv", "--label", "ill"), "only 2 parties hold data"),
        (("north.csv", "--config", "analyst.toml"), "--config asks sites to describe theirs: give one of the two"),
        (("north.csv", "south.csv", "east.csv", "--parties", "2"), "but --parties says 2: leave --parties out"),
        ((), "this folder has no configuration of an analyst: name one with --config"),
    ],
)
def test_what_cannot_be_described_is_refused_in_one_line(refused, hospitals, args, says):
    del hospitals
    assert says in refused("describe", *args)


def test_with_schema_only_names_and_kinds_are_told(tacit, hospitals):
    found = tacit("describe", *hospitals, "--schema", "--json").json
    assert {name: told["kind"] for name, told in found["columns"].items()} == {
        "chol": "number", "sex": "text", "ill": "number"
    }  # fmt: skip
    assert (found["records"], found["rounds"]) == (None, 0)
    assert "no value was counted" in tacit("describe", *hospitals, "--schema").out
