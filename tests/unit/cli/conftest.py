"""Files to train on, and the command line as it is called."""

import json

import numpy as np
import pytest
from csv_tables import NAMES, X, Y, columns_of, write
from typer.testing import CliRunner

from tacit.cli.app import app


class Result:
    """What a command left: its exit code, its two streams."""

    def __init__(self, result) -> None:
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: whole.csv, and the same records split between bank, life and motor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write(tmp_path / "whole.csv", columns_of(X))
    for company, held in {"bank": slice(0, 2), "life": slice(2, 4), "motor": slice(4, 6)}.items():
        write(tmp_path / f"{company}.csv", columns_of(X[:, held], NAMES[held], Y if company == "bank" else None))
    return tmp_path


@pytest.fixture
def spoilt(folder):
    """Files that training must refuse."""
    gap = columns_of(X)
    gap["c"][3] = ""
    write(folder / "gap.csv", gap)
    write(folder / "one_class.csv", columns_of(X, labels=np.zeros_like(Y)))
    write(folder / "huge.csv", columns_of(X * 1e20))
    write(folder / "no_label.csv", columns_of(X, labels=None))
    write(folder / "site.csv", columns_of(X) | {"site": ["x"] * len(X)})
    (folder / "notes.txt").write_text("a")
    return folder


@pytest.fixture
def tacit(folder):
    """Runs a command; an exception that nobody foresaw comes through."""
    del folder

    def call(*args, said=None):
        return Result(
            CliRunner().invoke(app, [str(a) for a in args], prog_name="tacit", catch_exceptions=False, input=said)
        )

    return call


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A model of whole.csv, for all tests."""
    place = tmp_path_factory.mktemp("trained")
    write(place / "whole.csv", columns_of(X))
    done = CliRunner().invoke(app, ["train", str(place / "whole.csv"), "--out", str(place / "model.tacit")])
    assert done.exit_code == 0
    return (place / "model.tacit").read_bytes()


@pytest.fixture
def model(folder, trained):
    """model.tacit, trained on whole.csv."""
    (folder / "model.tacit").write_bytes(trained)
    return "model.tacit"


@pytest.fixture
def refused(tacit, folder):
    """Runs a command that must end in one line on stderr, code 2, and no new file."""

    def call(*args):
        before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        result = tacit(*args)
        assert result.code == 2
        assert result.out == ""
        assert result.err.startswith("tacit: error: ")
        assert result.err.count("\n") == 1
        assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
        return result.err

    return call
