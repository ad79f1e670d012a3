import subprocess
import sys

import pytest
from csv_tables import X, columns_of, write

from tacit.base import classifiers


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["missing.csv"], "no such file: missing.csv"),
        (["notes.txt"], "notes.txt has the unknown suffix '.txt': save it as one of .csv"),
        (["gap.csv", "--no-prepare"],
         "Input X contains NaN: column 'c' of gap.csv has 1 missing value (first in row 4)"),
        (["no_label.csv"],
         "no_label.csv has no column 'label' (columns: a, b, c, d, e, f): name the label column with --label"),
        (["life.csv", "motor.csv", "no_label.csv", "--partition", "vertical"],
         "no file has the label column 'label': name it with --label"),
        (["one_class.csv"], "hold one class only"),
        (["whole.csv", "--set", "kernel=cubic"],
         "The 'kernel' parameter of SVC must be among {'linear', 'rbf', 'poly'}"),
        (["whole.csv", "--set", "D=1"],
         "SVC has no parameter 'D' in --set: it takes "),
        (["whole.csv", "--set", "partition=vertical"], "SVC has no parameter 'partition' in --set"),
        (["whole.csv", "--set", "C"], "--set C has no value: write it as --set name=value"),
        (["whole.csv", "--estimator", "LinearSVC"], "unknown estimator 'LinearSVC': use one of SVC, SVR"),
        (["huge.csv", "--no-prepare"], "has values of 5e+18 or more, which landmarks do not hold: take a larger unit"),
        (["bank.csv", "life.csv"], "only 2 parties hold data"),
        (["bank.csv", "life.csv"], "add a party, or accept it with --allow-two-parties"),
        (["bank.csv", "whole.csv", "life.csv"], "say --partition vertical or horizontal"),
        (["bank.csv", "whole.csv", "life.csv", "--partition", "vertical"],
         "only one party may hold them; name it with --labeller"),
        (["bank.csv", "life.csv", "motor.csv", "--parties", "4"],
         "3 files make 3 parties, but --parties says 4: leave --parties out"),
        (["bank.csv", "../{folder}/bank.csv", "life.csv", "--partition", "vertical"],
         "two parties are named 'bank': a file's name names its party, so rename one"),
        (["site.csv", "--no-prepare"], "column 'site' of site.csv holds text, not numbers"),
        (["site.csv", "--no-prepare"], "encode it as numbers (tacit train --prepare does it), or leave it out with"),
        (["whole.csv", "--parties", "0"], "Invalid value for '--parties'"),
        (["whole.csv", "--sed", "0"], "No such option: --sed"),
        ([], "(see: tacit train --help)"),
    ],
)  # fmt: skip
def test_training_refuses_in_one_line(refused, spoilt, args, words):
    assert words in refused("train", *(a.format(folder=spoilt.name) for a in args))


def test_a_name_in_a_table_cannot_redraw_the_terminal(refused, spoilt):
    (spoilt / "evil.csv").write_text("a,si\x1b[2J\u202ete,label\n1,x,0\n2,y,1\n")
    line = refused("train", "evil.csv", "--no-prepare")
    assert "holds text, not numbers" in line
    assert line.rstrip("\n").isprintable()


def test_nor_can_one_in_a_warning_about_a_column_that_is_left_out(spoilt):
    write(spoilt / "evil.csv", columns_of(X) | {"si\x1b[2J\u202ete": [f"p{i}" for i in range(len(X))]})
    command = [sys.executable, "-m", "tacit", "train", "evil.csv", "--set", "features=5"]
    done = subprocess.run(command, cwd=spoilt, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert "is left out" in done.stderr
    assert all(line.isprintable() for line in f"{done.stdout}{done.stderr}".splitlines())


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_target_that_cannot_be_written_is_refused_before_training(refused, monkeypatch, option):
    monkeypatch.setattr(classifiers, "make_learner", lambda *_: pytest.fail("went on"))
    assert f"{option} no/where cannot be written: name a file in a directory that exists" in refused(
        "train", "whole.csv", option, "no/where"
    )
    assert f"{option} . cannot be written" in refused("train", "whole.csv", option, ".")
    assert f"{option} whole.csv is given twice" in refused("train", "whole.csv", option, "whole.csv")


def test_model_and_report_cannot_be_the_same_file(refused):
    assert "--report m is given twice" in refused("train", "whole.csv", "--out", "m", "--report", "m")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["model.tacit", "missing.csv"], "no such file: missing.csv"),
        (["missing.tacit", "whole.csv"], "the model missing.tacit cannot be read: No such file or directory"),
        (["truncated.tacit", "whole.csv"], "truncated.tacit is damaged or truncated (its checksum does not match)"),
        (["corrupt.tacit", "whole.csv"], "corrupt.tacit is damaged or truncated (its checksum does not match)"),
        (["whole.csv", "whole.csv"], "whole.csv is not a tacit model file of this version"),
        (["model.tacit", "bank.csv"], "bank.csv lacks 4 columns of the model: c, d, e, f"),
        (["model.tacit", "site.csv", "--drop", "site", "--label", "nothing"],
         "the model does not know: leave them out with --drop label"),
        (["model.tacit", "bank.csv", "life.csv"],
         "the files are named bank, life, but the model's parties are party-1, party-2, party-3"),
        (["model.tacit", "whole.csv", "--out", "no/p.csv"], "--out no/p.csv cannot be written"),
        (["model.tacit", "whole.csv", "--out", "whole.csv"], "--out whole.csv is given twice"),
    ],
)  # fmt: skip
def test_prediction_refuses_in_one_line(refused, model, spoilt, args, words):
    content = (spoilt / model).read_bytes()
    (spoilt / "truncated.tacit").write_bytes(content[:-100])
    (spoilt / "corrupt.tacit").write_bytes(content[:-100] + bytes(100))
    assert words in refused("predict", *args)


def test_a_report_that_cannot_be_written_or_read_is_refused(refused, model):
    assert "--html no/r.html cannot be written" in refused("report", model, "--html", "no/r.html")
    assert "whole.csv is not a tacit model file" in refused("report", "whole.csv")


def test_a_demo_that_could_not_write_its_report_does_not_start(refused):
    assert "--out no/d.html cannot be written" in refused("demo", "--out", "no/d.html")
    assert "Invalid value for '--parties'" in refused("demo", "--parties", "1")


def test_unknown_options_and_commands_are_refused_in_one_line(refused):
    assert "No such option: --nothing (see: tacit --help)" in refused("--nothing")
    assert "No such command 'nothing'" in refused("nothing")


def test_an_interrupt_is_one_line_and_130(tacit, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(classifiers, "make_learner", interrupted)
    result = tacit("train", "whole.csv")
    assert (result.code, result.err) == (130, "tacit: stopped\n")


def test_what_nobody_foresaw_keeps_its_traceback(tacit, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(classifiers, "make_learner", broken)
    with pytest.raises(ZeroDivisionError):
        tacit("train", "whole.csv")


def test_a_real_process_refuses_without_a_traceback(folder):
    done = subprocess.run(
        [sys.executable, "-m", "tacit.cli", "train", "missing.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tacit: error: no such file: missing.csv")
    assert done.stderr.count("\n") == 1
