"""Who waits for a study: the line that is shown meanwhile, leaving it, and coming back from another process."""

from __future__ import annotations

import dataclasses
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import tacit
from organisations.row_sites import started
from organisations.test_study import NAMES, rows_with_gaps, study
from tacit.cli.app import app

pytest.importorskip("nats")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # the sites' columns have some

COME_BACK = """
import sys
import tacit
model = tacit.connect(sys.argv[1]).resume(sys.argv[2])
model.save(sys.argv[3])
print(model.steps[0][0], model["gaps"].random_state, model["svm"].estimator.random_state)
"""


@pytest.fixture(scope="module")
def rows():
    return rows_with_gaps()


@pytest.fixture(scope="module")
def left(rows, tmp_path_factory):
    """Sites, what whoever left their study was told, and how far it was said to be before."""
    with started(rows, tmp_path_factory.mktemp("comfort")) as sites:
        seen, status = [], []
        slow = sites.processes["h3"]

        def leave(progress):
            """Let one hospital run only while it is looked at, and stop it at the first look that shows a step.

            So no machine is too fast, and the run waits in that step until everything was asked.
            """
            seen.append(progress)
            if not progress.step.of:
                slow.send_signal(signal.SIGCONT)
                time.sleep(0.1)
                slow.send_signal(signal.SIGSTOP)
                return
            status.extend(ask_until_it_shows(sites.config(name)) for name in ("h1", "analyst"))
            raise KeyboardInterrupt

        connected = dataclasses.replace(tacit.connect(sites.config("analyst")), progress=leave)
        try:
            with pytest.raises(KeyboardInterrupt) as said:
                study().fit(connected)
        finally:
            slow.send_signal(signal.SIGCONT)
        yield sites, str(said.value), seen, [" ".join(said.split()) for said in status]


def ask_until_it_shows(config):
    """The status once it has a step: a site writes its own once a second."""
    for _ in range(60):
        said = CliRunner().invoke(app, ["status", "--config", str(config)], env={"COLUMNS": "150"}).stdout
        if re.search(r"step \d of 3", said):
            return said
        time.sleep(0.5)
    return said


def test_leaving_says_that_the_job_goes_on_and_how_to_come_back(left):
    _, said, _, _ = left
    assert re.fullmatch(
        r"job (\w{8}) goes on at its sites; to have its result: tacit.connect\(...\).resume\('\1'\);"
        r" to end it: tacit withdraw \1",
        said,
    )


def test_who_waits_is_told_whose_consent_is_missing_and_then_step_round_and_bytes(left):
    _, _, seen, _ = left
    assert re.fullmatch(r"waiting for .*h[123].*", seen[0].phase)
    last = seen[-1]
    assert last.step.of == 3
    assert 1 <= last.step.number <= 3
    assert last.step.name in {"gaps", "scale", "svm"}
    assert last.moved.endswith("B")
    assert last.rounds >= last.round > 0


def test_status_shows_the_step_and_the_round_of_the_whole_study(left):
    *_, status = left
    assert len(status) == 2
    for said in status:
        assert re.search(r"running .*step \d of 3 \((gaps|scale|svm)\)", said)
        assert re.search(r"round \d+ of \d+, (gap \S+, )?\S+ [kM]?B", said)


def test_another_process_comes_back_with_the_same_model(tmp_path, rows, left):
    sites, said, _, _ = left
    job, file = said.split()[1][:5], tmp_path / "model.tacit"
    command = [sys.executable, "-c", COME_BACK, str(sites.config("analyst")), job, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert done.stdout.split() == ["gaps", "None", "3"]
    here = tacit.from_parts(list(rows.values()), names=NAMES, partition="horizontal", allow_missing=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = study().fit(here)
    X = rows["h1"][0]
    assert np.mean(tacit.load(file).predict(X) == alone.predict(X)) > 0.9
