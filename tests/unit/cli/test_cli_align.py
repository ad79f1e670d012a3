"""`tacit train --id` aligns one file per party before it trains."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from tacit import load
from tacit.cli.train import train
from tacit.protocols.align import ENOUGH


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
    assert {"align", "open_common", "gram_vertical"} <= {opened["protocol"] for opened in told["opens"]}
    assert load(folder / "model.tacit").federation_.features == ("north_x", "south_x", "east_x")


def test_refusals_of_ids_are_one_line(refused, clinics):
    said = refused("train", *clinics, "--id", "patient", "--min-records", "41")
    assert "fewer than 41 records are common to all parties, and nothing more was opened" in said
    assert "--id patient aligns the files of several parties, and there is one" in refused("train", clinics[1], "--id", "patient")


def test_the_default_is_the_protocol_s():
    assert inspect.signature(train).parameters["min_records"].default == ENOUGH
