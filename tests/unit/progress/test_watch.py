"""What somebody who waits sees: in a terminal, in a log, and not at all."""

import contextlib
import dataclasses
import itertools
import os
import pty
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification

import tacit
from tacit.base.by_name import estimators
from tacit.choreo.progress import AtStep, Progress
from tacit.progress import watching
from tacit.progress.watch import describe

X, Y = make_classification(150, 6, random_state=0)


@pytest.fixture
def rows():
    return tacit.simulate(X, Y, parties=3)


class Screen:
    """A real terminal, and all that was written to it."""

    def __init__(self) -> None:
        self._reader, slave = pty.openpty()
        self.file = os.fdopen(slave, "w")
        self._read = bytearray()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                self._read += os.read(self._reader, 65536)

    def text(self):
        self.file.flush()
        time.sleep(0.2)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self._read.decode()).replace("\r", "\n")


STUDY = """
import time, warnings
import tacit
from tacit.choreo import Coordinator, Everyone, Fact, choreography
from tacit.counted import counted

@choreography(opens={Everyone: Fact("test.nothing", "nobody", "nothing", "none", "nothing")})
def take_long(run):
    run.local(Coordinator, sleep_and_warn)

def sleep_and_warn():
    for turn in counted(range(10)):
        time.sleep(0.3)
        if turn == 8:
            warnings.warn("column 'x' is odd")

tacit.simulate([[1.0], [2.0], [3.0]], parties=3).run(take_long)
"""


@pytest.mark.slow
def test_a_terminal_gets_a_line_after_two_seconds_and_a_warning_is_one_line_above_it():
    screen = Screen()
    width = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", STUDY], stderr=screen.file, env=width, check=True, timeout=60)  # noqa: S603 - ours
    said = screen.text()
    assert re.search(r"take_long: \d0% of this step", said)
    assert "10% of" not in said, "nothing is shown in the first two seconds"
    assert "\nUserWarning: column 'x' is odd\n" in said
    assert "warnings.warn" not in said


@pytest.mark.slow
def test_tacit_train_shows_steps_and_rounds_in_a_terminal(tmp_path):
    head = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    np.savetxt(tmp_path / "table.csv", np.column_stack([X, Y]), delimiter=",", header=head, comments="")
    screen, width = Screen(), {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    options = ["table.csv", "--partition", "horizontal", "--estimator", "SVC"]
    command = [sys.executable, "-m", "tacit.cli", "train", *options]
    subprocess.run(command, stderr=screen.file, env=width, cwd=tmp_path, check=True, timeout=120)  # noqa: S603 - ours
    said = screen.text()
    assert re.search(r"training, Pipeline, SVC: round \d+", said)
    assert "Traceback" not in said
    assert ".py:" not in said, "a warning is one line, without the code that it comes from"


@pytest.mark.slow
def test_a_notebook_gets_a_line_under_the_cell_which_goes_when_it_is_over():
    pytest.importorskip("ipykernel")
    manager, client = pytest.importorskip("jupyter_client.manager").start_new_kernel()
    shown = []
    try:
        client.execute_interactive(STUDY, output_hook=shown.append, timeout=60)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    lines = [each["content"]["data"]["text/plain"] for each in shown if each["msg_type"].endswith("display_data")]
    assert re.fullmatch(r"take_long: \d+% of this step", lines[0])
    assert lines[-1] == ""


def test_what_is_over_soon_shows_nothing_in_a_terminal(rows, monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen.file)
    monkeypatch.setenv("TERM", "xterm")
    tacit.FederatedScaler().fit(rows)
    assert screen.text() == ""


def test_nothing_is_written_where_nobody_looks(rows, capfd):
    with watching("a study", delay=0.0):
        tacit.SVC().fit(rows)
    assert capfd.readouterr() == ("", "")


def test_verbose_writes_a_line_into_a_log(rows, capfd):
    tacit.SVC(verbose=True).fit(rows)
    assert re.fullmatch(r"SVC: round \d+", capfd.readouterr().err.splitlines()[0])


def test_a_pipeline_and_its_steps_say_who_is_at_work(rows, capfd):
    steps = [("scaler", tacit.FederatedScaler()), ("svm", tacit.SVC(verbose=True))]
    tacit.Pipeline(steps).fit(rows)
    assert "SVC: round" in capfd.readouterr().err


def test_searches_and_evaluate_take_verbose_too(rows, capfd):
    search = tacit.FederatedGridSearch(tacit.SVC(), {"alpha": [1.0]}, verbose=True).fit(rows)
    assert "FederatedGridSearch: round" in capfd.readouterr().err
    tacit.evaluate(search, rows, verbose=False)
    assert capfd.readouterr().err == ""


def test_verbose_false_shows_nothing_even_within_something_that_is_shown(rows, capfd):
    with watching("a study", verbose=True):
        tacit.SVC(verbose=False).fit(rows)
    assert "SVC" not in capfd.readouterr().err


def test_every_estimator_says_how_far_it_is_unless_told_otherwise():
    for made in estimators(BaseEstimator).values():
        if not issubclass(made, tacit.Pipeline):  # scikit-learn's own parameter, which is False by default
            assert made._get_param_names().count("verbose") == 1, made
            assert made.verbose is None, made


def test_verbose_is_checked_in_the_words_of_scikit_learn(rows):
    with pytest.raises(
        tacit.LocalError, match=r"The 'verbose' parameter of SVC must be among \{None, True, False\}. Got 3"
    ):
        tacit.SVC(verbose=3).fit(rows)


def test_a_listener_of_ones_own_is_told_of_rounds_that_never_go_back():
    told = []
    rows = tacit.from_parts([(X[::2], Y[::2]), (X[1::2], Y[1::2])], partition="horizontal", allow_two_parties=True)
    model = tacit.SVC().fit(dataclasses.replace(rows, progress=told.append))
    assert all(before.round <= after.round for before, after in itertools.pairwise(told))
    assert told[-1].round >= model.report_.rounds


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(round=12, rounds=61, gap=0.031), "SVC: round 12 of 61, gap 0.031"),
        (Progress("waiting"), "SVC: waiting"),
        (Progress(), "SVC"),
        (Progress(round=3, share=0.25, moved="1.2 MB", step=AtStep(2, 3, "svm")),
         "SVC: step 2 of 3 (svm), round 3, 25% of this step, 1.2 MB"),
    ],
)  # fmt: skip
def test_one_line_says_what_is_done_and_how_far_it_is(progress, words):
    assert describe(progress, "SVC") == words
