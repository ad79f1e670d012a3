"""The SVM from its kernel matrix equals scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR

from tacit.errors import LocalError
from tacit.numeric.svm.dual_svm import dual_objective, solve, solve_numbers
from tacit.numeric.svm.problems import count_problems, problems, value_classes

RNG = np.random.default_rng(11)
X = RNG.normal(size=(90, 4))
NOISE = RNG.normal(size=90)
BINARY = (X[:, 0] - X[:, 1] + 0.7 * NOISE > 0).astype(np.int64)
THREE = np.digitize(X[:, 0] + 0.5 * NOISE, [-0.5, 0.5])
K = rbf_kernel(X, gamma=0.4)
NEW = rbf_kernel(RNG.normal(size=(30, 4)), X, gamma=0.4)
ENDS = {"tol": 1e-8, "max_iter": -1}
TIGHT = {"multi_class": "ovr", **ENDS}


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_two_classes_equal_scikit_learns_svc(C):
    got = solve(K, BINARY, None, C=C, **TIGHT)
    svc = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, BINARY)
    assert got.coef.shape == (1, 90)
    np.testing.assert_allclose(NEW @ got.coef[0] + got.bias[0], svc.decision_function(NEW), atol=1e-7)


@pytest.mark.parametrize("C", [0.5, 5.0])
def test_three_classes_equal_one_versus_rest(C):
    got = solve(K, THREE, None, C=C, **TIGHT)
    rest = OneVsRestClassifier(SVC(C=C, kernel="precomputed", tol=1e-8)).fit(K, THREE)
    assert got.coef.shape == (3, 90)
    np.testing.assert_allclose(NEW @ got.coef.T + got.bias, rest.decision_function(NEW), atol=1e-7)


@pytest.mark.parametrize("weight", [None, 1.0 + np.arange(90) % 4])
def test_pairs_are_those_of_scikit_learns_svc_to_the_last_step(weight):
    five = np.digitize(X[:, 0] + 0.5 * NOISE, [-1.0, -0.3, 0.3, 1.0])
    got = solve(K, five, weight, C=2.0, multi_class="ovo", tol=1e-3, max_iter=-1)
    svc = SVC(C=2.0, kernel="precomputed", decision_function_shape="ovo").fit(K, five, sample_weight=weight)
    assert got.coef.shape == (10, 90)
    pairs = NEW @ got.coef.T + got.bias
    np.testing.assert_allclose(pairs, svc.decision_function(NEW), atol=1e-12)
    svc.decision_function_shape = "ovr"
    np.testing.assert_allclose(value_classes(pairs, "ovo"), svc.decision_function(NEW), atol=1e-12)


def test_a_class_that_wins_no_more_pairs_is_chosen_by_its_summed_values():
    """Each of three wins one pair; the values 0 and 0.2 are the first of a pair's, as in scikit-learn."""
    values = np.array([[0.2, -0.1, 3.0], [0.0, 1.0, -1.0]])
    chosen = value_classes(values, "ovo").argmax(axis=1)
    np.testing.assert_array_equal(chosen, [1, 0])
    np.testing.assert_array_equal(value_classes(values, "ovr"), values)


@pytest.mark.parametrize("classes", range(2, 30))
def test_as_many_problems_are_counted_as_there_are(classes):
    for multi_class in ("ovr", "ovo"):
        assert len(problems(classes, multi_class)) == count_problems(classes, multi_class)
    assert value_classes(np.ones((2, count_problems(classes, "ovo"))), "ovo").shape == (
        2,
        classes if classes > 2 else 1,
    )


@pytest.mark.parametrize("codes", [BINARY, THREE])
def test_the_solution_is_feasible(codes):
    got = solve(K, codes, None, C=2.0, **TIGHT)
    positives = [1] if codes is BINARY else [0, 1, 2]
    for coef, p in zip(got.coef, positives, strict=True):
        d = np.where(codes == p, 1.0, -1.0)
        assert ((coef * d >= 0) & (np.abs(coef) <= 2.0)).all()
        assert abs(coef.sum()) < 1e-9


def test_the_objective_is_the_dual_problems():
    got = solve(K, BINARY, None, C=2.0, **TIGHT)
    d = np.where(BINARY == 1, 1.0, -1.0)
    a = got.coef[0] * d
    assert got.objective[0] == pytest.approx(0.5 * a @ (np.outer(d, d) * K) @ a - a.sum(), rel=1e-12)


