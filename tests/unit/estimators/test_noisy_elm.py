"""SecureELMClassifier and SecureELMRegressor with epsilon, as a person meets them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from tacit import SecureELMClassifier, SecureELMRegressor, load
from tacit.errors import LocalError

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
FLOWERS = load_iris(return_X_y=True)


def test_a_classifier_with_epsilon_is_nearly_as_good_as_one_without() -> None:
    given = {"n_parties": 5, "n_hidden": 50, "random_state": 0}
    plain = SecureELMClassifier(**given).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    noisy = [
        SecureELMClassifier(epsilon=8, delta=1e-4, **given).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) for _ in "123"
    ]
    loud = [SecureELMClassifier(epsilon=0.01, delta=1e-4, **given).fit(X, y).score(X, y) for _ in "123"]
    assert np.mean(noisy) > plain - 0.06
    assert np.mean(loud) < plain - 0.1


def test_a_regressor_with_epsilon_clips_targets_and_learns_numbers() -> None:
    t = 10 * X[:, 0] + 3 * X[:, 1]
    given = {"delta": 1e-4, "random_state": 0, "n_hidden": 40}
    for within in (None, (-40, 60)):
        assert SecureELMRegressor(epsilon=50, target_range=within, **given).fit(X, t).score(X, t) > 0.8
    clipped = SecureELMRegressor(epsilon=50, target_range=(-1, 1), **given).fit(X, t).predict(X)
    assert np.abs(clipped).max() < 3
    assert (
        SecureELMRegressor(epsilon=1, **given).fit(X, t).report_.figures["what it was spent on"].startswith("size of")
    )


def test_the_report_has_the_bill_and_a_model_file_says_the_same(tmp_path) -> None:
    fitted = SecureELMClassifier(epsilon=2, delta=1e-4, classes=[0, 1, 2]).fit(*FLOWERS)
    assert fitted.report_.figures["epsilon that was spent"] == pytest.approx(2.0, abs=0.01)
    assert not any("read from the labels" in line for line in fitted.report_.warnings)
    assert any(
        "read from the labels" in line
        for line in SecureELMClassifier(epsilon=2, delta=1e-4).fit(*FLOWERS).report_.warnings
    )
    again = load(fitted.save(tmp_path / "elm.tacit"))
    np.testing.assert_array_equal(again.predict(FLOWERS[0]), fitted.predict(FLOWERS[0]))
    assert again.epsilon == 2
    other = SecureELMClassifier(epsilon=2, delta=1e-4, random_state=0)
    assert (other.fit(*FLOWERS).model_.beta != other.fit(*FLOWERS).model_.beta).all()  # noise is never from a seed


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"epsilon": 0}, "The 'epsilon' parameter of SecureELMClassifier must be"),
        ({"delta": 0.05}, "is more than one in 150 records"),
        ({"honest": 9}, "honest=9 of 3 data holders"),
        ({"probability": True}, "does not cover probability=True"),
        ({"class_weight": "balanced"}, "needs exact counts of classes"),
        ({"classes": [1]}, "the classes are declared, two or more"),
        ({"secure_sum": "threshold"}, "the noise of parties that stay away"),
        ({"partition": "vertical", "accept_risk": True}, "with partition='vertical' no party has any"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_line(given, words) -> None:
    with pytest.raises(LocalError, match=words):
        SecureELMClassifier(**{"epsilon": 1.0, "delta": 1e-4, **given}).fit(*FLOWERS)


def test_epsilon_does_not_cover_comparisons_or_more_rows() -> None:
    with pytest.raises(LocalError, match="does not cover compare=True"):
        SecureELMClassifier(epsilon=1, delta=1e-4).fit(*FLOWERS, compare=True)
    with pytest.raises(LocalError, match="does not cover partial_fit"):
        SecureELMClassifier(epsilon=1, delta=1e-4).partial_fit(*FLOWERS)
