"""Twenty studies that an adversary chooses from the menu: with what sites fix it finds no record, without it does."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

RAW, Y = load_breast_cancer(return_X_y=True)
X = ((RAW - RAW.mean(axis=0)) / RAW.std(axis=0))[:360, :8]


@pytest.fixture
def studies(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    return importlib.import_module("chosen_studies")


def test_twenty_studies_are_chosen_and_no_two_are_alike(studies):
    assert len(studies.choose_studies()) == len(set(studies.choose_studies())) == 20


def test_twenty_studies_on_what_sites_fixed_tell_no_record(studies):
    found, nearest = studies.attack(X, Y[:360].astype(np.int64), fixed=True)
    assert found == 0
    assert nearest > studies.FOUND


def test_without_what_sites_fix_they_tell_the_person_whom_a_target_singles_out(studies):
    found, nearest = studies.attack(X, Y[:360].astype(np.int64), fixed=False)
    assert found >= 1
    assert nearest < 0.01
