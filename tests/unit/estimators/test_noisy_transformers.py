"""Scalers, imputers and descriptions with epsilon, as a person meets them."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import FederatedImputer, FederatedScaler, Federation
from tacit.errors import LocalError
from tacit.numeric.privacy.accountant import mu_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3)) * [1.0, 20.0, 0.5] + [5.0, -30.0, 0.0]


def test_a_scaler_with_hardly_any_noise_is_the_one_without() -> None:
    plain, noisy = FederatedScaler().fit(X), FederatedScaler(epsilon=100, delta=1e-4).fit(X)
    np.testing.assert_allclose((noisy.mean_ - plain.mean_) / plain.scale_, 0, atol=0.08)
    np.testing.assert_allclose(noisy.scale_, plain.scale_, rtol=0.25)
    plain, noisy = FederatedScaler("robust").fit(X), FederatedScaler("robust", epsilon=100, delta=1e-4).fit(X)
    np.testing.assert_allclose((noisy.center_ - plain.center_) / plain.scale_, 0, atol=0.06)
    np.testing.assert_allclose(noisy.scale_, plain.scale_, rtol=0.12)


def test_declared_ranges_clip_and_save_the_budget_for_what_is_asked() -> None:
    ranges = {"x0": (0.0, 6.0), "x1": (-128.0, 0.0), "x2": (-4.0, 4.0)}
    fitted = FederatedScaler(epsilon=50, delta=1e-4, ranges=ranges).fit(X)
    assert fitted.report_.figures["what it was spent on"] == "means 100%"
    assert fitted.mean_[0] == pytest.approx(np.clip(X[:, 0], 0, 6).mean(), abs=0.02)


def test_noise_of_a_mean_has_the_size_that_the_budget_says() -> None:
    means = [
        FederatedScaler(epsilon=1, delta=1e-4, ranges=(-64, 64), honest=3).fit(X[:, :1]).mean_[0] for _ in range(60)
    ]
    mu = mu_of(1, 1e-4)
    expected = 64 * np.sqrt(3) / mu / len(X)  # of a sum within 64 whose squared length is three times that of one
    assert np.std(means) == pytest.approx(expected, rel=0.4)


def test_an_imputer_with_hardly_any_noise_is_the_one_without() -> None:
    Z = np.column_stack([X, RNG.integers(0, 3, len(X)) // 2])
    Z[::7] = np.nan
    given = {"strategy": {"x1": "median", "x3": "most_frequent"}, "categories": {"x3": (0, 1)}}
    plain, noisy = FederatedImputer(**given).fit(Z), FederatedImputer(**given, epsilon=100, delta=1e-4).fit(Z)
    np.testing.assert_allclose(noisy.statistics_, plain.statistics_, atol=0.5)
    assert noisy.statistics_[3] == 0
    assert noisy.bin_error_[1] > 0
    indicated = FederatedImputer(epsilon=10, delta=1e-4, add_indicator=True).fit(X)
    assert indicated.transform(X).shape == (len(X), 6)  # which columns lack a value is told of none


def test_a_look_with_epsilon_tells_about_what_a_look_without_does() -> None:
    federation = Federation.simulate(X, parties=3, partition="horizontal", seed=0)
    plain, noisy = federation.describe(), federation.describe(epsilon=100, delta=1e-4)
    for name in federation.features:
        assert noisy[name].mean == pytest.approx(plain[name].mean, abs=0.2 * plain[name].std)
        assert noisy[name].quartiles == pytest.approx(plain[name].quartiles, abs=0.3 * plain[name].std)
        assert sum(noisy[name].counts) == pytest.approx(len(X), abs=50)
    assert noisy.report.figures["epsilon that was spent"] == pytest.approx(100, abs=0.1)
    listed = Federation.simulate(np.arange(900.0)[:, None] % 3, parties=3, partition="horizontal", seed=0)
    found = listed.describe(categories={"x0": (0, 1, 2, 3)}, epsilon=50, delta=1e-4)["x0"].categories
    assert found == {str(k): pytest.approx(300 * (k < 3), abs=5) for k in range(4)}


def test_the_report_has_the_bill_and_another_fit_has_other_noise() -> None:
    one, other = (FederatedScaler(epsilon=1, delta=1e-4, random_state=0).fit(X) for _ in range(2))
    assert one.report_.figures["epsilon that was spent"] == pytest.approx(1.0, abs=0.01)
    assert "by a factor of at most 2.72" in one.report_.figures["what that means"]
    assert (one.mean_ != other.mean_).all()


@pytest.mark.parametrize(
    ("fit", "words"),
    [
        (lambda: FederatedScaler(epsilon=0).fit(X), "The 'epsilon' parameter of FederatedScaler must be"),
        (lambda: FederatedScaler(epsilon=1, delta=0.01).fit(X), "is more than one in 3000 records"),
        (lambda: FederatedScaler(epsilon=1, delta=1e-4, honest=4).fit(X), "honest=4 of 3 data holders"),
        (lambda: FederatedScaler("minmax", epsilon=1).fit(X), "does not cover method='minmax'"),
        (lambda: FederatedScaler(epsilon=1, partition="vertical").fit(X), "with partition='vertical' no party has any"),
        (
            lambda: FederatedImputer(epsilon=1, delta=1e-4, ranges={"x0": (0, 1)}).fit(X),
            "ranges name some columns and not 'x1'",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_line(fit, words) -> None:
    with pytest.raises(LocalError, match=words):
        fit()
