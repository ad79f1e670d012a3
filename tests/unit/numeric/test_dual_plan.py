"""The bounded promise of blind training: in plain numbers, no value of the iteration leaves the window of its plan."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.numeric.shares.dual_plan import BIAS, plan_dual
from tacit.numeric.shares.losses import HINGE, INSENSITIVE, WEIGHTED

N = 60
RNG = np.random.default_rng(5)


def kernels():
    """RBF kernel matrices, from one point to points that are far from each other."""
    x = RNG.normal(size=(N, 3))
    apart = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    two = np.where(np.add.outer(np.arange(N) < 1, np.arange(N) < 1) == 1, 0.0, 1.0)  # one record, far from all others
    return {"one point": np.ones((N, N)), "near": np.exp(-0.2 * apart), "far": np.eye(N), "one outlier": two}


def sides(loss, C, rho, kind):
    """Pull, l and e_j of `losses`, of labels or targets of this kind."""
    y = {"one": np.where(np.arange(N) < 1, 1.0, -1.0), "half": np.where(np.arange(N) < N // 2, 1.0, -1.0)}[kind]
    if loss is INSENSITIVE:
        k = 0.1 / (rho * C)
        return y, np.full(N, -1.0), np.stack([np.full(N, k), np.full(N, -1.0 - k)])
    w = np.where(y > 0, 1.0, 0.1) if loss is WEIGHTED else np.ones(N)
    lower = np.where(y > 0, 0.0, -w)
    return y, lower, np.stack([lower, lower + w] if loss is WEIGHTED else [lower])


@pytest.mark.parametrize("kind", ["one", "half"])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("loss", [HINGE, WEIGHTED, INSENSITIVE], ids=["hinge", "weighted", "insensitive"])
def test_no_value_of_the_iteration_leaves_its_window(loss, C, kind):
    plan = plan_dual(N, 1, C, loss=loss)
    y, lower, edges = sides(loss, C, plan.rho, kind)
    most = np.inf if loss.unbounded else 1.0
    P = np.eye(N) - 1.0 / N
    for name, K in kernels().items():
        Z = plan.rho * np.linalg.inv(P @ K @ P + plan.rho * np.eye(N))
        t, z, pull, largest = np.zeros(N), np.zeros(N), (y - y.mean()) / (plan.rho * C), 0.0
        for _ in range(plan.rounds):
            q = 2.0 * z - t + pull
            t = t + 15 / 8 * (Z @ q - q.mean() - z)
            largest = max(largest, np.abs(t - edges).max())
            z = lower + np.array(loss.signs) @ np.clip(t - edges, 0.0, most)
            assert abs(plan.rho * (q.mean() + y.mean() / (plan.rho * C))) < BIAS, name
        assert largest < 2.0 ** (plan.window.I - 2), name
