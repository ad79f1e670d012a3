"""What one record can change in a training with epsilon: exactly what the noise was made for, and nothing beside it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import PeerError
from tacit.federation.part import Part
from tacit.numeric.privacy import columns, descent, scaling, scores
from tacit.numeric.privacy.accountant import cost_of
from tacit.numeric.privacy.features import R
from tacit.protocols.elm.shape import Layer
from tacit.protocols.noisy.noisy_columns import Asked, count_bins, count_values, noisy_columns, sum_present
from tacit.protocols.noisy.noisy_columns import count_magnitudes as magnitudes_in
from tacit.protocols.noisy.noisy_elm import multiply as multiply_layer
from tacit.protocols.noisy.noisy_elm import noisy_elm
from tacit.protocols.noisy.noisy_scores import count_scored, sum_errors
from tacit.protocols.noisy.noisy_sum import Noise, agree_on_budget, noisy_sum
from tacit.protocols.noisy.noisy_svm import (
    NoisyMap,
    gradient_of,
    magnitudes_of,
    map_rows,
    moments_of,
    multiply,
    noisy_svm,
)
from tacit.protocols.noisy.settings import NoisyElm, NoisySvm, Spending
from tacit.protocols.scores.error_sums import Answered
from tacit.protocols.scores.score_counts import Scored
from tacit.protocols.settings import Protected
from tacit.protocols.sums.secure_sum import protect
from tacit.runtimes.together import Together

COLUMNS, CLASSES = 3, ("a", "b", "c")
ODD = np.array([
    [1e300, -1e300, 1e-300], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [-5e5, 3.0, 2.0**-16], [np.nan, 1.0, 1.0],
    [np.inf, 0.0, 0.0], [4.0, -4.0, 4.0], [-0.1, 77.0, 1e9],
])  # fmt: skip
KERNELS = ("linear", "rbf")


def table(labels: tuple[str, ...] = CLASSES) -> Part:
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(40, COLUMNS)), ODD])
    return Part(
        X, np.resize(np.array([*labels, "rare"]), len(X)), np.resize([1.0, 3.0, np.nan, -1.0, 0.5], len(X)), (), None
    )


def blanked(part: Part, i: int) -> Part:
    X = part.X.copy()
    X[i] = np.nan
    return dataclasses.replace(part, X=X)


def the_map(kernel: str) -> NoisyMap:
    centre, width = np.array([0.1, -0.2, 0.9]), np.array([0.2, 0.01, 1.0])
    return NoisyMap(np.zeros(3), np.array([4.0, 0.5, 1024.0]), centre, width, kernel, 0.7, 1, 9)


def squares(one: Any, other: Any) -> int:
    return sum(int(d) ** 2 for d in (one - other).reshape(-1))


def test_blanking_a_record_changes_no_sum_of_the_scale_by_more_than_its_noise_was_made_for() -> None:
    whole, bounds = table(), (np.zeros(3), np.array([4.0, 2.0**-16, 2.0**24]))
    counts, sums = 0, 0
    for i in range(len(whole.X)):
        less = blanked(whole, i)
        counts = max(counts, squares(magnitudes_of(whole, CLASSES), magnitudes_of(less, CLASSES)))
        sums = max(sums, squares(moments_of(whole, CLASSES, *bounds), moments_of(less, CLASSES, *bounds)))
    assert counts == scaling.magnitude_sensitivity(COLUMNS)  # reached, so the noise is not too large either
    assert 0 < sums <= scaling.moment_sensitivity(COLUMNS)


def test_blanking_a_record_changes_no_statistic_of_columns_by_more_than_its_noise_was_made_for() -> None:
    names, whole = ("a", "b", "c"), dataclasses.replace(table(), features=("a", "b", "c"))
    low, high = np.array([-4.0, 0.0, -1.0]), np.array([4.0, 1e9, 1e-3])
    sums = {
        magnitudes_in: ((names,), scaling.magnitude_sensitivity(COLUMNS)),
        sum_present: ((names, (low + high) / 2, (high - low) / 2), columns.present_sensitivity(COLUMNS)),
        count_bins: ((names, low, high, 7), columns.count_sensitivity(COLUMNS)),
        count_values: ((names, ((0.0, 1.0), (-4.0, 1.0), (1.0, 4.0))), columns.count_sensitivity(COLUMNS)),
    }
    for step, (given, most) in sums.items():
        of_all = step(whole, *given)
        alone = [step(dataclasses.replace(whole, X=whole.X[i : i + 1]), *given) for i in range(len(whole.X))]
        changes = [squares(of_all, step(blanked(whole, i), *given)) for i in range(len(whole.X))]
        assert max(changes) == most, step.__name__  # reached: by a record at the corners of the ranges
        np.testing.assert_array_equal(of_all, sum(alone))  # a record counts the same whatever stands beside it


def test_statistics_of_columns_with_odd_values_are_finite_and_nothing_is_refused() -> None:
    part = dataclasses.replace(table(), features=("a", "b", "c"))
    empty = dataclasses.replace(part, X=np.empty((0, COLUMNS)), y=None, weight=None)
    asked = Asked(names=("a", "b"), histograms=("c",), categories={"a": (1.0, 2.0)})
    with started() as run:
        held = run.hold(Holder, {"p0": part, "p1": empty, "p2": dataclasses.replace(part, X=np.full((4, 3), np.nan))})
        spending = Spending(privacy_epsilon=0.7, privacy_delta=1e-6)
        found = noisy_columns(run, held, asked=asked, spending=spending, protected=Protected())
    assert np.isfinite(found.moments.mean).all()
    assert (found.moments.var > 0).all()
    mu = agree_on_budget(0.7, 1e-6, None, holders=3, rows=found.records).mu
    assert 0.98 * mu**2 < sum(found.spent.values()) <= mu**2


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [("a", "b"), CLASSES])
def test_blanking_a_record_changes_products_and_gradients_by_no_more_than_their_noise_was_made_for(
    kernel: str, classes: tuple[str, ...]
) -> None:
    whole, mapped = table(classes), map_rows(table(classes), the_map(kernel), classes, {"a": 9.0})
    A, loss = multiply(mapped), descent.loss_of(len(classes), probability=False)
    size = mapped.rows.shape[1]
    w = np.random.default_rng(1).integers(-(2**20), 2**20, (size, 1 if len(classes) == 2 else 3))
    g, most = gradient_of(mapped, w, loss), 0
    for i in range(len(whole.X)):
        less = map_rows(blanked(whole, i), the_map(kernel), classes, {"a": 9.0})
        change = A - multiply(less)
        diagonal = descent.find_diagonal(size)
        on = sum(int(d) ** 2 for d in change[diagonal])
        off = squares(change, 0) - on
        assert on + 2 * off <= R**4  # half of it on the diagonal: what mu^2 = R^4 / 2v says
        most = max(most, squares(g, gradient_of(less, w, loss)))
    assert 0 < most <= (descent.S * R) ** 2


ACTIVATIONS = ("sigmoid", "tanh", "sign", "relu", "rbf")


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("classes", [(), CLASSES])
def test_blanking_a_record_changes_products_of_a_hidden_layer_by_no_more_than_their_noise_was_made_for(
    activation: str, classes: tuple[str, ...]
) -> None:
    whole, layer = table(), Layer(activation, COLUMNS, 7, 2.0, 3)
    if not classes:
        whole = dataclasses.replace(whole, y=np.resize([1.0, 1e300, np.nan, -4.0, np.inf, 0.0], len(whole.X)))
    given = (layer, classes, {"a": 9.0}, 2.0, None if classes else (-3.0, 2.0))
    M, diagonal = multiply_layer(whole, *given), descent.find_diagonal(1 + 7 + max(1, len(classes)))
    for i in range(len(whole.X)):
        change = M - multiply_layer(blanked(whole, i), *given)
        on = sum(int(d) ** 2 for d in change[diagonal])
        assert on + 2 * (squares(change, 0) - on) <= R**4
    alone = [np.arange(len(whole.X)) == i for i in range(len(whole.X))]
    parts = [dataclasses.replace(whole, X=whole.X[i], y=whole.y[i], weight=whole.weight[i]) for i in alone]
    np.testing.assert_array_equal(M, sum(multiply_layer(part, *given) for part in parts))


def test_a_machine_with_epsilon_refuses_no_record_and_spends_its_budget() -> None:
    empty = Part(np.empty((0, COLUMNS)), np.empty(0, dtype="<U4"), None, (), None)
    parts = {"p0": table(), "p1": empty, "p2": Part(ODD, None, None, (), None)}
    for elm in (NoisyElm(classes=CLASSES, privacy_delta=1e-6), NoisyElm(classify=False, privacy_delta=1e-6)):
        with started() as run:
            found = noisy_elm(run, run.hold(Holder, parts), elm=elm, protected=Protected())
        mu = agree_on_budget(1.0, 1e-6, None, holders=3, rows=found.rows).mu
        assert np.isfinite(found.beta).all()
        assert 0.98 * mu**2 < sum(found.spent.values()) <= mu**2


@pytest.mark.parametrize("classes", [2, 4])
def test_a_record_that_is_judged_changes_counts_by_no_more_than_their_noise_was_made_for(classes: int) -> None:
    rng, columns = np.random.default_rng(1), 1 if classes == 2 else classes
    values, codes = rng.normal(size=(30, columns)), rng.integers(-1, classes, 30)
    values[3], values[4, 0] = np.nan, np.inf
    scored = Scored(values, np.empty((30, 0)), codes, rng.integers(0, classes, 30))
    whole, most = count_scored(scored, classes, 16), scores.score_sensitivity(columns)
    blank = [dataclasses.replace(scored, codes=np.where(np.arange(30) == i, -1, codes)) for i in range(30)]
    changes = [squares(whole, count_scored(each, classes, 16)) for each in blank]
    assert set(changes) == {0, most}
    assert [change > 0 for change in changes] == ((codes >= 0) & np.isfinite(values).all(axis=1)).tolist()


def test_a_target_that_is_judged_changes_sums_of_errors_by_no_more_than_their_noise_was_made_for() -> None:
    targets = np.array([1e300, -3.0, 0.0, 2.0, np.nan, np.inf, 4.0])
    answers = np.array([-1e300, 2.0, np.nan, 2.0, 1.0, 1.0, -4.0])
    whole = sum_errors(Answered(targets, answers), -2.0, 4.0, 16)
    blank = [np.where(np.arange(7) == i, np.nan, targets) for i in range(7)]
    changes = [squares(whole, sum_errors(Answered(each, answers), -2.0, 4.0, 16)) for each in blank]
    assert max(changes) == scores.error_sensitivity()  # of an error and a target that are as large as they can be
    assert changes[2] == changes[4] == changes[5] == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_row_is_the_same_whatever_records_stand_beside_it(kernel: str) -> None:
    part, features = table(), the_map(kernel).features
    rows = features.rows(part.X)
    np.testing.assert_array_equal(rows, np.concatenate([features.rows(part.X[i : i + 1]) for i in range(len(part.X))]))
    w = np.random.default_rng(1).integers(-(2**30), 2**30, (rows.shape[1], 1))
    alone = [descent.values_of(rows[i : i + 1], w) for i in range(len(rows))]
    np.testing.assert_array_equal(descent.values_of(rows, w), np.concatenate(alone))
    assert (np.einsum("ij,ij->i", rows, rows) <= R**2).all()
    np.testing.assert_array_equal(rows, np.rint(rows))


def play(run: Any, parts: Any, **params: Any) -> Any:
    svm = NoisySvm(classes=CLASSES, privacy_delta=1e-6, landmarks=6.0, **params)
    return noisy_svm(run, run.hold(Holder, parts), svm=svm)


def started(roots: dict[str, bytes] | None = None, parties: int = 3) -> Together:
    roster = Roster({Holder: tuple(f"p{i}" for i in range(parties)), Coordinator: ("site",)})
    return Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run", roots))


def test_records_that_are_odd_are_clipped_or_blank_and_never_refused() -> None:
    empty = Part(np.empty((0, COLUMNS)), np.empty(0, dtype="<U4"), None, (), None)
    unlabelled = Part(ODD, None, None, (), None)
    with started() as run:
        found = play(run, {"p0": table(), "p1": empty, "p2": unlabelled})
    assert np.isfinite(found.map.width).all()
    assert found.rows == 48 + len(ODD)


def test_a_run_that_is_taken_up_again_sends_the_same_noise() -> None:
    parts = {p: table() for p in ("p0", "p1", "p2")}
    roots = {p: bytes([i]) * 32 for i, p in enumerate(("p0", "p1", "p2", "site"))}
    with started(roots) as first, started(roots) as again, started() as other:
        models = [play(run, parts).w for run in (first, again, other)]
    np.testing.assert_array_equal(models[0], models[1])
    assert (models[0] != models[2]).any()


def test_noise_is_another_for_every_sum_and_holder() -> None:
    x = {p: np.zeros(64, dtype=np.int64) for p in ("p0", "p1")}
    with started(parties=2) as run:
        by, noise = protect(run, to=Coordinator), Noise(10**6, 1.0, 2)
        held = run.hold(Holder, x)
        sums = [noisy_sum(run, held, to=Coordinator, by=by, noise=noise, what="x")._entries["site"] for _ in range(2)]
    assert not np.isin(sums[0], sums[1]).all()
    assert abs(sums[0].std() / 2**0.5 / 1000 - 1) < 0.5


def test_a_coordinator_cannot_publish_what_makes_products_inexact() -> None:
    mapped = map_rows(table(), the_map("linear"), CLASSES, None)
    with pytest.raises(PeerError, match="too large for exact products"):
        gradient_of(mapped, np.full((4, 3), 2**50), "softmax")
    for bad in (np.nan, 0.0, -1.0):
        with pytest.raises(PeerError, match="a scale that is not valid"):
            map_rows(table(), NoisyMap(*[np.ones(3)] * 3, np.full(3, bad), "linear", 1.0, 0, 0), CLASSES, None)
    with pytest.raises(PeerError, match="bounds that are not valid"):
        moments_of(table(), CLASSES, np.zeros(3), np.zeros(3))


def test_what_all_sums_of_a_run_cost_together_is_the_budget_and_no_more() -> None:
    for ranges in (None, (-4.0, 4.0)):
        with started(parties=3) as run:
            found = play(run, {p: table() for p in ("p0", "p1", "p2")}, privacy_epsilon=0.7, privacy_ranges=ranges)
        mu = agree_on_budget(0.7, 1e-6, None, holders=3, rows=found.rows).mu
        assert 0.98 * mu**2 < sum(found.spent.values()) <= mu**2
        assert found.honest == 2


def test_fewer_honest_holders_get_more_noise() -> None:
    budgets = [agree_on_budget(1.0, 1e-5, t, holders=5, rows=100) for t in (1, 3, 5)]
    variances = [b.noise(10**6, 0.1).variance for b in budgets]
    assert variances[0] > 2.9 * variances[1] > variances[2]
    for t, v in zip((1, 3, 5), variances, strict=True):
        assert cost_of(10**6, v, t) <= 0.1 * budgets[0].mu ** 2