def test_the_objective_is_the_least_of_all_feasible_ones():
    got = solve(K, BINARY, None, C=2.0, **TIGHT)
    rng = np.random.default_rng(0)
    up, down = np.flatnonzero(BINARY == 1), np.flatnonzero(BINARY == 0)
    for _ in range(200):
        coef = got.coef[0].copy()
        i, j, step = rng.choice(up), rng.choice(down), rng.uniform(-0.5, 0.5)
        coef[i], coef[j] = np.clip(coef[i] + step, 0, 2), np.clip(coef[j] - step, -2, 0)
        if abs(coef.sum()) < 1e-9:
            assert dual_objective(K, coef) >= got.objective[0] - 1e-9


def test_the_objective_of_no_support_vectors_is_zero():
    assert dual_objective(K, np.zeros(90)) == 0.0


def test_a_weight_of_two_is_a_record_twice():
    weight = np.where(np.arange(90) % 4 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(90), weight.astype(int))
    got = solve(K, BINARY, weight, C=0.8, **TIGHT)
    repeated = solve(K[np.ix_(twice, twice)], BINARY[twice], None, C=0.8, **TIGHT)
    np.testing.assert_allclose(
        NEW @ got.coef[0] + got.bias[0], NEW[:, twice] @ repeated.coef[0] + repeated.bias[0], atol=1e-6
    )
    assert got.objective[0] == pytest.approx(repeated.objective[0], abs=1e-7)


def test_weights_bound_the_coefficients_record_by_record():
    weight = np.linspace(0.1, 3.0, 90)
    got = solve(K, THREE, weight, C=1.5, **TIGHT)
    assert (np.abs(got.coef) <= 1.5 * weight + 1e-12).all()
    assert (np.abs(got.coef) > 1.5).any()


def test_weights_equal_scikit_learns():
    weight = np.linspace(0.1, 3.0, 90)
    got = solve(K, BINARY, weight, C=1.5, **TIGHT)
    svc = SVC(C=1.5, kernel="precomputed", tol=1e-8).fit(K, BINARY, sample_weight=weight)
    np.testing.assert_allclose(NEW @ got.coef[0] + got.bias[0], svc.decision_function(NEW), atol=1e-7)


def test_a_weight_of_zero_is_a_record_left_out():
    weight = np.where(np.arange(90) % 3 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weight)
    got = solve(K, BINARY, weight, C=0.8, **TIGHT)
    without = solve(K[np.ix_(kept, kept)], BINARY[kept], None, C=0.8, **TIGHT)
    assert not got.coef[0][weight == 0].any()
    np.testing.assert_allclose(got.coef[0][kept], without.coef[0], atol=1e-7)


@pytest.mark.parametrize("codes", [BINARY, THREE])
@pytest.mark.parametrize("zero", [lambda codes: codes == 1, lambda codes: codes >= 0], ids=["one class", "all classes"])
def test_a_class_that_no_weight_is_left_for_is_refused(codes, zero):
    with pytest.raises(
        LocalError, match="of the classes has no record of positive weight: give every class some weight"
    ):
        solve(K, codes, np.where(zero(codes), 0.0, 1.0), C=1.0, **TIGHT)


def test_other_codes_than_zero_and_one_are_two_classes_all_the_same():
    got, shifted = (solve(K, codes, None, C=1.0, **TIGHT) for codes in (BINARY, BINARY * 3 + 2))
    assert np.array_equal(got.coef, shifted.coef)
    assert np.array_equal(got.bias, shifted.bias)


def test_one_class_alone_is_refused():
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        solve(K, np.zeros(90, dtype=np.int64), None, C=1.0, **TIGHT)


@pytest.mark.parametrize("weight", [None, np.linspace(0.2, 3, 90), np.arange(90) % 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_numbers_equal_scikit_learns_svr(epsilon, weight):
    y = X[:, 0] * X[:, 1] + 0.2 * NOISE
    got = solve_numbers(K, y, weight, C=2.0, epsilon=epsilon, **ENDS)
    kept = np.arange(90) if weight is None else np.flatnonzero(weight)
    svr = SVR(C=2.0, epsilon=epsilon, kernel="precomputed", tol=1e-8)
    svr.fit(K[np.ix_(kept, kept)], y[kept], sample_weight=None if weight is None else weight[kept])
    np.testing.assert_allclose(NEW @ got.coef[0] + got.bias[0], svr.predict(NEW[:, kept]), atol=1e-7)
    # by strong duality what is minimised is minus the primal objective
    errors = np.maximum(np.abs(y - K @ got.coef[0] - got.bias[0]) - epsilon, 0)
    primal = 0.5 * got.coef[0] @ K @ got.coef[0] + 2.0 * errors @ (np.ones(90) if weight is None else weight)
    assert got.objective[0] == pytest.approx(-primal, rel=1e-6)


def test_numbers_without_any_weight_are_refused():
    with pytest.raises(LocalError, match="no record has a positive weight"):
        solve_numbers(K, NOISE, np.zeros(90), C=1.0, epsilon=0.1, **ENDS)
