"""What is revealed of the core's machines, and what it gives away: attacks of an analyst who chooses the jobs.

Every attack is played on models that the protocol trained, with defences switched off and as a job has them. All have
the breast-cancer records, standardised, at three holders, and landmarks of one edition where nothing else is said.
Figures are in docs/methods/svc_attacks.md. A distance is relative to the record's length; 1 is what knowing nothing
gives. These jobs choose labels as they like. What noise alone does not hide of such jobs, no site lets through: the
same attacks on what sites bring to a job are in `test_edition_leaks`. What no rule closes is an expected failure.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from machines import (
    FOUND,
    OFF,
    by_rows,
    cosine,
    distance,
    edition,
    exact_comparisons,
    exact_weights,
    found_landmarks,
    least_limits,
    names_of,
    play,
    train,
)
from scipy.optimize import brentq, least_squares, minimize
from scipy.special import ndtr
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics import roc_auc_score

from tacit.consortium.consent.register import LISTS
from tacit.federation.part import part_of
from tacit.numeric.ring.triangle import unpack
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.features import landmarks
from tacit.protocols.features.landmarks import MU, draw_landmarks, standard_distribution
from tacit.protocols.features.maps import features_of, map_kernel
from tacit.protocols.learners import least_squares as solver
from tacit.protocols.learners import svm
from tacit.protocols.learners.fitting import LONGEST
from tacit.protocols.learners.noise import WIDE
from tacit.protocols.learners.rounding import FINE, bound_hinge, bound_squares
from tacit.protocols.learners.targets import HIDDEN, LEAST_CLASS, STEPS, limit_sizes

RAW, Y = load_breast_cancer(return_X_y=True)
X = (RAW - RAW.mean(axis=0)) / RAW.std(axis=0)
N, D = X.shape
GAMMA = 1.0 / D
GIVEN = {0: 1e-3, 1: 1e-3, 2: 1.0}
READ, UNREAD = 0.1, 0.5  # how near a record is that was read, and how far one is that was not
ONE = range(7, N, 100)  # records that are attacked


@pytest.fixture(autouse=True)
def _edition():
    with edition():
        yield


def away(found: Any, model: Any, record: Any) -> float:
    """Return how far features that were found, up to their length, are from those of a record."""
    z = features_of(model.map, record[None])[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return distance(found[:-1] / found[-1], z[:-1])


# A class of one: of three classes the targets of the two others cancel out, and only the third one's records are left


def lone_class(record: int, alpha: float, weights: Any, **chosen: Any) -> tuple[Any, Any]:
    """Return features of a record, up to their length, from one job in which it is a class of its own."""
    y = np.where(np.arange(N) == record, 2, Y)
    model = train(X, y, noise=record, alpha=alpha, class_prices=weights, **(OFF | chosen))
    return -(model.weights[:, 0] + model.weights[:, 1]), model


def read_linear(alpha: float, weights: Any) -> float:
    found = [(lone_class(i, alpha, weights, kernel="linear"), X[i]) for i in ONE]
    return float(np.median([away(z, model, x) for (z, model), x in found]))


LONE = {"given": (30.0, GIVEN), "none": (1e4, None)}


@pytest.mark.parametrize("weights", LONE)
def test_without_a_least_class_and_noise_a_class_of_one_is_its_record(weights):
    with exact_weights():
        assert read_linear(*LONE[weights]) < READ


def test_a_class_of_few_records_is_none():
    """What the attack needs, a line of weights for each of three classes, is not there."""
    for size in (1, 9):
        y = np.where(np.arange(N) < size, 2, Y)
        for classes in (None, (0, 1, 2)):
            model = train(X, y, kernel="linear", alpha=1e4, balanced=True, classes=classes)
            assert model.classes == (0, 1)
            assert model.weights.shape[1] == 1


def mean_of_class(size: int, **chosen: Any) -> tuple[float, float]:
    """Return how near the mean of a class is found from one job, and how near its nearest record is."""
    with least_limits():
        model = train(X, np.where(np.arange(N) < size, 2, Y), kernel="linear", alpha=1e5, **chosen)
    found, Z = -(model.weights[:, 0] + model.weights[:, 1]), features_of(model.map, X[:size])[:, :-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        near = found[:-1] / found[-1]
    return distance(near, Z.mean(axis=0)), min(distance(near, z) for z in Z)


def test_of_the_least_class_its_mean_is_nearly_told_and_no_record():
    mean, record = mean_of_class(LEAST_CLASS, balanced=True)
    assert mean < UNREAD < record


def undeclared(pairs: int, **chosen: Any) -> float:
    """Return how near a record is found that is of a class, and then of none."""
    base, found = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.66])), []
    for j in range(pairs):
        lines = []
        for k, label in enumerate((2, 9)):
            y = base.copy()
            y[7] = label
            model = train(X, y, noise=2 * j + k, kernel="linear", alpha=1e4, classes=(0, 1, 2), **chosen)
            lines.append(model.weights[:, 2])
        found.append(lines[0] - lines[1])
    return away(np.mean(found, axis=0), model, X[7])


def test_without_noise_a_record_of_no_class_is_told_by_two_jobs():
    with exact_weights():
        assert undeclared(1) < 2 * READ  # of which rounding is a part


def among_few(pairs: int, alpha: float = 3e3) -> float:
    """Return how near the record is found that one of two classes of few records has more; all others are of none."""
    found = []
    for j in range(pairs):
        lines = []
        for k in range(2):
            y = np.where(np.arange(N) < 2 * LEAST_CLASS + k, np.arange(N) < LEAST_CLASS, 9).astype(int)
            with least_limits():
                model = train(X, y, noise=2 * j + k, kernel="linear", alpha=alpha, classes=(0, 1))
            lines.append(model.weights[:, 0])
        found.append(lines[0] - lines[1])
    return away(np.mean(found, axis=0), model, X[2 * LEAST_CLASS])


def test_without_what_sites_fix_20_jobs_of_two_small_classes_give_the_record_in_which_they_differ():
    """Records of no class have target 0 beside two classes, and hide nothing; a site has no cell of one person."""
    assert among_few(10) < UNREAD


@pytest.mark.parametrize("balanced", [False, True])
def test_with_noise_a_record_of_no_class_is_not_told_by_20_jobs(balanced):
    assert undeclared(10, balanced=balanced) > UNREAD


def read_rbf(record: int) -> float:
    """Return how near the record is that has the features which were found."""
    z, model = lone_class(record, 30.0, GIVEN, features=200, gamma=GAMMA)
    fit = least_squares(lambda x: features_of(model.map, x[None])[0, :-1] - z[:-1] / z[-1], np.zeros(D), max_nfev=15)
    return distance(fit.x, X[record])


def test_without_a_least_class_landmarks_do_not_hide_a_class_of_one():
    with exact_weights():
        assert read_rbf(7) < READ


# Two label columns whose classes differ in one record


def last_record(sizes: tuple[int, int], alpha: float, pairs: int = 1, **chosen: Any) -> float:
    """Return how near the record is found that only the larger class has."""
    found = []
    for j in range(pairs):
        with least_limits():
            both = [
                train(X, np.where(np.arange(N) < size, 2, Y), noise=2 * j + k, kernel="linear", alpha=alpha, **chosen)
                for k, size in enumerate(sizes)
            ]
        found.append(both[1].weights[:, 2] - both[0].weights[:, 2])
    return away(np.mean(found, axis=0), both[0], X[sizes[0]])


def test_without_noise_two_label_columns_give_the_record_in_which_they_differ():
    with exact_weights():
        assert last_record((5, 6), 1e4, **OFF) < READ
        assert last_record((LEAST_CLASS, LEAST_CLASS + 1), 1e4) < READ


@pytest.mark.parametrize("balanced", [False, True])
def test_with_noise_20_jobs_of_two_label_columns_do_not_give_the_record_in_which_they_differ(balanced):
    assert last_record((LEAST_CLASS, LEAST_CLASS + 1), 1e4, pairs=10, balanced=balanced) > UNREAD


# A column as target, whose range is chosen so that all records but one are on one side


def largest_value(rows: int, alpha: float, pairs: int = 1) -> float:
    values = X[:rows, 0]
    order = np.argsort(values)
    middle, below = values[order[-2:]].mean(), values.min() - 2.0
    found = []
    for j in range(pairs):
        both = [
            train(X[:rows], values, noise=2 * j + k, kernel="linear", alpha=alpha, classify=False, target_range=span)
            for k, span in enumerate([(middle - 1e-6, middle + 1e-6), (below, below + 1.0)])
        ]
        found.append(both[0].weights[:, 0] + both[1].weights[:, 0])
    return away(np.mean(found, axis=0), both[0], X[order[-1]])


@pytest.mark.parametrize("rows", [110, N])
def test_without_noise_a_column_as_target_gives_the_record_with_its_largest_value(rows):
    with exact_weights():
        assert largest_value(rows, 1e4) < READ


def test_with_noise_a_column_as_target_does_not_give_the_record_with_its_largest_value():
    assert largest_value(N, 1e4, pairs=5) > UNREAD


def test_with_noise_twenty_jobs_of_110_records_give_no_more_than_its_direction():
    assert largest_value(110, 3e3, pairs=10) > 3 * READ


def rare_target(record: int, alpha: float = 1e3) -> float:
    """Return how near the record is found of which alone the target is not 0, by S from the public landmarks."""
    told: list[Any] = []
    values = np.where(np.arange(N) == record, 1.0, 0.0)
    with (
        found_landmarks(),
        patch.object(svm, "find_distribution", lambda *a, **b: told.append(FOUND(*a, **b)) or told[0]),
    ):
        model = train(X, values, noise=record, kernel="linear", alpha=alpha, classify=False, target_range=(-1.0, 1.0))
    root = told[0].root * told[0].scale / model.map.radius
    S = N * np.block([[root.T @ root, np.zeros((D, 1))], [np.zeros((1, D)), np.ones((1, 1))]])
    return away((S + alpha * np.eye(D + 1)) @ model.weights[:, 0], model, X[record])


def test_without_noise_a_target_that_one_record_has_gives_it():
    with exact_weights():
        assert rare_target(7) < 2 * READ


def test_without_what_sites_fix_a_target_that_one_record_has_gives_it_in_spite_of_noise():
    """A site cuts targets to what a few persons reach."""
    assert np.median([rare_target(i) for i in ONE]) < UNREAD


# Nearly equal jobs


def with_rare(record: int, columns: Any, value: float) -> Any:
    return np.column_stack([X[:, columns], np.where(np.arange(N) == record, value, 0.0)])


def rare_column(record: int, value: float = 2.0, jobs: int = 21, columns: int = 8) -> tuple[float, float]:
    """Return how near the record of a column that nobody else has is found, and its label.

    The weight of that column is v (t - z.w) / alpha, so that each job gives one equation for z and t.
    """
    rng, lines, right = np.random.default_rng(0), [], []
    for j in range(jobs):
        alpha, kept = 10.0 ** rng.uniform(0, 3), np.sort(rng.choice(columns, columns - 2, replace=False))
        model = train(with_rare(record, kept, value), Y, noise=j, kernel="linear", alpha=alpha)
        w, own = model.weights[:, 0], value / model.map.radius
        line = np.zeros(columns + 1)
        line[kept], line[-1] = w[:-2] / model.map.radius, -1.0
        lines.append(line)
        right.append(-model.alpha * w[-2] / own - own * w[-2] - w[-1])
    found = np.linalg.lstsq(np.array(lines), np.array(right), rcond=1e-10)[0]
    return distance(found[:-1], X[record, :columns]), found[-1] * (2 * Y[record] - 1)


def test_without_noise_21_nearly_equal_jobs_give_the_record_that_alone_has_a_column():
    with exact_weights():
        off, label = rare_column(100)
    assert off < READ
    assert label == pytest.approx(1, abs=0.05)


def test_with_noise_21_nearly_equal_jobs_do_not_give_the_record_that_alone_has_a_column():
    assert rare_column(100)[0] > UNREAD


def test_21_jobs_without_an_edition_do_not_give_it_either():
    """With landmarks of the records, the column is 0 in every job."""
    with found_landmarks():
        assert rare_column(100)[0] > UNREAD


def label_of_rare(alpha: float) -> float:
    """Return how often the weight of a column that one record has shows that record's label; standardised, it is 24."""
    records = range(0, N, 57)
    found = [
        train(with_rare(i, range(8), 24.0), Y, noise=i, kernel="linear", alpha=alpha).weights[-2, 0] for i in records
    ]
    return float(np.mean([(w > 0) == (Y[i] == 1) for w, i in zip(found, records, strict=True)]))


