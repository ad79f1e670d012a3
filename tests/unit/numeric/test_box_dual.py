"""The box dual: optimal by its own conditions, quick from a warm start."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tacit.numeric.svm.box_dual import NOTHING, SWEEPS, descend


def problem(n: int = 60, p: int = 4, *, kernel: bool) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    B = rng.normal(size=(n, 3))
    return {
        "U": rng.normal(size=(n, p)),
        "E": 0.3 * B @ B.T if kernel else NOTHING,
        "y": np.where(rng.random(n) < 0.5, 1.0, -1.0),
        "cap": rng.uniform(0.0, 2.0, size=n),
        "q": rng.uniform(0.2, 1.0, size=p),
    }


def solved(at: dict[str, Any], c: Any, lam: Any, *, tol: float = 1e-10, seed: int = 1) -> tuple[Any, Any, int]:
    theta = at["q"] * (c + at["U"].T @ (at["y"] * lam))
    own = at["E"] @ (at["y"] * lam) if at["E"].size else np.zeros(0)
    sweeps = descend(*(at[name] for name in ("U", "E", "y", "cap", "q")), theta, own, lam, tol=tol, seed=seed)
    return lam, theta, sweeps


@pytest.mark.parametrize("kernel", [False, True])
def test_no_coordinate_can_be_moved_to_advantage(kernel):
    at, c = problem(kernel=kernel), np.array([0.5, -1.0, 0.2, 0.0])
    lam, theta, sweeps = solved(at, c, np.zeros(60))
    V = at["y"][:, None] * at["U"]
    A = V * at["q"] @ V.T + (np.outer(at["y"], at["y"]) * at["E"] if kernel else 0.0)
    gradient = A @ lam - 1 + V @ (at["q"] * c)
    assert sweeps < SWEEPS
    assert np.all((lam >= 0) & (lam <= at["cap"]))
    assert np.abs(gradient[(lam > 0) & (lam < at["cap"])]).max() < 1e-9
    assert gradient[lam <= 0].min() > -1e-9
    assert gradient[lam >= at["cap"]].max() < 1e-9
    np.testing.assert_allclose(theta, at["q"] * (c + V.T @ lam), atol=1e-9)


def test_a_warm_start_needs_one_look():
    at, c = problem(kernel=True), np.zeros(4)
    lam, _, sweeps = solved(at, c, np.zeros(60))
    again, _, fewer = solved(at, c, lam.copy(), tol=1e-9)
    assert fewer == 1 < sweeps
    np.testing.assert_allclose(again, lam, atol=1e-8)


def test_a_coordinate_that_was_left_out_is_looked_at_again():
    """Most records are far from the margin, on both sides, and a start at the wrong ends brings many back."""
    rng, n = np.random.default_rng(0), 2000
    U = np.column_stack([rng.normal(size=(n, 5)), np.ones(n)])
    y = np.where(U[:, 0] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    at = {"U": U, "E": NOTHING, "y": y, "cap": np.full(n, 0.01), "q": np.ones(6)}
    for start in (np.zeros(n), at["cap"].copy(), np.where(rng.random(n) < 0.5, 0.01, 0.0)):
        lam, theta, sweeps = solved(at, np.zeros(6), start, tol=1e-6)
        gradient = y * (U @ theta) - 1.0
        assert sweeps < SWEEPS
        inward = np.where(lam <= 0, -gradient, np.where(lam >= 0.01, gradient, np.abs(gradient)))
        assert inward.max() < 2e-6  # theta moves on within the last sweep


def test_the_order_is_of_the_seed_and_the_solution_is_not():
    at, c = problem(kernel=False), np.zeros(4)
    once, twice, other = (solved(at, c, np.zeros(60), tol=1e-3, seed=s)[1] for s in (1, 1, 2))
    np.testing.assert_array_equal(once, twice)
    assert np.any(once != other)
    np.testing.assert_allclose(once, other, atol=1e-2)


def test_a_coordinate_without_curvature_goes_to_the_end_of_its_box():
    U, nothing = np.zeros((1, 1)), np.zeros((1, 1))
    lam, theta, own = np.zeros(1), np.zeros(1), np.zeros(1)
    descend(U, nothing, np.ones(1), np.array([3.0]), np.ones(1), theta, own, lam, tol=1e-9, seed=0)
    assert lam[0] == 3.0


def test_whoever_does_not_train_does_not_wait_for_numba():
    code = "import sys, tacit.protocols.consensus.horizontal; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 - this interpreter
