"""What judging must tell: counts of pooled records by numpy, and bins by a plain search on the pooled values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance import machine_reference
from tacit.numeric.svm.kernels import Kernel
from tacit.protocols.features.maps import features_of, map_kernel
from tacit.protocols.judge.shared import HeldOut
from tacit.protocols.learners.answers import KnownModel

LEAST, BINS = 10, 64
GROUPS = 3


def model_of(target: str) -> KnownModel:
    """Return a public model of the columns of the table, in whole units that rounding does not move."""
    rng = np.random.default_rng(3)
    the_map = map_kernel(Kernel("rbf", 0.1), rng.normal(size=(12, machine_reference.COLUMNS)))
    X, y = table_of(target)
    Z, known = features_of(the_map, X), y >= 0
    problems = {"2": 1, "3": 3, "number": 1}[target]
    T = (
        y[:, None] / 6
        if target == "number"
        else np.where(y[:, None] == np.arange(problems) + (problems == 1), 1.0, -1.0)
    )
    w = np.linalg.solve(Z[known].T @ Z[known] + 0.1 * np.eye(Z.shape[1]), Z[known].T @ T[known])
    return KnownModel(the_map, np.round(w * 256) / 256)


def table_of(target: str) -> tuple[Any, Any]:
    """Return the records, and labels of which some are of no class, and one class is rare."""
    table = machine_reference.table(target)
    y = np.array(table.y)
    if target != "number":
        y = y.astype(np.int64)
        y[::17] = -1
    return table.X, y


def groups_of() -> Any:
    """Return the group of each record: one is small, and some are of none."""
    group = np.arange(machine_reference.RECORDS) % 2
    group[:7], group[40:60] = 2, -1
    return group


def own_of(holders: Sequence[str], partition: str, target: str) -> dict[str, HeldOut]:
    """Return what each holder knows: by rows its records with values, else the first labels, and the last groups."""
    (X, y), group, model = table_of(target), groups_of(), model_of(target)
    numbers = target == "number"
    f = values_of(model, X)
    none, no_group = np.empty((0, f.shape[1])), np.empty(0, dtype=np.int64)
    codes, targets = (no_group, y) if numbers else (y, np.empty(0))
    if partition == "horizontal":
        rows = np.array_split(np.arange(len(y)), len(holders))
        return {
            p: HeldOut(f[r], codes[r] if codes.size else codes, targets[r] if targets.size else targets, group[r])
            for p, r in zip(holders, rows, strict=True)
        }
    held = {p: HeldOut(none, no_group, np.empty(0), no_group) for p in holders}
    held[holders[0]] = HeldOut(none, codes, targets, no_group)
    last = held[holders[-1]]
    held[holders[-1]] = HeldOut(none, last.codes, last.targets, group)
    return held


def values_of(model: KnownModel, X: Any) -> Any:
    return features_of(model.map, X) @ model.weights


def fine_of(f: Any, codes: Any, bins: int) -> Any:
    """Return how many records of either class have a value in each fine bin."""
    cuts = np.arange(1, bins) / bins * 2 - 1
    cuts = cuts / (1 - np.abs(cuts))
    place = (f[:, None] > cuts).sum(axis=1)
    return np.stack([np.bincount(place[codes == a], minlength=bins) for a in (0, 1)])


def merge_plainly(fine: Any, least: int) -> Any:
    """Return where bins end, and their counts: the first edge that leaves no few records on either side, again."""
    half = fine.shape[1] // 2
    ends: list[int] = []
    for side in (0, 1):
        own = fine[:, side * half : (side + 1) * half]
        cells, sizes = own.sum(axis=1), fine.sum(axis=1)
        limit = np.maximum(np.minimum(np.maximum(least, -(-sizes // 24)), cells), 1)

        def fits(counts: Any, limit: Any = limit) -> bool:
            return bool(counts.any() and ((counts == 0) | (counts >= limit)).all())

        start = 0
        for j in range(1, half):
            if fits(own[:, start:j].sum(axis=1)) and fits(own[:, j:].sum(axis=1)):
                ends.append(side * half + j)
                start = j
        ends.append((side + 1) * half)
    starts = [0, *ends[:-1]]
    return ends, np.array([[fine[a, i:j].sum() for i, j in zip(starts, ends, strict=True)] for a in (0, 1)])


def check_classes(
    result: Mapping[str, Any], brought: Any, *, partition: str, target: str, groups: str, least: int
) -> None:
    (X, y), model = table_of(target), model_of(target)
    f, K = values_of(model, X), 2 if target == "2" else 3
    chosen = (f[:, 0] > 0).astype(int) if K == 2 else f.argmax(axis=1)
    group = groups_of()
    if groups == "site":
        parts = np.array_split(np.arange(len(y)), len(brought["own"][1]))
        group = np.concatenate([np.full(len(r), k) for k, r in enumerate(parts)])
    assert result["records"] == len(y)
    np.testing.assert_array_equal(result["classes"], [1] * K)
    counts = np.zeros((K, K), dtype=int)
    np.add.at(counts, (y[y >= 0], chosen[y >= 0]), 1)
    exact = partition == "horizontal"
    check_near(result["cells"][0], counts, same=exact)
    for g, shown in enumerate(result["groups"].tolist()):
        own = np.zeros((K, K), dtype=int)
        rows = (group == g) & (y >= 0)
        np.add.at(own, (y[rows], chosen[rows]), 1)
        sizes = np.append(own.sum(axis=1), ((group == g) & (y < 0)).sum())
        if shown:
            assert ((sizes == 0) | (sizes >= least)).all()
            check_near(result["cells"][1 + g], own, same=exact)
        else:
            assert not result["cells"][1 + g].any()
    assert list(result["groups"]) == shown_groups(group, y, K, len(result["groups"]), least)
    if K == 2:
        ends, bins = merge_plainly(fine_of(f[:, 0], y, BINS), least)
        if exact:
            np.testing.assert_array_equal(result["cuts"], ends[:-1])
            np.testing.assert_array_equal(result["bins"], bins)
        check_bins(result["bins"], result["cells"][0], least, result["middle"])


def shown_groups(group: Any, y: Any, classes: int, count: int, least: int) -> list[int]:
    """Return which groups have none or enough of each class, if what is left has too."""
    codes = np.where(y < 0, classes, y)
    sizes = np.array([[((group == g) & (codes == a)).sum() for a in range(classes + 1)] for g in range(count)])
    full = ((sizes == 0) | (sizes >= least)).all(axis=1) if count else np.zeros(0, dtype=bool)
    rest = np.bincount(codes, minlength=classes + 1) - sizes[full].sum(axis=0) if count else np.zeros(classes + 1)
    return (full & ((rest == 0) | (rest >= least)).all()).astype(int).tolist()


def check_bins(bins: Any, cells: Any, least: int, middle: int) -> None:
    """No bin tells of fewer records of a class than `least`, but as many as the confusion counts tell of a side."""
    for side, own in ((0, bins[:, : middle + 1]), (1, bins[:, middle + 1 :])):
        for a in (0, 1):
            np.testing.assert_equal(own[a].sum(), cells[a, side])
            few = own[a][(own[a] > 0) & (own[a] < least)]
            assert few.size == 0 or (few.size == 1 and few[0] == cells[a, side])


def check_near(found: Any, exact: Any, *, same: bool) -> None:
    if same:
        np.testing.assert_array_equal(found, exact)
    else:  # values in shares have about sixteen bits: a record at the edge may fall on either side
        assert np.abs(found - exact).sum() <= 4


def check_numbers(result: Mapping[str, Any], *, partition: str, middle: float, reach: float) -> None:
    (X, y), model = table_of("number"), model_of("number")
    f = middle + reach * values_of(model, X)[:, 0] if partition != "horizontal" else values_of(model, X)[:, 0]
    group = groups_of()
    assert list(result["groups"]) == [1, 1, 0] or not len(result["groups"])
    for line, rows in enumerate([group >= -1, *(group == g for g in range(len(result["groups"])))]):
        n, absolute, squared, spread = result["errors"][line]
        if line and not result["groups"][line - 1]:
            assert np.isnan(result["errors"][line]).all()
            continue
        assert n == rows.sum()
        t, e = y[rows], (y - f)[rows]
        wide = 2.0**-8 + (0 if partition == "horizontal" else 3e-3)
        for found, exact in ((absolute, np.abs(e).mean()), (squared, np.square(e).mean()), (spread, t.var())):
            assert abs(found / exact - 1) <= wide


def check_sites(result: Mapping[str, Any], brought: Any) -> None:
    """Each site that is shown tells rounded figures of both models; the second has all values turned."""
    assert result["sites"]
    for site, told in result["sites"].items():
        own = brought["own"][1][site]
        known = own.codes >= 0
        right = ((own.values[known, 0] > 0) == own.codes[known]).mean()
        step = 2.0 ** -(2 + np.ceil(np.log2(len(known)) / 2))
        assert abs(told[0] - right) <= step / 2 + 1e-12
        assert abs(told[3] - (1 - right)) <= step / 2 + 1e-12
        assert abs(told[2] + told[5] - 1) <= step + 1e-12
        np.testing.assert_array_equal(told, np.round(told / step) * step)
    assert not result["cells"][1:].any()


def check_brier(result: Mapping[str, Any], target: str, sigmoid: Any) -> None:
    """The squared error of probabilities, as coarse as fine bins are; NaN without any."""
    if sigmoid is None:
        assert np.isnan(result["brier"])
        return
    (X, y), model = table_of(target), model_of(target)
    A, B = sigmoid
    known = y >= 0
    p = 1 / (1 + np.exp(A * values_of(model, X)[known, 0] + B))
    assert abs(result["brier"] - np.square(p - y[known]).mean()) <= 2e-3
