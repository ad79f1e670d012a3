"""`tacit train --id` aligns one file per party before it trains."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from tacit import load
from tacit.cli.local.train import train
from tacit.protocols.align.alignment import ENOUGH


@pytest.fixture
def clinics(folder):
    rng = np.random.default_rng(0)
    for name in ("north", "south", "east"):
        rows = rng.permutation(50)[:40]
        table = pd.DataFrame({"patient": rows, f"{name}_x": rng.normal(size=40)})
        if name == "south":
            table["label"] = rows % 2
        table.to_csv(folder / f"{name}.csv", index=False)
    return ("north.csv", "south.csv", "east.csv")


def test_files_of_different_records_are_aligned(tacit, folder, clinics):
    told = tacit("train", *clinics, "--id", "patient", "--json").json
    assert {"align", "open_common", "train_svm"} <= {opened["protocol"] for opened in told["opens"]}
    assert load(folder / "model.tacit").federation_.features == ("north_x", "south_x", "east_x")


def test_what_training_opens_is_told_before_what_the_alignment_does_on_the_screen_too(tacit, folder, clinics):
    shown = " ".join(tacit("train", *clinics, "--id", "patient").out.split())
    order = [
        shown.index(words)
        for words in ("the weights of the model", "how many ids a holder has", "which of the reader's ids")
    ]
    assert order[0] < min(order[1:])
    assert load(folder / "model.tacit").named_steps["model"].report_.opens[0].protocol == "train_svm"


def test_refusals_of_ids_are_one_line(refused, clinics):
    said = refused("train", *clinics, "--id", "patient", "--min-records", "41")
    assert "fewer than 41 records are common to all parties, and nothing more was opened" in said
    assert "--id patient aligns the files of several parties, and there is one" in refused(
        "train", clinics[1], "--id", "patient"
    )
    assert "north.csv has no column 'person' (columns: patient, north_x)" in refused(
        "train", *clinics, "--id", "person", "--partition", "vertical"
    )
    assert "this is a horizontal split" in refused("train", *clinics, "--id", "patient", "--partition", "horizontal")


def test_the_default_is_the_protocol_s():
    assert inspect.signature(train).parameters["min_records"].default == ENOUGH
