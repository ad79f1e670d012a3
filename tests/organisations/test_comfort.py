"""Who waits for a study: the line that is shown meanwhile, leaving it, and coming back from another process."""

from __future__ import annotations

import dataclasses
import re
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

        def leave(progress):
            seen.append(progress)
            if progress.step.name == "svm" and progress.round > 2:
                time.sleep(1.2)  # a site writes its status once a second
                asked = (["status", "--config", str(sites.config(name))] for name in ("h1", "analyst"))
                status.extend(CliRunner().invoke(app, each, env={"COLUMNS": "150"}).stdout for each in asked)
                raise KeyboardInterrupt

        connected = dataclasses.replace(tacit.connect(sites.config("analyst")), progress=leave)
        with pytest.raises(KeyboardInterrupt) as said:
            study().fit(connected)
        yield sites, str(said.value), seen, [" ".join(said.split()) for said in status]


def test_leaving_says_that_the_job_goes_on_and_how_to_come_back(left):
    _, said, _, _ = left
    assert re.fullmatch(
        r"job (\w{8}) goes on at its sites; to have its result: tacit.connect\(...\).resume\('\1'\);"
        r" to end it: tacit withdraw \1",
        said,
    )


def test_who_waits_is_told_whose_consent_is_missing_and_then_step_round_bytes_and_time_left(left):
    _, _, seen, _ = left
    assert re.fullmatch(r"waiting for .*h[123].*", seen[0].phase)
    steps = list(dict.fromkeys(each.step.name for each in seen if each.step.of))
    assert steps[-1] == "svm"
    last = seen[-1]
    assert (last.step.number, last.step.of) == (3, 3)
    assert last.moved.endswith("B")
    assert last.left > 0


def test_status_shows_the_step_the_round_and_the_time_left_of_the_whole_study(left):
    *_, status = left
    assert len(status) == 2
    for said in status:
        assert re.search(r"running .*step 3 of 3 \(svm\)", said)
        assert re.search(r"round \d+ of at most \d+, (gap \S+, )?\S+ [kM]?B, about .* left", said)


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
    np.testing.assert_array_equal(tacit.load(file).predict_proba(X), alone.predict_proba(X))
