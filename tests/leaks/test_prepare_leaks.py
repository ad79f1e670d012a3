"""What preparing gives away: its rounded result. Attacks of a review that read records from column sums find nothing.

What moves under masks is enumerated in `test_lean_leaks`; here is what is opened. Every question is answered by bits of
thresholds in order, so the bits tell a digit and nothing else; and tables that differ by less than the rounding have
the same transcript.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import tacit
from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.errors import LocalError
from tacit.federation.part import part_of
from tacit.protocols.prepare.cells import level_rare
from tacit.protocols.prepare.columns import FINE, Asked, prepare_columns
from tacit.protocols.shares import revealing
from tacit.runtimes.together import Together

WDBC = load_breast_cancer().data
MENU = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def play(parts: list[Any], asked: Asked, partition: str = "horizontal", monkeypatch: Any = None) -> tuple[Any, Any]:
    """Return the result, and the bits that every question opened."""
    names = tuple(f"p{i}" for i in range(len(parts)))
    roster = Roster({Holder: names, Coordinator: ("dealer",)})
    opened: list[Any] = []
    honest = revealing.write_numbers

    def keep(*args: Any) -> Any:
        message = honest(*args)
        opened.append(message.values)
        return message

    entropy = RootEntropy(roster.parties, b"run")
    with monkeypatch.context() as patch, Together(roster, job=b"leaks", entropy=entropy) as run:
        patch.setattr(revealing, "write_numbers", keep)
        held = run.hold(Holder, dict(zip(names, parts, strict=True)))
        return prepare_columns(run, held, partition=partition, asked=asked), opened


def rows(X: Any, sites: int = 3) -> list[Any]:
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return [part_of(each, None, None, names) for each in np.array_split(X, sites)]


ASKED = Asked(names=tuple(f"x{j}" for j in range(6)), percents=MENU, ids=("x0",))


def test_bits_are_in_order_so_that_they_tell_a_digit_and_nothing_else(monkeypatch):
    _, opened = play(rows(WDBC[:, :6]), ASKED, monkeypatch=monkeypatch)
    marks, ids, *questions = opened
    assert (marks.size, ids.size) == (12, 2)
    for bits in questions[: FINE.digits]:  # the last of a line says whether the bracket is narrow enough
        assert (np.diff(bits.reshape(6, FINE.base)[:, :-1], axis=1) >= 0).all()
    assert (np.diff(questions[FINE.digits].reshape(6, -1), axis=1) <= 0).all()
    for bits in questions[FINE.digits + 1 : FINE.digits + 3]:  # mean, scale
        assert (np.diff(bits.reshape(6, -1), axis=1) <= 0).all()
    assert len(questions) == FINE.digits + 5
    for bits in questions[-2:]:
        assert (np.diff(bits.reshape(6, len(MENU), -1), axis=2) >= 0).all()


def test_tables_that_differ_by_less_than_the_rounding_have_one_transcript(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.round(WDBC[:, :6] * 64)  # far from a threshold
    (_, first), (_, second) = (
        play(rows(each), ASKED, monkeypatch=monkeypatch) for each in (X, X + 1e-9 * rng.random(X.shape))
    )
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("cut", [100, 300])
def test_it_is_not_told_who_holds_which_record(cut, monkeypatch):
    names = ASKED.names
    uneven = [part_of(each, None, None, names) for each in (WDBC[:cut, :6], WDBC[cut:, :6], WDBC[:0, :6])]
    (_, first), (_, second) = (play(p, ASKED, monkeypatch=monkeypatch) for p in (rows(WDBC[:, :6]), uneven))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_how_much_is_opened_does_not_depend_on_the_values(monkeypatch):
    strange = np.column_stack([np.arange(569.0), np.full((569, 2), 7.0), np.full((569, 2), np.nan), WDBC[:, 0]])
    (_, first), (_, second) = (play(rows(each), ASKED, monkeypatch=monkeypatch) for each in (WDBC[:, :6], strange))
    assert [bits.size for bits in first] == [bits.size for bits in second]


def test_the_dealer_announces_nothing_that_others_believe():
    """H9: a coordinator that announced counts of its own choice read lone values and every text."""
    scaler = tacit.FederatedScaler().fit(tacit.simulate(WDBC[:, :3], parties=3))
    said = {row.message for row in scaler.report_.learnt if "coordinator" in row.from_whom}
    assert said <= {"Dealt", "PublicKey"}


def sites(X: Any, n: int = 2, **how: Any) -> Any:
    parts = [pd.DataFrame(each, columns=[f"x{j}" for j in range(X.shape[1])]) for each in np.array_split(X, n)]
    return tacit.from_parts(parts, partition="horizontal", allow_two_parties=n < 3, **how)


def test_a_lone_record_is_not_the_difference_of_two_fits():
    """H2: two scalers, of which one left out the record that is alone in its class, differed by this record."""
    y = np.arange(569) % 2
    y[17] = 2
    parts = [(WDBC[:300], y[:300]), (WDBC[300:], y[300:])]
    fits = [
        tacit.FederatedScaler().fit(tacit.from_parts(held, partition="horizontal", allow_two_parties=True))
        for held in (parts, [(np.delete(WDBC[:300], 17, 0), np.delete(y[:300], 17)), parts[1]])
    ]
    moved = np.abs(569 * fits[0].mean_ - 568 * fits[1].mean_ - WDBC[17]) / WDBC.std(axis=0)
    same = fits[0].mean_ == fits[1].mean_
    assert same.mean() > 0.8
    assert moved.max() > 3  # of the order of all deviations: the rounding hides it
    with pytest.raises(TypeError):
        tacit.FederatedScaler(min_rows=5)


@pytest.mark.parametrize("count", [1, 5, 9])
def test_an_indicator_that_few_people_have_is_constant_in_every_figure(count):
    """H4, H15: its mean times n was the count, and its line of H'H the record."""
    rng = np.random.default_rng(1)
    X = np.column_stack([np.zeros(400), rng.normal(size=400)])
    none = tacit.FederatedScaler("robust").fit(sites(X))
    X[:count, 0] = 1.0
    few = tacit.FederatedScaler("robust").fit(sites(X))
    for name in ("center_", "scale_", "bin_error_"):
        np.testing.assert_array_equal(getattr(few, name), getattr(none, name))
    standard = tacit.FederatedScaler().fit(sites(X))
    assert (standard.mean_[0], standard.scale_[0]) == (0.0, 1.0)
    X[200 : 200 + count, 0] = 1.0  # as many at the other site
    standard = tacit.FederatedScaler().fit(sites(X))
    assert (standard.mean_[0], standard.scale_[0]) == (0.0, 1.0)
    assert not level_rare(X[:200], 10)[:, 0].any()


