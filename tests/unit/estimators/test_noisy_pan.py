"""PanSVC(epsilon=...): a classifier with differential privacy, as a person meets it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import train_test_split

import tacit
from tacit import FederatedGridSearch, Federation, PanSVC
from tacit.errors import LocalError

IRIS = load_iris(return_X_y=True)


def cancer() -> Any:
    return train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def test_a_linear_model_with_epsilon_is_nearly_as_good_as_one_without() -> None:
    train, test, y, z = cancer()
    scores = [PanSVC(kernel="linear", epsilon=4, n_parties=5).fit(train, y).score(test, z) for _ in range(5)]
    assert np.mean(scores) > 0.92


def test_an_rbf_model_of_ten_classes_with_epsilon_learns_digits() -> None:
    train, test, y, z = train_test_split(*load_digits(return_X_y=True), random_state=0)
    assert PanSVC(epsilon=20, delta=1e-4, n_parties=5).fit(train, y).score(test, z) > 0.85


def test_more_epsilon_means_less_noise() -> None:
    train, test, y, z = cancer()
    means = [
        np.mean([PanSVC(kernel="linear", epsilon=e).fit(train, y).score(test, z) for _ in range(4)]) for e in (0.05, 50)
    ]
    assert means[0] + 0.05 < means[1]


def test_noise_never_comes_from_random_state() -> None:
    X, y = IRIS
    one, other = (PanSVC(kernel="linear", epsilon=1, random_state=0).fit(X, y).model_.w for _ in range(2))
    assert (one != other).any()


def test_the_report_says_what_a_persons_risk_is() -> None:
    X, y = IRIS
    fitted = PanSVC(kernel="linear", epsilon=1, delta=1e-4, n_parties=5, classes=(0, 1, 2)).fit(X, y)
    figures = fitted.report_.figures
    assert figures["epsilon that was spent"] == pytest.approx(1.0, abs=0.01)
    assert figures["what that means"] == (
        "a person's presence changes the odds of any outcome by a factor of at most 2.72, but for events of"
        " probability 0.0001"
    )
    assert figures["holders that must keep their noise to themselves"] == "3 of 5"
    assert not any("classes" in line for line in fitted.report_.warnings)
    assert any("several records" in line for line in fitted.report_.not_protected)


def test_the_report_says_that_epsilon_does_not_cover_classes_that_were_read_from_labels() -> None:
    X, y = IRIS
    fitted = PanSVC(kernel="linear", epsilon=1, delta=1e-4).fit(X, y)
    assert any("classes were read from the labels" in line for line in fitted.report_.warnings)


def test_declared_ranges_cost_less_than_ranges_that_are_found_out() -> None:
    X, y = IRIS
    kinds = (None, (0.0, 8.0), [(0.0, 8.0)] * 4)
    parts = [
        PanSVC(kernel="linear", epsilon=1, delta=1e-4, ranges=r).fit(X, y).report_.figures["what it was spent on"]
        for r in kinds
    ]
    assert parts[0].startswith("scaling 10%")
    assert parts[1].startswith("scaling 5%")
    assert parts[2].startswith("scaling 5%")


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_add_up_and_agree_with_predictions(classes: int) -> None:
    X, y = (part[IRIS[1] < classes] for part in IRIS)
    fitted = PanSVC(epsilon=50, delta=1e-4, probability=True).fit(X, y)
    chances = fitted.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.classes_[chances.argmax(axis=1)], fitted.predict(X))
    assert chances.max() > 0.6


def test_a_model_file_predicts_the_same(tmp_path: Any) -> None:
    X, y = IRIS
    fitted = PanSVC(epsilon=10, delta=1e-4, probability=True).fit(X, y)
    again = tacit.load(fitted.save(tmp_path / "m.tacit"))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.epsilon == 10


def test_a_class_that_was_not_declared_takes_no_part() -> None:
    X, y = IRIS
    fitted = PanSVC(kernel="linear", epsilon=50, delta=1e-4, classes=[0, 1]).fit(X, y)
    assert set(fitted.predict(X)) <= {0, 1}


def test_a_class_that_nobody_has_may_be_declared() -> None:
    X, y = IRIS
    fitted = PanSVC(kernel="linear", epsilon=50, delta=1e-4, classes=[0, 1, 2, 3]).fit(X, y)
    assert list(fitted.classes_) == [0, 1, 2, 3]


BAD = (
    ({"epsilon": 0}, "The 'epsilon' parameter of PanSVC must be"),
    ({"epsilon": -1}, "The 'epsilon' parameter of PanSVC must be"),
    ({"epsilon": 1e6}, "in the range \\(0, 100\\]"),
    ({"epsilon": float("nan")}, "The 'epsilon' parameter of PanSVC must be"),
    ({"delta": 0.01}, "delta=0.01 is more than one in 150 records.*use 0.001"),
    ({"delta": 0.0}, "The 'delta' parameter of PanSVC must be"),
    ({"honest": 4}, "honest=4 of 3 data holders.*from 1 to 3"),
    ({"honest": 0}, "The 'honest' parameter of PanSVC must be"),
    ({"kernel": "poly"}, "with epsilon use 'linear' or 'rbf'"),
    ({"class_weight": "balanced"}, "class_weight='balanced' needs exact counts.*give a weight for each class"),
    ({"ranges": [(0.0, 1.0)]}, "ranges name 1 columns, and the records have 4"),
    ({"ranges": (1.0, 0.0)}, "The 'ranges' parameter of PanSVC must be"),
    ({"classes": [1]}, "two or more, each once"),
    ({"witness": True}, "leave witness out"),
    ({"device": "cuda"}, "leave device out"),
    ({"landmark_source": "joint"}, "leave landmark_source out"),
)


@pytest.mark.parametrize(("given", "words"), BAD, ids=[str(given) for given, _ in BAD])
def test_bad_input_is_refused_in_one_line_before_anything_is_sent(given: Any, words: str) -> None:
    with pytest.raises(LocalError, match=words) as refused:
        PanSVC(**{"epsilon": 1.0, "delta": 1e-4, **given}).fit(*IRIS)
    assert "\n" not in str(refused.value)


def test_epsilon_does_not_cover_searches_or_comparisons() -> None:
    with pytest.raises(LocalError, match="does not cover a search"):
        FederatedGridSearch(PanSVC(epsilon=1.0, delta=1e-4), {"C": [1.0, 2.0]}).fit(*IRIS)
    with pytest.raises(LocalError, match="does not cover compare=True"):
        PanSVC(epsilon=1.0, delta=1e-4).fit(*IRIS, compare=True)


def test_other_programs_get_no_file_of_it_and_are_told_what_to_do(tmp_path: Any) -> None:
    fitted = PanSVC(epsilon=1.0, delta=1e-4).fit(*IRIS)
    with pytest.raises(LocalError, match="use tacit's own file \\(save\\)"):
        fitted.export(tmp_path / "m.onnx")


def test_records_with_values_that_are_not_finite_count_as_blank() -> None:
    X, y = (np.array(part) for part in IRIS)
    federation = Federation.simulate(X, y, parties=3, partition="horizontal", seed=0)
    for part in federation.parts.values():
        part.X.setflags(write=True)
        part.X[0] = np.inf
    fitted = PanSVC(kernel="linear", epsilon=10, delta=1e-4).fit(federation)
    assert np.isfinite(fitted.model_.map.width).all()


def test_records_that_lack_values_are_blank_and_not_refused() -> None:
    X, y = IRIS
    gaps = np.where(np.arange(len(X))[:, None] % 50 == 0, np.nan, X)
    federation = Federation.simulate(gaps, y, parties=3, partition="horizontal", seed=0, allow_missing=True)
    for given in ((federation,), (gaps, y)):  # plain records too
        assert PanSVC(kernel="linear", epsilon=50, delta=1e-4).fit(*given).score(X, y) > 0.7
    with pytest.raises(LocalError, match="Input X contains NaN"):
        PanSVC(kernel="linear").fit(federation)