def test_without_noise_the_weight_of_a_column_that_one_record_has_is_its_label():
    with exact_weights():
        assert label_of_rare(10.0) == 1


def test_a_column_that_few_records_have_does_not_show_a_label():
    with found_landmarks():
        assert 0.1 < label_of_rare(10.0) < 0.9


def members_told(jobs: int = 21, rows: int = 40) -> float:
    """Return how well members are told by the span of all weights, which are combinations of the members' features.

    Each job has another column, in three classes, as label.
    """
    rng, found = np.random.default_rng(1), []
    for j in range(jobs):
        y = np.digitize(X[:rows, j], np.quantile(X[:rows, j], [1 / 3, 2 / 3]))
        alpha = float(10 ** rng.uniform(-2, 1))
        model = train(X[:rows], y, noise=j, features=2 * rows, gamma=GAMMA, alpha=alpha)
        found.append(model.weights / model.step)
    W = np.concatenate(found, axis=1)
    U, s, _ = np.linalg.svd(W, full_matrices=False)
    seen = U[:, s > 1.3 * sum(np.sqrt(W.shape))]  # what stands out of noise of one step
    Z = features_of(model.map, X[: 2 * rows])
    inside = np.square(Z @ seen).sum(axis=1) / np.square(Z).sum(axis=1)
    return float(roc_auc_score(np.arange(2 * rows) < rows, inside))


