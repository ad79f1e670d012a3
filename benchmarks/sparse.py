"""PanSVC on sparse rows: beside the same rows with all cells on Adult, and beside LinearSVC where cells are many."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step, dataset

PARTIES, KEPT, LANDMARKS = 5, 20, 100
C = 1.0


def figures(quick: bool) -> Iterator[Figure | Step]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure each on the same rows in one run."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _on_adult()
        yield from _on_wide(*((20_000, 5_000) if quick else (100_000, 20_000)))


def _on_adult() -> Iterator[Figure | Step]:
    data = dataset("a9a")
    X = csr_array(data.X)
    filled = X.nnz / data.X.size
    for kernel, params in (("linear", {}), (f"rbf, {LANDMARKS} landmarks", {"landmarks": LANDMARKS})):
        what = f"Adult, {filled:.0%} filled, {kernel}"
        yield Step(what, 0, 2)
        kind = "linear" if kernel == "linear" else "rbf"
        fit = tacit.PanSVC(kernel=kind, C=C, dtype="float64", **params).fit
        federations = [tacit.simulate(cells, data.y, parties=PARTIES) for cells in (X, data.X)]
        seconds = [_cpu(partial(fit, each))[1] for each in federations]
        told = f"{seconds[0]:.1f} s, {seconds[1]:.1f} s, {seconds[0] / seconds[1]:.2f} times"
        yield Figure(f"{what}: sparse, dense", told, "at most as long", seconds[0] <= seconds[1])
        scores = [fit(each.forget()).score(data.X, data.y) for each in federations]
        yield Figure(f"{what}: accuracy of both", f"{scores[0]:.2%}, {scores[1]:.2%}")


def _on_wide(rows: int, columns: int) -> Iterator[Figure | Step]:
    what = f"{rows} x {columns}, {KEPT} cells a row"
    yield Step(what, 0, 3)
    X, y = _generate(rows + rows // 5, columns)
    train, test = (X[:rows], y[:rows]), (X[rows:], y[rows:])
    federation = tacit.simulate(*train, parties=PARTIES)
    pan, mine = _cpu(lambda: tacit.PanSVC(kernel="linear", C=C).fit(federation))
    peer, theirs = _cpu(lambda: LinearSVC(C=C, loss="hinge", random_state=0).fit(*train))
    told = f"{mine:.1f} s, {theirs:.1f} s, {mine / theirs:.1f} times"
    yield Figure(f"{what}: linear PanSVC, LinearSVC", told)
    score, reference = pan.score(*test), peer.score(*test)
    yield Figure(f"{what}: accuracy of both", f"{score:.2%}, {reference:.2%}")
    yield Figure(f"{what}: rounds, gap", f"{pan.n_iter_}, {list(pan.report_.figures.values())[1]:.2f}")
    yield Step(what, 2, 3)
    peak = _peak(train, {"kernel": "linear", "C": C, "max_rounds": 5})
    cells = 8 * rows * columns
    told = f"{peak / 1e6:.0f} MB, {cells / 1e6:.0f} MB"
    yield Figure(f"{what}: peak of five rounds, all cells", told, "at most 10 %", peak <= 0.1 * cells)


def _generate(rows: int, columns: int) -> tuple[csr_array, np.ndarray]:
    """Return rows of words as texts have them, some far more frequent than others, and classes with 5 % turned."""
    draw = np.random.default_rng(0)
    word = (columns * draw.random((rows, KEPT)) ** 3).astype(np.int32)
    cells = (draw.random(rows * KEPT) + 0.5, word.ravel(), np.arange(0, rows * KEPT + 1, KEPT, dtype=np.int32))
    X = csr_array(cells, shape=(rows, columns))
    sides = X @ draw.normal(size=columns) > 0
    return X, np.where(sides ^ (draw.random(rows) < 0.05), "a", "b")


def _peak(train: tuple[Any, Any], params: dict[str, Any]) -> int:
    """Return the most memory that a simulation and a training of it took."""
    tracemalloc.start()
    try:
        tacit.PanSVC(**params).fit(tacit.simulate(*train, parties=PARTIES))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _cpu(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    return work(), time.process_time() - start
