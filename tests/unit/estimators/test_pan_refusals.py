"""PanSVC: what it refuses in one line, and awkward data that it does not refuse."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from tacit import Federation, LocalError, PanSVC

EXACT = {"min_count": 1, "accept_risk": True}  # every row is a group of its own
QUICK = {"landmark_source": "fourier", "landmarks": 60, **EXACT}


@pytest.fixture(scope="module")
def small():
    return make_classification(n_samples=90, n_features=6, n_informative=4, random_state=0)


BAD = {
    "kernel": (
        "cosine",
        "The 'kernel' parameter of PanSVC must be among .*'linear', 'poly', 'rbf', 'sigmoid'.* Got 'cosine' instead",
    ),
    "C": (0, r"The 'C' parameter of PanSVC must be a float in the range \(0, inf\). Got 0 instead"),
    "gamma": (-1.0, "The 'gamma' parameter of PanSVC must be"),
    "landmark_source": (
        "moon",
        "The 'landmark_source' parameter of PanSVC must be among {'local', 'joint', 'fourier'}. Got 'moon' instead",
    ),
    "landmarks": (0, "The 'landmarks' parameter of PanSVC"),
    "min_cluster": (0, "The 'min_cluster' parameter of PanSVC"),
    "min_count": (
        0,
        r"The 'min_count' parameter of PanSVC must be .*'auto'.* an int in the range \[1, inf\). Got 0 instead",
    ),
    "multi_class": ("both", "The 'multi_class' parameter of PanSVC must be among {'ovr', 'ovo'}"),
    "tol": (-1, "The 'tol' parameter of PanSVC"),
    "max_rounds": (0, "The 'max_rounds' parameter of PanSVC"),
    "dtype": ("float16", "The 'dtype' parameter of PanSVC"),
    "witness": ("yes", "The 'witness' parameter of PanSVC"),
    "partition": ("vertical", "The 'partition' parameter of PanSVC must be among {None, 'horizontal'}"),
    "secure_sum": ("threshold", "The 'secure_sum' parameter of PanSVC"),
    "class_weight": ("heavy", "The 'class_weight' parameter of PanSVC"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_parameter_is_refused_in_one_line(small, name):
    value, words = BAD[name]
    with pytest.raises(LocalError, match=words) as caught:
        PanSVC(**{name: value}).fit(*small)
    assert "\n" not in str(caught.value)


TOGETHER = {
    "fraction of a landmark": (
        {"landmarks": 7.5},
        "landmarks=7.5 is neither a whole number nor a share of the rows below 1: correct it",
    ),
    "more landmarks than rows": (
        {"landmarks": 91},
        "91 landmarks of 90 rows: ask for at least 1 and at most as many as there are rows",
    ),
    "more than clusters": (
        {"landmarks": 30},
        "so 90 rows give at most 18 landmarks, got 30: lower landmarks or min_cluster",
    ),
    "a share of small clusters": (
        {"landmarks": 0.25},
        "at least min_cluster=5 records, so at most 20 % of the rows can be landmarks, got 25 %",
    ),
    "fourier of another kernel": (
        {"landmark_source": "fourier", "kernel": "poly"},
        "landmark_source='fourier' is for the rbf kernel",
    ),
    "a witness of a ring": ({"witness": True, "secure_sum": "ring"}, "witness=True needs secure_sum='pairwise'"),
    "segments": ({"secure_sum": "ring", "segments": 2}, "4 parties on the ring have 1 edge-disjoint rings"),
    "no rows to sum": (
        {"min_count": 31, "landmark_source": "fourier"},
        (
            "no party has enough rows of class 0, 1 for a group of min_count=31, and a classifier needs two classes"
            " that take part: bring more"
        ),
    ),
    "a small min_count": (
        {"min_count": 4, "kernel": "linear"},
        (
            "min_count=4 is less than the 5 rows that keep the numbers this run opens, with those of earlier runs,"
            " fewer than the unknowns"
        ),
    ),
    "neither a number nor auto": ({"min_count": "all"}, "The 'min_count' parameter of PanSVC must be"),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_parameters_that_do_not_go_together_are_refused(small, name):
    settings, words = TOGETHER[name]
    with pytest.raises(LocalError, match=words) as caught:
        PanSVC(**settings).fit(*small)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("least", "score"), [(EXACT, 0.8), ({}, 0.6)], ids=["single rows", "groups"])
@pytest.mark.parametrize("source", ["local", "joint", "fourier"])
def test_a_party_of_one_class_an_empty_one_and_one_of_few_rows_take_part(small, source, least, score):
    X, y = small
    zeros, ones = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    split = [zeros[:30], np.empty(0, int), np.concatenate([zeros[30:], ones[:20]]), ones[20:-2], ones[-2:]]
    model = PanSVC(C=2, landmark_source=source, random_state=0, **least).fit(
        Federation.from_parts([(X[i], y[i]) for i in split], partition="horizontal")
    )
    assert model.score(X, y) > score


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("source", ["local", "joint", "fourier"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_constant_features_are_no_obstacle(small, source, kernel):
    X, y = small
    more, constant, model = (
        np.column_stack([X, np.full(90, 3.0)]),
        np.full_like(X, 5.0),
        PanSVC(landmark_source=source, kernel=kernel, random_state=1, **EXACT),
    )
    assert clone(model).fit(more, y).score(more, y) >= clone(model).fit(X, y).score(X, y) - 0.05
    assert len(set(model.fit(constant, y).predict(constant))) == 1


def test_one_class_nan_and_large_values_are_refused(small):
    X, y = small
    with pytest.raises(LocalError, match="at least 2 classes in y"):
        PanSVC().fit(X, np.zeros_like(y))
    with pytest.raises(LocalError, match=r"one class only .*at least 2 classes"):
        PanSVC().fit(Federation.simulate(X, np.zeros_like(y), partition="horizontal", parties=3))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        PanSVC().fit(np.where(np.arange(90)[:, None] == 3, np.nan, X), y)
    with pytest.raises(
        LocalError,
        match=r"records of party-1: a value of size .* does not fit .*scale the features, or lower fraction_bits",
    ):
        PanSVC().fit(X * 1e6, y)


def test_a_data_holder_as_coordinator_needs_accept_risk(small):
    fed = Federation.simulate(*small, partition="horizontal", parties=3, coordinator="party-2")
    with pytest.raises(LocalError, match=r"party 'party-2' would coordinate and learn the sums.*accept_risk=True"):
        PanSVC(kernel="linear").fit(fed)
    model = PanSVC(**QUICK, random_state=0).fit(fed)
    np.testing.assert_allclose(
        model.decision_function(small[0]),
        PanSVC(**QUICK, random_state=0).fit(*small).decision_function(small[0]),
        atol=1e-6,
    )


def test_a_federation_split_otherwise_is_refused(small):
    with pytest.raises(LocalError, match="PanSVC trains on records split horizontally, and these are split vertically"):
        PanSVC().fit(Federation.simulate(*small, partition="vertical"))
