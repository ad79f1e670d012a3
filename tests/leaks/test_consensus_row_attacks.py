"""What weights of single parties give away, and what their average does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

from tacit import ConsensusSVC, Federation
from tacit.attacks.iterate_differencing import iterate_differencing, overhear, own_weights, recover_share
from tacit.attacks.two_party import measure_mistake, two_party
from tacit.errors import LocalError
from tacit.federation.part import part_of
from tacit.numeric.consensus.rows import local_solution
from tacit.numeric.svm.problems import problems, signs_of
from tacit.protocols.consensus import rounds as consensus_rounds

RHO = 100.0


def overheard(parties: int) -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    chosen = np.random.default_rng(0).permutation(len(X))[:400]
    X, y = X[chosen], y[chosen]
    parts = {
        f"p{i}": part_of(X[i::parties], y[i::parties], None, tuple(f"x{j}" for j in range(30))) for i in range(parties)
    }
    return X, parts, overhear(parts, C=1.0, rho=RHO, rounds=80)


def test_weights_in_clear_give_records_away_and_the_average_one_in_a_hundred_at_most():
    X, parts, heard = overheard(8)
    clear = [
        recover_share(iterate_differencing(heard.told[p], heard.average, RHO, 8), part.X) for p, part in parts.items()
    ]
    assert np.mean(clear) > 0.04
    assert recover_share(iterate_differencing(heard.average, heard.average, RHO, 8), X) < 0.01
    # a candidate of one party is no record of another
    assert recover_share(iterate_differencing(heard.told["p0"], heard.average, RHO, 8), parts["p1"].X) == 0


def test_of_two_parties_each_has_the_other_s_weights_and_of_three_nobody_has():
    _, parts, heard = overheard(2)
    others = two_party(heard.told["p0"], heard.average, 2)
    assert measure_mistake(others, heard.told["p1"], heard.average) < 1e-9
    np.testing.assert_allclose(
        own_weights(others, heard.average)[0], own_weights(heard.told["p1"], heard.average)[0], atol=1e-9
    )
    _, parts, heard = overheard(3)
    assert measure_mistake(two_party(heard.told["p0"], heard.average, 3), heard.told["p1"], heard.average) > 0.3
    assert len(parts) == 3


def rows_apart(X: Any, y: Any, patch: pytest.MonkeyPatch, **how: Any) -> list[float]:
    """Return by how many rows, by how far multipliers moved, each round differs from the earlier one most like it.

    Of several problems, that of the fewest.
    """
    rounds: dict[int, dict[Any, Any]] = {}
    honest = consensus_rounds.step

    def spied(rows: Any, mine: Any, agreed: Any, scheme: Any, t: int, fixed: Any) -> Any:
        after = honest(rows, mine, agreed, scheme, t, fixed)
        rounds.setdefault(t, {})[rows.U[0, 0]] = after.lam  # by the first row's first value: no two holders' are equal
        return after

    with patch.context() as patched:
        patched.setattr(consensus_rounds, "step", spied)
        ConsensusSVC(**how).fit(X, y)
    lam = np.array([np.hstack([each[holder] for holder in sorted(each)]) for _, each in sorted(rounds.items())])
    return [fewest(np.abs(lam[t] - lam[:t])) for t in range(1, len(lam))]


def fewest(moved: Any) -> float:
    """Return how many rows moved in the problem and since the round in which the fewest did; none tell nothing."""
    total, squares = moved.sum(axis=-1), (moved**2).sum(axis=-1)
    return float(np.min(total**2 / np.maximum(squares, 1e-300), where=total > 0, initial=np.inf))


def test_a_rule_that_holds_few_rows_back_would_end_a_consensus_of_few_columns_before_it_is_one(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    many = rows_apart((X - X.mean(axis=0)) / X.std(axis=0), y, monkeypatch, n_parties=4, random_state=0)
    assert min(many) > 5
    rng = np.random.default_rng(0)
    A = rng.normal(size=(300, 2))
    few = rows_apart(A, A[:, 0] + 0.5 * rng.normal(size=300) > 0, monkeypatch, n_parties=3, random_state=0)
    assert max(few[8:]) < 5  # from the tenth round of over forty on
    assert min(few) < 2  # the difference of two averages is mostly one record


def test_averages_of_pairs_differ_by_fewer_rows_than_those_of_all_rows(monkeypatch):
    """So pairs over rows need accept_risk: of wine, 13 columns and four parties, two records instead of four."""
    X, y = load_wine(return_X_y=True)
    how = {"n_parties": 4, "random_state": 0, "accept_risk": True}
    least = {way: min(rows_apart(scale(X), y, monkeypatch, multi_class=way, **how)) for way in ("ovr", "ovo")}
    assert least["ovr"] > 3.5
    assert least["ovo"] < 2.1


def test_the_weights_of_a_party_with_one_record_of_a_pair_are_that_record():
    """So a party with few records of two classes is refused, whatever risk is accepted."""
    X, y = load_wine(return_X_y=True)
    own = np.append(np.flatnonzero(y == 2), 7)  # the last is of class 0
    U = np.column_stack([scale(X)[own], np.ones(len(own))])
    R = np.append(np.full(U.shape[1] - 1, 1 / 3), 0.0)
    found = {}
    for way in ("ovo", "ovr"):
        signs = np.ascontiguousarray(signs_of(y[own], problems(3, way)).T, np.float64)
        nothing, H = np.zeros(signs.shape), np.full((3, U.shape[1]), RHO)
        _, theta, _ = local_solution(
            U, np.empty((0, 0)), signs, np.ones(len(own)), nothing, H, R, 0.0 * H, tol=1e-9, seed=0
        )
        g = (R + RHO) * theta[0]  # (1) of iterate_differencing, of the first round
        found[way] = g[:-1] / g[-1]
    np.testing.assert_allclose(found["ovo"], U[-1, :-1], rtol=1e-9)
    assert np.linalg.norm(U[:, :-1] - found["ovr"], axis=1).min() > 1


def test_so_a_federation_of_two_is_refused_unless_it_says_that_it_knows():
    _, parts, _ = overheard(2)
    tables = [(part.X, part.y) for part in parts.values()]
    with pytest.raises(LocalError, match="allow_two_parties=True"):
        Federation.from_parts(tables, partition="horizontal")
    assert Federation.from_parts(tables, partition="horizontal", allow_two_parties=True).n_rows == 400
