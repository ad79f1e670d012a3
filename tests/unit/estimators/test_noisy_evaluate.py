"""`evaluate` with epsilon, as a person meets it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from tacit import SVC, ELMClassifier, ELMRegressor, Federation, evaluate
from tacit.errors import LocalError

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
RECORDS = Federation.simulate(X, y, parties=3, partition="horizontal", seed=0)
MODEL = ELMClassifier(epsilon=20, delta=1e-4, n_hidden=20).fit(X, y)


@pytest.mark.parametrize("model", [MODEL, SVC(kernel="linear", epsilon=20, delta=1e-4), SVC(kernel="linear")])
def test_an_evaluation_with_hardly_any_noise_is_the_one_without(model) -> None:
    model.fit(X, y)
    plain, noisy = evaluate(model, RECORDS), evaluate(model, RECORDS, epsilon=100, delta=1e-4)
    np.testing.assert_allclose(noisy.confusion_matrix, plain.confusion_matrix, atol=3)
    assert noisy.roc_auc == pytest.approx(plain.roc_auc, abs=0.02)
    assert noisy.n_records == pytest.approx(len(X), abs=3)
    assert "noise of every site" in noisy.how


def test_noise_moves_the_accuracy_by_about_what_the_design_says() -> None:
    exact = evaluate(MODEL, RECORDS).accuracy
    found = [evaluate(MODEL, RECORDS, epsilon=1, delta=1e-4).accuracy - exact for _ in range(30)]
    assert 0.002 < np.std(found) < 0.03
    assert abs(np.mean(found)) < 0.02


def test_the_report_says_what_judging_cost() -> None:
    evaluate(MODEL, RECORDS, epsilon=2, delta=1e-4, name="all")
    assert MODEL.report_.figures["epsilon that was spent on judging all"] == pytest.approx(2.0, abs=0.01)
    assert MODEL.report_.figures["epsilon that was spent"] == pytest.approx(20.0, abs=0.1)


def test_a_regressor_is_judged_between_declared_numbers() -> None:
    t = 10 * X[:, 0]
    model = ELMRegressor(random_state=0, n_hidden=30).fit(X, t)
    records = Federation.simulate(X, t, parties=3, partition="horizontal", seed=0)
    plain, noisy = evaluate(model, records), evaluate(model, records, epsilon=100, delta=1e-4, target_range=(-25, 45))
    assert noisy.r2 == pytest.approx(plain.r2, abs=0.05)
    assert noisy.mean_absolute_error == pytest.approx(plain.mean_absolute_error, rel=0.2)
    with pytest.raises(LocalError, match=r"say target_range=\(low, high\)"):
        evaluate(model, records, epsilon=1, delta=1e-4)


def test_records_that_nothing_is_known_of_count_in_nothing_and_are_not_refused() -> None:
    odd, labels = X.copy(), y.copy()
    odd[0], labels[1] = np.nan, 7
    with_odd = Federation.simulate(odd, labels, parties=3, partition="horizontal", seed=0, allow_missing=True)
    assert evaluate(MODEL, with_odd, epsilon=100, delta=1e-4).n_records == pytest.approx(len(X), abs=3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0}, "The 'epsilon' parameter of evaluate must be"),
        ({"delta": 0.01}, "is more than one in 569 records"),
        ({"honest": 4}, "honest=4 of 3 data holders"),
        ({"by": "site"}, "by= is for judging without epsilon"),
    ],
)
def test_what_noise_does_not_cover_is_refused_in_one_line(given, words) -> None:
    with pytest.raises(LocalError, match=words):
        evaluate(MODEL, RECORDS, **{"epsilon": 1.0, "delta": 1e-4, **given})


def test_a_model_in_shares_is_not_judged_with_epsilon() -> None:
    model = SVC(n_parties=3, random_state=0, features="exact", loss="hinge").fit(X[:60], y[:60])
    few = Federation.simulate(X[:60], y[:60], parties=3, seed=0)
    with pytest.raises(LocalError, match="does not cover a model that stays in shares"):
        evaluate(model, few, epsilon=1, delta=1e-4)
