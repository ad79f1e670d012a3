"""A coordinator that picks its iterates isolates a record in ten rounds, and stops at the first under witnesses."""

from __future__ import annotations

import numpy as np
import pytest

from leaks.planes import blobs, rows_of
from tacit.attacks.chosen_iterate import LIMIT, chosen_iterate
from tacit.attacks.coordinator import play
from tacit.choreo import PeerError
from tacit.numeric.feature_map import fourier, fourier_weights


def holders(seed, kind="linear"):
    rows = blobs(n=240, columns=4, seed=seed)
    F = rows.F if kind == "linear" else fourier(rows.F, *fourier_weights(0, 4, 60, 0.25))
    radius = {"linear": 8.0, "fourier": 2.0**0.5}[kind]
    return F, {f"p{i}": rows_of(F[i::3], rows.signs[i::3]) for i in range(3)}, radius


@pytest.mark.parametrize("kind", ["linear", "fourier"])
def test_one_record_is_isolated_although_every_sum_is_over_many_rows_and_no_two_differ_by_few(kind):
    found = 0
    for seed in range(6):
        F, held, radius = holders(seed, kind)
        isolated = chosen_iterate(held, radius=radius, min_count=5)
        if isolated is not None:
            found += 1
            assert np.abs(F - isolated.features).max(axis=1).min() < 1e-7
            assert isolated.least_rows >= 50
            assert isolated.least_difference >= 5
            assert isolated.rounds <= LIMIT == 10
    assert found >= 3, "most directions do"


def test_witnesses_stop_at_the_first_direction():
    _, held, radius = holders(0)
    with pytest.raises(PeerError, match="the coordinator published a Direction whose w does not follow from the sums: stop and ask it"):
        chosen_iterate(held, radius=radius, witness=True)


def test_a_coordinator_that_takes_no_steps_of_its_own_is_an_honest_one():
    _, held, _ = holders(1)
    plain, watched = play({}, held, C=1.0), play({}, held, C=1.0, witness=True)
    np.testing.assert_array_equal(plain.w, watched.w)
    assert plain.rounds > 3