def test_without_what_sites_fix_21_label_columns_tell_who_is_among_few_records():
    """A site merges classes until no cell of all of them together is small."""
    assert members_told() > 0.6


# The same job again


def test_the_mean_of_21_equal_jobs_has_less_noise_unless_they_have_the_same_randomness():
    jobs = [train(X, Y, noise=j, features=40, gamma=GAMMA, alpha=1.0) for j in range(21)]
    exact = solve(the_map(40), X, Y, 1.0)
    off = [np.sqrt(np.square(each.weights - exact).mean()) / each.step for each in jobs]
    mean = np.sqrt(np.square(np.mean([each.weights for each in jobs], axis=0) - exact).mean()) / jobs[0].step
    assert np.mean(off) == pytest.approx(math.sqrt(3 / 2 + 1 / 4), rel=0.1)  # three holders' noise, and rounding
    assert mean == pytest.approx(np.mean(off) / math.sqrt(21), rel=0.3)
    again = train(X, Y, noise=0, features=40, gamma=GAMMA, alpha=1.0)
    np.testing.assert_array_equal(again.weights, jobs[0].weights)


# All other records are known, and two candidates for the last one


def the_map(features: int, columns: int = D) -> Any:
    return map_kernel(Kernel("rbf", 1.0 / columns, 3, 1.0), draw_landmarks(standard_distribution(columns, 7), features))


