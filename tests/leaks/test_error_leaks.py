"""What errors of a regressor give away: no bin of a few records, and nothing at all over too few."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.choreo.run import Run
from tacit.errors import LocalError
from tacit.protocols.scores import error_sums
from tacit.protocols.scores.error_sums import Answered, JudgedRecords, merge_errors
from tacit.registry import execute_together

LEAST = 2
MEANS = np.array([0.0, 1.0, 1.0, 1.0])


def told() -> list[np.ndarray]:
    """Return what is told of all histograms of six bins with up to three records in each."""
    every = (np.array(cells, dtype=np.uint64) for cells in product(range(4), repeat=6))
    return [merge_errors(cells, MEANS, LEAST).counts for cells in every if cells.sum() >= LEAST]


def test_whatever_the_errors_no_bin_that_is_told_holds_a_few_records():
    assert all(np.all((counts == 0) | (counts >= LEAST)) for counts in told())


def test_bins_that_are_told_as_they_are_would_be_caught(monkeypatch):
    """The test above can fail."""
    monkeypatch.setattr(error_sums, "merge_bins", lambda counts, _, __: np.arange(1, len(counts) + 1))
    assert any(np.any((counts > 0) & (counts < LEAST)) for counts in told())


def test_over_too_few_records_nothing_but_their_number_is_published(monkeypatch):
    said, publish = [], Run.publish

    def listening(run, message, value):
        said.append(message)
        return publish(run, message, value)

    monkeypatch.setattr(Run, "publish", listening)
    parts = {name: Answered(np.ones(1), np.zeros(1)) for name in "abc"}
    roster = Roster({Holder: tuple(parts), Coordinator: ("coordinator",)})
    with pytest.raises(LocalError, match="has 3 records over all parties, and nothing is opened over fewer than"):
        execute_together(roster, "error_sums", {"answered": (Holder, parts)}, {"min_count": 5})
    assert said == [JudgedRecords]
