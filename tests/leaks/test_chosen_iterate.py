"""A coordinator that picks its iterates isolates a record only where rows are summed one by one, not in groups."""

from __future__ import annotations

import numpy as np
import pytest

from leaks.planes import blobs, rows_of
from tacit.attacks.chosen_iterate import LIMIT, chosen_iterate
from tacit.choreo import PeerError
from tacit.numeric.features.feature_map import fourier, fourier_weights


def holders(seed, kind="linear"):
    rows = blobs(n=240, columns=4, seed=seed)
    F = rows.F if kind == "linear" else fourier(rows.F, *fourier_weights(0, 4, 60, 0.25))
    radius = {"linear": 8.0, "fourier": 2.0**0.5}[kind]
    return F, {f"p{i}": rows_of(F[i::3], rows.signs[i::3]) for i in range(3)}, radius


@pytest.mark.parametrize("kind", ["linear", "fourier"])
def test_one_record_is_isolated_where_every_row_is_a_group_of_its_own(kind):
    for seed in range(3):
        F, held, radius = holders(seed, kind)
        isolated = chosen_iterate(held, radius=radius, min_count=1, seed=seed)
        assert isolated.rows == 1
        assert isolated.rounds <= LIMIT
        assert np.abs(F - isolated.features).max(axis=1).min() < 1e-7


@pytest.mark.parametrize("kind", ["linear", "fourier"])
def test_groups_give_it_no_fewer_rows_than_min_count_whatever_it_asks_for(kind):
    for seed in range(3):
        F, held, radius = holders(seed, kind)
        isolated = chosen_iterate(held, radius=radius, min_count=5, seed=seed)
        assert isolated is None or isolated.rows >= 5
        assert isolated is None or np.abs(F - isolated.features).max(axis=1).min() > 1e-2


def test_witnesses_stop_at_the_first_direction():
    _, held, radius = holders(0)
    with pytest.raises(PeerError, match="the coordinator published a Direction whose w does not follow from the sums"):
        chosen_iterate(held, radius=radius, min_count=5, witness=True)
