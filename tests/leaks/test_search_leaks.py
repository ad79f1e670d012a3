"""What a search in shares gives away: one rounded score of each candidate, and nothing else of folds or models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tacit
from tacit.protocols.learners.scoring import grid_of, step_of
from tacit.protocols.shares import revealing

KNOWN = {"core.sizes", "core.classes", "core.landmarks", "core.model", "core.scores"}


def table(n: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


def search(X: Any, y: Any, monkeypatch: Any, **how: Any) -> tuple[Any, list[Any]]:
    """Return the fitted search, and the bits of scores that were opened."""
    opened: list[Any] = []
    honest = revealing.write_numbers

    def keep(total: Any, ring: Any, kind: Any) -> Any:
        message = honest(total, ring, kind)
        if kind.__name__ == "ScoreWords":
            opened.append(message.values)
        return message

    with monkeypatch.context() as patch:
        patch.setattr(revealing, "write_numbers", keep)
        made = tacit.ELMClassifier(random_state=0) if how.pop("layers", False) else tacit.SVC(random_state=0, **how)
        grid = {"C": [0.3, 3.0]} if how.get("loss") else {"alpha": [0.03, 1.0, 30.0]}
        return tacit.FederatedGridSearch(made, grid, refit=False).fit(tacit.simulate(X, y, parties=3)), opened


@pytest.mark.parametrize("how", [{}, {"loss": "hinge"}, {"layers": True}])
def test_the_bits_that_are_opened_follow_from_the_rounded_scores(how, monkeypatch):
    found, opened = search(*table(), monkeypatch, **how)
    scores = found.cv_results_["mean_test_score"]
    limits = grid_of(300, 0.0) if "loss" not in how else grid_of(round(0.0 + len_of(found)), 0.0)
    (bits,) = opened
    np.testing.assert_array_equal(bits.reshape(len(scores), -1), scores[:, None] > limits)


def len_of(found: Any) -> int:
    """Return how many records were scored, from the step to which scores are rounded."""
    return next(n for n in range(300, 10, -1) if step_of(n) == found.step_)


def test_nothing_is_told_but_facts_of_the_core_and_scores(monkeypatch):
    found, _ = search(*table(), monkeypatch)
    told = {fact.identifier for row in found.report_.learnt for fact in row.facts}
    assert {fact for fact in told if fact.startswith("core.")} <= KNOWN
    assert "core.scores" in told
    assert not hasattr(found, "best_estimator_")


def test_how_much_is_sent_does_not_depend_on_labels(monkeypatch):
    X, y = table()
    other = np.random.default_rng(1).permutation(y)
    first, second = (search(X, each, monkeypatch)[0].report_ for each in (y, other))
    assert (first.bytes, first.rounds) == (second.bytes, second.rounds)


def test_one_record_does_not_decide_a_score():
    """Two searches that differ by one label differ by noise as often as by that record."""
    X, y = table()
    twin = y.copy()
    twin[17] = 1 - twin[17]
    found = {}
    for name, labels in (("first", y), ("twin", twin)):
        runs = []
        for seed in range(12):
            made = tacit.ELMClassifier(random_state=seed, n_hidden=20)
            fed = tacit.simulate(X, labels, parties=3)
            runs.append(tacit.FederatedGridSearch(made, {"alpha": [1.0]}, refit=False).fit(fed).best_score_)
        found[name] = np.array(runs)
    spread = np.concatenate(list(found.values())).std()
    assert abs(found["first"].mean() - found["twin"].mean()) <= spread
