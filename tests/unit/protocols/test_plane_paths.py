"""Paths of cutting planes: every pool reaches the optimum of scikit-learn's SVM at each of its prices, in the rounds of the longest."""

from __future__ import annotations

import numpy as np
import pytest

from leaks.paths import tables_of, walked
from leaks.planes import bracket, objective, played
from tacit.numeric.folds import dealt
from tacit.protocols.fold_accuracy import in_folds
from tacit.protocols.plane_rows import Rows
from tacit.protocols.row_problems import problems, signs_of

PRICES = (0.05, 1.0, 8.0)
MAPS = (lambda X: X, lambda X: np.column_stack([X, X**2]))


def pools(classes: int = 2, folds: int = 2, n: int = 100):
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(n, 3))
    codes = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n), np.arange(1, classes) - 0.2)
    fold = dealt(codes, folds, 0)
    signs = in_folds(Rows(X, signs_of(codes, problems(classes, "ovr")), np.ones(n)), fold, folds).signs
    return tables_of(X, MAPS, signs), codes * folds + fold


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("parties", [2, 4])
def test_every_pool_reaches_its_optimum_at_every_price(monkeypatch, classes, parties):
    tables, cell = pools(classes)
    S = tables[0].signs.shape[1]
    done = walked(tables, cell, monkeypatch, parties=parties, prices=PRICES, tol=1e-4, min_count=1)
    assert len(done.paths.w) == 2 * S
    for k in range(2 * S):
        for at, C in enumerate(PRICES):
            rows, w, b = tables[k // S], done.paths.w[k][at], float(done.paths.b[k][at])
            dual, primal = bracket(rows, C, k % S, tol=1e-5)
            told = float(done.paths.objective[k][at])
            np.testing.assert_allclose(objective(rows, w, b, C, k % S), told, rtol=1e-7)
            assert dual * (1 - 1e-6) <= told <= primal * (1 + 2e-4)
            assert done.paths.bound[k][at] <= primal * (1 + 1e-6)
            assert told - done.paths.bound[k][at] <= 1.01e-4 * told
            assert not done.paths.held[k][at]


def test_a_holder_without_rows_changes_nothing(monkeypatch):
    tables, cell = pools()
    two, three = (walked(tables, cell, monkeypatch, parties=2 + empty, empty=empty, prices=(0.5, 2.0), min_count=3) for empty in (0, 1))
    assert three.number == two.number
    np.testing.assert_allclose(three.paths.w[1], two.paths.w[1], atol=1e-6)


def test_prices_that_follow_need_fewer_rounds_than_when_they_begin(monkeypatch):
    tables, cell = pools()
    path = walked(tables[:1], cell, monkeypatch, prices=PRICES, tol=1e-3, min_count=1).paths.rounds
    alone = [walked(tables[:1], cell, monkeypatch, prices=(C,), tol=1e-3, min_count=1).paths.rounds for C in PRICES]
    assert max(alone) < path < sum(alone)


def test_one_price_and_one_pool_go_as_cutting_planes_do(monkeypatch):
    tables, cell = pools()
    whole = Rows(tables[0].F, np.where(cell[:, None] >= cell.max() / 2, 1, -1).astype(np.int8), tables[0].weight)
    found = walked((whole,), cell // 2, monkeypatch, prices=(1.0,), tol=1e-3, min_count=1).paths
    reference = played(whole, C=1.0, tol=1e-3, min_count=1).solution
    np.testing.assert_allclose(found.w[0], reference.w, atol=1e-6)
    np.testing.assert_allclose(found.b[0], reference.b, atol=1e-6)


def test_a_witnessed_run_gives_the_very_same_models(monkeypatch):
    tables, cell = pools(3, n=80)
    plain, witnessed = (walked(tables, cell, monkeypatch, prices=(0.5, 2.0), min_count=3, witness=witness) for witness in (False, True))
    assert witnessed.number == plain.number
    for a, b in zip(plain.paths.w, witnessed.paths.w, strict=True):
        np.testing.assert_array_equal(a, b)


def test_pools_that_are_held_back_say_so_and_go_on(monkeypatch):
    tables, cell = pools(n=60)
    done = walked(tables, cell, monkeypatch, prices=(1.0, 100.0), tol=1e-6, min_count=8)
    assert sum(int(held.sum()) for held in done.paths.held) > 0
    assert all(len(w) == 2 for w in done.paths.w)


def test_no_more_rounds_than_asked_for(monkeypatch):
    tables, cell = pools()
    done = walked(tables, cell, monkeypatch, prices=(1.0, 100.0), tol=1e-9, min_count=1, max_rounds=4)
    assert done.paths.rounds == 8
    assert all(np.all(objective >= bound) for objective, bound in zip(done.paths.objective, done.paths.bound, strict=True))
