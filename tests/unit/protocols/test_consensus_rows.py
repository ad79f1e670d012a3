"""Consensus over rows: what it converges to, what it says on the way, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from conformance.case import flat
from conformance.pan_oracle import labelled, parts_at
from tacit import LocalError
from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.protocols.consensus.horizontal import consensus_horizontal
from tacit.runtimes.together import Together

HOLDERS = ("p1", "p2", "p3")
ROSTER = Roster({Holder: HOLDERS, Coordinator: ("site",)})


def trained(parts: Any, **how: Any) -> tuple[dict[str, Any], Any]:
    with Together(ROSTER, job=b"j", entropy=RootEntropy(ROSTER.parties, b"j")) as run:
        return flat(consensus_horizontal)(run, run.hold(Holder, parts), **{"C": 1.0, "tol": 1e-4, **how}), run


def objective(X: Any, y: Any, w: Any, b: Any, C: Any = 1.0) -> float:
    return float(0.5 * w @ w + np.sum(C * np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * (X @ w + b))))


@pytest.fixture
def parts():
    return parts_at(HOLDERS, 2)


@pytest.fixture
def best():
    X, y = labelled(2)
    machine = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
    return objective(X, y, machine.coef_[0], machine.intercept_[0])


@pytest.mark.parametrize(
    "how", [{}, {"rho": 30.0}, {"disclose": "least"}, {"disclose": "least", "rho": 5.0, "over_relaxation": 1.0}]
)
def test_every_penalty_leads_to_the_pooled_svm(parts, best, how):
    model, _ = trained(parts, **how)
    assert model.converged
    assert objective(*labelled(2), model.w[0], model.b[0]) == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("how", [{}, {"rho": 100.0}, {"disclose": "loss"}])
def test_the_gap_that_the_history_tells_is_never_less_than_there_is_and_soon_not_much_more(parts, best, how):
    _, run = trained(parts, tol=1e-3, **how)
    told, true = np.array([(h["gap"], h["objective"] / best - 1) for h in run.history if "gap" in h]).T
    assert np.all(told >= true / (1 + true) - 1e-6)
    assert told[-1] <= 1e-3


def test_with_least_nothing_about_losses_or_moments_is_opened(parts):
    _, run = trained(parts, disclose="least")
    assert not any("objective" in h or "gap" in h for h in run.history)
    assert "Metric" not in {row.type for row in run.ledger}
    shapes = {row.shapes[0] for row in run.ledger if row.shapes and row.type == "Masked" and "/rounds/" in row.place}
    assert shapes == {(3 + 1 + 1 + 1,)}  # w, b, one residual, the check word


def test_second_moments_of_few_rows_are_not_opened():
    rng = np.random.default_rng(0)
    few = {p: part_of(rng.normal(size=(3, 9)), np.array([0, 1, 1]), None, tuple("abcdefghi")) for p in HOLDERS}
    model, run = trained(few)
    assert not model.metric
    assert "Metric" not in {row.type for row in run.ledger}


def test_a_party_with_one_class_takes_part(best):
    X, y = labelled(2)
    order = np.argsort(y, kind="stable")
    cut = np.array_split(order, 3)
    model, _ = trained({p: part_of(X[i], y[i], None, ("a", "b", "c")) for p, i in zip(HOLDERS, cut, strict=True)})
    assert {len(np.unique(y[i])) for i in cut} == {1, 2}
    assert objective(X, y, model.w[0], model.b[0]) == pytest.approx(best, rel=2e-3)


def test_weights_are_prices(parts):
    rng = np.random.default_rng(1)
    weight = {p: rng.integers(0, 3, size=len(part.X)).astype(float) for p, part in parts.items()}
    weighted = {p: part_of(part.X, part.y, weight[p], part.features) for p, part in parts.items()}
    model, _ = trained(weighted, class_weight={1: 2.0})
    X, y = labelled(2)
    each = np.concatenate(list(weight.values())) * np.where(y == 1, 2.0, 1.0)
    machine = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y, sample_weight=each)
    pooled = objective(X, y, machine.coef_[0], machine.intercept_[0], each)
    assert objective(X, y, model.w[0], model.b[0], each) == pytest.approx(pooled, rel=2e-3)


def refused(parts: Any, **how: Any) -> str:
    with pytest.raises(LocalError) as caught:
        trained(parts, **how)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_party_without_rows_is_refused(parts):
    empty = part_of(np.empty((0, 3)), np.empty(0, dtype=int), None, ("a", "b", "c"))
    assert refused({**parts, "p2": empty}).startswith("p2 has no records that count")
    unweighted = part_of(parts["p2"].X, parts["p2"].y, np.zeros(len(parts["p2"].X)), ("a", "b", "c"))
    assert refused({**parts, "p2": unweighted}).startswith("p2 has no records that count")


def test_weights_that_leave_all_bounds_end_in_one_line_with_the_residuals(parts):
    tiny = {p: part_of(1e-4 * part.X, part.y, None, part.features) for p, part in parts.items()}
    message = refused(tiny, C=1e9, fraction_bits=52)
    assert message.startswith("the consensus diverges in round")
    assert "primal residual" in message
    assert "raise rho" in message


def test_parties_that_a_small_rho_leaves_apart_are_no_consensus(parts):
    message = refused(parts, disclose="least", rho=1e-6, max_rounds=100)
    assert message.startswith("after 100 rounds the parties are still apart: primal residual")
    assert message.endswith("raise rho, or leave it to rho='auto'")


def test_what_cannot_be_is_refused(parts):
    assert "use 'pairwise'" in refused(parts, method="threshold")
    assert "for each of the 3 columns" in refused(
        parts, kernel="rbf", landmark_source="ranges", landmark_range=((0.0, 1.0), (0.0, 1.0))
    )


def test_landmarks_of_ranges_lie_within_them_and_follow_from_the_seed(parts):
    limits = ((0.0, 1.0), (5.0, 6.0), (-2.0, -1.0))
    centres = [
        trained(
            parts, kernel="rbf", landmark_source="ranges", landmarks=7, landmark_range=limits, seed=s, max_rounds=2
        )[0].map.centres
        for s in (1, 1, 2)
    ]
    low, high = np.transpose(limits)
    assert np.all((centres[0] > low) & (centres[0] < high))
    np.testing.assert_array_equal(centres[0], centres[1])
    assert np.any(centres[0] != centres[2])
