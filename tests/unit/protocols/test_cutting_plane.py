"""Cutting planes.

Scikit-learn's optimum from sums over single rows, bounds around it from sums over groups, whoever holds which rows.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from conformance.planes import Tapped, blobs, bracket, objective, played, rows_of, shared, sizes_of
from tacit.choreo import PeerError
from tacit.numeric.scores.folds import deal_folds
from tacit.protocols.planes.cutting_plane import Optima, Step
from tacit.protocols.planes.pool import first_planes, minimise, relative_gap
from tacit.protocols.planes.problems import problems, signs_of
from tacit.protocols.planes.rows import Rows
from tacit.protocols.scores.fold_accuracy import leave_out_folds
from tacit.protocols.witness import confirm

PRICES = (0.05, 1.0, 8.0)


def check_optimal(done, C, tol):
    """The bound is below the optimum, the objective above, and as close as was asked for.

    The model has the objective that it says.
    """
    found, (rows,) = done.solution, done.rows
    for k in range(len(found.b)):
        dual, primal = bracket(rows, C, k)
        rounding = 1e-7 * max(1.0, primal)
        np.testing.assert_allclose(
            objective(rows, found.w[k], found.b[k], C, k), found.objective[k], rtol=1e-7, atol=1e-7
        )
        assert found.bound[k] <= primal + rounding
        assert found.objective[k] >= dual - rounding
        assert found.objective[k] <= primal * (1 + tol) + rounding


def check_enclosed(done, prices):
    """With groups, at every price.

    Bounds are below the optima, and what is told of all problems together not below what they have.
    """
    S = done.rows[0].signs.shape[1]
    for at, C in enumerate(prices):
        told = true = 0.0
        for k in range(len(done.paths.w)):
            rows, w, b = done.rows[k // S], done.paths.w[k][at], float(done.paths.b[k][at])
            dual, primal = bracket(rows, C, k % S, tol=1e-5)
            own, n = objective(rows, w, b, C, k % S), rows.weight[rows.signs[:, k % S] != 0].sum()
            assert done.paths.bound[k][at] <= primal * (1 + 1e-6)
            assert dual * (1 - 1e-6) <= own
            told, true = told + float(done.paths.objective[k][at]) / n, true + own / n
        assert true <= told * (1 + 1e-7)


# Groups of single rows: the optimum


@pytest.mark.parametrize("C", [0.001, 0.1, 1.0, 30.0])
def test_two_classes_reach_the_optimum(C):
    done = played(blobs(), C=C, tol=1e-5)
    assert not done.solution.held
    assert relative_gap(done.solution.objective, done.solution.bound).max() <= 1e-5
    check_optimal(done, C, 1e-5)


@pytest.mark.parametrize(("scale", "C"), [(1e-3, 1e4), (300.0, 1e-3)])
def test_units_of_the_features_do_not_matter(scale, C):
    rows = blobs()
    done = played(Rows(scale * rows.F, rows.signs, rows.weight), C=C, tol=1e-4)
    assert relative_gap(done.solution.objective, done.solution.bound).max() <= 1e-4
    check_optimal(done, C, 1e-4)


def test_weights_count_as_in_scikit_learn():
    rows = blobs(seed=1)
    rng = np.random.default_rng(1)
    weighted = Rows(rows.F, rows.signs, np.where(rows.signs[:, 0] > 0, 4.0, 0.5) * rng.uniform(0.1, 2, len(rows.F)))
    check_optimal(played(weighted, C=2.0, tol=1e-5), 2.0, 1e-5)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_all_problems_of_several_classes_reach_their_optimum_together(multi_class):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, 240)
    F = rng.normal(size=(240, 5)) + 1.2 * np.eye(5)[codes]
    rows = rows_of(F, signs_of(codes, problems(4, multi_class)))
    done = played(rows, C=1.0, tol=1e-4)
    assert done.solution.w.shape == ({"ovr": 4, "ovo": 6}[multi_class], 5)
    check_optimal(done, 1.0, 1e-4)
    alone = [played(rows_of(F, rows.signs[:, k]), C=1.0, tol=1e-4).solution for k in range(rows.signs.shape[1])]
    assert done.solution.rounds == max(one.rounds for one in alone), "as many rounds as the longest problem takes alone"
    np.testing.assert_allclose(done.solution.w, np.concatenate([one.w for one in alone]), atol=1e-6)


def test_the_model_is_the_same_however_the_rows_are_split():
    rows = blobs(n=120, seed=4)
    rng = np.random.default_rng(0)
    by_class, order = np.argsort(rows.signs[:, 0], kind="stable"), rng.permutation(120)
    splits = [2, 3, 5, np.split(order, [7, 100]), np.array_split(by_class, 2), np.split(order, [0, 60, 60, 119])]
    first, *others = [played(rows, split).solution for split in splits]
    for other in others:
        assert other.rounds == first.rounds
        np.testing.assert_allclose(other.w, first.w, atol=1e-6)
        np.testing.assert_allclose(other.b, first.b, atol=1e-6)


def test_holders_without_rows_or_with_one_class_take_part():
    rows = blobs(n=90)
    plus, minus = np.flatnonzero(rows.signs[:, 0] > 0), np.flatnonzero(rows.signs[:, 0] < 0)
    done = played(rows, [plus, np.empty(0, int), minus[:-1], minus[-1:]], tol=1e-5)
    check_optimal(done, 1.0, 1e-5)


def test_features_in_single_precision_come_as_close():
    rows = blobs(n=300)
    single = Rows(rows.F.astype(np.float32), rows.signs, rows.weight)
    done = played(single, tol=1e-4)
    assert not done.solution.held
    _, primal = bracket(rows, 1.0)
    assert abs(done.solution.objective[0] - primal) <= 1e-3 * primal


def test_the_last_round_looks_along_its_line_and_takes_no_cut():
    for rounds in (1, 2, 6):
        done = played(blobs(), tol=1e-9, max_rounds=rounds)
        assert done.solution.rounds == rounds
        assert len(done.run.history) == rounds + 1
        assert [step.cut.tolist() for step in done.run.of(Step)] == [[1]] * (rounds - 1) + [[0]]
        assert done.solution.held == (0,)


def test_the_history_has_objective_bound_gap_and_how_many_problems_go_on():
    done = played(blobs())
    assert [set(h) for h in done.run.history] == [{"place", "objective", "bound", "gap", "problems"}] * (
        done.solution.rounds + 1
    )
    assert done.run.history[-2]["problems"] == 1
    assert done.run.history[-1]["problems"] == 0


def test_a_class_without_rows_leaves_a_constant():
    rows = blobs(n=30)
    done = played(rows_of(rows.F, np.ones(30)))
    assert done.solution.objective[0] == 0.0
    assert done.solution.b[0] >= 1.0 - 1e-9
    assert relative_gap(done.solution.objective, done.solution.bound)[0] == 0.0


# Any groups


@pytest.mark.parametrize("min_count", [1, 2, 5])
@pytest.mark.parametrize("seed", range(5))
def test_bound_and_objective_enclose_the_optimum_in_every_round_however_early_it_ends(seed, min_count):
    rng = np.random.default_rng(seed)
    C = float(10 ** rng.uniform(-2, 2))
    rows = blobs(n=int(rng.integers(30, 120)), columns=int(rng.integers(2, 8)), seed=seed, noise=rng.uniform(0, 2))
    done = played(rows, C=C, tol=1e-3, min_count=min_count, max_rounds=int(rng.integers(2, 25)))
    dual, primal = bracket(done.rows[0], C)
    history = [h for h in done.run.history if h["problems"]]
    assert all(h["bound"] <= primal * (1 + 1e-6) + 1e-7 and h["objective"] >= dual * (1 - 1e-6) - 1e-7 for h in history)
    assert np.all(np.diff([h["objective"] for h in history]) <= 1e-6)
    assert np.all(np.diff([h["bound"] for h in history]) >= 0)
    check_enclosed(done, (C,))
    if min_count == 1:
        check_optimal(done, C, np.inf)


@pytest.mark.parametrize("min_count", [1, 4])
@pytest.mark.parametrize("columns", ["zeros", "constant", "none"])
def test_features_that_say_nothing_leave_the_larger_class(columns, min_count):
    y = np.repeat([1, -1], [40, 25])
    F = {"zeros": np.zeros((65, 3)), "constant": np.full((65, 3), 7.0), "none": np.empty((65, 0))}[columns]
    done = played(rows_of(F, y), min_count=min_count)
    np.testing.assert_allclose(done.solution.objective, 2 * 25, rtol=1e-3)
    assert np.all(done.rows[0].F @ done.solution.w[0] + done.solution.b[0] > 0)


@pytest.mark.parametrize("min_count", [1, 3])
def test_a_witnessed_run_gives_the_very_same_model(min_count):
    rows = blobs(n=100, seed=6)
    plain, witnessed = (played(rows, min_count=min_count, witness=witness) for witness in (False, True))
    assert witnessed.solution.rounds == plain.solution.rounds
    np.testing.assert_array_equal(witnessed.solution.w, plain.solution.w)
    np.testing.assert_array_equal(witnessed.solution.b, plain.solution.b)
    for party, atoms in plain.atoms.items():
        np.testing.assert_array_equal(witnessed.atoms[party].group, atoms.group)


def test_a_witness_names_what_does_not_follow_from_the_sums():
    (told,) = played(blobs(n=60), witness=True).run.of(Optima)
    confirm(told, told)
    for change in ({"w": told.w + 1e-6}, {"rounds": told.rounds + 1}, {"held": told.held + 1}):
        other = dataclasses.replace(told, **change)
        with pytest.raises(
            PeerError,
            match=f"published a Optima whose {next(iter(change))} does not follow from the sums: stop and ask it",
        ):
            confirm(told, other)


class OtherMachine(Tapped):
    """The coordinator's products differ from the holders' in the last bits."""

    def _each(self, place, work):
        if place.endswith("/pools_of()"):
            work = {p: self.off(do) if p == "coordinator" else do for p, do in work.items()}
        return super()._each(place, work)

    def off(self, do):
        rng = np.random.default_rng(1)
        return lambda: tuple(
            dataclasses.replace(p, H=p.H * (1.0 + 1e-15 * rng.uniform(-1, 1, p.H.shape))) for p in do()
        )


@pytest.mark.parametrize("min_count", [1, 5])
def test_rounding_of_another_machine_is_no_reason_to_stop(min_count):
    done = played(blobs(n=200, columns=15, seed=1), C=10.0, min_count=min_count, witness=True, run=OtherMachine)
    assert done.solution.rounds > 20


@pytest.mark.parametrize(
    ("min_count", "seed", "C"), [(3, 1, (0.3, 3.0)), (5, 0, 0.3), (2, 5, (0.3, 3.0)), (8, 5, (0.3, 3.0))]
)
def test_nor_is_it_where_many_biases_are_equally_good(min_count, seed, C):
    """Cuts over the same groups leave an interval of them; which one a solver finds, the last bits decide."""
    rows = blobs(n=90 + 10 * seed, seed=seed, columns=4 + seed)
    played(rows, C=C, min_count=min_count, witness=True, run=OtherMachine)


@pytest.mark.parametrize(("b", "nearest"), [(0.0, 0.0), (0.7, 0.7), (5.0, 1.0), (-5.0, -1.0)])
def test_of_biases_that_are_equally_good_the_nearest_to_the_best_model_is_taken(b, nearest):
    """Of two classes of 25 rows without features, any b between -1 and 1 loses 50."""
    pool = first_planes(np.array([[25.0, 25.0], [-25.0, 25.0]]), (1.0,), exact=True)
    assert minimise(dataclasses.replace(pool, b=b)).minimum == pytest.approx([nearest], abs=1e-8)


@pytest.mark.parametrize("min_count", [1, 3])
def test_a_problem_without_any_row_is_no_obstacle_to_the_others(min_count):
    rows = blobs(n=60)
    both = played(rows_of(rows.F, np.column_stack([rows.signs[:, 0], np.zeros(60)])), min_count=min_count)
    alone = played(rows, min_count=min_count)
    if min_count == 1:
        np.testing.assert_allclose(both.solution.w[0], alone.solution.w[0], atol=1e-9)
    own, reference = (objective(rows, done.solution.w[0], done.solution.b[0], 1.0) for done in (both, alone))
    assert own == pytest.approx(reference, rel=0.1)
    assert not both.solution.w[1].any()
    assert np.isfinite(both.solution.b).all()


@pytest.mark.parametrize("min_count", [1, 3])
def test_rows_of_no_sign_do_not_count(min_count):
    rows = blobs(n=90)
    signs = np.where(np.arange(90)[:, None] < 60, rows.signs, 0)
    some = played(rows_of(rows.F, signs), [np.arange(45), np.arange(45, 90)], min_count=min_count).solution
    others = played(shared(rows, [np.arange(60)])[0], [np.arange(45), np.arange(45, 60)], min_count=min_count).solution
    np.testing.assert_allclose(some.w, others.w, atol=1e-9)


# Groups of many rows


@pytest.mark.parametrize("min_count", [2, 5, 12])
def test_every_group_has_as_many_rows_as_asked_for_and_its_label_tells_it_apart(min_count):
    rows = rows_of(blobs(n=150, seed=3).F, np.random.default_rng(0).choice([-1, 1], size=(150, 2)))
    done = played(rows, min_count=min_count, C=10.0, tol=1e-6)
    assert done.solution.rounds > 5
    for atoms in done.atoms.values():
        assert sizes_of(atoms).min() >= min_count
        together = np.stack([atoms.group, atoms.past.label])
        assert len(np.unique(together, axis=1).T) == len(np.unique(atoms.past.label)), "a label is in one group"
        assert not np.any((atoms.group >= 0) & (atoms.past.label < 0))


def test_smaller_groups_come_closer():
    rows = blobs(n=300, seed=2)
    gaps = [
        float(relative_gap(found.objective, found.bound)[0])
        for found in (played(rows, min_count=m).solution for m in (1, 3, 20))
    ]
    assert gaps == sorted(gaps)
    assert gaps[0] <= 1e-3 < gaps[1] < 0.5


@pytest.mark.parametrize("min_count", [5, 10])
def test_a_problem_whose_groups_can_be_split_no_more_ends_and_says_so(min_count):
    done = played(blobs(n=80, columns=8, noise=0.0), 2, C=100.0, min_count=min_count, tol=1e-6)
    assert done.solution.held == (0,)
    assert done.solution.rounds < 100
    check_enclosed(done, (100.0,))


# Many tables and prices


def pools(classes: int = 2, folds: int = 2, n: int = 100):
    """Two tables of the same rows, each problem once per fold; the kind of a row is its class and fold."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(n, 3))
    codes = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n), np.arange(1, classes) - 0.2)
    fold = deal_folds(codes, folds, 0)
    signs = leave_out_folds(Rows(X, signs_of(codes, problems(classes, "ovr")), np.ones(n)), fold, folds).signs
    return (rows_of(X, signs), rows_of(np.column_stack([X, X**2]), signs)), codes * folds + fold


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("parties", [2, 4])
def test_every_pool_reaches_its_optimum_at_every_price(classes, parties):
    tables, kind = pools(classes)
    S = tables[0].signs.shape[1]
    done = played(tables, parties, kind=kind, C=PRICES, tol=1e-4)
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


