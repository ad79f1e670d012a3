"""What the weights of single parties and the sums of columns give away, and what averages do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from leaks.views import played
from tacit.choreo import Holder
from tacit.federation.part import part_of
from tacit.papers.consensus.attacks import ATTACKS
from tacit.papers.consensus.attacks.iterate_differencing import iterate_differencing, overhear, recover_share
from tacit.papers.consensus.attacks.two_party import measure_mistake, two_party
from tacit.papers.consensus.attacks.vertical_modes import nearest, vertical_modes
from tacit.papers.consensus.attacks.vertical_span import deal_columns, listen, vertical_span
from tacit.papers.consensus.rows import RowSettings, consensus_rows

RHO = 100.0


@pytest.fixture(scope="module")
def wdbc() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(X))[:300]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[chosen], y[chosen]


def heard_by_rows(table: Any, parties: int) -> Any:
    X, y = table
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    parts = {f"p{i}": part_of(X[i::parties], y[i::parties], None, names) for i in range(parties)}
    return parts, overhear(parts, C=1.0, rho=RHO, rounds=80)


def test_weights_in_clear_give_records_away_and_the_average_none(wdbc):
    parts, heard = heard_by_rows(wdbc, 8)
    clear = [recover_share(iterate_differencing(heard.told[p], heard.average, RHO, 8), parts[p].X) for p in parts]
    assert np.mean(clear) > 0.04
    assert recover_share(iterate_differencing(heard.average, heard.average, RHO, 8), wdbc[0]) < 0.01


def test_of_two_parties_each_has_the_other_s_weights_and_of_three_nobody_has(wdbc):
    _, heard = heard_by_rows(wdbc, 2)
    assert measure_mistake(two_party(heard.told["p0"], heard.average, 2), heard.told["p1"], heard.average) < 1e-9
    _, heard = heard_by_rows(wdbc, 3)
    assert measure_mistake(two_party(heard.told["p0"], heard.average, 3), heard.told["p1"], heard.average) > 0.3


@pytest.fixture(scope="module")
def after_300_rounds(wdbc) -> Any:
    X, y = wdbc
    cuts = [np.array([0]), *np.array_split(np.arange(1, 30), 3)]  # a party with one column
    how = {"rho": 0.2, "over_relaxation": 1.9, "tol": 1e-12}
    return listen(deal_columns(X, y, cuts), C=50.0, max_rounds=300, **how)


def test_as_many_known_records_as_columns_give_all_and_half_as_many_do_not(wdbc, after_300_rounds):
    X, (_, sums) = wdbc[0], after_300_rounds
    assert vertical_span(sums, X, np.arange(30)) < 1e-4
    assert vertical_span(sums, X, np.arange(15)) > 0.3


def test_many_rounds_give_a_column_without_a_known_record_and_few_do_not(wdbc, after_300_rounds):
    X, (told, sums) = wdbc[0], after_300_rounds
    assert nearest(vertical_modes(told, sums, 30, 0.2), X[:, 0]) < 1e-3
    assert nearest(vertical_modes(told[:, :30], sums[:, :30], 30, 0.2), X[:, 0]) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_study_yields_points(attack):
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:80, :6]
    points = list(attack.study(X, y[:80]))
    assert len(points) >= 3
    assert all(point.found >= 0 for point in points)


def trained_by_rows(wdbc: Any, deal: list[Any]) -> Any:
    X, y = wdbc
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    held = {f"p{i + 1}": part_of(X[at], y[at], None, names) for i, at in enumerate(deal)}
    svm = RowSettings(C=1.0, kernel="linear", gamma="scale", degree=3, coef0=0.0, max_rounds=4)
    return played(lambda run: consensus_rows(run, run.hold(Holder, held), svm=svm), tuple(held))[0]


def test_a_party_and_the_coordinator_receive_masked_vectors_and_what_is_published(wdbc):
    run = trained_by_rows(wdbc, np.array_split(np.arange(300), 3))
    seen = {who: {row.type for row in run.ledger if row.receiver == who} for who in ("coordinator", "p2")}
    assert seen["p2"] == {"PublicKey", "PartyClasses", "Landmarks", "Metric", "Average"}
    assert seen["coordinator"] == {"PublicKey", "PartyClasses", "Masked"}


def test_what_is_summed_before_the_first_round_does_not_depend_on_who_has_which_record(wdbc):
    one = trained_by_rows(wdbc, np.array_split(np.arange(300), 3))
    two = trained_by_rows(wdbc, np.array_split(np.random.default_rng(1).permutation(300), 3))
    moments = [[total for place, total in run.sums if "round" not in place] for run in (one, two)]
    assert len(moments[0]) == 2
    for first, second in zip(*moments, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-6)


def test_averages_of_a_round_do_depend_on_it(wdbc):
    """The limit of the method: a party's weights are in the average, as those of its own rows."""
    one = trained_by_rows(wdbc, np.array_split(np.arange(300), 3))
    two = trained_by_rows(wdbc, np.array_split(np.random.default_rng(1).permutation(300), 3))
    rounds = [[total for place, total in run.sums if "round" in place] for run in (one, two)]
    assert not np.allclose(rounds[0][0], rounds[1][0], atol=1e-3)
