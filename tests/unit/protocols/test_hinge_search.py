"""Which C is chosen in shares: that of the fewest errors on records held out, as in doubles."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.choreo import Holder, entries_of
from tacit.numeric.shares.hinge_plan import Z_BITS, plan_hinge
from tacit.protocols.learners import hinge_search
from tacit.protocols.learners.hinge import OwnRows, open_table
from tacit.protocols.learners.hinge_search import COSTS, FEW, FOLDS, choose_cost, count_errors, plan_search
from tacit.protocols.shares.dealing import agree_with_dealer
from unit.protocols.test_hinge import in_doubles, start, table

ROWS = (70, 0, 53, 1)


def test_of_five_records_in_a_row_each_is_held_out_once_and_others_never_move_them():
    search = plan_search(ROWS, 2, seed=3)
    assert search.used == FOLDS
    assert search.columns == len(COSTS) * FOLDS * 2
    assert search.held.size == sum(ROWS)
    assert search.counts == ROWS
    for first in range(0, 70, FOLDS):
        assert sorted(search.folds[first : first + FOLDS].tolist()) == list(range(FOLDS))
    assert (plan_search((75, *ROWS[1:]), 2, seed=3).folds[:70] == search.folds[:70]).all()
    assert not np.array_equal(plan_search(ROWS, 2, seed=4).folds, search.folds)


def test_of_many_records_a_fifth_is_held_out_and_of_many_problems_four_are_looked_at():
    search = plan_search((FEW, 7), 26, seed=1)
    assert len(search.problems) == 4
    assert search.columns == len(COSTS) * 4
    assert search.counts == (FEW // 5, search.held.size - FEW // 5)
    assert 1 <= search.counts[1] <= 2


def errors_in_doubles(Z, Y, plan, search):
    """Errors of each candidate on the records that were held out."""
    kept = search.folds[:, None] != np.arange(search.used)
    held = np.tile((Y[:, None, :] * kept[:, :, None]).reshape(len(Y), -1), search.tried)
    f = np.ldexp(Z.astype(float), -Z_BITS) @ in_doubles(Z, held, plan)
    f = f.reshape(len(Y), search.tried, search.used, -1)[np.arange(len(Y)), :, search.folds]
    return ((f >= 0) != (Y[:, None, :] > 0)).sum(axis=(0, 2))


@pytest.mark.parametrize("problems", [1, 3])
def test_the_errors_in_shares_are_those_in_doubles_and_the_fewest_win(problems, monkeypatch):
    Z, Y = table(124, 6, problems, noise=2.0)
    search = plan_search(ROWS, problems, seed=5)
    costs = tuple(np.repeat(COSTS, search.columns // len(COSTS)).tolist())
    plan = plan_hinge(ROWS, 6, search.columns, COSTS[0], iterations=20, exponent=0, partial=True, costs=costs)
    seen = {}

    def keep_errors(run, dealing, tab, b, *asked):
        errors = count_errors(run, dealing, tab, b, *asked)
        seen["errors"] = np.sum(list(entries_of(errors).values()), axis=0, dtype=np.uint64).view(np.int64)
        return errors

    monkeypatch.setattr(hinge_search, "count_errors", keep_errors)
    monkeypatch.setattr(hinge_search, "add_common_noise", lambda *asked, **_: asked[1])
    run, names = start(len(ROWS))
    cuts = np.cumsum(ROWS)[:-1]
    with run:
        parts = zip(names, np.split(Z, cuts), np.split(Y, cuts), strict=True)
        rows = run.hold(Holder, {p: OwnRows(z, y) for p, z, y in parts})
        dealing = agree_with_dealer(run)
        base = plan_hinge(ROWS, 6, problems, 1.0)
        winner = choose_cost(run, dealing, open_table(run, dealing, rows, base, k=56), search, plan)
    wanted = errors_in_doubles(Z, Y, plan, search)
    found = seen["errors"] + (Y > 0).sum()
    assert np.abs(found - wanted).max() <= 1  # a record may lie on the border
    assert found[winner] == found.min()
    assert np.ptp(wanted) > 3, "candidates differ"
    told = [row for row in run.ledger.rows if row.type == "ModelWords"]
    assert {row.shapes for row in told} == {told[0].shapes}
    assert len({row.place for row in told}) == 1, "only which one has won is revealed"
