"""Maps of kernels: their features stand for the kernels that scikit-learn has, of one width or two."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from tacit.protocols.features.maps import WIDER, features_of, map_widths

GAMMA = 0.3
rng = np.random.default_rng(3)
X, LANDMARKS = rng.normal(size=(50, 4)), rng.normal(size=(40, 4))


def make_features(gamma, landmarks):
    """Return Nystroem's features by scikit-learn, which makes them of its own landmarks."""
    return Nystroem("rbf", gamma=gamma, n_components=len(landmarks), random_state=0).fit(landmarks).transform(X)


def test_two_widths_are_half_of_each_kernel_with_landmarks_of_its_own():
    Z = features_of(map_widths(GAMMA, LANDMARKS), X)[:, :-1]
    cut = len(LANDMARKS) - 2 * (LANDMARKS.shape[1] + 1)
    parts = [(GAMMA, LANDMARKS[:cut]), (GAMMA * WIDER, LANDMARKS[cut:])]
    expected = sum(F @ F.T for F in (make_features(*part) for part in parts)) / 2.0
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-4)  # directions of rounding are left out
    assert np.square(Z).sum(axis=1).max() <= 1.0 + 1e-9


def test_records_that_are_landmarks_have_the_mean_of_both_kernels():
    few = X[:10]
    L = np.tile(few, (4, 1))  # so that each width has all of them
    parts = [features_of(map_widths(GAMMA, order), few)[:, :-1] for order in (L, L[::-1])]
    expected = (rbf_kernel(few, gamma=GAMMA) + rbf_kernel(few, gamma=GAMMA * WIDER)) / 2.0
    for Z in parts:
        np.testing.assert_allclose(Z @ Z.T, expected, atol=2e-2)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_landmarks_are_all_used(count):
    the_map = map_widths(GAMMA, LANDMARKS[:count])
    assert len(the_map.gammas) == len(the_map.centres) == count
    assert the_map.size <= count + 1