def solve(mapped: Any, records: Any, labels: Any, alpha: float) -> Any:
    Z = features_of(mapped, records)
    return np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ (2.0 * labels[:, None] - 1.0))


def neighbours(labels: Any, i: int) -> tuple[Any, Any]:
    """Return labels of two tables that differ in one record's."""
    other = labels.copy()
    other[i] = 1 - other[i]
    return labels, other


def told_apart(records: Any, labels: Any, features: int, alpha: float, trials: int) -> tuple[float, float]:
    """Return how often the nearer of two solutions is the right one, and the bound by the noise of all holders."""
    columns = records.shape[1]
    pair = neighbours(labels, 0)
    both = [solve(the_map(features, columns), records, each, alpha) for each in pair]
    right = 0
    for j in range(trials):
        model = train(records, pair[j % 2], noise=j, features=features, gamma=1.0 / columns, alpha=alpha)
        off = [np.linalg.norm(model.weights - each) for each in both]
        right += int(off[1] < off[0]) == j % 2
    mu = float(np.linalg.norm(both[1] - both[0])) / (model.step * math.sqrt(3 / 2 + 1 / 4))
    return right / trials, float(ndtr(mu / 2))


def many_records() -> tuple[Any, Any]:
    made, labels = make_classification(6000, 10, n_informative=6, flip_y=0.05, random_state=0)
    return (made - made.mean(axis=0)) / made.std(axis=0), labels


