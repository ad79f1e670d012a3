"""Refusals of the command line name options that exist: who does what they say is not refused again."""

from __future__ import annotations

import pytest
from csv_tables import X, Y, columns_of, write

THREE = ("bank.csv", "life.csv", "motor.csv")
BY_ROWS = ("--partition", "horizontal")

CASES = {
    "another label": (
        ("train", "diagnosed.csv"), "name the label column with --label",
        ("train", "diagnosed.csv", "--label", "diagnosis"),
    ),
    "no file has it": (
        ("train", "life.csv", "motor.csv", "more.csv", "--label", "ill"), "name it with --label",
        ("train", "life.csv", "motor.csv", "more.csv", "--label", "diagnosis"),
    ),
    "two parties": (
        ("train", "bank.csv", "life.csv"), "accept it with --allow-two-parties",
        ("train", "bank.csv", "life.csv", "--allow-two-parties"),
    ),
    "a third party": (("train", "bank.csv", "life.csv"), "add a party", ("train", *THREE)),
    "a text column": (
        ("train", "site.csv", "--no-prepare"), "leave it out with --drop site",
        ("train", "site.csv", "--no-prepare", "--drop", "site"),
    ),
    "a text column, prepared": (
        ("train", "site.csv", "--no-prepare"), "tacit train --prepare does it",
        ("train", "site.csv", "--prepare"),
    ),
    "a text column of two parties": (
        ("train", "site.csv", *BY_ROWS, "--parties", "2", "--set", "kernel=linear"), "tacit train --prepare does it",
        ("train", "site.csv", *BY_ROWS, "--parties", "2", "--set", "kernel=linear", "--prepare"),
    ),
    "labels of two": (
        ("train", "bank.csv", "more.csv", "life.csv", "--label", "label"), "name it with --labeller",
        ("train", "bank.csv", "more.csv", "life.csv", "--label", "label", "--labeller", "bank"),
    ),
    "gaps": (
        ("train", "gap.csv", "--no-prepare"), "tacit train --prepare does it",
        ("train", "gap.csv", "--prepare"),
    ),
    "as many files": (
        ("train", *THREE, "--parties", "4"), "leave --parties out",
        ("train", *THREE),
    ),
    "a parameter without value": (
        ("train", "whole.csv", "--set", "C"), "for example --set C=10",
        ("train", "whole.csv", "--set", "C=10"),
    ),
    "ids of one file": (
        ("train", "ids.csv", "--id", "patient"), "use --drop patient instead",
        ("train", "ids.csv", "--drop", "patient"),
    ),
    "ids as features": (
        ("train", "named.csv", "--no-prepare"), "leave it out with --drop patient",
        ("train", "named.csv", "--no-prepare", "--drop", "patient"),
    ),
    "a column that the model does not know": (
        ("predict", "model.tacit", "site.csv"), "--drop site",
        ("predict", "model.tacit", "site.csv", "--drop", "site"),
    ),
    "files of others": (
        ("predict", "model.tacit", "bank.csv", "life.csv"), "or one file of whole records",
        ("predict", "model.tacit", "whole.csv"),
    ),
    "no attack": (
        ("attack", "--estimator", "LinearSVC"), "use one of",
        ("attack", "--estimator", "SVC"),
    ),
}  # fmt: skip


@pytest.fixture
def files(spoilt):
    """Files with labels, ids and columns of their own."""
    labelled = {name: column for name, column in columns_of(X).items() if name != "label"}
    write(spoilt / "diagnosed.csv", labelled | {"diagnosis": Y.tolist()})
    write(spoilt / "more.csv", {"g": X[:, 0].tolist(), "label": Y.tolist(), "diagnosis": Y.tolist()})
    write(spoilt / "ids.csv", columns_of(X) | {"patient": list(range(len(X)))})
    write(spoilt / "named.csv", columns_of(X) | {"patient": [f"p{i}" for i in range(len(X))]})


@pytest.mark.usefixtures("files")
@pytest.mark.filterwarnings("ignore")  # of risks that were accepted
@pytest.mark.parametrize(("wrong", "says", "right"), CASES.values(), ids=CASES)
def test_who_does_what_a_refusal_says_gets_further(tacit, refused, wrong, says, right):
    if wrong[0] == "predict":
        assert tacit("train", "whole.csv").code == 0
    assert says in refused(*wrong)
    done = tacit(*right)
    assert done.code == 0, done.err
