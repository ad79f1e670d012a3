"""What one record can change in a training with epsilon: exactly what the noise was made for, and nothing beside it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import Part
from tacit.numeric.privacy import columns, scaling, scores
from tacit.protocols.noisy.ground import Spending
from tacit.protocols.noisy.noisy_columns import Asked, count_bins, count_values, noisy_columns, sum_present
from tacit.protocols.noisy.noisy_columns import count_magnitudes as magnitudes_in
from tacit.protocols.noisy.noisy_scores import Answered, Scored, count_scored, sum_errors
from tacit.protocols.noisy.noisy_sum import agree_on_budget
from tacit.runtimes.together import Together

COLUMNS, CLASSES = 3, ("a", "b", "c")
ODD = np.array([
    [1e300, -1e300, 1e-300], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [-5e5, 3.0, 2.0**-16], [np.nan, 1.0, 1.0],
    [np.inf, 0.0, 0.0], [4.0, -4.0, 4.0], [-0.1, 77.0, 1e9],
])  # fmt: skip


def table(labels: tuple[str, ...] = CLASSES) -> Part:
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(size=(40, COLUMNS)), ODD])
    return Part(
        X, np.resize(np.array([*labels, "rare"]), len(X)), np.resize([1.0, 3.0, np.nan, -1.0, 0.5], len(X)), (), None
    )


def blanked(part: Part, i: int) -> Part:
    X = part.X.copy()
    X[i] = np.nan
    return dataclasses.replace(part, X=X)


def squares(one: Any, other: Any) -> int:
    return sum(int(d) ** 2 for d in (one - other).reshape(-1))


def test_blanking_a_record_changes_no_statistic_of_columns_by_more_than_its_noise_was_made_for() -> None:
    names, whole = ("a", "b", "c"), dataclasses.replace(table(), features=("a", "b", "c"))
    low, high = np.array([-4.0, 0.0, -1.0]), np.array([4.0, 1e9, 1e-3])
    sums = {
        magnitudes_in: ((names,), scaling.magnitude_sensitivity(COLUMNS)),
        sum_present: ((names, (low + high) / 2, (high - low) / 2), columns.present_sensitivity(COLUMNS)),
        count_bins: ((names, low, high, 7), columns.count_sensitivity(COLUMNS)),
        count_values: ((names, ((0.0, 1.0), (-4.0, 1.0), (1.0, 4.0))), columns.count_sensitivity(COLUMNS)),
    }
    for step, (given, most) in sums.items():
        of_all = step(whole, *given)
        alone = [step(dataclasses.replace(whole, X=whole.X[i : i + 1]), *given) for i in range(len(whole.X))]
        changes = [squares(of_all, step(blanked(whole, i), *given)) for i in range(len(whole.X))]
        assert max(changes) == most, step.__name__  # reached: by a record at the corners of the ranges
        np.testing.assert_array_equal(of_all, sum(alone))  # a record counts the same whatever stands beside it


def test_statistics_of_columns_with_odd_values_are_finite_and_nothing_is_refused() -> None:
    part = dataclasses.replace(table(), features=("a", "b", "c"))
    empty = dataclasses.replace(part, X=np.empty((0, COLUMNS)), y=None, weight=None)
    asked = Asked(names=("a", "b"), histograms=("c",), categories={"a": (1.0, 2.0)})
    with started() as run:
        held = run.hold(Holder, {"p0": part, "p1": empty, "p2": dataclasses.replace(part, X=np.full((4, 3), np.nan))})
        spending = Spending(epsilon=0.7, delta=1e-6)
        found = noisy_columns(run, held, asked=asked, spending=spending)
    assert np.isfinite(found.moments.mean).all()
    assert (found.moments.var > 0).all()
    mu = agree_on_budget(0.7, 1e-6, None, holders=3, rows=found.records).mu
    assert 0.98 * mu**2 < sum(found.spent.values()) <= mu**2


@pytest.mark.parametrize("classes", [2, 4])
def test_a_record_that_is_judged_changes_counts_by_no_more_than_their_noise_was_made_for(classes: int) -> None:
    rng, columns = np.random.default_rng(1), 1 if classes == 2 else classes
    values, codes = rng.normal(size=(30, columns)), rng.integers(-1, classes, 30)
    values[3], values[4, 0] = np.nan, np.inf
    scored = Scored(values, codes, rng.integers(0, classes, 30))
    whole, most = count_scored(scored, classes, 16), scores.score_sensitivity(columns)
    blank = [dataclasses.replace(scored, codes=np.where(np.arange(30) == i, -1, codes)) for i in range(30)]
    changes = [squares(whole, count_scored(each, classes, 16)) for each in blank]
    assert set(changes) == {0, most}
    assert [change > 0 for change in changes] == ((codes >= 0) & np.isfinite(values).all(axis=1)).tolist()


def test_a_target_that_is_judged_changes_sums_of_errors_by_no_more_than_their_noise_was_made_for() -> None:
    targets = np.array([1e300, -3.0, 0.0, 2.0, np.nan, np.inf, 4.0])
    answers = np.array([-1e300, 2.0, np.nan, 2.0, 1.0, 1.0, -4.0])
    whole = sum_errors(Answered(targets, answers), -2.0, 4.0, 16)
    blank = [np.where(np.arange(7) == i, np.nan, targets) for i in range(7)]
    changes = [squares(whole, sum_errors(Answered(each, answers), -2.0, 4.0, 16)) for each in blank]
    assert max(changes) == scores.error_sensitivity()  # of an error and a target that are as large as they can be
    assert changes[2] == changes[4] == changes[5] == 0


def started(roots: dict[str, bytes] | None = None, parties: int = 3) -> Together:
    roster = Roster({Holder: tuple(f"p{i}" for i in range(parties)), Coordinator: ("site",)})
    return Together(roster, job=b"job", entropy=RootEntropy(roster.parties, b"run", roots))
