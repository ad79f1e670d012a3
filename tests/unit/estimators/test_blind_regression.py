"""`tacit.SVR(features="exact", loss="hinge")` as a user meets it, beside SVR on the pooled records."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR

import tacit
from tacit import Federation, LocalError

X, Y = make_friedman1(110, 6, noise=0.5, random_state=1)
X = (X - X.mean(axis=0)) / X.std(axis=0)
Z, X, TARGETS = X[80:], X[:80], Y[:80]
SPREAD = float(Y.std())


def split(partition="vertical", targets=TARGETS, **more):
    return Federation.simulate(X, targets, parties=3, partition=partition, **more)


@pytest.fixture(scope="module")
def fitted():
    return tacit.SVR(C=10.0, features="exact", loss="hinge").fit(split())


@pytest.mark.parametrize(
    ("kernel", "partition", "given"),
    [
        ("rbf", "horizontal", {"C": 10.0}),
        ("rbf", "arbitrary", {"C": 10.0, "target_range": (0, 30)}),
        ("linear", "vertical", {"C": 1.0}),
        pytest.param("linear", "horizontal", {"C": 1.0, "target_range": (-5.0, 40.0)}, marks=pytest.mark.slow),
        pytest.param("linear", "arbitrary", {"C": 1.0}, marks=pytest.mark.slow),
        ("poly", "vertical", {"C": 5.0, "degree": 2, "coef0": 1.0}),
        pytest.param("poly", "arbitrary", {"C": 5.0, "degree": 2, "coef0": 1.0}, marks=pytest.mark.slow),
    ],
)
def test_answers_are_those_of_svr_on_the_pooled_records(kernel, partition, given):
    model = tacit.SVR(kernel=kernel, features="exact", loss="hinge", tube=0.2, partition=partition, **given).fit(
        split(partition)
    )
    theirs = {name: value for name, value in given.items() if name != "target_range"}
    pooled = SVR(kernel=kernel, epsilon=0.2, tol=1e-8, **theirs).fit(X, TARGETS).predict(Z)
    np.testing.assert_allclose(model.predict(Z), pooled, atol=0.02 * SPREAD)


def test_it_is_saved_asked_again_and_compared(fitted, tmp_path):
    theirs = SVR(C=10.0, tol=1e-8).fit(X, TARGETS).predict(Z)
    np.testing.assert_allclose(fitted.predict(Z), theirs, atol=0.005 * SPREAD)
    again = tacit.load(fitted.save(tmp_path / "blind.tacit"))
    np.testing.assert_allclose(again.predict(Z), fitted.predict(Z), atol=1e-3)
    assert fitted.model_.target_range == (-32.0, 32.0), "the power of two that all parties learnt"
    assert fitted.score(Z, Y[80:]) == pytest.approx(SVR(C=10.0).fit(X, TARGETS).score(Z, Y[80:]), abs=0.01)
    compared = tacit.SVR(C=10.0, features="exact", loss="hinge").fit(split(), compare=True)
    assert compared.report_.comparison["R^2 on the training records"] > 0.9


def test_of_targets_nothing_is_opened_but_their_range_and_with_a_declared_one_not_even_that(fitted):
    told = {each.identifier for line in fitted.report_.opens for each in line.facts}
    assert "core.magnitudes" in told
    assert not told & {"gram.matrix", "gram.numbers_in_clear", "gram.support"}
    declared = split().run(
        tacit.SVR(C=10.0, features="exact", loss="hinge", target_range=(0.0, 40.0), gamma=0.2).request(split())
    )
    types = {row.type for row in declared.ledger}
    assert types == {"Owned", "PublicKey", "Dealt", "Opening", "OpenedBits"}
    to_dealer = {row.type for row in declared.ledger if row.receiver == "coordinator" != row.sender}
    assert to_dealer == {"Owned", "PublicKey"}


def test_a_constant_in_the_targets_moves_the_answers_and_nothing_else():
    near = tacit.SVR(C=10.0, features="exact", loss="hinge", target_range=(0.0, 40.0)).fit(split()).predict(Z)
    far = (
        tacit.SVR(C=10.0, features="exact", loss="hinge", target_range=(1e6, 1e6 + 40.0))
        .fit(split(targets=TARGETS + 1e6))
        .predict(Z)
    )
    np.testing.assert_allclose(far - 1e6, near, atol=0.005 * SPREAD)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"target_range": (3.0, 3.0)}, r"target_range=\(3, 3\) has no width: give two different numbers"),
        ({"target_range": 3.0}, "The 'target_range' parameter of SVR must be"),
        ({"tube": 40.0}, "tube=40 is not below 32, half the range of the targets, so that no error would count"),
        ({"C": 1e-5}, "leaves no room in 64 bits: use a larger C, or fewer records"),
        ({"C": 1e9}, r"too large with 80 records|iterations in shares: lower C"),
    ],
)
def test_what_cannot_be_trained_in_shares_is_refused_in_one_line(asked, says):
    with pytest.raises(LocalError, match=says) as refused:
        tacit.SVR(**{"features": "exact", "loss": "hinge", **asked}).fit(split())
    assert "\n" not in str(refused.value)


def test_targets_beyond_a_declared_range_are_cut_and_stop_nothing():
    """A run that stops there would tell that somebody's target is beyond a number that the job chose."""
    cut = tacit.SVR(C=10.0, features="exact", loss="hinge", target_range=(0.0, 10.0), gamma=0.2).fit(split())
    low = split(targets=np.clip(TARGETS, 0.0, 10.0))
    same = tacit.SVR(C=10.0, features="exact", loss="hinge", target_range=(0.0, 10.0), gamma=0.2).fit(low)
    np.testing.assert_allclose(cut.predict(Z), same.predict(Z), atol=1e-3)


def test_targets_that_are_no_numbers_are_refused():
    broken = TARGETS.copy()
    broken[3] = np.nan
    with pytest.raises(LocalError, match=r"not a finite number|NaN"):
        tacit.SVR(features="exact", loss="hinge").fit(split(targets=broken))


@pytest.mark.parametrize(("machine", "targets"), [(tacit.SVC, TARGETS.mean() < TARGETS), (tacit.SVR, TARGETS)])
def test_sample_weights_are_refused_rather_than_left_out(machine, targets):
    weighted = split(targets=targets, sample_weight=np.linspace(0.5, 2.0, 80))
    with pytest.raises(
        LocalError, match=r"brings sample weights, which features='exact' does not support: leave them out"
    ):
        machine(features="exact", loss="hinge").fit(weighted)
