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
from tacit.choreo.progress import Progress
from tacit.progress import watching
from tacit.progress.watch import describe

X, Y = make_classification(600, 6, random_state=0)


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
from tacit.choreo.progress import Phase
from tacit.counted import counted

@choreography(opens={Everyone: Fact("test.nothing", "nobody", "nothing", "none", "nothing")})
def take_long(run):
    run.expect(Phase("k-means", coordinator=3e9))
    run.local(Coordinator, sleep_and_warn)

def sleep_and_warn():
    for turn in counted(range(10)):
        time.sleep(0.3)
        if turn == 8:
            warnings.warn("column 'x' is odd")

tacit.simulate([[1.0], [2.0], [3.0]], parties=3).run(take_long)
"""


def test_a_terminal_gets_a_line_after_two_seconds_and_a_warning_is_one_line_above_it():
    screen = Screen()
    width = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    subprocess.run([sys.executable, "-c", STUDY], stderr=screen.file, env=width, check=True, timeout=60)  # noqa: S603 - ours
    said = screen.text()
    assert re.search(r"take_long: k-means, about 1 s left", said)
    assert "about 3 s left" not in said, "nothing is shown in the first two seconds"
    assert "\nUserWarning: column 'x' is odd\n" in said
    assert "warnings.warn" not in said


@pytest.mark.slow
def test_tacit_train_shows_steps_phases_and_the_time_left_in_a_terminal(tmp_path):
    head = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    np.savetxt(tmp_path / "table.csv", np.column_stack([X, Y]), delimiter=",", header=head, comments="")
    screen, width = Screen(), {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    options = ["table.csv", "--partition", "horizontal", "--estimator", "PanSVC"]
    command = [sys.executable, "-m", "tacit.cli", "train", *options]
    subprocess.run(command, stderr=screen.file, env=width, cwd=tmp_path, check=True, timeout=120)  # noqa: S603 - ours
    said = screen.text()
    assert re.search(r"training, Pipeline, PanSVC: (k-means|map|solver).*, about \d+ s left", said)
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
    assert re.fullmatch(r"take_long: k-means, about 1 s left", lines[0])
    assert lines[-1] == ""


def test_what_is_over_soon_shows_nothing_in_a_terminal(rows, monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen.file)
    monkeypatch.setenv("TERM", "xterm")
    tacit.FederatedScaler().fit(rows)
    assert screen.text() == ""


def test_nothing_is_written_where_nobody_looks(rows, capfd):
    with watching("a study", delay=0.0):
        tacit.PanSVC().fit(rows)
    assert capfd.readouterr() == ("", "")


def test_verbose_writes_a_line_for_every_phase_into_a_log(rows, capfd):
    tacit.PanSVC(verbose=True).fit(rows)
    said = capfd.readouterr().err.splitlines()
    phases = [re.match(r"PanSVC: ([a-z-]+)", line)[1] for line in said if "," in line]
    assert phases == ["k-means", "map", "solver"]
    assert all(re.search(r"about \d+ s left$", line) for line in said if "," in line)


def test_a_pipeline_and_its_steps_say_who_is_at_work(rows, capfd):
    steps = [("scaler", tacit.FederatedScaler()), ("svm", tacit.PanSVC(verbose=True))]
    tacit.Pipeline(steps).fit(rows)
    assert "PanSVC: solver" in capfd.readouterr().err


def test_searches_selectors_transformers_and_evaluate_take_verbose_too(rows, capfd):
    search = tacit.FederatedGridSearch(tacit.PanSVC(), {"C": [1.0]}, cv=2, verbose=True).fit(rows)
    assert "FederatedGridSearch: solver" in capfd.readouterr().err
    tacit.FederatedScaler("minmax", verbose=True, accept_risk=True).fit(rows)
    assert "FederatedScaler: round 1 of" in capfd.readouterr().err
    tacit.evaluate(search, rows, verbose=False)
    assert capfd.readouterr().err == ""


def test_verbose_false_shows_nothing_even_within_something_that_is_shown(rows, capfd):
    with watching("a study", verbose=True):
        tacit.PanSVC(verbose=False).fit(rows)
    assert "PanSVC" not in capfd.readouterr().err


def test_every_estimator_says_how_far_it_is_unless_told_otherwise():
    for made in estimators(BaseEstimator).values():
        if not issubclass(made, tacit.Pipeline):  # scikit-learn's own parameter, which is False by default
            assert made._get_param_names().count("verbose") == 1, made
            assert made.verbose is None, made


def test_verbose_is_checked_in_the_words_of_scikit_learn(rows):
    with pytest.raises(
        tacit.LocalError, match=r"The 'verbose' parameter of PanSVC must be among \{None, True, False\}. Got 3"
    ):
        tacit.PanSVC(verbose=3).fit(rows)


def test_a_listener_of_ones_own_is_told_of_work_that_never_goes_back():
    told = []
    rows = tacit.from_parts([(X[::2], Y[::2]), (X[1::2], Y[1::2])], partition="horizontal", allow_two_parties=True)
    tacit.PanSVC().fit(dataclasses.replace(rows, progress=told.append))
    known = [each for each in told if each.total]
    assert list(dict.fromkeys(each.phase for each in known)) == ["k-means", "map", "solver"]
    assert all(before.done <= after.done for before, after in itertools.pairwise(known))
    assert known[-1].gap is not None
    assert known[-1].done >= 0.4 * known[-1].total


@pytest.mark.parametrize(
    ("progress", "left", "words"),
    [
        (Progress("solver", 1.0, 2.0, round=12, rounds=61, gap=0.031), 8.2,
         "PanSVC: solver, round 12 of 61, gap 0.031, about 8 s left"),
        (Progress("k-means", 0.0, 2.0), 110.0, "PanSVC: k-means, about 1 min 50 s left"),
        (Progress("waiting"), None, "PanSVC: waiting"),
        (Progress(""), None, "PanSVC"),
        (Progress("scores", 1.0, 9.0), 8000.0, "PanSVC: scores, about 2 h 13 min left"),
    ],
)  # fmt: skip
def test_one_line_says_what_is_done_how_far_it_is_and_how_long_it_takes(progress, left, words):
    assert describe(progress, left, "PanSVC") == words
