"""What weights of single parties give away, and what their average does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit import ConsensusSVC, Federation
from tacit.attacks.iterate_differencing import iterate_differencing, overhear, own_weights, recovered
from tacit.attacks.two_party import mistaken, two_party
from tacit.data.part import part_of
from tacit.errors import LocalError
from tacit.protocols import consensus_rounds

RHO = 100.0


def overheard(parties: int) -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    chosen = np.random.default_rng(0).permutation(len(X))[:400]
    X, y = X[chosen], y[chosen]
    parts = {f"p{i}": part_of(X[i::parties], y[i::parties], None, tuple(f"x{j}" for j in range(30))) for i in range(parties)}
    return X, parts, overhear(parts, C=1.0, rho=RHO, rounds=80)


def test_weights_in_clear_give_records_away_and_the_average_one_in_a_hundred_at_most():
    X, parts, heard = overheard(8)
    clear = [recovered(iterate_differencing(heard.told[p], heard.average, RHO, 8), part.X) for p, part in parts.items()]
    assert np.mean(clear) > 0.04
    assert recovered(iterate_differencing(heard.average, heard.average, RHO, 8), X) < 0.01
    # a candidate of one party is no record of another
    assert recovered(iterate_differencing(heard.told["p0"], heard.average, RHO, 8), parts["p1"].X) == 0


def test_of_two_parties_each_has_the_other_s_weights_and_of_three_nobody_has():
    _, parts, heard = overheard(2)
    others = two_party(heard.told["p0"], heard.average, 2)
    assert mistaken(others, heard.told["p1"], heard.average) < 1e-9
    np.testing.assert_allclose(own_weights(others, heard.average)[0], own_weights(heard.told["p1"], heard.average)[0], atol=1e-9)
    _, parts, heard = overheard(3)
    assert mistaken(two_party(heard.told["p0"], heard.average, 3), heard.told["p1"], heard.average) > 0.3
    assert len(parts) == 3


def rows_apart(X: Any, y: Any, patch: pytest.MonkeyPatch, **how: Any) -> list[float]:
    """By how many rows, counted by how far their multipliers moved, each round differs from that before it which is most alike."""
    rounds: dict[int, dict[Any, Any]] = {}
    honest = consensus_rounds.step

    def spied(rows: Any, mine: Any, agreed: Any, scheme: Any, t: int, fixed: Any) -> Any:
        after = honest(rows, mine, agreed, scheme, t, fixed)
        rounds.setdefault(t, {})[rows.U[0, 0]] = after.lam[0]  # by the first row's first value: no two holders have the same
        return after

    with patch.context() as patched:
        patched.setattr(consensus_rounds, "step", spied)
        ConsensusSVC(**how).fit(X, y)
    lam = np.array([np.concatenate([each[holder] for holder in sorted(each)]) for _, each in sorted(rounds.items())])
    moved = [np.abs(lam[t] - lam[:t]) for t in range(1, len(lam))]
    return [float(np.min(d.sum(axis=1) ** 2 / np.maximum((d**2).sum(axis=1), 1e-300))) for d in moved]


def test_a_rule_that_holds_few_rows_back_would_end_a_consensus_of_few_columns_before_it_is_one(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    many = rows_apart((X - X.mean(axis=0)) / X.std(axis=0), y, monkeypatch, n_parties=4, random_state=0)
    assert min(many) > 5
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 2))
    few = rows_apart(A, A[:, 0] + 0.5 * rng.normal(size=300) > 0, monkeypatch, n_parties=3, random_state=0)
    assert max(few[8:]) < 5  # from the tenth round of over forty on
    assert min(few) < 2  # the difference of two averages is mostly one record


def test_so_a_federation_of_two_is_refused_unless_it_says_that_it_knows():
    _, parts, _ = overheard(2)
    tables = [(part.X, part.y) for part in parts.values()]
    with pytest.raises(LocalError, match="allow_two_parties=True"):
        Federation.from_parts(tables, partition="horizontal")
    assert Federation.from_parts(tables, partition="horizontal", allow_two_parties=True).n_rows == 400
