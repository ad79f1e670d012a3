"""Noisy sums of columns, hidden layers and scores: the best attack on neighbouring tables finds what was promised."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def audits(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("dp_audit")


@pytest.mark.slow
def test_neighbouring_tables_are_never_told_apart_better_than_was_promised(audits) -> None:
    found = {each.name: audits.audit(each, 2, 100_000) for each in audits.list_neighbours()}
    assert len(found) == 6
    for name, far in found.items():
        assert 0.2 < far <= 1.01, name


def test_an_audit_finds_noise_that_is_made_for_too_small_a_change(audits) -> None:
    for each in audits.list_neighbours():
        assert audits.audit(dataclasses.replace(each, sensitivity=each.sensitivity // 16), 2, 2000) > 1.1, each.name
