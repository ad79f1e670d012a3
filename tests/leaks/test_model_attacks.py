"""What models themselves give away, whoever has them: who was in the training, a value of theirs, who came later."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC

from tacit import ELMClassifier
from tacit.attacks.attribute_inference import attribute_inference, find_values
from tacit.attacks.membership_inference import find_true_positives, likelihood_ratios, membership_inference
from tacit.attacks.repeated_release import try_releases
from tacit.attacks.twins import (
    Twins,
    measure_sureness,
    target_model,
    target_twins,
    train_between,
    train_here,
    train_twins,
)

PARTIES = ("north", "east", "south")


def standardised(load=load_breast_cancer, rows=400):
    X, y = load(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:rows]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], y[chosen]


@pytest.fixture(scope="module")
def overfitted():
    """Twins of an SVM that knows its records by heart, each narrower than their distances."""
    X, y = standardised(rows=200)
    return X, y, train_twins(train_here(SVC(C=1e4, gamma=0.3)), X, y, count=12)


def test_a_model_that_knows_its_records_by_heart_gives_them_away(overfitted):
    X, y, twins = overfitted
    found = membership_inference(target_twins(twins))
    assert found.auc > 0.9
    assert found.true_positives > 0.2
    assert found.loss_auc > 0.8
    assert attribute_inference(target_twins(twins), X, y).advantage > 0.2


def test_a_model_that_learnt_nothing_gives_nothing_away(overfitted):
    _, _, twins = overfitted
    sure = np.random.default_rng(1).normal(size=twins.sure.shape)
    found = membership_inference(target_twins(Twins(twins.models, twins.member, sure)))
    assert abs(found.auc - 0.5) < 0.05
    assert found.true_positives < 0.05


def test_one_model_is_attacked_by_twins_with_records_that_it_has_not_seen():
    X, y = standardised(rows=300)
    member = np.arange(len(X)) < 150
    model = SVC(C=1e4, gamma=0.3).fit(X[member], y[member])
    twins = train_twins(train_here(SVC(C=1e4, gamma=0.3)), X, y, count=12)
    targets = target_model(model, X, y, member, twins)
    assert membership_inference(targets).auc > 0.9
    assert attribute_inference(targets, X, y).advantage > 0.2


def test_the_ratio_is_that_of_the_two_normal_densities():
    found = likelihood_ratios(Twins((None,) * 4000, *_two_normals(4000)), np.array([0.5]))
    assert found == pytest.approx(-0.5 * 0.5**2 / 4 - 0.5 * np.log(4) + 0.5 * 1.5**2, abs=0.15)


def _two_normals(count):
    """One record: members are N(0, 4) of it, others N(-1, 1)."""
    rng = np.random.default_rng(0)
    member = np.arange(count)[:, None] % 2 == 0
    return member, np.where(member, rng.normal(0, 2, size=(count, 1)), rng.normal(-1, 1, size=(count, 1)))


def test_true_positives_are_counted_above_all_but_one_in_a_hundred_of_the_others():
    score = np.concatenate([np.arange(200.0), [196.5, 198.5, 500.0, -1.0]])
    member = np.arange(204) >= 200
    assert find_true_positives(score, member) == 0.5  # above 197, which leaves two of 200 others


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_how_sure_a_model_is_is_the_margin_of_the_true_class(load):
    X, y = standardised(load, rows=150)
    model = SVC(decision_function_shape="ovr").fit(X, y)
    right = model.predict(X) == y
    sure = measure_sureness(model, X, y)
    assert np.all(sure[right] > 0)
    assert np.all(sure[~right] <= 0)


def test_of_numbers_it_is_minus_the_error():
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(X, y)
    assert measure_sureness(model, X, y) == pytest.approx(-np.abs(model.predict(X) - y))


def test_two_elms_tell_which_record_came_in_between():
    X, y = standardised()
    learner = ELMClassifier(random_state=0)  # so that it is repeatable
    elm = try_releases(train_between(learner, PARTIES, "horizontal"), X, y, candidates=20, trials=16)
    assert elm.share_first(20) > 0.12  # chance is 0.05; rounding and noise of a step halve what exact weights tell


def test_twins_of_an_elm_over_rows_tell_members_better_than_chance():
    X, y = standardised()
    twins = train_twins(train_between(ELMClassifier(random_state=0), PARTIES, "horizontal"), X, y, count=12)
    assert membership_inference(target_twins(twins)).auc > 0.56


def test_every_twin_has_half_of_every_class():
    X, y = standardised(rows=200)
    twins = train_twins(train_here(SVC()), X, y, count=5)
    for k in range(5):
        for label in (0, 1):
            assert abs(twins.member[k][y == label].mean() - 0.5) < 0.01


def test_values_that_are_few_are_all_tried():
    assert find_values(np.array([1.0, 0.0, 1.0, 2.0])).tolist() == [0.0, 1.0, 2.0]
    assert len(find_values(np.arange(100.0))) == 5
