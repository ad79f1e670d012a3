"""The dual with box constraints only, against a general solver."""

from __future__ import annotations

import numpy as np
import pytest

from papers.consensus import reference
from tacit.papers.consensus.box_dual import descend


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_finds_the_minimum_from_any_start(seed):
    rng = np.random.default_rng(seed)
    U, q, c = rng.normal(size=(30, 4)), rng.uniform(0.1, 2, 4), rng.normal(size=4)
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    lam = rng.uniform(0, reference.C, 30)
    theta = q * (c + (y * lam) @ U)
    assert descend(U, y, np.full(30, reference.C), q, theta, lam, 1e-9, 10_000, np.uint64(seed)) < 10_000
    YU = y[:, None] * U
    best = reference.box_qp(YU * q @ YU.T, -1 + YU @ (q * c))
    np.testing.assert_allclose(theta, q * (c + (y * best) @ U), atol=1e-5)
    np.testing.assert_allclose(theta, q * (c + (y * lam) @ U), atol=1e-9)


def test_a_row_without_a_sign_stays_out():
    U, y = np.ones((3, 1)), np.array([1.0, 0.0, -1.0])
    lam, theta = np.zeros(3), np.zeros(1)
    descend(U, y, np.abs(y), np.ones(1), theta, lam, 1e-9, 100, np.uint64(0))
    assert lam[1] == 0
    assert lam[0] > 0
