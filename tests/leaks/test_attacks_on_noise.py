"""The same attacks on models and sums with differential privacy: at epsilon = 1 they find next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from tacit import SVC, ELMClassifier
from tacit.attacks.attribute_inference import attribute_inference
from tacit.attacks.membership_inference import membership_inference
from tacit.attacks.repeated_release import try_releases
from tacit.attacks.twins import target_twins, train_between, train_twins

PARTIES = ("north", "east", "south")
PRIVATE = ELMClassifier(epsilon=1.0, delta=1e-4, classes=(0, 1), n_hidden=40)


@pytest.fixture(scope="module")
def table():
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], y[chosen]


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
    greedy = SVC(gamma=0.7, alpha=1e-3)
    quiet = clone(greedy).set_params(epsilon=1.0, delta=1e-3, classes=(0, 1))
    advantage = {}
    for name, model in (("off", greedy), ("on", quiet)):
        twins = train_twins(train_between(model, PARTIES, "horizontal"), X, y, count=6)
        advantage[name] = attribute_inference(target_twins(twins), X, y).advantage
    assert advantage["off"] > 0.15
    assert advantage["on"] < 0.12  # of the best of eight columns, by chance