def test_of_many_records_and_few_landmarks_two_candidates_are_told_as_often_as_the_noise_allows():
    found, bound = told_apart(*many_records(), 12, 1.0, 30)
    assert bound < 0.9
    assert found < bound + 1.5 / math.sqrt(30)


def test_without_noise_they_are_always_told():
    with exact_weights():
        assert told_apart(*many_records(), 12, 1.0, 4)[0] == 1


@pytest.mark.xfail(strict=True, reason="one step of noise is no differential privacy: only epsilon helps")
def test_of_few_records_noise_hides_one_from_who_knows_all_others():
    assert told_apart(X, Y, 200, 1.0, 4)[0] < 0.75


def told_by_step(records: range, jobs: int, rows: int = 150) -> tuple[float, float]:
    """Return how often the step of the weights shows which of two labels a record has, for an alpha chosen for it.

    And how far both sizes are from each other, in deviations of the limits of all holders.
    """
    mapped, right, far = the_map(12), [], 0.0
    for i in records:
        pair = neighbours(Y[:rows], i)

        def measure(log_alpha: float, pair: Any = pair) -> Any:
            """Return the binary logarithms of both sizes of the weights."""
            both = [solve(mapped, X[:rows], y, 10.0**log_alpha) for y in pair]
            return np.array([0.5 * np.log2(np.square(each).mean()) for each in both])

        edge = math.floor(measure(0.0).mean())
        chosen = brentq(lambda log_alpha, at=edge: measure(log_alpha).mean() - at, -2, 4)
        sizes = measure(chosen)
        far = max(far, abs(4.0 ** (sizes[1] - sizes[0]) - 1) * WIDE / math.sqrt(3))
        for k, y in enumerate(pair):
            for j in range(jobs):
                model = train(X[:rows], y, noise=j + 1000 * i, features=12, gamma=GAMMA, alpha=10.0**chosen)
                right.append(math.log2(model.step) + FINE == math.floor(sizes[k]))
    return float(np.mean(right)), far


def test_without_noise_the_step_of_the_weights_tells_a_label():
    with exact_comparisons():
        assert told_by_step(range(3), 1)[0] == 1


def test_moved_limits_tell_a_label_as_often_as_their_noise_allows_and_seldom_in_21_jobs():
    found, far = told_by_step(range(1), 21)
    assert found < ndtr(far / 2) + 1.5 / math.sqrt(42)
    assert ndtr(far / 2 * math.sqrt(21)) < 0.9


def told_by_choice(records: range, rows: int = 100) -> float:
    """Return how often the alpha that is chosen shows which of two labels a record has, for a gamma chosen for it."""

    def choose(y: Any, gamma: float, noise: int = 0) -> float:
        model = train(X[:rows], y, noise=noise, holders=2, features=12, gamma=gamma)
        return float(model.alpha)

    def find_edge(y: Any, low: float = 0.02, high: float = 0.06, steps: int = 7) -> float:
        """Return where the choice changes."""
        first = choose(y, low)
        for _ in range(steps):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if choose(y, middle) == first else (low, middle)
        return math.sqrt(low * high)

    edge, right = find_edge(Y[:rows]), []
    for i in records:
        pair = neighbours(Y[:rows], i)
        other = find_edge(pair[1])
        chosen = [choose(y, math.sqrt(edge * other), noise=i) for y in pair]
        right.append((chosen[0] < chosen[1]) == (edge < other) and chosen[0] != chosen[1])
    return float(np.mean(right))


def test_the_alpha_that_is_chosen_does_not_tell_a_label_to_who_knows_all_other_records():
    assert told_by_choice(range(3, 63, 12)) < 0.75