def test_counts_of_single_ages_cannot_be_read():
    """H15: encoder and scaler told all 61 counts of ages, four of them of one person."""
    bmi = np.round(load_diabetes(scaled=False).data[:, 0])
    ages = sorted(set(bmi.tolist()))
    frame = sites(bmi[:, None])
    with pytest.warns(UserWarning, match="categories have too few records"):
        encoder = tacit.FederatedEncoder({"x0": ages}).fit(frame)
    kept = encoder.categories_[0].tolist()
    counts = {age: int((bmi == age).sum()) for age in ages}
    assert min(counts[age] for age in kept) >= 10
    assert kept == [age for age in ages if counts[age] >= 10]
    # an age that a site has fewer than ten times is nobody's there
    scaled = tacit.FederatedScaler().fit(encoder.transform(frame))
    read = scaled.mean_ * 442
    exact = np.array([counts[age] for age in kept])
    assert (np.rint(read) == exact).mean() < 0.5


@pytest.mark.parametrize("bound", [96.0, 97.0, 98.0])
def test_no_bound_of_a_job_says_whether_somebody_is_beyond_it(bound):
    """H5: a run stopped where somebody had a value beyond a range or none of the categories."""
    X = np.random.default_rng(0).integers(20, 90, (300, 1)).astype(float)
    X[5] = 97.0
    runs = []
    for asked in ((0.0, bound), (0.0, 200.0)):
        scaler = tacit.FederatedScaler("minmax", ranges={"x0": asked}).fit(sites(X))
        scaler.transform(sites(X))
        runs.append([(row.message, row.from_whom) for row in scaler.report_.learnt])
    assert runs[0] == runs[1]
    with pytest.warns(UserWarning, match="categories have too few records"):
        encoder = tacit.FederatedEncoder({"x0": [bound, 30.0, 31.0]}).fit(sites(X))
    encoder.transform(sites(X))


def test_extremes_cannot_be_asked_for_by_quantiles():
    """H14: quantiles of 0 and 100 % told the extremes."""
    for asked in ((0, 100), (0.1, 99.9)):
        with pytest.raises(LocalError, match="two of 1, 5, 10, 25, 50, 75, 90, 95, 99"):
            tacit.FederatedScaler("robust", quantile_range=asked).fit(sites(WDBC[:, :2]))
    X = np.random.default_rng(0).normal(size=(200, 1))
    far = X.copy()
    far[:5] = 1e6  # fewer than ten records
    low, high = (tacit.FederatedScaler("minmax").fit(sites(each)) for each in (X, far))
    assert abs(high.data_max_[0]) < 10
    assert abs(high.data_max_[0] - low.data_max_[0]) < 5


def test_a_site_with_fewer_records_than_ten_tells_nothing_of_its_columns():
    assert np.isnan(level_rare(WDBC[:9], 10)).all()


@pytest.mark.parametrize("rows", [10, 14, 18])
def test_no_value_of_a_few_records_becomes_one_of_ten(rows):
    """A site's ten ids were leveled to the first of them, which ten records then seemed to have."""
    X = np.arange(float(rows))[:, None]
    X[: rows - 9] = 500.0  # the most frequent one, and nine others
    assert np.isnan(level_rare(X, 10)).all() == (rows < 19)
    ids = np.arange(rows, dtype=float)[:, None]
    kept = level_rare(ids, 10)
    assert np.isnan(kept).all() if rows == 10 else (kept == ids).all()
    assert (level_rare(np.where(np.arange(25) < 9, np.arange(25), 7.5)[:, None], 10) == 7.5).all()
    wards = {"small": ids, "large": 1000.0 + np.arange(300.0)[:, None]}
    fed = tacit.from_parts(wards, partition="horizontal", allow_two_parties=True)
    with pytest.warns(UserWarning, match="categories have too few records"):
        encoder = tacit.FederatedEncoder({"x0": [float(k) for k in range(rows)]}).fit(fed)
    assert encoder.categories_[0].size == 0


def test_nobody_moves_columns_against_the_numbers_that_figures_are_rounded_to():
    """A second scaler behind ranges of a job's choice would tell a mean, or a rank, digit by digit."""
    fed = sites(WDBC[:, :2])
    moved = tacit.FederatedScaler("minmax", ranges=(0.0, 17.5)).fit(fed).transform(fed)
    for step in (tacit.FederatedScaler(), tacit.FederatedImputer(), tacit.TableVectorizer()):
        with pytest.raises(LocalError, match="rounding holds for columns as they are: put it before that step"):
            step.fit(moved)
