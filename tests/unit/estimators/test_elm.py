"""SecureELMClassifier and SecureELMRegressor.

Scikit-learn's contract, the pooled ELM's answers, and what they refuse.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from tacit import Federation, LocalError, SecureELMClassifier, SecureELMRegressor, load
from tacit.numeric.features.elm import ACTIVATIONS, hidden, size_of
from tacit.request import Records

GAP = "largest difference of predicted values"


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris():
    X, codes = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[codes]


@pytest.fixture(scope="module")
def sugar():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), (y - y.mean()) / y.std()


def vertical(kind, **params):
    return kind(partition="vertical", accept_risk=True, **params)


def failures(estimator):
    failed = []
    for made, check in estimator_checks_generator(estimator, mark="skip"):
        try:
            check(made)
        except Exception as error:  # noqa: BLE001 - any failure counts, but a skip
            if type(error).__name__ != "SkipTest":
                failed.append((check, error))
    return failed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [SecureELMClassifier, SecureELMRegressor])
def test_check_estimator_passes(kind):
    assert not failures(kind(n_hidden=10, ridge=1.0, min_rows=1, accept_risk=True))


@pytest.mark.filterwarnings("ignore:H'H of")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("ridge", ["gcv", 1.0, 0])
def test_over_rows_it_equals_the_pooled_elm(cancer, iris, sugar, activation, ridge):
    switches = activation in {"relu", "sign"}  # nodes that single rows out take no part otherwise
    for kind, (X, y) in ((SecureELMClassifier, cancer), (SecureELMClassifier, iris), (SecureELMRegressor, sugar)):
        model = kind(activation=activation, ridge=ridge, n_hidden=20, n_parties=5, accept_risk=switches)
        model.fit(X[::3], y[::3], compare=True)
        assert model.report_.comparison[GAP] < 1e-8


@pytest.mark.filterwarnings("ignore:H'H of")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("weights", ["master", "private"])
def test_over_columns_it_equals_the_pooled_elm(cancer, iris, sugar, activation, weights):
    for kind, (X, y) in ((SecureELMClassifier, cancer), (SecureELMClassifier, iris), (SecureELMRegressor, sugar)):
        model = vertical(kind, activation=activation, weights=weights, n_parties=4, ridge=0.1).fit(
            X[::3], y[::3], compare=True
        )
        assert model.report_.comparison[GAP] < 1e-7


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"partition": "vertical", "accept_risk": True},
        {"activation": "rbf"},
        {"secure_sum": "ring"},
        {"secure_sum": "graph"},
    ],
)
def test_it_learns(cancer, iris, sugar, params):
    for kind, (X, y), least in (
        (SecureELMClassifier, cancer, 0.94),
        (SecureELMClassifier, iris, 0.88),
        (SecureELMRegressor, sugar, 0.35),
    ):
        assert kind(**params).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > least


@pytest.mark.parametrize("params", [{}, {"partition": "vertical", "accept_risk": True, "weights": "private"}])
def test_decisions_are_the_hidden_layer_times_the_output_weights_and_choose_the_class(iris, params):
    X, y = iris
    model = SecureELMClassifier(activation="tanh", **params).fit(X, y)
    beta = model.model_.beta if not params else model.model_.master.beta
    values = hidden(X, *model.layer_weights(), "tanh") @ beta
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])
    assert model.decision_function(X).shape == (150, 3)


def test_two_classes_have_one_column_of_decision_values(cancer):
    X, y = cancer
    model = SecureELMClassifier().fit(X, y)
    assert model.decision_function(X).shape == (569,)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


def test_the_hidden_layer_of_rows_follows_from_the_public_seed_and_that_of_columns_does_not(iris):
    X, y = iris
    first, second, other = (SecureELMClassifier(random_state=s).fit(X, y).layer_weights()[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 0.1
    for weights in ("master", "private"):
        drawn = [
            vertical(SecureELMClassifier, weights=weights, random_state=1).fit(X, y).layer_weights()[0]
            for _ in range(2)
        ]
        assert np.abs(drawn[0] - drawn[1]).max() > 0.1


def test_training_over_rows_takes_one_sum_of_the_hidden_layer_after_the_counts(cancer):
    fed = Federation.simulate(*cancer, parties=5)
    settings = {"classify": True, "activation": "tanh", "n_hidden": 10, "scale": 1.0, "ridge": "gcv"}
    ledger = fed.run("elm_horizontal", {"data": Records()}, **settings).ledger
    sizes = [row.shapes[0] for row in ledger if row.type == "Masked" and row.sender == "party-1"]
    assert sizes == [(2 + 1,), (2 * size_of(10, 1) + 1,)]
    assert ledger.rounds == 6  # keys, classes, counts and what they are, the sums, the model


# New rows


@pytest.mark.parametrize("kind", [SecureELMClassifier, SecureELMRegressor])
def test_new_rows_give_the_model_of_all_rows(iris, sugar, kind):
    X, y = iris if kind is SecureELMClassifier else sugar
    order = np.random.default_rng(0).permutation(len(X))
    old, new = np.array_split(order, 2)
    model = kind(n_hidden=30, random_state=4).fit(X[old], y[old]).partial_fit(X[new], y[new])
    whole = kind(n_hidden=30, random_state=4).fit(X, y)
    assert model.ridge_ == whole.ridge_
    np.testing.assert_allclose(model.model_.decide(X), whole.model_.decide(X), atol=1e-8)


def test_new_holders_join_with_one_more_sum(cancer):
    X, y = cancer
    old = Federation.simulate(X[:300], y[:300], parties=3)
    new = Federation.simulate(X[300:], y[300:], parties=["north", "south", "east"])
    model = SecureELMClassifier(n_hidden=50, random_state=0).fit(old).partial_fit(new)
    whole = SecureELMClassifier(n_hidden=50, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-8)
    assert set(model.federation_.parts) == {"north", "south", "east"}


def test_the_first_call_may_name_classes_that_come_later(iris):
    X, y = iris
    some = y != "virginica"
    model = SecureELMClassifier(n_hidden=20).partial_fit(X[some], y[some], classes=np.unique(y))
    assert not (model.predict(X) == "virginica").any()
    model.partial_fit(X[~some], y[~some])
    assert (model.predict(X) == y).mean() > 0.9
    with pytest.raises(
        LocalError, match="party-1 has records of 1 classes unknown to the model, such as 'rose': fit again"
    ):
        model.partial_fit(X[:60], np.full(60, "rose"))


def test_new_rows_of_too_few_are_refused(cancer):
    X, y = cancer
    model = SecureELMClassifier(n_hidden=20, min_rows=8).fit(X, y)
    with pytest.raises(
        LocalError,
        match="6 rows are too few: no class has min_rows=8 of them, and their sums could be of one holder alone; wait",
    ):
        model.partial_fit(X[:6], y[:6])
    with pytest.raises(LocalError, match="n_hidden=20 nodes are more than the 12 rows"):
        model.partial_fit(X[y == 1][:12], y[y == 1][:12])
    risky = SecureELMClassifier(n_hidden=20, min_rows=8, accept_risk=True).fit(X, y)
    risky.partial_fit(X[y == 1][:12], y[y == 1][:12])
    risky.partial_fit(X[:6], y[:6])  # of three holders
    with pytest.raises(LocalError, match="6 rows are too few: no class has min_rows=8"):
        risky.partial_fit(Federation.from_parts([(X[:3], y[:3]), (X[3:6], y[3:6])], partition="horizontal",
                                                allow_two_parties=True).rename_features(
            tuple(risky.federation_.features)))  # fmt: skip


def test_new_rows_are_refused_where_the_sums_are_not(cancer, tmp_path):
    X, y = cancer
    with pytest.raises(LocalError, match="and there are none for partition='vertical': fit again"):
        vertical(SecureELMClassifier).partial_fit(X, y)
    stored = load(SecureELMClassifier().fit(X, y).save(tmp_path / "elm.tacit"))
    with pytest.raises(LocalError, match="the coordinator's sums are not here, so no rows can be added"):
        stored.partial_fit(X, y)
    model = SecureELMClassifier(n_hidden=20).fit(X, y)
    with pytest.raises(
        LocalError, match=r"new rows need the features .* and the coordinator coordinator of the first fit"
    ):
        model.partial_fit(Federation.simulate(X, y, coordinator="elsewhere"))
    with pytest.raises(LocalError, match="lack what ridge='gcv' needs: fit again"):
        SecureELMClassifier(ridge=1.0, n_hidden=20).fit(X, y).set_params(ridge="gcv").partial_fit(X, y)


# Small classes, odd data


def test_a_class_of_fewer_than_min_rows_records_is_left_out_and_never_chosen(iris):
    X, y = iris
    few = np.concatenate([np.arange(100), [101, 102]])
    with pytest.warns(
        UserWarning, match="class virginica has 2 records, fewer than min_rows=5: no sum of them is opened"
    ):
        model = SecureELMClassifier(n_hidden=20).fit(X[few], y[few])
    assert not (model.predict(X) == "virginica").any()
    without = SecureELMClassifier(n_hidden=20).fit(X[:100], y[:100])
    np.testing.assert_array_equal(model.predict(X[:100]), without.predict(X[:100]))
    with pytest.raises(LocalError, match="of 2 classes 1 have fewer than min_rows=5 records over all parties"):
        SecureELMClassifier().fit(X[:52], y[:52])


def test_more_nodes_than_rows_and_constant_columns_over_columns_are_handled_and_said(iris):
    X, y = iris
    constant = np.column_stack([X, np.ones(len(X)), np.zeros(len(X))])
    with pytest.warns(
        UserWarning,
        match=r"H'H of 200 nodes has only \d+ directions above rounding: the pseudo-inverse leaves out the others",
    ):
        model = vertical(SecureELMClassifier, n_hidden=200, ridge=0.0).fit(constant, y)
    assert model.rank_ < 150
    assert model.score(constant, y) > 0.9
    for partition in ("horizontal", "vertical"):
        assert (
            SecureELMClassifier(partition=partition, accept_risk=True, n_hidden=200, ridge=1.0)
            .fit(constant, y)
            .score(constant, y)
            > 0.9
        )


@pytest.mark.parametrize("partition", ["horizontal", "vertical"])
def test_values_that_fixed_point_cannot_hold_are_refused(iris, partition):
    X, y = iris
    with pytest.raises(
        LocalError,
        match=r"hidden layer of party-.* does not fit into fixed point with 32 fraction bits .*: scale the features",
    ):
        SecureELMClassifier(activation="relu", partition=partition, accept_risk=True).fit(X * 1e9, y)


def test_targets_that_are_no_numbers_are_refused(iris):
    with pytest.raises(LocalError, match="SecureELMRegressor needs numbers as targets, got <U10: use a classifier"):
        SecureELMRegressor().fit(*iris)
    with pytest.raises(LocalError, match="SecureELMRegressor needs numbers as targets"):
        SecureELMRegressor().fit(Federation.simulate(*iris))


def test_weights_stand_for_repeats(cancer):
    X, y = cancer
    weight = np.arange(len(y)) % 3
    for params in ({}, {"partition": "vertical", "accept_risk": True}):
        model = SecureELMClassifier(n_hidden=30, ridge=1.0, **params).fit(X, y, sample_weight=weight, compare=True)
        assert model.report_.comparison[GAP] < 1e-7
    same = {"n_hidden": 30, "ridge": 1.0, "random_state": 0}
    again = SecureELMClassifier(**same).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    weighted = SecureELMClassifier(**same).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(again.decision_function(X), weighted.decision_function(X), atol=1e-8)


def test_a_class_without_weight_is_no_class(iris):
    X, y = iris
    weight = (y != "setosa").astype(float)
    model = SecureELMClassifier(n_hidden=20, random_state=1).fit(X, y, sample_weight=weight)
    without = SecureELMClassifier(n_hidden=20, random_state=1).fit(X[50:], y[50:])
    assert model.classes_.tolist() == without.classes_.tolist() == ["versicolor", "virginica"]
    np.testing.assert_allclose(model.decision_function(X), without.decision_function(X), atol=1e-8)


# Risks are said first


@pytest.mark.parametrize(
    ("weights", "words"),
    [("master", "made W and sees XW"), ("private", "knows as many of them as there are columns")],
)
def test_columns_are_refused_without_accept_risk_in_one_line_that_says_what_they_give_away(iris, weights, words):
    with pytest.raises(LocalError, match=words) as caught:
        SecureELMClassifier(partition="vertical", weights=weights).fit(*iris)
    assert "accept_risk=True" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_data_holder_does_not_coordinate_without_accept_risk(cancer):
    X, y = cancer
    fed = Federation.simulate(X, y, coordinator="party-1")
    with pytest.raises(LocalError, match="party 'party-1' would coordinate and learn the sums"):
        SecureELMClassifier().fit(fed)
    assert SecureELMClassifier(accept_risk=True).fit(fed).score(fed) > 0.9


def test_the_report_says_what_is_not_protected_and_two_parties_are_warned_of(iris):
    X, y = iris
    parts = [X[:, :2], X[:, 2:]]
    with pytest.raises(LocalError, match="allow_two_parties=True"):
        Federation.from_parts(parts, partition="vertical", y=y)
    fed = Federation.from_parts(parts, partition="vertical", y=y, allow_two_parties=True)
    model = vertical(SecureELMClassifier).fit(fed)
    assert any("minus one's own IS the other's" in w for w in model.report_.warnings)
    assert any("it solves for X" in line for line in model.report_.not_protected)
    assert any("they determine them" in line for line in SecureELMClassifier().fit(X, y).report_.not_protected)


# New records over columns


def test_new_records_stay_split_and_with_parts_missing_they_are_refused(iris):
    X, y = iris
    names = ["north", "south", "east"]
    cut = [X[:, :1], X[:, 1:3], X[:, 3:]]
    model = vertical(SecureELMClassifier, weights="private").fit(
        Federation.from_parts(cut, names=names, partition="vertical", y=y)
    )
    new = Federation.from_parts([part[:9] for part in cut], names=names, partition="vertical")
    np.testing.assert_array_equal(model.predict(new), model.predict(X[:9]))
    with pytest.raises(LocalError, match="must be held by the same parties as in training: north, south, east"):
        model.predict(Federation.from_parts(cut[:2], names=names[:2], partition="vertical", allow_two_parties=True))
    with pytest.raises(LocalError, match="the new records are not split like the training records: 'south' must hold"):
        model.predict(Federation.from_parts([cut[0], cut[1][:, :1], X[:, 2:]], names=names, partition="vertical"))
    with pytest.raises(ValueError, match="X has 3 features, but SecureELMClassifier is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(np.where(np.arange(4) == 2, np.nan, X))


@pytest.mark.parametrize("parties", [2, 4, 9])
def test_any_number_of_parties_gives_the_same_accuracy_up_to_more_than_columns(iris, parties):
    X, y = iris
    model = vertical(SecureELMClassifier, n_parties=parties, n_hidden=30).fit(X, y, compare=True)
    assert model.report_.comparison[GAP] < 1e-6
    assert model.score(X, y) > 0.9


# Files, copies


@pytest.mark.parametrize("params", [{}, {"partition": "vertical", "accept_risk": True}])
@pytest.mark.parametrize("kind", [SecureELMClassifier, SecureELMRegressor])
def test_a_model_file_gives_the_same_answers_and_holds_no_record(iris, sugar, kind, params, tmp_path):
    X, y = iris if kind is SecureELMClassifier else sugar
    model = kind(**params).fit(X, y)
    again = load(model.save(tmp_path / "elm.tacit"))
    assert type(again) is kind
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.n_hidden_, again.ridge_, again.rank_) == (model.n_hidden_, model.ridge_, model.rank_)
    assert again.model_.records_of() == {}


def test_it_clones_pickles_and_works_in_a_pipeline(cancer):
    X, y = cancer
    pipe = make_pipeline(StandardScaler(), SecureELMClassifier(n_parties=4)).fit(X, y)
    assert pipe.score(X, y) > 0.95
    model = pipe[-1]
    assert clone(model).get_params() == model.get_params()
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - what scikit-learn asks of estimators
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_no_warning_comes_from_the_defaults(cancer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SecureELMClassifier().fit(*cancer)