def told_by_landmarks(jobs: int, *, lasting: bool, columns: int = 8, candidates: int = 100, left_out: int = 0) -> float:
    """Return how often noisy sums of several jobs show which of two values a record has, all others known.

    left_out: how many of the columns each job leaves out, other ones each time.
    """
    chosen, seen = [*combinations(range(columns), columns - left_out)], []
    columns -= left_out
    opened = landmarks.open_sums

    def keep(*given: Any) -> Any:
        seen.append((opened(*given), *given[-3:]))
        return seen[-1][0]

    with found_landmarks(), patch.object(landmarks, "open_sums", keep):
        for j in range(jobs):
            train(X[:, chosen[j % len(chosen)]], Y, noise=j, lasting=lasting, kernel="linear", alpha=1.0)
    rows, beside = np.triu_indices(columns)
    sides = np.zeros(candidates)
    for j, (sums, centre, scale, level) in enumerate(seen):
        X8 = X[:, chosen[j % len(chosen)]]
        U = np.concatenate(list(landmarks.cut_records(part_of(X8, Y, None, names_of(X8)), centre, scale, level.radius)))
        both = np.where(rows == beside, 1.0, math.sqrt(0.5)) * level.product_noise
        noise = math.sqrt(3) * np.concatenate([np.full(columns, level.sum_noise), both])
        real = np.ldexp(sums.astype(np.float64), level.cut)
        real[:columns] = np.ldexp(real[:columns], -level.lift)
        P = unpack([real[columns:]], columns)[rows, beside]
        V = np.column_stack([U, U[:, rows] * U[:, beside]]).astype(np.float64) / noise
        rest = np.concatenate([real[:columns], P]) / noise - V.sum(axis=0)
        step = V[1 : candidates + 1] - V[:candidates]  # in place of each record, the one after it
        sides += step @ rest - 0.5 * np.square(step).sum(axis=1)
    return float(np.mean(sides < 0))


def test_the_landmarks_of_a_job_do_not_tell_a_record_to_who_knows_all_others():
    assert told_by_landmarks(1, lasting=True) < 0.7


def test_nor_do_those_of_21_jobs_as_they_have_the_same_noise():
    assert told_by_landmarks(21, lasting=True) < 0.6 < told_by_landmarks(21, lasting=False)


def test_lists_of_columns_have_noise_of_their_own_and_sites_allow_so_few_that_it_does_not_average_out():
    """Of 21 lists of 8 of 10 columns, and of as many as a policy allows."""
    asked = {"lasting": True, "columns": 10, "left_out": 2}
    few, many = told_by_landmarks(LISTS, **asked), told_by_landmarks(21, **asked)
    assert few < 0.57
    assert many > 0.62
    assert few < ndtr(MU * math.sqrt(LISTS) / 2) < 0.69


# How much a record moves weights, by which the noise on them is counted


@pytest.mark.parametrize("alpha", [0.1, 3.0, 300.0])
def test_no_record_moves_weights_of_least_squares_by_more_than_registers_count(alpha):
    mapped = the_map(40)
    Z, T = features_of(mapped, X), 2.0 * Y[:, None] - 1.0
    A, H = Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T @ T
    w = np.linalg.solve(A, H)
    moved = [np.linalg.norm(np.linalg.solve(A - np.outer(z, z), H - z[:, None] * t) - w) for z, t in zip(Z, T)]  # noqa: B905
    assert max(moved) < bound_squares(float(np.linalg.norm(w)), alpha, 1)


def test_no_record_moves_weights_of_the_hinge_by_more_than_registers_count():
    Z, C = features_of(the_map(20), X), 0.3

    def fit(kept: Any) -> Any:
        y = 2.0 * Y[kept] - 1.0
        dual = minimize(
            lambda a: (0.5 * np.square((a * y) @ Z[kept]).sum() - a.sum(), y * (Z[kept] @ ((a * y) @ Z[kept])) - 1.0),
            np.zeros(len(y)), jac=True, bounds=[(0, C)] * len(y), options={"maxiter": 2000, "ftol": 1e-14},
        ).x  # fmt: skip
        return (dual * y) @ Z[kept]

    every = np.arange(0, N, 3)
    w = fit(every)
    assert max(np.linalg.norm(fit(np.delete(every, i)) - w) for i in range(0, len(every), 20)) < bound_hinge(
        C, LONGEST, 1
    )


def test_a_training_notes_how_much_noise_there_is_on_its_weights():
    run, model = play(by_rows(X, Y), kernel="linear", alpha=1e3)
    (told,) = [note["mu"] for note in run.history if "mu" in note]
    assert told == pytest.approx(
        bound_squares(float(np.linalg.norm(model.weights)), 1e3, 1) * math.sqrt(2) / model.step
    )


# What else a job may ask


