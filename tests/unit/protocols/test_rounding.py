"""The size of weights is found by limits that all fit their window, however many weights there are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tacit.protocols.learners.rounding import COARSE, LEAST, MOST, ROOM, limit_sizes


@pytest.mark.parametrize("size", [1, 600, 2001, 2001 * 26, 2001 * 1000])
def test_limits_grow_by_four_and_leave_room_for_noise(size):
    limits = limit_sizes(size, COARSE)
    assert limits == tuple(sorted(limits))
    assert limits[-1] < 1 << ROOM
    assert all(later >= 4 * earlier for earlier, later in pairwise(limits))
    assert len(limits) == MOST - LEAST or size > 600
