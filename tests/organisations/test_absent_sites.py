"""A hospital that is killed for good: who goes on without it, and whose data is in the model."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

import tacit
from organisations.row_sites import check_alike, dealt
from tacit.cli.one_machine import OneMachine, one_machine
from tacit.consortium.site.example_files import example_policy

pytest.importorskip("nats")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:X does not have valid feature names")]

NAMES = ("h1", "h2", "h3", "h4")
PATIENCE = 8.0  # more than a heartbeat


def rows_of_four() -> dict[str, Any]:
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=3)
    return {name: (X[i::4], y[i::4]) for i, name in enumerate(NAMES)}


@contextmanager
def four(folder: Path, *, left_out: bool) -> Iterator[OneMachine]:
    """Four hospitals that wait a few seconds for each other, in a study that leaves out who is away."""
    rows = rows_of_four()
    records, labels = ({name: part[i] for name, part in rows.items()} for i in (0, 1))
    with one_machine(folder, records, labels, keep=True) as made:
        for site in made.sites:
            config = made.config(site)
            config.write_text(config.read_text().replace("party_timeout = 300.0", f"party_timeout = {PATIENCE}"))
            assert f"party_timeout = {PATIENCE}" in config.read_text()
        for name in NAMES:
            policy = made.folder(name) / "policy.toml"
            policy.write_text(example_policy(automatic=True, left_out=left_out))
        analyst = made.config("analyst")
        analyst.write_text(f'{analyst.read_text()}on_absence = "leave"\n')
        for site in made.sites:
            made.start(site)
        made.wait()
        yield made


@contextmanager
def losing(made: OneMachine, name: str, sign: str) -> Iterator[None]:
    """Kill a site for good as soon as a file of some job is there."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set() and not list(made.root.glob(sign)):
            time.sleep(0.005)
        if not over.is_set():
            made.kill(name)

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    over.set()
    thread.join()


def of_three(made: OneMachine) -> tacit.Federation:
    """The records of whoever stayed, as they dealt them."""
    whole = dealt(made)
    parts = [(whole.parts[name].X, whole.parts[name].y) for name in NAMES[:3]]
    return tacit.from_parts(parts, names=NAMES[:3], partition="horizontal")


def test_a_training_begins_again_without_a_hospital_that_was_killed_before_its_first_word(tmp_path):
    with four(tmp_path, left_out=False) as made, losing(made, "h4", "clearing/state/jobs/*/answers/h4.json"):
        there = tacit.SVC(random_state=3).fit(tacit.connect(made.config("analyst")))
        here = tacit.SVC(random_state=3).fit(of_three(made))
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=3)
    check_alike(here, there, X)
    assert there.score(X, y) > 0.8
    assert "SVC is without the records of h4, which stayed away" in there.report_.warnings
    assert there.report_.parties["h4"] == "nothing: it stayed away"


def test_a_study_ends_though_a_hospital_was_killed_on_the_way(tmp_path):
    study = tacit.Pipeline([("scale", tacit.FederatedScaler()), ("svm", tacit.SVC(random_state=0))])
    with (
        four(tmp_path, left_out=True) as made,
        losing(made, "h4", "h4/state/jobs/*/start.json"),
        warnings.catch_warnings(action="ignore"),
    ):
        fitted = study.fit(tacit.connect(made.config("analyst")))
        scaler = tacit.FederatedScaler().fit(of_three(made))
    named = [line for line in fitted.report_.warnings if "h4, which stayed away" in line]
    assert "SVC is without the records of h4, which stayed away" in named
    X, _ = rows_of_four()["h1"]
    np.testing.assert_array_equal(fitted[0].mean_, scaler.mean_)
    assert fitted.predict(X).shape == (len(X),)
