"""Which products of cells a gram matrix needs, whoever owns the cells."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacit.errors import LocalError
from tacit.numeric.cells.ownership import Owners, owners_of
from tacit.papers.gram.crossing import Crossing, dots_crossing, gram_crossing, groups

M, N = 9, 5


def masks(partition: str, parties: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    names = [f"p{k}" for k in range(parties)]
    if partition == "horizontal":
        return {
            p: np.ones((len(part), N), bool) for p, part in zip(names, np.array_split(range(M), parties), strict=True)
        }
    if partition == "vertical":
        return {
            p: np.ones((M, len(part)), bool) for p, part in zip(names, np.array_split(range(N), parties), strict=True)
        }
    owner = rng.integers(0, parties, (M, N))
    return {p: owner == k for k, p in enumerate(names)}


def tables(owners: Owners, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {p: np.where(mask, rng.integers(-9, 10, mask.shape), 0) for p, mask in owners.masks.items()}


def whole(owners: Owners, parts: dict[str, np.ndarray]) -> np.ndarray:
    A = np.zeros(owners.shape, np.int64)
    for p, part in parts.items():
        A[np.ix_(owners.rows[p], owners.columns[p])] += part
    return A


def crossed(crossing: Crossing, left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> np.ndarray:
    """What the pairs multiply, put together from uploads and blocks alone."""
    total = np.zeros(crossing.shape, np.int64)
    for p, q in crossing.pairs:
        column = {f: int(np.searchsorted(crossing.left.columns[p], f)) for f, _ in crossing.uploads(p)}
        for block in crossing.blocks(p, q):
            uploads = [crossing.uploads(p)[i] for i in block.uploaded]
            a = np.stack([left[p][rows, column[f]] for f, rows in uploads], axis=1)
            b = right[q][np.ix_(block.right, block.columns)]
            total[np.ix_(crossing.left.rows[p][block.left], crossing.right.rows[q][block.right])] += a @ b.T
    return total


def local(left: Owners, right: Owners, a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> np.ndarray:
    return sum(whole(left, {p: a[p]}) @ whole(right, {p: b[p]}).T for p in a)


@pytest.mark.parametrize("parties", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("partition", ["vertical", "horizontal", "arbitrary"])
def test_local_and_cross_terms_add_up_to_the_gram_matrix(partition, parties):
    owners = owners_of(partition, masks(partition, parties))
    parts = tables(owners)
    A, C = whole(owners, parts), crossed(gram_crossing(owners), parts, parts)
    np.testing.assert_array_equal(local(owners, owners, parts, parts) + C + C.T, A @ A.T)


@pytest.mark.parametrize("partition", ["horizontal", "arbitrary"])
def test_two_tables_of_other_owners_are_multiplied_too(partition):
    left, right = owners_of(partition, masks(partition, 3)), owners_of(partition, masks(partition, 3, seed=8))
    a, b = tables(left), tables(right, seed=9)
    found = local(left, right, a, b) + crossed(dots_crossing(left, right), a, b)
    np.testing.assert_array_equal(found, whole(left, a) @ whole(right, b).T)


@pytest.mark.parametrize("parties", [2, 3, 4, 5, 9, 30])
def test_each_pair_multiplies_once_and_nobody_answers_many_more_than_others(parties):
    owners = owners_of("arbitrary", masks("arbitrary", parties))
    pairs = gram_crossing(owners).pairs
    assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in combinations(owners.rows, 2)}
    assert len(pairs) == parties * (parties - 1) // 2
    asked = [sum(p == name for p, _ in pairs) for name in owners.rows]
    assert max(asked) - min(asked) <= 1


def test_columns_that_one_party_has_alone_are_not_uploaded():
    owners = owners_of("vertical", masks("vertical", 3))
    crossing = gram_crossing(owners)
    assert not any(crossing.uploads(p) for p in owners.rows)
    assert not any(crossing.blocks(p, q) for p, q in crossing.pairs)


def test_rows_of_two_parties_are_one_block():
    crossing = gram_crossing(owners_of("horizontal", masks("horizontal", 2)))
    (block,) = crossing.blocks("p0", "p1")
    assert block.uploaded == tuple(range(N))
    assert (len(block.left), len(block.right)) == (5, 4)


def test_scattered_cells_of_a_long_table_are_multiplied_column_by_column_and_nearly_equal_ones_together():
    scattered = np.random.default_rng(0).integers(0, 20, (1000, 12)) == 0
    assert [g.columns for g in groups(scattered)] == [(j,) for j in range(12)]
    nearly = np.ones((1000, 4), bool)
    nearly[3, 1] = False
    (group,) = groups(nearly)
    assert group.columns == (0, 1, 2, 3)
    assert len(group.rows) == 1000


def test_what_pays_only_for_many_columns_together_is_found():
    halves = np.random.default_rng(0).random((1000, 30)) < 0.5
    assert len(groups(halves)) == 1
    assert len(groups(halves[:, :3])) == 3


def test_columns_of_a_short_table_share_a_ciphertext_whoever_owns_their_cells():
    assert len(groups(np.random.default_rng(0).integers(0, 30, (100, 10)) == 0)) == 1


def test_a_cell_of_nobody_or_of_two_is_refused():
    two = masks("arbitrary", 3)
    i, j = np.argwhere(two["p1"])[0]
    two["p2"][i, j] = True
    with pytest.raises(LocalError, match=rf"cell \[{i}, {j}\] is owned by 'p1' and 'p2'"):
        owners_of("arbitrary", two)
    two["p1"][i, j] = two["p2"][i, j] = False
    with pytest.raises(
        LocalError, match=rf"cell \[{i}, {j}\] is owned by nobody: one party, and only one, must own each cell"
    ):
        owners_of("arbitrary", two)


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(
        LocalError, match="party 'b' has 2 columns, 'a' has 3: a horizontal split needs the same columns"
    ):
        owners_of("horizontal", {"a": np.ones((2, 3), bool), "b": np.ones((2, 2), bool)})
    with pytest.raises(LocalError, match="party 'b' has 4 records, 'a' has 2: a vertical split needs the same records"):
        owners_of("vertical", {"a": np.ones((2, 3), bool), "b": np.ones((4, 3), bool)})
    with pytest.raises(LocalError, match="unknown partition 'diagonal'"):
        owners_of("diagonal", {"a": np.ones((2, 3), bool)})
