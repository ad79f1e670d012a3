"""Blind training beside SVC: CPU seconds of all parties, openings, traffic, and labels of held-out records."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_classification
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import tacit
from figures import Figure, Step, Table, dataset
from tacit.federation import Federation
from tacit.numeric.ring.fixed_point import FixedPoint
from tacit.numeric.ring.words import Z64
from tacit.numeric.shares.dual_plan import Q_BITS, ROW_BITS
from tacit.numeric.shares.ring_product import ring_product, ring_square

C, LEARN = 10.0, 455
SPU, SPU_CPU = 338.0, 148.0  # seconds of SecretFlow SPU's own RBF SVM for the same 455 x 30
SOURCE = f"SPU's sml SVM, three parties in one process: {SPU:g} s, {SPU_CPU:g} CPU s"
BARS = {2: 3.0, 3: 4.0, 5: 6.0}  # CPU seconds, by holders
OPENINGS, TRAFFIC, ROWS = 275, 35.0, 5.0
LARGE = {1000: 10.0, 2000: 60.0}  # CPU seconds, by records
SAME, GAP = 0.998, 1e-3
LINEAR = {455: 1.0, 2000: 6.0}  # CPU seconds, by records
SAME_LINEAR = 0.995
SPLITS = 10
NUMBERS = {"C": 100.0, "epsilon": 5.0}
OFF = 0.01  # root mean square difference of answers, over the deviation of the targets


@dataclass(frozen=True)
class Trained:
    """What a training cost, and how many of so many held-out records it labels otherwise than SVC.

    seconds: of CPU, of all parties. wall: by the clock, all parties in one process.
    """

    seconds: float
    wall: float
    openings: int
    sent: float
    dealt: float
    differ: int
    asked: int
    gap: float | None = None


def figures(quick: bool) -> Iterator[Figure | Step | Table]:  # noqa: FBT001 - the one switch of all benchmarks
    """Measure wdbc by holders, rows, weights, kernels and splits, larger tables, and a product."""
    wdbc = dataset("wdbc")
    X, y = StandardScaler().fit_transform(wdbc.X), wdbc.y
    with threadpool_limits(1):  # every party has one core of its own
        _train(X, y, 2, "vertical", learn=60)  # machine code is loaded once in a process
        yield from _holders(X, y)
        yield from _rows(X, y)
        yield from _weights(X, y)
        yield from _linear(X, y, LEARN)
        yield from _numbers()
        yield from _splits(X, y, 2 if quick else SPLITS)
        for records, most in list(LARGE.items())[: 0 if quick else None]:
            yield from _large(records, most)
        if not quick:
            yield from _linear(*_invent(max(LINEAR)), max(LINEAR))
        yield _product(500 if quick else 2000)


def _holders(X: np.ndarray, y: np.ndarray) -> Iterator[Figure | Step]:
    for holders, most in BARS.items():
        found = _train(X, y, holders, "vertical")
        name = f"wdbc {LEARN} x 30, {holders} holders"
        yield Figure(f"{name}: CPU seconds of all parties", f"{found.seconds:.1f}", f"{most:g}", found.seconds <= most)
        yield Figure(f"{name}: openings", str(found.openings), str(OPENINGS), found.openings <= OPENINGS)
        yield Figure(f"{name}: MB to each peer", f"{found.sent:.1f}", f"{TRAFFIC:g}", found.sent <= TRAFFIC)
        yield Figure(f"{name}: MB dealt", f"{found.dealt:.1f}")
        yield Figure(f"{name}: labels unlike SVC's", f"{found.differ} of {found.asked}", "0", found.differ == 0)
        gap = found.gap if found.gap is not None else np.inf
        yield Figure(f"{name}: gap of the objective", f"{gap:.1e}", f"{GAP:g}", gap <= GAP)
        if holders == 3:  # as many as SPU had
            times = f"{SPU / found.wall:.0f} times, of CPU {SPU_CPU / found.seconds:.0f} times"
            yield Figure("SecretFlow SPU's seconds over these", times, paper=SOURCE)


def _rows(X: np.ndarray, y: np.ndarray) -> Iterator[Figure | Step]:
    found = _train(X, y, 3, "horizontal")
    yield Figure("by rows, three holders: CPU seconds", f"{found.seconds:.1f}", f"{ROWS:g}", found.seconds <= ROWS)


def _weights(X: np.ndarray, y: np.ndarray) -> Iterator[Figure | Step]:
    found = _train(X, y, 2, "vertical", class_weight="balanced")
    yield Figure("with class weights: CPU seconds", f"{found.seconds:.1f}")
    yield Figure("with class weights: openings", str(found.openings))
    yield Figure("with class weights: MB to each peer, and dealt", f"{found.sent:.1f}, {found.dealt:.1f}")
    yield Figure("with class weights: labels unlike SVC's", f"{found.differ} of {found.asked}", "0", found.differ == 0)


def _linear(X: np.ndarray, y: np.ndarray, records: int) -> Iterator[Figure | Step]:
    found = _train(X, y, 2, "vertical", learn=records, kernel="linear")
    same, name, most = 1 - found.differ / found.asked, f"linear, {records} x {X.shape[1]}", LINEAR[records]
    yield Figure(f"{name}: CPU seconds", f"{found.seconds:.1f}", f"{most:g}", found.seconds <= most)
    yield Figure(f"{name}: openings", str(found.openings))
    yield Figure(f"{name}: MB to each peer, and dealt", f"{found.sent:.1f}, {found.dealt:.1f}")
    yield Figure(f"{name}: labels like SVC's", f"{same:.2%}", f"{SAME_LINEAR:.1%} or more", same >= SAME_LINEAR)


def _numbers() -> Iterator[Figure | Step]:
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = StandardScaler().fit_transform(X)[order], y[order]
    learn = len(X) * 4 // 5
    for kernel in ("rbf", "linear"):
        federation = Federation.simulate(X[:learn], y[:learn], parties=2, partition="vertical")
        model = tacit.SVR(kernel=kernel, verbose=False, **NUMBERS)
        began = time.process_time()
        outcome = federation.run(model.request(federation))
        model.receive(federation, outcome)
        seconds = time.process_time() - began
        theirs = SVR(kernel=kernel, tol=1e-6, **NUMBERS).fit(X[:learn], y[:learn]).predict(X[learn:])
        off = float(np.sqrt(np.mean((model.predict(X[learn:]) - theirs) ** 2)) / y.std())
        name = f"regression, {kernel}, {learn} x {X.shape[1]}"
        holders = {row.place for row in outcome.ledger if row.sender in federation.parts}
        yield Figure(f"{name}: CPU seconds", f"{seconds:.1f}")
        yield Figure(f"{name}: openings", str(len(holders)))
        yield Figure(f"{name}: off SVR's answers, in deviations", f"{off:.1e}", f"{OFF:g}", off <= OFF)


def _splits(X: np.ndarray, y: np.ndarray, number: int) -> Iterator[Figure | Step]:
    for kernel, allowed in (("rbf", 0.0), ("linear", 1 - SAME_LINEAR)):
        runs = [_train(X, y, 2, "vertical", seed=seed, kernel=kernel) for seed in range(number)]
        differ, asked = sum(run.differ for run in runs), sum(run.asked for run in runs)
        most = int(allowed * asked)
        yield Figure(
            f"{number} splits, {kernel}: labels unlike SVC's", f"{differ} of {asked}", f"{most}", differ <= most
        )


def _large(records: int, most: float) -> Iterator[Figure | Step]:
    found = _train(*_invent(records), 2, "vertical", learn=records)
    same = 1 - found.differ / found.asked
    yield Figure(f"{records} x 57: CPU seconds", f"{found.seconds:.1f}", f"{most:g}", found.seconds <= most)
    yield Figure(f"{records} x 57: labels like SVC's", f"{same:.2%}", f"{SAME:.1%} or more", same >= SAME)


def _invent(records: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        2 * records, 57, n_informative=12, n_clusters_per_class=4, class_sep=0.7, flip_y=0.05, random_state=1
    )
    return StandardScaler().fit_transform(X), y


def _train(
    X: np.ndarray, y: np.ndarray, holders: int, partition: str, *, seed: int = 0, learn: int = LEARN, **svm: Any
) -> Trained:
    order = np.random.default_rng(seed).permutation(len(X))
    here, new = order[:learn], order[learn : learn + 2000]
    federation = Federation.simulate(X[here], y[here], parties=holders, partition=partition)
    began, start = time.process_time(), time.perf_counter()
    model = tacit.SVC(features="exact", loss="hinge", C=C, verbose=False, partition=partition, **svm)
    outcome = federation.run(model.request(federation))
    model.receive(federation, outcome)
    seconds, wall = time.process_time() - began, time.perf_counter() - start
    first, second = list(federation.parts)[:2]
    between = [row for row in outcome.ledger if (row.sender, row.receiver) == (first, second)]
    dealt = [row for row in outcome.ledger if row.sender == federation.coordinator]
    theirs = SVC(C=C, tol=1e-5, **svm).fit(X[here], y[here])
    differ = int(np.sum(model.predict(X[new]) != theirs.predict(X[new])))
    sizes = [sum(row.bytes or 0 for row in each) / 1e6 for each in (between, dealt)]
    gap = _gap(model, theirs, X[here], y[here]) if partition == "vertical" and not svm else None
    return Trained(seconds, wall, len({row.place for row in between}), *sizes, differ, len(new), gap)


def _gap(model: tacit.SVC, theirs: SVC, X: np.ndarray, y: np.ndarray) -> float:
    """Return what a model costs beyond SVC's optimum D, (1/2 |w|^2 + C sum_i max(0, 1 - y_i f(x_i))) / D - 1.

    It is read from all shares of a model with the RBF kernel, which a simulation has.
    """
    shares = list(model.model_.share.values())
    beta = C * FixedPoint(Q_BITS).decode(Z64.total(each.beta for each in shares))
    bias = C * FixedPoint(ROW_BITS + Q_BITS).decode(Z64.total(each.bias for each in shares))
    K, sides, a = (
        rbf_kernel(X, gamma=model.model_.gamma),
        np.where(y == theirs.classes_[1], 1.0, -1.0),
        np.zeros(len(X)),
    )
    a[theirs.support_] = theirs.dual_coef_[0]
    best, values = np.abs(a).sum() - 0.5 * a @ K @ a, K @ beta
    cost = 0.5 * beta @ values + C * np.maximum(0.0, 1.0 - sides * (values + bias)).sum()
    return float(cost / best - 1.0)


def _product(n: int) -> Figure:
    rng = np.random.default_rng(0)
    A = rng.integers(0, 2**64, (n, n), dtype=np.uint64)
    began = time.process_time()
    ring_product(A, A)
    whole = time.process_time() - began
    began = time.process_time()
    ring_square(A + A.T)
    square = time.process_time() - began
    B = A.astype(np.float64)
    began = time.process_time()
    B @ B
    plain = time.process_time() - began
    told = f"{whole / plain:.1f} times, a symmetric square {square / plain:.1f} times"
    return Figure(f"a product of {n} x {n} words beside one of doubles", told)