@pytest.mark.parametrize("min_count", [2, 6])
def test_every_pool_of_groups_encloses_its_optimum_at_every_price(min_count):
    tables, kind = pools(n=140)
    done = played(tables, 2, kind=kind, C=PRICES, min_count=min_count)
    assert all(sizes_of(atoms).min() >= min_count for atoms in done.atoms.values())
    check_enclosed(done, PRICES)


@pytest.mark.parametrize("min_count", [1, 3])
def test_a_holder_without_rows_changes_nothing(min_count):
    tables, kind = pools()
    parts = np.array_split(np.arange(100), 2)
    two, three = (
        played(tables, split, kind=kind, C=(0.5, 2.0), min_count=min_count) for split in (parts, [*parts, np.arange(0)])
    )
    if min_count == 1:
        assert three.paths.rounds == two.paths.rounds
        np.testing.assert_allclose(three.paths.w[1], two.paths.w[1], atol=1e-6)
    else:  # each of three holders may miss less of the loss, so the way is another
        check_enclosed(two, (0.5, 2.0))
        check_enclosed(three, (0.5, 2.0))


def test_prices_that_follow_need_fewer_rounds_than_when_they_begin():
    tables, kind = pools()
    path = played(tables[:1], kind=kind, C=PRICES).paths.rounds
    alone = [played(tables[:1], kind=kind, C=C).paths.rounds for C in PRICES]
    assert max(alone) < path < sum(alone)


@pytest.mark.slow
@pytest.mark.parametrize("min_count", [1, 3])
def test_a_witnessed_run_of_many_pools_gives_the_very_same_models(min_count):
    tables, kind = pools(3, n=80)
    plain, witnessed = (
        played(tables, kind=kind, C=(0.5, 2.0), min_count=min_count, witness=witness) for witness in (False, True)
    )
    assert witnessed.paths.rounds == plain.paths.rounds
    for a, b in zip(plain.paths.w, witnessed.paths.w, strict=True):
        np.testing.assert_array_equal(a, b)


def test_pools_that_end_early_say_so_and_go_on():
    tables, kind = pools(n=60)
    done = played(tables, kind=kind, C=(1.0, 100.0), tol=1e-6, min_count=4)
    assert sum(int(held.sum()) for held in done.paths.held) > 0
    assert all(len(w) == 2 for w in done.paths.w)


def test_no_more_rounds_than_asked_for():
    tables, kind = pools()
    done = played(tables, kind=kind, C=(1.0, 100.0), tol=1e-9, max_rounds=4)
    assert done.paths.rounds == 8
    assert all(
        np.all(objective >= bound) for objective, bound in zip(done.paths.objective, done.paths.bound, strict=True)
    )