def count_told(jobs: int, rows: int = 150) -> float:
    """Return how often a balanced weight shows on which side of a limit the size of a class is."""
    size, right = limit_sizes(rows, 3)[-4], []
    for count in (size - 1, size):
        for j in range(jobs):
            y = np.where(np.arange(rows) < count, 2, Y[:rows])
            model = train(X[:rows], y, noise=j, kernel="linear", alpha=1.0, balanced=True)
            limits = np.array(limit_sizes(rows, 3))
            right.append(round(STEPS - 2 * math.log2(model.class_weights[2])) == (count >= limits).sum())
    return float(np.mean(right))


def test_without_noise_balanced_weights_tell_a_count():
    with exact_comparisons():
        assert count_told(1) == 1


def test_balanced_weights_of_11_jobs_tell_no_record_of_a_class():
    assert count_told(11) < 0.7


def test_empty_classes_do_not_move_the_limits():
    """They are none, so that only classes of the table can."""
    y = np.where(np.arange(N) < 40, 2, Y)
    models = [train(X, y, kernel="linear", alpha=1.0, balanced=True, classes=(*range(k),)) for k in (3, 9)]
    np.testing.assert_array_equal(models[0].class_weights, models[1].class_weights)


def left_by_size(size: int, jobs: int, rows: int = 110) -> list[bool]:
    """Return in which of some jobs, which all draw anew, a class of so many records is learnt."""
    y = np.where(np.arange(rows) < size, 2, Y[:rows])
    return [2 in train(X[:rows], y, noise=j, kernel="linear", alpha=1.0).classes for j in range(jobs)]


def test_which_classes_are_too_small_does_not_tell_a_record():
    """At no size does a record more decide: three parties' limits are anywhere from 10 to 22, and never below."""
    with least_limits():
        assert left_by_size(LEAST_CLASS - 1, 3) == [False] * 3
        assert left_by_size(LEAST_CLASS, 3) == [True] * 3
    middle = LEAST_CLASS + 3 * (HIDDEN - 1) // 2
    shares = [np.mean(left_by_size(size, 20)) for size in (middle - 1, middle)]
    assert all(0.15 < share < 0.85 for share in shares)
    assert not any(left_by_size(LEAST_CLASS - 1, 10))
    assert all(left_by_size(LEAST_CLASS + 3 * (HIDDEN - 1), 10))


def sizes_by_probability(sizes: range, rows: int = 100) -> Any:
    told: list[Any] = []
    fit = solver.fit_sigmoids
    with patch.object(solver, "fit_sigmoids", lambda averages, *rest: told.append(averages) or fit(averages, *rest)):
        for size in sizes:
            y = np.arange(rows) < size
            with least_limits():
                train(X[:rows], y, noise=size, features=12, gamma=GAMMA, alpha=1.0, probability=True)
    return np.array([rows / 2 * (1 + each[3, 0] / each[4, 0]) for each in told])


def test_without_noise_probabilities_tell_how_many_records_a_class_has():
    sizes = range(12, 18)
    with exact_comparisons():
        np.testing.assert_array_equal(np.round(sizes_by_probability(sizes)), [*sizes])


def test_probabilities_do_not_tell_how_many_records_a_class_has():
    sizes = range(12, 20)
    assert np.abs(sizes_by_probability(sizes) - [*sizes]).mean() > 2


def test_a_job_does_not_find_out_who_has_a_class():
    """Undeclared labels stop nothing, and are not told."""
    y = np.where(np.arange(N) == 7, 2, Y)
    run, model = play(by_rows(X, y), kernel="linear", alpha=1.0, classes=(0, 1))
    without, _ = play(by_rows(X, Y), kernel="linear", alpha=1.0, classes=(0, 1))
    assert model.classes == (0, 1)
    assert [(r.place, r.sender, r.type, r.shapes) for r in run.ledger.rows] == [
        (r.place, r.sender, r.type, r.shapes) for r in without.ledger.rows
    ]


def test_the_direction_of_plain_weights_is_no_record():
    """One job of two large classes: no record is nearer to its weights than records that are not in it."""
    rows = N // 2
    model = train(X[:rows], Y[:rows], kernel="linear", alpha=1e3)
    found = np.abs([cosine(model.weights[:-1, 0], features_of(model.map, x[None])[0, :-1]) for x in X])
    assert roc_auc_score(np.arange(N) < rows, found) < 0.6
