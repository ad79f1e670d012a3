"""The same attacks on models and sums with differential privacy: at epsilon = 1 they find next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from tacit import PanSVC, SecureELMClassifier
from tacit.attacks.attribute_inference import attribute_inference
from tacit.attacks.elm_leverage import tell_apart
from tacit.attacks.membership_inference import membership_inference
from tacit.attacks.repeated_release import try_releases
from tacit.attacks.twins import target_twins, train_between, train_twins
from tacit.crypto.noise.discrete_gaussian import draw_noise
from tacit.numeric.features.elm import hidden, layer_of, targets_of, words_needed
from tacit.numeric.privacy.descent import find_diagonal, multiply_rows
from tacit.numeric.privacy.features import R
from tacit.numeric.privacy.hidden import Rows
from tacit.numeric.ring.draws import public_words
from tacit.protocols.noisy.noisy_sum import agree_on_budget

PARTIES = ("north", "east", "south")
PRIVATE = SecureELMClassifier(epsilon=1.0, delta=1e-4, classes=(0, 1), n_hidden=40)


@pytest.fixture(scope="module")
def table():
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], y[chosen]


def test_a_noisy_sum_of_an_elm_does_not_tell_whether_a_candidate_is_one_of_its_rows(table) -> None:
    X, y = table
    members, others = X[:400], X[400:]
    W, b = layer_of(public_words(1, words_needed(30, 200)), 200, "sigmoid", 1.0, 30)
    rows = Rows(W, b, "sigmoid", 1.0, 1)
    M = multiply_rows(rows.make(members, targets_of(y[:400], 2), np.ones(400))).astype(np.float64)
    noise = agree_on_budget(1.0, 1e-4, 3, holders=3, rows=400).noise(R**4 // 2, 1.0)
    drawn = draw_noise(bytes(32), M.size, 3 * noise.variance).astype(np.float64)
    drawn[find_diagonal(rows.size)] *= np.sqrt(2)

    def layer(x):
        return hidden(x, W, b, "sigmoid")

    values, V = np.linalg.eigh(rows.read(M + drawn)[0])
    H = layer(members)
    assert tell_apart(H.T @ H, layer, members, others) > 0.64
    for steady in (1e-3, 1e-1, 10.0):  # however the attacker steadies a matrix that is mostly noise
        noisy = (V * np.maximum(values, steady * values.mean())) @ V.T
        assert abs(tell_apart(noisy, layer, members, others) - 0.5) < 0.08


def test_two_elms_with_epsilon_do_not_tell_which_record_came_in_between(table) -> None:
    X, y = table
    noisy = try_releases(train_between(PRIVATE, PARTIES, "horizontal"), X[:300], y[:300], candidates=20, trials=6)
    assert noisy.share_first(20) <= 0.35  # without epsilon it is above 0.8


def test_twins_of_an_elm_with_epsilon_tell_members_hardly_better_than_chance(table) -> None:
    X, y = table
    twins = train_twins(train_between(PRIVATE, PARTIES, "horizontal"), X[:400], y[:400], count=12)
    found = membership_inference(target_twins(twins))
    assert found.auc < 0.54  # without epsilon it is above 0.56
    assert found.true_positives < 0.03
    guessed = attribute_inference(target_twins(twins), X[:400], y[:400])
    assert guessed.advantage < 0.07  # of the best of eight columns, by chance


@pytest.mark.slow
def test_values_of_members_of_an_overfitted_model_are_guessed_and_with_epsilon_they_are_not(table) -> None:
    X, y = table[0][:120, :10], table[1][:120]
    greedy = PanSVC(landmark_source="fourier", landmarks=200, gamma=0.7, C=1e4, min_count=1, accept_risk=True, tol=0.1)
    quiet = clone(greedy).set_params(epsilon=1.0, delta=1e-3, classes=(0, 1), min_count="auto")
    advantage = {}
    for name, model in (("off", greedy), ("on", quiet)):
        twins = train_twins(train_between(model, PARTIES, "horizontal"), X, y, count=6)
        advantage[name] = attribute_inference(target_twins(twins), X, y).advantage
    assert advantage["off"] > 0.15
    assert advantage["on"] < 0.12  # of the best of eight columns, by chance
