"""Alarms about units: a wrong unit at a site is found, and records that were dealt out at random raise hardly any."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import datasets

from tacit import FederatedScaler, Federation

RNG = np.random.default_rng(0)
SHARES = np.linspace(0.002, 0.3, 40)  # of records in which a column is not 0
TEN = {
    "iris": datasets.load_iris().data,
    "wine": datasets.load_wine().data,
    "cancer": datasets.load_breast_cancer().data,
    "digits": datasets.load_digits().data[:800],
    "diabetes": datasets.load_diabetes().data,
    "generated": datasets.make_classification(800, 40, random_state=1)[0],
    "long tails": RNG.lognormal(0, 2, (800, 40)),
    "longer tails": RNG.pareto(1.2, (800, 40)),
    "rare marks": (RNG.random((800, 40)) < SHARES).astype(float),
    "rare amounts": np.where(RNG.random((800, 40)) < SHARES, RNG.lognormal(1, 1, (800, 40)), 0.0),
}


def alarms(X, method, seed, parties):
    fed = Federation.simulate(X, parties=parties, seed=seed)
    with warnings.catch_warnings(action="ignore"):
        said = FederatedScaler(method, accept_risk=True).fit(fed).report_.warnings
    return [line for line in said if "check its unit" in line or "check the unit" in line]


@pytest.mark.parametrize("method", ["standard", "minmax"])
def test_random_splits_of_ten_datasets_raise_at_most_one_alarm_in_a_hundred_columns(method):
    runs = [(X, seed, parties) for X in TEN.values() for seed, parties in ((0, 3), (1, 5))]
    found = sum(len(alarms(X, method, seed, parties)) for X, seed, parties in runs)
    assert found <= sum(X.shape[1] for X, _, _ in runs) / 100


@pytest.mark.parametrize("factor", [0.1, 10.0])
@pytest.mark.parametrize("name", ["iris", "wine", "cancer", "diabetes", "generated"])
def test_a_factor_of_ten_at_one_site_is_found_in_nearly_every_column(name, factor):
    X = TEN[name]
    parts = [X[k::4] * (factor if k == 0 else 1.0) for k in range(4)]
    fed = Federation.from_parts(parts, partition="horizontal", names=["north", "south", "east", "west"])
    with pytest.warns(UserWarning, match="check its unit there"):
        said = FederatedScaler().fit(fed).report_.warnings
    assert sum("party 'north'" in line for line in said) >= 0.95 * X.shape[1]
