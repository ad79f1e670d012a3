"""Other learners with differential privacy on the rows of the same map, at the same price: what `dp.py` is beside.

    plain      noisy gradient descent without a preconditioner, whose share goes to the gradients; the best of several
               numbers of steps, in hindsight                                                                      (1)
    objective  objective perturbation by a trusted centre, which has all records: it adds a normal vector to the
               objective of a logistic regression and publishes the exact minimum; two classes                     (2)

Both are given the scale that the noisy training found, and what that has left of the budget. The noise of (1) is that
of all holders, of whom some are taken to be honest; (2) needs no other holder's.

Source: Kifer, Smith, Thakurta: Private convex empirical risk minimization (COLT 2012), algorithm 1 (2).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize

from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.models.noisy import NoisyModel
from tacit.numeric.privacy import descent
from tacit.numeric.privacy.accountant import epsilon_of, mu_of
from tacit.numeric.privacy.features import R
from tacit.protocols.noisy.noisy_sum import Budget
from tacit.protocols.noisy.noisy_svm import NoisyTrained

COUNTS = (8, 32, 128)  # steps of plain descent
SMOOTH = 0.25  # how much the slope of the logistic loss changes at most


def plain_descent(
    trained: NoisyTrained, Q: np.ndarray, codes: np.ndarray, budget: Budget, steps: int, seed: int
) -> NoisyModel:
    """Return the model of so many steps down the noisy gradient, (1); `budget` is the whole one."""
    loss = descent.loss_of(len(trained.classes), probability=False)
    left = 1.0 - trained.spent["scaling"] / budget.mu**2
    noise = budget.noise((descent.S * R) ** 2, left / steps)
    width = trained.w.shape[1]
    w, last, identity = np.zeros((Q.shape[1], width), dtype=np.int64), [], np.eye(Q.shape[1])
    for step in range(steps):
        slopes = descent.slopes_of(descent.values_of(Q, w), codes, np.ones(len(Q)), loss)
        drawn = _draw(noise.variance, budget.holders, w.size, seed, step).reshape(w.shape)
        w = descent.descend(w, descent.sum_gradient(Q, slopes) + drawn, identity, trained.rows, 1.0, loss)
        last = [*last, w][-descent.KEPT :]
    return NoisyModel(trained.map, descent.mean_of(last))


def _draw(variance: int, holders: int, size: int, seed: int, step: int) -> np.ndarray:
    keys = (bytes([holder, step % 256, seed % 256, 7]) + bytes(28) for holder in range(holders))
    return np.sum([draw_noise(key, size, variance) for key in keys], axis=0)


def perturb_objective(
    trained: NoisyTrained, Q: np.ndarray, codes: np.ndarray, budget: Budget, delta: float, seed: int
) -> NoisyModel:
    """Return the minimum of the perturbed objective, (2): one record changes no gradient by more than a length of 1."""
    left = math.sqrt(1.0 - trained.spent["scaling"] / budget.mu**2)
    epsilon = epsilon_of(left * budget.mu, delta)
    sigma = math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    ridge = max(2 * SMOOTH / epsilon, 1.0)
    x, sign = Q / R, np.where(codes == 1, 1.0, -1.0)
    b = sigma * np.random.default_rng([seed, 7]).normal(size=Q.shape[1])

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (x @ w)
        slope = -sign / (1 + np.exp(np.clip(margin, -500, 500)))
        value = np.logaddexp(0, -margin).sum() + ridge / 2 * w @ w + b @ w
        return float(value), x.T @ slope + ridge * w + b

    found = minimize(objective, np.zeros(Q.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return NoisyModel(trained.map, np.rint(found.x * descent.ONE).astype(np.int64)[:, None])


def budget_of(epsilon: float, delta: float, honest: int, holders: int) -> Budget:
    """Return a budget by its epsilon and delta."""
    return Budget(mu_of(epsilon, delta), honest, holders)
