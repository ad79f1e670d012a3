"""The distribution of synthetic landmarks, found in shares, beside the pooled mean and covariance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tacit import LocalError, PeerError
from tacit.choreo import Coordinator, Holder, Roster
from tacit.crypto.pads.entropy import RootEntropy
from tacit.federation.part import part_of
from tacit.numeric.features.column_digits import COARSE, Brackets, Crowd, next_brackets, scales_of, start_brackets
from tacit.protocols.features.coin import CoinPart, commit, join_parts, seed_of, toss_coin
from tacit.protocols.features.landmarks import (
    WIDEST,
    Block,
    draw_landmarks,
    find_distribution,
    gamma_scale,
    read_block,
    standard_distribution,
)
from tacit.protocols.shares.dealing import agree_with_dealer
from tacit.runtimes.together import Together

WDBC = load_breast_cancer().data


def roster_of(holders):
    return Roster({Holder: tuple(f"p{i}" for i in range(holders)), Coordinator: ("dealer",)})


def play(parts, partition="horizontal", seed=1, owned=None, root=0):
    roster = roster_of(len(parts))
    masks = owned or [None] * len(parts)
    names = [tuple(f"x{j}" for j in range(X.shape[1])) for X in parts]
    data = {
        p: part_of(X, None, None, own, mask)
        for p, X, own, mask in zip(roster[Holder], parts, names, masks, strict=True)
    }
    columns = sum(X.shape[1] for X in parts) if partition == "vertical" else parts[0].shape[1]
    rows = {p: len(each.X) for p, each in data.items()}
    roots = {p: bytes([root, i]) * 16 for i, p in enumerate(roster.parties)}
    with Together(roster, job=b"landmarks", entropy=RootEntropy(roster.parties, b"run", roots)) as run:
        dealing, held = agree_with_dealer(run), run.hold(Holder, data)
        found = find_distribution(run, dealing, held, partition=partition, rows=rows, columns=columns, seed=seed)
    return found, run


def covariance(found):
    root = found.root if found.root.ndim > 1 else np.diag(found.root)
    return np.outer(found.scale, found.scale) * (root.T @ root)


def normal_table(rows, columns, seed=0):
    """Return columns with two things in common."""
    rng = np.random.default_rng(seed)
    B = rng.uniform(0.5, 1.0, (2, columns)) * rng.choice([-1, 1], (2, columns))
    return rng.normal(size=(rows, 2)) @ B + rng.normal(size=(rows, columns)) + rng.normal(size=columns)


@pytest.mark.parametrize("holders", [2, 3, 5])
def test_many_rows_give_the_pooled_mean_and_covariance(holders):
    X = normal_table(30_000, 8)
    found, _ = play(np.array_split(X, holders))
    deviation, C = X.std(axis=0), covariance(found)
    assert np.abs((found.centre - X.mean(axis=0)) / deviation).max() < 0.03
    assert np.abs(C / np.outer(deviation, deviation) - np.corrcoef(X.T)).max() < 0.3
    correlation = C / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert np.abs(correlation - np.corrcoef(X.T)).max() < 0.12
    assert gamma_scale(found) * 8 * X.var() == pytest.approx(1, abs=0.25)


def test_units_of_columns_do_not_matter():
    X = normal_table(2000, 6)
    units = np.array([1e-6, 1e6, 1.0, 1e-3, 1e3, 1e5])
    found, _ = play(np.array_split(X * units, 3))
    np.testing.assert_array_less(np.abs(found.centre / units - X.mean(axis=0)), 0.3 * X.std(axis=0))
    ratio = found.scale / (units * X.std(axis=0))
    assert ratio.min() > 0.6
    assert ratio.max() < 1.6


def test_constant_and_rare_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    X[:, 0], X[:, 1], X[:, 2] = 3.7, 0.0, rng.random(3000) < 0.05
    X[:4, 1] = 1.0  # fewer than any crowd
    X[:, 4] = 2000 + 10 * X[:, 4]
    X[:, 5] = rng.standard_cauchy(3000)
    found, _ = play(np.array_split(X, 3))
    np.testing.assert_array_equal(found.scale[:2], 0.0)
    assert found.centre[0] == pytest.approx(3.7, rel=2e-3)
    assert found.centre[1] == pytest.approx(0.0, abs=1e-9)
    deviation = np.sqrt(np.diag(covariance(found)))
    np.testing.assert_allclose(deviation[[2, 3, 4]], X.std(axis=0)[[2, 3, 4]], rtol=0.4)
    assert found.centre[4] == pytest.approx(2000, abs=5)
    assert 1 < deviation[5] < 30  # the deviation without the few values that are thousands
    points = draw_landmarks(found, 50)
    assert np.isfinite(points).all()
    assert np.ptp(points[:, :2], axis=0).max() == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_a_holder_with_hardly_a_row_changes_little(rows):
    found, _ = play([WDBC[rows:], WDBC[:rows]])
    assert np.abs((found.centre - WDBC.mean(axis=0)) / WDBC.std(axis=0)).max() < 1
    assert (found.scale > 0).all()


def test_a_table_of_a_few_rows_gives_points_all_the_same():
    found, _ = play([WDBC[:3], WDBC[3:6]])
    assert np.isfinite(draw_landmarks(found, 10)).all()
    assert np.isfinite(gamma_scale(found))


def test_owners_of_columns_draw_blocks_of_their_own():
    X = normal_table(5000, 7)
    found, run = play([X[:, :3], X[:, 3:5], X[:, 5:]], "vertical")
    C = covariance(found)
    assert np.abs(C[:3, 3:]).max() == 0
    assert np.abs(C[3:5, 5:]).max() == 0
    np.testing.assert_allclose(np.sqrt(np.diag(C)), X.std(axis=0), rtol=0.35)
    assert np.abs((found.centre - X.mean(axis=0)) / X.std(axis=0)).max() < 0.1
    assert "Block" in {row.type for row in run.ledger.rows}


def test_cells_give_means_and_variances_alone():
    X, rng = normal_table(4000, 5), np.random.default_rng(1)
    owner = rng.integers(0, 3, X.shape)
    found, _ = play([X] * 3, "arbitrary", owned=[owner == p for p in range(3)])
    assert found.root.ndim == 1
    assert np.abs((found.centre - X.mean(axis=0)) / X.std(axis=0)).max() < 0.15
    np.testing.assert_allclose(found.scale * found.root, X.std(axis=0), rtol=0.35)


def test_very_many_columns_are_drawn_independently():
    X = np.random.default_rng(0).normal(size=(200, WIDEST + 1))
    found, _ = play(np.array_split(X, 2))
    assert found.root.shape == (WIDEST + 1,)


def test_points_are_the_first_of_one_list():
    found, _ = play(np.array_split(WDBC, 3))
    many = draw_landmarks(found, 300)
    np.testing.assert_allclose(draw_landmarks(found, 7), many[:7], rtol=1e-12)
    near = np.abs((many - WDBC.mean(axis=0)) / WDBC.std(axis=0))
    assert np.median(near) < 1.5


def test_independent_standard_points_need_no_data():
    points = draw_landmarks(standard_distribution(4, 3), 5000)
    assert np.abs(points.mean(axis=0)).max() < 0.06
    assert np.abs(np.cov(points.T) - np.eye(4)).max() < 0.08
    assert gamma_scale(standard_distribution(4, 3)) == pytest.approx(0.25)


def test_a_seed_makes_a_run_again_and_else_a_coin_is_played():
    first, with_seed = play(np.array_split(WDBC, 2), seed=7)
    second, _ = play(np.array_split(WDBC, 2), seed=7)
    np.testing.assert_array_equal(draw_landmarks(first, 3), draw_landmarks(second, 3))
    assert "CoinPart" not in {row.type for row in with_seed.ledger.rows}
    third, run = play(np.array_split(WDBC, 2), seed=None)
    assert "CoinPart" in {row.type for row in run.ledger.rows}
    assert third.seed != play(np.array_split(WDBC, 2), seed=None, root=1)[0].seed


def test_a_missing_value_is_refused_with_a_remedy():
    X = WDBC.copy()
    X[3, 2] = np.nan
    with pytest.raises(LocalError, match="p0 has values that are no finite numbers: fill them in"):
        play(np.array_split(X, 2))


def test_a_block_that_cannot_be_is_refused():
    nothing = np.zeros(2)
    with pytest.raises(PeerError, match="centres and scales of columns that cannot be"):
        read_block(Block(nothing, -np.ones(2), np.zeros(5, np.int64)), 10)
    with pytest.raises(PeerError, match="4 sums were published of 5"):
        read_block(Block(nothing, np.ones(2), np.zeros(4, np.int64)), 10)


# Digits


def test_numbers_of_brackets_are_in_order():
    z = np.arange(-(1 << 17), 1 << 17, 37)
    assert (np.diff(COARSE.value_of(z)) > 0).all()
    assert COARSE.value_of(np.array([0]))[0] == 0
    np.testing.assert_array_equal(COARSE.value_of(np.array([64 << 10, -(65 << 10)])), [1.0, -2.0])


def test_a_bracket_that_is_done_stays():
    start = start_brackets(2)
    start = Brackets(start.low, start.width, np.array([True, False]))
    after = next_brackets(start, np.zeros((2, 64), dtype=bool))
    assert after.width.tolist() == [1 << 18, 1 << 12]
    assert after.low[0] == start.low[0]


def test_noise_alone_makes_no_scale():
    reached = np.zeros((3, COARSE.exponents.size), dtype=bool)
    reached[1], reached[2, :80] = True, True
    brackets = Brackets(np.zeros(3, np.int64), np.ones(3, np.int64), np.ones(3, dtype=bool))
    scale = scales_of(reached.sum(axis=1), brackets, Crowd(900, 9.0))
    assert scale[:2].tolist() == [0, 0]
    assert scale[2] == pytest.approx(2**-0.25 / 10)


# The coin


def test_everyone_has_the_same_coin():
    coins = set()
    for root in (b"a", b"b"):
        roster = roster_of(3)
        with Together(roster, job=b"coin", entropy=RootEntropy(roster.parties, root)) as run:
            coin = toss_coin(run)
        assert len(coin) == 32
        assert 0 <= seed_of(coin) < 1 << 64
        assert run.ledger.rounds == 2
        coins.add(coin)
    assert len(coins) == 2


def test_who_reveals_another_part_of_the_coin_is_named():
    digests = {p: commit(bytes(32), p) for p in ("a", "b")}
    honest = {p: CoinPart(bytes(32)) for p in ("a", "b")}
    assert join_parts(digests, honest)
    for part in (bytes([1]) * 32, bytes(31)):
        with pytest.raises(PeerError, match="b revealed another part of the coin"):
            join_parts(digests, {**honest, "b": CoinPart(part)})


def test_nobody_can_repeat_anothers_commitment():
    copied = commit(bytes(32), "a")
    with pytest.raises(PeerError, match="b revealed another part"):
        join_parts({"a": copied, "b": copied}, {p: CoinPart(bytes(32)) for p in ("a", "b")})
