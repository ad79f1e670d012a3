"""Consensus over columns: the pooled SVM in few rounds, ADMM as the paper has it, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

from conformance.case import flat
from tacit.choreo import Asker, Coordinator, Holder, Labeller, LocalError, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.protocols.consensus.settings import ColumnSvm
from tacit.protocols.consensus.vertical import consensus_vertical, consensus_vertical_predict, refuse_span
from tacit.protocols.settings import Sums
from tacit.runtimes.together import Together


def wdbc(seed: int = 0) -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    half = np.random.default_rng(seed).permutation(len(X))[: len(X) // 2]
    return (X[half] - X[half].mean(axis=0)) / X[half].std(axis=0), y[half]


def train(X: Any, y: Any, cuts: Any, *, new: Any = None, weight: Any = None, **params: Any) -> Any:
    """The result, decision values at `new` (or X) and the history."""
    names = tuple(f"p{i + 1}" for i in range(len(cuts)))
    roster = Roster({Holder: names, Labeller: names[:1], Asker: names[:1], Coordinator: ("coordinator",)})

    def dealt(table: Any, labels: Any) -> Any:
        first = {"p1": (labels, weight)}
        return {
            p: part_of(table[:, c], *first.get(p, (None, None)), tuple(f"x{j}" for j in c))
            for p, c in zip(names, cuts, strict=True)
        }

    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        model = flat(consensus_vertical)(
            run, run.hold(Holder, dealt(X, y)), **{"accept_risk": True, "C": 50.0, **params}
        )
        asked = run.hold(Holder, dealt(X if new is None else new, None))
        width = 1 if len(model.classes) == 2 else len(model.classes)
        values = consensus_vertical_predict(run, asked, model.head, model.shares, problems=width, sums=Sums())._entries[
            "p1"
        ]
    return model, values, run.history


def fourths(X: Any, seed: int = 0) -> Any:
    return np.array_split(np.random.default_rng(seed).permutation(X.shape[1]), 4)


def objective(values: Any, size: float, y: Any, C: Any) -> float:
    return 0.5 * size + float(np.sum(C * np.maximum(0, 1 - np.where(y == y.max(), 1, -1) * values)))


def size_of(model: Any) -> float:
    return float(sum((share.weights**2).sum() for share in model.shares._entries.values()))


@pytest.mark.parametrize("seed", range(3))
def test_linear_on_wdbc_is_within_a_thousandth_of_the_pooled_svm_in_fewer_rounds_than_there_are_columns(seed):
    X, y = wdbc(seed)
    model, values, history = train(X, y, fourths(X, seed))
    svc = SVC(kernel="linear", C=50, tol=1e-4).fit(X, y)
    reference = objective(svc.decision_function(X), float((svc.coef_**2).sum()), y, 50)
    found = objective(values[:, 0], size_of(model), y, 50)
    assert found <= reference * 1.001
    assert model.bound[0] <= reference
    assert found == pytest.approx(model.objective[0], rel=1e-6)
    assert model.rounds < X.shape[1]
    assert model.converged
    assert set(history[0]) == {"place", "objective", "bound", "gap", "problems"}


def test_admm_comes_nearer_with_a_smaller_rho_than_the_paper_s():
    X, y = wdbc()
    optimum = train(X, y, fourths(X), tol=1e-6)[0].objective[0]
    gaps = []
    for rho, over in ((0.2, 1.9), (100.0, 1.0)):
        model, values, history = train(X, y, fourths(X), rho=rho, over_relaxation=over, tol=1e-5, max_rounds=300)
        gaps.append(objective(values[:, 0], size_of(model), y, 50) / optimum - 1)
        assert set(history[-1]) == {"place", "objective", "primal", "dual"}
        assert history[-1]["objective"] == pytest.approx(model.objective[0])
    assert 0 < 4 * gaps[0] < gaps[1]


@pytest.mark.parametrize(("kernel", "rho"), [("rbf", "auto"), ("poly", "auto"), ("rbf", 0.5)])
def test_a_kernel_gives_the_svm_of_the_sum_of_the_parties_kernels_on_new_records_too(kernel, rho):
    X, y = wdbc()
    cuts, new = fourths(X), np.random.default_rng(5).normal(size=(40, 30))

    def value(A: Any, B: Any) -> Any:
        if kernel == "poly":
            return sum(polynomial_kernel(A[:, c], B[:, c], degree=2, gamma=0.1, coef0=1.0) for c in cuts)
        return sum(rbf_kernel(A[:, c], B[:, c], gamma=0.1) for c in cuts)

    svc = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(value(X, X), y)
    how = {"tol": 1e-8} if rho == "auto" else {"tol": 1e-6, "max_rounds": 400}
    _, values, _ = train(X, y, cuts, new=new, kernel=kernel, gamma=0.1, degree=2, coef0=1.0, C=1.0, rho=rho, **how)
    np.testing.assert_allclose(values[:, 0], svc.decision_function(value(new, X)), atol=1e-3)


@pytest.mark.parametrize(("rho", "near"), [("auto", 2e-3), (0.3, 0.1)])
def test_three_classes_with_weights_by_class_and_record_are_three_svms_against_the_rest(rho, near):
    X, y = load_iris(return_X_y=True)
    X, names = X - X.mean(axis=0), np.array(["a", "b", "c"])[y]
    weight = np.random.default_rng(0).uniform(0, 2, len(X))
    weight[::10] = 0
    how = {"tol": 1e-8, "max_rounds": 300}
    model, values, _ = train(
        X, names, [[0], [1, 2], [3]], weight=weight, C=1.0, class_weight={"a": 2.0, "b": 0.5}, rho=rho, **how
    )  # fmt: skip
    assert model.classes == ("a", "b", "c")
    price = weight * np.array([2.0, 0.5, 1.0])[y]
    used = price > 0
    for k in range(3):
        svc = SVC(kernel="linear", C=1.0, tol=1e-7).fit(X[used], y[used] == k, sample_weight=price[used])
        np.testing.assert_allclose(values[:, k], svc.decision_function(X), atol=near)
    assert rho != "auto" or model.rounds <= 4  # four columns


def test_problems_share_one_span_so_ten_classes_take_the_rounds_of_few():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 20)), rng.integers(0, 10, 200)
    model, _, _ = train(X, y, fourths(X), C=1.0, tol=1e-6)
    assert model.converged
    assert model.rounds <= 4  # ten products a round, twenty columns


def test_a_party_without_columns_and_a_constant_column_change_nothing():
    X, y = wdbc()
    plain = train(X[:, :6], y, [[0, 1, 2], [3, 4], [5]], C=1.0, tol=1e-8)[1]
    more = np.column_stack([X[:, :6], np.zeros(len(X))])
    np.testing.assert_allclose(train(more, y, [[0, 1, 2, 6], [3, 4], [5], []], C=1.0, tol=1e-8)[1], plain, atol=1e-4)


def test_max_rounds_ends_with_the_best_model_so_far_and_says_that_it_is_not_the_optimum():
    X, y = wdbc()
    model, values, history = train(X, y, fourths(X), max_rounds=5, accept_risk=False)
    assert not model.converged
    assert len(history) == model.rounds == 5
    assert (np.where(values[:, 0] > 0, 1, 0) == y).mean() > 0.95


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"method": "threshold"}, "lets holders stay away, and a sum without their columns is wrong: use 'pairwise'"),
        (
            {"kernel": "sigmoid"},
            "kernel='sigmoid' is no inner product, which consensus over columns needs: use 'linear', 'rbf' or 'poly'",
        ),
        ({"rho": "best"}, "unknown rho 'best': use 'auto' or a number"),
        (
            {"accept_risk": False},
            "max_rounds=1000 sums for each of 1 problems can span all 30 columns.*set max_rounds below 30, or say",
        ),
        ({"fraction_bits": 52}, "does not fit into fixed point with 52 fraction bits"),
        (
            {"weight": np.zeros(284)},
            "one of the classes has no record of positive weight: give every class some weight",
        ),
        (
            {"rho": 1e-290, "max_rounds": 40},
            "consensus over columns diverged: primal residual .*, dual residual .*, objective .*; scale",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(params, words):
    X, y = wdbc()
    with pytest.raises(LocalError, match=words) as refused:
        train(X, y, fourths(X), **params)
    assert "\n" not in str(refused.value)


def test_a_new_record_without_a_column_is_refused():
    X, y = wdbc()
    with pytest.raises(
        LocalError, match="a new record has 7 values here, the model was made of 8: bring every column of the fit"
    ):
        train_then_ask_with_fewer(X, y)


def train_then_ask_with_fewer(X: Any, y: Any) -> None:
    roster = Roster({Holder: ("p1", "p2"), Labeller: ("p1",), Asker: ("p1",), Coordinator: ("coordinator",)})
    with Together(roster, job=b"j", entropy=RootEntropy(roster.parties, b"r")) as run:
        held = {"p1": part_of(X[:, :8], y, None, tuple("abcdefgh")), "p2": part_of(X[:, 8:10], None, None, tuple("ij"))}
        model = consensus_vertical(run, run.hold(Holder, held), svm=ColumnSvm(C=1.0, accept_risk=True), sums=Sums())
        fewer = {
            "p1": part_of(X[:, :7], None, None, tuple("abcdefg")),
            "p2": part_of(X[:, 8:10], None, None, tuple("ij")),
        }
        consensus_vertical_predict(run, run.hold(Holder, fewer), model.head, model.shares, problems=1, sums=Sums())


def test_what_needs_accept_risk_is_what_can_span_the_columns():
    refuse_span(29, 30)
    refuse_span(9, 30, problems=3)
    with pytest.raises(LocalError, match="set max_rounds below 10, or say accept_risk=True"):
        refuse_span(10, 30, problems=3)
