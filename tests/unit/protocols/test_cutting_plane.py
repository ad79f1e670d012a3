"""Cutting planes: the optimum of scikit-learn's SVM from sums, whoever holds which rows; what is refused and what is held back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from leaks.planes import Tapped, blobs, bracket, objective, played, rows_of, shared
from tacit.choreo import LocalError, PeerError
from tacit.protocols.cutting_plane import Models
from tacit.protocols.plane_rows import Rows
from tacit.protocols.planes import relative_gap
from tacit.protocols.row_problems import problems, signs_of
from tacit.protocols.witness import confirm


def check_optimal(done, C, tol):
    """The bound is below the optimum, the objective above, and as close as was asked for; the model has the objective that it says."""
    found = done.solution
    for k in range(len(found.b)):
        dual, primal = bracket(done.rows, C, k)
        rounding = 1e-7 * max(1.0, primal)
        np.testing.assert_allclose(objective(done.rows, found.w[k], found.b[k], C, k), found.objective[k], rtol=1e-7, atol=1e-7)
        assert found.bound[k] <= primal + rounding
        assert found.objective[k] >= dual - rounding
        assert found.objective[k] <= primal * (1 + tol) + rounding


@pytest.mark.parametrize("C", [0.001, 0.1, 1.0, 30.0])
def test_two_classes_reach_the_optimum(C):
    done = played(blobs(), C=C, tol=1e-5, min_count=1)
    assert not done.solution.held
    assert relative_gap(done.solution.objective, done.solution.bound).max() <= 1e-5
    check_optimal(done, C, 1e-5)


@pytest.mark.parametrize(("scale", "C"), [(1e-3, 1e4), (300.0, 1e-3)])
def test_units_of_the_features_do_not_matter(scale, C):
    rows = blobs()
    done = played(Rows(scale * rows.F, rows.signs, rows.weight), C=C, tol=1e-4, min_count=1)
    assert relative_gap(done.solution.objective, done.solution.bound).max() <= 1e-4
    check_optimal(done, C, 1e-4)


def test_weights_count_as_in_scikit_learn():
    rows = blobs(seed=1)
    rng = np.random.default_rng(1)
    weighted = Rows(rows.F, rows.signs, np.where(rows.signs[:, 0] > 0, 4.0, 0.5) * rng.uniform(0.1, 2, len(rows.F)))
    check_optimal(played(weighted, C=2.0, tol=1e-5, min_count=1), 2.0, 1e-5)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_all_problems_of_several_classes_reach_their_optimum_together(multi_class):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, 240)
    F = rng.normal(size=(240, 5)) + 1.2 * np.eye(5)[codes]
    rows = rows_of(F, signs_of(codes, problems(4, multi_class)))
    done = played(rows, C=1.0, tol=1e-4, min_count=1)
    assert done.solution.w.shape == ({"ovr": 4, "ovo": 6}[multi_class], 5)
    check_optimal(done, 1.0, 1e-4)
    alone = [played(rows_of(F, rows.signs[:, k]), C=1.0, tol=1e-4, min_count=1).solution for k in range(rows.signs.shape[1])]
    assert done.solution.rounds == max(one.rounds for one in alone), "as many rounds as the longest problem takes alone"
    np.testing.assert_allclose(done.solution.w, np.concatenate([one.w for one in alone]), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_bound_and_objective_enclose_the_optimum_in_every_round_however_early_it_ends(seed):
    rng = np.random.default_rng(seed)
    C = float(10 ** rng.uniform(-2, 2))
    rows = blobs(n=int(rng.integers(30, 120)), columns=int(rng.integers(2, 8)), seed=seed, noise=rng.uniform(0, 2))
    done = played(rows, C=C, tol=1e-3, min_count=5, max_rounds=int(rng.integers(2, 25)))
    dual, primal = bracket(done.rows, C)
    history = done.run.history
    assert all(h["bound"] <= primal * (1 + 1e-6) + 1e-7 and h["objective"] >= dual * (1 - 1e-6) - 1e-7 for h in history)
    assert np.all(np.diff([h["objective"] for h in history]) <= 1e-6)
    assert np.all(np.diff([h["bound"] for h in history]) >= 0)
    check_optimal(done, C, np.inf)


@pytest.mark.parametrize("min_count", [1, 5])
def test_the_model_is_the_same_however_the_rows_are_split(min_count):
    rows = blobs(n=120, seed=4)
    rng = np.random.default_rng(0)
    by_class, order = np.argsort(rows.signs[:, 0], kind="stable"), rng.permutation(120)
    splits = [2, 3, 5, np.split(order, [7, 100]), np.array_split(by_class, 2), np.split(order, [0, 60, 60, 119])]
    first, *others = [played(rows, split, min_count=min_count).solution for split in splits]
    for other in others:
        assert other.rounds == first.rounds
        np.testing.assert_allclose(other.w, first.w, atol=1e-6)
        np.testing.assert_allclose(other.b, first.b, atol=1e-6)


def test_holders_without_rows_or_with_one_class_take_part():
    rows = blobs(n=90)
    plus, minus = np.flatnonzero(rows.signs[:, 0] > 0), np.flatnonzero(rows.signs[:, 0] < 0)
    done = played(rows, [plus, np.empty(0, int), minus[:-1], minus[-1:]], min_count=1, tol=1e-5)
    check_optimal(done, 1.0, 1e-5)


@pytest.mark.parametrize("columns", ["zeros", "constant", "none"])
def test_features_that_say_nothing_leave_the_larger_class(columns):
    y = np.repeat([1, -1], [40, 25])
    F = {"zeros": np.zeros((65, 3)), "constant": np.full((65, 3), 7.0), "none": np.empty((65, 0))}[columns]
    done = played(rows_of(F, y))
    np.testing.assert_allclose(done.solution.objective, 2 * 25, rtol=1e-3)
    assert np.all(done.rows.F @ done.solution.w[0] + done.solution.b[0] > 0)


def test_features_in_single_precision_come_as_close():
    rows = blobs(n=300)
    single = Rows(rows.F.astype(np.float32), rows.signs, rows.weight)
    done = played(single, tol=1e-4, min_count=1)
    assert not done.solution.held
    _, primal = bracket(rows, 1.0)
    assert abs(done.solution.objective[0] - primal) <= 1e-3 * primal


def test_a_witnessed_run_gives_the_very_same_model():
    rows = blobs(n=100, seed=6)
    plain, witnessed = (played(rows, witness=witness) for witness in (False, True))
    assert witnessed.solution.rounds == plain.solution.rounds
    np.testing.assert_array_equal(witnessed.solution.w, plain.solution.w)
    np.testing.assert_array_equal(witnessed.solution.b, plain.solution.b)


def test_a_witness_names_what_does_not_follow_from_the_sums():
    (told,) = played(blobs(n=60), witness=True).run.of(Models)
    confirm(told, told)
    for change in ({"w": told.solution.w + 1e-6}, {"rounds": told.solution.rounds + 1}, {"held": (7,)}):
        other = Models(dataclasses.replace(told.solution, **change))
        with pytest.raises(
            PeerError, match=f"published a Solution whose {next(iter(change))} does not follow from the sums: stop and ask it"
        ):
            confirm(told, other)


class OtherMachine(Tapped):
    """The coordinator's products differ from the holders' in the last bits."""

    def _each(self, place, work):
        if place.endswith("/advance()"):
            work = {p: self.off(do) if p == "coordinator" else do for p, do in work.items()}
        return super()._each(place, work)

    def off(self, do):
        rng = np.random.default_rng(1)
        return lambda: tuple(dataclasses.replace(p, H=p.H * (1.0 + 1e-15 * rng.uniform(-1, 1, p.H.shape))) for p in do())


def test_rounding_of_another_machine_is_no_reason_to_stop():
    done = played(blobs(n=200, columns=15, seed=1), C=10.0, witness=True, run=OtherMachine)
    assert done.solution.rounds > 20


def test_the_last_round_only_evaluates():
    for rounds in (1, 2, 6):
        done = played(blobs(), tol=1e-9, max_rounds=rounds)
        assert done.solution.rounds == rounds
        assert len(done.run.history) == rounds
    assert not played(blobs(), max_rounds=1).solution.w.any()


def test_the_history_has_objective_bound_gap_and_how_many_problems_go_on():
    done = played(blobs())
    assert [set(h) for h in done.run.history] == [{"place", "objective", "bound", "gap", "problems"}] * done.solution.rounds
    assert done.run.history[-1]["gap"] <= 1e-3 or done.solution.held
    assert done.run.history[-1]["problems"] == 0


@pytest.mark.parametrize("min_count", [5, 10])
def test_a_problem_without_a_harmless_cut_ends_and_says_so(min_count):
    done = played(blobs(n=40, columns=8, noise=0.0), C=100.0, min_count=min_count)
    assert done.solution.held == (0,)
    check_optimal(done, 100.0, np.inf)


def test_a_problem_of_too_few_rows_is_refused():
    with pytest.raises(LocalError, match="problem 1 of 1 has 4 rows over all parties, and no sum of fewer than min_count=5 is opened"):
        played(blobs(n=4), min_count=5)


def test_a_class_without_rows_leaves_a_constant():
    rows = blobs(n=30)
    done = played(rows_of(rows.F, np.ones(30)))
    assert done.solution.objective[0] == 0.0
    assert done.solution.b[0] >= 1.0 - 1e-9
    assert relative_gap(done.solution.objective, done.solution.bound)[0] == 0.0


def test_a_problem_without_any_row_is_no_obstacle_to_the_others():
    rows = blobs(n=60)
    both = played(rows_of(rows.F, np.column_stack([rows.signs[:, 0], np.zeros(60)])))
    alone = played(rows)
    np.testing.assert_allclose(both.solution.w[0], alone.solution.w[0], atol=1e-9)
    assert not both.solution.w[1].any()


def test_rows_of_no_sign_do_not_count():
    rows = blobs(n=90)
    signs = np.where(np.arange(90)[:, None] < 60, rows.signs, 0)
    some, all_of_them = played(rows_of(rows.F, signs)).solution, played(shared(rows, [np.arange(60)])[0]).solution
    np.testing.assert_allclose(some.w, all_of_them.w, atol=1e-9)
