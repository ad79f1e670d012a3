"""The accountant of Gaussian differential privacy, beside an independent one, and audited on neighbouring tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import ndtr

from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.numeric.privacy.accountant import LEAST, cost_of, delta_of, epsilon_of, mu_of, variance_for


@pytest.mark.parametrize(("mu", "delta"), [(0.2, 1e-6), (1.0, 1e-5), (3.0, 1e-9), (20.0, 1e-5)])
def test_epsilon_equals_that_of_the_privacy_loss_distribution(mu: float, delta: float) -> None:
    other = pld.from_gaussian_mechanism(1 / mu, value_discretization_interval=1e-4 * max(1.0, mu))
    assert epsilon_of(mu, delta) == pytest.approx(other.get_epsilon_for_delta(delta), rel=1e-3)


def test_sums_one_after_the_other_cost_what_dp_accounting_says_of_them_together() -> None:
    costs = [0.05, 0.1, *[0.04] * 8]  # scaling, the matrix, eight gradients
    together = pld.from_gaussian_mechanism(1 / math.sqrt(costs[0]))
    for cost in costs[1:]:
        together = together.compose(pld.from_gaussian_mechanism(1 / math.sqrt(cost)))
    assert epsilon_of(math.sqrt(sum(costs)), 1e-5) == pytest.approx(together.get_epsilon_for_delta(1e-5), rel=1e-2)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5])
def test_a_budget_allows_the_mu_that_spends_it_and_none_larger(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert delta_of(mu, epsilon) <= delta < delta_of(mu * 1.0001, epsilon)
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)


def test_no_noise_is_paid_for_with_more_than_its_share() -> None:
    for honest in (1, 3, 5):
        variance = variance_for(2**24, 0.01, honest)
        assert cost_of(2**24, variance, honest) <= 0.01 < cost_of(2**24, variance - 1, honest)
    assert variance_for(1, 100.0, 5) == LEAST


@pytest.mark.parametrize("honest", [1, 3])
def test_neighbouring_tables_are_never_told_apart_better_than_was_promised(honest: int) -> None:
    """The adversary knows all but one record, and the noise of all but the honest holders: the best test there is."""
    trials, row = 100_000, np.array([300, -400, 1200])
    variance = variance_for(int(row @ row), 1.0, honest)
    mu = math.sqrt(cost_of(int(row @ row), variance, honest))
    noise = sum(draw_noise(bytes([k]) * 32, 2 * trials * len(row), variance) for k in range(honest))
    seen = noise.reshape(2, trials, len(row)) @ row / math.sqrt(row @ row)
    seen[1] += math.sqrt(row @ row)
    far = (seen[1].mean() - seen[0].mean()) / seen.std(axis=1).mean()
    assert far <= 1.01 * mu  # d'
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        best = max(
            (seen[1] > cut).mean() - math.exp(epsilon) * (seen[0] > cut).mean()
            for cut in np.linspace(seen.min(), seen.max(), 200)
        )
        assert best <= delta_of(mu, epsilon) + 4 * math.sqrt((1 + math.exp(2 * epsilon)) * ndtr(mu / 2) / trials)


def test_an_audit_finds_noise_that_is_too_small() -> None:
    row = np.array([1000])
    far = 1000 / draw_noise(bytes(32), 100_000, variance_for(10**6, 1.0, 1) // 2).std()
    assert far > 1.01 * math.sqrt(cost_of(int(row @ row), variance_for(10**6, 1.0, 1), 1))
