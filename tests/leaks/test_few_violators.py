"""A row that alone tells two sums apart is read by a coordinator that follows the protocol.

Min_count takes that from it.
"""

from __future__ import annotations

import numpy as np
import pytest

from leaks.planes import blobs, rows_of, shared
from tacit.attacks.few_violators import few_violators, record_of, violator
from tacit.numeric.features.feature_map import basis_of
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.planes.feature_map import FeatureMap, map_records

NONE = np.empty((0, 0))


def map_of(source, kernel="rbf", columns=4):
    rng = np.random.default_rng(5)
    centres, shape = rng.normal(size=(20, columns)), Kernel(kernel, 0.2, 3, 1.0)
    if source == "identity":
        return FeatureMap(source, "linear", 1.0, 3, 0.0, NONE, NONE, 0, columns)
    if source == "fourier":
        return FeatureMap(source, "rbf", 0.2, 3, 0.0, NONE, NONE, 7, 40)
    basis = basis_of(centres, shape)
    return FeatureMap(source, kernel, 0.2, 3, 1.0, centres, basis, 0, basis.shape[1])


MAPS = {
    "linear": ("identity",),
    "fourier": ("fourier",),
    "rbf": ("local", "rbf"),
    "poly": ("local", "poly"),
    "sigmoid": ("local", "sigmoid"),
}


@pytest.mark.parametrize("name", ["linear", "rbf", "fourier"])
def test_records_are_read_from_a_run_without_the_rule_and_none_from_one_with_it(name):
    the_map = map_of(*MAPS[name])
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=80) > 0, 1, -1)
    rows = shared(rows_of(map_records(the_map, X), y), 3)
    held = {f"p{i}": part for i, part in enumerate(rows)}
    found = [one for C in (0.3, 1.0, 5.0) for one in few_violators(held, C=C, min_count=1, tol=1e-6)]
    mapped = map_records(the_map, X)
    true = [one for one in found if np.abs(mapped - one.features).max(axis=1).min() < 1e-6]
    assert len(true) > 1
    for one in true[:3]:
        record = record_of(the_map, one.features, 4)
        nearest = np.abs(X - record).max(axis=1)
        assert nearest.min() < 1e-4
        assert one.sign == y[nearest.argmin()]
        assert one.weight == pytest.approx(1.0, abs=1e-6)
    grouped = [one for C in (0.3, 1.0, 5.0) for one in few_violators(held, C=C, min_count=5, tol=1e-6)]
    assert all(np.abs(mapped - one.features).max(axis=1).min() > 1e-2 for one in grouped)  # guesses that are all wrong


def test_weights_hide_nothing():
    rows = blobs(n=50, seed=2)
    weight = np.random.default_rng(0).uniform(0.2, 3, 50)
    held = {f"p{i}": rows_of(rows.F[i::3], rows.signs[i::3], weight[i::3]) for i in range(3)}
    found = few_violators(held, C=5.0, min_count=1, tol=1e-5)
    nearest = [int(np.abs(rows.F - one.features).max(axis=1).argmin()) for one in found]
    true = [(one, i) for one, i in zip(found, nearest, strict=True) if np.allclose(one.features, rows.F[i], atol=1e-5)]
    assert true
    assert all(one.weight == pytest.approx(weight[i], abs=1e-6) for one, i in true)


@pytest.mark.parametrize("name", MAPS)
def test_a_record_follows_from_its_features(name):
    the_map = map_of(*MAPS[name])
    records = np.random.default_rng(9).normal(size=(5, 4))
    for x, f in zip(records, map_records(the_map, records), strict=True):
        np.testing.assert_allclose(record_of(the_map, f + 1e-10, 4), x, atol=1e-5)


@pytest.mark.parametrize("order", [1.0, -1.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_features_sign_and_weight_come_apart_whichever_of_the_two_sums_is_larger(order, sign):
    f = np.array([0.3, -2.0, 5.0])
    one = violator(order * 0.7 * np.array([*(sign * f), sign, 1.0]))
    np.testing.assert_allclose(one.features, f)
    assert (one.sign, round(one.weight, 9)) == (sign, 0.7)
